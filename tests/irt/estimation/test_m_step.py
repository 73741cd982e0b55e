"""The M-step, part by part: by hand, by differences and by a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive.irt.estimation.m_step import (
    NewtonSystem,
    active_bounds,
    bounded_step,
    drop_coordinates,
    item_system,
    item_values,
    keep_inside,
    log_prior,
    maximize_items,
    prior_derivatives,
    shorten,
    solve_items,
)
from ogive.irt.models.logistic import FourPL, OnePL, ThreePL, TwoPL

COORDS = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0], [-0.7, 0.0]])
ABILITIES = np.linspace(-3, 3, 13)


def positive(n, width, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, width, width + 2))
    return root @ root.swapaxes(1, 2)


def tables(n_items, seed=0):
    """Counts of right responses, and totals, at each ability."""
    totals = np.random.default_rng(seed).uniform(1, 9, (n_items, ABILITIES.size))
    right = totals / (1 + np.exp(-ABILITIES + np.arange(n_items)[:, None] / 2))
    return ABILITIES, right[None], totals


def test_priors_are_summed_over_coordinates_and_a_shared_one_over_items():
    model = ThreePL()
    coords = model.from_parameters(
        {
            "discrimination": np.array([1.0, 0.6]),
            "difficulty": np.array([0.3, -1.0]),
            "guessing": np.array([0.1, 0.25]),
        }
    )
    priors = [c.prior for c in model.coordinates]
    wanted = sum(p.log_density(coords[:, k]) for k, p in enumerate(priors) if p is not None)
    np.testing.assert_allclose(log_prior(model, coords), wanted)
    pull, stiffness = prior_derivatives(model, coords)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-4
        up, here, down = (log_prior(model, coords + s * step) for s in (1, 0, -1))
        np.testing.assert_allclose(pull[:, k], (up - down) / 2e-4, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(stiffness[:, k], -(up - 2 * here + down) / 1e-8, atol=1e-3)
    rasch = OnePL()
    same = np.array([[1.3, 0.2], [1.3, -0.4], [1.3, 1.0]])
    shared = [
        c.prior.log_density(same[:1, 0])[0] for c in rasch.coordinates if c.shared and c.prior
    ]
    own = [c.prior.log_density(same[:, 1]).sum() for c in rasch.coordinates[1:] if c.prior]
    assert log_prior(rasch, same).sum() == pytest.approx(sum(shared) + sum(own))


def test_what_presses_against_a_bound_is_taken_out_and_what_leaves_it_is_not():
    model = ThreePL()
    low, high = model.coordinates[2].low, model.coordinates[2].high
    coords = np.array([[1, 0, low], [1, 0, low], [1, 0, high], [1, 0, high], [1, 0, 0.2]], float)
    gradient = np.array([[1, 1, g] for g in (-1.0, 1.0, 1.0, -1.0, 1.0)])
    held = active_bounds(model, coords, gradient)
    assert held[:, 2].tolist() == [True, False, True, False, False]
    assert not held[:, :2].any()
    rasch = OnePL()
    edge = rasch.coordinates[0].high
    pulls = np.array([[5.0, 0.0], [-4.0, 0.0], [0.5, 0.0]])  # a shared number goes with their sum
    same = np.array([[edge, 0.0], [edge, 1.0], [edge, 2.0]])
    assert active_bounds(rasch, same, pulls).tolist() == [[True, False]] * 3
    assert not active_bounds(rasch, same, -pulls).any()
    slopes = NewtonSystem(gradient, positive(5, 3))
    out = drop_coordinates(slopes, held)
    assert out.gradient[:, 2].tolist() == [0.0, 1.0, 0.0, -1.0, 1.0]
    np.testing.assert_array_equal(out.information[0, 2], [0, 0, 1])
    np.testing.assert_array_equal(out.information[0, :, 2], [0, 0, 1])
    np.testing.assert_array_equal(out.information[1], slopes.information[1])
    np.testing.assert_array_equal(out.information[0, :2, :2], slopes.information[0, :2, :2])
    assert drop_coordinates(slopes, np.zeros((5, 3), dtype=bool)) is slopes


def test_newtons_step_solves_the_system_and_damping_adds_to_its_diagonal():
    model, information = TwoPL(), positive(4, 2)
    gradient = np.random.default_rng(10).normal(size=(4, 2))
    step = solve_items(model, NewtonSystem(gradient, information))
    for k in range(4):
        np.testing.assert_allclose(information[k] @ step[k], gradient[k], atol=1e-6)
    damped = solve_items(model, NewtonSystem(gradient, information), np.full((4, 1), 2.0))
    for k in range(4):
        heavier = information[k] + 2 * np.diag(np.diag(information[k]))
        np.testing.assert_allclose(heavier @ damped[k], gradient[k], atol=1e-6)
    flat = solve_items(model, NewtonSystem(np.full((1, 2), 1e-13), np.zeros((1, 2, 2))))
    np.testing.assert_allclose(flat, 0.1)


def test_a_step_within_bounds_is_that_of_a_quadratic_programme_of_one_bound():
    model = ThreePL()
    top = model.coordinates[2].high
    coords = np.array([[1.0, 0.0, top - 0.01], [1.0, 0.0, 0.2]])
    information = positive(2, 3, seed=4)
    gradient = information @ np.array([0.01, -0.01, 0.05])
    step, gain = bounded_step(model, coords, NewtonSystem(gradient, information))
    free = np.linalg.solve(information[0, :2, :2], gradient[0, :2] - information[0, :2, 2] * 0.01)
    np.testing.assert_allclose(step[0], [*free, 0.01], atol=1e-6)
    np.testing.assert_allclose(step[1], [0.01, -0.01, 0.05], atol=1e-6)
    for k in range(2):
        wanted = gradient[k] @ step[k] - 0.5 * step[k] @ information[k] @ step[k]
        assert gain[k] == pytest.approx(wanted)


def test_steps_are_shortened_to_the_longest_allowed_each_item_by_itself():
    model = TwoPL()
    longest = np.array([c.longest for c in model.coordinates])
    step = np.stack([2 * longest, 0.5 * longest, [0.1, -4 * longest[1]]])
    found = shorten(model, step)
    np.testing.assert_allclose(found[0], longest)
    np.testing.assert_array_equal(found[1], step[1])
    np.testing.assert_allclose(found[2], step[2] / 4)
    rasch = OnePL()
    together = shorten(rasch, np.array([[0.0, 3 * rasch.coordinates[1].longest], [0.0, 0.3]]))
    np.testing.assert_allclose(together[1], [0.0, 0.1])


def test_bounded_coordinates_go_two_thirds_of_the_way_to_a_bound_at_most():
    model = FourPL()
    guessing = model.coordinates[2]
    low, high = guessing.low, guessing.high
    old = np.array([[1.0, 0.0, 0.2, 0.1]] * 4)
    new = old.copy()
    new[:, 2] = [low - 1.0, high + 1.0, 0.21, 0.2 * 0.3]
    new[:, 0] = [50.0, -50.0, 1.0, 1.0]
    found = keep_inside(model, old, new)
    np.testing.assert_allclose(found[0, 2], low + 0.3 * (0.2 - low))
    np.testing.assert_allclose(found[1, 2], high - 0.3 * (high - 0.2))
    np.testing.assert_allclose(found[2:, 2], [0.21, max(0.06, low + 0.3 * (0.2 - low))])
    slope = model.coordinates[0]
    ends = [slope.high - 0.3 * (slope.high - 1), slope.low + 0.3 * (1 - slope.low), 1, 1]
    np.testing.assert_allclose(found[:, 0], ends)
    near = np.array([[1.0, 0.0, high - 0.9e-5 * (high - low), 0.1]])
    assert keep_inside(model, near, near)[0, 2] == high
    off = np.array([[1.0, 0.0, high - 1.1e-5 * (high - low), 0.1]])
    assert keep_inside(model, off, off)[0, 2] == off[0, 2]


def test_what_an_item_climbs_is_its_expected_log_likelihood_and_its_prior():
    model, given = TwoPL(), tables(4)
    tilt = np.random.default_rng(11).normal(size=(4, 2))
    chance = 1 / (1 + np.exp(-(COORDS[:, :1] * ABILITIES + COORDS[:, 1:])))
    right, totals = given[1][0], given[2]
    likelihood = (right * np.log(chance) + (totals - right) * np.log(1 - chance)).sum(axis=1)
    wanted = likelihood + log_prior(model, COORDS) + (tilt * COORDS).sum(axis=1)
    np.testing.assert_allclose(item_values(model, COORDS, given, tilt), wanted)
    slopes = item_system(model, COORDS, given, tilt)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-5
        up, down = (item_values(model, COORDS + s * step, given, tilt) for s in (1, -1))
        np.testing.assert_allclose(slopes.gradient[:, k], (up - down) / 2e-5, rtol=1e-5, atol=1e-5)


def test_items_climb_to_where_a_general_optimiser_ends():
    model, given = TwoPL(), tables(4, seed=2)
    tilt = np.zeros((4, 2))
    coords = np.tile([1.0, 0.0], (4, 1))
    for _ in range(3):
        step, gain = bounded_step(model, coords, item_system(model, coords, given, tilt))
        coords = maximize_items(model, coords, step, gain, given, tilt)
    for k in range(4):
        own = given[0], given[1][:, [k]], given[2][[k]]
        best = minimize(
            lambda x, own=own: -item_values(model, x[None], own, tilt[:1])[0], [1.0, 0.0], tol=1e-10
        )
        np.testing.assert_allclose(coords[k], best.x, atol=1e-4)


def test_an_item_takes_newtons_steps_until_the_next_gains_a_thousandth_of_the_first():
    model, given, tilt = TwoPL(), tables(4, seed=2), np.zeros((4, 2))
    start = np.tile([1.0, 0.0], (4, 1))
    first, gain = bounded_step(model, start, item_system(model, start, given, tilt))
    found = maximize_items(model, start, first, gain, given, tilt)
    turns = []
    for k in range(4):
        own = given[0], given[1][:, [k]], given[2][[k]]
        here, step, left = start[[k]], first[[k]], np.inf
        turns.append(0)
        while left > 1e-3 * gain[k]:
            here = here + step
            slopes = item_system(model, here, own, tilt[:1])
            step = solve_items(model, slopes, np.zeros((1, 1)))
            left = 0.5 * (slopes.gradient * step).sum()
            turns[-1] += 1
        np.testing.assert_allclose(found[[k]], here, rtol=1e-9)
    assert max(turns) >= 2
