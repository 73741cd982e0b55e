"""How surely items are known: covariances of their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ogive.stats.array_backend import Floats


@dataclass(frozen=True, eq=False)
class PooledItems:
    """Where items lie, given what all items of the test have in common, and how surely."""

    coords: Floats  # (n_items, width)
    covariances: Floats  # (n_items, width, width)
    shared: Floats  # (n_shared, n_items, width), as in `Uncertainty`


class Uncertainty(Protocol):
    """Whatever knows the covariances of the items' coordinates."""

    @property
    def covariances(self) -> Floats:
        """Covariance of each item's coordinates, (n_items, width, width)."""

    @property
    def shared(self) -> Floats:
        """Directions in which all items err together, (n_shared, n_items, width).

        Each is one standard error long and independent of the others. They are part of
        `covariances`, and all that two items' errors have in common: origin and unit of the scale.
        """

    @property
    def pooled(self) -> PooledItems | None:
        """What respondents' errors are computed from where few respondents leave items vague."""


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
    """Return the same, computed: what it comes from is let go."""
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
    """What respondents' errors are computed from; items as they were found where none is vague."""
    if uncertainty.pooled is not None:
        return uncertainty.pooled
    return PooledItems(coords, uncertainty.covariances, uncertainty.shared)
