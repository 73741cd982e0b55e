"""Tests of mean ranks over many items: Friedman, Iman and Davenport (1980), Nemenyi."""

from __future__ import annotations

import numpy as np

from ogive.stats.array_backend import Floats

ROUNDING = 1e-12  # residual sum of squares below which all items rank alike


def friedman_tests(ranks: Floats) -> dict[str, float]:
    """Return Friedman's chi-square, corrected for ties, and the F of Iman and Davenport.

    `ranks` has shape (n_items, n_respondents).
    """
    from scipy.stats import chi2, f

    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    total = ((ranks - (k + 1) / 2) ** 2).sum()
    if total == 0:  # all respondents are tied on every item
        return {"friedman": 0.0, "p": 1.0, "f": 0.0, "f_p": 1.0}
    square = n * (k - 1) * between / total
    rest = n * (k - 1) - square
    ratio = (n - 1) * square / rest if rest > ROUNDING else np.inf
    return {
        "friedman": float(square),
        "p": float(chi2.sf(square, k - 1)),
        "f": float(ratio),
        "f_p": float(f.sf(ratio, k - 1, (k - 1) * (n - 1))),
    }


def nemenyi_test(mean_rank: Floats, n_items: int, alpha: float) -> tuple[float, Floats]:
    """Return the critical difference of mean ranks, and the p-value of each pair."""
    from scipy.stats import studentized_range

    k, root = mean_rank.size, np.sqrt(2.0)
    step = np.sqrt(k * (k + 1) / (6.0 * n_items))  # SD of a difference of mean ranks, by √2
    first, second = np.triu_indices(k, 1)
    diff = np.abs(mean_rank[first] - mean_rank[second]) / step
    p = np.ones((k, k))
    p[first, second] = p[second, first] = studentized_range.sf(diff * root, k, np.inf)
    return float(studentized_range.ppf(1.0 - alpha, k, np.inf) / root * step), p
