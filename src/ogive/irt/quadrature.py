"""Posteriors of ability: nodes, populations, likelihoods, and sufficient scores.

Equally spaced nodes integrate a bell curve to 1e-7 if their spacing is at most 1.1 of its standard
deviation, and better than Gauss-Hermite nodes once posteriors are narrow. Long tests make
posteriors so narrow that many nodes are needed; then the log-likelihood, which is smooth, is
computed on coarse nodes and interpolated to the fine ones.

If log-odds are linear in ability and no response is missing, s = Σ a x, the number right weighted
with the slopes, is sufficient for ability, and the posterior is that of s. With many rows it is
computed on a grid of scores and interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, pi, sqrt
from typing import Any, Protocol

import numpy as np

from ogive.errors import InputError
from ogive.irt.encoded_responses import Block, Encoded
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Array, Floats, array_namespace, like
from ogive.stats.special_functions import log_fall, sigmoid_pair

WIDEST_STEP = 1.1  # largest step, in standard deviations of the narrowest posterior
COARSE_NODES = 121
MOST_FINE_NODES = 10_000  # only items without noise would need more
MOST_COARSE_NODES = 321  # the steepest curves need more nodes for interpolation
STEEPEST_STEP = 1.2  # largest step in log-odds for sums over a logistic curve exact to 1e-7
SMOOTHEST_STEP = 0.5  # largest step in log-odds for its logarithm to be interpolated to 1e-5
STENCIL = 8
REACH = 6.0  # range in standard deviations; the standard normal mass beyond is 2e-9
FARTHEST = 10.0  # range in standard deviations if no finite estimate of ability exists
LOWEST = 1_000.0  # nats below the best node at which likelihoods are cut off
PROBES = 121  # number of abilities at which information is evaluated
FINER = 0.5  # coarsening of steps for populations narrower than the usual one
TABLE_CELLS = 1 << 25  # size of the largest table of posteriors
TABLE_STEP = 0.0625  # step in s for which cubic interpolation is exact to 1e-9 per respondent


@dataclass(frozen=True, eq=False)
class Nodes:
    """Abilities of an integral: `coarse` for the likelihood, `fine` for the posterior.

    `interpolation` maps values on `coarse` to `fine`; None if the two are the same.
    """

    coarse: Array  # (n_coarse,)
    fine: Array  # (n_fine,)
    log_weights: Array  # (n_fine,)
    interpolation: Array | None = None  # (n_coarse, n_fine)

    @property
    def step(self) -> float:
        """Distance between neighbouring fine nodes."""
        return float(self.fine[1] - self.fine[0])

    def beside(self, other: Array) -> Nodes:
        """Return the nodes on the device of `other`, copied there once."""
        if isinstance(other, np.ndarray):
            return self
        if other.device not in self._copies:
            arrays = self.coarse, self.fine, self.log_weights, self.interpolation
            copies = (None if array is None else like(array, other) for array in arrays)
            self._copies[other.device] = Nodes(*copies)
        return self._copies[other.device]

    @cached_property
    def _copies(self) -> dict[Any, Nodes]:
        return {}


def plan(
    narrowest: float,
    low: float,
    high: float,
    log_density: Callable[[Floats], Floats],
    steepest: float = 1.0,
    coarsening: float = 1.0,
) -> Nodes:
    """Return nodes on [low, high] for posteriors of standard deviation `narrowest` or wider.

    `steepest` is the largest change of log-odds by a unit of ability. With a `coarsening` above 1,
    steps are that much longer: enough for early iterations, not for the result.
    """
    step = coarsening * min(WIDEST_STEP * narrowest, STEEPEST_STEP / steepest)
    intervals = ceil(min(max(60 / coarsening, (high - low) / step), MOST_FINE_NODES))
    smooth = ceil((high - low) * steepest / SMOOTHEST_STEP)
    parts = min(max(smooth, COARSE_NODES - 1), MOST_COARSE_NODES - 1)
    if intervals < 1.5 * parts:  # beyond, interpolation is cheaper than larger matrix products
        fine = np.linspace(low, high, intervals + 1)
        return Nodes(fine, fine, log_density(fine) + log(fine[1] - fine[0]))
    coarse = np.linspace(low, high, parts + 1)
    fine = np.linspace(low, high, parts * ceil(intervals / parts) + 1)
    weights = log_density(fine) + log(fine[1] - fine[0])
    return Nodes(coarse, fine, weights, interpolation_matrix(coarse, fine))


def interpolation_matrix(coarse: Floats, fine: Floats, stencil: int = STENCIL) -> Floats:
    """Return local Lagrange interpolation from equally spaced `coarse` points to `fine` ones.

    Column k holds the weights of the `stencil` coarse points around fine point k, so that
    values_on_fine = values_on_coarse @ matrix.
    """
    n = coarse.size
    position = (fine - coarse[0]) / (coarse[1] - coarse[0])
    first = np.clip(np.floor(position).astype(int) - stencil // 2 + 1, 0, n - stencil)
    offset = position - first
    matrix = np.zeros((n, fine.size))
    for i in range(stencil):
        others = [k for k in range(stencil) if k != i]
        weight = np.prod([(offset - k) / (i - k) for k in others], axis=0)
        matrix[first + i, np.arange(fine.size)] = weight
    return matrix


class Population(Protocol):
    """A density of abilities, known by its logarithm and two derivatives of it."""

    @property
    def mean(self) -> float:
        """Mean ability."""

    @property
    def sd(self) -> float:
        """Standard deviation of ability."""

    def reach(self, deviations: float = REACH) -> tuple[float, float]:
        """Return the ends of the scale, that many standard deviations from the mean."""
        return self.mean - deviations * self.sd, self.mean + deviations * self.sd

    def log_density(self, points: Floats) -> Floats:
        """Return logarithm of the density."""

    def slope(self, points: Floats) -> Floats:
        """Return derivative of the log-density."""

    def curvature(self, points: Floats) -> Floats:
        """Return minus the second derivative of the log-density."""

    def moved(self, shift: float, scale: float) -> Population:
        """Return the population of (ability - shift) / scale."""


@dataclass(frozen=True)
class NormalPopulation(Population):
    """A normal distribution of abilities."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0):
            raise InputError(
                f"The population has mean {self.mean} and sd {self.sd}; "
                "give a finite mean and an sd above 0."
            )

    def log_density(self, points: Floats) -> Floats:
        """Return logarithm of the density."""
        return -0.5 * ((points - self.mean) / self.sd) ** 2 - log(sqrt(2 * pi) * self.sd)

    def slope(self, points: Floats) -> Floats:
        """Return derivative of the log-density."""
        return (self.mean - points) / self.sd**2

    def curvature(self, points: Floats) -> Floats:
        """Return minus the second derivative of the log-density."""
        return np.full(np.shape(points), 1 / self.sd**2)

    def moved(self, shift: float, scale: float) -> NormalPopulation:
        """Return the population of (ability - shift) / scale."""
        return NormalPopulation((self.mean - shift) / scale, self.sd / abs(scale))


@dataclass(frozen=True, eq=False)
class HistogramPopulation(Population):
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

    def log_density(self, points: Floats) -> Floats:
        """Return logarithm of the density."""
        inside, beyond = self._split(points)
        found: Floats = self._spline(inside) + self._spline(inside, 1) * beyond
        return found - 0.5 * (beyond / self.sd) ** 2

    def slope(self, points: Floats) -> Floats:
        """Return derivative of the log-density."""
        inside, beyond = self._split(points)
        return np.asarray(self._spline(inside, 1) - beyond / self.sd**2)

    def curvature(self, points: Floats) -> Floats:
        """Return minus the second derivative of the log-density."""
        inside, beyond = self._split(points)
        return np.where(beyond == 0, -self._spline(inside, 2), 1 / self.sd**2)

    def moved(self, shift: float, scale: float) -> HistogramPopulation:
        """Return the population of (ability - shift) / scale."""
        points = (self.points - shift) / scale
        if scale < 0:
            return HistogramPopulation(points[::-1].copy(), self.mass[::-1].copy())
        return HistogramPopulation(points, self.mass)

    def _split(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the nearest point of the histogram, and the distance beyond it."""
        inside = np.clip(points, self.points[0], self.points[-1])
        return inside, points - inside

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline

        step = self.points[1] - self.points[0]
        return CubicSpline(self.points, np.log(self.mass / step), bc_type="natural")


STANDARD = NormalPopulation()


def scale_scores(population: Population, points: Floats) -> tuple[Floats, Floats]:
    """Return derivatives of the log-density in the population's origin and log-unit, at `points`.

    Scores (n_points, 2), and minus the second derivatives (n_points, 3): origin twice, both,
    unit twice. Moving all items is the same as moving the population the other way.
    """
    t = points - population.mean
    slope, second = population.slope(points), population.curvature(points)
    scores = np.stack([-slope * population.sd, -slope * t - 1], axis=1)
    both = (second * t - slope) * population.sd
    curvature = np.stack(
        [second * population.sd**2 + 0 * t, both, second * t**2 - slope * t], axis=1
    )
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
        """Return log-likelihood of each row at each ability, (n_rows, n_abilities)."""
        total = block.statistics[0] @ self._terms[1]
        for statistic, term in zip(block.statistics[1:], self._terms[2:], strict=True):
            total += statistic @ term
        total += self._constant if block.observed is None else block.observed @ self._terms[0]
        return total


def normalised(joint: Array) -> tuple[Array, Array]:
    """Turn rows of log weights into rows that sum to one; return also the log of their sums.

    Works in place: `joint` is overwritten.
    """
    xp = array_namespace(joint)
    top = xp.max(joint, axis=1, keepdims=True)
    joint -= top
    weights = np.exp(joint, out=joint) if isinstance(joint, np.ndarray) else joint.exp_()
    total = xp.sum(weights, axis=1, keepdims=True)
    weights /= total
    return weights, (top + xp.log(total))[:, 0]


class Posterior:
    """Posterior of ability on nodes, given the items, in the precision of `terms`.

    The likelihood is computed on the coarse nodes, the posterior on the fine ones.
    """

    def __init__(self, terms: Array, nodes: Nodes) -> None:
        xp, nodes = array_namespace(terms), nodes.beside(terms)

        def read(values: Array) -> Array:
            return xp.astype(values, terms.dtype, copy=False)

        self.abilities = read(nodes.fine)  # (n_fine,)
        self._likelihood = LogLikelihood(terms)
        self._log_weights = read(nodes.log_weights)
        self._refine = None if nodes.interpolation is None else read(nodes.interpolation)

    def log_likelihood(self, block: Block) -> Array:
        """Return the log-likelihood of each row on the fine nodes, (n_rows, n_fine)."""
        joint = self._likelihood(block)
        if self._refine is not None:
            # Very low likelihoods would distort the interpolation between the nodes.
            xp = array_namespace(joint)
            floor = xp.max(joint, axis=1, keepdims=True) - LOWEST
            in_place = {"out": joint} if isinstance(joint, np.ndarray) else {}
            joint = xp.maximum(joint, floor, **in_place) @ self._refine
        return joint

    def __call__(self, block: Block) -> tuple[Array, Array]:
        """Return posterior weights, (n_rows, n_fine), and the log-likelihood of each row."""
        joint = self.log_likelihood(block)
        joint += self._log_weights
        return normalised(joint)

    def on_fine(self, values: Array) -> Array:
        """Return values on the coarse nodes, (..., n_coarse), as they are on the fine ones."""
        return values if self._refine is None else values @ self._refine

    def on_coarse(self, weights: Array) -> Array:
        """Return weights on the fine nodes, (n_rows, n_fine), as the coarse ones carry them."""
        return weights if self._refine is None else weights @ self._refine.T


def plan_nodes(
    model: MeasurementModel,
    coords: Array,
    population: Population = STANDARD,
    reach: tuple[float, float] | None = None,
    coarsening: float = 1.0,
    often: Floats | None = None,
) -> Nodes:
    """Return nodes fine enough for the narrowest posterior that these items can give.

    `often` is the largest number of answers to each item, if that is more than one.
    """
    xp = array_namespace(coords)
    low, high = reach or population.reach()
    probe = like(np.linspace(low, high, PROBES), coords)
    information = model.information(coords, probe)
    total = information if often is None else information * like(often, coords)[:, None]
    most = model.surprise * float(xp.max(xp.sum(total, axis=0)))
    narrowest = 1 / sqrt(1 / population.sd**2 + most)
    steepest = 2 * sqrt(float(xp.max(information)))  # logistic: information is at most slope² / 4
    return plan(narrowest, low, high, population.log_density, max(steepest, 1e-6), coarsening)


def likelihood_on_nodes(
    data: Encoded, model: MeasurementModel, coords: Floats, population: Population
) -> tuple[Floats, Floats]:
    """Return equally spaced abilities, and log-likelihoods there, (n_rows, n_nodes)."""
    nodes = plan_nodes(model, coords, population, coarsening=FINER, often=data.often)
    posterior = Posterior(model.log_terms(coords, nodes.coarse), nodes)
    blocks = data.blocks(nodes.fine.size)
    return nodes.fine, np.concatenate([posterior.log_likelihood(data.block(x)) for x in blocks])


@dataclass(frozen=True, eq=False)
class LinearCurves:
    """Items on the coarse nodes, and the posterior given a score on the fine ones.

    If curves are too steep for the coarse nodes, items are on the fine ones, too.
    """

    abilities: Array  # (n_fine,)
    rise: Array  # (n_items, n_nodes): chance to be right
    fall: Array
    log_base: Array  # (n_fine,): population weight and the chance to get everything wrong
    interpolation: Array | None  # (n_nodes, n_fine)

    @classmethod
    def at(cls, coords: Array, nodes: Nodes) -> LinearCurves:
        """Return the curves of items at `coords`."""
        xp = array_namespace(coords)
        placed = nodes.beside(coords)
        refine = placed.interpolation
        if refine is not None:
            step = float(nodes.coarse[1] - nodes.coarse[0])
            if step * float(xp.max(xp.abs(coords[:, 0]))) > SMOOTHEST_STEP:
                refine = None
        points = placed.fine if refine is None else placed.coarse
        z = coords[:, :1] * points + coords[:, 1:2]
        rise, fall = sigmoid_pair(z)
        base = xp.sum(log_fall(z, rise), axis=0)
        log_base = placed.log_weights + (base if refine is None else base @ refine)
        return cls(placed.fine, rise, fall, log_base, refine)

    def where_items_are(self, on_fine: Array) -> Array:
        """Return numbers on the fine nodes, (n_fine, n), as the nodes of the items carry them."""
        return on_fine if self.interpolation is None else self.interpolation @ on_fine

    def posterior(self, scores: Array) -> tuple[Array, Array]:
        """Return posterior weights of each score, (n_scores, n_nodes), and its log-likelihood.

        The latter lacks the intercepts of what was right, which do not depend on ability.
        """
        return posterior_of_scores(scores, self.abilities, self.log_base)


def posterior_of_scores(scores: Array, abilities: Array, log_base: Array) -> tuple[Array, Array]:
    """Return posterior weights of scores, and log-likelihoods, from parts of the curves."""
    return normalised(scores[:, None] * abilities + log_base)


@dataclass(frozen=True)
class ScoreGrid:
    """Equally spaced scores that reach beyond all that these items can give."""

    low: float
    size: int

    @classmethod
    def of(cls, slopes: Array) -> ScoreGrid:
        """Return the grid of items with these slopes, (n_items,)."""
        xp = array_namespace(slopes)
        low = float(xp.sum(xp.where(slopes < 0, slopes, 0 * slopes))) - 2 * TABLE_STEP
        return cls(low, int(float(xp.sum(xp.abs(slopes))) / TABLE_STEP) + 6)

    def pays(self, n_rows: int, n_nodes: int) -> bool:
        """Return True if posteriors on the grid are less work than those of so many rows."""
        return n_rows > 2 * self.size and self.size * n_nodes < TABLE_CELLS

    def points(self, other: Array) -> Array:
        """Return the scores on the device of `other`."""
        xp = array_namespace(other)
        return self.low + TABLE_STEP * xp.arange(self.size, dtype=other.dtype, device=other.device)

    def near(self, scores: Array) -> tuple[Array, Array]:
        """Return positions of the four points about each score, and their shares, (4, n_scores)."""
        xp = array_namespace(scores)
        place = (scores - self.low) / TABLE_STEP
        index = xp.astype(place, xp.int64)
        around = xp.arange(-1, 3, device=index.device)
        shares = cubic_weights(place - xp.astype(index, scores.dtype))
        return index + around[:, None], xp.stack(shares)


def cubic_weights(u: Array) -> tuple[Array, Array, Array, Array]:
    """Return Lagrange weights of the points -1, 0, 1, 2 for a position `u` in [0, 1)."""
    v, w = u - 1, u - 2
    outer = u * v / 6
    inner = (u + 1) * w / 2
    return -outer * w, inner * v, -inner * u, outer * (u + 1)
