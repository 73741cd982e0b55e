"""Limits that a few far values cannot stretch."""

from __future__ import annotations

import numpy as np

from ogive.numerics.arrays import Floats

FEW, FEW_SHARE = 2, 0.01  # values at each end that are no group of their own
WIDE = 3.0  # widths of the middle beyond it that are still shown
MIDDLES = (25.0, 10.0, 2.5, 0.0)  # per cent left out at each end; the first that has a width counts


def cluster_limits(values: Floats) -> tuple[float, float]:
    """Robust limits, but wide enough for groups of values that lie far from the others.

    At each end at most one in a hundred stays beyond, or two of few, and only what is far off.
    """
    low, high = robust_limits(values)
    finite = np.sort(values[np.isfinite(values)])
    few = max(FEW, int(FEW_SHARE * finite.size))
    if finite.size <= 2 * few:
        return low, high
    near = (high - low) / 2
    first, last = min(low, finite[few] - near), max(high, finite[-1 - few] + near)
    if finite[few] < low:
        low = float(finite[finite >= first][0])
    if finite[-1 - few] > high:
        high = float(finite[finite <= last][-1])
    return low, high


def robust_limits(values: Floats) -> tuple[float, float]:
    """Ends of the finite values, or a good way beyond their middle half where some lie farther."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return -1.0, 1.0
    for share in MIDDLES:
        low, high = np.percentile(finite, [share, 100.0 - share])
        if high > low:
            reach = WIDE * (high - low)
            return max(float(finite.min()), low - reach), min(float(finite.max()), high + reach)
    return float(finite[0]), float(finite[0])


def padded(limits: tuple[float, float], share: float = 0.04) -> tuple[float, float]:
    """Limits with some room at both ends, also where they are the same."""
    low, high = limits
    pad = share * (high - low) or max(1.0, 0.1 * abs(low))
    return low - pad, high + pad
