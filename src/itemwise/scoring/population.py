"""Where respondents come from: the distribution of abilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi, sqrt
from typing import Any, Protocol

import numpy as np

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats

REACH = 6.0  # standard normal mass beyond: 2e-9


class Population(Protocol):
    """A density of abilities, known by its logarithm and two derivatives of it."""

    @property
    def mean(self) -> float:
        """Mean ability."""

    @property
    def sd(self) -> float:
        """Standard deviation of ability."""

    def reach(self, deviations: float = REACH) -> tuple[float, float]:
        """The ends of the scale, that many standard deviations from the mean."""

    def log_density(self, points: Floats) -> Floats:
        """Logarithm of the density."""

    def slope(self, points: Floats) -> Floats:
        """Derivative of the log-density."""

    def curvature(self, points: Floats) -> Floats:
        """Minus the second derivative of the log-density."""

    def moved(self, shift: float, scale: float) -> Population:
        """The population of (ability - shift) / scale."""


@dataclass(frozen=True)
class NormalPopulation:
    """A normal distribution of abilities."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0):
            raise InputError(
                f"The population has mean {self.mean} and sd {self.sd}; "
                "give a finite mean and an sd above 0."
            )

    def reach(self, deviations: float = REACH) -> tuple[float, float]:
        """The ends of the scale, that many standard deviations from the mean."""
        return self.mean - deviations * self.sd, self.mean + deviations * self.sd

    def log_density(self, points: Floats) -> Floats:
        """Logarithm of the density."""
        found: Floats = -0.5 * ((points - self.mean) / self.sd) ** 2 - log(sqrt(2 * pi) * self.sd)
        return found

    def slope(self, points: Floats) -> Floats:
        """Derivative of the log-density."""
        found: Floats = (self.mean - points) / self.sd**2
        return found

    def curvature(self, points: Floats) -> Floats:
        """Minus the second derivative of the log-density."""
        return np.full(np.shape(points), 1 / self.sd**2)

    def moved(self, shift: float, scale: float) -> NormalPopulation:
        """The population of (ability - shift) / scale."""
        return NormalPopulation((self.mean - shift) / scale, self.sd / abs(scale))


@dataclass(frozen=True, eq=False)
class HistogramPopulation:
    """A distribution of abilities of any shape: masses at equally spaced points.

    Between the points, the log-density is a cubic spline through them; beyond the last ones it
    falls as that of a normal distribution.
    """

    points: Floats  # (n_points,), ascending
    mass: Floats  # (n_points,), positive, sums to one

    def __post_init__(self) -> None:
        points, mass = np.asarray(self.points, float), np.asarray(self.mass, float)
        steps = np.diff(points)
        even = points.ndim == 1 and points.size >= 8 and np.ptp(steps) < 1e-6 * steps.mean()
        if not even or not steps.min() > 0 or not np.isfinite(points).all():
            raise InputError("A histogram needs at least 8 ascending, equally spaced points.")
        if mass.shape != points.shape or not (mass > 0).all() or abs(mass.sum() - 1) > 1e-6:
            raise InputError("A histogram needs a positive mass at each point; they sum to 1.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "mass", mass)

    @cached_property
    def mean(self) -> float:
        """Mean ability."""
        return float(self.mass @ self.points)

    @cached_property
    def sd(self) -> float:
        """Standard deviation of ability."""
        return float(np.sqrt(self.mass @ (self.points - self.mean) ** 2))

    def reach(self, deviations: float = REACH) -> tuple[float, float]:
        """The ends of the scale, that many standard deviations from the mean."""
        return self.mean - deviations * self.sd, self.mean + deviations * self.sd

    def log_density(self, points: Floats) -> Floats:
        """Logarithm of the density."""
        inside, beyond = self._split(points)
        found: Floats = self._spline(inside) + self._spline(inside, 1) * beyond
        return found - 0.5 * (beyond / self.sd) ** 2

    def slope(self, points: Floats) -> Floats:
        """Derivative of the log-density."""
        inside, beyond = self._split(points)
        found: Floats = self._spline(inside, 1) - beyond / self.sd**2
        return found

    def curvature(self, points: Floats) -> Floats:
        """Minus the second derivative of the log-density."""
        inside, beyond = self._split(points)
        return np.where(beyond == 0, -self._spline(inside, 2), 1 / self.sd**2)

    def moved(self, shift: float, scale: float) -> HistogramPopulation:
        """The population of (ability - shift) / scale."""
        points = (self.points - shift) / scale
        if scale < 0:
            return HistogramPopulation(points[::-1].copy(), self.mass[::-1].copy())
        return HistogramPopulation(points, self.mass)

    def _split(self, points: Floats) -> tuple[Floats, Floats]:
        """The nearest place on the histogram, and how far beyond it a point lies."""
        inside = np.clip(points, self.points[0], self.points[-1])
        return inside, points - inside

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline

        step = self.points[1] - self.points[0]
        return CubicSpline(self.points, np.log(self.mass / step), bc_type="natural")


STANDARD = NormalPopulation()


def scale_scores(population: Population, points: Floats) -> tuple[Floats, Floats]:
    """Derivatives of the log-density in the population's origin and log-unit, at `points`.

    Scores (n_points, 2), and minus the second derivatives (n_points, 3): origin twice, both,
    unit twice. Moving every item is the same as moving the population the other way.
    """
    t = points - population.mean
    slope, bend = population.slope(points), population.curvature(points)
    scores = np.stack([-slope * population.sd, -slope * t - 1], axis=1)
    both = (bend * t - slope) * population.sd
    curvature = np.stack([bend * population.sd**2 + 0 * t, both, bend * t**2 - slope * t], axis=1)
    return scores, curvature
