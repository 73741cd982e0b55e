"""Tables of performance, problems × algorithms, with gaps (NaN): columns and Shapley values.

The Shapley values of the virtual-best game are exact (Fréchette and others, 2016).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats


def ranges(cells: Floats) -> Floats:
    """From the least to the greatest number of each column; 0 where it has none."""
    seen = ~np.isnan(cells)
    most = np.where(seen, cells, -np.inf).max(axis=0)
    least = np.where(seen, cells, np.inf).min(axis=0)
    found: Floats = np.where(seen.any(axis=0), most - least, 0.0)
    return found


def means(cells: Floats) -> Floats:
    """Of each column over its numbers; NaN where it has none."""
    seen = ~np.isnan(cells)
    count = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    found: Floats = np.where(seen, cells, 0.0).sum(axis=0) / count
    return found


def worst_where_missing(cells: Floats) -> Floats:
    """Gaps at the least number of their row, which is the worst where higher is better."""
    worst = np.fmin.reduce(cells, axis=1)[:, None]
    filled: Floats = np.where(np.isnan(cells), worst, cells)
    return filled


def fair_means(cells: Floats) -> Floats:
    """Mean of each column with gaps at the worst of their rows; -inf where it is empty.

    A mean over its own numbers would prefer a column that is known in good rows only.
    """
    found: Floats = np.where(
        np.isnan(cells).all(axis=0), -np.inf, worst_where_missing(cells).mean(axis=0)
    )
    return found


def virtual_best_shapley(performance: Floats, worst: float) -> Floats:
    """What each algorithm adds to the best of a portfolio, averaged over all orders of joining.

    `performance` is (n_problems, n_algorithms), higher is better; nobody reaches `worst`, which is
    what no portfolio at all achieves, and so does an algorithm at NaN. On one problem, the step
    from the k-th worst to the next is shared by all who reach it, so sorting is enough: no
    enumeration of portfolios. Values add up to the mean of the virtual best above `worst`.
    """
    order, shares = _ordered_shares(performance, worst)
    n_problems, n = shares.shape
    values: Floats = np.bincount(order.ravel(), shares.ravel(), minlength=n) / n_problems
    return values


def shapley_shares(performance: Floats, worst: float) -> Floats:
    """The same problem by problem, (n_problems, n_algorithms); values are their means."""
    order, shares = _ordered_shares(performance, worst)
    found = np.empty(shares.shape)
    np.put_along_axis(found, order, shares, axis=1)
    return found


def _ordered_shares(performance: Floats, worst: float) -> tuple[NDArray[np.intp], Floats]:
    """Who is how good on each problem, the worst first, and the share of each."""
    reached = np.where(np.isnan(performance), worst, performance)
    order = np.argsort(reached, axis=1, kind="stable")
    heights = np.take_along_axis(reached, order, axis=1)
    steps = np.diff(heights, axis=1, prepend=worst)
    shares: Floats = np.cumsum(steps / np.arange(reached.shape[1], 0, -1), axis=1)
    return order, shares
