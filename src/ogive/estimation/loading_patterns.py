"""Which items load on which dimensions, and the numbers that a fit looks for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

ABSENT = -1  # position of a number that an item does not have


@dataclass(frozen=True, eq=False)
class Pattern:
    """A confirmatory pattern: free loadings, and whether dimensions correlate.

    If they do not, the first dimension is the general one, and an item loads on at most one other.
    """

    free: NDArray[np.bool_]  # (n_items, n_dimensions)
    n_thresholds: NDArray[np.intp]  # (n_items,): categories less one
    correlated: bool = True

    @property
    def n_dimensions(self) -> int:
        """How many dimensions there are."""
        return int(self.free.shape[1])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of dimensions that correlate."""
        if not self.correlated:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        return np.triu_indices(self.n_dimensions, 1)

    @cached_property
    def of_loadings(self) -> NDArray[np.intp]:
        """Position of each loading in the list of all numbers, item by item."""
        sizes = self.free.sum(axis=1) + self.n_thresholds
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        place = first[:, None] + np.cumsum(self.free, axis=1) - 1
        return np.where(self.free, place, ABSENT).astype(np.intp)

    @cached_property
    def of_thresholds(self) -> NDArray[np.intp]:
        """Position of each threshold."""
        sizes = self.free.sum(axis=1) + self.n_thresholds
        ends = np.cumsum(sizes)
        steps = np.arange(self.n_thresholds.max())
        place = (ends - self.n_thresholds)[:, None] + steps
        return np.where(steps < self.n_thresholds[:, None], place, ABSENT).astype(np.intp)

    @property
    def n_of_items(self) -> int:
        """How many numbers items have."""
        return int(self.free.sum() + self.n_thresholds.sum())

    @property
    def size(self) -> int:
        """How many numbers are looked for."""
        return self.n_of_items + self.pairs[0].size


@dataclass(frozen=True, eq=False)
class Place:
    """Loadings, thresholds and correlations: logit P(x >= k) = Σ loading · ability + threshold k.

    Thresholds of an item fall; what an item does not have is 0.
    """

    loadings: Floats  # (n_items, n_dimensions)
    thresholds: Floats  # (n_items, most thresholds)
    correlation: Floats  # (n_dimensions, n_dimensions)

    def flat(self, pattern: Pattern) -> Floats:
        """All numbers in one list."""
        numbers = np.zeros(pattern.size)
        there = pattern.of_thresholds != ABSENT
        numbers[pattern.of_loadings[pattern.free]] = self.loadings[pattern.free]
        numbers[pattern.of_thresholds[there]] = self.thresholds[there]
        numbers[pattern.n_of_items :] = self.correlation[pattern.pairs]
        return numbers

    @classmethod
    def of(cls, numbers: Floats, pattern: Pattern) -> Place:
        """Undo `flat`."""
        loadings = np.where(pattern.free, numbers[pattern.of_loadings], 0.0)
        thresholds = np.where(pattern.of_thresholds != ABSENT, numbers[pattern.of_thresholds], 0.0)
        correlation = np.eye(pattern.n_dimensions)
        correlation[pattern.pairs] = numbers[pattern.n_of_items :]
        correlation.T[pattern.pairs] = numbers[pattern.n_of_items :]
        return cls(loadings, thresholds, correlation)

    def possible(self, pattern: Pattern) -> bool:
        """Whether thresholds fall, and correlations are those of some distribution."""
        gaps = self.thresholds[:, :-1] - self.thresholds[:, 1:]
        there = pattern.of_thresholds[:, 1:] != ABSENT
        if not bool((gaps[there] > 1e-6).all()):
            return False
        return bool(np.linalg.eigvalsh(self.correlation)[0] > 1e-6)
