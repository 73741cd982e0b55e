"""Errors of regressors as scores between 0 and 1, and the unit in which errors are counted."""

from __future__ import annotations

import numpy as np

from ogive.errors import InputError
from ogive.numerics.arrays import Floats

SMALLEST, LARGEST = 0.05, 20.0  # errors in units; what lies beyond counts as this


def error_unit(target: Floats) -> float:
    """Median error of always predicting the median, from a target of the training part.

    If more than half of the values are the same, it is the mean error.

    >>> error_unit(np.array([1.0, 2.0, 3.0, 7.0, 100.0]))
    2.0
    """
    away = np.abs(target - np.median(target))
    unit = float(np.median(away)) or float(away.mean())
    if not np.isfinite(unit) or unit <= 0:
        raise InputError(
            "The target has the same value in every row of the training part, so errors have no "
            "unit. Give a target that varies."
        )
    return unit


def error_scores(errors: Floats, unit: float) -> Floats:
    """Score 1 / (1 + error / unit): 1/2 at one unit, more below it; NaN stays.

    The log-odds of a score are minus the logarithm of the error in units. An error that happens to
    be almost zero is no better than a small one, so errors count as at least a twentieth of the
    unit, and as at most twenty. A score depends on the error and the unit only: not on other
    instances, nor on other regressors.

    >>> error_scores(np.array([0.0, 2.0, 6.0]), 2.0).round(3).tolist()
    [0.952, 0.5, 0.25]
    """
    found: Floats = 1.0 / (1.0 + np.clip(np.abs(errors) / unit, SMALLEST, LARGEST))
    return found
