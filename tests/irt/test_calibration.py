"""A bank reads new responses as the kind that it explains, whatever the numbers look like."""

from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive import Normal, OnePL, Responses, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.item_curves import rows_on_scale
from ogive.irt.models import MODELS

plt.switch_backend("Agg")
ABILITIES = np.linspace(-3, 3, 13)
BINARY = [name for name, model in MODELS.items() if model.kind == "binary"]
# The public parameters of each kind of model, in the order of the columns.
LOGISTIC = ["discrimination", "difficulty", "guessing", "slip"]
GRADES = ["discrimination", "difficulty", *(f"difficulty_{k}" for k in range(1, 5))]
OPTIONS = [f"{word}_{k}" for k in (1, 2, 3) for word in ("slope", "intercept")]
PARAMETERS = {
    **dict.fromkeys(BINARY, LOGISTIC),
    "graded": GRADES,
    "gpcm": GRADES,
    "nominal": ["discrimination", "difficulty", *OPTIONS],
    "continuous": ["discrimination", "difficulty", "scaling"],
    "censored": ["discrimination", "difficulty", "scaling"],
    "beta": ["discrimination", "difficulty"],
}


def made(model):
    return calibrate(simulate(model, 300, 6, random_state=1).responses, model)


@pytest.fixture(scope="module")
def cals():
    """A calibration of every model."""
    return [made(model) for model in MODELS]


@pytest.fixture(scope="module")
def binaries(cals):
    return [cal for cal in cals if cal.model.kind == "binary"]


def formula(cal, ability):
    a, b, c, slip = (
        cal.items[name].to_numpy() for name in ("discrimination", "difficulty", "guessing", "slip")
    )
    return c + (1 - slip - c) / (1 + np.exp(-a * (np.reshape(ability, (-1, 1)) - b)))


def test_items_have_a_row_each_and_a_standard_error_beside_each_parameter(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            names = PARAMETERS[cal.model.name]
            assert list(cal.items.columns) == [*names, *(f"{name}_se" for name in names), "flag"]
            assert list(cal.items.index) == list(cal.item_names)
            assert cal.items.index.name == "item"
            moved = {c.name for c in cal.model.coordinates}
            for name in names:
                held = name in ("guessing", "slip") and name not in moved
                assert (cal.items[f"{name}_se"] > 0).all() == (not held)
            assert cal.to_frame().equals(cal.items)


def test_abilities_have_a_row_each(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            scored = cal.abilities()
            assert list(scored.columns) == ["ability", "se", "at_bound"]
            assert list(scored.index) == list(cal.responses.respondents)
            assert scored.index.name == "respondent"


def test_probability_is_the_formula_of_the_documentation(binaries, subtests):
    for binary in binaries:
        with subtests.test(binary.model.name):
            np.testing.assert_allclose(
                binary.probability(ABILITIES), formula(binary, ABILITIES), rtol=1e-9
            )


def test_probability_is_abilities_by_items_and_the_mean_of_what_the_model_draws(cals, subtests):
    """Within four standard errors of the mean of 4,000 draws."""
    for cal in cals:
        with subtests.test(cal.model.name):
            found = cal.probability(ABILITIES)
            assert found.shape == (13, 6)
            assert list(found.columns) == list(cal.item_names)
            np.testing.assert_allclose(found.index, ABILITIES)
            random = np.random.default_rng(0)
            for ability in (-1.5, 0.0, 1.0):
                drawn = cal.model.draw(cal.coords, np.full(4000, ability), random)
                drawn = cal.model.scored(drawn.astype(float))
                error = drawn.std(axis=1) / np.sqrt(4000)
                apart = np.abs(cal.probability([ability]).iloc[0] - drawn.mean(axis=1))
                assert (apart < 4 * error + 1e-9).all()


def test_probability_of_a_frame_of_abilities_keeps_its_names(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            scored = cal.abilities()
            for given in (scored, scored["ability"]):
                assert list(cal.probability(given).index) == list(scored.index)
            assert cal.probability(0.5).shape == (1, 6)


def test_abilities_that_are_none_are_refused(cals, subtests):
    for (case, (given, message)), cal in product(
        {
            "text": ("high", "must be numbers"),
            "missing": ([0.0, np.nan], "infinite or missing"),
            "infinite": ([np.inf], "infinite or missing"),
            "table": ([[0.0]], r"shape \(1, 1\)"),
            "frame": (pd.DataFrame({"theta": [0.0]}), "columns theta.*'ability'"),
        }.items(),
        cals,
    ):
        with subtests.test(f"{case} {cal.model.name}"):
            for ask in (cal.probability, cal.information, cal.test_information):
                with pytest.raises(InputError, match=message):
                    ask(given)


def test_information_is_the_expected_bend_of_the_log_likelihood(binaries, subtests):
    for binary in binaries:
        with subtests.test(binary.model.name):
            cal, nudge = binary, 1e-4
            low, here, high = (formula(cal, ABILITIES + step) for step in (-nudge, 0.0, nudge))
            bend = {
                response: -(np.log(at(low)) - 2 * np.log(at(here)) + np.log(at(high))) / nudge**2
                for response, at in ((1, lambda p: p), (0, lambda p: 1 - p))
            }
            expected = here * bend[1] + (1 - here) * bend[0]
            np.testing.assert_allclose(cal.information(ABILITIES), expected, rtol=1e-4, atol=1e-6)


def test_curves_are_tidy_and_hold_the_same_numbers(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            curves = cal.curves(abilities=ABILITIES)
            frame = curves.to_frame()
            assert frame.shape == (6 * 13, 6)
            assert list(frame.columns)[:4] == ["item", "ability", "expected", "expected_se"]
            wide = frame.pivot_table(index="ability", columns="item", values="expected")
            np.testing.assert_allclose(
                wide[list(cal.item_names)], cal.probability(ABILITIES), rtol=1e-9
            )
            wide = frame.pivot_table(index="ability", columns="item", values="information")
            np.testing.assert_allclose(wide[list(cal.item_names)], cal.information(ABILITIES))
            assert cal.curves().expected.shape == (6, 161)


def test_curves_of_chosen_items_come_in_the_order_asked(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            assert cal.curves(["item_5", "item_2"]).items == ("item_5", "item_2")
            assert cal.curves("item_3").items == ("item_3",)
            with pytest.raises(InputError, match=r"no item 'item_99'.*item_1"):
                cal.curves(["item_1", "item_99"])


def test_standard_errors_of_curves_follow_from_the_covariances_of_items(cals, subtests):
    """Drawn from the covariances, curves scatter as their standard errors say."""
    for cal in cals:
        with subtests.test(cal.model.name):
            draws = 20_000
            random = np.random.default_rng(0)
            covariance = cal.uncertainty.covariances[2]
            small = 1e-4  # of the deviation: the delta method is exact where curves are straight
            coords = random.multivariate_normal(cal.coords[2], small**2 * covariance, draws)
            absent = cal.model.absent(cal.coords)[2]
            coords[:, absent] = cal.coords[2, absent]
            for k, coordinate in enumerate(cal.model.coordinates):
                inside = (coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)
                assert absent[k] or inside.all()
            drawn = cal.model.of_items([2] * draws).expected(coords, ABILITIES)
            expected = drawn.std(axis=0) / small
            found = cal.curves("item_3", ABILITIES).expected_se[0]
            np.testing.assert_allclose(found, expected, rtol=0.04)


def test_test_information_is_the_sum_over_items(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            found = cal.test_information(ABILITIES)
            np.testing.assert_allclose(found.information, cal.information(ABILITIES).sum(axis=1))
            frame = found.to_frame()
            assert list(frame.columns) == ["ability", "information", "se"]
            np.testing.assert_allclose(frame["se"], frame["information"] ** -0.5)


@pytest.mark.slow
def test_plots_draw(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            for result in (cal, cal.curves(), cal.test_information()):
                display = result.plot()
                display.figure_.canvas.draw()
                plt.close(display.figure_)


def test_text_and_page_say_what_it_is(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            assert repr(cal).startswith(f"Calibration: {cal.model.name}, 6 items, log-likelihood")
            assert "converged after" in repr(cal)
            assert "item_1" in cal._repr_html_()


def test_a_calibration_is_frozen(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name), pytest.raises(AttributeError):
            cal.converged = False


def test_items_are_given_away_as_a_copy(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            before = cal.items
            before["difficulty"] = 99.0
            assert not (cal.items["difficulty"] == 99.0).any()
            assert cal.items is not cal.items


def test_coordinates_are_read_only(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name), pytest.raises(ValueError, match="read-only"):
            cal.coords[0, 0] = 1.0


def test_flags_are_words_and_the_frame_joins_them():
    values = simulate("3pl", 200, 3, random_state=1).responses.cells.astype(float)
    values[:, 2] = 1.0
    cal = calibrate(values, "3pl")
    assert cal.flags[2] == ("solved by all",)
    twice = replace(cal, flags=((), (), ("solved by all", "guessing at bound")))
    assert twice.items["flag"].tolist() == ["", "", "solved by all; guessing at bound"]


def test_parameters_are_counted_and_a_shared_one_once(subtests):
    for model, expected in [
        ("1pl", 1 + 6),
        ("2pl", 2 * 6),
        ("3pl", 3 * 6),
        ("4pl", 4 * 6),
        ("graded", 5 * 6),
        ("gpcm", 5 * 6),
        ("continuous", 3 * 6),
        ("beta", 2 * 6),
    ]:
        with subtests.test(model):
            cal = calibrate(simulate(model, 300, 6, random_state=1).responses, model)
            assert cal.n_parameters == expected


def test_a_unit_that_was_given_leaves_the_number_of_parameters():
    """The deviation of the population is estimated in place of the common discrimination."""
    responses = simulate("1pl", 300, 6, random_state=1).responses
    free, given = calibrate(responses, "1pl"), calibrate(responses, OnePL(discrimination=1))
    assert given.n_parameters == free.n_parameters == 7
    assert given.aic == pytest.approx(free.aic)


def test_a_parameter_at_its_bound_was_not_estimated():
    cal = calibrate(simulate("3pl", 300, 8, random_state=6).responses, "3pl", priors=None)
    held = int((cal.items["guessing"] == 0).sum())
    held += int((cal.items["discrimination"].abs() == 20).sum())
    held += int((cal.items["guessing"] == 0.95).sum())
    assert held > 0
    assert cal.n_parameters == 3 * 8 - held


def test_information_criteria_are_their_definitions(cals, subtests):
    for cal in cals:
        with subtests.test(cal.model.name):
            k, n, value = cal.n_parameters, 300, cal.log_likelihood
            assert cal.n_respondents == n
            assert cal.aic == pytest.approx(2 * k - 2 * value)
            assert cal.bic == pytest.approx(np.log(n) * k - 2 * value)


def test_information_criteria_follow_weights():
    values = simulate("2pl", 100, 6, random_state=1).responses.cells
    weighted = calibrate(values, weights=np.full(100, 3.0), tolerance=1e-9)
    thrice = calibrate(np.vstack([values] * 3), tolerance=1e-9)
    assert weighted.n_respondents == thrice.n_respondents == 300
    assert weighted.aic == pytest.approx(thrice.aic)
    assert weighted.bic == pytest.approx(thrice.bic)


def test_the_log_likelihood_of_the_criteria_is_without_priors(plain):
    responses = simulate("2pl", 200, 5, random_state=1).responses
    cal = calibrate(responses, priors={"intercept": Normal(0, 0.5)})
    value, _ = plain.marginal(cal.coords, responses.values)
    assert cal.aic == pytest.approx(20 - 2 * value, rel=1e-6)


@pytest.mark.parametrize("model", ["graded", "gpcm"])
def test_a_grade_that_an_item_lacks_was_not_estimated(model):
    values = simulate(model, 300, 6, random_state=1).responses.cells.copy()
    values[:, 0] = np.minimum(values[:, 0], 2)
    cal = calibrate(values, model)
    assert cal.n_parameters == 5 * 6 - 2
    assert cal.items["difficulty_3"].isna().tolist() == [True, False, False, False, False, False]


def test_scores_of_grades_and_intervals_lie_between_worst_and_best(subtests):
    for model in ["graded", "gpcm", "continuous", "beta"]:
        with subtests.test(model):
            cal = made(model)
            low, high = (np.broadcast_to(bound, 6).sum() for bound in cal.model.extent())
            true = cal.true_scores()["true_score"]
            assert ((true > low) & (true < high)).all()
            assert np.corrcoef(true, np.nansum(cal.responses.values, axis=1))[0, 1] > 0.9


def test_new_respondents_of_some_items_are_scored_by_name(subtests):
    for model in ["graded", "gpcm", "continuous", "beta"]:
        with subtests.test(model):
            cal = made(model)
            some = cal.responses.select(range(5), ["item_4", "item_2"])
            holed = np.full((5, 6), np.nan)
            holed[:, [3, 1]] = some.cells
            for method in ("eap", "ml"):
                np.testing.assert_allclose(
                    cal.score(some, method)["ability"],
                    cal.score(holed_as(cal, holed), method)["ability"],
                )


def holed_as(cal, values):
    return Responses(values, items=cal.item_names, kind=cal.model.kind)


def test_a_bank_refuses_responses_that_its_model_cannot_explain(subtests):
    for model, other, said in [
        ("graded", "beta", "holds .*, but grades are whole numbers"),
        ("2pl", "graded", "holds .*, but binary responses are 0 or 1"),
        ("2pl", "beta", "holds .*, but binary responses are 0 or 1"),
        ("continuous", "graded", "outside the bounds 0 and 1"),
    ]:
        with subtests.test(model=model, other=other, said=said):
            cal, responses = made(model), simulate(other, 10, 6, random_state=1).responses
            with pytest.raises(InputError, match=said):
                cal.score(responses)


def test_scores_outside_the_bounds_of_a_bank_are_named():
    cal = made("continuous")
    values = np.full((1, 6), 0.5)
    values[0, 3] = 1.5
    with pytest.raises(InputError, match=r"item_4.*response 1.5, outside the bounds 0 and 1"):
        cal.score(Responses(values, kind="continuous"))


def test_category_curves_sum_to_one_and_have_the_grades_of_the_item():
    table = np.array([[1, 3], [2, 1], [1, 2], [2, 3], [1, 1], [2, 2]] * 10)
    cal = calibrate(Responses(table, kind="graded", items=["two", "three"]))
    curves = cal.category_curves("two", [-1.0, 0.0, 1.0])
    assert curves.grades == (1, 2)
    np.testing.assert_allclose(curves.probability.sum(axis=0), 1.0, rtol=1e-9)
    assert cal.category_curves("three").grades == (1, 2, 3)
    # Standard errors of chances that sum to one cancel: of two, they are the same.
    np.testing.assert_allclose(*curves.probability_se, rtol=1e-6)


def test_scores_have_no_category_curves():
    cal = calibrate(np.random.default_rng(0).uniform(size=(40, 3)))
    with pytest.raises(InputError, match=r"scores, not grades.*curves\('item_1'\)"):
        cal.category_curves("item_1")


def test_of_equal_respondents_nobody_is_said_to_stand_out():
    """With items as known and each pair alone, most tables had one that did."""
    wrong = 0
    for seed in range(6):
        table = simulate("2pl", n_items=100, abilities=np.zeros(12), random_state=seed).responses
        wrong += "11 others cannot be distinguished" not in calibrate(table, "1pl").meaning
    assert wrong <= 1


def test_differences_and_abilities_can_be_asked_for_in_any_order():
    table = simulate("2pl", 20, 10, random_state=0).responses
    cal, other = calibrate(table, "2pl"), calibrate(table, "2pl")
    covariance, first = cal.ability_covariance(), other.abilities()
    np.testing.assert_allclose(cal.abilities()["se"], covariance.se)
    np.testing.assert_allclose(first["se"], other.ability_covariance().se)


def test_every_number_that_is_not_finite_has_its_reason(subtests):
    tables = {
        "2pl": [[1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]],
        "1pl": [[1], [0], [1], [0], [1], [0]],
        "graded": [[0, 0, 2], [1, 1, 0], [2, 0, 1], [0, 1, 2], [1, 0, 0], [2, 1, 1]],
        "gpcm": [[0, 0, 2], [1, 1, 0], [2, 0, 1], [0, 1, 2], [1, 0, 0], [2, 1, 1]],
    }
    for (model, cells), priors in product(tables.items(), (None, "default")):
        with subtests.test(model=model, priors=priors):
            given = {} if priors == "default" else {"priors": None}
            found = calibrate(np.array(cells, float), model, **given).items
            finite = np.isfinite(found.drop(columns="flag").to_numpy(float)).all(axis=1)
            assert (finite | (found["flag"] != "")).all()
    assert found["flag"]["item_2"] == "no discrimination; fewer grades"


def test_what_all_got_right_is_easy_and_what_the_better_fail_is_neither_easy_nor_hard():
    """Nominal difficulties of both may lie anywhere, because their slopes may be below zero."""
    table = simulate("2pl", 150, 12, random_state=2).responses.values.copy()
    table[:, 0], table[:, 1], table[:, 2] = 1.0, 0.0, 1 - table[:, 3]
    found = calibrate(table, "2pl", progress=False)
    rows = rows_on_scale(found).set_index("name")["position"]
    assert rows["item_1"] == -np.inf
    assert rows["item_2"] == np.inf
    assert np.isnan(rows["item_3"])
    assert "1 item has an estimated discrimination below zero, 1 significantly so" in found.meaning
    found.plot()


@pytest.fixture(scope="module")
def graded():
    return og.calibrate(og.simulate("graded", 80, 6, random_state=3).responses)


@pytest.fixture(scope="module")
def percent():
    scores = og.simulate("continuous", 80, 4, random_state=3).responses.to_frame()
    return og.calibrate(100 * scores, og.Continuous(bounds=(0, 100)))


def test_low_grades_alone_are_still_grades(graded):
    alone = graded.score([[0, 1, 0, 1, 0, 0]])
    beside = graded.score([[0, 1, 0, 1, 0, 0], [3, 2, 3, 4, 2, 3]])
    assert alone["ability"].iloc[0] == pytest.approx(beside["ability"].iloc[0], abs=1e-12)


def test_whole_numbers_are_scores_to_a_bank_of_scores(percent):
    found = percent.score([[3, 4, 5, 7]])
    np.testing.assert_allclose(
        found["ability"], percent.score([[3.0, 4.0, 5.0, 7.0001]])["ability"], atol=1e-3
    )


def test_nothing_asked_is_of_any_kind(graded, percent):
    for cal in (graded, percent):
        empty = pd.DataFrame(np.full((1, len(cal.item_names)), np.nan), columns=cal.item_names)
        assert cal.score(empty)["ability"].iloc[0] == pytest.approx(0, abs=1e-6)


def test_grades_cannot_be_right_or_wrong():
    cal = og.calibrate(og.simulate("2pl", 50, 3, random_state=1).responses)
    grades = og.Responses([[0, 2, 1]], kind="graded", items=cal.item_names)
    with pytest.raises(InputError, match=r"item_2' holds 2, but binary responses are 0 or 1"):
        cal.score(grades)


def test_an_item_of_scores_that_nobody_was_asked_survives_the_bank(tmp_path):
    values = og.simulate("continuous", 60, 4, random_state=2).responses.to_frame()
    values["item_3"] = np.nan
    cal = og.calibrate(values, "continuous")
    assert cal.items.loc["item_3", "discrimination_se"] == pytest.approx(1.0)  # its prior's
    assert np.isnan(cal.items.loc["item_3", "difficulty_se"])
    assert og.load(cal.save(tmp_path / "bank.json")).items.equals(cal.items)


@pytest.mark.parametrize(("items", "told"), [(3, "`items` must be"), ([], "items is empty")])
def test_curves_of_what_is_no_item_are_refused(graded, items, told):
    with pytest.raises(InputError, match=told):
        graded.curves(items)


def test_abilities_beyond_everybody_are_refused(graded):
    with pytest.raises(InputError, match="within ±1,000,000"):
        graded.probability([1e308])
