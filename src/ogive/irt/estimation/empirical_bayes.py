"""What all respondents, or all items, have in common: population shape and item priors.

**Population shape**: a smooth histogram of abilities (Silverman, 1982). The log-density is
penalized for its third derivative, so that the smoothest shape is a normal distribution, and bumps
must be earned by the responses. Mean 0 and standard deviation 1 are constraints of the fit: a
wider histogram is smoother, so that a shape that grows first and is rescaled afterwards chases the
items without end. `ShapeTest` is a score test of the normal shape: under it, the third and fourth
Hermite polynomials of ability have posterior mean zero, however unevenly the items inform.

**Item priors** (empirical Bayes; Mislevy, 1986). Few respondents leave every item vague, and its
most likely discrimination is too high, so that responses seem to tell more of respondents than
they can. The mean and the spread of each coordinate over the items are the prior under which the
items are estimated once more. Errors of respondents are computed from these items; the calibration
reports the others. If the curves define the unit of the scale, as those of the beta model do, a
common prior would change the unit: then items stay, and only their errors widen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Self

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.e_step import Expectation
from ogive.irt.estimation.em import maximize
from ogive.irt.estimation.objective import Problem, Solution
from ogive.irt.estimation.standard_errors import observed_inverse
from ogive.irt.item_covariances import KnownCovariances, PooledItems
from ogive.irt.models.base import MeasurementModel, Normal
from ogive.irt.quadrature import HistogramPopulation, Nodes, Population, Posterior
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, like
from ogive.stats.newton import Anderson, positive_inverse

N_POINTS = 49  # points of the histogram
REACH = 6.0  # distance of the outermost points from the mean, in standard deviations
SMOOTHING = 0.02  # nats for a squared third derivative of one, over one unit of ability
# The same for a second derivative that differs by one from that of the normal: without
# information, the density falls as the normal does. It grows outwards, where respondents are few:
# otherwise a tail and the one respondent in it would move outwards without end.
TAIL_SMOOTHING = 0.2
TAIL_DISTANCE = 1.5  # distance from the mean at which that penalty is twice as strong
MAX_ITER = 50
TOLERANCE = 1e-8  # nats that another Newton step promises at convergence
LEAST_MASS = 1e-250
# Prior information on the mean and the log standard deviation, for items without information.
LEAST_INFORMATION = np.diag([1 / 5**2, 1.0])

ALPHA = 0.01
# With many items and few respondents, discriminations follow chance and place single respondents
# far out, which makes the statistic larger: twice at 100 respondents, five times at 50.
INFLATED_RESPONDENTS = 100.0
ADVISED_RESPONDENTS = 200.0  # respondents from which a fitted shape improves discriminations
OTHERWISE = "A model that misses something, such as guessing, may look like this, too."

MAX_POOLED_RESPONDENTS = 150  # respondents from which items are known well enough by themselves
MIN_ITEMS = 10  # fewest items whose spread is known
POOLING_ITER = 4
POOLING_TOLERANCE = 1e-3  # nats
POOLING_MAX_ITER = 50
LEAST_SPREAD = 0.05  # smallest standard deviation of a coordinate over the items
LEAST_SHARE = 0.05  # share of the variance over items that is never taken for noise
LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class Density:
    """A population as a histogram; a `standard` one has mean 0 and standard deviation 1."""

    population: HistogramPopulation
    standard: bool

    @classmethod
    def of(cls, population: Population, *, standard: bool) -> Self:
        """Return a histogram of that shape."""
        points = np.linspace(*population.reach(REACH), N_POINTS)
        return cls(_histogram(points, population.log_density(points)), standard)

    @cached_property
    def roughness(self) -> float:
        """Penalty that is subtracted from the log-likelihood, in nats."""
        smoother = _Smoother(self.population.points, standard=self.standard)
        return smoother.penalty(np.log(self.population.mass))

    def fitted(self, nodes: Nodes, expectation: Expectation, anderson: Anderson) -> Density:
        """Return the shape that maximizes the penalized likelihood of the posterior masses."""
        assert expectation.mass is not None  # noqa: S101 - only the normal E-step has none
        density = self._covering(nodes)
        if density.population.points.size > self.population.points.size:
            anderson.forget()
        points = density.population.points
        inside = (nodes.fine >= points[0]) & (nodes.fine <= points[-1])
        basis = _spline_basis(points, nodes.fine[inside])
        log_mass = np.log(density.population.mass)
        smoother = _Smoother(points, standard=self.standard)
        best = smoother.maximize(log_mass, basis, expectation.mass[inside])
        best += float(density.population.mass @ (log_mass - best))
        log_mass = anderson.advance(log_mass, best - log_mass, density.population.mass)
        return Density(_histogram(points, smoother.standardized(log_mass)), self.standard)

    def _covering(self, nodes: Nodes) -> Density:
        """Return the same shape with points over the whole range of the nodes."""
        points = self.population.points
        step = points[1] - points[0]
        below = max(0, int(np.ceil((points[0] - nodes.fine[0]) / step - 1e-6)))
        above = max(0, int(np.ceil((nodes.fine[-1] - points[-1]) / step - 1e-6)))
        if not (below or above):
            return self
        wider = points[0] + step * np.arange(-below, points.size + above)
        return Density(_histogram(wider, self.population.log_density(wider)), self.standard)


def _histogram(points: Floats, log_mass: Floats) -> HistogramPopulation:
    mass = np.exp(np.maximum(log_mass - log_mass.max(), -600.0))
    mass = np.maximum(mass / mass.sum(), LEAST_MASS)
    return HistogramPopulation(points, mass / mass.sum())


class _Smoother:
    """Penalized likelihood of log-masses x at `points`: the penalty is ½ x form x - vector x."""

    def __init__(self, points: Floats, *, standard: bool) -> None:
        self._standard = standard
        self._moments = np.stack([points, points**2])
        step = points[1] - points[0]
        third = np.diff(np.eye(points.size), 3, axis=0) / step**3
        second = np.diff(np.eye(points.size), 2, axis=0) / step**2
        tail = TAIL_SMOOTHING * (1 + (points[1:-1] / TAIL_DISTANCE) ** 4)
        self._form = step * (SMOOTHING * third.T @ third + (second.T * tail) @ second)
        self._vector = -step * tail @ second

    def penalty(self, x: Floats) -> float:
        """Return the penalty of log-masses."""
        return 0.5 * float(x @ self._form @ x) - float(self._vector @ x)

    def standardized(self, x: Floats) -> Floats:
        """Return log-masses tilted to mean 0 and standard deviation 1, if they are standard."""
        if not self._standard:
            return x
        for _ in range(MAX_ITER):
            mass = _softmax(x)
            diff = self._moments @ mass - (0.0, 1.0)
            if np.abs(diff).max() < 1e-12:
                break
            covariance = (self._moments * mass) @ self._moments.T - np.outer(
                self._moments @ mass, self._moments @ mass
            )
            tilt = np.linalg.solve(covariance, diff)
            x = x - np.clip(tilt, -0.5, 0.5) @ self._moments
        return x

    def maximize(self, x: Floats, basis: Floats, mass: Floats) -> Floats:
        """Maximize Σ mass × log-density - penalty by Newton's method, from log-masses `x`."""
        total = float(mass.sum())

        def objective(x: Floats) -> float:
            height = basis @ x
            top = height.max()
            norm = top + np.log(np.exp(height - top).sum())
            return float(mass @ height) - total * float(norm) - self.penalty(x)

        x = self.standardized(x)
        value = objective(x)
        for _ in range(MAX_ITER):
            prob = _softmax(basis @ x)
            gradient = basis.T @ (mass - total * prob) - self._form @ x + self._vector
            mean = basis.T @ prob
            information = total * ((basis.T * prob) @ basis - np.outer(mean, mean)) + self._form
            step = self._constrained_step(x, gradient, information)
            length, promised = 1.0, 0.5 * float(gradient @ step)
            candidate = self.standardized(x + step)
            while (candidate_value := objective(candidate)) < value and length > 1e-4:
                length /= 2
                candidate = self.standardized(x + length * step)
            if candidate_value < value:
                break
            x, value = candidate, candidate_value
            if promised < TOLERANCE:
                break
        return x

    def _constrained_step(self, x: Floats, gradient: Floats, information: Floats) -> Floats:
        """Return a Newton step; a standard density keeps its mean and standard deviation."""
        n = x.size
        # Masses do not change if a constant is added to all log-masses.
        regular = information + 1e-9 * np.trace(information) / n * np.eye(n)
        mass = _softmax(x)
        normals = (self._moments - (self._moments @ mass)[:, None]) * mass
        solved = np.linalg.solve(regular, np.column_stack([gradient, normals.T]))
        step, directions = solved[:, 0], solved[:, 1:]
        if self._standard:
            step = step - directions @ np.linalg.solve(normals @ directions, normals @ step)
        return np.asarray(step)


def _softmax(log_mass: Floats) -> Floats:
    mass = np.exp(log_mass - log_mass.max())
    return np.asarray(mass / mass.sum())


def _spline_basis(points: Floats, at: Floats) -> Floats:
    """Return the values at `at` of natural cubic splines through `points`, (n_at, n_points)."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(points, np.eye(points.size), bc_type="natural")(at))


def with_unknown_shape(
    errors: KnownCovariances, problem: Problem, solution: Solution
) -> KnownCovariances:
    """Return the errors of items, plus those of a population shape that was estimated.

    With a known shape, every respondent near an edge of it informs on the scale. With an estimated
    one, origin and unit are mean and standard deviation of the respondents alone.
    """
    model, coords, nodes = problem.model, solution.coords, solution.nodes

    def posterior_on(part: Encoded) -> Posterior:
        own = like(coords, part.weights)
        return Posterior(model.log_terms(own, like(nodes.coarse, own)), nodes)

    covariance = covariance_of_moments(problem.data, posterior_on, nodes)
    covariance = positive_inverse(positive_inverse(covariance) + LEAST_INFORMATION)
    values, vectors = np.linalg.eigh(covariance - positive_inverse(solution.expectation.scale))
    directions = as_numpy(model.scale_directions(coords))
    added = np.einsum("lk,lni->kni", vectors * np.sqrt(np.maximum(values, 0.0)), directions)
    return KnownCovariances(
        errors.covariances + np.einsum("kni,knj->nij", added, added),
        np.concatenate([errors.shared, added]),
    )


def covariance_of_moments(
    data: Encoded, posterior_on: Callable[[Encoded], Posterior], nodes: Nodes
) -> Floats:
    """Return the covariance of the mean and the log standard deviation of abilities, (2, 2).

    A density tilted by ability and its square changes both; the information on the tilt follows
    from what each respondent's responses tell of ability and its square.
    """

    def over(part: Encoded, run: Run) -> Work:
        del run
        posterior_of = posterior_on(part)
        points = posterior_of.abilities
        moments = array_namespace(points).stack([points, 0.5 * (points**2 - 1)], axis=1)

        def sum_block(rows: slice) -> tuple[Array, Array, Array]:
            posterior, _ = posterior_of(part.block(rows))
            weights = part.counted(rows)
            means, mass = posterior @ moments, weights @ posterior
            return (means.T * weights) @ means, (moments.T * mass) @ moments, mass @ moments

        return sum_block

    product, square, mean = map(as_numpy, data.gather(map, over, width=nodes.fine.size))
    n = data.n_respondents
    centre = np.outer(mean, mean) / n
    change = (square - centre) / n  # of mean and log unit, by a unit of the tilt
    return np.asarray(change @ positive_inverse(product - centre) @ change)


@dataclass(frozen=True)
class ShapeTest:
    """Score test of a normal population shape."""

    skewness: float  # of abilities without measurement error; 0 if normal
    kurtosis: float  # in excess of the normal
    statistic: float  # chi-squared with two degrees of freedom if respondents are many
    n_respondents: float

    @classmethod
    def of(cls, nodes: Nodes, expectation: Expectation) -> ShapeTest:
        """Return the test at the end of a fit with a standard normal population.

        Measurement error shrinks a polynomial of degree k by the k-th power of the square root of
        the reliability.
        """
        mass, x = expectation.mass, nodes.fine
        assert mass is not None  # noqa: S101 - only the normal E-step has none
        n = float(mass.sum())
        reliability = float(np.clip(expectation.scale[0, 0] / n, 1e-3, 1.0))
        third = float(mass @ (x**3 - 3 * x)) / n
        fourth = float(mass @ (x**4 - 6 * x**2 + 3)) / n
        statistic = n * third**2 / (6 * reliability**3) + n * fourth**2 / (24 * reliability**4)
        return cls(third / reliability**3, fourth / reliability**4, statistic, n)

    @property
    def p_value(self) -> float:
        """Probability of such a statistic under a normal shape, corrected for few respondents."""
        inflation = 1 + (INFLATED_RESPONDENTS / self.n_respondents) ** 2
        return exp(-0.5 * (self.statistic / inflation))

    @property
    def refutes(self) -> bool:
        """True if the population is not normal."""
        return self.p_value < ALPHA

    @property
    def note(self) -> str:
        """Why a shape was fitted."""
        return (
            f"A normal distribution of abilities does not fit these respondents {self._figures}, "
            f"so its shape was fitted with the items, as population='auto' asks. {OTHERWISE}"
        )

    @property
    def advice(self) -> str:
        """What to do after a fit with a normal shape; empty if another would not help."""
        if not self.refutes or self.n_respondents < ADVISED_RESPONDENTS:
            return ""
        return (
            f"A normal distribution of abilities does not fit these respondents {self._figures}, "
            "and discriminations suffer from it: population='auto' fits the shape with the items. "
            f"{OTHERWISE}"
        )

    @property
    def _figures(self) -> str:
        p = "p < 0.001" if self.p_value < 1e-3 else f"p = {self.p_value:.3f}"
        return f"(skewness {self.skewness:.1f}, excess kurtosis {self.kurtosis:.1f}; {p})"


def can_pool(problem: Problem) -> bool:
    """Return True if items are vague, and many enough to learn from each other."""
    return (
        problem.data.n_respondents < MAX_POOLED_RESPONDENTS
        and problem.data.shape[1] >= MIN_ITEMS
        and problem.fixed_items is None
        and not problem.model.shared.any()
    )


def pool(problem: Problem, solution: Solution) -> PooledItems | None:
    """Return items under the prior that they have in common; None if they cannot be estimated."""
    informative = _informative(problem.model, as_numpy(solution.coords))
    if not informative.all():
        return _pool_informative(problem, solution, informative)
    errors, learnt = _errors(problem, solution), False
    for _ in range(POOLING_ITER):
        coords = as_numpy(solution.coords)
        model = _with_common_priors(problem.model, coords, errors, learnt=learnt)
        problem, learnt = replace(problem, model=model), True
        solution = _maximize(problem, solution.coords)
        errors = _errors(problem, solution)
    coords = as_numpy(solution.coords)
    finite = all(np.isfinite(part).all() for part in (coords, errors.covariances, errors.shared))
    return PooledItems(coords, errors.covariances, errors.shared) if finite else None


def _pool_informative(
    problem: Problem, solution: Solution, informative: np.ndarray
) -> PooledItems | None:
    """Return informative items pooled, and the others as they are, without error."""
    if informative.sum() < MIN_ITEMS:
        return None
    items = np.flatnonzero(informative)
    part = replace(problem, data=problem.data.of_items(items), model=problem.model.of_items(items))
    pooled = pool(part, _maximize(part, solution.coords[items]))
    if pooled is None:
        return None
    coords = as_numpy(solution.coords).copy()
    covariances = np.zeros((*coords.shape, coords.shape[1]))
    shared = np.zeros((len(pooled.shared), *coords.shape))
    coords[items], covariances[items] = pooled.coords, pooled.covariances
    shared[:, items] = pooled.shared
    return PooledItems(coords, covariances, shared)


def _maximize(problem: Problem, start: Array) -> Solution:
    return maximize(problem, start, tolerance=POOLING_TOLERANCE, max_iter=POOLING_MAX_ITER)


def _informative(model: MeasurementModel, coords: Floats) -> np.ndarray:
    """Flag items that inform on others: a score that all respondents share has no noise."""
    if model.kind != "continuous":
        return np.ones(len(coords), dtype=bool)
    noiseless = np.asarray(model.at_bound(coords)) & ~model.shared
    return np.asarray(~noiseless.any(axis=1))


def _errors(problem: Problem, solution: Solution) -> KnownCovariances:
    """Return errors item by item and of the scale, on which common priors do not inform."""
    errors = observed_inverse(problem, solution, by_item=True).errors()
    if problem.model.affine and isinstance(problem.population, HistogramPopulation):
        return with_unknown_shape(errors, problem, solution)
    return errors


def _with_common_priors(
    model: MeasurementModel, coords: Floats, errors: KnownCovariances, *, learnt: bool
) -> MeasurementModel:
    """Return the model with the items' own mean and spread as the prior of each coordinate.

    If the prior was `learnt` before, the next one is a step of EM from it.
    """
    own = errors.covariances - np.einsum("kni,knj->nij", errors.shared, errors.shared)
    present = ~model.absent(coords)
    coordinates = []
    for k, coordinate in enumerate(model.coordinates):
        prior, items = coordinate.prior, present[:, k]
        if prior is None or isinstance(prior, Normal):
            values, noise = coords[items, k], np.maximum(own[items, k, k], LEAST_NOISE)
            finite = np.isfinite(noise)  # without priors, an item may have no information
            if not finite.any():
                coordinates.append(coordinate)
                continue
            values, noise = values[finite], noise[finite]
            if prior is not None and learnt:
                mean = values.mean()
                posterior_var = np.minimum(noise, prior.sd**2)
                variance = float(((values - mean) ** 2 + posterior_var).mean())
            else:
                mean = np.average(values, weights=1 / noise)
                beyond = np.average((values - mean) ** 2 - noise, weights=1 / noise)
                variance = max(float(beyond), LEAST_SHARE * float(np.var(values)))
            spread = max(float(np.sqrt(variance)), LEAST_SPREAD)
            coordinate = replace(coordinate, prior=Normal(float(mean), spread))
        coordinates.append(coordinate)
    return model.with_coordinates(tuple(coordinates))


def widened(problem: Problem, solution: Solution, errors: KnownCovariances) -> PooledItems:
    """Return items as they are, with errors as wide as few respondents make them.

    Such items learn the unit from how far responses scatter about their curves, and
    discriminations go with 1 / scatter. Of n responses to an item, p coordinates take up their
    share: the mean of 1 / scatter is too large by n / (n - p - 2), exactly so for normal responses.
    So is the information, and 1 / scatter varies as much more than the information says.

    All items err together by the same respondents. Squares of their scores exceed the information
    by that factor, and are too small by it themselves, since the items were fitted to them: the
    error of the unit is wider by its square (benchmarks/coverage.py).
    """
    p = problem.model.width
    own_factor = _overstatement(answer_counts(problem.data), p) ** 2
    common_factor = _overstatement(as_numpy(problem.data.weights).sum(), p) ** 4
    common = np.einsum("kni,knj->nij", errors.shared, errors.shared)
    own = errors.covariances - common
    return PooledItems(
        as_numpy(solution.coords),
        own * own_factor[:, None, None] + common * common_factor,
        errors.shared * np.sqrt(common_factor),
    )


def _overstatement(n: Floats, p: int) -> Floats:
    """Return by what factor 1 / scatter is too large, for `n` responses and `p` coordinates."""
    return np.asarray(n / np.maximum(n - p - 2, 1.0))


def answer_counts(data: Encoded) -> Floats:
    """Return how many respondents answered each item."""

    def over(part: Encoded, run: Run) -> Work:
        del run
        return lambda rows: (part.counted(rows) @ part.block(rows).asked,)

    return as_numpy(data.gather(map, over)[0])
