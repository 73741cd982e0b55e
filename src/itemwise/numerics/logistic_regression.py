"""Logistic curves along one value, for many rows at once, finite whatever they hold (Firth, 1993).

Penalised by Jeffreys' prior: rows that are right up to a point and wrong beyond it keep a finite
slope, and the slope of few cells is hardly biased.
"""

from __future__ import annotations

import numpy as np

from itemwise.numerics.arrays import Floats
from itemwise.numerics.special import sigmoid_pair

MOST_STEPS, LONGEST_STEP, CLOSE_ENOUGH = 100, 2.0, 1e-8
FAINTEST = 1e-10


def logistic_curves(
    cells: Floats, along: Floats, weights: Floats | None = None, start: Floats | None = None
) -> Floats:
    """Intercept and slope of each row's curve, (n_rows, 2).

    `cells` (n_rows, n_columns) holds 0, 1, a share of ones, or NaN for none; `along` (n_columns,)
    must vary, or the slope is 0. A cell counts `weights` (n_columns,) times.
    """
    seen = (~np.isnan(cells)).astype(np.float64)
    if weights is not None:
        seen = seen * weights
    right = np.where(np.isnan(cells), 0.0, cells)
    middle, unit = _standard(along)
    x = (along - middle) / unit
    found = np.zeros((cells.shape[0], 2)) if start is None else _onto(start, middle, unit)
    for _ in range(MOST_STEPS):
        step = _step(found, x, right, seen)
        found = found + step
        if np.abs(step).max(initial=0.0) < CLOSE_ENOUGH:
            break
    slope = found[:, 1] / unit
    return np.stack([found[:, 0] - slope * middle, slope], axis=1)


def _standard(along: Floats) -> tuple[float, float]:
    return float(along.mean()), float(along.std()) or 1.0


def _onto(curves: Floats, middle: float, unit: float) -> Floats:
    """Curves on the standardised axis."""
    return np.stack([curves[:, 0] + curves[:, 1] * middle, curves[:, 1] * unit], axis=1)


def _step(curves: Floats, x: Floats, right: Floats, seen: Floats) -> Floats:
    """A step of scoring on the penalised likelihood, of limited length.

    The penalty adds `leverage` cells to each, half of them right: as cells with such counts, the
    score is exact and its information steadies the step.
    """
    rise, fall = sigmoid_pair(curves[:, :1] + curves[:, 1:] * x)
    first, cross, second, determinant = information(seen * rise * fall, x)
    told = second[:, None] - 2 * cross[:, None] * x + first[:, None] * x**2
    leverage = rise * fall * told / determinant[:, None]
    pull = seen * (right - rise + leverage * (0.5 - rise))
    one, other = pull.sum(axis=1), pull @ x
    first, cross, second, determinant = information(seen * (1 + leverage) * rise * fall, x)
    step = np.stack([second * one - cross * other, first * other - cross * one], axis=1)
    step = step / determinant[:, None]
    length = np.abs(step).max(axis=1, keepdims=True)
    shortened: Floats = step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP))
    return shortened


def information(weight: Floats, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Entries of the information on intercept and slope of each row, and its determinant."""
    first, cross, second = weight.sum(axis=1), weight @ x, weight @ x**2
    # A ridge of rounding size: where all cells lie at one value, there is no slope.
    ridge = FAINTEST * (1 + first + second)
    first, second = first + ridge, second + ridge
    return first, cross, second, first * second - cross**2
