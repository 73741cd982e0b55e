"""Degenerate input is normal input: a defined result, said in words, without a warning."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from itemwise import Beta, calibrate, simulate
from itemwise.models import MODELS

PARAMETERS = ["discrimination", "difficulty", "guessing", "slip"]
ERRORS = [f"{name}_se" for name in PARAMETERS]
RANDOM = np.random.default_rng(0)
ORDINARY = (RANDOM.random((40, 6)) < RANDOM.random(6)).astype(float)


def with_column(column):
    table = ORDINARY.copy()
    table[:, 2] = column
    return table


def with_row(row):
    table = ORDINARY.copy()
    table[3] = row
    return table


TABLES = {
    "one respondent": ORDINARY[:1],
    "one item": ORDINARY[:, :1],
    "one cell": np.ones((1, 1)),
    "column all right": with_column(1.0),
    "column all wrong": with_column(0.0),
    "column never asked": with_column(np.nan),
    "column asked once": with_column([1.0, *[np.nan] * 39]),
    "row never asked": with_row(np.nan),
    "row all right": with_row(1.0),
    "row all wrong": with_row(0.0),
    "duplicated rows": np.repeat(ORDINARY[:3], 20, axis=0),
    "duplicated columns": np.repeat(ORDINARY[:, :3], 3, axis=1),
    "2 x 2 one right": np.array([[1.0, 0.0], [0.0, 0.0]]),
    "2 x 2 crossed": np.eye(2),
    "2 x 2 equal": np.array([[1.0, 0.0], [1.0, 0.0]]),
    "Guttman": np.tril(np.ones((12, 11))),
    "more items than respondents": (RANDOM.random((20, 200)) < RANDOM.random(200)).astype(float),
    "all ones": np.ones((6, 5)),
    "all zeros": np.zeros((6, 5)),
    "all ones, many": np.ones((400, 30)),
    "nothing asked": np.full((4, 3), np.nan),
    "opposite halves": np.repeat(np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]]), 10, axis=0),
}


@pytest.fixture(scope="module")
def calibrated():
    """Each table is calibrated once by each model."""
    seen = {}

    def get(table, model, priors="default"):
        key = table, model, priors
        if key not in seen:
            seen[key] = calibrate(TABLES[table], model, priors=priors)
        return seen[key]

    return get


@pytest.mark.parametrize("table", TABLES)
def test_parameters_and_their_errors_are_finite(calibrated, model_name, table):
    cal = calibrated(table, model_name)
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert not np.isinf(cal.items[ERRORS]).any(axis=None)
    assert np.isfinite(cal.log_likelihood)


@pytest.mark.parametrize("table", TABLES)
def test_a_fit_converges_or_says_that_it_did_not(calibrated, model_name, table):
    cal = calibrated(table, model_name)
    assert cal.converged or any("Not converged" in note for note in cal.notes)


@pytest.mark.parametrize("method", ["eap", "map", "ml", "wle"])
@pytest.mark.parametrize("table", TABLES)
def test_abilities_are_finite(calibrated, model_name, table, method):
    scored = calibrated(table, model_name).abilities(method)
    assert np.isfinite(scored[["ability", "se"]]).all(axis=None)


@pytest.mark.parametrize("table", TABLES)
def test_the_prior_keeps_items_within_reach(calibrated, model_name, table):
    coords = calibrated(table, model_name).coords
    assert np.abs(coords[:, 0]).max() <= 20
    assert np.abs(coords[:, 1]).max() <= 25  # five deviations of the intercept's prior


@pytest.mark.parametrize(
    ("table", "flag", "words"),
    [
        ("column all right", "all right", "answered all right"),
        ("column all wrong", "all wrong", "answered all wrong"),
        ("column never asked", "never asked", "never asked"),
    ],
)
def test_constant_columns_are_flagged_and_said(calibrated, model_name, table, flag, words):
    cal = calibrated(table, model_name)
    assert cal.items["flag"].iloc[2] == flag
    assert flag not in "".join(cal.items["flag"].drop(cal.items.index[2]))
    assert any(words in note and cal.item_names[2] in note for note in cal.notes)


def test_every_item_of_a_constant_table_is_flagged(calibrated, model_name):
    for table, flag in [("all ones", "all right"), ("all zeros", "all wrong")]:
        cal = calibrated(table, model_name)
        assert cal.items["flag"].str.startswith(flag).all()


def test_the_direction_of_a_constant_column_is_kept(calibrated, model_name):
    """Easier than the others when all were right, harder when all were wrong."""
    easy = calibrated("column all right", model_name).probability([0.0]).iloc[0]
    hard = calibrated("column all wrong", model_name).probability([0.0]).iloc[0]
    assert easy.iloc[2] == easy.max()
    assert hard.iloc[2] == hard.min()


@pytest.mark.parametrize("table", ["all ones", "all ones, many"])
def test_items_that_all_got_right_are_likely_right(calibrated, model_name, table):
    assert (calibrated(table, model_name).probability([0.0]) > 0.5).all(axis=None)


def test_items_that_all_got_wrong_are_likely_wrong(calibrated, model_name):
    assert (calibrated("all zeros", model_name).probability([0.0]) < 0.5).all(axis=None)


def test_an_empty_respondent_stands_at_the_mean_and_is_said(calibrated, model_name):
    cal = calibrated("row never asked", model_name)
    row = cal.abilities().iloc[3]
    assert row["ability"] == pytest.approx(0.0, abs=1e-6)
    assert row["se"] == pytest.approx(1.0, abs=1e-4)
    assert any("without any response" in n and cal.responses.respondents[3] in n for n in cal.notes)


def test_few_respondents_and_single_items_are_said(calibrated, model_name):
    assert any("Only 1 respondent:" in n for n in calibrated("one respondent", model_name).notes)
    assert any("Only one item" in n for n in calibrated("one item", model_name).notes)
    assert not any("Only" in n for n in calibrated("column all right", model_name).notes)


def test_equal_columns_get_equal_items(calibrated, model_name):
    coords = calibrated("duplicated columns", model_name).coords.reshape(3, 3, -1)
    np.testing.assert_allclose(coords, coords[:, :1] + 0 * coords, atol=1e-4)


def test_guttman_items_keep_their_order(calibrated):
    difficulty = calibrated("Guttman", "2pl").items["difficulty"]
    assert difficulty.is_monotonic_increasing


@pytest.mark.parametrize("table", ["column all right", "column all wrong", "column never asked"])
def test_constant_items_without_priors_are_finite_and_said(calibrated, model_name, table):
    cal = calibrated(table, model_name, None)
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert not np.isinf(cal.items[ERRORS]).any(axis=None)
    assert any(cal.item_names[2] in note for note in cal.notes)


@pytest.mark.parametrize("table", ["all ones", "Guttman", "2 x 2 crossed", "one respondent"])
def test_hopeless_tables_without_priors_are_finite_and_said(calibrated, model_name, table):
    cal = calibrated(table, model_name, None)
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert cal.notes


def test_an_item_that_steps_at_one_ability_ends_at_the_bound_and_converges():
    responses = simulate("2pl", 12_000, 40, random_state=1).responses
    values = responses.values
    values[:, 0] = calibrate(responses).abilities()["ability"] > 0.3
    cal = calibrate(values)
    assert cal.items["discrimination"].iloc[0] == 20
    assert cal.flags[0] == ("discrimination at bound",)
    assert cal.items["flag"].iloc[0] == "discrimination at bound"
    assert np.isnan(cal.items["discrimination_se"].iloc[0])
    assert cal.converged


def test_three_respondents_without_priors_give_no_warning():
    values = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    assert np.isfinite(calibrate(values, "3pl", priors=None).coords).all()


@pytest.mark.parametrize(("table", "hard"), [("all ones", False), ("all zeros", True)])
def test_flat_items_are_hard_where_all_were_wrong_and_easy_where_all_were_right(
    calibrated, model_name, table, hard
):
    items = calibrated(table, model_name).items
    assert ((items["difficulty"] > 0) == hard).all()
    assert (items["discrimination"].abs() >= 0.01).all()


def test_a_beta_prior_from_one_lets_guessing_reach_zero():
    responses = simulate("2pl", 600, 10, random_state=2).responses
    cal = calibrate(responses, "3pl", priors={"guessing": Beta(1, 6)})
    at_zero = cal.items["guessing"] == 0
    assert cal.converged
    assert at_zero.any()
    assert ["guessing at bound" in words for words in cal.flags] == at_zero.tolist()
    assert cal.items["guessing_se"].isna().tolist() == at_zero.tolist()
    assert (
        calibrate(responses, "3pl", priors={"guessing": Beta(2, 6)}).items["guessing"] > 0
    ).all()


def test_flags_follow_weights():
    """A row of weight zero is not there: what only it answered otherwise is constant."""
    values = ORDINARY.copy()
    values[:, 2], values[0, 2] = 1.0, 0.0
    values[:, 4], values[0, 4] = np.nan, 1.0
    weights = np.r_[0.0, np.ones(39)]
    weighted, without = calibrate(values, weights=weights), calibrate(values[1:])
    assert calibrate(values).flags[2] == ()
    assert weighted.flags[2] == ("all right",)
    assert weighted.flags[4] == ("never asked",)
    assert weighted.flags == without.flags


def test_the_number_of_respondents_is_the_sum_of_weights():
    few = calibrate(ORDINARY, weights=np.full(40, 0.5))
    assert few.n_respondents == 20
    assert any("Only 40 respondents, by their weights worth 20:" in note for note in few.notes)
    many = calibrate(ORDINARY[:20], weights=np.full(20, 2.0))
    assert many.n_respondents == 40
    assert not any("Only" in note for note in many.notes)


cells = st.sampled_from([0.0, 1.0, np.nan])


@pytest.mark.parametrize("model", MODELS)
@settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(values=arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=cells))
def test_any_small_table_calibrates(model, values):
    cal = calibrate(values, model, max_iterations=60)
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert not np.isinf(cal.items[ERRORS]).any(axis=None)
    assert np.isfinite(cal.abilities()[["ability", "se"]]).all(axis=None)
    assert cal.converged or cal.notes
