"""Covariances of the coordinates of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ogive.stats.array_backend import Floats


@dataclass(frozen=True, eq=False)
class PooledItems:
    """Coordinates of items given all items of the test, and their covariances."""

    coords: Floats  # (n_items, width)
    covariances: Floats  # (n_items, width, width)
    shared: Floats  # (n_shared, n_items, width), as in `Uncertainty`


class Uncertainty(Protocol):
    """Covariances of the items' coordinates, computed or to be computed."""

    @property
    def covariances(self) -> Floats:
        """Covariance of each item's coordinates, (n_items, width, width)."""

    @property
    def shared(self) -> Floats:
        """Directions in which all items err together, (n_shared, n_items, width).

        Each is one standard error long and independent of the others. They are part of
        `covariances`; errors of two items share nothing else.
        """

    @property
    def pooled(self) -> PooledItems | None:
        """Items for the errors of respondents, if few respondents leave items vague."""


@dataclass(frozen=True, eq=False)
class KnownCovariances:
    """Covariances that were computed before."""

    covariances: Floats
    shared: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    pooled: PooledItems | None = None

    def __post_init__(self) -> None:
        if not len(self.shared):
            object.__setattr__(self, "shared", np.zeros((0, *self.covariances.shape[:2])))


def known(uncertainty: Uncertainty) -> KnownCovariances:
    """Compute the covariances, without keeping what they are computed from."""
    return KnownCovariances(uncertainty.covariances, uncertainty.shared, uncertainty.pooled)


def errors_of_items(
    uncertainty: Uncertainty, items: Sequence[int] | np.ndarray
) -> KnownCovariances:
    """Return the errors of some of the items, by position."""
    pooled = uncertainty.pooled
    if pooled is not None:
        pooled = PooledItems(
            pooled.coords[items], pooled.covariances[items], pooled.shared[:, items]
        )
    return KnownCovariances(uncertainty.covariances[items], uncertainty.shared[:, items], pooled)


def pooled_items(uncertainty: Uncertainty, coords: Floats) -> PooledItems:
    """Return the items for errors of respondents: pooled ones, or the items as estimated."""
    if uncertainty.pooled is not None:
        return uncertainty.pooled
    return PooledItems(coords, uncertainty.covariances, uncertainty.shared)
