"""What CONTRIBUTING says of additions is true: toys show up wherever users look.

The toy model and the toy reader of logs stand in docs/extending.md, which tests/test_docs.py runs.
"""

from dataclasses import dataclass

import pandas as pd
import pytest

import ogive as og
from ogive.checks import check
from ogive.checks.residuals import Diagnosis
from ogive.evaluation.leaderboards import Leaderboard
from ogive.results.plots import DISPLAYS


@dataclass(frozen=True, eq=False, repr=False)
class SolvedByAll(Diagnosis):
    """Items that every respondent solves."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    display = "ranking"

    @property
    def meaning(self):
        """How many there are."""
        return f"{len(self.frame)} items are solved by all."

    def to_frame(self):
        """Return one row per item."""
        return self.frame

    def plot(self, **kw):
        """Draw one line per item."""
        return DISPLAYS[self.display](self.frame, estimate="share", se="se").plot(**kw)


def solved_by_all(calibration, responses=None):
    """Find items that every respondent solves."""
    right = calibration.responses.to_frame()
    solved = right.columns[(right == 1).all()]
    return SolvedByAll(pd.DataFrame({"share": 1.0, "se": 0.0}, index=pd.Index(solved, name="item")))


@pytest.fixture(scope="module")
def table():
    """Ten respondents, thirty items, of which one is solved by all."""
    frame = og.simulate("2pl", 10, 30, random_state=0).responses.to_frame()
    frame.iloc[:, 3] = 1
    return frame


def test_a_check_is_a_function_and_one_entry(table, monkeypatch, tmp_path):
    monkeypatch.setitem(check.DIAGNOSTICS, "solved_by_all", solved_by_all)
    calibration = og.calibrate(table)
    found = og.diagnose(calibration)
    assert "solved_by_all" in found.to_frame().index
    assert table.columns[3] in found.found["solved_by_all"].to_frame().index
    page = og.write_report(tmp_path / "page.html", found).read_text("utf-8")
    assert "items are solved by all" in page


def test_a_column_of_the_leaderboard_is_one_line(table, monkeypatch, tmp_path):
    before = Leaderboard.to_frame
    monkeypatch.setattr(Leaderboard, "to_frame", lambda self: before(self).assign(luck=0.5))
    board = og.leaderboard(table)
    assert (board.to_frame()["luck"] == 0.5).all()
    assert "luck" in board.tables()["leaderboard"]
    assert "luck" in og.write_report(tmp_path / "page.html", board).read_text("utf-8")
