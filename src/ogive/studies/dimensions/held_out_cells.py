"""Whether several dimensions predict answers better than one: by cells that were held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.estimation.dimension_climb import DimensionFit, climb
from ogive.estimation.dimension_start import first_place, posterior_modes
from ogive.estimation.several_dimensions import (
    FittedDimensions,
    held_out_scores,
    one_dimension,
)
from ogive.numerics.arrays import Floats, Run

LEAST_CELLS = 2  # answers that a respondent keeps


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Mean log score of a held-out answer, by several dimensions and by one, and the difference."""

    several: float
    one: float
    se: float  # of the difference
    n_cells: int
    converged: bool  # whether all fits that predict came to an end

    @property
    def difference(self) -> float:
        """How much better several dimensions predict."""
        return self.several - self.one


def compare_held_out(
    found: FittedDimensions,
    cv: int,
    random_state: int,
    run: Run,
    report: Callable[[int, int, str], None],
) -> HeldOut:
    """Fit both on all folds but one, and score the answers of that one."""
    codes, pattern, pull = found.fit.table.codes, found.fit.pattern, found.fit.pull
    single = one_dimension(pattern)
    start = first_place(codes, single)
    one = climb(codes, single, pull, run, (start, posterior_modes(codes, single, start)))
    folds = _folds(codes, cv, random_state)
    scores = [np.zeros(codes.shape), np.zeros(codes.shape)]
    converged = found.fit.converged and one.converged
    for fold in range(cv):
        report(fold + 1, cv + 1, "held-out answers")
        held = folds == fold
        if not held.any():
            continue
        seen = np.where(held, -1, codes).astype(np.int16)
        for k, fit in enumerate((found.fit, one)):
            again = _again(fit, seen, run)
            converged = converged and again.converged
            scores[k][held] = held_out_scores(again, codes, held, run)
    told = folds >= 0
    apart = np.where(told, scores[0] - scores[1], 0.0)
    return HeldOut(
        several=float(scores[0][told].mean()),
        one=float(scores[1][told].mean()),
        se=_two_way_error(apart, told),
        n_cells=int(told.sum()),
        converged=converged,
    )


def _again(fit: DimensionFit, codes: NDArray[np.int16], run: Run) -> DimensionFit:
    """The same model for fewer answers, beginning where all of them led."""
    around = posterior_modes(codes, fit.pattern, fit.place)
    return climb(codes, fit.pattern, fit.pull, run, (fit.place, around), quickly=True)


def _folds(codes: NDArray[np.int16], cv: int, random_state: int) -> NDArray[np.intp]:
    """The fold of each answer, about equally many of each respondent; -1 where none was given."""
    random = np.random.default_rng(random_state)
    folds = np.full(codes.shape, -1, dtype=np.intp)
    for row, answers in zip(folds, codes, strict=True):
        asked = np.flatnonzero(answers >= 0)
        if asked.size >= LEAST_CELLS:
            row[random.permutation(asked)] = (np.arange(asked.size) + random.integers(cv)) % cv
    return folds


def _two_way_error(apart: Floats, told: NDArray[np.bool_]) -> float:
    """Standard error of the mean difference; answers of a respondent, or to an item, go together.

    Cameron, Gelbach and Miller (2011): variance by respondents plus by items, less by cells.
    """
    away = np.where(told, apart - apart[told].mean(), 0.0)
    parts = []
    for axis in (1, 0):
        sums = away.sum(axis=axis)[told.any(axis=axis)]
        parts.append(float((sums**2).sum()) * sums.size / max(sums.size - 1, 1))
    cells = float((away**2).sum())
    return float(np.sqrt(max(parts[0] + parts[1] - cells, *parts))) / int(told.sum())
