"""How far predictions are off, how well they rank, and how often their intervals hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.agreement import rank_agreement
from itemwise.numerics.arrays import Floats

COLUMNS = (
    *("mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se"),
    *("kendall", "spearman", "coverage", "coverage_se", "width"),
)


def prediction_error(
    predicted: Floats, truth: Floats, groups: NDArray[np.int64], reach: Floats | None = None
) -> dict[str, float]:
    """The figures of `COLUMNS`; all arguments are (n,).

    Predictions of one of the `groups` (numbered from 0) hang together, and count as one for
    standard errors. `reach` is half the width of each interval; without it, nothing is said of
    intervals.
    """
    error = predicted - truth
    off, rmse = np.abs(error), float(np.sqrt((error**2).mean()))
    found = {
        "mae": float(off.mean()),
        "mae_se": grouped_se(off, groups),
        "rmse": rmse,
        "rmse_se": grouped_se(error**2, groups) / (2 * max(rmse, 1e-300)),
        "bias": float(error.mean()),
        "bias_se": grouped_se(error, groups),
        **rank_agreement(predicted, truth),
    }
    if reach is None:
        return {**found, "coverage": np.nan, "coverage_se": np.nan, "width": np.nan}
    held = (off <= reach).astype(float)
    coverage = {"coverage": float(held.mean()), "coverage_se": grouped_se(held, groups)}
    return {**found, **coverage, "width": float(2 * np.mean(reach))}


def grouped_se(values: Floats, groups: NDArray[np.int64]) -> float:
    """Standard error of a mean whose values come in groups; NaN where there is but one."""
    sums = np.bincount(groups, values - values.mean())[np.bincount(groups) > 0]
    if sums.size < 2:
        return float("nan")
    return float(np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / values.size)
