"""How surely items are known: covariances of their coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from itemwise.numerics.arrays import Floats


class Uncertainty(Protocol):
    """Whatever knows the covariances of the items' coordinates."""

    @property
    def covariances(self) -> Floats:
        """(n_items, width, width)."""


@dataclass(frozen=True, eq=False)
class KnownCovariances:
    """Covariances that were computed before."""

    covariances: Floats
