"""Paired tests of all respondents of a board, on the items that both answered: one rule for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.clustered import Grouping, Means, clustered_means, t_test
from ogive.numerics.differing import Differences, answers_alone
from ogive.numerics.intervals import exact_difference, mcnemar, paired_difference, t_reach

MOST = 2000  # respondents up to which all pairs are tested
BEST = 200  # respondents whose pairs are tested if there are more


@dataclass(frozen=True, eq=False)
class Pairs:
    """One entry per pair, in the order of `np.triu_indices`; NaN where no item is shared."""

    difference: Floats  # first minus second
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    p_adjusted: Floats
    p_family: Floats  # adjusted for the chance of any false discovery, for the rank intervals
    shared: NDArray[np.intp]


def compare_pairs(
    values: Floats,
    grouping: Grouping,
    *,
    once: NDArray[np.bool_],
    bounded: bool,
    confidence: float,
    correction: str,
) -> Pairs:
    """Test every pair of rows, exactly where both have single answers, right or wrong.

    `once` says which rows have these, (n_rows,); their items must be unrelated.
    """
    better, worse, shared = answers_alone(values)
    first, second = np.triu_indices(len(values), 1)
    exactly = once[first] & once[second]
    if exactly.all():
        found = _exact(better, worse, shared, confidence)
    else:
        found = _by_clusters(values, grouping, confidence, bounded=bounded)
        if exactly.any():
            apart = _exact(better, worse, shared, confidence)
            both = (np.where(exactly, a, b) for a, b in zip(apart, found, strict=True))
            difference, se, low, high, p = both
            found = difference, se, low, high, p
    difference, p = found[0], found[-1]
    tested, family = (
        Differences.of_tests(len(values), difference, p, name) for name in (correction, "holm")
    )
    count = shared.round().astype(np.intp)
    return Pairs(*found, tested.p_adjusted, family.p_adjusted, count)


def n_compared(n_respondents: int) -> int:
    """How many respondents, from the first, are compared in pairs."""
    return n_respondents if n_respondents <= MOST else BEST


def _exact(
    better: Floats, worse: Floats, shared: Floats, confidence: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """McNemar's exact test, from the items on which only one of the two is right."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (better - worse) / shared
        spread = (better + worse) / shared - difference**2
        se = np.sqrt(np.maximum(spread, 0.0) / (shared - 1.0))
    p = mcnemar(better, worse)
    near = paired_difference(better, worse, shared, confidence)
    low, high = _agreeing(near, p, better, worse, shared, confidence)
    none = shared == 0
    low, high, p = (np.where(none, np.nan, x) for x in (low, high, p))
    return difference, np.where(shared > 1, se, np.nan), low, high, p


def _agreeing(
    near: tuple[Floats, Floats],
    p: Floats,
    better: Floats,
    worse: Floats,
    n: Floats,
    confidence: float,
) -> tuple[Floats, Floats]:
    """The ends of approximate intervals, exact where they and the exact test `p` disagree on 0.

    The approximation is a little shorter than what the exact test does not reject. An interval
    that excludes 0 beside a test that finds no difference would say two things of one pair.
    """
    low, high = (end.copy() for end in near)
    odd = ((low > 0) | (high < 0)) != (p <= 1.0 - confidence)
    ahead, behind = odd & (better > worse), odd & (better < worse)
    for mine, end, which in ((ahead, low, 0), (behind, high, 1)):
        end[mine] = exact_difference(better[mine], worse[mine], n[mine], confidence)[which]
    return low, high


def _by_clusters(
    values: Floats, grouping: Grouping, confidence: float, *, bounded: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Student's t test of the differences, with clustered standard errors."""
    parts = []
    span = 1.0 if bounded else float(np.nanmax(values) - np.nanmin(values))
    for k in range(len(values) - 1):
        means = clustered_means(values[k] - values[k + 1 :], grouping)
        low, high = _limits(means, confidence, span, bounded=bounded)
        parts.append(np.stack([means.mean, means.se, low, high, t_test(means)]))
    difference, se, low, high, p = np.concatenate([np.empty((5, 0)), *parts], axis=1)
    return difference, se, low, high, p


def _limits(
    means: Means, confidence: float, span: float, *, bounded: bool
) -> tuple[Floats, Floats]:
    """Interval of a difference; where nothing varies, that of two shares of the `span`."""
    reach = t_reach(means.freedom, confidence) * means.se
    low, high = means.mean - reach, means.mean + reach
    still = ~(means.se > 1e-12) & (means.clusters > 0)
    if span > 0 and still.any():
        low[still], high[still] = _of_equal(
            means.mean[still] / span, means.clusters[still], confidence
        )
        low[still], high[still] = span * low[still], span * high[still]
    return (np.maximum(low, -1.0), np.minimum(high, 1.0)) if bounded and span > 0 else (low, high)


def _of_equal(share: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Interval of a mean on which all of n clusters agree to the digit, as one of two shares.

    Their signs test it, so that they are n cases to the exact interval.
    """
    floor = paired_difference(
        np.maximum(share, 0.0) * n, np.maximum(-share, 0.0) * n, n, confidence
    )
    ahead, back = np.where(share > 0, n, 0.0), np.where(share < 0, n, 0.0)
    p = np.where(share == 0, 1.0, 2.0 ** (1.0 - n))
    with np.errstate(divide="ignore"):
        low, high = _agreeing(floor, p, ahead, back, n / np.abs(share), confidence)
    return np.minimum(low, share), np.maximum(high, share)


def rank_limits(
    pairs: Pairs, n: int, confidence: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent, from who is significantly better or worse."""
    return Differences(n, pairs.difference, pairs.p, pairs.p_family).rank_limits(confidence)


def rank_limits_apart(low: Floats, high: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent from simultaneous intervals, without paired tests.

    Respondents whose interval lies wholly above rank higher, those wholly below rank lower. This is
    wider than by pairs, but time and memory do not grow with the number of pairs.
    """
    n = low.size
    ahead = n - np.searchsorted(np.sort(low), high, side="right")
    behind = np.searchsorted(np.sort(high), low, side="left")
    return 1 + ahead, n - behind
