"""Scores inside an interval: their bounds, and where responses at a bound stand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from ogive.errors import InputError
from ogive.irt.models.beta import BetaResponse
from ogive.irt.models.continuous import Continuous

ITEMS = ["a", "b"]
CELLS = np.array([[0.2, 3.0], [0.9, np.nan], [0.5, -1.0], [np.nan, 2.0]])
UNIT = np.array([[0.2, 0.7], [0.0, 1.0], [np.nan, 0.5], [0.04, 0.9]])


def test_the_log_odds_of_the_place_between_the_bounds_are_read():
    model = Continuous(bounds=(-2.0, 6.0))
    read = model.read(np.array([[0.0, 2.0], [5.9, np.nan]]))
    np.testing.assert_allclose(read, [[np.log(2 / 6), 0.0], [np.log(7.9 / 0.1), np.nan]])


def test_bounds_come_from_the_table_or_are_given(subtests):
    for bounds, cells, expected in [
        ("auto", UNIT, (0.0, 1.0)),
        ("auto", np.array([[0.2, 0.3], [0.4, 0.9]]), (0.0, 1.0)),
        ("auto", CELLS, (-1.0, 3.0)),
        ("table", UNIT, (0.0, 1.0)),
        ("table", np.array([[0.2, 0.3], [0.4, 0.9]]), (0.2, 0.9)),
        ("table", CELLS, (-1.0, 3.0)),
        ("items", CELLS, ((0.2, 0.9), (-1.0, 3.0))),
        ((-5, 5), CELLS, (-5.0, 5.0)),
        ([-5, 5], CELLS, (-5.0, 5.0)),
        (((0, 1), (-1, 4)), CELLS, ((0.0, 1.0), (-1.0, 4.0))),
        (np.array([[0, 1], [-1, 4]]), CELLS, ((0.0, 1.0), (-1.0, 4.0))),
    ]:
        with subtests.test(bounds=bounds, cells=cells):
            fitted = Continuous(bounds=bounds).fitted_to(cells, ITEMS)
            assert fitted.bounds == expected
            low, high = fitted.extent()
            np.testing.assert_array_equal(np.transpose([low, high]), expected)


def test_a_fitted_table_is_read_in_its_own_order_and_stays_finite(subtests):
    for bounds in ["auto", "table", "items", (-2, 4), ((0, 1), (-2, 4))]:
        with subtests.test(bounds=bounds):
            fitted = Continuous(bounds=bounds).fitted_to(CELLS, ITEMS)
            read = fitted.read(CELLS)
            np.testing.assert_array_equal(np.isnan(read), np.isnan(CELLS))
            for k in range(2):
                asked = ~np.isnan(CELLS[:, k])
                order, wanted = (
                    np.argsort(table[asked, k], kind="stable") for table in (read, CELLS)
                )
                np.testing.assert_array_equal(order, wanted)


def test_a_constant_item_and_one_that_nobody_was_asked_have_bounds_around_them():
    cells = np.array([[2.0, np.nan, 1.0], [2.0, np.nan, 3.0], [2.0, np.nan, 2.0]])
    fitted = Continuous(bounds="items").fitted_to(cells, list("abc"))
    assert fitted.bounds == ((1.5, 2.5), (0.0, 1.0), (1.0, 3.0))
    assert np.isfinite(fitted.read(cells)[:, [0, 2]]).all()
    np.testing.assert_array_equal(fitted.read(cells)[:, 0], 0.0)


def test_a_response_at_a_bound_stands_midway_to_the_nearest_inside():
    fitted = Continuous().fitted_to(UNIT, ITEMS)
    assert fitted.inside == pytest.approx((0.02, 0.95))
    np.testing.assert_allclose(fitted.read(UNIT)[1], logit([0.02, 0.95]))


def test_with_bounds_of_each_item_its_own_responses_tell_where_midway_is():
    fitted = Continuous(bounds=((0, 1), (0, 1))).fitted_to(UNIT, ITEMS)
    np.testing.assert_allclose(fitted.inside, [(0.02, 0.6), (0.25, 0.95)])
    np.testing.assert_allclose(fitted.read(UNIT)[1], logit([0.02, 0.95]))


unit_scores = st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12, unique=True)


@given(unit_scores)
def test_midway_keeps_the_order_of_all_responses(scores):
    column = np.array(sorted(scores))[:, None]
    if not ((column > 0) & (column < 1)).any():
        return
    read = Continuous().fitted_to(column, ["a"]).read(column)[:, 0]
    assert np.isfinite(read).all()
    # Scores nearer to a bound than 1e-12 of the range are one to the reader.
    apart = np.diff(np.clip(column[:, 0], 1e-12, 1 - 1e-12)) > 1e-15
    assert (np.diff(read)[apart] > 0).all()
    assert (np.diff(read) >= 0).all()


def test_a_number_moves_responses_at_a_bound_and_no_others():
    cells = np.array([[0.0, 0.005], [1.0, 0.5], [0.2, 0.8]])
    fitted = Continuous(at_bounds=0.01).fitted_to(cells, ITEMS)
    expected = np.array([[0.01, 0.005], [0.99, 0.5], [0.2, 0.8]])
    np.testing.assert_allclose(fitted.read(cells), logit(expected))
    assert fitted.read(cells)[0, 0] > fitted.read(cells)[0, 1]  # past another, as is said


def test_new_responses_nearer_to_a_bound_than_any_before_stay_in_order():
    fitted = Continuous().fitted_to(UNIT, ITEMS)
    read = fitted.read(np.array([[0.0, 0.0], [0.01, 0.01], [0.03, 0.03], [0.99, 1.0]]))[:, 0]
    assert (np.diff(read) >= 0).all()
    assert read[1] < read[2] < read[3]


@pytest.mark.parametrize("model", [Continuous(), BetaResponse()], ids=lambda m: m.name)
def test_a_response_all_but_at_a_bound_stays_finite(model):
    cells = np.array([[1e-300, 0.5], [0.3, 1 - 1e-16]])
    fitted = model.fitted_to(cells, ITEMS)
    assert np.isfinite(fitted.read(cells)).all()
    assert np.isfinite(fitted.log_base(cells, np.ones(2)))


def test_the_base_is_the_change_of_variables_computed_by_hand():
    model = Continuous(bounds=(-2.0, 6.0))
    cells = np.array([[0.0, 2.0], [5.9, np.nan]])
    # dz / dy = 1 / (y - low) + 1 / (high - y)
    first, second = np.log(1 / 2 + 1 / 6) + np.log(1 / 4 + 1 / 4), np.log(1 / 7.9 + 1 / 0.1)
    assert model.log_base(cells, np.ones(2)) == pytest.approx(first + second, rel=1e-13)
    assert model.log_base(cells, np.array([3.0, 0.5])) == pytest.approx(3 * first + second / 2)


def test_the_base_of_a_response_at_a_bound_is_that_of_the_place_where_it_stands():
    fitted = Continuous().fitted_to(UNIT, ITEMS)
    found = fitted.log_base(UNIT[[1]], np.ones(1))
    expected = -np.log(0.02 * 0.98) - np.log(0.95 * 0.05)
    assert found == pytest.approx(expected, rel=1e-12)


def test_bounds_of_each_item_change_the_variables_of_each():
    model = Continuous(bounds=((0.0, 1.0), (-2.0, 6.0)))
    found = model.log_base(np.array([[0.3, 0.0]]), np.ones(1))
    assert found == pytest.approx(-np.log(0.3 * 0.7) + np.log(1 / 2 + 1 / 6), rel=1e-13)


def test_another_unit_of_the_scores_moves_the_log_likelihood_by_its_logarithm():
    cells = np.array([[0.2, 0.7], [0.4, 0.5]])
    small, large = Continuous(bounds=(0, 1)), Continuous(bounds=(0, 100))
    np.testing.assert_allclose(small.read(cells), large.read(100 * cells))
    apart = small.log_base(cells, np.ones(2)) - large.log_base(100 * cells, np.ones(2))
    assert apart == pytest.approx(4 * np.log(100))


def test_some_items_keep_their_bounds():
    fitted = Continuous(bounds="items").fitted_to(CELLS, ITEMS)
    some = fitted.of_items(np.array([1]))
    assert some.bounds == ((-1.0, 3.0),)
    np.testing.assert_array_equal(some.read(CELLS[:, [1]]), fitted.read(CELLS)[:, [1]])
    shared = Continuous(bounds=(-5, 5)).fitted_to(CELLS, ITEMS)
    assert shared.of_items([1]) == shared


def test_expected_scores_and_draws_lie_between_the_bounds_of_each_item():
    model = Continuous(bounds=((0.0, 1.0), (-2.0, 6.0)))
    coords = np.array([[1.0, 0.2, 0.0], [1.0, 0.2, 0.0]])
    abilities = np.linspace(-3, 3, 7)
    found, spread = model.expected(coords, abilities), model.variance(coords, abilities)
    np.testing.assert_allclose(found[1], -2 + 8 * found[0])
    np.testing.assert_allclose(spread[1], 64 * spread[0])
    drawn = model.draw(coords, np.zeros(2000), np.random.default_rng(0))
    assert ((drawn[0] > 0) & (drawn[0] < 1)).all()
    assert drawn[1].min() < 0
    assert drawn[1].max() > 2


def test_malformed_bounds_are_refused(subtests):
    for wrong in [
        "rows",
        "",
        (1, 0),
        (0, 0),
        (0, np.nan),
        (0, np.inf),
        (0, 1, 2),
        5,
        None,
        (),
        ("low", 1),
        ((0, 1), (2, 1)),
        ((0, 1), (2, 3, 4)),
        [[[0, 1]]],
    ]:
        with (
            subtests.test(wrong=wrong),
            pytest.raises(InputError, match=r"`bounds` must be "),
        ):
            Continuous(bounds=wrong)


def test_malformed_places_at_the_bounds_are_refused(subtests):
    for wrong, kind in product(
        ["half", "", 0, 0.0, -0.01, np.nan, np.inf, True, None, [0.1]], [Continuous, BetaResponse]
    ):
        with (
            subtests.test(wrong=wrong, kind=kind),
            pytest.raises(InputError, match=r"`at_bounds` must be "),
        ):
            kind(at_bounds=wrong)


def test_a_move_past_the_middle_of_the_range_is_refused():
    """It would swap the worst and the best response."""
    with pytest.raises(InputError, match="at_bounds"):
        Continuous(at_bounds=0.6).fitted_to(UNIT, ITEMS)


def test_a_response_outside_the_bounds_is_named_with_its_item():
    with pytest.raises(
        InputError, match=r"Item 'b' has the response 3, outside the bounds 0 and 2 .*bounds"
    ):
        Continuous(bounds=(0, 2)).fitted_to(CELLS, ITEMS)


def test_the_bounds_of_the_item_itself_are_held_against_its_responses():
    with pytest.raises(
        InputError, match=r"Item 'b' has the response 3, outside the bounds -1 and 2.5"
    ):
        Continuous(bounds=((0, 1), (-1, 2.5))).fitted_to(CELLS, ITEMS)


def test_a_response_outside_is_found_in_any_block_of_a_long_table():
    cells = np.full((200_000, 2), 0.5)
    cells[190_000, 1] = 1.5
    with pytest.raises(InputError, match=r"Item 'b' has the response 1.5"):
        Continuous(bounds=(0, 1)).check(cells, ITEMS)


def test_pairs_for_other_items_are_refused():
    with pytest.raises(InputError, match=r"bounds has 3 pairs, but there are 2 items"):
        Continuous(bounds=((0, 1), (-1, 4), (0, 1))).fitted_to(CELLS, ITEMS)


@pytest.mark.parametrize("model", [Continuous(), BetaResponse()], ids=lambda m: m.name)
def test_responses_that_are_all_at_the_bounds_are_called_what_they_are(model):
    with pytest.raises(
        InputError, match=rf"All responses are exactly 0 or 1.*{model.name} model.*kind='binary'"
    ):
        model.fitted_to(np.array([[0.0, 1.0], [1.0, np.nan]]), ITEMS)


def test_one_item_that_is_all_at_its_bounds_stands_well_inside():
    cells = np.array([[0.0, 0.3], [1.0, 0.6], [1.0, 0.4]])
    fitted = Continuous(bounds=((0, 1), (0, 1))).fitted_to(cells, ITEMS)
    np.testing.assert_allclose(fitted.read(cells)[:, 0], logit([0.25, 0.75, 0.75]))
