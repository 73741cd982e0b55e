"""Rank limits of thousands, pairs counted.

Rank intervals from paired tests of all respondents, however many: pairs are counted, not kept.

Holm's method only asks how many p-values lie below a limit, and raises the limit by what it has
found. So each pass over blocks of pairs counts those beyond a critical value; no p-value of a pair
is computed. All rank intervals hold simultaneously, even where respondents are equally good
(Mogstad, Romano, Shaikh and Wilhelm, 2024).

Student's t tests of all pairs of respondents who were not asked the same items or clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import Grouping, cluster_pulls, mcnemar

ROWS = 256  # respondents whose pairs are tested at once
PASSES = 4  # fewer steps than Holm would take find fewer differences, never false ones
STILL = 1e-12  # relative; a difference that varies less does not vary

Ranks = NDArray[np.intp]
Block = tuple[slice, NDArray[np.bool_], NDArray[np.bool_]]  # rows; first ahead, second ahead


class PairTests(Protocol):
    """Tests of all pairs of some respondents."""

    @property
    def n_tested(self) -> int:
        """Number of pairs."""

    def ahead(self, limit: float) -> Iterator[Block]:
        """Return who is better than whom with a p-value of at most `limit`, by blocks of rows.

        Columns of a block are all respondents from its first row on; each pair occurs once.
        """


def rank_limits_of_many(tests: PairTests, n: int, alpha: float) -> tuple[Ranks, Ranks]:
    """Return lowest and highest rank of each of `n` respondents, by Holm's step-down method."""
    found = -1
    better, worse = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    for _ in range(PASSES):
        limit = alpha / max(tests.n_tested - max(found, 0), 1)
        better[:], worse[:] = 0, 0
        for rows, first, second in tests.ahead(limit):
            rest = slice(rows.start, n)
            better[rows] += second.sum(axis=1)
            worse[rows] += first.sum(axis=1)
            better[rest] += first.sum(axis=0)
            worse[rest] += second.sum(axis=0)
        count = int(better.sum())
        if count == found:
            break
        found = count
    return 1 + better, n - worse


class ExactPairs:
    """McNemar's exact tests of right and wrong responses, on the items that both answered."""

    def __init__(self, values: Floats) -> None:
        seen = ~np.isnan(values)
        right = np.where(seen, values, 0.0).astype(np.float32)  # counts are exact up to 2^24
        self._right, self._wrong = right, seen.astype(np.float32) - right
        self._complete = bool(seen.all())
        self.n_tested = len(values) * (len(values) - 1) // 2
        if not self._complete:
            blocks = (_shared(seen, rows) for rows in blocks_of(len(values)))
            self.n_tested = sum(int((block & each_once(block.shape)).sum()) for block in blocks)

    def ahead(self, limit: float) -> Iterator[Block]:
        """Compare the larger count with the smallest one that is significant."""
        least = critical_counts(self._right.shape[1], limit).astype(np.float32)
        total = self._right.sum(axis=1)
        for rows in blocks_of(len(self._right)):
            first = self._right[rows] @ self._wrong[rows.start :].T
            if self._complete:  # half the work: totals differ by what each has right alone
                second = first - (total[rows][:, None] - total[rows.start :])
            else:
                second = self._wrong[rows] @ self._right[rows.start :].T
            needed = least[(first + second).astype(np.intp)]
            once = each_once(first.shape)
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
        from scipy.special import stdtrit

        critical = -float(stdtrit(self._freedom, limit / 2))
        agree = self._clusters > 1 and 2.0 ** (1.0 - self._clusters) <= limit
        for rows in blocks_of(len(self._mean)):
            rest = slice(rows.start, None)
            product = self._pulls[rows] @ self._pulls[rest].T
            whole = self._square[rows][:, None] + self._square[rest]
            variance = np.maximum(whole - 2 * product, 0.0)
            difference = self._mean[rows][:, None] - self._mean[rest]
            still = variance <= STILL * whole
            sure = np.where(still, agree, difference**2 >= critical**2 * variance)
            sure &= (self._clusters > 1) & each_once(difference.shape)
            yield rows, sure & (difference > 0), sure & (difference < 0)


def critical_counts(most: int, limit: float) -> Floats:
    """Return the smallest count of right alone, out of 0 to `most` that differ, with p <= `limit`.

    Infinite where not even all of them would do.
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


def _shared(seen: NDArray[np.bool_], rows: slice) -> NDArray[np.bool_]:
    """Return whether pairs share an item."""
    found: NDArray[np.bool_] = seen[rows].astype(np.float32) @ seen[rows.start :].T > 0
    return found


def blocks_of(n: int) -> list[slice]:
    """Return rows whose pairs are tested at once."""
    return [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]


def each_once(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return each pair once: columns right of the diagonal."""
    return np.arange(shape[1]) > np.arange(shape[0])[:, None]


class _Moments(NamedTuple):
    """Of the differences on shared items, for a block of pairs."""

    mean: Floats
    variance: Floats  # of the mean
    freedom: Floats
    clusters: Floats  # shared


class GappyPairs:
    """Tests of differences on the items that both answered, with errors over clusters of items.

    For each pair these are the figures of `clustered_means` and `t_test` of its differences.
    """

    def __init__(self, values: Floats, clusters: NDArray[np.intp]) -> None:
        order = np.argsort(clusters, kind="stable")
        cells, codes = values[:, order], clusters[order]
        self._seen = (~np.isnan(cells)).astype(float)
        # Differences do not depend on how easy an item is, but sums of their squares lose digits.
        count = np.maximum(self._seen.sum(axis=0), 1.0)
        self._x = np.where(np.isnan(cells), 0.0, cells - np.nansum(cells, axis=0) / count)
        ends = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1], True])
        self._parts = [slice(a, b) for a, b in pairwise(ends)]

    @property
    def n_tested(self) -> int:
        """Pairs that share an item."""
        return sum(int(np.isfinite(p).sum()) for _, _, p in self._tested)

    def ahead(self, limit: float) -> Iterator[Block]:
        """Yield who is better than whom with a p-value of at most `limit`, by blocks of rows."""
        for rows, better, p in self._tested:
            sure = p <= limit
            yield rows, sure & better, sure & ~better

    @cached_property
    def _tested(self) -> list[tuple[slice, NDArray[np.bool_], NDArray[np.float32]]]:
        """By blocks of rows: who of a pair is better, and the p-value; NaN if it is not tested."""
        from scipy.special import stdtr

        found = []
        single = len(self._parts) == self._x.shape[1]
        for rows in blocks_of(len(self._x)):
            told = self._items(rows) if single else self._clusters(rows)
            with np.errstate(divide="ignore", invalid="ignore"):
                p = 2.0 * stdtr(told.freedom, -np.abs(told.mean) / np.sqrt(told.variance))
            still = told.variance <= STILL * told.mean**2
            p = np.where(still, 2.0 ** (1.0 - told.clusters), p)
            p = np.where((told.mean == 0) | (told.clusters == 1), 1.0, p)
            p = np.where((told.clusters > 0) & each_once(p.shape), p, np.nan)
            found.append((rows, told.mean > 0, p.astype(np.float32)))
        return found

    def _sums(self, rows: slice, part: slice) -> tuple[Floats, Floats]:
        """Return shared items of some columns, and the sum of differences on them."""
        rest = slice(rows.start, None)
        seen, x = self._seen[rows, part], self._x[rows, part]
        count = seen @ self._seen[rest, part].T
        return count, x @ self._seen[rest, part].T - seen @ self._x[rest, part].T

    def _items(self, rows: slice) -> _Moments:
        """Return each item is a cluster of its own: by sums of squares."""
        rest, whole = slice(rows.start, None), slice(None)
        count, total = self._sums(rows, whole)
        square = self._x[rows] ** 2 @ self._seen[rest].T + self._seen[rows] @ (self._x[rest] ** 2).T
        square -= 2 * self._x[rows] @ self._x[rest].T
        n = np.maximum(count, 1.0)
        left = square - total**2 / n
        left = np.where(left <= STILL * square, 0.0, left)
        variance = left / (n * np.maximum(n - 1, 1.0))
        return _Moments(total / n, variance, np.maximum(n - 1, 1.0), count)

    def _clusters(self, rows: slice) -> _Moments:
        """Return the jackknife over clusters, one cluster after the other."""
        count, total = self._sums(rows, slice(None))
        n = np.maximum(count, 1.0)
        mean = total / n
        spread, shared, second, fourth = (np.zeros_like(mean) for _ in range(4))
        for part in self._parts:
            size, own = self._sums(rows, part)
            there = (size > 0) & (size < count)
            pull = np.where(there, (own - size * mean) / np.maximum(count - size, 1.0), 0.0)
            spread += pull**2
            shared += size > 0
            square = size**2
            second += square
            fourth += square**2
        several = np.maximum(shared, 1.0)
        freedom = np.maximum(second**2 / np.maximum(fourth, 1.0) - 1.0, 1.0)
        return _Moments(mean, spread * (several - 1) / several, freedom, shared)
