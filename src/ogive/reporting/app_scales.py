"""One scale as a browser asks for it: the items at once, responses and texts item by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.reporting.explorer import Scale, long_facts, scale_of, short_facts
from ogive.reporting.explorer_responses import (
    beyond_items,
    by_ability,
    counted_items,
    respondent_means,
    respondents_in_order,
)
from ogive.reporting.sections import DIGITS, columns_of, rounded, text_of

if TYPE_CHECKING:
    from ogive.checks.mislabelled_items import LabelTrouble
    from ogive.data.responses import Responses
    from ogive.evaluation.leaderboards import Leaderboard
    from ogive.irt.calibration import Calibration


MOST_FOUND = 100_000  # items that a search returns


def counted_scale(name: str, responses: Responses) -> tuple[Scale, np.ndarray]:
    """Return the items of a table that has no scale yet, and its respondents' order.

    On the map, the mean response takes the place of difficulty, and the item-rest correlation that
    of discrimination; there are no curves. Respondents that were asked easy items alone do not come
    first: if not all were asked everything, the order is that of the mean distance from item means.
    """
    items = counted_items(responses)
    means = respondent_means(responses)
    comparable = bool((means["asked"] == responses.n_items).all())
    standing = means["mean"] if comparable else beyond_items(responses, items)
    order = np.argsort(-standing.fillna(-np.inf).to_numpy(), kind="stable")
    high = float(np.max(responses.tally.highest, initial=1.0))
    low = float(np.min(responses.tally.lowest, initial=0.0))
    groups = short_facts(responses, items)
    binary = responses.kind == "binary"
    content: dict[str, Any] = {
        "name": name,
        "model": "",
        "axes": {
            "difficulty": "share wrong" if binary else "mean below the highest response",
            "discrimination": "correlation with the rest",
        },
        "curve": {"kind": "none", "from": low, "to": high, "low": low, "high": high},
        "groups": [str(c) for c in groups],
        "facts": [],
        "answers": {
            "kind": kind_of_answers(responses),
            "measure": "mean response",
            "comparable": comparable,
            "respondents": [responses.respondents[k] for k in order],
            "ability": rounded(means["mean"].to_numpy()[order]),
            "se": rounded(means["mean_se"].to_numpy()[order]),
            "left_out": 0,
            **_columns_in_order(means, order),
        },
    }
    return Scale(name, items.join(groups), content), order


def kind_of_answers(responses: Responses) -> str:
    """Return "bits" if every response is right or wrong, else "scores"."""
    plain = responses.kind == "binary" and responses.tries is None
    return "bits" if plain else "scores"


def _columns_in_order(means: pd.DataFrame, order: np.ndarray) -> dict[str, list[Any]]:
    """Return the columns as lists for a page, in the order of its respondents."""
    return {str(name): rounded(means[name].to_numpy()[order], digits=6) for name in means}


@dataclass(frozen=True, eq=False)
class ShownScale:
    """A scale, and the responses behind it: those of respondent `order[k]` are the k-th shown."""

    scale: Scale
    responses: Responses | None = None
    order: np.ndarray | None = None
    columns: np.ndarray | None = None  # of the items of the scale among those of the responses
    board: Leaderboard | None = None  # tests of all pairs of respondents, once they are made

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
        abilities, order = by_ability(calibration, responses)
        scale.content["facts"] = []  # they are asked for item by item
        scale.content["answers"] = {
            "kind": kind_of_answers(responses),
            **respondents_in_order(abilities, order),
            **_columns_in_order(respondent_means(responses), order),
        }
        index = {item: k for k, item in enumerate(responses.items)}
        columns = [index.get(item, -1) for item in calibration.item_names]
        return cls(scale, responses, order, np.array(columns))

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
        if self.responses is None or self.order is None or self.columns is None:
            return {"answers": [], "facts": []}
        column = int(self.columns[row])
        if column < 0:
            return {"answers": [None] * len(self.order), "facts": []}
        answers = _values(self.responses.cells[self.order, column])
        return {"answers": answers, "facts": self._texts_of([column])}

    def respondent(self, row: int) -> dict[str, Any]:
        """Return the responses of one respondent, item by item, and whom it beats."""
        if self.responses is None or self.order is None or self.columns is None:
            return {"responses": [], "pairs": None, "board": None}
        values = _values(self.responses.cells[self.order[row]][self.columns])
        given = [None if at < 0 else value for at, value in zip(self.columns, values, strict=True)]
        if self.board is None:
            return {"responses": given, "pairs": None, "board": None}
        shown: list[str] = self.scale.content["answers"]["respondents"]
        pairs = _pairs_of(self.board, shown[row], set(shown))
        return {"responses": given, "pairs": pairs, "board": _standings(self.board, set(shown))}

    def suspects(self) -> dict[str, Any]:
        """Return the rows of suspect items, how many of the strongest were right, and texts."""
        items = self.scale.items
        rows = np.flatnonzero(items["suspect"]) if "suspect" in items else np.array([], int)
        if self.responses is None or self.order is None or self.columns is None:
            return {"rows": rows.tolist(), "strong": [""] * rows.size, "facts": []}
        rows = rows[self.columns[rows] >= 0]
        strong = [""] * rows.size
        if kind_of_answers(self.responses) == "bits":
            for k, column in enumerate(self.columns[rows]):
                answers = self.responses.cells[self.order, column]
                asked = answers[answers >= 0]
                third = asked[: max(1, -(-asked.size // 3))]
                strong[k] = f"{int(third.sum())} of {third.size}"
        facts = self._texts_of(self.columns[rows])
        return {"rows": rows.tolist(), "strong": strong, "facts": facts}

    def search(self, words: str) -> list[int]:
        """Return the rows of items with these words in their name or texts."""
        wanted = words.casefold()
        rows = (row for row, text in enumerate(self._words) if wanted in text)
        return [row for row, _ in zip(rows, range(MOST_FOUND), strict=False)]

    def _texts_of(self, columns: Any) -> list[dict[str, Any]]:
        texts = self._facts.iloc[columns]
        return columns_of(texts.reset_index(drop=True)) if texts.shape[1] else []

    @cached_property
    def _facts(self) -> pd.DataFrame:
        assert self.responses is not None  # noqa: S101 - only asked for if there are some
        return long_facts(self.responses)

    @cached_property
    def _words(self) -> list[str]:
        names = [str(name) for name in self.scale.items.index]
        if self.responses is None or self.columns is None or not self._facts.shape[1]:
            return [name.casefold() for name in names]
        columns = [map(text_of, self._facts[name].tolist()) for name in self._facts]
        texts = ["\n".join(row) for row in zip(*columns, strict=True)]
        return [
            f"{name}\n{texts[at] if at >= 0 else ''}".casefold()
            for name, at in zip(names, self.columns, strict=True)
        ]


def _standings(board: Leaderboard, shown: set[str]) -> dict[str, Any]:
    """Return the board of these respondents, the first of them first."""
    rows = [k for k, name in enumerate(board.respondents) if name in shown]
    return {
        "respondents": [board.respondents[k] for k in rows],
        "ranks": board.rank[rows].tolist(),
        "means": rounded(board.reached.mean[rows], DIGITS),
        "measure": board.measure,
    }


def _pairs_of(board: Leaderboard, name: str, shown: set[str]) -> dict[str, Any]:
    """Return the verdicts on one respondent and others; none if it was not compared in pairs."""
    n, k = board.n_compared, board.respondents.index(name) if name in board.respondents else -1
    before, after = np.arange(max(k, 0)), np.arange(n - k - 1)
    # Rows of its pairs, in the order of np.triu_indices.
    as_second = before * n - before * (before + 1) // 2 + k - before - 1
    as_first = k * n - k * (k + 1) // 2 + after
    rows = np.concatenate([as_second, as_first])[: n - 1 if 0 <= k < n else 0]
    pairs = board.pairs[["respondent", "other", "verdict"]].iloc[rows]
    pairs = pairs[pairs["respondent"].isin(shown) & pairs["other"].isin(shown)]
    return {"columns": columns_of(pairs.reset_index(drop=True))}


def _values(cells: np.ndarray) -> list[float | None]:
    """Return stored cells as they were given; None for never asked."""
    if cells.dtype.kind == "f":
        return rounded(cells, digits=9)
    return [None if value < 0 else value for value in cells.tolist()]
