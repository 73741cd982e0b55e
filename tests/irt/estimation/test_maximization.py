"""The M-step, part by part: by hand, by differences and by a general optimiser."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive.irt.estimation.curvature import WholeCurvature
from ogive.irt.estimation.m_step import (
    Slopes,
    bounded_step,
    climb_items,
    item_slopes,
    item_values,
    keep_inside,
    log_penalty,
    moved_covariances,
    moved_directions,
    newton_step,
    once_only,
    penalty_slopes,
    population_information,
    prior_information,
    scale_step,
    shorten,
    stuck,
    take_out,
    tangents,
)
from ogive.irt.models.logistic import FourPL, OnePL, ThreePL, TwoPL
from ogive.irt.quadrature import NormalPopulation

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
    np.testing.assert_allclose(log_penalty(model, coords), wanted)
    pull, stiffness = penalty_slopes(model, coords)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-4
        up, here, down = (log_penalty(model, coords + s * step) for s in (1, 0, -1))
        np.testing.assert_allclose(pull[:, k], (up - down) / 2e-4, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(stiffness[:, k], -(up - 2 * here + down) / 1e-8, atol=1e-3)
    rasch = OnePL()
    same = np.array([[1.3, 0.2], [1.3, -0.4], [1.3, 1.0]])
    shared = [
        c.prior.log_density(same[:1, 0])[0] for c in rasch.coordinates if c.shared and c.prior
    ]
    own = [c.prior.log_density(same[:, 1]).sum() for c in rasch.coordinates[1:] if c.prior]
    assert log_penalty(rasch, same).sum() == pytest.approx(sum(shared) + sum(own))


def test_what_presses_against_a_bound_is_taken_out_and_what_leaves_it_is_not():
    model = ThreePL()
    low, high = model.coordinates[2].low, model.coordinates[2].high
    coords = np.array([[1, 0, low], [1, 0, low], [1, 0, high], [1, 0, high], [1, 0, 0.2]], float)
    gradient = np.array([[1, 1, g] for g in (-1.0, 1.0, 1.0, -1.0, 1.0)])
    held = stuck(model, coords, gradient)
    assert held[:, 2].tolist() == [True, False, True, False, False]
    assert not held[:, :2].any()
    rasch = OnePL()
    edge = rasch.coordinates[0].high
    pulls = np.array([[5.0, 0.0], [-4.0, 0.0], [0.5, 0.0]])  # a shared number goes with their sum
    same = np.array([[edge, 0.0], [edge, 1.0], [edge, 2.0]])
    assert stuck(rasch, same, pulls).tolist() == [[True, False]] * 3
    assert not stuck(rasch, same, -pulls).any()
    slopes = Slopes(gradient, positive(5, 3))
    out = take_out(slopes, held)
    assert out.gradient[:, 2].tolist() == [0.0, 1.0, 0.0, -1.0, 1.0]
    np.testing.assert_array_equal(out.information[0, 2], [0, 0, 1])
    np.testing.assert_array_equal(out.information[0, :, 2], [0, 0, 1])
    np.testing.assert_array_equal(out.information[1], slopes.information[1])
    np.testing.assert_array_equal(out.information[0, :2, :2], slopes.information[0, :2, :2])
    assert take_out(slopes, np.zeros((5, 3), dtype=bool)) is slopes


def test_newtons_step_solves_the_system_and_damping_adds_to_its_diagonal():
    model, information = TwoPL(), positive(4, 2)
    gradient = np.random.default_rng(10).normal(size=(4, 2))
    step = newton_step(model, Slopes(gradient, information))
    for k in range(4):
        np.testing.assert_allclose(information[k] @ step[k], gradient[k], atol=1e-6)
    damped = newton_step(model, Slopes(gradient, information), np.full((4, 1), 2.0))
    for k in range(4):
        heavier = information[k] + 2 * np.diag(np.diag(information[k]))
        np.testing.assert_allclose(heavier @ damped[k], gradient[k], atol=1e-6)
    flat = newton_step(model, Slopes(np.full((1, 2), 1e-13), np.zeros((1, 2, 2))))
    np.testing.assert_allclose(flat, 0.1)


def test_a_step_within_bounds_is_that_of_a_quadratic_programme_of_one_bound():
    model = ThreePL()
    top = model.coordinates[2].high
    coords = np.array([[1.0, 0.0, top - 0.01], [1.0, 0.0, 0.2]])
    information = positive(2, 3, seed=4)
    gradient = information @ np.array([0.01, -0.01, 0.05])
    step, gain = bounded_step(model, coords, Slopes(gradient, information))
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
    wanted = likelihood + log_penalty(model, COORDS) + (tilt * COORDS).sum(axis=1)
    np.testing.assert_allclose(item_values(model, COORDS, given, tilt), wanted)
    slopes = item_slopes(model, COORDS, given, tilt)
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
        step, gain = bounded_step(model, coords, item_slopes(model, coords, given, tilt))
        coords = climb_items(model, coords, step, gain, given, tilt)
    for k in range(4):
        own = given[0], given[1][:, [k]], given[2][[k]]
        best = minimize(
            lambda x, own=own: -item_values(model, x[None], own, tilt[:1])[0], [1.0, 0.0], tol=1e-10
        )
        np.testing.assert_allclose(coords[k], best.x, atol=1e-4)


def test_an_item_takes_newtons_steps_until_the_next_gains_a_thousandth_of_the_first():
    model, given, tilt = TwoPL(), tables(4, seed=2), np.zeros((4, 2))
    start = np.tile([1.0, 0.0], (4, 1))
    first, gain = bounded_step(model, start, item_slopes(model, start, given, tilt))
    found = climb_items(model, start, first, gain, given, tilt)
    turns = []
    for k in range(4):
        own = given[0], given[1][:, [k]], given[2][[k]]
        here, step, left = start[[k]], first[[k]], np.inf
        turns.append(0)
        while left > 1e-3 * gain[k]:
            here = here + step
            slopes = item_slopes(model, here, own, tilt[:1])
            step = newton_step(model, slopes, np.zeros((1, 1)))
            left = 0.5 * (slopes.gradient * step).sum()
            turns[-1] += 1
        np.testing.assert_allclose(found[[k]], here, rtol=1e-9)
    assert max(turns) >= 2


def test_covariances_and_directions_move_with_the_scale():
    model, shift, scale = TwoPL(), 0.3, 1.7
    covariances, directions = positive(4, 2), np.random.default_rng(12).normal(size=(3, 4, 2))
    # Slopes grow by the unit, intercepts by slope times origin.
    ways = np.array([[scale, shift], [0.0, 1.0]])
    moved = model.rescale(COORDS, shift, scale)
    np.testing.assert_allclose(moved, COORDS @ ways)
    found = moved_covariances(model, COORDS, covariances, shift, scale)
    np.testing.assert_allclose(found, ways.T @ covariances @ ways)
    np.testing.assert_allclose(
        moved_directions(model, COORDS, directions, shift, scale), directions @ ways
    )


def test_along_the_scale_the_priors_of_all_items_count_once():
    model, information = TwoPL(), positive(4, 2)
    ways, pull = tangents(model, COORDS), np.random.default_rng(13).normal(size=(4, 2))
    flat = ways.reshape(2, -1)
    back = once_only(model, ways, pull, information).reshape(-1)
    np.testing.assert_allclose(
        flat @ (pull.reshape(-1) - back), flat @ pull.reshape(-1) / 4, rtol=1e-6
    )
    # What is taken back lies in the metric along the scale: across it, nothing changes.
    metric = np.stack([np.einsum("nij,nj->ni", information, way).reshape(-1) for way in ways])
    share = np.linalg.lstsq(metric.T, back, rcond=None)[0]
    np.testing.assert_allclose(share @ metric, back, atol=1e-9)
    assert not once_only(model, ways, pull, 1e-9 * information).any()
    told = prior_information(model, ways, np.abs(pull))
    np.testing.assert_allclose(told, (flat * np.abs(pull).reshape(-1) / 4) @ flat.T)


def test_the_step_along_the_scale_is_newtons_less_what_items_do_themselves():
    information, gradient = positive(4, 2), np.random.default_rng(14).normal(size=(4, 2))
    ways = tangents(TwoPL(), COORDS)
    flat = ways.reshape(2, -1)
    metric = np.stack([np.einsum("nij,nj->ni", information, way).reshape(-1) for way in ways])
    population = np.array([[2.0, 0.3], [0.3, 1.0]])
    along = flat @ gradient.reshape(-1)
    missed = np.linalg.solve(population, along) - np.linalg.solve(flat @ metric.T, along)
    step, gain = scale_step(ways, gradient, information, population)
    np.testing.assert_allclose(step.reshape(-1), missed @ flat, rtol=1e-5)
    assert gain == pytest.approx(max(0.0, 0.5 * along @ missed), rel=1e-5)
    step, gain = scale_step(ways, gradient, 1e-6 * information, population)
    assert not step.any()
    assert gain == 0.0


def test_information_on_the_population_is_that_of_louis_and_positive_in_any_case():
    points, sd = np.linspace(-8, 8, 801), np.array([0.5, 0.6, 0.4])
    means = np.array([-0.8, 0.1, 0.9])
    posteriors = np.exp(-0.5 * ((points - means[:, None]) / sd[:, None]) ** 2)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    scores = np.stack([points, points**2 - 1], axis=1)
    seen = posteriors @ scores
    outer = np.array([seen[:, 0] @ seen[:, 0], seen[:, 0] @ seen[:, 1], seen[:, 1] @ seen[:, 1]])
    found = population_information(NormalPopulation(), points, posteriors.sum(axis=0), outer)
    # Of each: 1 - v, 2 m (1 - v) and 2 (m² + v) - 4 m² v - 2 v².
    m, v = means, sd**2
    wanted = np.array(
        [
            [(1 - v).sum(), (2 * m * (1 - v)).sum()],
            [(2 * m * (1 - v)).sum(), (2 * (m**2 + v) - 4 * m**2 * v - 2 * v**2).sum()],
        ]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    wide = np.exp(-0.5 * (points / 1.5) ** 2)
    wide *= 3 / wide.sum()
    safe = population_information(NormalPopulation(), points, wide, outer)
    known = np.array([[outer[0], outer[1]], [outer[1], outer[2]]])
    np.testing.assert_allclose(safe, known + 3e-3 * np.eye(2))


def test_priors_that_pull_nowhere_along_the_scale_bend_by_their_own_stiffness():
    model, coords = TwoPL(), COORDS
    stiffness = np.random.default_rng(0).uniform(0.1, 2.0, coords.shape)
    found = SimpleNamespace(expected=positive(4, 2))
    place = SimpleNamespace(coords=coords, stiffness=stiffness, tilt=0 * coords, found=found)
    curve = SimpleNamespace(_directions=tangents(model, coords))
    vector = np.random.default_rng(1).normal(size=coords.shape)
    plain = WholeCurvature._count_once(curve, place)(vector)
    np.testing.assert_allclose(plain, stiffness * vector)
    place.tilt = coords + 1.0
    once = WholeCurvature._count_once(curve, place)
    assert np.abs(once(vector) - plain).max() > 0.01
    along = tangents(model, coords)[0]
    assert np.abs(once(along)).max() < np.abs(stiffness * along).max()
