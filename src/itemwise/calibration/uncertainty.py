"""How surely items are known: covariances of their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from itemwise.numerics.arrays import Floats


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


@dataclass(frozen=True, eq=False)
class KnownCovariances:
    """Covariances that were computed before."""

    covariances: Floats
    shared: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def __post_init__(self) -> None:
        if not len(self.shared):
            object.__setattr__(self, "shared", np.zeros((0, *self.covariances.shape[:2])))


def errors_of_items(
    uncertainty: Uncertainty, items: Sequence[int] | np.ndarray
) -> KnownCovariances:
    """The errors of some of the items, by position."""
    return KnownCovariances(uncertainty.covariances[items], uncertainty.shared[:, items])
