"""Wilson, t, conformal, paired shares; clustered means.

Intervals and tests of estimates, of shares and of differences of paired shares.

Means over items that come in groups: items of a document are alike, tasks are averaged.

The variance is that of the jackknife over clusters within tasks, which for single items of one
task is the ordinary one, and errs to the safe side where clusters differ in size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats


def normal_reach(confidence: float) -> float:
    """Return standard errors each way of an interval of a normal error.

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
    """Return standard errors each way of an interval of a mean over so many parts (Student's t)."""
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
    """Return interval of the difference of two paired shares (Agresti and Min, 2005).

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
    """Return interval of the difference of two paired shares, given on how many cases they differ.

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
    """Return interval of a share that counts `right` of `n` (Wilson, 1927); NaN where n is 0."""
    from scipy.special import ndtri

    return wilson_limits(right, n, float(ndtri(0.5 + confidence / 2)))


def wilson_limits(right: Floats, n: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Return Wilson's interval that reaches `z` standard errors each way."""
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


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of each row, its standard error and its degrees of freedom."""

    mean: Floats  # (n_rows,), as all that follow; NaN without a value
    se: Floats  # NaN where a single cluster says nothing of others
    freedom: Floats  # degrees of freedom, at least 1
    clusters: Floats  # how many were seen


@dataclass(frozen=True, eq=False)
class Grouping:
    """Items in the order of tasks and clusters, so that sums over both are sums of runs."""

    order: NDArray[np.intp]  # (n_items,)
    starts: NDArray[np.intp]  # where each part, a cluster within a task, begins
    task: NDArray[np.intp]  # (n_parts,)
    cluster: NDArray[np.intp]  # (n_parts,)
    task_starts: NDArray[np.intp]  # among parts

    @classmethod
    def of(cls, tasks: NDArray[np.intp], clusters: NDArray[np.intp]) -> Grouping:
        """Return from the task and the cluster of each item, numbered from 0."""
        order = np.lexsort((clusters, tasks))
        pairs = np.stack([tasks[order], clusters[order]])
        new = np.r_[True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)]
        starts = np.flatnonzero(new)
        task, cluster = pairs[:, starts]
        first = np.flatnonzero(np.r_[True, task[1:] != task[:-1]])
        place = np.unique(task, return_inverse=True)[1]
        return cls(order, starts, place, np.unique(cluster, return_inverse=True)[1], first)


def clustered_means(values: Floats, grouping: Grouping) -> Means:
    """Return mean over tasks of the means over their items, of each row; NaN is not asked."""
    mean, pulls, freedom, clusters = cluster_pulls(values, grouping)
    se = np.where(clusters > 1, np.sqrt((pulls**2).sum(axis=1)), np.nan)
    return Means(mean, se, freedom, clusters)


def cluster_pulls(values: Floats, grouping: Grouping) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean of each row, how far each cluster moves it, degrees of freedom, and clusters seen.

    If nothing is missing, pulls are linear in the values: those of a difference of rows are the
    difference of their pulls.
    """
    cells = values[:, grouping.order]
    seen = ~np.isnan(cells)
    size = np.add.reduceat(seen.astype(float), grouping.starts, axis=1)
    total = np.add.reduceat(np.where(seen, cells, 0.0), grouping.starts, axis=1)
    task_size = np.add.reduceat(size, grouping.task_starts, axis=1)
    n_tasks = (task_size > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        task_mean = np.add.reduceat(total, grouping.task_starts, axis=1) / task_size
        mean = np.where(n_tasks > 0, np.nansum(task_mean, axis=1) / n_tasks, np.nan)
        pulls, shares = _pulls(size, total, task_size, task_mean, mean, n_tasks, grouping)
    by_cluster = _summed(pulls, grouping.cluster)
    clusters = (_summed(size, grouping.cluster) > 0).sum(axis=1)
    return mean, by_cluster, _freedom(shares, grouping), clusters.astype(float)


def _pulls(
    size: Floats,
    total: Floats,
    task_size: Floats,
    task_mean: Floats,
    mean: Floats,
    n_tasks: NDArray[np.intp],
    grouping: Grouping,
) -> tuple[Floats, Floats]:
    """How far each part moves the mean, and the part's share of all: (n_rows, n_parts) each."""
    task = grouping.task
    parts = np.add.reduceat((size > 0).astype(float), grouping.task_starts, axis=1)[:, task]
    whole, middle = task_size[:, task], task_mean[:, task]
    shares = size / (whole * n_tasks[:, None])
    left_out = (total - size * middle) / (whole - size) / n_tasks[:, None]
    pulls = left_out * np.sqrt((parts - 1) / parts)
    # A task of one cluster cannot say how its clusters differ: how tasks differ is no less.
    alone = (middle - mean[:, None]) / n_tasks[:, None]
    found = np.where(parts > 1, pulls, alone)
    there = size > 0
    return np.where(there, found, 0.0), np.where(there, shares, 0.0)


def _summed(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return sums over columns of the same group, (n_rows, n_groups)."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return np.add.reduceat(values[:, order], starts, axis=1)


def _freedom(shares: Floats, grouping: Grouping) -> Floats:
    """Return degrees of freedom after Satterthwaite, were all items equally noisy.

    Clusters count by what they weigh: a large one among small ones is nearly alone.
    """
    square = np.add.reduceat(shares**2, grouping.task_starts, axis=1)
    fourth = np.add.reduceat(shares**4, grouping.task_starts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(square > 0, square**2 / fourth, 1.0)
        each = square**2 / np.maximum(effective - 1.0, 1.0)
        found = square.sum(axis=1) ** 2 / each.sum(axis=1)
    return np.where(found > 1.0, found, 1.0)


def t_test(means: Means) -> Floats:
    """Return two-sided p-value that a mean is zero.

    Where all clusters agree to the digit, the sign test over clusters takes the place of a
    quotient without a divisor. NaN where nothing was seen, 1 where only one cluster was.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(means.freedom, -np.abs(means.mean / means.se))
    equal = (means.se <= 1e-12 * np.abs(means.mean)) | (means.mean == 0)
    signs = np.where(means.mean == 0, 1.0, 2.0 ** (1.0 - means.clusters))
    p = np.where(equal, signs, p)
    p = np.where(means.clusters == 1, 1.0, p)
    return np.where(means.clusters == 0, np.nan, p)
