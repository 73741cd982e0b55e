"""Conformal prediction: intervals with the stated coverage, whatever the regressor.

CV+ of Barber, Candès, Ramdas and Tibshirani (2021). Items are held out in groups; each group has a
regressor that was fitted without it. With one group this is split conformal prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._validation import as_number
from ogive.errors import InputError
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import conformal_rank

Indices = NDArray[np.intp]

HALVINGS = 64  # bisection steps after which the two ends are neighbouring doubles


def conformal_interval(
    centres: Floats, residuals: Sequence[Floats], confidence: float
) -> tuple[Floats, Floats]:
    """Return lower and upper bound for each row of `centres`.

    `centres` are the predictions for new items (rows) by the regressor of each group (columns),
    `residuals` the absolute errors on the items of each group, ascending.
    """
    return -_upper(-centres, residuals, confidence), _upper(centres, residuals, confidence)


def checked_confidence(confidence: Any) -> float:
    """Return `confidence` if it is a level that intervals can have."""
    # Below one half, CV+ may give intervals whose lower end is above the upper one.
    if not isinstance(confidence, int | float | np.number) or not 0.5 <= confidence < 1:
        raise InputError(f"`confidence` must be from 0.5 to below 1, got {confidence!r}.")
    return float(confidence)


def checked_test_size(test_size: Any) -> float:
    """Return `test_size` if it is a share of the items, or a number of them."""
    size = as_number(test_size)
    if not (0 < size < 1 or (size >= 1 and float(size).is_integer())):
        raise InputError(
            "`test_size` must be a share of the items between 0 and 1, such as 0.2, or a whole "
            f"number of items, got {test_size!r}."
        )
    return size


def held_out_part(n: int, test_size: float, seed: int) -> tuple[Indices, Indices]:
    """Split n items into those to learn from, at least two, and those held out."""
    order = np.random.default_rng(seed).permutation(n)
    held_out = min(max(round(test_size * n if test_size < 1 else test_size), 1), n - 2)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _upper(centres: Floats, residuals: Sequence[Floats], confidence: float) -> Floats:
    """Return the value of rank `conformal_rank` among centre + residual over all held-out items.

    A table of new × held-out items could be huge; bisection needs only counts, which are quick.
    """
    n = sum(map(len, residuals))
    rank = conformal_rank(n, confidence)
    if rank > n:  # too few items for any guarantee
        return np.full(len(centres), np.inf)
    if len(residuals) == 1:
        return np.asarray(centres[:, 0] + residuals[0][rank - 1])
    pairs = list(zip(centres.T, residuals, strict=True))
    low = np.min([c + r[0] for c, r in pairs], axis=0)
    high = np.max([c + r[-1] for c, r in pairs], axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        count = np.sum([np.searchsorted(r, middle - c, side="right") for c, r in pairs], axis=0)
        high = np.where(count >= rank, middle, high)
        low = np.where(count >= rank, low, middle)
    return np.asarray(high, dtype=np.float64)
