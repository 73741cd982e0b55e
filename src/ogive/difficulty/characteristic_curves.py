"""Respondent curves, and their generality.

Characteristic curves show how often a respondent is right, from easy to hard items. Generality
tells whether it solves all easy items and fails all hard ones: Martínez-Plumed and Hernández-Orallo
(2020) pair it with ability, as discrimination is paired with difficulty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import checked_share, float_array, whole_number
from ogive.data.responses import Table
from ogive.difficulty.item_values import (
    Difficulty,
    answers_and_difficulty,
    bin_items,
    curve_frame,
    shares,
)
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.base import Result
from ogive.results.numbers import counted, listed, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson
from ogive.stats.logistic_curves import logistic_curves
from ogive.stats.metrics import sums_by_bin
from ogive.stats.pairwise_tests import differences_of_estimates, first_places

__all__ = ["CharacteristicCurves", "Generality", "characteristic_curves", "generality"]

DEVIATION = math.pi / math.sqrt(3.0)  # standard deviation of a logistic distribution of unit scale
FEWEST_DRAWS = 20
LEAST_FALL = 1e-6  # log-odds per standard deviation of difficulty; less is rounding error
RIGHT, WRONG, FLAT, FEW = "right everywhere", "wrong everywhere", "does not fall", "too few items"
STEP = "falls at once"


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicCurves(Result):
    """Share of right responses of each respondent, by bins from easy to hard items.

    Intervals are Wilson's at `confidence`; they treat the items of a bin as a random sample. The
    share is NaN where a respondent was asked nothing in a bin.
    """

    respondents: tuple[str, ...]
    edges: Floats  # of the bins, (n_bins + 1,)
    difficulty: Floats  # (n_bins,); median of the items in a bin, since some lie far out
    items: NDArray[np.intp]  # (n_bins,); how many there are
    n: Floats  # (n_respondents, n_bins), as all that follow; responses in the bin
    share: Floats
    low: Floats
    high: Floats
    expected: Floats | None  # by the calibration, if one was given
    confidence: float
    notes: tuple[str, ...] = ()
    years: Floats | None = None  # (n_respondents,), if given

    @property
    def leaders(self) -> tuple[str, ...]:
        """The respondent with the highest share in each bin, from easy to hard."""
        best = np.argmax(np.where(np.isnan(self.share), -1.0, self.share), axis=0)
        return tuple(self.respondents[k] for k in best)

    @property
    def meaning(self) -> str:
        """Who is right most often overall, and in how many bins another is ahead."""
        overall = np.nansum(self.share * self.n, axis=1) / np.maximum(self.n.sum(axis=1), 1.0)
        first = first_places(overall)
        best, names = int(first[0]), [self.respondents[k] for k in first]
        name = names[0]
        if len(self.respondents) == 1:
            return f"{name} {self._ends_text(best)}."
        if len(names) > 1:
            return (
                f"{who_has(names)} the highest share of right responses, {overall[best]:.2f}: "
                "nobody is right most often."
            )
        share = np.where(self.n > 0, self.share, -1.0)
        top = np.nanmax(share, axis=0)
        behind = np.flatnonzero(self.share[best] < top)
        text = f"{name} is right most often, in {overall[best]:.2f} of its responses"
        if not behind.size:
            where = "bin of difficulty" if len(top) > 1 else "item"
            return f"{text}, and no other respondent is ahead in any {where}."
        k = int(behind[-1])
        rival = int(np.argmax(share[:, k]))
        sure = self.low[rival, k] > self.high[best, k]
        return (
            f"{text}, but others are ahead in {behind.size} of {counted(len(top), 'bin')} of "
            f"difficulty: around {self.difficulty[k]:.2f} it is {self.respondents[rival]}, "
            f"{self.share[rival, k]:.2f} to {self.share[best, k]:.2f}"
            f"{', with intervals that do not overlap' if sure else '; the intervals overlap'}."
        )

    def _ends_text(self, row: int) -> str:
        """Say how often a respondent is right in the first and the last bin."""
        asked = np.flatnonzero(self.n[row] > 0)
        if not asked.size:
            return "was asked nothing"
        ends = (
            f"on {self.share[row, k]:.2f} of the {word} items "
            f"({self.low[row, k]:.2f} to {self.high[row, k]:.2f})"
            for k, word in ((asked[0], "easiest"), (asked[-1], "hardest"))
        )
        return f"is right {' and '.join(ends)}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent and bin, from easy to hard."""
        cells = {"n": self.n.astype(np.intp), "share": self.share}
        cells |= {"low": self.low, "high": self.high}
        if self.expected is not None:
            cells["expected"] = self.expected
        frame = curve_frame(self.respondents, self.difficulty, **cells)
        if self.years is not None:
            frame["year"] = np.repeat(self.years, self.difficulty.size)
        return frame

    def plot(self, **kw: Any) -> Display:
        """Draw one line per respondent, with its interval."""
        return DISPLAYS["characteristic"](self.to_frame()).plot(**kw)


def characteristic_curves(
    responses: Table,
    difficulty: Difficulty | None = None,
    *,
    calibration: Calibration | None = None,
    bins: int | Sequence[float] = 10,
    strategy: str = "quantile",
    confidence: float = 0.95,
    years: Mapping[str, float] | None = None,
) -> CharacteristicCurves:
    """Compute how often each respondent is right, by bins of item difficulty.

    `responses` are right or wrong (NaN: never asked). `difficulty` gives a value for each item, by
    name. Alternatively, `calibration` provides it, together with the share that each respondent is
    expected to get. `bins` is the number of bins, or their edges; with `strategy="quantile"` they
    hold equally many items, with "uniform" they are equally wide. `confidence` is the level of the
    intervals. `years` says when each respondent appeared; the figure then shows progress over time.

    The frame has one row per respondent and bin: difficulty, n, share right with low and high, and
    expected, if there is a calibration. After Martínez-Plumed et al. (2022).

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 100, 40, random_state=0).responses
    >>> few = drawn.select(["respondent_1", "respondent_2"])
    >>> found = og.characteristic_curves(few, calibration=og.calibrate(drawn, "1pl"), bins=2)
    >>> found.share.tolist()
    [[0.65, 0.4], [0.8, 0.3]]
    """
    checked_share(confidence, "confidence", 0.95)
    table, cells, value = answers_and_difficulty(
        responses, difficulty, calibration, "characteristic_curves"
    )
    binned = bin_items(value, table.items, bins, strategy)
    place, n_bins = binned.place, binned.items.size
    n, right = sums_by_bin(cells, place, n_bins)
    low, high = wilson(right, n, confidence)
    expected = None
    if calibration is not None:
        ability = calibration.score(table, items_known=True)["ability"]
        chance = calibration.probability(ability).reindex(columns=list(table.items)).to_numpy()
        sums = sums_by_bin(np.where(np.isnan(cells), np.nan, chance), place, n_bins)[1]
        expected = shares(sums, n)
    return CharacteristicCurves(
        respondents=table.respondents,
        edges=binned.edges,
        difficulty=binned.difficulty,
        items=binned.items,
        n=n,
        share=shares(right, n),
        low=low,
        high=high,
        expected=expected,
        confidence=confidence,
        notes=binned.notes,
        years=None if years is None else _years(years, table.respondents),
    )


def _years(years: Any, respondents: tuple[str, ...]) -> Floats:
    """Return the year of each respondent; NaN if none is given."""
    if not (hasattr(years, "items") and callable(years.items)):
        raise InputError(
            f"years should map names of respondents to years, but it is a {type(years).__name__}."
        )
    given = dict(years.items())
    numbers = float_array(list(given.values()), "years")
    known = {str(name): year for name, year in zip(given, numbers, strict=True)}
    if not any(name in known for name in respondents):
        raise InputError("years names none of the respondents. Use the same names in both.")
    return np.array([known.get(name, np.nan) for name in respondents])


@dataclass(frozen=True, eq=False, repr=False)
class Generality(Result):
    """Over how narrow a range of difficulty each respondent turns from right to wrong.

    Success of a respondent falls with difficulty h along the curve σ(-s (h - m)). The slope -dσ/dh
    is a density around m with standard deviation π / (√3 s): the `spread`. Generality is 1 /
    spread. If success does not fall, the spread is infinite and generality is 0. If a respondent is
    right (or wrong) everywhere, success falls outside the range of the items, and generality is
    NaN. If it is right up to a difficulty and wrong beyond, any higher generality fits as well, and
    the estimate is conservative (Jeffreys' prior).
    """

    respondents: tuple[str, ...]
    generality: Floats  # (n_respondents,), as all that follow
    generality_se: Floats  # over resamples of the items
    spread: Floats
    middle: Floats  # difficulty at which half of the items are solved; NaN if there is none
    share: Floats  # of right responses
    n: Floats  # responses
    flags: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Who is the most and the least general, and whether they differ significantly."""
        known = np.flatnonzero(np.isfinite(self.generality))
        if not known.size:
            return (
                "No respondent turns from right to wrong on these items, so generality is unknown."
            )
        value, se = self.generality[known], self.generality_se[known]
        order = np.argsort(-value, kind="stable")
        first, last = order[0], order[-1]
        if value[first] == 0:
            names = listed([self.respondents[row] for row in known], "respondent")
            return (
                f"The success of {names} does not fall with difficulty, so generality is 0. Check "
                "that the difficulties belong to these items."
            )
        best, half_width = known[first], 1.96 * se[first]
        interval = f"{max(value[first] - half_width, 0.0):.2f} to {value[first] + half_width:.2f}"
        fall = (
            f"it turns from right to wrong over a spread of difficulty of {self.spread[best]:.2f}"
        )
        if self.flags[best] == STEP:
            fall = (
                f"it is right on every item up to a difficulty of about {self.middle[best]:.2f} "
                "and wrong on every harder one, so it may be even more general"
            )
        text = (
            f"{self.respondents[best]} is the most general, {value[first]:.2f} ({interval}): {fall}"
        )
        if order.size < 2:
            return f"{text}."
        # Of all pairs, the two farthest apart were picked.
        differs = differences_of_estimates(value, se**2).behind(int(first))[last]
        sure = "" if differs else "; the difference is not significant"
        return (
            f"{text}; the least general, {self.respondents[known[last]]} "
            f"({value[last]:.2f}), fails easy items and solves hard ones more often{sure}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent."""
        columns = {
            "generality": self.generality,
            "generality_se": self.generality_se,
            "spread": self.spread,
            "middle": self.middle,
            "share": self.share,
            "n": self.n.astype(np.intp),
            "flag": self.flags,
        }
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    def plot(self, **kw: Any) -> Display:
        """Draw the respondents by generality."""
        from ogive.results.plots.rankings import RankingDisplay

        return RankingDisplay(self.to_frame(), estimate="generality", se="generality_se").plot(**kw)


def generality(
    responses: Table,
    difficulty: Difficulty | None = None,
    *,
    calibration: Calibration | None = None,
    n_resamples: int = 200,
    random_state: int = 0,
) -> Generality:
    """Compute generality: 1 / the spread of difficulty over which success falls.

    `responses` are right or wrong (NaN: never asked). `difficulty` gives a value for each item, by
    name; alternatively, `calibration` provides it. Outliers distort the curves:
    `difficulty_targets` can clip or drop them. Standard errors come from `n_resamples` bootstrap
    resamples of the items.

    The frame has one row per respondent: generality and its se, spread, middle, share right, n,
    flag. After Martínez-Plumed and Hernández-Orallo (2020). The same `random_state` gives the same
    result.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 100, 40, random_state=0).responses
    >>> few = drawn.select(["respondent_1", "respondent_2"])
    >>> found = og.generality(few, calibration=og.calibrate(drawn, "1pl"), n_resamples=20)
    >>> (found.generality > 0).tolist()
    [True, True]
    """
    whole_number(n_resamples, "n_resamples", FEWEST_DRAWS)
    whole_number(random_state, "random_state", 0)
    table, cells, value = answers_and_difficulty(responses, difficulty, calibration, "generality")
    known = np.isfinite(value)
    if np.unique(value[known]).size < 2:
        raise InputError(
            "Generality needs items of at least two different, finite difficulties. Use the same "
            "item names in responses and difficulty."
        )
    cells, value = cells[:, known], value[known]
    curves = logistic_curves(cells, value)
    drawn = _resampled_falls(cells, value, curves, int(n_resamples), random_state)
    slope = np.where(curves[:, 1] * value.std() > -LEAST_FALL, 0.0, curves[:, 1])
    flags = tuple(_flag(row, value, rise) for row, rise in zip(cells, slope, strict=True))
    undefined = np.array([flag in (RIGHT, WRONG, FEW) for flag in flags])
    fall = np.where(undefined, np.nan, np.abs(slope))
    generality = fall / DEVIATION
    with np.errstate(divide="ignore"):
        spread = 1.0 / generality
    n = (~np.isnan(cells)).sum(axis=1).astype(np.float64)
    return Generality(
        respondents=table.respondents,
        generality=generality,
        generality_se=np.where(undefined, np.nan, drawn.std(axis=0, ddof=1) / DEVIATION),
        spread=spread,
        middle=np.divide(curves[:, 0], fall, out=np.full(fall.shape, np.nan), where=fall > 0),
        share=shares(np.nansum(cells, axis=1), n),
        n=n,
        flags=flags,
        notes=tuple(_notes(table.respondents, flags, int((~known).sum()))),
    )


def _resampled_falls(
    cells: Floats, value: Floats, curves: Floats, n_resamples: int, random_state: int
) -> Floats:
    """Return how fast success falls in each resample of the items, (n_resamples, n_respondents)."""
    random = np.random.default_rng(random_state)
    even = np.full(value.size, 1 / value.size)
    slopes = []
    for _ in range(n_resamples):
        weights = random.multinomial(value.size, even).astype(np.float64)
        used = weights > 0
        drawn = logistic_curves(cells[:, used], value[used], weights[used], start=curves)
        slopes.append(drawn[:, 1])
    return np.maximum(-np.array(slopes), 0.0)


def _flag(cells: Floats, value: Floats, slope: float) -> str:
    """Return what is special about the responses of one respondent, if anything."""
    known = ~np.isnan(cells)
    if np.unique(value[known]).size < 2:
        return FEW
    if (cells[known] == 1).all():
        return RIGHT
    if (cells[known] == 0).all():
        return WRONG
    if slope >= 0:
        return FLAT
    # of tries: all, then none
    return STEP if value[cells > 0].max() < value[cells < 1].min() else ""


def _notes(respondents: tuple[str, ...], flags: tuple[str, ...], n_unknown: int) -> list[str]:
    texts = {
        RIGHT: "success falls beyond these items; generality is unknown.",
        WRONG: "success falls before these items; generality is unknown.",
        FEW: "asked items of at most one difficulty; generality is unknown.",
        FLAT: "success does not fall with difficulty; generality is 0.",
        STEP: "right up to a difficulty, wrong beyond; generality may be higher.",
    }
    notes = []
    for flag, text in texts.items():
        if names := [name for name, given in zip(respondents, flags, strict=True) if given == flag]:
            notes.append(f"{listed(names, 'respondent')} {flag}: {text}")
    if n_unknown:
        notes.append(f"Left out (no finite difficulty): {counted(n_unknown, 'item')}.")
    return notes
