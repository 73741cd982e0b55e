"""Neighbours on a line."""

from __future__ import annotations

import numpy as np

from itemwise.numerics.arrays import Floats

ROUNDING = 1e-9


def runs_within(ascending: Floats, reach: float) -> list[tuple[int, int]]:
    """Slices of at least two neighbours less than `reach` apart, none inside another."""
    runs: list[tuple[int, int]] = []
    for start in range(len(ascending)):
        stop = int(np.searchsorted(ascending, ascending[start] + reach - ROUNDING))
        if stop - start > 1 and (not runs or stop > runs[-1][1]):
            runs.append((start, stop))
    return runs
