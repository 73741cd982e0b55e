"""The objective at an iterate, proposed steps, and the trust region, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import trust_region
from ogive.irt.estimation.acceleration import (
    MAX_BACKTRACKS,
    PLAIN_ITER,
    STALL_ITER,
    NewtonStep,
    StepController,
)
from ogive.irt.estimation.latent_scale import count_priors_once
from ogive.irt.estimation.m_step import log_prior, prior_derivatives
from ogive.irt.estimation.objective import (
    Iterate,
    Problem,
    evaluate_objective,
    undetermined_items,
)
from ogive.irt.estimation.trust_region import (
    Hessian,
    TrustRegionStep,
    trust_region_step,
    updated_radius,
)
from ogive.irt.models import with_priors
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import plan_nodes

MODEL = TwoPL()
COORDS = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0]])
NODES = plan_nodes(MODEL, COORDS)


@pytest.fixture(scope="module")
def problem():
    items = {"discrimination": [1.1, 0.7, 1.6], "difficulty": [0.0, 0.5, -0.5]}
    cells = simulate("2pl", 200, items=items, missing=0.1, random_state=1).responses.cells
    return Problem(encode(cells, MODEL), MODEL)


@pytest.fixture(scope="module")
def iterate(problem):
    return problem.evaluate(problem.data, COORDS, NODES)


def at(value, correction, coords):
    nothing = np.zeros_like(coords)
    return Iterate(coords, None, value, correction, nothing, None, nothing)


def test_gain_is_the_difference_of_values_and_the_trapezoid_of_the_correction():
    one = at(-10.0, np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]]))
    two = at(-7.0, np.array([[3.0, 4.0]]), np.array([[0.5, -1.0]]))
    assert one.gain(two) == pytest.approx(3.0 + 2 * 0.5 - 3 * 1.0)
    assert two.gain(one) == pytest.approx(-one.gain(two))
    for single, relative in ((False, 1e-12), (True, 1e-7)):
        data = SimpleNamespace(single=single, n_respondents=10.0)
        assert one.rounding(data) == pytest.approx(relative * 10 + 1e-9 * 10)


def test_the_gradient_is_that_of_likelihood_and_priors_which_count_once(iterate):
    prior_grad, curvature = prior_derivatives(MODEL, COORDS)
    expectation = iterate.expectation
    value = expectation.log_likelihood + log_prior(MODEL, COORDS).sum()
    assert iterate.value == pytest.approx(value)
    metric = expectation.expected + np.stack([np.diag(row) for row in curvature])
    back = count_priors_once(MODEL, MODEL.scale_directions(COORDS), prior_grad, metric)
    np.testing.assert_allclose(iterate.prior_grad_correction, -back)
    np.testing.assert_allclose(iterate.system.gradient, expectation.gradient + prior_grad - back)
    frozen = np.zeros((3, 2), dtype=bool)
    frozen[1, 0] = True
    partly = evaluate_objective(MODEL, COORDS, expectation, frozen=frozen)
    assert partly.system.gradient[1, 0] == 0.0
    assert partly.fixed.tolist() == frozen.tolist()


def test_what_costs_less_than_a_hundredth_of_a_nat_is_undetermined(iterate):
    longest = np.array([min(c.longest, 2.0) for c in MODEL.coordinates])
    sizes = [[1.0, 0.0199], [0.0201, 0.0201], [0.001, 5.0]]
    information = np.stack([np.diag(row) / longest**2 for row in sizes])
    system = replace(iterate.system, information=information)
    nothing = np.zeros((3, 2), dtype=bool)
    items, mask = undetermined_items(MODEL, replace(iterate, system=system, fixed=nothing))
    assert items.tolist() == [True, False, True]
    assert mask.tolist() == [[False, True], [False, False], [True, False]]


def test_nodes_stay_if_they_suit_and_grow_if_mass_lies_at_an_end(problem, iterate):
    low, high = NODES.fine[0], NODES.fine[-1]

    def replanned(edges, coords=COORDS):
        expectation = replace(iterate.expectation, edges=edges)
        return problem.replan_nodes(replace(iterate, coords=coords, expectation=expectation), NODES)

    assert replanned((0.0, 0.0)) is NODES
    assert replanned((9e-7, 9e-7)) is NODES
    for edges, ends in (((2e-6, 0.0), (low - 1.5, high)), ((0.0, 2e-6), (low, high + 1.5))):
        nodes = replanned(edges)
        assert (nodes.fine[0], nodes.fine[-1]) == pytest.approx(ends)
    steep = COORDS * [20, 1]
    assert replanned((0.0, 0.0), steep).step < 0.9 * NODES.step
    assert problem.nodes_too_coarse(steep, NODES)
    assert not problem.nodes_too_coarse(COORDS, NODES)
    data, coarser = problem.first_nodes(COORDS)
    assert data.single
    assert coarser.step > NODES.step


def step_of(iterate, decrement=1.0):
    one = np.ones((3, 2))
    return NewtonStep(iterate, 0.1 * one, 0.2 * one, 0.4 * one, np.ones(3), decrement, one)


def test_after_a_loss_steps_become_shorter_until_none_is_left(iterate):
    controller, step = StepController(MODEL), step_of(iterate)
    moves = []
    while (coords := controller.backtrack(step)) is not None:
        moves.append(coords[0, 1] - COORDS[0, 1])
    assert len(moves) == MAX_BACKTRACKS == 12
    np.testing.assert_allclose(moves[:5], [0.1, 0.2, 0.4, 0.2, 0.1])
    assert moves[-1] == pytest.approx(0.4 * 0.5**9)
    np.testing.assert_allclose(controller.advance(step), COORDS + 0.1)  # and it begins again
    np.testing.assert_allclose(controller.backtrack(step), COORDS + 0.1)


def test_after_a_stall_plain_steps_go_on(iterate):
    controller = StepController(MODEL)
    for _ in range(STALL_ITER):
        controller.advance(step_of(iterate, 5e-4))
        assert controller._plain == 0
    controller.advance(step_of(iterate, 5e-4))
    assert controller._plain == PLAIN_ITER - 1 == 39
    np.testing.assert_allclose(controller.advance(step_of(iterate, 5e-4)), COORDS + 0.1)
    # No stall: much is left to gain, or the decrement is halved now and then.
    for decrements in (np.full(30, 2e-3), 5e-4 * 0.49 ** (np.arange(30) // 10)):
        moving = StepController(MODEL)
        for decrement in decrements:
            moving.advance(step_of(iterate, decrement))
        assert moving._plain == 0


def test_the_radius_follows_the_ratio_of_actual_to_predicted_gain():
    for ratio, length, wanted in (
        (0.2, 2.0, 0.25 * 2.0),
        (0.2, 9.0, 0.25 * 3.0),
        (0.2, 0.0, 0.25e-5),
        (0.3, 2.0, 3.0),
        (0.7, 2.0, 3.0),
        (0.8, 2.0, 4.0),
        (0.8, 1.0, 3.0),
    ):
        step = TrustRegionStep(COORDS, 4.0, length, True)
        assert updated_radius(3.0, step, 4.0 * ratio) == pytest.approx(wanted)
    assert updated_radius(3.0, TrustRegionStep(COORDS, -1.0, 2.0, True), -9.0) == 0.5


def test_a_step_of_all_items_is_newtons_within_the_radius(problem, iterate):
    hessian = Hessian(problem, iterate, NODES)
    gradient = iterate.system.gradient.reshape(-1)
    matrix = np.stack([hessian.times(v).reshape(-1) for v in np.eye(6).reshape(6, 3, 2)])
    whole = trust_region_step(MODEL, iterate, hessian, 1e6)
    taken = (whole.coords - COORDS).reshape(-1)
    assert np.abs(gradient - matrix @ taken).max() < 0.1 * np.abs(gradient).max()
    assert whole.gain == pytest.approx(taken @ gradient - 0.5 * taken @ matrix @ taken)
    assert whole.newton
    near = trust_region_step(MODEL, iterate, hessian, 0.1)
    assert near.length == pytest.approx(0.1)
    assert not near.newton
    assert 0 < near.gain < whole.gain


def test_hessian_products_are_differences_of_gradients_in_each_way(problem, monkeypatch):
    bare = with_priors(MODEL, None)
    problem = replace(problem, model=bare)
    iterate = problem.evaluate(problem.data, COORDS, NODES)

    def gradient(flat):
        coords = flat.reshape(COORDS.shape)
        return problem.expect(problem.data, coords, NODES).gradient.reshape(-1)

    x, h = COORDS.reshape(-1), 1e-5
    wanted = np.stack([gradient(x - h * e) - gradient(x + h * e) for e in np.eye(6)]) / (2 * h)
    vector = np.random.default_rng(10).normal(size=(3, 2))
    by_differences = trust_region._differenced_gradient(problem, iterate, NODES)
    assert not by_differences(0 * vector).any()
    products = [Hessian(problem, iterate, NODES).times(vector), by_differences(vector)]
    for name in ("MAX_WORK", "MAX_KEPT", "MAX_EXACT_WORK"):
        with monkeypatch.context() as patch:
            patch.setattr(trust_region, name, 0)
            products.append(Hessian(problem, iterate, NODES).times(vector))
    for product in products:
        size = np.abs(wanted @ vector.reshape(-1)).max()
        np.testing.assert_allclose(
            product.reshape(-1), wanted @ vector.reshape(-1), atol=5e-3 * size
        )


def test_priors_add_to_the_hessian_and_count_once_along_the_scale(problem, iterate):
    plain = replace(problem, model=with_priors(MODEL, None))
    bare = plain.evaluate(plain.data, COORDS, NODES)
    both = Hessian(problem, iterate, NODES), Hessian(plain, bare, NODES)
    prior = np.stack(
        [(both[0].times(v) - both[1].times(v)).reshape(-1) for v in np.eye(6).reshape(6, 3, 2)]
    )
    np.testing.assert_allclose(prior, prior.T, atol=1e-9)
    curvature, metric = iterate.prior_curvature, np.zeros((6, 6))
    for k in range(3):
        own = slice(2 * k, 2 * k + 2)
        metric[own, own] = iterate.expectation.expected[k] + np.diag(curvature[k])
    directions = MODEL.scale_directions(COORDS).reshape(2, -1)
    along = np.linalg.solve(directions @ metric @ directions.T, directions @ metric)
    left = np.eye(6) - (1 - 1 / 3) * directions.T @ along
    wanted = left.T @ np.diag(curvature.reshape(-1)) @ left
    np.testing.assert_allclose(prior, wanted, atol=1e-6)
    in_full = replace(problem, priors_in_full=True)
    iterate = in_full.evaluate(in_full.data, COORDS, NODES)
    vector = np.random.default_rng(1).normal(size=COORDS.shape)
    product = Hessian(in_full, iterate, NODES).times(vector) - both[1].times(vector)
    np.testing.assert_allclose(product, curvature * vector, atol=1e-6)
