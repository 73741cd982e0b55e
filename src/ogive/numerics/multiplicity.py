"""P-values of many tests at once; NaN, for a test that could not be made, stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ogive.numerics.arrays import Floats


def benjamini_hochberg(p: Floats, n_tests: int | None = None) -> Floats:
    """P-values adjusted for the false discovery rate (Benjamini and Hochberg, 1995); NaN stays.

    Where only the smallest of `n_tests` are given, what is returned is never too small.
    """
    order = _ascending(p)
    total = order.size if n_tests is None else n_tests
    # Factors first: they are at least 1, so that no rounding makes a p-value smaller.
    raised = p[order] * (total / np.arange(1, order.size + 1))
    return _placed(np.minimum.accumulate(raised[::-1])[::-1], order, p.shape)


def benjamini_yekutieli(p: Floats) -> Floats:
    """P-values adjusted for the false discovery rate under any dependence of the tests.

    Benjamini and Yekutieli (2001).
    """
    order = _ascending(p)
    harmonic = float((1.0 / np.arange(1, order.size + 1)).sum())
    return _placed(harmonic * benjamini_hochberg(p)[order], order, p.shape)


def holm(p: Floats) -> Floats:
    """P-values adjusted for any false discovery under any dependence (Holm, 1979)."""
    order = _ascending(p)
    raised = p[order] * np.arange(order.size, 0, -1)
    return _placed(np.maximum.accumulate(raised), order, p.shape)


Correction = Literal["bh", "by", "holm"]
CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "holm": holm,
}


def _ascending(p: Floats) -> np.ndarray:
    seen = np.flatnonzero(np.isfinite(p))
    return seen[np.argsort(p[seen], kind="stable")]


def _placed(raised: Floats, order: np.ndarray, shape: tuple[int, ...]) -> Floats:
    found = np.full(shape, np.nan)
    found[order] = np.minimum(raised, 1.0)
    return found
