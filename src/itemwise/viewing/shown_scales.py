"""One scale as a browser asks for it: the items at once, responses and texts item by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.report.explorer import Scale, long_facts, scale_of
from itemwise.report.sections import columns_of, rounded, text_of
from itemwise.viewing.item_counts import (
    columns_in_order,
    counted_scale,
    kind_of_answers,
    respondent_means,
)

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.calibration import Calibration
    from itemwise.diagnostics import LabelTrouble
    from itemwise.responses import Responses

MOST_FOUND = 100_000  # items that a search returns


@dataclass(frozen=True, eq=False)
class ShownScale:
    """A scale, and the responses behind it: those of respondent `order[k]` are the k-th shown."""

    scale: Scale
    responses: Responses | None = None
    order: np.ndarray | None = None
    places: np.ndarray | None = None  # of the items of the scale among those of the responses

    @classmethod
    def counted(cls, name: str, responses: Responses) -> ShownScale:
        """Return what is known before the calibration."""
        scale, order = counted_scale(name, responses)
        return cls(scale, responses, order, np.arange(responses.n_items))

    @classmethod
    def calibrated(
        cls, name: str, calibration: Calibration, trouble: LabelTrouble | None = None
    ) -> ShownScale:
        """Return the items of a calibration, with suspect labels once they are known."""
        scale = scale_of(name, calibration, None, trouble)
        responses = calibration.responses
        if responses is None:
            return cls(scale)
        abilities = calibration.score(responses)
        order = np.argsort(-abilities["ability"].to_numpy(), kind="stable")
        ranked = abilities.iloc[order]
        scale.content["facts"] = []  # they are asked for item by item
        scale.content["answers"] = {
            "kind": kind_of_answers(responses),
            "respondents": [str(name) for name in ranked.index],
            "ability": rounded(ranked["ability"]),
            "se": rounded(ranked["se"]),
            "left_out": 0,
            **columns_in_order(respondent_means(responses), order),
        }
        place = {item: k for k, item in enumerate(responses.items)}
        asked = [place.get(item, -1) for item in calibration.item_names]
        return cls(scale, responses, order, np.array(asked))

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.scale.items)

    @property
    def n_respondents(self) -> int:
        """The number of respondents whose responses are known."""
        return 0 if self.responses is None else self.responses.n_respondents

    def item(self, row: int) -> dict[str, Any]:
        """Return the responses to one item, the strongest respondent first, and its texts."""
        if self.responses is None or self.order is None or self.places is None:
            return {"answers": [], "facts": []}
        place = int(self.places[row])
        if place < 0:
            return {"answers": [None] * len(self.order), "facts": []}
        texts = self._facts.iloc[[place]]
        return {
            "answers": _values(self.responses.cells[self.order, place]),
            "facts": columns_of(texts.reset_index(drop=True)) if texts.shape[1] else [],
        }

    def respondent(self, place: int) -> list[float | None]:
        """Return the responses of one respondent, item by item."""
        if self.responses is None or self.order is None or self.places is None:
            return []
        cells = self.responses.cells[self.order[place]]
        found = _values(cells[self.places])
        return [None if at < 0 else value for at, value in zip(self.places, found, strict=True)]

    def search(self, words: str) -> list[int]:
        """Return the rows of items with these words in their name or texts."""
        wanted = words.casefold()
        rows = (row for row, text in enumerate(self._words) if wanted in text)
        return [row for row, _ in zip(rows, range(MOST_FOUND), strict=False)]

    @cached_property
    def _facts(self) -> pd.DataFrame:
        assert self.responses is not None  # noqa: S101 - only asked for where there are some
        return long_facts(self.responses)

    @cached_property
    def _words(self) -> list[str]:
        names = [str(name) for name in self.scale.items.index]
        if self.responses is None or self.places is None or not self._facts.shape[1]:
            return [name.casefold() for name in names]
        columns = [map(text_of, self._facts[name].tolist()) for name in self._facts]
        texts = ["\n".join(row) for row in zip(*columns, strict=True)]
        return [
            f"{name}\n{texts[at] if at >= 0 else ''}".casefold()
            for name, at in zip(names, self.places, strict=True)
        ]


def _values(cells: np.ndarray) -> list[float | None]:
    """Return stored cells as they were given; None for never asked."""
    if cells.dtype.kind == "f":
        return rounded(cells, digits=9)
    return [None if value < 0 else value for value in cells.tolist()]
