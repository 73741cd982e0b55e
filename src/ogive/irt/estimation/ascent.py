"""Marginal maximum likelihood by an accelerated EM (Bock and Aitkin, 1981).

An iteration is one E-step, one climb of every item, and one exact step along the two
directions that all items share (`scale`). Anderson's mixing over iterations takes what is left.
A step that loses is taken back: what is climbed never falls by more than rounding errors. Where
iterations are many, Newton's method on all items together (`whole_climb`) takes over.
"""

from __future__ import annotations

from math import inf

from ogive.irt.estimation.acceleration import NEAR, Course, Move
from ogive.irt.estimation.em_state import Ascent, Task, first_reading, replan_nodes, too_coarse
from ogive.irt.estimation.multistart import is_loose, look_around
from ogive.irt.estimation.trust_region import climb_whole
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes
from ogive.stats.array_backend import Array

LOOK = 8  # iterations after which, far from the end, nodes are looked at again
NEARLY_THERE = 1e-2  # nats left to gain at which single precision no longer does
PATIENCE = 40  # iterations item by item before all items are looked at together
PATIENCE_NEAR = 8  # the same, where an earlier ascent ended close by


def ascend(
    task: Task, begin: Array, *, tolerance: float, most: int, near: Nodes | None = None
) -> Ascent:
    """Iterate from `begin` until the Newton decrement, in nats, is at most `tolerance`.

    `near` are the nodes of an earlier ascent that ended close by.
    """
    data, model = task.data, task.model
    coords, course, far = begin, Course(model, task.held), near is None
    patience = PATIENCE if far else PATIENCE_NEAR
    reading, nodes = first_reading(task, begin) if near is None else (data, near)
    here: Move | None = None
    last_left = inf
    for iteration in range(1, most + 1):
        place = task.stand(reading, coords, nodes)
        if here is not None and here.place.work(place) < -here.place.rounding(reading):
            task.tell(iteration, here.place, here.decrement)
            ahead = course.back(here)
            if ahead is not None:
                coords = ahead
                continue
            if reading is data:
                return climb_whole(
                    task, here.place, nodes, iteration, tolerance=tolerance, most=most
                )
            reading, coords, here = data, here.coords, None
            continue
        here = task.propose(reading, place)
        task.tell(iteration, place, here.decrement)
        left, growing = here.decrement, here.decrement > last_left
        arrived = left <= tolerance and reading is data
        blurred = iteration % LOOK == 0 and left > NEAR and too_coarse(task, coords, nodes)
        if arrived or blurred or (far and (growing or is_near(model, here, NEAR))):
            far = False
            better = replan_nodes(task, coords, nodes, place.found)
            if better is not nodes:  # what was seen on the old nodes does not compare
                nodes, coords, here, last_left = better, course.step(here), None, inf
                course.forget()
                continue
            if arrived:
                return task.ended(place, nodes, iteration, left, converged=True)
        if iteration >= patience and task.held is None:
            return climb_whole(task, place, nodes, iteration, tolerance=tolerance, most=most)
        if iteration % LOOK == 0 and place.found.tables is not None and is_loose(model):
            coords, _ = look_around(model, coords, place.found.tables, place.tilt, task.run)
            course.forget()
        else:
            coords = course.onward(here)
        if reading is not data and (growing or is_near(model, here, NEARLY_THERE)):
            reading, here = data, None
        last_left = left
    if here is None or reading is not data:
        place = task.stand(data, coords if here is None else here.coords, nodes)
        here = task.propose(data, place)
    return task.ended(here.place, nodes, most, here.decrement, converged=False)


def is_near(model: MeasurementModel, move: Move, gain: float) -> bool:
    """Return True if little more than `gain` is left."""
    numbers = int(move.coords.shape[0]) * model.width
    return move.decrement < gain * (1 + 1e-3 * numbers)
