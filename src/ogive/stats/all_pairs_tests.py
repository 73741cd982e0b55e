"""Rank intervals from paired tests of thousands of respondents: pairs are counted, not kept.

Holm's method only needs the number of p-values below a limit, which it raises by that number. So
each pass over blocks of pairs counts those beyond a critical value; no p-value of a pair is
computed. All rank intervals hold simultaneously, even if respondents are equally good (Mogstad,
Romano, Shaikh and Wilhelm, 2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.intervals import Grouping, cluster_pulls, mcnemar

ROWS = 256  # respondents whose pairs are tested at once
PASSES = (
    4  # maximum number of Holm steps; stopping early can miss differences but adds no false ones
)
STILL = 1e-12  # relative variance of a difference that counts as none

Ranks = NDArray[np.intp]
Block = tuple[slice, NDArray[np.bool_], NDArray[np.bool_]]  # rows; first is better, second is


class PairTests(Protocol):
    """Tests of all pairs of some respondents."""

    @property
    def n_tested(self) -> int:
        """Number of pairs."""

    def ahead(self, limit: float) -> Iterator[Block]:
        """Yield blocks of rows with the pairs that differ with a p-value of at most `limit`.

        Columns of a block are all respondents from its first row on; each pair occurs once.
        """


def rank_limits_of_many(tests: PairTests, n: int, alpha: float) -> tuple[Ranks, Ranks]:
    """Return lowest and highest rank of each of `n` respondents, by Holm's step-down method."""
    n_significant = -1
    better, worse = np.zeros((2, n), dtype=np.intp)
    for _ in range(PASSES):
        limit = alpha / max(tests.n_tested - max(n_significant, 0), 1)
        better[:], worse[:] = 0, 0
        for rows, first, second in tests.ahead(limit):
            rest = slice(rows.start, n)
            better[rows] += second.sum(axis=1)
            worse[rows] += first.sum(axis=1)
            better[rest] += first.sum(axis=0)
            worse[rest] += second.sum(axis=0)
        count = int(better.sum())
        if count == n_significant:
            break
        n_significant = count
    return 1 + better, n - worse


def _upper(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return True for columns right of the diagonal, so that each pair of a block occurs once."""
    return np.arange(shape[1]) > np.arange(shape[0])[:, None]


class ExactPairs:
    """McNemar's exact tests of right and wrong responses, on the items that both answered."""

    def __init__(self, values: Floats) -> None:
        answered = ~np.isnan(values)
        right = np.where(answered, values, 0.0).astype(np.float32)  # counts are exact up to 2^24
        self._right, self._wrong = right, answered.astype(np.float32) - right
        self._complete = bool(answered.all())
        self.n_tested = len(values) * (len(values) - 1) // 2
        if not self._complete:
            self.n_tested = 0
            for rows in row_blocks(len(values), ROWS):
                shared = answered[rows].astype(np.float32) @ answered[rows.start :].T > 0
                self.n_tested += int((shared & _upper(shared.shape)).sum())

    def ahead(self, limit: float) -> Iterator[Block]:
        """Compare the larger count with the smallest one that is significant."""
        least = critical_counts(self._right.shape[1], limit).astype(np.float32)
        total = self._right.sum(axis=1)
        for rows in row_blocks(len(self._right), ROWS):
            first = self._right[rows] @ self._wrong[rows.start :].T
            if self._complete:  # half the work: totals differ by what each has right alone
                second = first - (total[rows][:, None] - total[rows.start :])
            else:
                second = self._wrong[rows] @ self._right[rows.start :].T
            needed = least[(first + second).astype(np.intp)]
            once = _upper(first.shape)
            yield rows, (first >= needed) & once, (second >= needed) & once


class ClusteredPairs:
    """Student's t tests of differences, with clustered standard errors; no response is missing."""

    def __init__(self, values: Floats, grouping: Grouping) -> None:
        self._mean, self._pulls, freedom, clusters = cluster_pulls(values, grouping)
        self._freedom, self._clusters = float(freedom[0]), float(clusters[0])  # the same for all
        self._square = (self._pulls**2).sum(axis=1)
        self.n_tested = len(values) * (len(values) - 1) // 2

    def ahead(self, limit: float) -> Iterator[Block]:
        """Compare differences with their standard errors times the critical value."""
        critical = -float(stdtrit(self._freedom, limit / 2))
        agree = self._clusters > 1 and 2.0 ** (1.0 - self._clusters) <= limit
        for rows in row_blocks(len(self._mean), ROWS):
            rest = slice(rows.start, None)
            product = self._pulls[rows] @ self._pulls[rest].T
            whole = self._square[rows][:, None] + self._square[rest]
            variance = np.maximum(whole - 2 * product, 0.0)
            difference = self._mean[rows][:, None] - self._mean[rest]
            constant = variance <= STILL * whole
            significant = np.where(constant, agree, difference**2 >= critical**2 * variance)
            significant &= (self._clusters > 1) & _upper(difference.shape)
            yield rows, significant & (difference > 0), significant & (difference < 0)


def critical_counts(most: int, limit: float) -> Floats:
    """Return the least number of wins out of 0 to `most` decided cases with p <= `limit`.

    Infinite if not even all of them would do.
    """
    total = np.arange(most + 1.0)
    low, high = np.ceil(total / 2) - 1, total + 1  # not significant; significant or impossible
    for _ in range(int(np.ceil(np.log2(most + 2))) + 1):
        middle = np.floor((low + high) / 2)
        inside = np.clip(middle, 0, total)
        enough = mcnemar(inside, total - inside) <= limit
        open_ = high - low > 1
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle, low)
    return np.where(high > total, np.inf, high)


class _Moments(NamedTuple):
    """Moments of the differences on shared items, for a block of pairs."""

    mean: Floats
    variance: Floats  # of the mean
    freedom: Floats
    clusters: Floats  # shared


class GappyPairs:
    """Student's t tests on the items that both answered, with errors over clusters of items.

    For each pair these are the figures of `clustered_means` and `t_test` of its differences.
    """

    def __init__(self, values: Floats, clusters: NDArray[np.intp]) -> None:
        order = np.argsort(clusters, kind="stable")
        cells, codes = values[:, order], clusters[order]
        self._answered = (~np.isnan(cells)).astype(float)
        # Differences do not depend on how easy an item is, but sums of their squares lose digits.
        count = np.maximum(self._answered.sum(axis=0), 1.0)
        self._x = np.where(np.isnan(cells), 0.0, cells - np.nansum(cells, axis=0) / count)
        ends = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1], True])
        self._parts = [slice(a, b) for a, b in pairwise(ends)]

    @property
    def n_tested(self) -> int:
        """Pairs that share an item."""
        return sum(int(np.isfinite(p).sum()) for _, _, p in self._tested)

    def ahead(self, limit: float) -> Iterator[Block]:
        """Yield blocks of rows with the pairs that differ with a p-value of at most `limit`."""
        for rows, better, p in self._tested:
            significant = p <= limit
            yield rows, significant & better, significant & ~better

    @cached_property
    def _tested(self) -> list[tuple[slice, NDArray[np.bool_], NDArray[np.float32]]]:
        """Blocks of rows: whether the first of a pair is better, and p; NaN if not tested."""
        blocks = []
        single = len(self._parts) == self._x.shape[1]
        for rows in row_blocks(len(self._x), ROWS):
            of = self._over_items(rows) if single else self._over_clusters(rows)
            with np.errstate(divide="ignore", invalid="ignore"):
                p = 2.0 * stdtr(of.freedom, -np.abs(of.mean) / np.sqrt(of.variance))
            constant = of.variance <= STILL * of.mean**2
            p = np.where(constant, 2.0 ** (1.0 - of.clusters), p)
            p = np.where((of.mean == 0) | (of.clusters == 1), 1.0, p)
            p = np.where((of.clusters > 0) & _upper(p.shape), p, np.nan)
            blocks.append((rows, of.mean > 0, p.astype(np.float32)))
        return blocks

    def _sums(self, rows: slice, part: slice) -> tuple[Floats, Floats]:
        """Return the number of shared items among some columns, and the sum of differences."""
        rest = slice(rows.start, None)
        answered, x = self._answered[rows, part], self._x[rows, part]
        count = answered @ self._answered[rest, part].T
        return count, x @ self._answered[rest, part].T - answered @ self._x[rest, part].T

    def _over_items(self, rows: slice) -> _Moments:
        """Return the moments if each item is a cluster of its own, by sums of squares."""
        rest, whole = slice(rows.start, None), slice(None)
        count, total = self._sums(rows, whole)
        square = (
            self._x[rows] ** 2 @ self._answered[rest].T
            + self._answered[rows] @ (self._x[rest] ** 2).T
        )
        square -= 2 * self._x[rows] @ self._x[rest].T
        n = np.maximum(count, 1.0)
        left = square - total**2 / n
        left = np.where(left <= STILL * square, 0.0, left)
        variance = left / (n * np.maximum(n - 1, 1.0))
        return _Moments(total / n, variance, np.maximum(n - 1, 1.0), count)

    def _over_clusters(self, rows: slice) -> _Moments:
        """Return the moments of the jackknife over clusters, one cluster after the other."""
        count, total = self._sums(rows, slice(None))
        n = np.maximum(count, 1.0)
        mean = total / n
        spread, shared, second, fourth = (np.zeros_like(mean) for _ in range(4))
        for part in self._parts:
            size, own = self._sums(rows, part)
            inside = (size > 0) & (size < count)
            pull = np.where(inside, (own - size * mean) / np.maximum(count - size, 1.0), 0.0)
            spread += pull**2
            shared += size > 0
            square = size**2
            second += square
            fourth += square**2
        several = np.maximum(shared, 1.0)
        freedom = np.maximum(second**2 / np.maximum(fourth, 1.0) - 1.0, 1.0)
        return _Moments(mean, spread * (several - 1) / several, freedom, shared)
