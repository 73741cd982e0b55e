"""Newton's method on all items at once, within a trust region (Steihaug, 1983).

EM creeps and its acceleration goes astray if items hardly differ from step functions or from
noise, or trade one parameter for another. There the loop goes on as in a textbook: quadratic model
of the objective, step by truncated conjugate gradients, ratio of actual to predicted gain, radius.

The Hessian is that of complete data less the missing information (Louis, 1982), a sum of squares
of scores. With few respondents the scores themselves are kept, with few coordinates their
squares; if both are too many, or responses are normal, gradients are differenced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from ogive.irt.estimation.acceleration import NewtonStep, StepController, propose
from ogive.irt.estimation.latent_scale import prior_information, scale_step
from ogive.irt.estimation.m_step import NewtonSystem, add_diagonal, drop_coordinates, kept_off
from ogive.irt.estimation.missing_information import Scores
from ogive.irt.estimation.objective import Iterate, Problem, Solution, undetermined_items
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes
from ogive.stats.array_backend import Array, array_namespace, as_numpy, like
from ogive.stats.newton import Truncated, solve_blocks, truncated_newton

MAX_ROUNDS = 10  # rounds in which coordinates that reach a bound are fixed, and the others move on
MAX_PRODUCTS = 200  # Hessian products of one step
FORCING = 0.03  # share of the gradient that a step may leave
LEAST_FORCING = 1e-3  # the smallest such share; a flat direction has a faint gradient
CREEPING = 0.3  # share of the last predicted gain above which the next counts as no progress
SLOW_ITER = 20  # steps after which undetermined coordinates are frozen, if they gained little
LITTLE_GAIN = 0.05  # nats that count as little
CLOSE = 1e-2  # predicted gain in nats below which the Hessian is kept
LEAST_RATIO = 1e-3  # ratio of actual to predicted gain from which a step is accepted
WIDE = 1.0  # radius, in root nats, in which a predicted gain of 0 is no rounding error
LEAST_PART = 0.1  # share of the distance to a bound, off which a prior keeps, that a step leaves
FIRST_RADIUS = 3.0  # root nats
MAX_STEP = 5.0  # longest steps of a coordinate at once
LEAST_RADIUS = 1e-5  # root nats; in a smaller region there are only rounding errors

USUAL_DEGREE = 6  # polynomials that carry the scores of a respondent
MAX_KEPT = 25_000_000  # numbers that are kept, 200 MB
MAX_WORK = 3e10  # multiplications to square the scores, about a second
MAX_EXACT_WORK = 2e9  # multiplications up to which all of the missing information is computed
EXACT, ROUGH = 1e-7, 1e-3  # share of the missing information that is left out
DIFFERENCE = 1e-4  # distance of differenced gradients, in longest steps

Product = Callable[[Array], Array]


def maximize_by_trust_region(
    problem: Problem,
    iterate: Iterate,
    nodes: Nodes,
    iteration: int,
    *,
    tolerance: float,
    max_iter: int,
) -> Solution:
    """Go on from an iterate, after `iteration` iterations, by steps of all items together.

    An EM step is taken instead if such a step promises nothing, or never keeps its promise.
    """
    search = _TrustRegionSearch(problem, iterate, nodes, iteration)
    while search.iteration < max_iter:
        step = search.propose()
        promises_nothing = abs(step.gain) <= tolerance and (step.newton or search.radius >= WIDE)
        # Rounding errors of a sum of thousands can make a flat direction look curved, so that the
        # quadratic model promises a gain that no radius delivers.
        refuted = search.radius < LEAST_RADIUS
        if promises_nothing or refuted:
            em_step = propose(search.problem, problem.data, search.iterate)
            if em_step.decrement <= tolerance:
                if search.refine_nodes():
                    continue
                gain = em_step.decrement if refuted else max(step.gain, em_step.decrement)
                return search.solution(gain, converged=True)
            if not search.try_em_step(em_step, max_iter):
                break
        else:
            search.try_newton(step)
        if search.iteration >= search.patience:
            search.fix_undetermined()
    decrement = propose(search.problem, problem.data, search.iterate).decrement
    return search.solution(decrement, converged=False)


class _TrustRegionSearch:
    """The iterate, the nodes, the radius and the Hessian of a run."""

    def __init__(self, problem: Problem, iterate: Iterate, nodes: Nodes, iteration: int) -> None:
        self.problem, self.iteration, self._last_gain = problem, iteration, inf
        self.nodes = problem.replan_nodes(iterate, nodes)
        self.iterate = self._evaluate(iterate.coords)
        self._report()
        self.radius, self.patience = FIRST_RADIUS, self.iteration + SLOW_ITER
        self._mark = self.iterate
        self._hessian: Hessian | None = None
        self._forcing = FORCING

    def propose(self) -> TrustRegionStep:
        """Return the best step within the radius."""
        if self._hessian is None:
            self._hessian = Hessian(self.problem, self.iterate, self.nodes)
        return trust_region_step(
            self.problem.model, self.iterate, self._hessian, self.radius, self._forcing
        )

    def try_newton(self, step: TrustRegionStep) -> None:
        """Take a step of all items if the gain is a part of the predicted one."""
        if step.gain <= 0:
            self.radius = updated_radius(self.radius, step, 0.0)
            return
        creeps = step.newton and step.gain > CREEPING * self._last_gain
        if creeps:
            self._forcing = max(0.1 * self._forcing, LEAST_FORCING)
        self._last_gain = step.gain
        candidate = self._evaluate(step.coords)
        gain = self.iterate.gain(candidate)
        self.radius = updated_radius(self.radius, step, gain)
        accepted = gain >= max(LEAST_RATIO * step.gain, -self.iterate.rounding(self.problem.data))
        if accepted:
            self.iterate = candidate
        self._report()
        if accepted:
            as_predicted = step.gain < CLOSE and gain > 0.5 * step.gain
            self._accept(candidate, keep_hessian=as_predicted and not creeps)

    def try_em_step(self, step: NewtonStep, max_iter: int) -> bool:
        """Take the step of one EM iteration; return False if none improves."""
        controller = StepController(self.problem.model, self.problem.fixed_items)
        self.radius = WIDE
        while self.iteration < max_iter:
            coords = controller.backtrack(step)
            if coords is None:
                return False
            self._last_gain = step.decrement
            candidate = self._evaluate(coords)
            self._report()
            if self.iterate.gain(candidate) >= -self.iterate.rounding(self.problem.data):
                self._accept(candidate)
                return True
        return False

    def fix_undetermined(self) -> None:
        """Freeze what the responses hardly determine, if many steps gained next to nothing."""
        self.patience += SLOW_ITER
        before, self._mark = self._mark, self.iterate
        loosest = undetermined_items(self.problem.model, self.iterate)[1]
        if before.gain(self.iterate) < LITTLE_GAIN and bool(loosest.any()):
            self.problem, self.iterate = self.problem.freeze(loosest, self.iterate)

    def refine_nodes(self) -> bool:
        """Plan nodes for the items as they are now; return True if others are needed."""
        nodes = self.problem.replan_nodes(self.iterate, self.nodes)
        if nodes is self.nodes:
            return False
        self.nodes, self._hessian = nodes, None
        self.iterate = self._evaluate(self.iterate.coords)
        self._report()
        return True

    def solution(self, decrement: float, *, converged: bool) -> Solution:
        """Return the solution that the current iterate is."""
        return self.problem.solution(
            self.iterate, self.nodes, self.iteration, decrement, converged=converged
        )

    def _evaluate(self, coords: Array) -> Iterate:
        self.iteration += 1
        return self.problem.evaluate(self.problem.data, coords, self.nodes)

    def _report(self) -> None:
        """Report the current iterate, not a rejected candidate."""
        self.problem.report(self.iteration, self.iterate, self._last_gain)

    def _accept(self, iterate: Iterate, *, keep_hessian: bool = False) -> None:
        self.iterate = iterate
        if not keep_hessian:
            self._hessian = None
        self.refine_nodes()


@dataclass(frozen=True, eq=False)
class TrustRegionStep:
    """A step of all items."""

    coords: Array  # where it leads
    gain: float  # predicted by the quadratic model
    length: float  # in root nats of the items' own information
    newton: bool  # True if neither truncated nor shortened


def trust_region_step(
    model: MeasurementModel,
    iterate: Iterate,
    hessian: Hessian,
    radius: float,
    forcing: float = FORCING,
) -> TrustRegionStep:
    """Return the best step within `radius` and within the bounds."""
    xp = array_namespace(iterate.coords)
    coords, gradient = iterate.coords, iterate.system.gradient
    low = like([c.low for c in model.coordinates], coords)
    high = like([c.high for c in model.coordinates], coords)
    # A coordinate that a prior keeps off its lower bound is not stopped there, but short of it.
    stop = like([-inf if kept_off(c) else c.low for c in model.coordinates], coords)
    least = xp.where(stop < low, coords - (1 - LEAST_PART) * (coords - low), coords)
    fixed, base = iterate.fixed, 0 * coords
    for _ in range(MAX_ROUNDS):
        newton = _newton(iterate, hessian, base, fixed, radius, forcing)
        step = base + newton.step
        under, above = coords + step < stop, coords + step > high
        outside = (under | above) & ~fixed
        if not bool(xp.any(outside)):
            break
        base = xp.where(outside, xp.where(under, low, high) - coords, base)
        fixed = fixed | outside
    excess = xp.abs(step) / like([c.longest for c in model.coordinates], step)
    step = step / max(1.0, float(xp.max(excess)) / MAX_STEP)
    candidate = model.bounded(coords + step)
    candidate = xp.where(stop < low, xp.maximum(candidate, least), candidate)
    taken = candidate - coords
    gain = float(xp.sum(taken * (gradient - 0.5 * hessian.times(taken))))
    whole = newton.inside and bool(xp.all(xp.abs(taken - step) <= 1e-9 * (1 + xp.abs(step))))
    return TrustRegionStep(candidate, gain, newton.length, whole)


def _newton(
    iterate: Iterate, hessian: Hessian, base: Array, fixed: Array, radius: float, forcing: float
) -> Truncated:
    """Return the truncated Newton step from `base`, an offset from the iterate."""
    free = array_namespace(base).astype(~fixed, base.dtype)

    def times(vector: Array) -> Array:
        return free * hessian.times(vector)

    return truncated_newton(
        free * (iterate.system.gradient - hessian.times(base)),
        times,
        hessian.preconditioner(drop_coordinates(iterate.system, fixed), free),
        radius,
        forcing=forcing,
        most=MAX_PRODUCTS,
    )


def updated_radius(radius: float, step: TrustRegionStep, gain: float) -> float:
    """Shrink the radius after a step that kept little of its promise, and grow it after much."""
    ratio = gain / step.gain if step.gain > 0 else 0.0
    if ratio < 0.25:
        return 0.25 * min(radius, max(step.length, LEAST_RADIUS))
    if ratio > 0.75:
        return max(radius, 2 * step.length)
    return radius


class Hessian:
    """Minus the second derivatives of the objective at an iterate, as an operator."""

    def __init__(self, problem: Problem, iterate: Iterate, nodes: Nodes) -> None:
        self._model, self._iterate = problem.model, iterate
        self._of_likelihood = _likelihood_hessian(problem, iterate, nodes)
        self._directions = problem.model.scale_directions(iterate.coords)
        self._of_priors = self._prior_hessian()

    def times(self, vector: Array) -> Array:
        """Return minus the second derivative times `vector` (n_items, width)."""
        return self._of_likelihood(vector) + self._of_priors(vector)

    def preconditioner(self, system: NewtonSystem, free: Array) -> Product:
        """Return the inverse of each item's own information, corrected along the scale.

        `free` (n_items, width) flags coordinates that may move. A longest step counts as much as a
        nat, so that undetermined coordinates do not move far.
        """
        model = self._model
        longest = like([c.longest for c in model.coordinates], free)
        information = add_diagonal(system.information, free / longest**2 + 1e-12)
        shared = tuple(model.shared)
        if not model.affine:
            return lambda residual: solve_blocks(information, residual, shared)
        directions = self._directions * free
        population = self._iterate.expectation.scale + prior_information(
            model, directions, self._iterate.prior_curvature
        )

        def inverse(residual: Array) -> Array:
            own = solve_blocks(information, residual, shared)
            return own + free * scale_step(directions, residual, information, population)[0]

        return inverse

    def _prior_hessian(self) -> Product:
        """Return the priors' part; along the scale they count once (`count_priors_once`)."""
        iterate = self._iterate
        xp = array_namespace(iterate.coords)
        curvature = iterate.prior_curvature
        if not bool(xp.any(iterate.prior_grad_correction != 0)):
            return lambda vector: curvature * vector
        metric = add_diagonal(iterate.expectation.expected, curvature)
        directions = xp.reshape(self._directions, (2, -1))
        images = xp.stack([(metric @ d[..., None])[..., 0] for d in self._directions])
        images = xp.reshape(images, (2, -1))
        share = 1 - 1 / curvature.shape[0]
        inner = like(share * np.linalg.pinv(as_numpy(directions @ images.T)), curvature)

        def times(vector: Array) -> Array:
            flat = xp.reshape(vector, (-1,))
            flat = flat - (inner @ (images @ flat)) @ directions
            flat = xp.reshape(curvature, (-1,)) * flat
            flat = flat - (inner @ (directions @ flat)) @ images
            return xp.reshape(flat, vector.shape)

        return times


def _likelihood_hessian(problem: Problem, iterate: Iterate, nodes: Nodes) -> Product:
    """Return the likelihood's part, by the cheapest of three ways."""
    data, model = problem.data, problem.model
    n_rows, n_items = data.shape
    numbers, rows = n_items * model.width, USUAL_DEGREE * n_rows
    few_numbers = numbers <= rows and numbers**2 <= MAX_KEPT and rows * numbers**2 <= MAX_WORK
    if model.normal or not (few_numbers or rows * numbers <= MAX_KEPT):
        return _differenced_gradient(problem, iterate, nodes)
    complete = iterate.expectation.observed
    xp, shape = array_namespace(iterate.coords), iterate.coords.shape
    # What is left out looks like information: steps over a flat stretch become too short.
    exact = rows * numbers * min(rows, numbers) <= MAX_EXACT_WORK
    left_out = EXACT if exact else ROUGH
    scores = Scores(data if exact else data.in_single(), model, iterate.coords, nodes)
    if few_numbers:
        matrix = like(scores.missing_of_all(problem.run, left_out), complete)

        def missing(flat: Array) -> Array:
            return matrix @ flat

    else:
        kept = scores.of_all(problem.run, left_out)
        if isinstance(complete, np.ndarray):
            kept = [as_numpy(part) for part in kept]

        def missing(flat: Array) -> Array:
            flat = xp.astype(flat, kept[0].dtype)
            return sum((part @ flat) @ part for part in kept)

    def times(vector: Array) -> Array:
        own = (complete @ vector[..., None])[..., 0]
        return own - xp.reshape(missing(xp.reshape(vector, (-1,))), shape)

    return times


def _differenced_gradient(problem: Problem, iterate: Iterate, nodes: Nodes) -> Product:
    """Return the Hessian product as a central difference of gradients."""
    coords, xp = iterate.coords, array_namespace(iterate.coords)
    longest = like([min(c.longest, 1.0) for c in problem.model.coordinates], coords)

    def gradient(coords: Array) -> Array:
        return problem.expect(problem.data, coords, nodes).gradient

    def times(vector: Array) -> Array:
        largest = float(xp.max(xp.abs(vector) / longest))
        if largest == 0:
            return 0 * vector
        aside = (DIFFERENCE / largest) * vector
        diff = gradient(coords - aside) - gradient(coords + aside)
        return diff * (0.5 * largest / DIFFERENCE)

    return times
