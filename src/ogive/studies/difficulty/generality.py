"""Generality: whether a respondent solves all easy items and fails all hard ones.

Martínez-Plumed and Hernández-Orallo (2020) pair it with ability, as discrimination is paired with
difficulty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import whole_number
from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.differing import differences_of_estimates
from ogive.numerics.success_curves import logistic_curves
from ogive.responses import Table, as_responses
from ogive.results import Result
from ogive.studies.difficulty.item_values import (
    Difficulty,
    difficulty_values,
    known_difficulty,
)
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["Generality", "generality"]

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
        """One row per respondent."""
        import pandas as pd

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
        from ogive.displays import RankingDisplay

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
    """How fast success falls in each resample of the items, (n_resamples, n_respondents)."""
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
    """Slopes as generality, with a flag for each respondent."""
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
