"""Intervals and tests of estimates, shares, paired shares, and means over clusters of items.

Items that come in groups, such as those of a document, are alike, and tasks are averaged. The
variance of such a mean is that of the jackknife over clusters within tasks, which for single items
of one task is the ordinary one, and errs to the safe side if clusters differ in size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, ndtri, stdtr, stdtrit

from ogive.stats.array_backend import Floats


def normal_reach(confidence: float) -> float:
    """Return standard errors each way of an interval of a normal error.

    >>> round(normal_reach(0.95), 2)
    1.96
    """
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_reach(freedom: Floats, confidence: float) -> Floats:
    """Return standard errors each way if the standard error was estimated (Student's t)."""
    return np.asarray(stdtrit(freedom, 0.5 + confidence / 2))


def reach_of_parts(n_parts: int, confidence: float = 0.95) -> float:
    """Return standard errors each way of an interval of a mean over `n_parts` (Student's t)."""
    return float(t_reach(np.array(n_parts - 1.0), confidence))


def conformal_rank(n: int, confidence: float) -> int:
    """Return which of n sorted values bounds a further one at this confidence; n + 1 if none."""
    return ceil(confidence * (n + 1) - 1e-9)  # 0.7 * 10 is above 7 by rounding alone


def conformal_quantile(values: Floats, confidence: float) -> float:
    """Return the value that one further like `values` stays below with this confidence.

    Infinite if they are too few to promise that: 19 are needed for 0.95.

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
    """Return the interval of the difference of two paired shares (Agresti and Min, 2005).

    Of `n` cases, only the first is right in `better` and only the second in `worse`. Half a case is
    added to each cell of the table, so that the interval has a width even if they never differ. The
    variance is `inflation` times that of independent cases. Numbers, or arrays of them.
    """
    total = n + 2
    difference = (better - worse) / total
    variance = ((better + worse + 1) - (better - worse) ** 2 / total) / total**2
    reach = ndtri(0.5 + confidence / 2) * np.sqrt(inflation * variance)
    return np.maximum(-1.0, difference - reach), np.minimum(1.0, difference + reach)


def exact_difference(
    better: Floats, worse: Floats, n: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the interval of the difference of two paired shares, given how many cases differ.

    Contains 0 exactly if McNemar's exact test does not reject it: the share of the cases that
    differ in which the first is right has the interval of Clopper and Pearson.
    """
    differ = better + worse
    low, high = share_interval(better, differ, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (2 * low - 1) * differ / n, (2 * high - 1) * differ / n


def mcnemar(better: Floats, worse: Floats) -> Floats:
    """Return the exact two-sided p-value of equal paired shares, from the cases that differ."""
    # Binomial tail up to the smaller count, by the incomplete beta function.
    fewer, more = np.minimum(better, worse), np.maximum(better, worse)
    tail = betainc(np.maximum(more, 1.0), fewer + 1.0, 0.5)
    return np.where(more > 0, np.minimum(1.0, 2.0 * tail), 1.0)


def wilson(right: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of a share of `right` among `n` (Wilson, 1927); NaN if n is 0."""
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
    """Return exact intervals of shares (Clopper and Pearson, 1934); from 0 to 1 without cases."""
    rest, tail_share = n - right, (1 - confidence) / 2
    low = betaincinv(np.maximum(right, 1), rest + 1.0, tail_share)
    high = betaincinv(right + 1.0, np.maximum(rest, 1), 1 - tail_share)
    return np.where(right > 0, low, 0.0), np.where(rest > 0, high, 1.0)


def share_tail(n: NDArray[Any], right: NDArray[Any], target: float) -> Floats:
    """Return the probability of at most `n - right` errors if each is right with `target`."""
    tail = betainc(np.maximum(right, 1), n - right + 1.0, target)
    return np.where(right > 0, tail, 1.0)


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of each row, its standard error and its degrees of freedom."""

    mean: Floats  # (n_rows,), as all that follow; NaN without a value
    se: Floats  # NaN if there is only one cluster
    freedom: Floats  # degrees of freedom, at least 1
    clusters: Floats  # number of clusters with a value


@dataclass(frozen=True, eq=False)
class Grouping:
    """Items in the order of tasks and clusters, so that sums over both are sums of runs."""

    order: NDArray[np.intp]  # (n_items,)
    starts: NDArray[np.intp]  # first item of each part, a cluster within a task
    task: NDArray[np.intp]  # (n_parts,)
    cluster: NDArray[np.intp]  # (n_parts,)
    task_starts: NDArray[np.intp]  # first part of each task

    @classmethod
    def of(cls, tasks: NDArray[np.intp], clusters: NDArray[np.intp]) -> Grouping:
        """Group items by their tasks and clusters, numbered from 0."""
        order = np.lexsort((clusters, tasks))
        pairs = np.stack([tasks[order], clusters[order]])
        starts = np.flatnonzero(np.r_[True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)])
        task, cluster = pairs[:, starts]
        index_of_task = np.unique(task, return_inverse=True)[1]
        index_of_cluster = np.unique(cluster, return_inverse=True)[1]
        return cls(order, starts, index_of_task, index_of_cluster, _run_starts(task))


def _run_starts(sorted_values: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.flatnonzero(np.r_[True, sorted_values[1:] != sorted_values[:-1]])


def clustered_means(values: Floats, grouping: Grouping) -> Means:
    """Return the mean over tasks of the means over their items, of each row; NaN is not asked."""
    mean, pulls, freedom, clusters = cluster_pulls(values, grouping)
    se = np.where(clusters > 1, np.sqrt((pulls**2).sum(axis=1)), np.nan)
    return Means(mean, se, freedom, clusters)


def cluster_pulls(values: Floats, grouping: Grouping) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, influence of each cluster, degrees of freedom and number of clusters of rows.

    If nothing is missing, influences are linear in the values: those of a difference of rows are
    the difference of their influences.
    """
    cells = values[:, grouping.order]
    observed = ~np.isnan(cells)
    size = np.add.reduceat(observed.astype(float), grouping.starts, axis=1)
    total = np.add.reduceat(np.where(observed, cells, 0.0), grouping.starts, axis=1)
    task_size = np.add.reduceat(size, grouping.task_starts, axis=1)
    n_tasks = (task_size > 0).sum(axis=1)
    task, asked = grouping.task, size > 0
    parts = np.add.reduceat(asked.astype(float), grouping.task_starts, axis=1)[:, task]
    with np.errstate(divide="ignore", invalid="ignore"):
        task_mean = np.add.reduceat(total, grouping.task_starts, axis=1) / task_size
        mean = np.where(n_tasks > 0, np.nansum(task_mean, axis=1) / n_tasks, np.nan)
        shares = size / (task_size[:, task] * n_tasks[:, None])
        left_out = (total - size * task_mean[:, task]) / (task_size[:, task] - size)
        pulls = left_out / n_tasks[:, None] * np.sqrt((parts - 1) / parts)
        # The clusters of a task with a single one are taken to differ as tasks do.
        between_tasks = (task_mean[:, task] - mean[:, None]) / n_tasks[:, None]
    pulls = np.where(asked, np.where(parts > 1, pulls, between_tasks), 0.0)
    freedom = _satterthwaite(np.where(asked, shares, 0.0), grouping)
    clusters = (_sums_by_group(size, grouping.cluster) > 0).sum(axis=1)
    return mean, _sums_by_group(pulls, grouping.cluster), freedom, clusters.astype(float)


def _sums_by_group(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return sums over the columns of each group, (n_rows, n_groups)."""
    order = np.argsort(groups, kind="stable")
    return np.add.reduceat(values[:, order], _run_starts(groups[order]), axis=1)


def _satterthwaite(shares: Floats, grouping: Grouping) -> Floats:
    """Return Satterthwaite's degrees of freedom if all items were equally noisy.

    Clusters count by their weight: a large one among small ones is nearly alone.
    """
    square = np.add.reduceat(shares**2, grouping.task_starts, axis=1)
    fourth = np.add.reduceat(shares**4, grouping.task_starts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(square > 0, square**2 / fourth, 1.0)
        of_tasks = square**2 / np.maximum(effective - 1.0, 1.0)
        freedom = square.sum(axis=1) ** 2 / of_tasks.sum(axis=1)
    return np.where(freedom > 1.0, freedom, 1.0)


def t_test(means: Means) -> Floats:
    """Return the two-sided p-value that a mean is zero.

    If all clusters agree to the digit, the sign test over clusters takes the place of a quotient
    with divisor 0. NaN without clusters, 1 with a single one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * stdtr(means.freedom, -np.abs(means.mean / means.se))
    equal = (means.se <= 1e-12 * np.abs(means.mean)) | (means.mean == 0)
    signs = np.where(means.mean == 0, 1.0, 2.0 ** (1.0 - means.clusters))
    p = np.where(equal, signs, p)
    p = np.where(means.clusters == 1, 1.0, p)
    return np.where(means.clusters == 0, np.nan, p)
