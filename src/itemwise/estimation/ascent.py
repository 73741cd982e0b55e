"""Marginal maximum likelihood by an accelerated EM (Bock and Aitkin, 1981).

An iteration is one E-step, one climb of every item, and one exact step along the two
directions that all items share (`scale`). Anderson's mixing over iterations takes what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from itemwise.estimation.expectation import expect
from itemwise.estimation.fits import Expectation, Tables, of_items, tell_iteration
from itemwise.estimation.held_items import Held
from itemwise.estimation.maximization import (
    Slopes,
    add_diagonal,
    climb_items,
    hold,
    keep_inside,
    log_penalty,
    newton_step,
    once_only,
    penalty_slopes,
    prior_information,
    scale_step,
    shorten,
    take_out,
    tangents,
)
from itemwise.estimation.observed_information import WholeInformation
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Run, array_namespace, as_numpy, by_items, like
from itemwise.numerics.newton import Anderson, safe_information
from itemwise.progress import Progress, silent
from itemwise.responses.encoding import Encoded
from itemwise.scoring.posterior import STANDARD, Nodes, Population, plan_nodes

EDGE_MASS = 1e-6  # posterior mass at an end node that calls for a wider range
WIDENING = 1.5
COARSENING = 1.4  # sums over posteriors are then right to a thousandth
LOOK = 8  # iterations after which, far from the end, nodes are looked at again
NEAR = 1.0  # nats left to gain at which nodes are planned for good
NEARLY_THERE = 1e-2  # nats left to gain at which single precision no longer does
PATIENCE = 4  # iterations far from where it had been, after which it goes on from the best point
PLAIN_STEPS = 11  # taken from there without mixing
VAGUE = 0.3  # information on a population, by respondent, too little to take a step by
LONGEST_MOVE = 0.5  # of a population, in its standard deviations
STALL = 15  # iterations in which what is left to gain, next to nothing, was never halved
NEXT_TO_NOTHING = 1e-3  # nats
STEPS_THROUGH = 40  # plain ones after a stall
MANY = 1_000  # respondents who, with priors, leave no item far from its top in the end


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be explained, by which model, and who helps."""

    data: Encoded
    model: MeasurementModel
    run: Run = map
    progress: Progress = silent
    population: Population = STANDARD
    held: Held | None = None
    before: int = 0  # iterations of earlier stages

    def propose(self, data: Encoded, coords: Array, found: Expectation) -> Move:
        """The step of one iteration."""
        if self.held is None:
            return propose(data, self.model, coords, found, self.run)
        return propose_beside(data, self.model, coords, found, self.held, self.run)

    def expect(self, data: Encoded, coords: Array, nodes: Nodes) -> Expectation:
        """One E-step on `data`, which is this task's or a quicker reading of it."""
        return expect(data, self.model, coords, nodes, self.run, self.population)

    def plan(
        self, coords: Array, reach: tuple[float, float] | None = None, coarsening: float = 1.0
    ) -> Nodes:
        """Nodes for items at `coords`."""
        return plan_nodes(self.model, coords, self.population, reach, coarsening)

    def ended(
        self, move: Move, nodes: Nodes, found: Expectation, iterations: int, *, converged: bool
    ) -> Ascent:
        """Where the iterations came to rest."""
        return Ascent(
            coords=move.coords,
            nodes=nodes,
            expectation=found,
            iterations=iterations,
            decrement=move.decrement,
            converged=converged,
            population=self.population,
        )

    def after(self, iterations: int) -> Task:
        """The same task, whose iterations count on from `iterations`."""
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
    information: WholeInformation | None = (
        None  # where a maximum had to be distinguished from a saddle
    )
    population: Population = STANDARD


@dataclass(frozen=True, eq=False)
class Move:
    """A step from `coords`, what it promises, and the metric to compare it in."""

    coords: Array
    step: Array
    decrement: float  # log-likelihood still to be gained, in nats
    metric: Array
    log_likelihood: float
    log_posterior: float


class Course:
    """Where the iterations go next: mixed steps, or plain ones from the best point after straying.

    Mixing leads astray where an item jumps from one maximum to another. And it holds an item back
    that creeps over a flat stretch, since it takes the stretch for a maximum; plain steps go on.
    """

    def __init__(self, model: MeasurementModel, held: Held | None = None) -> None:
        self._model, self._held = model, held
        self._mixing = Anderson()
        self._lowest, self._strayed, self._plain = inf, 0, 0
        self._mark, self._stalled = inf, 0

    def forget(self) -> None:
        """Start mixing again: the map has changed, or the last step was a bad one."""
        self._mixing.forget()

    def step(self, move: Move, length: float = 1.0) -> Array:
        """The point that a plain step leads to."""
        return keep_inside(self._model, move.coords, move.coords + length * move.step)

    def strays(self, move: Move) -> bool:
        """Whether the way has led far from where it had been, for too long."""
        self._lowest = min(self._lowest, move.decrement)
        far = move.decrement > max(NEAR, 10 * self._lowest)
        self._strayed = self._strayed + 1 if far else 0
        if self._strayed <= PATIENCE:
            return False
        self._lowest, self._strayed, self._plain = inf, 0, PLAIN_STEPS
        self.forget()
        return True

    def onward(self, move: Move) -> Array:
        """The next point."""
        if move.decrement < 0.5 * self._mark:
            self._mark, self._stalled = move.decrement, 0
        self._stalled += 1
        if self._stalled > STALL and move.decrement < NEXT_TO_NOTHING:
            self._mark, self._stalled, self._plain = inf, 0, STEPS_THROUGH
            self.forget()
        if self._plain:
            self._plain -= 1
            return self.step(move)
        ahead = self._mixing.advance(move.coords, move.step, move.metric)
        if self._held is not None and self._held.leaps(self._model, move.coords, ahead):
            self.forget()  # towards a population without width there is no way back
            return self.step(move)
        return keep_inside(self._model, move.coords, ahead)


def ascend(task: Task, begin: Array, *, tolerance: float, most: int) -> Ascent:
    """Iterate from `begin` until the Newton decrement, in nats, is at most `tolerance`.

    Where it does not get there, the best point that it saw is returned.
    """
    data, model = task.data, task.model
    coords, course, far, damping = begin, Course(model, task.held), True, 1.0
    reading, nodes = first_reading(task, begin)
    last: Move | None = None
    best: tuple[Move, Nodes, Expectation] | None = None
    for iteration in range(1, most + 1):
        found = task.expect(reading, coords, nodes)
        move = task.propose(reading, coords, found)
        if best is None or move.log_posterior > best[0].log_posterior:
            best = move, nodes, found
        tell_iteration(task.progress, task.before + iteration, found.log_likelihood, move.decrement)
        if last is not None and _went_wrong(last, move):
            damping /= 2
            course.forget()
            coords = course.step(last, damping)
            continue
        arrived = move.decrement <= tolerance and reading is data
        blurred = (
            iteration % LOOK == 0 and move.decrement > NEAR and too_coarse(task, coords, nodes)
        )
        if arrived or blurred or (far and is_near(model, move, last, NEAR)):
            far = False
            better = replan_nodes(task, coords, nodes, found)
            if better is not nodes:  # what was seen on the old nodes does not compare
                nodes, last, best = better, None, None
                course.forget()
                coords = course.step(move)
                continue
            if arrived:
                return task.ended(move, nodes, found, iteration, converged=True)
        if reading is not data and is_near(model, move, last, NEARLY_THERE):
            reading, best = data, None
        damping, last = 1.0, move
        if course.strays(move) and best is not None:
            last, coords = None, course.step(best[0])
        else:
            coords = course.onward(move)
    top, nodes, found = best or (move, nodes, found)
    if reading is not data:
        found = task.expect(data, top.coords, nodes)
    return task.ended(top, nodes, found, most, converged=False)


def first_reading(task: Task, coords: Array) -> tuple[Encoded, Nodes]:
    """How to look at the responses while the way is long.

    Single precision and fewer nodes halve the cost of matrix products; where a score is
    sufficient there are none.
    """
    if task.model.linear and task.data.complete:
        return task.data, task.plan(coords)
    return task.data.in_single(), task.plan(coords, coarsening=COARSENING)


def is_near(model: MeasurementModel, move: Move, last: Move | None, gain: float) -> bool:
    """Whether little more than `gain` is left, or the present means gain no more."""
    little = gain * (1 + 1e-3 * move.coords.shape[0] * model.width)
    return move.decrement < little or (last is not None and move.decrement > last.decrement)


def propose(
    data: Encoded, model: MeasurementModel, coords: Array, found: Expectation, run: Run = map
) -> Move:
    """The step of one iteration."""
    xp = array_namespace(coords)
    pull, stiffness = penalty_slopes(model, coords)
    directions = tangents(model, coords)
    tilt = -once_only(model, directions, pull, add_diagonal(found.expected, stiffness))
    information = add_diagonal(safe_information(found.observed, found.expected), stiffness)
    slopes = hold(model, coords, Slopes(found.gradient + pull + tilt, information))
    step = newton_step(model, slopes)
    gains = 0.5 * xp.sum(slopes.gradient * step, axis=1)
    n_respondents = float(xp.sum(data.weights))
    sure = n_respondents >= MANY and all(c.prior is not None for c in model.coordinates)
    on_top = sure and float(xp.sum(gains)) < NEAR
    if found.tables is not None and not (on_top or model.shared.any()):
        step = _climb(model, coords, step, gains, found.tables, tilt, run) - coords
    common, gain = 0 * step, 0.0
    if model.affine:
        known = found.scale + prior_information(model, directions, stiffness)
        common, gain = scale_step(directions, slopes.gradient, slopes.information, known)
    return Move(
        coords,
        shorten(model, step + common),
        float(xp.sum(gains)) + gain,
        xp.linalg.diagonal(slopes.information),
        found.log_likelihood,
        found.log_likelihood + float(xp.sum(log_penalty(model, coords))),
    )


def propose_beside(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    found: Expectation,
    held: Held,
    run: Run = map,
) -> Move:
    """The step of one iteration where some items are held: free items, and the population.

    Moving the population is moving all items the other way; priors of items do not affect it.
    """
    xp = array_namespace(coords)
    free = like(held.free(model), coords)
    pull, stiffness = held.penalty_slopes(model, coords)
    information = add_diagonal(safe_information(found.observed, found.expected), stiffness)
    slopes = hold(model, coords, Slopes(found.gradient + pull, information))
    slopes = take_out(slopes, free == 0)
    step = newton_step(model, slopes)
    gains = 0.5 * xp.sum(slopes.gradient * step, axis=1)
    items = xp.astype(like(np.flatnonzero(~held.mask), coords), xp.int64)
    if found.tables is not None and items.shape[0] and not model.shared.any():
        here, own = coords[items], of_items(found.tables, items)
        ahead = _climb(model, here, step[items], gains[items], own, 0 * here, run)
        step[items] = ahead - here
    opinion = float(xp.sum(log_penalty(model, coords[items]))) if items.shape[0] else 0.0
    together, gain = _population_step(model, coords, found, held, float(xp.sum(data.weights)))
    return Move(
        coords,
        shorten(model, step) + together,
        float(xp.sum(gains)) + gain,
        xp.linalg.diagonal(information),
        found.log_likelihood,
        found.log_likelihood + opinion,
    )


def _population_step(
    model: MeasurementModel, coords: Array, found: Expectation, held: Held, n_respondents: float
) -> tuple[Array, float]:
    """A Newton step of the population's mean and sd beside held items, and its gain."""
    xp = array_namespace(coords)
    flat = xp.reshape(tangents(model, coords), (2, -1))
    pull, stiffness = held.population_pull(model, coords)
    along = as_numpy(flat @ xp.reshape(found.gradient, (-1,))) + pull
    known = found.scale + np.diag(stiffness)
    if np.linalg.eigvalsh(known)[0] < VAGUE * n_respondents:  # no guide; as if abilities were seen
        known = n_respondents * np.diag([1.0, 2.0]) + np.diag(stiffness)
    step = np.linalg.solve(known, along)
    gain = max(0.0, 0.5 * float(along @ step))
    step = np.clip(step, -LONGEST_MOVE, LONGEST_MOVE)
    return xp.reshape(like(step, coords) @ flat, coords.shape), gain


def _climb(
    model: MeasurementModel,
    coords: Array,
    step: Array,
    gains: Array,
    tables: Tables,
    tilt: Array,
    run: Run,
) -> Array:
    """Every item by itself, in blocks."""

    def climb(items: slice) -> tuple[Array]:
        own = of_items(tables, items)
        return (climb_items(model, coords[items], step[items], gains[items], own, tilt[items]),)

    (found,) = by_items(run, coords, tables[0].shape[0], climb)
    return found


def too_coarse(task: Task, coords: Array, nodes: Nodes) -> bool:
    """Whether items have become so steep that most of what is seen on these nodes is noise."""
    return task.plan(coords, (float(nodes.fine[0]), float(nodes.fine[-1]))).step < nodes.step / 2


def replan_nodes(task: Task, coords: Array, nodes: Nodes, found: Expectation) -> Nodes:
    """`nodes` again where they still serve, else finer or wider ones."""
    low, high = float(nodes.fine[0]), float(nodes.fine[-1])
    wider_low = low - WIDENING * (found.edges[0] > EDGE_MASS)
    wider_high = high + WIDENING * (found.edges[1] > EDGE_MASS)
    better = task.plan(coords, (wider_low, wider_high))
    wide_enough = (wider_low, wider_high) == (low, high)
    fine_enough = better.step > 0.9 * nodes.step and better.coarse.size < 1.1 * nodes.coarse.size
    return nodes if wide_enough and fine_enough else better


def _went_wrong(last: Move, move: Move) -> bool:
    """Likelihood fell and the way to go grew: either may happen on a good way, not both."""
    fell = not move.log_likelihood > last.log_likelihood - 1.0
    return fell and not move.decrement < 2 * last.decrement
