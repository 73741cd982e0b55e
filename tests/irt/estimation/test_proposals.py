"""Where a fit goes next: places, steps and regions, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.acceleration import (
    MOST_TRIES,
    STALL,
    STEPS_THROUGH,
    Course,
    Move,
    Place,
    survey,
    weakest,
)
from ogive.irt.estimation.em_state import Task, first_reading, replan_nodes, too_coarse
from ogive.irt.estimation.trust_region import Leap, Region, leap
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import plan_nodes

MODEL = TwoPL()
COORDS = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0]])


@pytest.fixture(scope="module")
def task():
    items = {"discrimination": [1.1, 0.7, 1.6], "difficulty": [0.0, 0.5, -0.5]}
    cells = simulate("2pl", 200, items=items, missing=0.1, random_state=1).responses.cells
    return Task(encode(cells, MODEL), MODEL)


@pytest.fixture(scope="module")
def place(task):
    return task.stand(task.data, COORDS, plan_nodes(MODEL, COORDS))


def at(value, tilt, coords):
    nothing = np.zeros_like(coords)
    return Place(coords, None, value, tilt, nothing, None, nothing)


def test_work_is_the_difference_of_values_and_the_trapezoid_of_the_tilt():
    one = at(-10.0, np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]]))
    two = at(-7.0, np.array([[3.0, 4.0]]), np.array([[0.5, -1.0]]))
    assert one.work(two) == pytest.approx(3.0 + 2 * 0.5 - 3 * 1.0)
    assert two.work(one) == pytest.approx(-one.work(two))
    data = SimpleNamespace(single=False, n_respondents=10.0)
    assert one.rounding(data) == pytest.approx(1e-12 * 10 + 1e-9 * 10)
    assert one.rounding(SimpleNamespace(single=True, n_respondents=10.0)) == pytest.approx(
        1e-7 * 10 + 1e-9 * 10
    )


def test_the_slope_at_a_place_is_that_of_likelihood_and_priors(task, place):
    from ogive.irt.estimation.m_step import log_penalty, once_only, penalty_slopes, tangents

    pull, stiffness = penalty_slopes(MODEL, COORDS)
    value = place.found.log_likelihood + log_penalty(MODEL, COORDS).sum()
    assert place.value == pytest.approx(value)
    metric = place.found.expected + np.stack([np.diag(row) for row in stiffness])
    back = once_only(MODEL, tangents(MODEL, COORDS), pull, metric)
    np.testing.assert_allclose(place.tilt, -back)
    np.testing.assert_allclose(place.slopes.gradient, place.found.gradient + pull - back)
    frozen = np.zeros((3, 2), dtype=bool)
    frozen[1, 0] = True
    held = survey(MODEL, COORDS, place.found, frozen=frozen)
    assert held.slopes.gradient[1, 0] == 0.0
    assert held.fixed.tolist() == frozen.tolist()


def test_what_costs_less_than_a_hundredth_of_a_nat_is_hardly_determined(place):
    longest = np.array([min(c.longest, 2.0) for c in MODEL.coordinates])

    def of(sizes):
        information = np.stack([np.diag(row) / longest**2 for row in sizes])
        slopes = replace(place.slopes, information=information)
        return weakest(MODEL, replace(place, slopes=slopes, fixed=np.zeros((3, 2), dtype=bool)))

    items, mask = of([[1.0, 0.0199], [0.0201, 0.0201], [0.001, 5.0]])
    assert items.tolist() == [True, False, True]
    assert mask.tolist() == [[False, True], [False, False], [True, False]]


def move(place, left=1.0):
    one = np.ones((3, 2))
    return Move(place, 0.1 * one, 0.2 * one, 0.4 * one, np.ones(3), left, one)


def test_after_a_loss_steps_become_shorter_until_none_is_left(place):
    course, given = Course(MODEL), move(place)
    steps = []
    while (ahead := course.back(given)) is not None:
        steps.append(ahead[0, 1] - COORDS[0, 1])
    assert len(steps) == MOST_TRIES == 12
    np.testing.assert_allclose(steps[:5], [0.1, 0.2, 0.4, 0.2, 0.1])
    assert steps[-1] == pytest.approx(0.4 * 0.5**9)
    np.testing.assert_allclose(course.onward(given), COORDS + 0.1)  # and it begins again
    np.testing.assert_allclose(course.back(given), COORDS + 0.1)


def test_after_a_stall_plain_steps_go_on(place):
    course = Course(MODEL)
    for count in range(STALL):
        course.onward(move(place, 5e-4))
        assert course._plain == 0, count
    course.onward(move(place, 5e-4))
    assert course._plain == STEPS_THROUGH - 1 == 39
    np.testing.assert_allclose(course.onward(move(place, 5e-4)), COORDS + 0.1)
    busy = Course(MODEL)
    for _ in range(2 * STALL):
        busy.onward(move(place, 2e-3))  # not next to nothing
    assert busy._plain == 0
    falling = Course(MODEL)
    for k in range(2 * STALL):
        falling.onward(move(place, 5e-4 * 0.49 ** (k // 10)))  # halved now and then
    assert falling._plain == 0


def test_a_region_learns_how_far_promises_were_kept():
    for kept, length, wanted in (
        (0.2, 2.0, 0.25 * 2.0),
        (0.2, 9.0, 0.25 * 3.0),
        (0.2, 0.0, 0.25e-5),
        (0.3, 2.0, 3.0),
        (0.7, 2.0, 3.0),
        (0.8, 2.0, 4.0),
        (0.8, 1.0, 3.0),
    ):
        region = Region(3.0)
        region.learn(Leap(COORDS, 4.0, length, True), 4.0 * kept)
        assert region.radius == pytest.approx(wanted)
    region = Region(3.0)
    region.learn(Leap(COORDS, -1.0, 2.0, True), -9.0)
    assert region.radius == pytest.approx(0.5)


def test_a_leap_of_all_items_is_newtons_step_within_its_region(task, place):
    nodes = plan_nodes(MODEL, COORDS)
    bend = task.bend(place, nodes)
    matrix = np.stack([bend.times(v).reshape(-1) for v in np.eye(6).reshape(6, 3, 2)])
    far = leap(MODEL, place, bend, 1e6)
    taken = (far.ahead - COORDS).reshape(-1)
    left = place.slopes.gradient.reshape(-1) - matrix @ taken
    assert np.abs(left).max() < 0.1 * np.abs(place.slopes.gradient).max()
    gain = taken @ place.slopes.gradient.reshape(-1) - 0.5 * taken @ matrix @ taken
    assert far.gain == pytest.approx(gain)
    assert far.newton
    near = leap(MODEL, place, bend, 0.1)
    assert near.length == pytest.approx(0.1)
    assert not near.newton
    assert 0 < near.gain < far.gain


def test_nodes_stay_where_they_serve_and_grow_where_mass_lies_at_an_end(task):
    nodes = plan_nodes(MODEL, COORDS)
    low, high = nodes.fine[0], nodes.fine[-1]

    def again(edges, coords=COORDS):
        return replan_nodes(task, coords, nodes, SimpleNamespace(edges=edges))

    assert again((0.0, 0.0)) is nodes
    assert again((9e-7, 9e-7)) is nodes
    left = again((2e-6, 0.0))
    assert (left.fine[0], left.fine[-1]) == pytest.approx((low - 1.5, high))
    right = again((0.0, 2e-6))
    assert (right.fine[0], right.fine[-1]) == pytest.approx((low, high + 1.5))
    steep = COORDS * [20, 1]
    assert again((0.0, 0.0), steep).step < 0.9 * nodes.step
    assert too_coarse(task, steep, nodes)
    assert not too_coarse(task, COORDS, nodes)
    reading, coarser = first_reading(task, COORDS)
    assert reading.single
    assert coarser.step > nodes.step
