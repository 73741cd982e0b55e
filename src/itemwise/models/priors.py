"""Priors on single item parameters: weak by default, so that every item stays finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from itemwise.errors import InputError
from itemwise.numerics.arrays import Array, array_namespace


class Prior(Protocol):
    """A density on one coordinate, known by its logarithm and two derivatives of it."""

    def log_density(self, x: Array) -> Array:
        """Log-density up to a constant."""

    def slope(self, x: Array) -> Array:
        """First derivative of the log-density."""

    def curvature(self, x: Array) -> Array:
        """Minus the second derivative of the log-density."""


@dataclass(frozen=True)
class Normal:
    """Normal prior."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not self.sd > 0:
            raise InputError(f"A Normal prior has sd {self.sd}; give a number above 0.")

    def log_density(self, x: Array) -> Array:
        """Log-density up to a constant."""
        return -0.5 * ((x - self.mean) / self.sd) ** 2

    def slope(self, x: Array) -> Array:
        """First derivative of the log-density."""
        return (self.mean - x) / self.sd**2

    def curvature(self, x: Array) -> Array:
        """Minus the second derivative of the log-density."""
        return 0 * x + 1 / self.sd**2


@dataclass(frozen=True)
class Beta:
    """Beta prior; worth `a + b - 2` observations at its mode `(a - 1) / (a + b - 2)`."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (self.a >= 1 and self.b >= 1):
            raise InputError(
                f"A Beta prior has a = {self.a} and b = {self.b}; give numbers of at least 1, "
                "or the density has no maximum inside (0, 1)."
            )

    def log_density(self, x: Array) -> Array:
        """Log-density up to a constant."""
        xp = array_namespace(x)
        return (self.a - 1) * xp.log(x) + (self.b - 1) * xp.log1p(-x)

    def slope(self, x: Array) -> Array:
        """First derivative of the log-density."""
        return (self.a - 1) / x - (self.b - 1) / (1 - x)

    def curvature(self, x: Array) -> Array:
        """Minus the second derivative of the log-density."""
        return (self.a - 1) / x**2 + (self.b - 1) / (1 - x) ** 2
