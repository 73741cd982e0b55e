"""App scales.

What a table of responses shows before it is calibrated: means, and item-rest correlations.

One scale as a browser asks for it: the items at once, responses and texts item by item.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.irt.response_codes import as_floats
from ogive.reporting.explorer import Scale, long_facts, scale_of, short_facts
from ogive.reporting.explorer_responses import CELLS, counted_items, error_of_share
from ogive.reporting.sections import DIGITS, columns_of, rounded, text_of
from ogive.stats.array_backend import Floats, row_blocks

if TYPE_CHECKING:
    import pandas as pd

    from ogive.checks.mislabelled_items import LabelTrouble
    from ogive.data.responses import Responses
    from ogive.evaluation.leaderboards import Leaderboard
    from ogive.irt.calibration import Calibration


SMALLEST = 1e-12  # standard error; anything below is rounding


def counted_scale(name: str, responses: Responses) -> tuple[Scale, np.ndarray]:
    """Return the items of a table that has no scale yet, and its respondents' order.

    On the map, the mean response takes the place of difficulty, and the item-rest correlation that
    of discrimination; there are no curves. Who was asked easy items alone does not come first:
    where not all were asked everything, the order is that of the mean distance from item means.
    """
    items = counted_items(responses)
    means = respondent_means(responses)
    comparable = bool((means["asked"] == responses.n_items).all())
    standing = means["mean"] if comparable else _beyond_items(responses, items)
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
            **columns_in_order(means, order),
        },
    }
    return Scale(name, items.join(groups), content), order


def kind_of_answers(responses: Responses) -> str:
    """Return "bits" if every response is right or wrong, else "scores"."""
    plain = responses.kind == "binary" and responses.tries is None
    return "bits" if plain else "scores"


def respondent_means(responses: Responses) -> pd.DataFrame:
    """Return the mean response of every respondent, its standard error, and how many there are."""
    import pandas as pd

    n_rows, n_items = responses.shape
    sums = np.zeros((3, n_rows))
    for rows in row_blocks(n_rows, max(16, CELLS // max(1, n_items))):
        x = as_floats(responses.cells[rows])
        sums[0, rows] = np.isfinite(x).sum(axis=1)
        sums[1, rows] = np.nansum(x, axis=1)
        sums[2, rows] = np.nansum(x * x, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[1] / sums[0]
    se = _error_of_mean(sums, binary=responses.kind == "binary")
    return pd.DataFrame({"mean": mean, "mean_se": se, "asked": sums[0].astype(int)})


def _error_of_mean(sums: Floats, *, binary: bool) -> Floats:
    """Return standard errors over items, as on a leaderboard.

    Shares that are all the same show no spread, so that theirs is that of a posterior.
    """
    found = error_of_share(*sums, binary=False)
    if not binary:
        return found
    return np.where(found > SMALLEST, found, error_of_share(*sums, binary=True))


def _beyond_items(responses: Responses, items: pd.DataFrame) -> pd.Series[float]:
    """Return how far each respondent lies above the means of the items that it was asked."""
    import pandas as pd

    middle = items["mean_response"].to_numpy()
    found = np.empty(responses.n_respondents)
    for rows in row_blocks(len(found), max(16, CELLS // max(1, responses.n_items))):
        x = as_floats(responses.cells[rows])
        asked = np.isfinite(x)
        beyond = np.where(asked, x - middle, 0.0).sum(axis=1)
        found[rows] = np.where(asked.any(axis=1), beyond / np.maximum(asked.sum(axis=1), 1), np.nan)
    return pd.Series(found)


def columns_in_order(means: pd.DataFrame, order: np.ndarray) -> dict[str, list[Any]]:
    """Return the columns as lists for a page, in the order of its respondents."""
    return {str(name): rounded(means[name].to_numpy()[order], digits=6) for name in means}


MOST_FOUND = 100_000  # items that a search returns


@dataclass(frozen=True, eq=False)
class ShownScale:
    """A scale, and the responses behind it: those of respondent `order[k]` are the k-th shown."""

    scale: Scale
    responses: Responses | None = None
    order: np.ndarray | None = None
    places: np.ndarray | None = None  # of the items of the scale among those of the responses
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
        abilities = calibration.score(responses)
        order = np.argsort(-abilities["ability"].to_numpy(), kind="stable")
        ranked = abilities.iloc[order]
        scale.content["facts"] = []  # they are asked for item by item
        scale.content["answers"] = {
            "kind": kind_of_answers(responses),
            "respondents": [str(name) for name in ranked.index],
            "ability": rounded(ranked["ability"], DIGITS),
            "se": rounded(ranked["se"], DIGITS),
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

    def respondent(self, place: int) -> dict[str, Any]:
        """Return the responses of one respondent, item by item, and whom it beats."""
        if self.responses is None or self.order is None or self.places is None:
            return {"responses": [], "pairs": None, "board": None}
        cells = self.responses.cells[self.order[place]]
        found = _values(cells[self.places])
        given = [None if at < 0 else value for at, value in zip(self.places, found, strict=True)]
        name = self._shown[place]
        if self.board is None:
            return {"responses": given, "pairs": None, "board": None}
        shown = set(self._shown)
        pairs = _pairs_of(self.board, name, shown)
        return {"responses": given, "pairs": pairs, "board": _standings(self.board, shown)}

    def suspects(self) -> dict[str, Any]:
        """Return the rows of suspect items, how many of the strongest were right, and texts."""
        items = self.scale.items
        rows = np.flatnonzero(items["suspect"]) if "suspect" in items else np.array([], int)
        if self.responses is None or self.order is None or self.places is None:
            return {"rows": rows.tolist(), "strong": [""] * rows.size, "facts": []}
        rows = rows[self.places[rows] >= 0]
        texts = self._facts.iloc[self.places[rows]]
        return {
            "rows": rows.tolist(),
            "strong": [self._said_of_strong(int(self.places[row])) for row in rows],
            "facts": columns_of(texts.reset_index(drop=True)) if texts.shape[1] else [],
        }

    def _said_of_strong(self, place: int) -> str:
        """Return how many of the strongest third of those asked were right."""
        assert self.responses is not None  # noqa: S101 - as below
        if kind_of_answers(self.responses) != "bits":
            return ""
        answers = self.responses.cells[self.order, place]
        asked = answers[answers >= 0]
        strong = asked[: max(1, -(-asked.size // 3))]
        return f"{int(strong.sum())} of {strong.size}"

    def search(self, words: str) -> list[int]:
        """Return the rows of items with these words in their name or texts."""
        wanted = words.casefold()
        rows = (row for row, text in enumerate(self._words) if wanted in text)
        return [row for row, _ in zip(rows, range(MOST_FOUND), strict=False)]

    @property
    def _shown(self) -> list[str]:
        names: list[str] = self.scale.content["answers"]["respondents"]
        return names

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
    before = np.arange(max(k, 0))
    with_others = np.concatenate(  # places in the order of np.triu_indices
        [before * n - before * (before + 1) // 2 + k - before - 1,
         k * n - k * (k + 1) // 2 + np.arange(n - k - 1)]
    )  # fmt: skip
    chosen = with_others[: n - 1 if 0 <= k < n else 0]
    columns = ["respondent", "other", "verdict"]
    found = board.pairs[columns].iloc[chosen]
    found = found[found["respondent"].isin(shown) & found["other"].isin(shown)]
    return {"columns": columns_of(found.reset_index(drop=True))}


def _values(cells: np.ndarray) -> list[float | None]:
    """Return stored cells as they were given; None for never asked."""
    if cells.dtype.kind == "f":
        return rounded(cells, digits=9)
    return [None if value < 0 else value for value in cells.tolist()]
