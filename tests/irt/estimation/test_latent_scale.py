"""Origin and unit of the scale, and items fixed by a bank: by hand and by differences."""

import numpy as np
import pytest

from ogive.irt.estimation import latent_scale
from ogive.irt.estimation.latent_scale import (
    FixedItems,
    _middle,
    common_directions,
    count_priors_once,
    moved_covariances,
    moved_directions,
    prior_information,
    prior_matrix_once,
    scale_step,
)
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import Coordinate, Normal
from ogive.irt.models.logistic import ThreePL, TwoPL

MODEL = TwoPL()
BANK = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0], [0.0, 0.0]])
ITEMS = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0], [-0.7, 0.0]])
MASK = np.array([True, True, True, False])


@pytest.fixture
def held():
    covariances = np.stack([0.01 * (k + 1) * np.eye(2) for k in range(4)])
    return FixedItems(MASK, BANK, KnownCovariances(covariances, 0.1 * np.ones((1, 4, 2))))


def on_scale_of(held, model, coords, mean, sd):
    """Return `coords` with fixed items on the scale of such a population."""
    return held.keep(model, model.rescale(BANK, mean, sd), coords)


def positive(n, width, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, width, width + 2))
    return root @ root.swapaxes(1, 2)


def test_the_place_of_a_population_is_found_again(held):
    """On the scale on which it is standard, items of the bank look moved by its mean and sd."""
    for mean, sd in ((0.0, 1.0), (0.5, 1.0), (0.3, 1.4), (-1.0, 0.6)):
        seen = on_scale_of(held, MODEL, np.ones((4, 2)), mean, sd)
        np.testing.assert_allclose(seen[:3], MODEL.rescale(BANK[:3], mean, sd))
        assert seen[3].tolist() == [1.0, 1.0]  # what is free stays
        assert held.population_place(MODEL, seen) == pytest.approx((mean, sd))
        back = held.to_bank_scale(MODEL, seen, mean, sd)
        np.testing.assert_array_equal(back[:3], BANK[:3])
        np.testing.assert_allclose(MODEL.rescale(back, mean, sd)[3], seen[3])
    start = on_scale_of(held, MODEL, np.ones((4, 2)), 0.4, 9.0)
    assert held.population_place(MODEL, held.start(MODEL, start))[1] == pytest.approx(5.0)
    start = on_scale_of(held, MODEL, np.ones((4, 2)), 0.4, 0.01)
    assert held.population_place(MODEL, held.start(MODEL, start))[1] == pytest.approx(0.2)


def test_what_is_free_and_what_is_kept(held):
    assert held.free(MODEL).tolist() == [[False, False]] * 3 + [[True, True]]
    other = np.full((4, 2), 7.0)
    np.testing.assert_array_equal(held.keep(MODEL, BANK, other)[:3], BANK[:3])
    assert held.keep(MODEL, BANK, other)[3].tolist() == [7.0, 7.0]


def test_the_prior_of_the_population_is_normal_in_its_mean_and_log_deviation(held):
    free = np.ones((4, 2))
    alone = MODEL.with_coordinates(tuple(Coordinate(c.name) for c in MODEL.coordinates))
    here = on_scale_of(held, alone, free, 0.7, 1.3)
    wanted = -0.5 * (0.7 / 5) ** 2 - 0.5 * np.log(1.3) ** 2
    assert held.log_prior(alone, here) == pytest.approx(wanted)
    own = sum(c.prior.log_density(np.ones(1))[0] for c in MODEL.coordinates if c.prior is not None)
    assert held.log_prior(MODEL, here) == pytest.approx(wanted + own)
    pull, bend = held.population_prior(alone, here)
    # By a unit of the population's own deviation, and of its logarithm.
    up, down = (
        held.log_prior(alone, on_scale_of(held, alone, free, 0.7 + 1.3 * h, 1.3))
        for h in (1e-4, -1e-4)
    )
    assert pull[0] == pytest.approx((up - down) / 2e-4, rel=1e-5)
    assert bend[0] == pytest.approx((1.3 / 5) ** 2)
    up, down = (
        held.log_prior(alone, on_scale_of(held, alone, free, 0.7, 1.3 * np.exp(h)))
        for h in (1e-4, -1e-4)
    )
    assert pull[1] == pytest.approx((up - down) / 2e-4, rel=1e-5)
    assert bend[1] == 1.0


def test_priors_have_no_opinion_of_held_items(held):
    pull, stiffness = held.prior_derivatives(MODEL, BANK + 0.1)
    assert not pull[:3].any()
    assert not stiffness[:3].any()
    assert stiffness[3].any()


def test_what_moves_all_items_is_shown_by_the_held_ones(held):
    pull = np.zeros((4, 2))
    pull[3] = [0.7, -0.3]
    coords = on_scale_of(held, MODEL, np.ones((4, 2)), 0.2, 1.1)
    tilt = held.prior_grad_correction(MODEL, coords, pull)
    assert not tilt[3].any()
    ways = MODEL.scale_directions(coords).reshape(2, -1)
    # Along the scale, the priors of free items do not count.
    np.testing.assert_allclose(ways @ (pull + tilt).reshape(-1), 0.0, atol=1e-9)


def test_a_population_half_or_twice_as_wide_is_no_leap_and_beyond_it_is(held):
    here = on_scale_of(held, MODEL, np.ones((4, 2)), 0.0, 1.0)
    for sd, leaps in ((0.51, False), (0.49, True), (1.99, False), (2.01, True)):
        there = on_scale_of(held, MODEL, np.ones((4, 2)), 0.0, sd)
        assert held.changes_sd_much(MODEL, here, there) == leaps


def test_errors_of_held_items_are_those_of_the_bank(held):
    coords = on_scale_of(held, MODEL, np.ones((4, 2)), 0.2, 2.0)
    found = KnownCovariances(np.stack([np.eye(2)] * 4), np.ones((2, 4, 2)))
    errors = held.errors_on_bank(MODEL, coords, found, 0.2, 2.0)
    np.testing.assert_array_equal(errors.covariances[:3], held.errors.covariances[:3])
    ways = np.array([[0.5, -0.1], [0.0, 1.0]])  # slopes by half, intercepts by mean / sd of them
    np.testing.assert_allclose(errors.covariances[3], ways.T @ ways)
    assert errors.shared.shape == (3, 4, 2)
    assert not errors.shared[1:, :3].any()
    np.testing.assert_allclose(errors.shared[1, 3], np.ones(2) @ ways)


def test_the_middle_of_bounds_is_between_them():
    assert _middle(Coordinate("x", Normal(0, 1), low=0.0, high=0.5)) == 0.25
    assert _middle(Coordinate("x", low=0.0)) == 0.0
    assert _middle(ThreePL().coordinates[2]) > 0


def test_a_population_without_any_spread_is_unlikely_and_still_a_number(held):
    nowhere = MODEL.rescale(BANK, 0.0, 0.0)
    assert held.population_place(MODEL, nowhere)[1] == pytest.approx(0.0)
    assert held.log_prior(MODEL, nowhere) == pytest.approx(-0.5 * np.log(0.2**4) ** 2)


def test_covariances_and_directions_move_with_the_scale():
    model, shift, scale = TwoPL(), 0.3, 1.7
    covariances, directions = positive(4, 2), np.random.default_rng(12).normal(size=(3, 4, 2))
    # NewtonSystem grow by the unit, intercepts by slope times origin.
    ways = np.array([[scale, shift], [0.0, 1.0]])
    moved = model.rescale(ITEMS, shift, scale)
    np.testing.assert_allclose(moved, ITEMS @ ways)
    found = moved_covariances(model, ITEMS, covariances, shift, scale)
    np.testing.assert_allclose(found, ways.T @ covariances @ ways)
    np.testing.assert_allclose(
        moved_directions(model, ITEMS, directions, shift, scale), directions @ ways
    )


def test_along_the_scale_the_priors_of_all_items_count_once():
    model, information = TwoPL(), positive(4, 2)
    ways, pull = model.scale_directions(ITEMS), np.random.default_rng(13).normal(size=(4, 2))
    flat = ways.reshape(2, -1)
    back = count_priors_once(model, ways, pull, information).reshape(-1)
    np.testing.assert_allclose(
        flat @ (pull.reshape(-1) - back), flat @ pull.reshape(-1) / 4, rtol=1e-6
    )
    # What is taken back lies in the metric along the scale: across it, nothing changes.
    metric = np.stack([np.einsum("nij,nj->ni", information, way).reshape(-1) for way in ways])
    share = np.linalg.lstsq(metric.T, back, rcond=None)[0]
    np.testing.assert_allclose(share @ metric, back, atol=1e-9)
    assert not count_priors_once(model, ways, pull, 1e-9 * information).any()
    told = prior_information(model, ways, np.abs(pull))
    np.testing.assert_allclose(told, (flat * np.abs(pull).reshape(-1) / 4) @ flat.T)


def test_the_step_along_the_scale_is_newtons_less_what_items_do_themselves():
    information, gradient = positive(4, 2), np.random.default_rng(14).normal(size=(4, 2))
    ways = TwoPL().scale_directions(ITEMS)
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


def blocks(n, width):
    root = np.random.default_rng(10).normal(size=(n, width, width + 1))
    return root @ root.swapaxes(1, 2)


def test_the_matrix_of_priors_along_the_scale_counts_as_one_and_as_many_across_it():
    """P' S P, where P takes 1 - 1/√n of the part along the scale out, in the metric given."""
    n, width = 5, 2
    information, stiffness = blocks(n, width), np.random.default_rng(11).uniform(0.5, 2, (n, width))
    ways = np.random.default_rng(12).normal(size=(2, n, width))
    flat = ways.reshape(2, -1).T
    whole = np.zeros((10, 10))
    for k in range(n):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = information[k]
    along = flat @ np.linalg.solve(flat.T @ whole @ flat, flat.T @ whole)
    left = np.eye(10) - (1 - n**-0.5) * along
    wanted = left.T @ np.diag(stiffness.reshape(-1)) @ left
    none = np.zeros(2, dtype=bool)
    np.testing.assert_allclose(
        prior_matrix_once(ways, information, stiffness, none), wanted, rtol=1e-6
    )
    # Along the scale, n items tell what one would.
    np.testing.assert_allclose(
        flat.T @ wanted @ flat, flat.T @ np.diag(stiffness.reshape(-1)) @ flat / n
    )
    shared = np.array([True, False])
    own = np.where(shared, 0.0, stiffness).reshape(-1)
    rest = np.diag(stiffness.reshape(-1) - own)
    np.testing.assert_allclose(
        prior_matrix_once(ways, information, stiffness, shared),
        left.T @ np.diag(own) @ left + rest,
        rtol=1e-6,
        atol=1e-9,
    )
    silent = prior_matrix_once(ways, 1e-12 * information, stiffness, none)
    np.testing.assert_array_equal(silent, np.diag(stiffness.reshape(-1)))


def test_a_direction_in_which_all_items_err_is_found_and_a_weak_one_is_not(monkeypatch):
    n, width = 6, 2
    own = blocks(n, width)
    way = np.random.default_rng(13).normal(size=(n, width))

    def cube(strength):
        found = strength**2 * np.einsum("ia,jb->iajb", way, way)
        for k in range(n):
            found[k, :, k, :] = own[k] + strength**2 * np.outer(way[k], way[k])
        return found

    strong = common_directions(cube(30.0))
    assert strong.shape[0] == 1
    # Measured in its own errors, an item has variance 1; what is beyond that is shared.
    ahead = np.abs(np.corrcoef(strong[0].reshape(-1), way.reshape(-1))[0, 1])
    assert ahead > 0.99
    assert common_directions(cube(0.0)).shape == (0, n, width)
    both = np.random.default_rng(14).normal(size=(n, width))
    two = cube(30.0) + 900 * np.einsum("ia,jb->iajb", both, both)
    assert common_directions(two).shape[0] == 2
    monkeypatch.setattr(latent_scale, "MAX_DIRECTIONS", 1)
    assert common_directions(two).shape[0] == 1
