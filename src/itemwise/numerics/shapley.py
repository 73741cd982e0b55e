"""Exact Shapley values of the virtual-best game (Fréchette and others, 2016)."""

from __future__ import annotations

import numpy as np

from itemwise.numerics.arrays import Floats


def virtual_best_shapley(performance: Floats, worst: float) -> Floats:
    """What each algorithm adds to the best of a portfolio, averaged over all orders of joining.

    `performance` is (n_problems, n_algorithms), higher is better; nobody reaches `worst`, which is
    what no portfolio at all achieves, and so does an algorithm at NaN. On one problem, the step
    from the k-th worst to the next is shared by all who reach it, so sorting is enough: no
    enumeration of portfolios. Values add up to the mean of the virtual best above `worst`.
    """
    reached = np.where(np.isnan(performance), worst, performance)
    n_problems, n = reached.shape
    order = np.argsort(reached, axis=1, kind="stable")
    heights = np.take_along_axis(reached, order, axis=1)
    steps = np.diff(heights, axis=1, prepend=worst)
    shares = np.cumsum(steps / np.arange(n, 0, -1), axis=1)
    values = np.zeros(n)
    np.add.at(values, order.ravel(), shares.ravel())
    values /= n_problems
    return values
