"""Population shape and item priors learnt from data.

The shape of the population: a smooth histogram of abilities (Silverman, 1982).

The log-density is penalised for its third derivative, so that the smoothest shape of all is a
normal distribution, and bumps must be earned by the responses.

Mean 0 and standard deviation 1 are held while the shape is found, not restored afterwards: a
wider histogram is smoother, so that a shape that is free to grow, and then shrunk, and items that
follow it chase each other without end.

Whether abilities are normal: a score test on the fitted normal shape.

Under a normal population the third and fourth Hermite polynomials of ability have mean zero, given
the responses, too, however unevenly the items tell; a skewed or heavy-tailed pool moves them. The
posterior masses of the last E-step hold both sums, so that the test costs nothing.

Items of one test are alike: what all of them show tells of each (partial pooling).

Few respondents leave every item vague, and its most likely parameters are too good to be true:
discriminations lie higher and farther apart than those of the items do, so that responses seem to
tell more of respondents than they can. How far items really lie apart is learnt from all of them
together, as the mean and the spread of each coordinate (empirical Bayes; Mislevy, 1986), and is
the prior under which the items are found once more. The errors of respondents are computed from
these items; those that the calibration reports keep the priors that were asked for.

Where the curves themselves tell the unit of the scale, as those of the beta model do, a common
prior would speak of the unit, too. Items stay as they are then, and only their errors widen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Self

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.ascent import ascend
from ogive.irt.estimation.em_state import Ascent, Task
from ogive.irt.estimation.fit import Expectation
from ogive.irt.estimation.m_step import tangents
from ogive.irt.estimation.standard_errors import observed_inverse
from ogive.irt.item_covariances import KnownCovariances, PooledItems
from ogive.irt.models.base import MeasurementModel, Normal
from ogive.irt.quadrature import HistogramPopulation, Nodes, Population, Posterior
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, like
from ogive.stats.newton import Anderson, positive_inverse

POINTS = 49
# Less is never known of the mean and of the log standard deviation, not even where items that tell
# nothing of abilities leave them open.
LEAST_KNOWN = np.diag([1 / 5**2, 1.0])
REACH = 6.0
SMOOTHING = 0.02  # nats for a squared third derivative of one, over one unit of ability
# The same for a second derivative that differs by one from that of the normal: where responses
# tell nothing, the density falls as the normal does. It grows outwards, where respondents are few:
# a tail and the one respondent who stands in it would carry each other ever farther out.
PULLING = 0.2
FAR = 1.5  # distance from the middle at which pulling is twice as strong
MOST_TURNS = 50
ENOUGH = 1e-8  # nats that another turn promises, at which a shape is found
LEAST_MASS = 1e-250


@dataclass(frozen=True, eq=False)
class Density:
    """A population as a histogram, and what its roughness costs in nats.

    Where it is `standard`, its mean is 0 and its standard deviation 1.
    """

    population: HistogramPopulation
    standard: bool

    @classmethod
    def of(cls, population: Population, *, standard: bool) -> Self:
        """Return a histogram of that shape."""
        points = np.linspace(*population.reach(REACH), POINTS)
        return cls(_histogram(points, population.log_density(points)), standard)

    @cached_property
    def roughness(self) -> float:
        """What the penalty takes from the log-likelihood."""
        return _Climb(self.population.points, standard=self.standard).cost(
            np.log(self.population.mass)
        )

    def fitted(self, nodes: Nodes, found: Expectation, mixing: Anderson) -> Density:
        """Return the shape that posterior masses ask for.

        EM creeps; `mixing` makes longer steps of some short ones.
        """
        assert found.mass is not None  # noqa: S101 - only the normal way has none
        here = self._wide_enough(nodes)
        if here.population.points.size > self.population.points.size:
            mixing.forget()
        points = here.population.points
        inside = (nodes.fine >= points[0]) & (nodes.fine <= points[-1])
        basis = _basis(points, nodes.fine[inside])
        before = np.log(here.population.mass)
        climb = _Climb(points, standard=self.standard)
        ahead = climb.to_top(before, basis, found.mass[inside])
        ahead += float(here.population.mass @ (before - ahead))
        log_mass = mixing.advance(before, ahead - before, here.population.mass)
        return Density(_histogram(points, climb.standing(log_mass)), self.standard)

    def _wide_enough(self, nodes: Nodes) -> Density:
        """Return the same shape with points wherever respondents may stand."""
        points = self.population.points
        step = points[1] - points[0]
        more = [
            max(0, int(np.ceil((points[0] - nodes.fine[0]) / step - 1e-6))),
            max(0, int(np.ceil((nodes.fine[-1] - points[-1]) / step - 1e-6))),
        ]
        if not any(more):
            return self
        wider = points[0] + step * np.arange(-more[0], points.size + more[1])
        return Density(_histogram(wider, self.population.log_density(wider)), self.standard)


def with_unknown_shape(
    errors: KnownCovariances,
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    known: Expectation,
) -> KnownCovariances:
    """Return the errors of items, and what a shape adds to them that was found, not known.

    With a shape that is known, every respondent near an edge of it tells where the scale lies.
    With one that is found, origin and unit are mean and standard deviation of respondents alone.
    """

    def posterior_on(part: Encoded) -> Posterior:
        here = like(coords, part.weights)
        return Posterior(model.log_terms(here, like(nodes.coarse, here)), nodes)

    found = covariance_of_moments(data, posterior_on, nodes)
    found = positive_inverse(positive_inverse(found) + LEAST_KNOWN)
    values, vectors = np.linalg.eigh(found - positive_inverse(known.scale))
    ways = as_numpy(tangents(model, coords))
    added = np.einsum("lk,lni->kni", vectors * np.sqrt(np.maximum(values, 0.0)), ways)
    return KnownCovariances(
        errors.covariances + np.einsum("kni,knj->nij", added, added),
        np.concatenate([errors.shared, added]),
    )


def covariance_of_moments(
    data: Encoded, posterior_on: Callable[[Encoded], Posterior], nodes: Nodes
) -> Floats:
    """Return covariance of the mean and the log standard deviation of abilities, (2, 2).

    A density tilted by ability and its square changes both; how surely the tilt is known follows
    from what each respondent's responses tell of ability and its square.
    """

    def over(part: Encoded, run: Run) -> Work:
        del run
        posterior_of = posterior_on(part)
        points = posterior_of.abilities
        moments = array_namespace(points).stack([points, 0.5 * (points**2 - 1)], axis=1)

        def pass_over(rows: slice) -> tuple[Array, Array, Array]:
            posterior, _ = posterior_of(part.block(rows))
            weights = part.counted(rows)
            seen, mass = posterior @ moments, weights @ posterior
            return (seen.T * weights) @ seen, (moments.T * mass) @ moments, mass @ moments

        return pass_over

    told, spread, mean = map(as_numpy, data.gather(map, over, width=nodes.fine.size))
    n = data.n_respondents
    centre = np.outer(mean, mean) / n
    change = (spread - centre) / n  # of mean and log unit, by a unit of the tilt
    found: Floats = change @ positive_inverse(told - centre) @ change
    return found


def _histogram(points: Floats, log_mass: Floats) -> HistogramPopulation:
    mass = np.exp(np.maximum(log_mass - log_mass.max(), -600.0))
    mass = np.maximum(mass / mass.sum(), LEAST_MASS)
    return HistogramPopulation(points, mass / mass.sum())


class _Climb:
    """The way to the best log-masses at `points`, on which posterior masses are expected."""

    def __init__(self, points: Floats, *, standard: bool) -> None:
        self._points, self._standard = points, standard
        self._moments = np.stack([points, points**2])
        self._bend, self._pull = _roughness(points)

    def cost(self, x: Floats) -> float:
        """Return what the roughness of log-masses costs."""
        return 0.5 * float(x @ self._bend @ x) - float(self._pull @ x)

    def standing(self, x: Floats) -> Floats:
        """Log-masses tilted to mean 0 and standard deviation 1, where they shall have them."""
        if not self._standard:
            return x
        for _ in range(MOST_TURNS):
            mass = _shares(x)
            off = self._moments @ mass - (0.0, 1.0)
            if np.abs(off).max() < 1e-12:
                break
            spread = (self._moments * mass) @ self._moments.T - np.outer(
                self._moments @ mass, self._moments @ mass
            )
            tilt = np.linalg.solve(spread, off)
            x = x - np.clip(tilt, -0.5, 0.5) @ self._moments
        return x

    def to_top(self, x: Floats, basis: Floats, seen: Floats) -> Floats:
        """Return Newton on Σ seen x log-density less the roughness, from log-masses `x`."""
        total = float(seen.sum())

        def value(x: Floats) -> float:
            height = basis @ x
            top = height.max()
            norm = top + np.log(np.exp(height - top).sum())
            return float(seen @ height) - total * float(norm) - self.cost(x)

        x = self.standing(x)
        here = value(x)
        for _ in range(MOST_TURNS):
            prob = _shares(basis @ x)
            gradient = basis.T @ (seen - total * prob) - self._bend @ x + self._pull
            mean = basis.T @ prob
            information = total * ((basis.T * prob) @ basis - np.outer(mean, mean)) + self._bend
            step = self._step(x, gradient, information)
            length, promise = 1.0, 0.5 * float(gradient @ step)
            ahead = self.standing(x + step)
            while (reached := value(ahead)) < here and length > 1e-4:
                length /= 2
                ahead = self.standing(x + length * step)
            if reached < here:
                break
            x, here = ahead, reached
            if promise < ENOUGH:
                break
        return x

    def _step(self, x: Floats, gradient: Floats, information: Floats) -> Floats:
        """A Newton step that leaves mean and standard deviation as they are, where it shall."""
        n = x.size
        # Masses do not change when a constant is added to all log-masses.
        known = information + 1e-9 * np.trace(information) / n * np.eye(n)
        solved = np.linalg.solve(known, np.column_stack([gradient, self._normals(x).T]))
        step, ways = solved[:, 0], solved[:, 1:]
        if self._standard:
            normals = self._normals(x)
            step = step - ways @ np.linalg.solve(normals @ ways, normals @ step)
        found: Floats = step
        return found

    def _normals(self, x: Floats) -> Floats:
        """Return how mean and mean square change with the log-masses, (2, n_points)."""
        mass = _shares(x)
        found: Floats = (self._moments - (self._moments @ mass)[:, None]) * mass
        return found


def _shares(log_mass: Floats) -> Floats:
    """Return masses that sum to one."""
    mass = np.exp(log_mass - log_mass.max())
    found: Floats = mass / mass.sum()
    return found


def _basis(points: Floats, places: Floats) -> Floats:
    """Return what a spline through values at `points` is at `places`, (n_places, n_points)."""
    from scipy.interpolate import CubicSpline

    found: Floats = CubicSpline(points, np.eye(points.size), bc_type="natural")(places)
    return found


def _roughness(points: Floats) -> tuple[Floats, Floats]:
    """Return the penalty on the log-masses x, as a form and a vector: ½ x form x - vector x."""
    step = points[1] - points[0]
    third = np.diff(np.eye(points.size), 3, axis=0) / step**3
    second = np.diff(np.eye(points.size), 2, axis=0) / step**2
    stiff = PULLING * (1 + (points[1:-1] / FAR) ** 4)
    form = step * (SMOOTHING * third.T @ third + (second.T * stiff) @ second)
    return form, -step * stiff @ second


LEVEL = 0.01  # how often many normal pools would be called something else
# Where items are many and respondents few, discriminations follow chance and put single respondents
# far out, which makes the statistic larger: at 100 respondents the limit is twice as high, at 50
# five times. Few respondents would gain nothing from a shape anyway (benchmarks/populations.py).
FEW = 100.0
SHAPE_TEST_ENOUGH = (
    200.0  # respondents from which a shape brings discriminations nearer to the truth
)
OTHERWISE = "A model that misses something, such as guessing, may look like this, too."


@dataclass(frozen=True)
class ShapeTest:
    """What the posterior says against a normal shape."""

    skewness: float  # in the units of a perfectly known pool; 0 where it is normal
    kurtosis: float  # beyond that of the normal
    statistic: float  # of two degrees of freedom where respondents are many
    n_respondents: float

    @classmethod
    def of(cls, nodes: Nodes, found: Expectation) -> ShapeTest:
        """Return the test at the end of a fit with a standard normal population.

        What responses leave unknown of ability shrinks a polynomial of degree k by the k-th power
        of the square root of the reliability.
        """
        assert found.mass is not None  # noqa: S101 - only the normal way has none
        n, x = float(found.mass.sum()), nodes.fine
        reliability = float(np.clip(found.scale[0, 0] / n, 1e-3, 1.0))
        third = float(found.mass @ (x**3 - 3 * x)) / n
        fourth = float(found.mass @ (x**4 - 6 * x**2 + 3)) / n
        statistic = n * third**2 / (6 * reliability**3) + n * fourth**2 / (24 * reliability**4)
        return cls(third / reliability**3, fourth / reliability**4, statistic, n)

    @property
    def worth(self) -> float:
        """The statistic, less what few respondents add to it."""
        return self.statistic / (1 + (FEW / self.n_respondents) ** 2)

    @property
    def p_value(self) -> float:
        """How often a normal pool would look as far from normal."""
        return exp(-0.5 * self.worth)

    @property
    def refutes(self) -> bool:
        """Whether the pool is not normal."""
        return self.p_value < LEVEL

    @property
    def said(self) -> str:
        """Why a shape was fitted."""
        return (
            f"A normal distribution of abilities does not fit these respondents {self._figures}, "
            f"so its shape was fitted with the items, as population='auto' asks. {OTHERWISE}"
        )

    @property
    def advice(self) -> str:
        """What to do after a normal fit; empty where a shape would not bring items nearer."""
        if not self.refutes or self.n_respondents < SHAPE_TEST_ENOUGH:
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


POOLED_ITEMS_FEW = (
    150  # respondents; where there are more, items are known well enough by themselves
)
LEAST_ITEMS = 10  # with which the spread of items is known
TURNS = 4
ROUGH = 1e-3  # nats that are left to gain when the items are found once more
MOST_ITERATIONS = 50
LEAST_SPREAD = 0.05  # of a coordinate over the items
LEAST_SHARE = 0.05  # of the variance over items that is never called noise
LEAST_NOISE = 1e-6


def poolable(task: Task) -> bool:
    """Return True if items are vague, and many enough to learn from each other."""
    return (
        task.data.n_respondents < POOLED_ITEMS_FEW
        and task.data.shape[1] >= LEAST_ITEMS
        and task.held is None
        and not task.model.shared.any()
    )


def pool(task: Task, found: Ascent) -> PooledItems | None:
    """Return items given what they have in common; None where they cannot be found."""
    telling = _telling(task.model, as_numpy(found.coords))
    if not telling.all():
        return _beside_constant(task, found, telling)
    errors, learnt = _errors(task, found), False
    for _ in range(TURNS):
        coords = as_numpy(found.coords)
        model = _with_common_priors(task.model, coords, errors, learnt=learnt)
        task, learnt = replace(task, model=model), True
        found = ascend(task, found.coords, tolerance=ROUGH, most=MOST_ITERATIONS)
        errors = _errors(task, found)
    coords = as_numpy(found.coords)
    sound = all(np.isfinite(part).all() for part in (coords, errors.covariances, errors.shared))
    return PooledItems(coords, errors.covariances, errors.shared) if sound else None


def _beside_constant(task: Task, found: Ascent, telling: np.ndarray) -> PooledItems | None:
    """Return the other items given what they have in common; constant ones as they were found."""
    if telling.sum() < LEAST_ITEMS:
        return None
    places = np.flatnonzero(telling)
    part = replace(task, data=task.data.of_items(places), model=task.model.of_items(places))
    start = ascend(part, found.coords[places], tolerance=ROUGH, most=MOST_ITERATIONS)
    pooled = pool(part, start)
    if pooled is None:
        return None
    coords = as_numpy(found.coords).copy()
    covariances = np.zeros((*coords.shape, coords.shape[1]))
    shared = np.zeros((len(pooled.shared), *coords.shape))
    coords[places], covariances[places] = pooled.coords, pooled.covariances
    shared[:, places] = pooled.shared
    return PooledItems(coords, covariances, shared)


def _telling(model: MeasurementModel, coords: Floats) -> np.ndarray:
    """Return items of which others can learn: a score that all respondents share has no noise."""
    if model.kind != "continuous":
        return np.ones(len(coords), dtype=bool)
    noiseless: np.ndarray = np.asarray(model.at_bound(coords)) & ~model.shared
    return np.asarray(~noiseless.any(axis=1))


def _errors(task: Task, found: Ascent) -> KnownCovariances:
    """Item by item, and of the scale: the common priors move with it, and tell nothing of it."""
    data, model, coords = task.data, task.model, found.coords
    nodes, seen, population = found.nodes, found.expectation, found.population
    inverse = observed_inverse(data, model, coords, nodes, seen, population, by_item=True)
    errors = inverse.errors()
    if model.affine and isinstance(population, HistogramPopulation):
        return with_unknown_shape(errors, data, model, coords, nodes, seen)
    return errors


def widened(task: Task, found: Ascent, errors: KnownCovariances) -> PooledItems:
    """Return items as they were found, with errors as wide as few respondents make them.

    What such items tell of the unit is how far responses scatter about their curves, and their
    discriminations go with 1 / scatter. Of n responses to an item, p coordinates took up their
    share: the mean of 1 / scatter is too large by n / (n - p - 2), exactly so for normal responses.
    So is the information, and 1 / scatter varies as much more than the information says.

    All items err together by the same respondents. Squares of their scores exceed the information
    by that factor, and are too small by it themselves, since the items were fitted to them: the
    error of the unit is wider by its square (benchmarks/coverage.py).
    """
    p = task.model.width
    alone = _too_sure(asked(task.data), p) ** 2
    together = _too_sure(as_numpy(task.data.weights).sum(), p) ** 4
    common = np.einsum("kni,knj->nij", errors.shared, errors.shared)
    own = errors.covariances - common
    return PooledItems(
        as_numpy(found.coords),
        own * alone[:, None, None] + common * together,
        errors.shared * np.sqrt(together),
    )


def _too_sure(n: Floats, p: int) -> Floats:
    """How much too large 1 / scatter is, on average, of `n` responses and `p` coordinates."""
    found: Floats = n / np.maximum(n - p - 2, 1.0)
    return found


def asked(data: Encoded) -> Floats:
    """Return how many respondents answered each item."""

    def over(part: Encoded, run: Run) -> Work:
        del run
        return lambda rows: (part.counted(rows) @ part.block(rows).asked,)

    found: Floats = as_numpy(data.gather(map, over)[0])
    return found


def _with_common_priors(
    model: MeasurementModel,
    coords: Floats,
    errors: KnownCovariances,
    *,
    learnt: bool,
) -> MeasurementModel:
    """Return the model with the items' own mean and spread as the prior of each coordinate."""
    own = errors.covariances - np.einsum("kni,knj->nij", errors.shared, errors.shared)
    there = ~model.absent(coords)
    coordinates = []
    for k, coordinate in enumerate(model.coordinates):
        prior, some = coordinate.prior, there[:, k]
        if prior is None or isinstance(prior, Normal):
            values, noise = coords[some, k], np.maximum(own[some, k, k], LEAST_NOISE)
            known = np.isfinite(noise)  # without priors, responses may say nothing of an item
            if not known.any():
                coordinates.append(coordinate)
                continue
            values, noise = values[known], noise[known]
            if prior is not None and learnt:
                mean, square = _next(values, noise, prior.sd)
            else:
                mean, square = _first(values, noise)
            spread = max(float(np.sqrt(square)), LEAST_SPREAD)
            coordinate = replace(coordinate, prior=Normal(float(mean), spread))
        coordinates.append(coordinate)
    return model.with_coordinates(tuple(coordinates))


def _first(values: Floats, noise: Floats) -> tuple[float, float]:
    """Mean and squared spread of items, of which `values` are known with variance `noise`."""
    mean = np.average(values, weights=1 / noise)
    beyond = np.average((values - mean) ** 2 - noise, weights=1 / noise)
    return mean, max(float(beyond), LEAST_SHARE * float(np.var(values)))


def _next(values: Floats, noise: Floats, spread: float) -> tuple[float, float]:
    """The same, one step of EM on: `values` and `noise` are the items given the last `spread`."""
    mean = values.mean()
    return mean, float(((values - mean) ** 2 + np.minimum(noise, spread**2)).mean())
