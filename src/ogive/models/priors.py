"""Priors on single item parameters: weak by default, so that every item stays finite."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar, Protocol, runtime_checkable

from ogive.errors import InputError
from ogive.numerics.arrays import Array, array_namespace

LEAST_SD = 1e-6  # below, the curvature of the density drowns all else in float64


@runtime_checkable
class Prior(Protocol):
    """A density on one coordinate, known by its logarithm and two derivatives of it.

    `keeps_off` says that the density vanishes at the lower bound of its coordinate, so that no
    estimate comes to lie there.
    """

    @property
    def keeps_off(self) -> bool:
        """Whether the density vanishes at the lower bound."""

    def log_density(self, x: Array) -> Array:
        """Log-density up to a constant."""

    def slope(self, x: Array) -> Array:
        """First derivative of the log-density."""

    def curvature(self, x: Array) -> Array:
        """Minus the second derivative of the log-density."""


@dataclass(frozen=True)
class Normal:
    """Normal prior.

    `mean` and standard deviation `sd` of one item parameter, for `calibrate(priors=...)`.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 200, 10, random_state=0).responses
    >>> held = og.calibrate(drawn, "2pl", priors={"discrimination": og.Normal(1, 0.01)})
    >>> held.items["discrimination"].round(1).unique().tolist()
    [1.0]
    """

    keeps_off: ClassVar[bool] = False

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.mean) and isfinite(self.sd) and self.sd >= LEAST_SD):
            raise InputError(
                f"A Normal prior has mean {self.mean} and sd {self.sd}; give a finite mean and an "
                f"sd of at least {LEAST_SD:g}. To hold a parameter where it is, use fixed=."
            )

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
    """Beta prior; worth `a + b - 2` observations at its mode `(a - 1) / (a + b - 2)`.

    For guessing or slip, in `calibrate(priors=...)`.

    >>> import ogive as og
    >>> drawn = og.simulate("3pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, "3pl", priors={"guessing": og.Beta(2, 5)}).converged
    True
    """

    a: float
    b: float

    @property
    def keeps_off(self) -> bool:
        """Whether the density vanishes at zero."""
        return self.a > 1

    def __post_init__(self) -> None:
        if not (1 <= self.a < inf and 1 <= self.b < inf):
            raise InputError(
                f"A Beta prior has a = {self.a} and b = {self.b}; give numbers of at least 1, "
                "or the density has no maximum inside (0, 1)."
            )

    def log_density(self, x: Array) -> Array:
        """Log-density up to a constant."""
        xp = array_namespace(x)
        upper = (self.b - 1) * xp.log1p(-x)
        return upper + (self.a - 1) * xp.log(x) if self.a > 1 else upper

    def slope(self, x: Array) -> Array:
        """First derivative of the log-density."""
        upper = -(self.b - 1) / (1 - x)
        return upper + (self.a - 1) / x if self.a > 1 else upper

    def curvature(self, x: Array) -> Array:
        """Minus the second derivative of the log-density."""
        upper = (self.b - 1) / (1 - x) ** 2
        return upper + (self.a - 1) / x**2 if self.a > 1 else upper
