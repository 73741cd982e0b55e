"""The end of a climb where iterations item by item are slow: Newton's method on all items at once.

Items that hardly differ from steps or from noise, or that trade one number for another, make EM
creep and mixing go astray. There the whole curvature shows the way: a step within a region in
which it was right before (Steihaug, 1983), with what lies at a bound held there, and along the
bend where the likelihood bends upwards. A step that would lose is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from ogive.irt.estimation.acceleration import Course, Move, Place, weakest
from ogive.irt.estimation.curvature import WholeCurvature
from ogive.irt.estimation.em_state import Ascent, Task, replan_nodes
from ogive.irt.estimation.m_step import kept_off, take_out
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes
from ogive.stats.array_backend import Array, array_namespace, like
from ogive.stats.newton import Truncated, truncated_newton

MOST_ROUNDS = 10  # in which coordinates that reach a bound are held, and the others move again
MOST_PRODUCTS = 200
FORCING = 0.03  # part of the gradient that a step may leave
FINEST = 1e-3  # the same, after steps that hardly left less: a flat direction has a faint gradient
CREEPING = 0.3  # of what a step gained, from which another that gains as much creeps
SLOW = 20  # steps after which what is hardly determined is held, if they gained
LITTLE = 0.05  # nats at most
CLOSE = 1e-2  # nats: after a smaller gain, the curvature is the same
LEAST_KEPT = 1e-3  # part of its promise that a step must keep
WIDE = 1.0  # root nats: a region in which nothing is left to gain is no rounding error
LEAST_PART = 0.1  # of the way to a bound that a prior keeps off, which is left after a step
FIRST = 3.0  # root nats: a region to begin with
FARTHEST = 5.0  # longest steps of a coordinate at once
SMALLEST = 1e-5  # root nats: in a smaller region there is none but rounding errors


@dataclass(frozen=True, eq=False)
class Leap:
    """A step of all items."""

    ahead: Array
    gain: float  # that it promises
    length: float  # in root nats of the items' own information
    newton: bool  # neither cut off nor shortened


def leap(
    model: MeasurementModel,
    place: Place,
    bend: WholeCurvature,
    radius: float,
    forcing: float = FORCING,
) -> Leap:
    """Return the best step within `radius` that leaves no bound behind."""
    xp = array_namespace(place.coords)
    coords, gradient = place.coords, place.slopes.gradient
    low = like([c.low for c in model.coordinates], coords)
    high = like([c.high for c in model.coordinates], coords)
    far = like([-inf if kept_off(c) else c.low for c in model.coordinates], coords)
    least = xp.where(far < low, coords - (1 - LEAST_PART) * (coords - low), coords)
    fixed, base = place.fixed, 0 * coords
    for _ in range(MOST_ROUNDS):
        found = _newton(place, bend, base, fixed, radius, forcing)
        step = base + found.step
        under, above = coords + step < far, coords + step > high
        over = (under | above) & ~fixed
        if not bool(xp.any(over)):
            break
        base = xp.where(over, xp.where(under, low, high) - coords, base)
        fixed = fixed | over
    excess = xp.abs(step) / like([c.longest for c in model.coordinates], step)
    step = step / max(1.0, float(xp.max(excess)) / FARTHEST)
    ahead = model.bounded(coords + step)
    ahead = xp.where(far < low, xp.maximum(ahead, least), ahead)
    taken = ahead - coords
    gain = float(xp.sum(taken * (gradient - 0.5 * bend.times(taken))))
    newton = found.inside and bool(xp.all(xp.abs(taken - step) <= 1e-9 * (1 + xp.abs(step))))
    return Leap(ahead, gain, found.length, newton)


def _newton(
    place: Place, bend: WholeCurvature, base: Array, fixed: Array, radius: float, forcing: float
) -> Truncated:
    """Return Newton's step from `base`, which lies ahead of the place, without what is `fixed`."""
    free = array_namespace(base).astype(~fixed, base.dtype)

    def times(vector: Array) -> Array:
        return free * bend.times(vector)

    return truncated_newton(
        free * (place.slopes.gradient - bend.times(base)),
        times,
        bend.preconditioner(take_out(place.slopes, fixed), free),
        radius,
        forcing=forcing,
        most=MOST_PRODUCTS,
    )


@dataclass
class Region:
    """How far the curvature at a place can be trusted, learnt from how far it was right."""

    radius: float

    def learn(self, leap: Leap, work: float) -> None:
        """Shrink after a promise that was not kept, grow after one that was."""
        kept = work / leap.gain if leap.gain > 0 else 0.0
        if kept < 0.25:
            self.radius = 0.25 * min(self.radius, max(leap.length, SMALLEST))
        elif kept > 0.75:
            self.radius = max(self.radius, 2 * leap.length)


def climb_whole(
    task: Task, place: Place, nodes: Nodes, count: int, *, tolerance: float, most: int
) -> Ascent:
    """Go on from a place, after `count` iterations, by steps of all items together.

    Where such a step promises nothing or keeps no promise, the items move one by one instead.
    """
    climb = _Climb(task, place, nodes, count)
    while climb.count < most:
        step = climb.leap()
        nothing = abs(step.gain) <= tolerance and (step.newton or climb.region.radius >= WIDE)
        # Curvature may promise what the likelihood does not keep at any distance: rounding errors
        # of a sum of thousands make a flat direction look bent.
        refuted = climb.region.radius < SMALLEST
        if nothing or refuted:
            move = task.propose(task.data, climb.place)
            if move.decrement <= tolerance:
                if climb.plan_nodes():
                    continue
                left = move.decrement if refuted else max(step.gain, move.decrement)
                return climb.ended(left, converged=True)
            if not climb.one_by_one(move, most):
                break
        else:
            climb.together(step)
        if climb.count >= climb.patience:
            climb.freeze()
    left = task.propose(task.data, climb.place).decrement
    return climb.ended(left, converged=False)


class _Climb:
    """Where a climb of all items together stands."""

    def __init__(self, task: Task, place: Place, nodes: Nodes, count: int) -> None:
        self.task, self.count, self._left = task, count, inf
        self.nodes = replan_nodes(task, place.coords, nodes, place.found)
        self.place = self._stand(place.coords)
        self._tell()
        self.region, self.patience, self._mark = Region(FIRST), self.count + SLOW, self.place
        self._bend: WholeCurvature | None = None
        self._forcing = FORCING

    def leap(self) -> Leap:
        """Return the best step within the region."""
        if self._bend is None:
            self._bend = self.task.bend(self.place, self.nodes)
        return leap(self.task.model, self.place, self._bend, self.region.radius, self._forcing)

    def together(self, step: Leap) -> None:
        """Take a step of all items, if it keeps a part of its promise."""
        if step.gain <= 0:
            self.region.learn(step, 0.0)
            return
        creeps = step.newton and step.gain > CREEPING * self._left
        if creeps:
            self._forcing = max(0.1 * self._forcing, FINEST)
        self._left = step.gain
        ahead = self._stand(step.ahead)
        work = self.place.work(ahead)
        self.region.learn(step, work)
        if work >= max(LEAST_KEPT * step.gain, -self.place.rounding(self.task.data)):
            self.place = ahead
        self._tell()
        if self.place is ahead:
            kept = step.gain < CLOSE and work > 0.5 * step.gain
            self._arrive(ahead, same_bend=kept and not creeps)

    def one_by_one(self, move: Move, most: int) -> bool:
        """Take the step of one iteration of EM; whether there is one that does not lose."""
        course = Course(self.task.model, self.task.held)
        self.region = Region(WIDE)
        while self.count < most:
            coords = course.back(move)
            if coords is None:
                return False
            self._left = move.decrement
            ahead = self._stand(coords)
            self._tell()
            if self.place.work(ahead) >= -self.place.rounding(self.task.data):
                self._arrive(ahead)
                return True
        return False

    def freeze(self) -> None:
        """Hold what the responses hardly determine, if many steps gained next to nothing."""
        self.patience += SLOW
        before, self._mark = self._mark, self.place
        loosest = weakest(self.task.model, self.place)[1]
        if before.work(self.place) < LITTLE and bool(loosest.any()):
            frozen = loosest if self.task.frozen is None else loosest | self.task.frozen
            self.task = replace(self.task, frozen=frozen)
            self.place = self.task.again(self.place)

    def plan_nodes(self) -> bool:
        """Plan nodes for the items as they are now; whether others are needed."""
        better = replan_nodes(self.task, self.place.coords, self.nodes, self.place.found)
        if better is self.nodes:
            return False
        self.nodes, self._bend = better, None
        self.place = self._stand(self.place.coords)
        self._tell()
        return True

    def ended(self, left: float, *, converged: bool) -> Ascent:
        """Return the end of the climb."""
        return self.task.ended(self.place, self.nodes, self.count, left, converged=converged)

    def _stand(self, coords: Array) -> Place:
        self.count += 1
        return self.task.stand(self.task.data, coords, self.nodes)

    def _tell(self) -> None:
        """Report the place that was reached, not one that was only tried."""
        self.task.tell(self.count, self.place, self._left)

    def _arrive(self, place: Place, *, same_bend: bool = False) -> None:
        self.place = place
        if not same_bend:
            self._bend = None
        if replan_nodes(self.task, place.coords, self.nodes, place.found) is not self.nodes:
            self.plan_nodes()
