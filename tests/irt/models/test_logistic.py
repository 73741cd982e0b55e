from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.errors import InputError
from ogive.irt.models import MODELS
from ogive.irt.models.logistic import FourPL, OnePL, ThreePL, TwoPL

ABILITIES = np.linspace(-5.0, 5.0, 41)
SLOPE = np.array([-2.0, -0.5, 0.0, 0.7, 1.5, 4.0])
INTERCEPT = np.array([1.0, -3.0, 0.4, 0.0, -2.0, 2.5])
GUESSING = np.array([0.05, 0.1, 0.2, 0.25, 0.33, 0.5])
ZERO = np.zeros(6)


def same_everywhere(narrow, wide, *columns):
    """The wider model with its extra coordinates at zero is the narrower one."""
    few = np.stack(columns, axis=1)
    many = np.stack([*columns, ZERO], axis=1)
    np.testing.assert_allclose(
        wide.log_prob(many, ABILITIES), narrow.log_prob(few, ABILITIES), rtol=1e-10, atol=1e-10
    )
    for one, other in zip(
        wide.ability_derivatives(many, ABILITIES),
        narrow.ability_derivatives(few, ABILITIES),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-14)
    np.testing.assert_allclose(
        wide.slopes(many, ABILITIES)[:-1], narrow.slopes(few, ABILITIES), rtol=1e-7, atol=1e-9
    )


def test_a_3pl_without_guessing_is_a_2pl():
    same_everywhere(TwoPL(), ThreePL(), SLOPE, INTERCEPT)


def test_a_4pl_without_slip_is_a_3pl():
    same_everywhere(ThreePL(), FourPL(), SLOPE, INTERCEPT, GUESSING)


def test_1pl_and_2pl_have_the_same_curve():
    coords = np.stack([SLOPE, INTERCEPT], axis=1)
    np.testing.assert_array_equal(
        OnePL().log_prob(coords, ABILITIES), TwoPL().log_prob(coords, ABILITIES)
    )


def test_the_4pl_is_the_formula_of_the_documentation():
    a, b, c, slip = 1.3, -0.4, 0.2, 0.07
    coords = FourPL().from_parameters(
        {"discrimination": [a], "difficulty": b, "guessing": [c], "slip": [slip]}
    )
    expected = c + (1 - slip - c) / (1 + np.exp(-a * (ABILITIES - b)))
    np.testing.assert_allclose(np.exp(FourPL().log_prob(coords, ABILITIES))[1, 0], expected)


def test_tails_without_asymptotes_are_exact():
    coords = np.array([[1.0, 0.0, 0.0]])
    wrong, right = ThreePL().log_prob(coords, np.array([-300.0, 300.0]))[:, 0]
    np.testing.assert_allclose(right[0], -300.0)
    np.testing.assert_allclose(wrong[1], -300.0)


def test_a_wrong_answer_at_a_very_high_ability_is_unlikely_and_not_impossible():
    coords = np.array([[2.0, 0.0, 0.2]])
    wrong = ThreePL().log_prob(coords, np.array([800.0]))[0, 0, 0]
    assert np.isfinite(wrong)
    assert wrong < -20


@pytest.mark.parametrize("slope", [3.0, 20.0])
def test_slopes_without_slip_are_exact_in_the_tail(slope):
    """An able respondent who fails pulls a steep item as hard as its log-probability says."""
    coords, ability = np.array([[slope, 0.0, 0.2]]), np.array([2.0, 5.0, 9.0])
    of_wrong = ThreePL().slopes(coords, ability)[:, 0, 0]
    rise = 1 / (1 + np.exp(-slope * ability))
    np.testing.assert_allclose(of_wrong[0], -ability * rise, rtol=1e-6)
    np.testing.assert_allclose(of_wrong[1], -rise, rtol=1e-6)


@pytest.mark.parametrize("slope", [3.0, 20.0])
def test_the_gradient_without_slip_is_exact_in_the_tail(slope):
    coords, ability = np.array([[slope, 0.0, 0.2]]), np.array([2.0, 5.0, 9.0])
    counts, totals = np.zeros((1, 1, 3)), np.ones((1, 3))  # all three fail
    gradient = ThreePL().curvature(coords, ability, counts, totals)[0][0]
    rise = 1 / (1 + np.exp(-slope * ability))
    expected = [-(ability * rise).sum(), -rise.sum()]
    np.testing.assert_allclose(gradient[:2], expected, rtol=1e-6)


@pytest.mark.parametrize("slope", [3.0, 20.0])
def test_slopes_in_guessing_are_exact_in_the_tail(slope):
    coords, ability = np.array([[slope, 0.0, 0.2]]), np.array([2.0, 5.0, 9.0])
    of_wrong = ThreePL().slopes(coords, ability)[:, 0, 0]
    np.testing.assert_allclose(of_wrong[2], -1 / 0.8, rtol=1e-6)


@pytest.mark.parametrize("slope", [3.0, 20.0])
def test_the_gradient_in_guessing_is_exact_in_the_tail(slope):
    coords, ability = np.array([[slope, 0.0, 0.2]]), np.array([2.0, 5.0, 9.0])
    counts, totals = np.zeros((1, 1, 3)), np.ones((1, 3))  # all three fail
    gradient = ThreePL().curvature(coords, ability, counts, totals)[0][0]
    np.testing.assert_allclose(gradient[2], -3 / 0.8, rtol=1e-6)


def test_chances_lie_between_guessing_and_slip():
    coords = np.stack([SLOPE, INTERCEPT, 0.9 * GUESSING, GUESSING / 2], axis=1)
    right = np.exp(FourPL().log_prob(coords, np.linspace(-50, 50, 101)))[1]
    assert (right >= 0.9 * GUESSING[:, None] - 1e-12).all()
    assert (right <= 1 - GUESSING[:, None] / 2 + 1e-12).all()


def test_a_given_slope_sets_the_unit_of_the_scale(subtests):
    for slope, unit in [(None, 1.0), (1.0, 1.4), (0.7, 2.0)]:
        with subtests.test(slope=slope, unit=unit):
            coords = np.array([[1.4, 0.0], [1.4, 1.0]])
            items, sd = OnePL(discrimination=slope).reported(coords)
            assert sd == pytest.approx(unit)
            np.testing.assert_array_equal(items, [[slope or 1.4, 0.0], [slope or 1.4, 1.0]])


@given(st.floats(0.05, 20.0), st.floats(-20.0, 20.0).filter(bool))
def test_a_given_slope_comes_back_to_the_last_bit(slope, found):
    items, _ = OnePL(discrimination=slope).reported(np.array([[found, 0.3]]))
    assert abs(items[0, 0]) == slope


def test_a_given_discrimination_must_be_a_number_that_items_may_have(subtests):
    for wrong in [0.0, -1.0, 0.049, 20.1, float("nan"), float("inf"), "steep", True]:
        with (
            subtests.test(wrong=wrong),
            pytest.raises(InputError, match=rf"from 0.05 to 20.*got {wrong!r}"),
        ):
            OnePL(discrimination=wrong)


def test_a_given_discrimination_may_lie_at_either_end(subtests):
    for slope in [0.05, 1, 20]:
        with subtests.test(slope=slope):
            assert OnePL(discrimination=slope).discrimination == slope


def test_a_flat_item_is_reported_as_the_flattest_that_still_describes_its_curve(subtests):
    for intercept, slope in product([3.0, -3.0], [0.0, 0.009, -0.009]):
        with subtests.test(intercept=intercept, slope=slope):
            found = TwoPL().parameters(np.array([[slope, intercept]]))
            assert found["discrimination"] == [0.01]
            assert found["difficulty"] == pytest.approx(-intercept / 0.01)
            assert (found["difficulty"] > 0) == (intercept < 0)  # hard where all were wrong


def test_an_item_that_is_not_flat_keeps_its_slope(subtests):
    for slope in [0.01, -0.01, 0.5, -2.0]:
        with subtests.test(slope=slope):
            found = TwoPL().parameters(np.array([[slope, 1.0]]))
            assert found["discrimination"] == [slope]
            assert found["difficulty"] == [-1 / slope]


def test_bounds_keep_the_upper_asymptote_above_the_lower():
    guessing, slip = FourPL().coordinates[2:]
    assert guessing.high + slip.high < 1


BINARY = ["1pl", "2pl", "3pl", "4pl"]


def test_items_of_the_family_have_four_public_parameters(subtests):
    for name in BINARY:
        with subtests.test(name=name):
            model, names = MODELS[name](), {"discrimination", "difficulty", "guessing", "slip"}
            drawn = model.sample(7, np.random.default_rng(1))
            assert set(drawn) == names
            assert set(model.parameters(model.from_parameters(drawn))) == names


def test_a_start_lies_inside_the_bounds_for_constant_and_for_mixed_items(subtests):
    for name in BINARY:
        with subtests.test(name=name):
            model = MODELS[name]()
            loading = np.array([-0.99, -0.3, 0.0, 0.5, 1.0])
            means = np.array([[0.0, 0.2, 0.5, 0.8, 1.0]])
            coords = model.start(means, np.full(5, 1000.0), loading)
            for k, coordinate in enumerate(model.coordinates):
                assert ((coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)).all()
            if not model.coordinates[0].shared:
                np.testing.assert_array_equal(np.sign(coords[:, 0]), np.sign(loading))
            assert (np.diff(coords[:, 1]) > 0).all()  # the more were right, the easier


def test_the_expected_response_is_the_chance_to_be_right(subtests):
    for name in BINARY:
        with subtests.test(name=name):
            model = MODELS[name]()
            coords = model.from_parameters(model.sample(4, np.random.default_rng(0)))
            right = np.exp(model.log_prob(coords, ABILITIES)[1])
            np.testing.assert_allclose(model.expected(coords, ABILITIES), right, rtol=1e-12)
            np.testing.assert_allclose(
                model.variance(coords, ABILITIES), right * (1 - right), atol=1e-14
            )


def test_the_terms_are_the_chance_to_be_wrong_and_the_log_odds(subtests):
    for name in BINARY:
        with subtests.test(name=name):
            model = MODELS[name]()
            coords = model.from_parameters(model.sample(4, np.random.default_rng(0)))
            wrong, right = model.log_prob(coords, ABILITIES)
            np.testing.assert_allclose(
                model.log_terms(coords, ABILITIES), [wrong, right - wrong], rtol=1e-12, atol=1e-14
            )
