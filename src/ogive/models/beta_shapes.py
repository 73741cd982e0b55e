"""The two shapes of a beta distribution, as functions of an item and an ability.

Shapes are (θ / δ)^a and ((1 - θ) / (1 - δ))^a with θ = Φ(ability) and δ = Φ(difficulty). All that
the beta model needs is made of their logarithms and of derivatives of the beta function.
"""

from __future__ import annotations

from functools import cached_property
from math import exp
from typing import NamedTuple

import numpy as np

from ogive.numerics.arrays import Array, array_namespace
from ogive.numerics.special import (
    gamma_drop,
    log_gamma,
    log_lower_gamma,
    log_normal_cdf,
    polygamma,
)

FARTHEST = 100.0  # of log-shapes; their cubes are still numbers
NUDGE = 1e-4  # of a log-shape, over which chances of a bound are compared
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


class Bends(NamedTuple):
    """Second derivatives in the logarithms of the two shapes."""

    up: Array
    both: Array
    down: Array


class Shapes:
    """The two shapes at each item and ability, (n_items, n_abilities), and what follows from them.

    `up` belongs to the score, `down` to what it lacks. Derivatives are in their logarithms.
    """

    def __init__(self, coords: Array, abilities: Array) -> None:
        xp = array_namespace(coords)
        self._slope, self._difficulty, self._abilities = coords[:, :1], coords[:, 1:2], abilities
        difficulty = self._difficulty
        self._above = log_normal_cdf(abilities) - log_normal_cdf(difficulty)
        self._below = log_normal_cdf(-abilities) - log_normal_cdf(-difficulty)
        self.log_up, self.log_down = self._slope * self._above, self._slope * self._below
        beyond = xp.abs(self.log_up) >= FARTHEST, xp.abs(self.log_down) >= FARTHEST
        self._free: tuple[Array, Array] | None = None
        if bool(xp.any(beyond[0]) | xp.any(beyond[1])):  # they no longer move there
            self._free = tuple(xp.astype(~far, coords.dtype) for far in beyond)
            self.log_up = xp.clip(self.log_up, -FARTHEST, FARTHEST)
            self.log_down = xp.clip(self.log_down, -FARTHEST, FARTHEST)
        self.up, self.down = xp.exp(self.log_up), xp.exp(self.log_down)

    @cached_property
    def constant(self) -> Array:
        """Minus the logarithm of the beta function."""
        xp = array_namespace(self.up)
        larger, smaller = xp.maximum(self.up, self.down), xp.minimum(self.up, self.down)
        return -gamma_drop(-1, larger, smaller) - log_gamma(smaller)

    @cached_property
    def constant_slopes(self) -> tuple[Array, Array]:
        """First derivatives of the constant."""
        up, down = self.up, self.down
        return -up * gamma_drop(0, up, down), -down * gamma_drop(0, down, up)

    @cached_property
    def told(self) -> Bends:
        """What a score tells of the logarithms of the shapes: their Fisher information."""
        up, down = self.up, self.down
        both = -up * down * polygamma(1, up + down)
        return Bends(up**2 * gamma_drop(1, up, down), both, down**2 * gamma_drop(1, down, up))

    @property
    def item_slopes(self) -> list[tuple[Array, Array]]:
        """Derivatives of the log-shapes in discrimination and in difficulty."""
        rise, fall = hazard(self._difficulty), hazard(-self._difficulty)
        return [
            self._moving(self._above, self._below),
            self._moving(-self._slope * rise + 0 * self.up, self._slope * fall + 0 * self.up),
        ]

    @property
    def item_bends(self) -> list[tuple[Array, Array]]:
        """Their second derivatives: in both, and twice in difficulty; no other is there."""
        at, slope = self._difficulty, self._slope
        rise, fall = hazard(at), hazard(-at)
        return [
            self._moving(-rise + 0 * self.up, fall + 0 * self.up),
            self._moving(
                slope * rise * (at + rise) + 0 * self.up, slope * fall * (fall - at) + 0 * self.up
            ),
        ]

    @property
    def ability_slopes(self) -> tuple[Array, Array]:
        """Derivatives of the log-shapes in ability."""
        rise, fall = hazard(self._abilities), hazard(-self._abilities)
        return self._moving(self._slope * rise, -self._slope * fall)

    @property
    def ability_bends(self) -> tuple[Array, Array]:
        """Second derivatives of the shapes themselves in ability, divided by the shapes."""
        rise, fall = hazard(self._abilities), hazard(-self._abilities)
        first = self.ability_slopes
        return (
            first[0] ** 2 - first[0] * (self._abilities + rise),
            first[1] ** 2 + first[1] * (fall - self._abilities),
        )

    def _moving(self, up: Array, down: Array) -> tuple[Array, Array]:
        """Derivatives; 0 where a shape is held at `FARTHEST`."""
        return (up, down) if self._free is None else (up * self._free[0], down * self._free[1])


class BoundTerm(NamedTuple):
    """Logarithm of the integral up to a bound, and derivatives in the logs of shape and length."""

    value: Array
    own: Array
    other: Array
    own_own: Array
    own_other: Array
    other_other: Array

    @classmethod
    def of(cls, shape: Array, x: Array) -> BoundTerm:
        """`log_lower_gamma` of `shape` and `x`; the derivatives in `x` follow from it."""
        xp = array_namespace(shape)
        value = log_lower_gamma(shape, x)
        up = log_lower_gamma(shape * exp(NUDGE), x)
        down = log_lower_gamma(shape * exp(-NUDGE), x)
        own = (up - down) / (2 * NUDGE)
        share = xp.exp(xp.clip(-x - value, None, 600.0))
        other = share - shape
        own_own = (up - 2 * value + down) / NUDGE**2
        return cls(value, own, other, own_own, -share * own - shape, -share * (x + other))


def hazard(x: Array) -> Array:
    """Derivative of log Φ."""
    xp = array_namespace(x)
    return xp.exp(-0.5 * x**2 - HALF_LOG_2PI - log_normal_cdf(x))
