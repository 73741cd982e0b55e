"""Which model to use at which difficulty, and whether choosing by difficulty pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ogive._validation import checked_share, float_array, whole_number
from ogive.data.responses import Table
from ogive.difficulty.item_values import (
    Bins,
    Difficulty,
    answers_and_difficulty,
    bin_items,
    curve_frame,
    shares,
)
from ogive.difficulty.targets import DifficultyTargets, difficulty_of
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.base import Result
from ogive.results.numbers import counted
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import paired_difference, wilson
from ogive.stats.metrics import sums_by_bin
from ogive.stats.pairwise_tests import differences_of_answers

__all__ = ["ModelSelection", "select_models"]


FEWEST_MODELS = 2


@dataclass(frozen=True, eq=False, repr=False)
class ModelSelection(Result):
    """The best model in each bin of difficulty, and the gain of choosing by difficulty.

    `tied` holds, for each bin, the models that are not significantly behind its best (McNemar's
    exact test at `confidence`, bin by bin). The gain is over the single best model, on items that
    were used to choose neither; its interval is paired, and widened for cross-validation (Nadeau
    and Bengio, 2003).
    """

    respondents: tuple[str, ...]
    single: str  # the single best model
    edges: Floats  # of the bins, (n_bins + 1,)
    difficulty: Floats  # (n_bins,); median of the items in a bin
    items: NDArray[np.intp]  # (n_bins,)
    best: tuple[str, ...]  # of each bin
    tied: tuple[tuple[str, ...], ...]  # of each bin
    n: Floats  # (n_respondents, n_bins), as the three that follow
    share: Floats
    low: Floats
    high: Floats
    gain: float  # on held-out items, as all that follow
    gain_low: float
    gain_high: float
    share_chosen: float
    share_single: float
    share_any: float  # at least one model is right: the ceiling of any choice
    judged: int  # items
    confidence: float
    notes: tuple[str, ...] = ()

    def choose(self, difficulty: ArrayLike | DifficultyTargets) -> list[str]:
        """Return the model to use for each of these difficulties.

        The outer bins extend beyond the easiest and the hardest item. If a difficulty is NaN,
        the single best model is used.
        """
        value = np.atleast_1d(float_array(difficulty_of(difficulty), "difficulty"))
        bin_of_value = np.searchsorted(self.edges[1:-1], value, side="right")
        return [
            self.single if np.isnan(number) else self.best[k]
            for number, k in zip(value, bin_of_value, strict=True)
        ]

    @property
    def meaning(self) -> str:
        """Whether choosing by difficulty pays on held-out items, and which model is best where."""
        interval = f"{self.gain_low:+.3f} to {self.gain_high:+.3f}"
        shares_text = (
            f"right on {self.share_chosen:.3f} of held-out items, the single best model, "
            f"{self.single}, on {self.share_single:.3f}"
        )
        if self.gain_low > 0:
            return (
                f"Choosing the model by difficulty pays: it is {shares_text}, a gain of "
                f"{self.gain:+.3f} ({interval}). Best are {self._ranges_text()}."
            )
        verdict = "does harm" if self.gain_high < 0 else "shows no significant gain"
        return (
            f"Choosing the model by difficulty {verdict}: it is {shares_text}, "
            f"a difference of {self.gain:+.3f} ({interval}). Use {self.single} for all."
        )

    def _ranges_text(self, most: int = 4) -> str:
        """Return adjacent bins of the same model as one range: A up to -1.2, B beyond."""
        ranges = [
            (name, [k for k, _ in run][-1])
            for name, run in groupby(enumerate(self.best), key=lambda entry: entry[1])
        ]
        texts = [f"{name} up to {self.edges[last + 1]:.2f}" for name, last in ranges[:-1]]
        texts.append(f"{ranges[-1][0]} {'beyond' if texts else 'everywhere'}")
        if len(texts) > most:
            return f"{', '.join(texts[:most])}, and so on, with {len(texts)} ranges in all"
        return ", ".join(texts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin, from easy to hard: the best model, and those tied with it."""
        row = [self.respondents.index(name) for name in self.best]
        bins = np.arange(len(self.best))
        columns = {
            "from": self.edges[:-1],
            "to": self.edges[1:],
            "difficulty": self.difficulty,
            "items": self.items,
            "best": self.best,
            "share": self.share[row, bins],
            "low": self.low[row, bins],
            "high": self.high[row, bins],
            "share_single": self.share[self.respondents.index(self.single)],
            "tied": [", ".join(names) for names in self.tied],
        }
        return pd.DataFrame(columns, index=pd.Index(bins + 1, name="bin"))

    def plot(self, **kw: Any) -> Display:
        """Draw the share of right responses of each model by difficulty."""
        from ogive.results.plots.banded_curves import CharacteristicDisplay

        cells = {"share": self.share, "low": self.low, "high": self.high}
        frame = curve_frame(self.respondents, self.difficulty, **cells)
        return CharacteristicDisplay(frame).plot(**kw)


def select_models(
    responses: Table,
    difficulty: Difficulty | None = None,
    *,
    calibration: Calibration | None = None,
    bins: int | Sequence[float] = 10,
    strategy: str = "quantile",
    cv: int = 5,
    confidence: float = 0.95,
    random_state: int = 0,
) -> ModelSelection:
    """Find the best model in each bin of difficulty, and what choosing by difficulty gains.

    `responses` are right or wrong (NaN: never asked). `difficulty` gives a value for each item,
    observed or predicted; alternatively, `calibration` provides it. It should not be estimated from
    the responses of these models, or the gain will look too large. `bins` and `strategy` are as in
    `characteristic_curves`. The gain is measured over `cv` folds of the items: bins, their best
    models and the single best model are found on the other folds.

    The frame has one row per bin: from, to, difficulty, items, best, share with low and high (at
    `confidence`), share_single, tied; `gain` with `gain_low` and `gain_high` is over all items.
    After Martínez-Plumed et al. (2022). The same `random_state` gives the same folds.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 100, 40, random_state=0).responses
    >>> few = drawn.select(["respondent_1", "respondent_2"])
    >>> found = og.select_models(few, calibration=og.calibrate(drawn, "1pl"), bins=2, cv=2)
    >>> found.single, found.to_frame()["items"].tolist()
    ('respondent_2', [20, 20])
    """
    checked_share(confidence, "confidence", 0.95)
    whole_number(cv, "cv", 2)
    whole_number(random_state, "random_state", 0)
    table, cells, value = answers_and_difficulty(
        responses, difficulty, calibration, "select_models"
    )
    if table.n_respondents < FEWEST_MODELS:
        raise InputError("There is only one respondent. Give at least two to choose from.")
    binned = bin_items(value, table.items, bins, strategy)
    n, right = sums_by_bin(cells, binned.place, binned.items.size)
    low, high = wilson(right, n, confidence)
    single, best = _best(n, right)
    used = np.flatnonzero(binned.place >= 0)
    names = np.array(table.respondents, dtype=object)
    held_out = _held_out(cells[:, used], value[used], bins, strategy, cv, random_state, confidence)
    notes = list(binned.notes)
    if n_left_out := int(used.size - held_out["judged"]):
        notes.append(f"Not judged (not asked of both models): {counted(n_left_out, 'item')}.")
    return ModelSelection(
        respondents=table.respondents,
        single=names[single],
        edges=binned.edges,
        difficulty=binned.difficulty,
        items=binned.items,
        best=tuple(names[best]),
        tied=_tied(cells, binned, best, confidence, table.respondents),
        n=n,
        share=shares(right, n),
        low=low,
        high=high,
        **held_out,
        confidence=confidence,
        notes=tuple(notes),
    )


def _best(n: Floats, right: Floats) -> tuple[int, NDArray[np.intp]]:
    """Return the single best row over all bins, and the best in each; ties go to the former."""
    overall = shares(right.sum(axis=1), n.sum(axis=1))
    single = int(np.argmax(np.where(np.isnan(overall), -1.0, overall)))
    share = np.where(n > 0, shares(right, n), -1.0)
    best = np.argmax(share, axis=0)
    return single, np.where(share[single] >= share.max(axis=0), single, best)


def _tied(
    cells: Floats,
    binned: Bins,
    best: NDArray[np.intp],
    confidence: float,
    respondents: tuple[str, ...],
) -> tuple[tuple[str, ...], ...]:
    """Return for each bin the models not significantly behind its best, on items both were asked.

    The best was chosen on the same items, so that p-values allow for all pairs of the bin.
    """
    tied = []
    for k, leader in enumerate(best):
        part = cells[:, binned.place == k]
        shared = (~np.isnan(part) & ~np.isnan(part[leader])).any(axis=1)
        level = differences_of_answers(part).level_with(int(leader), 1 - confidence) & shared
        tied.append(tuple(respondents[j] for j in np.flatnonzero(level)))
    return tuple(tied)


def _held_out(
    cells: Floats,
    value: Floats,
    bins: int | Sequence[float],
    strategy: str,
    cv: int,
    random_state: int,
    confidence: float,
) -> dict[str, Any]:
    """Compare the chosen with the single best model on held-out items, over all folds."""
    n_items = value.size
    if cv > n_items:
        raise InputError(
            f"cv is {cv}, but there are {counted(n_items, 'item')} with a difficulty. "
            "Give fewer folds, or more items."
        )
    fold = np.random.default_rng(random_state).permutation(n_items) % cv
    chosen, single = np.full(n_items, np.nan), np.full(n_items, np.nan)
    for k in range(cv):
        test, train = fold == k, fold != k
        learnt = bin_items(value[train], ("",) * int(train.sum()), bins, strategy)
        leader, best = _best(*sums_by_bin(cells[:, train], learnt.place, learnt.items.size))
        bin_of_item = np.searchsorted(learnt.edges[1:-1], value[test], side="right")
        columns = np.flatnonzero(test)
        chosen[columns] = cells[best[bin_of_item], columns]
        single[columns] = cells[leader, columns]
    judged = ~np.isnan(chosen) & ~np.isnan(single)
    if not judged.any():
        raise InputError(
            "No held-out item was asked of both the chosen and the single best model, so they "
            "cannot be compared. Give responses of models to the same items."
        )
    one, other, n = chosen[judged], single[judged], int(judged.sum())
    better, worse = int((one > other).sum()), int((one < other).sum())
    inflation = 1.0 + cv / (cv - 1.0)  # training sets overlap, so folds are correlated
    low, high = paired_difference(better, worse, n, confidence, inflation)
    solved = (np.nan_to_num(cells[:, judged]) > 0).any(axis=0)
    return {
        "gain": (better - worse) / n,
        "gain_low": low,
        "gain_high": high,
        "share_chosen": int(one.sum()) / n,
        "share_single": int(other.sum()) / n,
        "share_any": int(solved.sum()) / n,
        "judged": n,
    }
