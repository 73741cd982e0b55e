"""Degenerate input is normal input: a defined result, said in words, without a warning."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ogive import Beta, Responses, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.models import MODELS

BINARY = [name for name, model in MODELS.items() if model.kind == "binary"]
WIDER = [name for name in MODELS if name not in BINARY]
LONG = ("beta", "censored", "gpcm", "nominal")
LONG_LAST = [pytest.param(m, marks=pytest.mark.slow) if m in LONG else m for m in WIDER]
PARAMETERS = ["discrimination", "difficulty", "guessing", "slip"]
ERRORS = [f"{name}_se" for name in PARAMETERS]
METHODS = ["eap", "map", "ml", "wle"]
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
    "more items than respondents": (RANDOM.random((15, 40)) < RANDOM.random(40)).astype(float),
    "all ones": np.ones((6, 5)),
    "all zeros": np.zeros((6, 5)),
    "all ones, many": np.ones((200, 20)),
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


def has_finite_parameters_and_errors(cal):
    assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
    assert not np.isinf(cal.items[ERRORS]).any(axis=None)
    assert np.isfinite(cal.log_likelihood)


def converges_or_says_that_it_did_not(cal):
    assert cal.converged != any("Not converged" in note for note in cal.notes)


def has_finite_abilities(cal):
    for method in METHODS:
        scored = cal.abilities(method)
        assert np.isfinite(scored[["ability", "se"]]).all(axis=None), method


def keeps_items_within_reach_of_the_prior(cal):
    assert np.abs(cal.coords[:, 0]).max() <= 20
    assert np.abs(cal.coords[:, 1]).max() <= 25  # five sd of the intercept's prior


def test_every_table_gives_a_finite_fit(calibrated, binary_name, hold):
    hold(
        ((table, calibrated(table, binary_name)) for table in TABLES),
        has_finite_parameters_and_errors,
        converges_or_says_that_it_did_not,
        has_finite_abilities,
        keeps_items_within_reach_of_the_prior,
    )


def test_constant_columns_are_flagged_and_said(calibrated, binary_names, subtests):
    for (table, flag, words), binary_name in product(
        [
            ("column all right", "solved by all", "solved by all"),
            ("column all wrong", "solved by none", "solved by none"),
            ("column never asked", "never asked", "never asked"),
        ],
        binary_names,
    ):
        with subtests.test(f"{table} {binary_name}"):
            cal = calibrated(table, binary_name)
            assert cal.items["flag"].iloc[2] == flag
            assert flag not in "".join(cal.items["flag"].drop(cal.items.index[2]))
            assert any(words in note and cal.item_names[2] in note for note in cal.notes)


def test_every_item_of_a_constant_table_is_flagged(calibrated, binary_names, subtests):
    for binary_name in binary_names:
        with subtests.test(binary_name):
            for table, flag in [("all ones", "solved by all"), ("all zeros", "solved by none")]:
                cal = calibrated(table, binary_name)
                assert cal.items["flag"].str.startswith(flag).all()


def test_the_direction_of_a_constant_column_is_kept(calibrated, binary_names, subtests):
    """Easier than the others when all were right, harder when all were wrong."""
    for binary_name in binary_names:
        with subtests.test(binary_name):
            easy = calibrated("column all right", binary_name).probability([0.0]).iloc[0]
            hard = calibrated("column all wrong", binary_name).probability([0.0]).iloc[0]
            assert easy.iloc[2] == easy.max()
            assert hard.iloc[2] == hard.min()


def test_items_that_all_got_right_are_likely_right(calibrated, binary_names, subtests):
    for table, binary_name in product(["all ones", "all ones, many"], binary_names):
        with subtests.test(f"{table} {binary_name}"):
            assert (calibrated(table, binary_name).probability([0.0]) > 0.5).all(axis=None)


def test_items_that_all_got_wrong_are_likely_wrong(calibrated, binary_names, subtests):
    for binary_name in binary_names:
        with subtests.test(binary_name):
            assert (calibrated("all zeros", binary_name).probability([0.0]) < 0.5).all(axis=None)


def test_an_empty_respondent_stands_at_the_mean_and_is_said(calibrated, binary_names, subtests):
    for binary_name in binary_names:
        with subtests.test(binary_name):
            cal = calibrated("row never asked", binary_name)
            row = cal.abilities().iloc[3]
            assert row["ability"] == pytest.approx(0.0, abs=1e-6)
            assert row["se"] == pytest.approx(1.0, abs=1e-4)
            assert any(
                "without any response" in n and cal.responses.respondents[3] in n for n in cal.notes
            )


def test_few_respondents_and_single_items_are_said(calibrated, binary_names, subtests):
    for binary_name in binary_names:
        with subtests.test(binary_name):
            assert any(
                "Only 1 respondent:" in n for n in calibrated("one respondent", binary_name).notes
            )
            assert any("Only one item" in n for n in calibrated("one item", binary_name).notes)
            assert not any("Only" in n for n in calibrated("column all right", binary_name).notes)


def test_equal_columns_get_equal_items(calibrated, binary_names, subtests):
    for binary_name in binary_names:
        with subtests.test(binary_name):
            coords = calibrated("duplicated columns", binary_name).coords.reshape(3, 3, -1)
            np.testing.assert_allclose(coords, coords[:, :1] + 0 * coords, atol=1e-4)


def test_guttman_items_keep_their_order(calibrated):
    difficulty = calibrated("Guttman", "2pl").items["difficulty"]
    assert difficulty.is_monotonic_increasing


@pytest.mark.slow
def test_constant_items_without_priors_are_finite_and_said(calibrated, binary_name, subtests):
    for table in ["column all right", "column never asked"]:
        with subtests.test(table):
            cal = calibrated(table, binary_name, None)
            assert np.isfinite(cal.items[PARAMETERS]).all(axis=None)
            assert not np.isinf(cal.items[ERRORS]).any(axis=None)
            assert any(cal.item_names[2] in note for note in cal.notes)


@pytest.mark.slow
def test_hopeless_tables_without_priors_are_finite_and_said(calibrated, binary_names, subtests):
    for table, binary_name in product(
        ["all ones", "Guttman", "2 x 2 crossed", "one respondent"], binary_names
    ):
        with subtests.test(f"{table} {binary_name}"):
            cal = calibrated(table, binary_name, None)
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


def test_an_item_on_a_flat_stretch_of_its_likelihood_does_not_hold_up_the_others():
    """One of 2,000 items creeps; mixing alone takes the stretch for a maximum, 200 times."""
    cal = calibrate(simulate("3pl", 200, 2000, random_state=0).responses, "3pl")
    assert cal.converged
    assert cal.iterations < 100  # 35 to 62 on the processors tried, which round differently


def test_three_respondents_without_priors_give_no_warning():
    values = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    assert np.isfinite(calibrate(values, "3pl", priors=None).coords).all()


def test_flat_items_are_hard_where_all_were_wrong_and_easy_where_all_were_right(
    calibrated, binary_names, subtests
):
    for (table, hard), binary_name in product(
        [("all ones", False), ("all zeros", True)], binary_names
    ):
        with subtests.test(f"{table} {binary_name}"):
            items = calibrated(table, binary_name).items
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
    assert weighted.flags[2] == ("solved by all",)
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


@pytest.mark.parametrize("model", BINARY)
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


# The same questions of grades (0 to 3) and of scores, in numbers of their own.
GRADES = RANDOM.integers(0, 4, (40, 6)).astype(float)
SCORES = RANDOM.uniform(0.05, 0.95, (40, 6))
FEW_SCORES = RANDOM.uniform(0.05, 0.95, (15, 30))
WORST = {"graded": 0.0, "nominal": 3.0, "continuous": 0.1}
BEST = {"graded": 3.0, "nominal": 0.0, "continuous": 0.9}


def tables_of(kind):
    ordinary = {"graded": GRADES, "nominal": GRADES, "continuous": SCORES}[kind]
    worst, best = WORST[kind], BEST[kind]

    def column(values):
        table = ordinary.copy()
        table[:, 2] = values
        return table

    def row(values):
        table = ordinary.copy()
        table[3] = values
        return table

    stairs = np.clip(np.arange(12)[:, None] - np.arange(11) + 1, 0, 3)
    return {
        "one respondent": ordinary[:1],
        "one item": ordinary[:, :1],
        "one cell": np.full((1, 1), best),
        "two respondents": ordinary[:2],
        "column all best": column(best),
        "column all worst": column(worst),
        "column never asked": column(np.nan),
        "column asked once": column([best, *[np.nan] * 39]),
        "row never asked": row(np.nan),
        "row all best": row(best),
        "row all worst": row(worst),
        "duplicated rows": np.repeat(ordinary[:3], 20, axis=0),
        "duplicated columns": np.repeat(ordinary[:, :3], 3, axis=1),
        "Guttman": worst + (best - worst) * stairs / 3,
        "more items than respondents": np.tile(ordinary[:15], (1, 5))
        if kind != "continuous"
        else FEW_SCORES,
        "all best": np.full((6, 5), best),
        "nothing asked": np.full((4, 3), np.nan),
        "opposite halves": np.repeat(
            np.array([[best, best, worst, worst], [worst, worst, best, best]]), 10, axis=0
        ),
        "disjoint halves": np.block(
            [
                [ordinary[:20, :3], np.full((20, 3), np.nan)],
                [np.full((20, 3), np.nan), ordinary[20:, 3:]],
            ]
        ),
    }


WIDER_TABLES = {kind: tables_of(kind) for kind in WORST}
NAMES = list(WIDER_TABLES["graded"])


@pytest.fixture(scope="module")
def widely():
    """Each table of grades or scores is calibrated once by each model."""
    seen = {}

    def get(table, model, priors="default"):
        key = table, model, priors
        if key not in seen:
            kind = MODELS[model].kind
            responses = Responses(WIDER_TABLES[kind][table], kind=kind)
            most = 200 if priors == "default" else 40  # without priors, there is no end to it
            seen[key] = calibrate(responses, model, priors=priors, max_iterations=most)
        return seen[key]

    return get


def assert_finite(cal):
    """An absent grade has no numbers; a parameter at its bound has no standard error."""
    frame = cal.items.drop(columns="flag")
    names = list(cal.model.parameters(cal.coords))
    assert not np.isinf(frame).any(axis=None)
    assert frame[["discrimination", "difficulty"]].notna().all(axis=None)
    assert frame[names].isna().sum().sum() == cal.model.absent(cal.coords).sum()
    assert np.isfinite(cal.log_likelihood)


@pytest.mark.parametrize("model", LONG_LAST)
def test_every_table_of_grades_or_scores_gives_a_finite_fit(widely, model, hold):
    hold(
        ((table, widely(table, model)) for table in NAMES),
        assert_finite,
        converges_or_says_that_it_did_not,
        has_finite_abilities,
    )


@pytest.mark.slow
def test_constant_columns_of_grades_and_scores_are_flagged_and_said(widely, subtests):
    for model, (table, flag, words) in product(
        WIDER,
        [
            ("column all best", "constant", "with the same response from all"),
            ("column all worst", "constant", "with the same response from all"),
            ("column asked once", "constant", "with the same response from all"),
            ("column never asked", "never asked", "never asked"),
        ],
    ):
        with subtests.test(table, model=model):
            cal = widely(table, model)
            assert cal.items["flag"].iloc[2].startswith(flag)
            assert flag not in "".join(cal.items["flag"].drop(cal.items.index[2]))
            assert any(words in note and cal.item_names[2] in note for note in cal.notes)


# The beta model has no item that tells nothing and is not uniform: where it is narrow, it is steep.
FLAT = [name for name in WIDER if name != "beta"]


def test_the_expected_response_to_a_constant_column_is_near_what_all_gave(widely, subtests):
    """Within a tenth of the range: what is left is the prior's."""
    for model in FLAT:
        with subtests.test(model=model):
            kind = MODELS[model].kind
            for table, value in (
                ("column all best", BEST[kind]),
                ("column all worst", WORST[kind]),
            ):
                cal = widely(table, model)
                low, high = (np.min(bound) for bound in cal.model.extent())
                middle = cal.probability([0.0]).iloc[0, 2]
                assert abs(middle - cal.model.scored(np.array(value))) < 0.1 * (high - low)


def test_a_constant_column_of_grades_or_scores_tells_nothing_of_ability(widely, subtests):
    """Against what an ordinary column of the same table tells."""
    for model in FLAT:
        with subtests.test(model=model):
            cal = widely("column all best", model)
            told = cal.information(np.linspace(-2, 2, 9)).mean()
            assert told.iloc[2] < 0.1 * told.drop(told.index[2]).mean() + 0.01


@pytest.mark.slow
def test_an_empty_respondent_among_grades_or_scores_stands_at_the_mean(widely, subtests):
    for model in WIDER:
        with subtests.test(model=model):
            cal = widely("row never asked", model)
            row = cal.abilities().iloc[3]
            assert row["ability"] == pytest.approx(0.0, abs=1e-6)
            assert row["se"] == pytest.approx(1.0, abs=1e-4)
            for method in ("ml", "wle"):
                assert cal.abilities(method)["at_bound"].iloc[3]
            assert any(
                "without any response" in n and cal.responses.respondents[3] in n for n in cal.notes
            )


def test_few_respondents_and_single_items_of_any_kind_are_said(widely, subtests):
    for model in WIDER:
        with subtests.test(model=model):
            assert any("Only 1 respondent:" in n for n in widely("one respondent", model).notes)
            assert any("Only one item" in n for n in widely("one item", model).notes)
            assert not any("Only" in n for n in widely("column all best", model).notes)


@pytest.mark.slow
def test_equal_columns_of_grades_or_scores_get_equal_items(widely, subtests):
    for model in WIDER:
        with subtests.test(model=model):
            coords = widely("duplicated columns", model).coords.reshape(3, 3, -1)
            np.testing.assert_allclose(coords, coords[:, :1] + 0 * coords, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", LONG_LAST)
def test_hopeless_tables_of_grades_and_scores_without_priors_are_finite_and_said(
    widely, model, subtests
):
    for table in [
        "column all best",
        "column never asked",
        "all best",
        "Guttman",
        "one respondent",
        "one item",
    ]:
        with subtests.test(table):
            cal = widely(table, model, None)
            assert_finite(cal)
            assert cal.notes


def some_table(elements):
    return arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=elements)


quick = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def assert_calibrates(values, kind, model, most=60):
    cal = calibrate(Responses(values, kind=kind), model, max_iterations=most)
    assert_finite(cal)
    assert np.isfinite(cal.abilities()[["ability", "se"]]).all(axis=None)
    assert cal.converged != any("Not converged" in note for note in cal.notes)


@pytest.mark.parametrize("model", ["graded", "gpcm"])
@quick
@given(values=some_table(st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, np.nan])))
def test_any_small_table_of_grades_calibrates(model, values):
    assert_calibrates(values, "graded", model)


scores = st.sampled_from([0.01, 0.2, 0.2001, 0.5, 0.9, 0.999999, np.nan])


@quick
@given(values=some_table(scores | st.floats(1e-6, 1 - 1e-6)))
def test_any_small_table_of_scores_calibrates(values):
    assert_calibrates(values, "continuous", "continuous")


@settings(quick, max_examples=5)  # incomplete gamma functions take their time
@given(values=some_table(scores | st.floats(1e-6, 1 - 1e-6)))
def test_any_small_table_of_probabilities_calibrates(values):
    assert_calibrates(values, "continuous", "beta", 20)


@settings(quick, max_examples=15)
@given(values=some_table(st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_any_small_table_of_unbounded_scores_calibrates_or_says_why_not(values):
    """Bounds are then those of the table; scores that are all at a bound are no scores."""
    said = ""
    try:
        assert_finite(calibrate(Responses(values, kind="continuous"), max_iterations=60))
    except InputError as error:
        said = str(error)
    two = np.unique(values[~np.isnan(values)]).size == 2
    assert not said or ("the bounds of the continuous model" in said and two)


def test_few_models_on_many_items_come_to_rest_with_errors_of_a_sensible_size(subtests):
    # Priors are most of what is known here; the errors used to run to hundreds.
    for n_respondents, n_items in [(3, 30), (4, 60), (6, 60), (8, 60)]:
        with subtests.test(n_respondents=n_respondents, n_items=n_items):
            cal = calibrate(simulate("2pl", n_respondents, n_items, random_state=0).responses)
            assert cal.converged
            assert cal.items["discrimination_se"].median() < 4


def test_an_item_without_discrimination_says_so(subtests):
    """It is shown with the least slope and a difficulty far away, which are nominal."""
    graded = np.repeat(np.arange(4.0), 8)  # four groups of respondents, from weak to strong
    alike = np.tile([0.0, 1.0, 1.0, 1.0], 8)  # has nothing to do with the groups
    columns = [(graded > step).astype(float) for step in (0, 1, 2)]
    cells = np.stack([*columns, alike], axis=1)
    for model, kind in (("2pl", "binary"), ("graded", "graded"), ("gpcm", "graded")):
        with subtests.test(model):
            found = calibrate(Responses(cells, kind=kind), model)
            assert "no discrimination" in found.items["flag"].iloc[3]
            assert not found.items["flag"].iloc[:3].str.contains("no discrimination").any()
            assert any("without discrimination" in note for note in found.notes)
