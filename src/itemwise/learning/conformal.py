"""Intervals that hold as often as they say, whatever the regressor: conformal prediction.

CV+ of Barber, Candès, Ramdas and Tibshirani (2021). Items are held out in groups; each group has a
regressor that never saw it. With one group this is split conformal prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.reach import conformal_rank

Indices: TypeAlias = NDArray[np.intp]

HALVINGS = 64  # beyond them, two doubles have no room between


def conformal_interval(
    centres: Floats, residuals: Sequence[Floats], coverage: float
) -> tuple[Floats, Floats]:
    """Lower and upper bound for each row of `centres`.

    `centres` has a row a new item and a column a group: what the regressor of that group predicts.
    `residuals` are the absolute errors on the items of each group, ascending.
    """
    return -_upper(-centres, residuals, coverage), _upper(centres, residuals, coverage)


def checked_coverage(coverage: Any) -> float:
    """`coverage`, if it is a share that intervals can promise."""
    # Below one half, CV+ may give intervals whose ends have changed places.
    if not isinstance(coverage, int | float | np.number) or not 0.5 <= coverage < 1:
        raise InputError(f"coverage is {coverage!r}, but it should be from 0.5 to below 1.")
    return float(coverage)


def held_out_share(n: int, share: float, seed: int) -> tuple[Indices, Indices]:
    """Items to learn from, and a share of the n items to judge by; two are left to learn from."""
    order = np.random.default_rng(seed).permutation(n)
    held = min(max(round(share * n), 1), n - 2)
    return np.sort(order[held:]), np.sort(order[:held])


def _upper(centres: Floats, residuals: Sequence[Floats], coverage: float) -> Floats:
    """The value of rank `conformal_rank` among centre + residual over all held-out items.

    A table of new × held-out items could be huge; halving needs only counts, which are quick.
    """
    n = sum(map(len, residuals))
    needed = conformal_rank(n, coverage)
    if needed > n:  # too few items to promise anything
        return np.full(len(centres), np.inf)
    if len(residuals) == 1:
        found: Floats = centres[:, 0] + residuals[0][needed - 1]
        return found
    low = np.min([c + r[0] for c, r in zip(centres.T, residuals, strict=True)], axis=0)
    high = np.max([c + r[-1] for c, r in zip(centres.T, residuals, strict=True)], axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = _counts(centres, residuals, middle) >= needed
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle)
    return np.asarray(high, dtype=np.float64)


def _counts(centres: Floats, residuals: Sequence[Floats], bound: Floats) -> Floats:
    counts = [
        np.searchsorted(r, bound - c, side="right")
        for c, r in zip(centres.T, residuals, strict=True)
    ]
    return np.asarray(np.sum(counts, axis=0), dtype=np.float64)
