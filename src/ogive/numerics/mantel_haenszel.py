"""Mantel and Haenszel's common odds ratio over strata, and its test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.numerics.arrays import Floats

DELTA = -2.35  # of log odds ratio into the delta scale of ETS (Holland and Thayer, 1985)


@dataclass(frozen=True)
class CommonOdds:
    """Odds of the first group over those of the second, in all strata together; NaN if unknown."""

    log_ratio: float
    log_ratio_se: float  # Robins, Breslow and Greenland (1986)
    statistic: float  # chi-square with one degree of freedom, with the continuity correction
    p: float

    @property
    def delta(self) -> float:
        """On the delta scale of ETS: below zero, harder for the second group."""
        return DELTA * self.log_ratio

    @property
    def delta_se(self) -> float:
        """Standard error of `delta`."""
        return abs(DELTA) * self.log_ratio_se


def common_odds(right: np.ndarray, second: np.ndarray, strata: np.ndarray) -> CommonOdds:
    """Compare who is right in two groups, within strata; `second` is True in the second group.

    >>> right = np.array([1, 0, 1, 0, 1, 1, 0, 0] * 5)
    >>> second = np.array([0, 0, 1, 1] * 10, dtype=bool)
    >>> round(common_odds(right, second, np.repeat([0, 1], 20)).log_ratio, 6)
    0.0
    """
    from scipy.special import chdtrc

    _, where = np.unique(strata, return_inverse=True)
    n_strata = int(where.max()) + 1 if where.size else 0

    def count(mask: np.ndarray) -> Floats:
        return np.bincount(where[mask], minlength=n_strata).astype(float)

    yes = right.astype(bool)
    a, b, c, d = (
        count(yes & ~second),
        count(~yes & ~second),
        count(yes & second),
        count(~yes & second),
    )
    n = a + b + c + d
    use = (a + b > 0) & (c + d > 0) & (a + c > 0) & (b + d > 0)
    a, b, c, d, n = (each[use] for each in (a, b, c, d, n))
    cross, other = a * d / n, b * c / n
    if not (use.any() and cross.sum() > 0 and other.sum() > 0):
        return CommonOdds(np.nan, np.nan, np.nan, np.nan)
    variance = ((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1))).sum()
    apart = abs(a.sum() - ((a + b) * (a + c) / n).sum())
    statistic = float(max(apart - 0.5, 0.0) ** 2 / variance) if variance > 0 else np.nan
    return CommonOdds(
        float(np.log(cross.sum() / other.sum())),
        float(np.sqrt(_robins(a, b, c, d, n))),
        statistic,
        float(chdtrc(1, statistic)),
    )


def _robins(a: Floats, b: Floats, c: Floats, d: Floats, n: Floats) -> float:
    """Variance of the log of the common odds ratio."""
    cross, other = a * d / n, b * c / n
    agree, differ = (a + d) / n, (b + c) / n
    total, rest = cross.sum(), other.sum()
    return float(
        (agree * cross).sum() / (2 * total**2)
        + (agree * other + differ * cross).sum() / (2 * total * rest)
        + (differ * other).sum() / (2 * rest**2)
    )
