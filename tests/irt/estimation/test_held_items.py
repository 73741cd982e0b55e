"""Items that are held, and the population that they show: by hand and by differences."""

import numpy as np
import pytest

from ogive.irt.estimation.latent_scale import Held, _middle
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import Coordinate, Normal
from ogive.irt.models.logistic import ThreePL, TwoPL

MODEL = TwoPL()
BANK = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0], [0.0, 0.0]])
MASK = np.array([True, True, True, False])


@pytest.fixture
def held():
    covariances = np.stack([0.01 * (k + 1) * np.eye(2) for k in range(4)])
    return Held(MASK, BANK, KnownCovariances(covariances, 0.1 * np.ones((1, 4, 2))))


def test_the_place_of_a_population_is_found_again(held):
    """On the scale on which it is standard, items of the bank look moved by its mean and sd."""
    for mean, sd in ((0.0, 1.0), (0.5, 1.0), (0.3, 1.4), (-1.0, 0.6)):
        seen = held.seen_from(MODEL, np.ones((4, 2)), mean, sd)
        np.testing.assert_allclose(seen[:3], MODEL.rescale(BANK[:3], mean, sd))
        assert seen[3].tolist() == [1.0, 1.0]  # what is free stays
        assert held.place(MODEL, seen) == pytest.approx((mean, sd))
        back = held.on_bank(MODEL, seen, mean, sd)
        np.testing.assert_array_equal(back[:3], BANK[:3])
        np.testing.assert_allclose(MODEL.rescale(back, mean, sd)[3], seen[3])
    start = held.seen_from(MODEL, np.ones((4, 2)), 0.4, 9.0)
    assert held.place(MODEL, held.begin(MODEL, start))[1] == pytest.approx(5.0)
    start = held.seen_from(MODEL, np.ones((4, 2)), 0.4, 0.01)
    assert held.place(MODEL, held.begin(MODEL, start))[1] == pytest.approx(0.2)


def test_what_is_free_and_what_is_kept(held):
    assert held.free(MODEL).tolist() == [[False, False]] * 3 + [[True, True]]
    other = np.full((4, 2), 7.0)
    np.testing.assert_array_equal(held.keep(MODEL, BANK, other)[:3], BANK[:3])
    assert held.keep(MODEL, BANK, other)[3].tolist() == [7.0, 7.0]


def test_the_prior_of_the_population_is_normal_in_its_mean_and_log_deviation(held):
    free = np.ones((4, 2))
    alone = MODEL.with_coordinates(tuple(Coordinate(c.name) for c in MODEL.coordinates))
    here = held.seen_from(alone, free, 0.7, 1.3)
    wanted = -0.5 * (0.7 / 5) ** 2 - 0.5 * np.log(1.3) ** 2
    assert held.log_penalty(alone, here) == pytest.approx(wanted)
    own = sum(c.prior.log_density(np.ones(1))[0] for c in MODEL.coordinates if c.prior is not None)
    assert held.log_penalty(MODEL, here) == pytest.approx(wanted + own)
    pull, bend = held.population_pull(alone, here)
    # By a unit of the population's own deviation, and of its logarithm.
    up, down = (
        held.log_penalty(alone, held.seen_from(alone, free, 0.7 + 1.3 * h, 1.3))
        for h in (1e-4, -1e-4)
    )
    assert pull[0] == pytest.approx((up - down) / 2e-4, rel=1e-5)
    assert bend[0] == pytest.approx((1.3 / 5) ** 2)
    up, down = (
        held.log_penalty(alone, held.seen_from(alone, free, 0.7, 1.3 * np.exp(h)))
        for h in (1e-4, -1e-4)
    )
    assert pull[1] == pytest.approx((up - down) / 2e-4, rel=1e-5)
    assert bend[1] == 1.0


def test_priors_have_no_opinion_of_held_items(held):
    pull, stiffness = held.penalty_slopes(MODEL, BANK + 0.1)
    assert not pull[:3].any()
    assert not stiffness[:3].any()
    assert stiffness[3].any()


def test_what_moves_all_items_is_shown_by_the_held_ones(held):
    pull = np.zeros((4, 2))
    pull[3] = [0.7, -0.3]
    coords = held.seen_from(MODEL, np.ones((4, 2)), 0.2, 1.1)
    tilt = held.tilt(MODEL, coords, pull)
    assert not tilt[3].any()
    ways = MODEL.scale_directions(coords).reshape(2, -1)
    # Along the scale, the priors of free items do not count.
    np.testing.assert_allclose(ways @ (pull + tilt).reshape(-1), 0.0, atol=1e-9)


def test_a_population_half_or_twice_as_wide_is_no_leap_and_beyond_it_is(held):
    here = held.seen_from(MODEL, np.ones((4, 2)), 0.0, 1.0)
    for sd, leaps in ((0.51, False), (0.49, True), (1.99, False), (2.01, True)):
        there = held.seen_from(MODEL, np.ones((4, 2)), 0.0, sd)
        assert held.leaps(MODEL, here, there) == leaps


def test_errors_of_held_items_are_those_of_the_bank(held):
    coords = held.seen_from(MODEL, np.ones((4, 2)), 0.2, 2.0)
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
    assert held.place(MODEL, nowhere)[1] == pytest.approx(0.0)
    assert held.log_penalty(MODEL, nowhere) == pytest.approx(-0.5 * np.log(0.2**4) ** 2)
