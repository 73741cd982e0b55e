"""Student's t tests of all pairs of respondents who were not asked the same items or clusters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.studies.leaderboards.many_pairs import STILL, Block, blocks_of, each_once


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
        """Who is better than whom with a p-value of at most `limit`, by blocks of rows."""
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
        """Shared items of some columns, and the sum of differences on them."""
        rest = slice(rows.start, None)
        seen, x = self._seen[rows, part], self._x[rows, part]
        count = seen @ self._seen[rest, part].T
        return count, x @ self._seen[rest, part].T - seen @ self._x[rest, part].T

    def _items(self, rows: slice) -> _Moments:
        """Each item is a cluster of its own: by sums of squares."""
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
        """The jackknife over clusters, one cluster after the other."""
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
