"""Limits that a few far values cannot stretch."""

from __future__ import annotations

import numpy as np

from itemwise.numerics.arrays import Floats

WIDE = 3.0  # widths of the middle beyond it that are still shown
MIDDLES = (25.0, 10.0, 2.5, 0.0)  # per cent left out at each end; the first that has a width counts


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
