"""What is maximized, at an iterate.

The objective is the penalized marginal log-likelihood of the items' coordinates x,

    value(x) = Σ_i w_i log ∫ Π_j f(x_ij | θ, x_j) p(θ) dθ + Σ_j log prior(x_j),

with one change: along the two directions of the latent scale, origin and unit, the priors of n
items count as one (`latent_scale.count_priors_once`). With it the objective is no function of x
but a field of gradients

    g(x) = score(x) + prior_grad(x) + prior_grad_correction(x),

so iterates a and b are compared by the gain on the way, where the correction is integrated by the
trapezoidal rule:

    gain(a, b) = value(b) - value(a) + ½ (correction(a) + correction(b)) · (b - a).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ogive._progress import Progress, silent
from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.e_step import Expectation, expect
from ogive.irt.estimation.engine import report_iteration
from ogive.irt.estimation.identifiability import LEAST_RESPONDENTS
from ogive.irt.estimation.latent_scale import FixedItems, count_priors_once
from ogive.irt.estimation.m_step import (
    NewtonSystem,
    active_bounds,
    add_diagonal,
    drop_coordinates,
    log_prior,
    penalized_information,
    prior_derivatives,
)
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import STANDARD, Nodes, Population, plan_nodes
from ogive.stats.array_backend import Array, Run, array_namespace, as_numpy, like

if TYPE_CHECKING:
    from ogive.irt.estimation.standard_errors import WholeInformation

EDGE_MASS = 1e-6  # posterior mass at an end node that calls for a wider range
WIDENING = 1.5  # length by which the range of nodes is widened
COARSENING = 1.4  # factor of the first nodes' spacing; sums are then right to a thousandth
FEW_RESPONDENTS = 30  # below it, priors count in full if items are many
ITEMS_PER_RESPONDENT = 50  # ratio from which items are called many
MAX_ITER_BY_CHANCE = 40  # iteration limit of a fit that would only explain chance
ROUNDING = 1e-12, 1e-7  # relative errors of a log-likelihood in double and in single precision
INTERPOLATION = 1e-9  # error of a log-likelihood per respondent, for interpolated posteriors
LEAST_COST = 1e-2  # nats that a longest step costs, below which a coordinate is undetermined
MAX_SCALED = 2.0  # longest step, if a model has no limit


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point, the E-step there, and the objective: its value and gradient."""

    coords: Array
    expectation: Expectation
    value: float  # log-likelihood and log-priors
    prior_grad_correction: Array  # (n_items, width)
    prior_curvature: Array  # (n_items, width)
    system: NewtonSystem  # gradient and information without fixed coordinates
    fixed: Array  # (n_items, width): at an active bound, absent, fixed by a bank, or frozen

    def gain(self, other: Iterate) -> float:
        """Return what the objective gains on the way from here to the `other` iterate."""
        xp = array_namespace(self.coords)
        correction = 0.5 * (self.prior_grad_correction + other.prior_grad_correction)
        along = correction * (other.coords - self.coords)
        return other.value - self.value + float(xp.sum(along))

    def rounding(self, data: Encoded) -> float:
        """Return the size of differences between values that rounding errors make."""
        relative = ROUNDING[int(data.single)]
        return relative * abs(self.value) + INTERPOLATION * data.n_respondents


def evaluate_objective(
    model: MeasurementModel,
    coords: Array,
    expectation: Expectation,
    fixed_items: FixedItems | None = None,
    frozen: Array | None = None,
    *,
    priors_once: bool = True,
) -> Iterate:
    """Return value and gradient at `coords`, where the E-step gave `expectation`.

    Along the scale, priors count once, or else in full.
    """
    xp = array_namespace(coords)
    if fixed_items is not None:
        prior_grad, prior_curvature = fixed_items.prior_derivatives(model, coords)
        value = expectation.log_likelihood + fixed_items.log_prior(model, coords)
        correction = fixed_items.prior_grad_correction(model, coords, prior_grad)
    else:
        prior_grad, prior_curvature = prior_derivatives(model, coords)
        value = expectation.log_likelihood + float(xp.sum(log_prior(model, coords)))
        correction = 0 * prior_grad
        if priors_once:
            metric = add_diagonal(expectation.expected, prior_curvature)
            directions = model.scale_directions(coords)
            correction = -count_priors_once(model, directions, prior_grad, metric)
    information = penalized_information(expectation.observed, expectation.expected, prior_curvature)
    gradient = expectation.gradient + prior_grad + correction
    fixed = active_bounds(model, coords, gradient)
    if fixed_items is not None:
        fixed = fixed | (like(fixed_items.free(model), coords) == 0)
    if frozen is not None:
        fixed = fixed | frozen
    system = drop_coordinates(NewtonSystem(gradient, information), fixed)
    return Iterate(coords, expectation, value, correction, prior_curvature, system, fixed)


def undetermined_items(model: MeasurementModel, iterate: Iterate) -> tuple[Array, Array]:
    """Flag items that the responses hardly determine, and of each its loosest coordinate.

    Some longest step of such an item changes the objective by less than a hundredth of a nat,
    even if abilities were known. The masks are (n_items,) and (n_items, width).
    """
    longest = np.array([min(c.longest, MAX_SCALED) for c in model.coordinates])
    information = as_numpy(iterate.system.information) * longest[:, None] * longest
    free = ~as_numpy(iterate.fixed)
    both = free[:, :, None] & free[:, None, :]
    values, vectors = np.linalg.eigh(np.where(both, information, np.eye(model.width)))
    loose = (values[:, 0] < 2 * LEAST_COST) & free.any(axis=1)
    loosest = np.argmax(np.abs(vectors[:, :, 0]) * free, axis=1)
    mask = loose[:, None] & (np.arange(model.width) == loosest[:, None]) & ~model.shared
    return like(mask.any(axis=1), iterate.coords) > 0, like(mask, iterate.coords) > 0


@dataclass(frozen=True, eq=False)
class Solution:
    """The last iterate of a run."""

    coords: Array
    nodes: Nodes
    expectation: Expectation
    iterations: int
    decrement: float
    converged: bool
    undetermined: Array  # (n_items,): items of which the responses leave a parameter open
    at_saddle: bool = False  # True if no way off a saddle point improved the objective
    information: WholeInformation | None = None  # computed if a saddle had to be ruled out
    population: Population = STANDARD

    def objective(self, model: MeasurementModel) -> float:
        """Return the log-likelihood plus the log-prior of `model`."""
        prior = array_namespace(self.coords).sum(log_prior(model, self.coords))
        return self.expectation.log_likelihood + float(prior)


@dataclass(frozen=True, eq=False)
class Problem:
    """Responses, a model and a population: what a run of EM maximizes."""

    data: Encoded
    model: MeasurementModel
    run: Run = map
    progress: Progress = silent
    population: Population = STANDARD
    fixed_items: FixedItems | None = None
    frozen: Array | None = None  # (n_items, width): undetermined coordinates that stay
    before: int = 0  # iterations of earlier runs
    priors_in_full: bool = False  # True if priors count in full along the scale, too

    @property
    def outnumbered(self) -> bool:
        """True if so many items face a few respondents that priors must count in full.

        If they counted once, iterations would go round in circles: three respondents do not hold
        the scale against thousands of items.
        """
        data, model = self.data, self.model
        has_priors = any(c.prior is not None and not c.shared for c in model.coordinates)
        n = data.n_respondents
        few = n < FEW_RESPONDENTS and data.shape[1] > ITEMS_PER_RESPONDENT * n
        return few and has_priors and model.affine and not model.normal and self.fixed_items is None

    @property
    def by_chance(self) -> bool:
        """True if many iterations would only explain chance.

        Either so few respondents gave scores that what these have in common may be chance, or each
        item has as many parameters as responses, and no prior.
        """
        few = self.data.n_respondents < LEAST_RESPONDENTS and self.model.kind == "continuous"
        return (few or self.saturated) and self.fixed_items is None

    @property
    def saturated(self) -> bool:
        """True if every item has a parameter for each of its responses, and no prior."""
        no_priors = all(c.prior is None for c in self.model.coordinates)
        return no_priors and self.data.n_respondents <= self.model.width

    def expect(self, data: Encoded, coords: Array, nodes: Nodes) -> Expectation:
        """Return one E-step on `data`: this problem's, or the same in single precision."""
        return expect(data, self.model, coords, nodes, self.run, self.population)

    def evaluate(self, data: Encoded, coords: Array, nodes: Nodes) -> Iterate:
        """Return the E-step and the objective at `coords`."""
        return self.iterate(coords, self.expect(data, coords, nodes))

    def freeze(self, frozen: Array, iterate: Iterate) -> tuple[Problem, Iterate]:
        """Return the problem with more coordinates frozen, and the objective at `iterate`."""
        if self.frozen is not None:
            frozen = frozen | self.frozen
        problem = replace(self, frozen=frozen)
        return problem, problem.iterate(iterate.coords, iterate.expectation)

    def iterate(self, coords: Array, expectation: Expectation) -> Iterate:
        """Return the objective at `coords`, where the E-step gave `expectation`."""
        return evaluate_objective(
            self.model,
            coords,
            expectation,
            self.fixed_items,
            self.frozen,
            priors_once=not self.priors_in_full,
        )

    def plan(
        self, coords: Array, reach: tuple[float, float] | None = None, coarsening: float = 1.0
    ) -> Nodes:
        """Return nodes for items at `coords`."""
        often = self.data.often
        on_device = like(coords, self.data.weights)
        return plan_nodes(self.model, on_device, self.population, reach, coarsening, often)

    def first_nodes(self, coords: Array) -> tuple[Encoded, Nodes]:
        """Return data and nodes for the first iterations, in single precision and coarse.

        Both halve the cost of matrix products; if a score is sufficient, there are none.
        """
        if self.model.linear and self.data.complete:
            return self.data, self.plan(coords)
        return self.data.in_single(), self.plan(coords, coarsening=COARSENING)

    def nodes_too_coarse(self, coords: Array, nodes: Nodes) -> bool:
        """Return True if items have become too steep for these nodes."""
        reach = float(nodes.fine[0]), float(nodes.fine[-1])
        return self.plan(coords, reach).step < nodes.step / 2

    def replan_nodes(self, iterate: Iterate, nodes: Nodes) -> Nodes:
        """Return `nodes` if they suit the iterate, else finer or wider ones."""
        low, high = float(nodes.fine[0]), float(nodes.fine[-1])
        edges = iterate.expectation.edges
        wider_low = low - WIDENING * (edges[0] > EDGE_MASS)
        wider_high = high + WIDENING * (edges[1] > EDGE_MASS)
        planned = self.plan(iterate.coords, (wider_low, wider_high))
        wide_enough = (wider_low, wider_high) == (low, high)
        fine_enough = (
            planned.step > 0.9 * nodes.step and planned.coarse.size < 1.1 * nodes.coarse.size
        )
        return nodes if wide_enough and fine_enough else planned

    def report(self, iteration: int, iterate: Iterate, decrement: float) -> None:
        """Report an iteration."""
        value = iterate.expectation.log_likelihood
        report_iteration(self.progress, self.before + iteration, value, decrement)

    def solution(
        self, iterate: Iterate, nodes: Nodes, iterations: int, decrement: float, *, converged: bool
    ) -> Solution:
        """Return the solution that an iterate is."""
        undetermined = undetermined_items(self.model, iterate)[0]
        if self.frozen is not None:
            undetermined = undetermined | array_namespace(self.frozen).any(self.frozen, axis=1)
        return Solution(
            coords=iterate.coords,
            nodes=nodes,
            expectation=iterate.expectation,
            iterations=iterations,
            decrement=decrement,
            converged=converged,
            undetermined=undetermined,
            population=self.population,
        )
