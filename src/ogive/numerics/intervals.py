"""Intervals and tests of estimates, of shares and of differences of paired shares."""

from __future__ import annotations

from math import ceil, inf
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats


def normal_reach(confidence: float) -> float:
    """Standard errors each way of an interval of a normal error.

    >>> round(normal_reach(0.95), 2)
    1.96
    """
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_reach(freedom: Floats, confidence: float) -> Floats:
    """Standard errors each way where the standard error itself was estimated (Student's t)."""
    from scipy.special import stdtrit

    found: Floats = stdtrit(freedom, 0.5 + confidence / 2)
    return found


def reach_of_parts(n_parts: int, confidence: float = 0.95) -> float:
    """Standard errors each way of an interval of a mean over so many parts (Student's t)."""
    return float(t_reach(np.array(n_parts - 1.0), confidence))


def conformal_rank(n: int, confidence: float) -> int:
    """Which of n sorted values holds one further with this confidence; n + 1 where none does."""
    return ceil(confidence * (n + 1) - 1e-9)  # 0.7 * 10 is above 7 by rounding alone


def conformal_quantile(values: Floats, confidence: float) -> float:
    """The value that one further like `values` exceeds with at most the rest of the confidence.

    Infinite where they are too few to promise that: 19 are needed for 0.95.

    >>> conformal_quantile(np.arange(1.0, 20.0), 0.9)
    18.0
    >>> conformal_quantile(np.arange(1.0, 5.0), 0.9)
    inf
    """
    rank = conformal_rank(values.size, confidence)
    return float(np.sort(values)[rank - 1]) if rank <= values.size else inf


def paired_difference(
    better: Any, worse: Any, n: Any, confidence: Any, inflation: Any = 1.0
) -> tuple[Any, Any]:
    """Interval of the difference of two paired shares (Agresti and Min, 2005).

    Of `n` cases, one is right alone in `better`, the other alone in `worse`. Half a case is added
    to each cell of the table, so that the interval has a width even where they never differ. The
    variance is `inflation` times that of independent cases. Numbers, or arrays of them.
    """
    from scipy.special import ndtri

    total = n + 2
    difference = (better - worse) / total
    variance = ((better + worse + 1) - (better - worse) ** 2 / total) / total**2
    reach = ndtri(0.5 + confidence / 2) * np.sqrt(inflation * variance)
    return np.maximum(-1.0, difference - reach), np.minimum(1.0, difference + reach)


def exact_difference(
    better: Floats, worse: Floats, n: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Interval of the difference of two paired shares, given on how many cases they differ.

    Holds 0 exactly where McNemar's exact test does not reject it: the share of the cases that
    differ in which the first is right has the interval of Clopper and Pearson.
    """
    differ = better + worse
    low, high = share_interval(better, differ, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (2 * low - 1) * differ / n, (2 * high - 1) * differ / n


def mcnemar(better: Floats, worse: Floats) -> Floats:
    """Exact two-sided p-value that two paired shares are the same, from the cases that differ."""
    from scipy.special import betainc

    # Binomial tail up to the smaller count, by the incomplete beta function.
    fewer, more = np.minimum(better, worse), np.maximum(better, worse)
    tail: Floats = betainc(np.maximum(more, 1.0), fewer + 1.0, 0.5)
    return np.where(more > 0, np.minimum(1.0, 2.0 * tail), 1.0)


def wilson(right: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Interval of a share that counts `right` of `n` (Wilson, 1927); NaN where n is 0."""
    from scipy.special import ndtri

    return wilson_limits(right, n, float(ndtri(0.5 + confidence / 2)))


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
    right: NDArray[Any], n: NDArray[Any], confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Exact intervals of shares (Clopper and Pearson, 1934); from 0 to 1 where there is nothing."""
    from scipy.special import betaincinv

    rest, tail_share = n - right, (1 - confidence) / 2
    low = betaincinv(np.maximum(right, 1), rest + 1.0, tail_share)
    high = betaincinv(right + 1.0, np.maximum(rest, 1), 1 - tail_share)
    return np.where(right > 0, low, 0.0), np.where(rest > 0, high, 1.0)


def share_tail(n: NDArray[Any], right: NDArray[Any], target: float) -> Floats:
    """How likely so few errors are, or fewer, were a case right with probability `target`."""
    from scipy.special import betainc

    found = betainc(np.maximum(right, 1), n - right + 1.0, target)
    return np.where(right > 0, found, 1.0)
