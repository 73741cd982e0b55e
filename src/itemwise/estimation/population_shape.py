"""The shape of the population: a smooth histogram of abilities (Silverman, 1982).

The log-density is penalised for its third derivative, so that the smoothest shape of all is a
normal distribution, and bumps must be earned by the responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from itemwise.estimation.fits import Expectation
from itemwise.numerics.arrays import Floats
from itemwise.numerics.newton import Anderson
from itemwise.scoring.posterior import HistogramPopulation, Nodes, Population

POINTS = 49
REACH = 6.0
SMOOTHING = 0.02  # nats for a squared third derivative of one, over one unit of ability
# The same for a second derivative that differs by one from that of the normal: where responses
# tell nothing, the density falls as the normal does.
PULLING = 0.1
MOST_TURNS = 50


@dataclass(frozen=True, eq=False)
class Density:
    """A population as a histogram, and what its roughness costs in nats."""

    population: HistogramPopulation
    roughness: float

    @classmethod
    def of(cls, population: Population) -> Self:
        """A histogram of that shape."""
        points = np.linspace(*population.reach(REACH), POINTS)
        log_mass = population.log_density(points)
        return cls(*_histogram(points, log_mass))

    def fitted(
        self, nodes: Nodes, found: Expectation, mixing: Anderson, *, standard: bool = True
    ) -> tuple[Density, float, float]:
        """The shape that posterior masses ask for, made `standard`: mean 0 and sd 1.

        Also the shift and scale by which abilities move to bring that about. EM creeps; `mixing`
        makes longer steps of some short ones.
        """
        assert found.mass is not None  # noqa: S101 - only the normal way has none
        points = self.population.points
        inside = (nodes.fine >= points[0]) & (nodes.fine <= points[-1])
        basis = _basis(points, nodes.fine[inside])
        before = np.log(self.population.mass)
        ahead = _climb(before, basis, found.mass[inside], points)
        ahead += float(self.population.mass @ (before - ahead))
        log_mass = mixing.advance(before, ahead - before, self.population.mass)
        shaped, roughness = _histogram(points, log_mass)
        if not standard:
            return Density(shaped, roughness), 0.0, 1.0
        moved = shaped.moved(shaped.mean, shaped.sd)
        even = np.linspace(-REACH, REACH, POINTS)
        return Density(*_histogram(even, moved.log_density(even))), shaped.mean, shaped.sd


def _histogram(points: Floats, log_mass: Floats) -> tuple[HistogramPopulation, float]:
    mass = np.exp(np.maximum(log_mass - log_mass.max(), -600.0))
    mass = np.maximum(mass / mass.sum(), 1e-250)
    bend, pull = _roughness(points)
    x = np.log(mass)
    cost = 0.5 * float(x @ bend @ x) - float(pull @ x)
    return HistogramPopulation(points, mass / mass.sum()), cost


def _climb(log_mass: Floats, basis: Floats, seen: Floats, points: Floats) -> Floats:
    """Newton on Σ seen x log-density less the roughness; it has one maximum."""
    total, (bend, pull) = float(seen.sum()), _roughness(points)

    def value(x: Floats) -> float:
        height = basis @ x
        top = height.max()
        norm = top + np.log(np.exp(height - top).sum())
        rough = 0.5 * float(x @ bend @ x) - float(pull @ x)
        return float(seen @ height) - total * float(norm) - rough

    here = value(log_mass)
    for _ in range(MOST_TURNS):
        height = basis @ log_mass
        prob = np.exp(height - height.max())
        prob /= prob.sum()
        gradient = basis.T @ (seen - total * prob) - bend @ log_mass + pull
        mean = basis.T @ prob
        information = total * ((basis.T * prob) @ basis - np.outer(mean, mean)) + bend
        ridge = 1e-9 * np.trace(information) / len(log_mass)
        step = np.linalg.solve(information + ridge * np.eye(len(log_mass)), gradient)
        length = 1.0
        while value(log_mass + length * step) < here and length > 1e-4:
            length /= 2
        log_mass = log_mass + length * step
        here = value(log_mass)
        if 0.5 * gradient @ step < 1e-8:
            break
    settled: Floats = log_mass - log_mass.max()
    return settled


def _basis(points: Floats, places: Floats) -> Floats:
    """What a spline through values at `points` is at `places`, (n_places, n_points)."""
    from scipy.interpolate import CubicSpline

    found: Floats = CubicSpline(points, np.eye(points.size), bc_type="natural")(places)
    return found


def _roughness(points: Floats) -> tuple[Floats, Floats]:
    """The penalty on the log-masses x, as a form and a vector: ½ x form x - vector x."""
    step = points[1] - points[0]
    third = np.diff(np.eye(points.size), 3, axis=0) / step**3
    second = np.diff(np.eye(points.size), 2, axis=0) / step**2
    form = step * (SMOOTHING * third.T @ third + PULLING * second.T @ second)
    return form, -step * PULLING * second.sum(axis=0)
