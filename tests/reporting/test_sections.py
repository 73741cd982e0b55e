"""Sections of a page: what fits on it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ogive.reporting import sections
from ogive.reporting.sections import section_of
from ogive.results.base import Result
from ogive.results.plots import DISPLAYS


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Result):
    """Many pairs."""

    frame: pd.DataFrame
    meaning = "All pairs were compared."
    notes = ("A note.",)

    def to_frame(self):
        return self.frame

    def figures(self):
        return {}

    def plot(self, **kw):
        raise NotImplementedError

    def tables(self):
        return {"all_pairs": self.frame, "few": self.frame.head(2)}


def test_a_table_that_a_page_cannot_hold_is_cut_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(sections, "MOST_ROWS", 3)
    found = section_of("Pairs", Pairs(pd.DataFrame({"p": range(5)})), lambda: "figure1")
    assert [len(frame) for _, frame in found.tables] == [3, 2]
    assert found.notes[0] == "A note."
    assert found.notes[1].startswith("Table 'all pairs' shows the first 3 of 5 rows")
    assert len(found.notes) == 2


def test_what_stands_for_a_figure_says_for_which():
    same = pd.DataFrame(np.full((3, 3), 0.95), index=list("abc"), columns=list("xyz"))
    drawn = {"shared_items": lambda: DISPLAYS["heat_map"](same)}
    pictures, said = sections._drawn(drawn.items(), "Pairs", lambda: "figure1")
    assert pictures == []
    assert said == ["Figure 'shared items' is not drawn: All values are 0.95."]
