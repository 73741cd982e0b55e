"""Rankings: how well they agree, and which neighbours on a line lie close together.

Agreement is the tau-b of Kendall (1945) and Spearman's rho, for many rankings at once.
"""

from __future__ import annotations

from math import atanh, sqrt, tanh
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

Signs: TypeAlias = NDArray[np.float32]  # sums of them are exact up to millions of pairs

ROUNDING = 1e-9


def pair_signs(values: Floats) -> Signs:
    """For each pair of the last axis whether the first is above (1), level (0) or below (-1)."""
    first, second = np.triu_indices(values.shape[-1], 1)
    one, other = values[..., first], values[..., second]
    # In the search for data sets nearly all the time is spent here, so numbers are kept small.
    signs = np.subtract(one > other, one < other, dtype=np.int8)
    return signs.astype(np.float32)


def sign_agreement(signs: Signs, others: Signs) -> Floats:
    """Kendall's tau-b of rankings given as `pair_signs`; 0 where one of them is all ties."""
    # Signs are 1, 0 and -1, so that their squares count the pairs that are no ties.
    return _ratio(_dot(signs, others), np.sqrt(_dot(signs, signs) * _dot(others, others)))


def kendall(values: Floats, others: Floats) -> Floats:
    """Kendall's tau-b over the last axis; 0 where one of the two is all ties: it ranks nobody."""
    return sign_agreement(pair_signs(values), pair_signs(others))


def correlation(values: Floats, others: Floats) -> Floats:
    """Pearson's correlation over the last axis; 0 where one of the two is constant."""
    x = values - values.mean(axis=-1, keepdims=True)
    y = others - others.mean(axis=-1, keepdims=True)
    return _ratio((x * y).sum(axis=-1), np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1)))


def spearman(values: Floats, others: Floats) -> Floats:
    """Spearman's rho over the last axis, ties sharing their mean rank."""
    from scipy.stats import rankdata

    return correlation(rankdata(values, axis=-1), rankdata(others, axis=-1))


def rank_agreement(values: Floats, others: Floats) -> dict[str, float]:
    """Kendall's tau-b and Spearman's rho of two rankings; NaN where one of them ranks nobody."""
    from scipy.stats import kendalltau

    if is_constant(values) or is_constant(others):
        return {"kendall": np.nan, "spearman": np.nan}
    # Unlike `kendall`, in memory that does not grow with the number of pairs.
    tau = float(kendalltau(values, others).statistic)
    return {"kendall": tau, "spearman": float(spearman(values, others))}


def correlation_interval(r: float, n: float, *, ranks: bool) -> tuple[float, float]:
    """95 % interval of a correlation over `n` pairs, by Fisher's transformation.

    For ranks with the variance of Bonett and Wright (2000). NaN for three pairs or fewer, and where
    all points lie on a line: nothing says how far it holds.
    """
    if not abs(r) <= 1 - 1e-12 or n <= 3:
        return np.nan, np.nan
    reach = 1.959963984540054 * sqrt((1 + r**2 / 2 if ranks else 1.0) / (n - 3))
    return tanh(atanh(r) - reach), tanh(atanh(r) + reach)


def is_constant(values: Floats) -> bool:
    """Whether all values are exactly the same; by rounding, their sd need not be 0 then."""
    return values.size > 0 and bool(values.min() == values.max())


def prediction_figures(found: Floats, truth: Floats) -> dict[str, float]:
    """How well `found` predicts `truth`; NaN where the truth does not vary: nothing to predict.

    `nrmse` is the root mean squared error divided by the standard deviation of the truth (1: no
    better than its mean), `spearman` the rank correlation.
    """
    if is_constant(truth):
        return {"nrmse": np.nan, "spearman": np.nan}
    error = float(np.sqrt(((found - truth) ** 2).mean()) / truth.std())
    return {"nrmse": error, "spearman": float(spearman(found, truth))}


def _dot(signs: Signs, others: Signs) -> Floats:
    return np.asarray(np.einsum("...p,...p->...", signs, others), dtype=np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def runs_within(ascending: Floats, reach: float) -> list[tuple[int, int]]:
    """Slices of at least two neighbours less than `reach` apart, none inside another."""
    runs: list[tuple[int, int]] = []
    for start in range(len(ascending)):
        stop = int(np.searchsorted(ascending, ascending[start] + reach - ROUNDING))
        if stop - start > 1 and (not runs or stop > runs[-1][1]):
            runs.append((start, stop))
    return runs
