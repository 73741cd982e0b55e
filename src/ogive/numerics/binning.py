"""Bins along a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.robust import robust_limits


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
