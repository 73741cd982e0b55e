"""The posterior of abilities: population, likelihood of responses, and nodes for both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi, sqrt
from typing import Any, Protocol

import numpy as np

from itemwise.errors import InputError
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, like
from itemwise.numerics.quadrature import Nodes, plan
from itemwise.responses.encoding import Block, Encoded

REACH = 6.0  # standard normal mass beyond: 2e-9
LOWEST = 1_000.0  # nats below the best node at which a place no longer counts
PROBES = 121  # where information is looked at; a steep item must not hide between two
FINER = 0.5  # steps, so that a population narrower than the usual one leaves enough of them


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


class LogLikelihood:
    """Log-likelihood of rows at fixed abilities, as matrix products.

    `terms` is what the model says of the items, (1 + n_statistics, n_items, n_abilities).
    """

    def __init__(self, terms: Array) -> None:
        xp = array_namespace(terms)
        self._terms = terms
        self._constant = xp.sum(terms[0], axis=0)

    def __call__(self, block: Block) -> Array:
        """Log-likelihood of each row at each ability, (n_rows, n_abilities)."""
        total = block.statistics[0] @ self._terms[1]
        for statistic, term in zip(block.statistics[1:], self._terms[2:], strict=True):
            total += statistic @ term
        total += self._constant if block.observed is None else block.observed @ self._terms[0]
        return total


def normalised(joint: Array) -> tuple[Array, Array]:
    """Rows of log weights into rows that sum to one, and the log of what they summed to.

    Works in place: `joint` is used up.
    """
    xp = array_namespace(joint)
    top = xp.max(joint, axis=1, keepdims=True)
    joint -= top
    weights = np.exp(joint, out=joint) if isinstance(joint, np.ndarray) else joint.exp_()
    total = xp.sum(weights, axis=1, keepdims=True)
    weights /= total
    return weights, (top + xp.log(total))[:, 0]


class Posterior:
    """Where respondents may stand, on nodes, given the items.

    Responses meet the items on the coarse nodes; the posterior lives on the fine ones. All is
    computed in the precision of `terms`.
    """

    def __init__(self, terms: Array, nodes: Nodes) -> None:
        xp = array_namespace(terms)

        def placed(values: Floats) -> Array:
            return xp.astype(like(values, terms), terms.dtype, copy=False)

        self.abilities = placed(nodes.fine)  # (n_fine,)
        self._likelihood = LogLikelihood(terms)
        self._log_weights = placed(nodes.log_weights)
        self._refine = None if nodes.interpolation is None else placed(nodes.interpolation)

    def __call__(self, block: Block) -> tuple[Array, Array]:
        """Posterior weights, (n_rows, n_fine), and the log-likelihood of each row."""
        joint = self._likelihood(block)
        if self._refine is not None:
            # What is all but impossible must not swamp the rest between the nodes.
            xp = array_namespace(joint)
            floor = xp.max(joint, axis=1, keepdims=True) - LOWEST
            in_place = {"out": joint} if isinstance(joint, np.ndarray) else {}
            joint = xp.maximum(joint, floor, **in_place) @ self._refine
        joint += self._log_weights
        return normalised(joint)

    def on_coarse(self, weights: Array) -> Array:
        """Weights on the fine nodes, (n_rows, n_fine), as the coarse ones carry them."""
        return weights if self._refine is None else weights @ self._refine.T


def plan_nodes(
    model: MeasurementModel,
    coords: Array,
    population: Population = STANDARD,
    reach: tuple[float, float] | None = None,
    coarsening: float = 1.0,
) -> Nodes:
    """Nodes fine enough for the narrowest posterior that these items can give."""
    xp = array_namespace(coords)
    low, high = reach or population.reach()
    probe = like(np.linspace(low, high, PROBES), coords)
    information = model.information(coords, probe)
    most = model.surprise * float(xp.max(xp.sum(information, axis=0)))
    narrowest = 1 / sqrt(1 / population.sd**2 + most)
    steepest = 2 * sqrt(float(xp.max(information)))  # a logistic curve tells at most slope² / 4
    return plan(narrowest, low, high, population.log_density, max(steepest, 1e-6), coarsening)


def likelihood_on_nodes(
    data: Encoded, model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Floats, Floats]:
    """Equally spaced abilities, and the log-likelihood of each row there, (n_rows, n_nodes)."""
    nodes = plan_nodes(model, coords, population, coarsening=FINER)
    log_likelihood = LogLikelihood(model.log_terms(coords, nodes.coarse))
    parts = []
    for rows in data.blocks(nodes.fine.size):
        found = log_likelihood(data.block(rows))
        if nodes.interpolation is not None:
            # As in the posterior: what is all but impossible must not swamp the rest.
            floor = found.max(axis=1, keepdims=True) - LOWEST
            found = np.maximum(found, floor) @ nodes.interpolation
        parts.append(found)
    return nodes.fine, np.concatenate(parts)
