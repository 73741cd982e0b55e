"""Bins along a value, and shares in them with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.numerics.robust import robust_limits


def edges_by_quantile(values: Floats, n_bins: int) -> Floats:
    """Edges between which equally many values lie; equal values are never parted."""
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)))


def edges_by_width(values: Floats, n_bins: int) -> Floats:
    """Edges at equal distances; the outer bins also hold what lies far out."""
    edges = np.linspace(*robust_limits(values), n_bins + 1)
    edges[0], edges[-1] = values.min(), values.max()
    return np.unique(edges)


def places(values: Floats, edges: Floats) -> NDArray[np.intp]:
    """In which bin each value lies, from 0: bins hold their lower edge, the last holds both.

    -1 where a value lies outside, or is NaN. A single edge makes one bin of that value.
    """
    last = max(len(edges) - 2, 0)
    found = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, last)
    outside = ~((values >= edges[0]) & (values <= edges[-1]))
    return np.where(outside, -1, found)


def sums_by_bin(cells: Floats, bins: NDArray[np.intp], n_bins: int) -> tuple[Floats, Floats]:
    """How many cells of a row lie in each bin, and their sum: (n_rows, n_bins) each; NaN is none.

    `bins` says for each column where it lies; columns at -1 are left out.
    """
    member = (bins[:, None] == np.arange(n_bins)).astype(np.float64)
    seen = ~np.isnan(cells)
    return seen.astype(np.float64) @ member, np.where(seen, cells, 0.0) @ member


def wilson(right: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Interval of a share that counts `right` of `n` (Wilson, 1927); NaN where n is 0."""
    from scipy.special import ndtri

    return wilson_limits(right, n, float(ndtri(0.5 + level / 2)))


def wilson_limits(right: Floats, n: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Wilson's interval that reaches `z` standard errors each way."""
    total: Any = np.where(n > 0, n, np.nan)
    middle = (right + z**2 / 2) / (total + z**2)
    reach = z / (total + z**2) * np.sqrt(right * (total - right) / total + z**2 / 4)
    # At 0 and at n the ends are exact, but for rounding.
    low = np.where(right == 0, 0.0 * middle, middle - reach)
    high = np.where(right == n, 1.0 + 0.0 * middle, middle + reach)
    return low, high


def share_interval(
    right: NDArray[Any], n: NDArray[Any], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Exact intervals of shares (Clopper and Pearson, 1934); from 0 to 1 where there is nothing."""
    from scipy.special import betaincinv

    rest, tail_share = n - right, (1 - level) / 2
    low = betaincinv(np.maximum(right, 1), rest + 1.0, tail_share)
    high = betaincinv(right + 1.0, np.maximum(rest, 1), 1 - tail_share)
    return np.where(right > 0, low, 0.0), np.where(rest > 0, high, 1.0)


def share_tail(n: NDArray[Any], right: NDArray[Any], target: float) -> Floats:
    """How likely so few errors are, or fewer, were a case right with probability `target`."""
    from scipy.special import betainc

    found = betainc(np.maximum(right, 1), n - right + 1.0, target)
    return np.where(right > 0, found, 1.0)
