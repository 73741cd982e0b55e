"""Respondent curves, and their generality.

Characteristic curves of respondents: how often each is right, from easy to hard items.

Generality: whether a respondent solves all easy items and fails all hard ones.

Martínez-Plumed and Hernández-Orallo (2020) pair it with ability, as discrimination is paired with
difficulty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import whole_number
from ogive.data.responses import Responses, Table, as_responses
from ogive.difficulty.item_values import (
    Difficulty,
    along,
    check_confidence,
    curve_frame,
    difficulty_values,
    known_difficulty,
    shares,
)
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.base import Result
from ogive.results.numbers import counted, listed, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.results.plots.rankings import RankingDisplay
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson
from ogive.stats.logistic_curves import logistic_curves
from ogive.stats.metrics import sums_by_bin
from ogive.stats.pairwise_tests import differences_of_estimates, first_places

__all__ = ["CharacteristicCurves", "Generality", "characteristic_curves", "generality"]


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
            return f"{name} {self._course(best)}."
        top = np.nanmax(np.where(self.n > 0, self.share, -1.0), axis=0)
        behind = np.flatnonzero(self.share[best] < top)
        text = f"{name} is right most often, in {overall[best]:.2f} of its responses"
        if len(names) > 1:
            return (
                f"{who_has(names)} the highest share of right responses, {overall[best]:.2f}: "
                "nobody is right most often."
            )
        if not behind.size:
            return f"{text}, and no other respondent is ahead in any {_bins_said(len(top))}."
        k = int(behind[-1])
        rival = int(np.argmax(np.where(self.n[:, k] > 0, self.share[:, k], -1.0)))
        sure = self.low[rival, k] > self.high[best, k]
        return (
            f"{text}, but others are ahead in {behind.size} of {counted(len(top), 'bin')} of "
            f"difficulty: around {self.difficulty[k]:.2f} it is {self.respondents[rival]}, "
            f"{self.share[rival, k]:.2f} to {self.share[best, k]:.2f}"
            f"{', with intervals that do not overlap' if sure else '; the intervals overlap'}."
        )

    def _course(self, row: int) -> str:
        asked = np.flatnonzero(self.n[row] > 0)
        if not asked.size:
            return "was asked nothing"
        first, last = asked[0], asked[-1]
        said = (
            f"on {self.share[row, k]:.2f} of the {word} items "
            f"({self.low[row, k]:.2f} to {self.high[row, k]:.2f})"
            for k, word in ((first, "easiest"), (last, "hardest"))
        )
        return f"is right {' and '.join(said)}"

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
    check_confidence(confidence)
    table = as_responses(responses, "binary")
    source = known_difficulty(difficulty, calibration, "characteristic_curves")
    bins_found = along(difficulty_values(source, table.items), table.items, bins, strategy)
    place, n_bins = bins_found.place, bins_found.items.size
    cells = np.where(table.cells < 0, np.nan, table.cells.astype(np.float64))
    n, right = sums_by_bin(cells, place, n_bins)
    low, high = wilson(right, n, confidence)
    expected = None if calibration is None else _expected(calibration, table, cells, place, n)
    return CharacteristicCurves(
        respondents=table.respondents,
        edges=bins_found.edges,
        difficulty=bins_found.difficulty,
        items=bins_found.items,
        n=n,
        share=shares(right, n),
        low=low,
        high=high,
        expected=expected,
        confidence=confidence,
        notes=bins_found.notes,
        years=None if years is None else _years(years, table.respondents),
    )


def _years(years: Any, respondents: tuple[str, ...]) -> Floats:
    """Return the year of each respondent; NaN if none is given."""
    if not (hasattr(years, "items") and callable(years.items)):
        raise InputError(
            f"years should map names of respondents to years, but it is a {type(years).__name__}."
        )
    try:
        known = {str(name): float(year) for name, year in years.items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"years should give numbers, such as 2019, but: {error}.") from error
    if not any(name in known for name in respondents):
        raise InputError("years names none of the respondents. Use the same names in both.")
    return np.array([known.get(name, np.nan) for name in respondents])


def _expected(
    calibration: Calibration, table: Responses, cells: Floats, place: NDArray[np.intp], n: Floats
) -> Floats:
    """Mean probability of being right at each respondent's ability, over the items it was asked."""
    ability = calibration.score(table, items_known=True)["ability"]
    chance = calibration.probability(ability).reindex(columns=list(table.items)).to_numpy()
    _, sums = sums_by_bin(np.where(np.isnan(cells), np.nan, chance), place, n.shape[1])
    return shares(sums, n)


def _bins_said(count: int) -> str:
    return "bin of difficulty" if count > 1 else "item"


# The standard deviation of a logistic distribution of unit scale.
DEVIATION = math.pi / math.sqrt(3.0)
FEWEST_DRAWS = 20
LEAST_FALL = 1e-6  # of log-odds, per standard deviation of difficulty; less is rounding error
RIGHT, WRONG, FLAT, FEW = "right everywhere", "wrong everywhere", "does not fall", "too few items"
STEP = "falls at once"


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
        order = known[np.argsort(-self.generality[known], kind="stable")]
        best = order[0]
        if self.generality[best] == 0:
            names = listed([self.respondents[row] for row in known], "respondent")
            return (
                f"The success of {names} does not fall with difficulty, so generality is 0. Check "
                "that the difficulties belong to these items."
            )
        value, reach = self.generality[best], 1.96 * self.generality_se[best]
        ends = f"{max(value - reach, 0.0):.2f} to {value + reach:.2f}"
        text = (
            f"{self.respondents[best]} is the most general, {value:.2f} ({ends}): "
            f"{self._fall(best)}"
        )
        if order.size < 2:
            return f"{text}."
        last = order[-1]
        # Of all pairs, the two farthest apart were picked.
        tested = differences_of_estimates(self.generality[known], self.generality_se[known] ** 2)
        first, final = (int(np.flatnonzero(known == row)[0]) for row in (best, last))
        sure = "" if tested.behind(first)[final] else "; the difference is not significant"
        return (
            f"{text}; the least general, {self.respondents[last]} "
            f"({self.generality[last]:.2f}), fails easy items and solves hard ones more "
            f"often{sure}."
        )

    def _fall(self, row: int) -> str:
        if self.flags[row] == STEP:
            return (
                f"it is right on every item up to a difficulty of about {self.middle[row]:.2f} and "
                "wrong on every harder one, so it may be even more general"
            )
        return f"it turns from right to wrong over a spread of difficulty of {self.spread[row]:.2f}"

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
        shown = RankingDisplay(self.to_frame(), estimate="generality", se="generality_se")
        return shown.plot(**kw)


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
    table = as_responses(responses, "binary")
    value = difficulty_values(known_difficulty(difficulty, calibration, "generality"), table.items)
    known = np.isfinite(value)
    if np.unique(value[known]).size < 2:
        raise InputError(
            "Generality needs items of at least two different, finite difficulties. Use the same "
            "item names in responses and difficulty."
        )
    cells = np.where(table.cells < 0, np.nan, table.cells.astype(np.float64))[:, known]
    curves = logistic_curves(cells, value[known])
    drawn = _drawn_slopes(cells, value[known], curves, int(n_resamples), random_state)
    unknown = [name for name, there in zip(table.items, known, strict=True) if not there]
    return _found(table.respondents, cells, value[known], curves, drawn, unknown)


def _drawn_slopes(
    cells: Floats, value: Floats, curves: Floats, n_resamples: int, random_state: int
) -> Floats:
    """Return how fast success falls in each resample of the items, (n_resamples, n_respondents)."""
    random = np.random.default_rng(random_state)
    even = np.full(value.size, 1 / value.size)
    found = []
    for _ in range(n_resamples):
        weights = random.multinomial(value.size, even).astype(np.float64)
        used = weights > 0
        found.append(
            logistic_curves(cells[:, used], value[used], weights[used], start=curves)[:, 1]
        )
    return np.maximum(-np.array(found), 0.0)


def _found(
    respondents: tuple[str, ...],
    cells: Floats,
    value: Floats,
    curves: Floats,
    drawn: Floats,
    unknown: list[str],
) -> Generality:
    """Return slopes as generality, with a flag for each respondent."""
    slope = np.where(curves[:, 1] * value.std() > -LEAST_FALL, 0.0, curves[:, 1])
    flags = _flags(cells, value, slope)
    lost = np.array([flag in (RIGHT, WRONG, FEW) for flag in flags])
    fall = np.where(lost, np.nan, np.abs(slope))
    found = fall / DEVIATION
    with np.errstate(divide="ignore"):
        spread = 1.0 / found
    falls = fall > 0
    middle = np.divide(curves[:, 0], fall, out=np.full(fall.shape, np.nan), where=falls)
    n = (~np.isnan(cells)).sum(axis=1).astype(np.float64)
    return Generality(
        respondents=respondents,
        generality=found,
        generality_se=np.where(lost, np.nan, drawn.std(axis=0, ddof=1) / DEVIATION),
        spread=spread,
        middle=middle,
        share=np.divide(np.nansum(cells, axis=1), n, out=np.full(n.shape, np.nan), where=n > 0),
        n=n,
        flags=flags,
        notes=_notes(respondents, flags, unknown),
    )


def _flags(cells: Floats, value: Floats, slope: Floats) -> tuple[str, ...]:
    found = []
    for row, rise in zip(cells, slope, strict=True):
        there = ~np.isnan(row)
        if np.unique(value[there]).size < 2:
            found.append(FEW)
        elif (row[there] == 1).all():
            found.append(RIGHT)
        elif (row[there] == 0).all():
            found.append(WRONG)
        else:
            at_once = value[row > 0].max() < value[row < 1].min()  # of tries: all, then none
            found.append(FLAT if rise >= 0 else STEP if at_once else "")
    return tuple(found)


def _notes(
    respondents: tuple[str, ...], flags: tuple[str, ...], unknown: list[str]
) -> tuple[str, ...]:
    said = {
        RIGHT: "success falls beyond these items; generality is unknown.",
        WRONG: "success falls before these items; generality is unknown.",
        FEW: "asked items of at most one difficulty; generality is unknown.",
        FLAT: "success does not fall with difficulty; generality is 0.",
        STEP: "right up to a difficulty, wrong beyond; generality may be higher.",
    }
    notes = []
    for flag, text in said.items():
        if names := [name for name, given in zip(respondents, flags, strict=True) if given == flag]:
            notes.append(f"{listed(names, 'respondent')} {flag}: {text}")
    if unknown:
        notes.append(f"Left out (no finite difficulty): {counted(len(unknown), 'item')}.")
    return tuple(notes)
