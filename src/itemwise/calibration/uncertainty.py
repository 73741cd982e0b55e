"""How surely items are known: covariances of their coordinates, now or when asked for."""

from __future__ import annotations

from collections.abc import Callable
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


class DeferredCovariances:
    """Covariances computed when first asked for; what they come from is then let go."""

    def __init__(self, compute: Callable[[], Floats]) -> None:
        self._compute: Callable[[], Floats] | None = compute
        self._found: Floats | None = None

    @property
    def covariances(self) -> Floats:
        """(n_items, width, width)."""
        if self._found is None and self._compute is not None:
            self._found = self._compute()
            self._compute = None
        assert self._found is not None  # noqa: S101 - one of the two is always there
        return self._found
