"""What a fit is to explain, what it may ask, and where it came to rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ogive._progress import Progress, silent
from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.acceleration import Move, Place, propose, propose_beside, survey, weakest
from ogive.irt.estimation.curvature import WholeCurvature
from ogive.irt.estimation.e_step import expect
from ogive.irt.estimation.fit import Expectation, tell_iteration
from ogive.irt.estimation.identifiability import LEAST_RESPONDENTS
from ogive.irt.estimation.latent_scale import Held
from ogive.irt.estimation.multistart import is_loose, look_around
from ogive.irt.estimation.standard_errors import WholeInformation
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import STANDARD, Nodes, Population, plan_nodes
from ogive.stats.array_backend import Array, Run, array_namespace, like

EDGE_MASS = 1e-6  # posterior mass at an end node that calls for a wider range
WIDENING = 1.5
FEW = 30  # respondents
MANY_EACH = 50  # items to a respondent
MOST_BY_CHANCE = 40  # iterations that a fit is worth where it would explain chance
COARSENING = 1.4  # sums over posteriors are then right to a thousandth


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be explained, by which model, and who helps."""

    data: Encoded
    model: MeasurementModel
    run: Run = map
    progress: Progress = silent
    population: Population = STANDARD
    held: Held | None = None
    frozen: Array | None = None  # (n_items, width): coordinates that are not determined
    before: int = 0  # iterations of earlier stages
    in_full: bool = False  # whether priors count in full along the scale, too

    @property
    def outnumbered(self) -> bool:
        """Whether a few respondents face so many items that priors must count in full."""
        data, model = self.data, self.model
        guided = any(c.prior is not None and not c.shared for c in model.coordinates)
        few = data.n_respondents < FEW and data.shape[1] > MANY_EACH * data.n_respondents
        return few and guided and model.affine and not model.normal and self.held is None

    @property
    def by_chance(self) -> bool:
        """Whether a longer climb would only explain chance.

        So few respondents gave scores that what these have in common may be chance; or each item
        has as many numbers as responses, and no prior holds them.
        """
        few = self.data.n_respondents < LEAST_RESPONDENTS and self.model.kind == "continuous"
        return (few or self.saturated) and self.held is None

    @property
    def saturated(self) -> bool:
        """Whether every item has a number for each of its responses, and no prior."""
        bare = all(c.prior is None for c in self.model.coordinates)
        return bare and self.data.n_respondents <= self.model.width

    def stand(self, data: Encoded, coords: Array, nodes: Nodes) -> Place:
        """Return the E-step at `coords`, and what is climbed there."""
        return self._survey(coords, self.expect(data, coords, nodes))

    def again(self, place: Place) -> Place:
        """Return the same place, after other coordinates were frozen."""
        return self._survey(place.coords, place.found)

    def _survey(self, coords: Array, found: Expectation) -> Place:
        return survey(self.model, coords, found, self.held, self.frozen, once=not self.in_full)

    def propose(self, data: Encoded, place: Place) -> Move:
        """Return the step of one iteration."""
        if self.held is None:
            return propose(data, self.model, place, self.run)
        return propose_beside(data, self.model, place, self.held, self.run)

    def bend(self, place: Place, nodes: Nodes) -> WholeCurvature:
        """Return how what is climbed bends at a place."""

        def gradient_at(coords: Array) -> Array:
            return self.expect(self.data, coords, nodes).gradient

        return WholeCurvature(self.data, self.model, place, nodes, gradient_at, self.run)

    def expect(self, data: Encoded, coords: Array, nodes: Nodes) -> Expectation:
        """Return one E-step on `data`, which is this task's or a quicker reading of it."""
        return expect(data, self.model, coords, nodes, self.run, self.population)

    def second_look(self, found: Ascent) -> tuple[Array, float]:
        """Return where items would stand had they begun elsewhere, and what that gains at least."""
        if found.expectation.tables is None or not is_loose(self.model):
            return found.coords, 0.0
        place = survey(self.model, found.coords, found.expectation, self.held)
        tables = found.expectation.tables
        return look_around(self.model, found.coords, tables, place.tilt, self.run)

    def plan(
        self, coords: Array, reach: tuple[float, float] | None = None, coarsening: float = 1.0
    ) -> Nodes:
        """Return nodes for items at `coords`."""
        often = self.data.often
        there = like(coords, self.data.weights)
        return plan_nodes(self.model, there, self.population, reach, coarsening, often)

    def tell(self, iteration: int, place: Place, left: float) -> None:
        """Report an iteration."""
        tell_iteration(self.progress, self.before + iteration, place.found.log_likelihood, left)

    def ended(
        self, place: Place, nodes: Nodes, iterations: int, left: float, *, converged: bool
    ) -> Ascent:
        """Return where the iterations came to rest."""
        return Ascent(
            coords=place.coords,
            nodes=nodes,
            expectation=place.found,
            iterations=iterations,
            decrement=left,
            converged=converged,
            undetermined=self._undetermined(place),
            population=self.population,
        )

    def _undetermined(self, place: Place) -> Array:
        loose = weakest(self.model, place)[0]
        if self.frozen is None:
            return loose
        return loose | array_namespace(self.frozen).any(self.frozen, axis=1)

    def after(self, iterations: int) -> Task:
        """Return the same task, whose iterations count on from `iterations`."""
        return replace(self, before=self.before + iterations)


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where the iterations ended."""

    coords: Array
    nodes: Nodes
    expectation: Expectation
    iterations: int
    decrement: float
    converged: bool
    undetermined: Array  # (n_items,): items of which the responses leave something open
    at_saddle: bool = False  # where no way up was found
    information: WholeInformation | None = (
        None  # where a maximum had to be distinguished from a saddle
    )
    population: Population = STANDARD


def first_reading(task: Task, coords: Array) -> tuple[Encoded, Nodes]:
    """Return how to look at the responses while the way is long.

    Single precision and fewer nodes halve the cost of matrix products; where a score is
    sufficient there are none.
    """
    if task.model.linear and task.data.complete:
        return task.data, task.plan(coords)
    return task.data.in_single(), task.plan(coords, coarsening=COARSENING)


def too_coarse(task: Task, coords: Array, nodes: Nodes) -> bool:
    """Whether items have become so steep that most of what is seen on these nodes is noise."""
    return task.plan(coords, (float(nodes.fine[0]), float(nodes.fine[-1]))).step < nodes.step / 2


def replan_nodes(task: Task, coords: Array, nodes: Nodes, found: Expectation) -> Nodes:
    """Return `nodes` again where they still serve, else finer or wider ones."""
    low, high = float(nodes.fine[0]), float(nodes.fine[-1])
    wider_low = low - WIDENING * (found.edges[0] > EDGE_MASS)
    wider_high = high + WIDENING * (found.edges[1] > EDGE_MASS)
    better = task.plan(coords, (wider_low, wider_high))
    wide_enough = (wider_low, wider_high) == (low, high)
    fine_enough = better.step > 0.9 * nodes.step and better.coarse.size < 1.1 * nodes.coarse.size
    return nodes if wide_enough and fine_enough else better
