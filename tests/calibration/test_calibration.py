from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from itemwise import Normal, OnePL, calibrate, simulate
from itemwise.errors import InputError
from itemwise.models import MODELS

plt.switch_backend("Agg")
ABILITIES = np.linspace(-3, 3, 13)


@pytest.fixture(scope="module", params=MODELS)
def cal(request):
    return calibrate(simulate(request.param, 300, 6, random_state=1).responses, request.param)


def formula(cal, ability):
    a, b, c, slip = (
        cal.items[name].to_numpy() for name in ("discrimination", "difficulty", "guessing", "slip")
    )
    return c + (1 - slip - c) / (1 + np.exp(-a * (np.reshape(ability, (-1, 1)) - b)))


def test_items_have_a_row_each_and_a_standard_error_beside_each_parameter(cal):
    names = ["discrimination", "difficulty", "guessing", "slip"]
    assert list(cal.items.columns) == [*names, *(f"{name}_se" for name in names), "flag"]
    assert list(cal.items.index) == list(cal.item_names)
    assert cal.items.index.name == "item"
    moved = {c.name for c in cal.model.coordinates}
    for name in ("guessing", "slip"):
        assert (cal.items[f"{name}_se"] > 0).all() == (name in moved)
    assert cal.to_frame().equals(cal.items)


def test_abilities_have_a_row_each(cal):
    scored = cal.abilities()
    assert list(scored.columns) == ["ability", "se", "at_bound"]
    assert list(scored.index) == list(cal.responses.respondents)
    assert scored.index.name == "respondent"


def test_probability_is_the_formula_of_the_documentation(cal):
    found = cal.probability(ABILITIES)
    assert found.shape == (13, 6)
    assert list(found.columns) == list(cal.item_names)
    np.testing.assert_allclose(found.index, ABILITIES)
    np.testing.assert_allclose(found, formula(cal, ABILITIES), rtol=1e-9)


def test_probability_of_a_frame_of_abilities_keeps_its_names(cal):
    scored = cal.abilities()
    for given in (scored, scored["ability"]):
        assert list(cal.probability(given).index) == list(scored.index)
    assert cal.probability(0.5).shape == (1, 6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("high", "must be numbers"),
        ([0.0, np.nan], "infinite or missing"),
        ([np.inf], "infinite or missing"),
        ([[0.0]], r"shape \(1, 1\)"),
        (pd.DataFrame({"theta": [0.0]}), "columns theta.*'ability'"),
    ],
    ids=["text", "missing", "infinite", "table", "frame"],
)
def test_abilities_that_are_none_are_refused(cal, given, message):
    for ask in (cal.probability, cal.information, cal.test_information):
        with pytest.raises(InputError, match=message):
            ask(given)


def test_information_is_the_expected_bend_of_the_log_likelihood(cal):
    nudge = 1e-4
    low, here, high = (formula(cal, ABILITIES + step) for step in (-nudge, 0.0, nudge))
    bend = {
        response: -(np.log(at(low)) - 2 * np.log(at(here)) + np.log(at(high))) / nudge**2
        for response, at in ((1, lambda p: p), (0, lambda p: 1 - p))
    }
    expected = here * bend[1] + (1 - here) * bend[0]
    np.testing.assert_allclose(cal.information(ABILITIES), expected, rtol=1e-4, atol=1e-6)


def test_curves_are_tidy_and_hold_the_same_numbers(cal):
    curves = cal.curves(abilities=ABILITIES)
    frame = curves.to_frame()
    assert frame.shape == (6 * 13, 6)
    wide = frame.pivot_table(index="ability", columns="item", values="probability")
    np.testing.assert_allclose(wide[list(cal.item_names)], formula(cal, ABILITIES), rtol=1e-9)
    wide = frame.pivot_table(index="ability", columns="item", values="information")
    np.testing.assert_allclose(wide[list(cal.item_names)], cal.information(ABILITIES))
    assert cal.curves().probability.shape == (6, 161)


def test_curves_of_chosen_items_come_in_the_order_asked(cal):
    assert cal.curves(["item_5", "item_2"]).items == ("item_5", "item_2")
    assert cal.curves("item_3").items == ("item_3",)
    with pytest.raises(InputError, match=r"no item 'item_99'.*item_1"):
        cal.curves(["item_1", "item_99"])


def test_standard_errors_of_curves_follow_from_the_covariances_of_items(cal):
    """Drawn from the covariances, curves scatter as their standard errors say."""
    draws = 20_000
    random = np.random.default_rng(0)
    covariance = cal.uncertainty.covariances[2]
    small = 1e-4  # of the deviation: the delta method is exact where curves are straight
    coords = random.multivariate_normal(cal.coords[2], small**2 * covariance, draws)
    for k, coordinate in enumerate(cal.model.coordinates):
        assert ((coords[:, k] > coordinate.low) & (coords[:, k] < coordinate.high)).all()
    drawn = cal.model.ability_derivatives(coords, ABILITIES)[0][1]
    expected = drawn.std(axis=0) / small
    found = cal.curves("item_3", ABILITIES).probability_se[0]
    np.testing.assert_allclose(found, expected, rtol=0.04)


def test_test_information_is_the_sum_over_items(cal):
    found = cal.test_information(ABILITIES)
    np.testing.assert_allclose(found.information, cal.information(ABILITIES).sum(axis=1))
    frame = found.to_frame()
    assert list(frame.columns) == ["ability", "information", "se"]
    np.testing.assert_allclose(frame["se"], frame["information"] ** -0.5)


def test_plots_draw(cal):
    for result in (cal, cal.curves(), cal.test_information()):
        display = result.plot()
        display.figure_.canvas.draw()
        plt.close(display.figure_)


def test_text_and_page_say_what_it_is(cal):
    assert repr(cal).startswith(f"Calibration: {cal.model.name}, 6 items, log-likelihood")
    assert "converged after" in repr(cal)
    assert "item_1" in cal._repr_html_()


def test_a_calibration_is_frozen(cal):
    with pytest.raises(AttributeError):
        cal.converged = False


def test_items_are_given_away_as_a_copy(cal):
    before = cal.items
    before["difficulty"] = 99.0
    assert not (cal.items["difficulty"] == 99.0).any()
    assert cal.items is not cal.items


def test_coordinates_are_read_only(cal):
    with pytest.raises(ValueError, match="read-only"):
        cal.coords[0, 0] = 1.0


def test_flags_are_words_and_the_frame_joins_them():
    values = simulate("3pl", 200, 3, random_state=1).responses.cells.astype(float)
    values[:, 2] = 1.0
    cal = calibrate(values, "3pl")
    assert cal.flags[2] == ("all right",)
    twice = replace(cal, flags=((), (), ("all right", "guessing at bound")))
    assert twice.items["flag"].tolist() == ["", "", "all right; guessing at bound"]


@pytest.mark.parametrize(
    ("model", "expected"), [("1pl", 1 + 6), ("2pl", 2 * 6), ("3pl", 3 * 6), ("4pl", 4 * 6)]
)
def test_parameters_are_counted_and_a_shared_one_once(model, expected):
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


def test_information_criteria_are_their_definitions(cal):
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
