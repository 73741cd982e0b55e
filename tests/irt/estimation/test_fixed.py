"""Items of a bank are held, and new ones are found beside them on its scale."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import ogive as og
from ogive import calibrate, simulate
from ogive.errors import InputError
from ogive.irt.estimation import standard_errors as observed_information

MODELS = ("1pl", "2pl", "3pl", "graded", "gpcm", "continuous")
MEAN, SD = 1.0, 1.2  # of the new respondents on the scale of the old ones


@cache
def world(model, n=1500, n_anchors=12, n_new=6):
    """Items, a bank of some, and responses of better respondents to all."""
    random = np.random.default_rng(1)
    items = simulate(model, 2, n_anchors + n_new, random_state=5).truth.items
    first, second = random.normal(size=n), random.normal(MEAN, SD, n)
    old = simulate(model, items=items.iloc[:n_anchors], abilities=first, random_state=2)
    new = simulate(model, items=items, abilities=second, random_state=3)
    # The scale of the bank is that of the respondents who were drawn for it.
    origin, unit = first.mean(), first.std()
    items["difficulty"] = (items["difficulty"] - origin) / unit
    place = (second.mean() - origin) / unit, second.std() / unit
    return items, calibrate(old.responses, model), new.responses, place


@cache
def beside(model):
    _, bank, responses, _ = world(model)
    return calibrate(responses, fixed=bank)


@pytest.mark.parametrize("model", MODELS)
def test_items_of_the_bank_do_not_move(model):
    _, bank, _, _ = world(model)
    found = beside(model)
    assert found.converged
    held = found.of_items(bank.item_names)
    np.testing.assert_array_equal(held.coords[:, : bank.coords.shape[1]], bank.coords)
    np.testing.assert_array_equal(held.items["difficulty_se"], bank.items["difficulty_se"])
    assert held.items["flag"].str.contains("held").all()


def test_new_items_stand_where_they_are_on_the_old_scale_though_respondents_are_better(subtests):
    for model in MODELS:
        with subtests.test(model=model):
            items, bank, _, (mean, sd) = world(model)
            found = beside(model)
            assert found.population.mean == pytest.approx(mean, abs=0.1)
            assert found.population.sd == pytest.approx(sd, abs=0.1)
            new = found.items.drop(index=list(bank.item_names))
            truth = items.loc[new.index]
            z = (new["difficulty"] - truth["difficulty"]) / new["difficulty_se"]
            assert np.abs(z).max() < 4
            free = calibrate(world(model)[2], model).items.loc[new.index]
            assert (free["difficulty"] - truth["difficulty"]).mean() < -0.4  # on a scale of its own


def test_the_population_is_the_one_of_highest_likelihood():
    _, bank, responses, _ = world("2pl")
    found = calibrate(responses.select(items=bank.item_names), fixed=bank)
    points = np.linspace(-8, 8, 401)
    prob = bank.probability(points).to_numpy()
    right = responses.select(items=bank.item_names).values
    log_rows = right @ np.log(prob).T + (1 - right) @ np.log1p(-prob).T

    def height(mean, sd):
        weights = np.exp(-0.5 * ((points - mean) / sd) ** 2)
        return np.log(np.exp(log_rows) @ (weights / weights.sum())).sum()

    mean, sd = found.population.mean, found.population.sd
    top = height(mean, sd)
    assert top == pytest.approx(found.log_likelihood, abs=1e-3)
    for other in ((mean + 0.01, sd), (mean - 0.01, sd), (mean, sd + 0.01), (mean, sd - 0.01)):
        assert height(*other) < top


@pytest.mark.parametrize("model", ["1pl", "2pl", "graded"])
def test_standard_errors_of_many_items_agree_with_those_of_the_whole_matrix(model, monkeypatch):
    _, bank, responses, _ = world(model)
    whole = beside(model).items.drop(index=list(bank.item_names))
    monkeypatch.setattr(observed_information, "MAX_EXACT", 0)
    monkeypatch.setattr("ogive.irt.estimation.multistart.MAX_EXACT", 0)
    parts = calibrate(responses, fixed=bank).items.loc[whole.index]
    np.testing.assert_allclose(parts["difficulty_se"], whole["difficulty_se"], rtol=0.06)


def test_missing_responses_and_fewer_grades_than_the_bank_knows_are_fine():
    _, bank, responses, _ = world("graded")
    few = responses.select(respondents=responses.respondents[:200])
    values = few.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    values[:, 0] = np.minimum(values[:, 0], 2)
    table = og.Responses(values, few.respondents, few.items, "graded")
    found = calibrate(table, fixed=bank)
    assert found.converged
    assert "12 items held as the bank has them, 6 items found beside them" in found.notes[0]


def test_the_likelihood_of_scores_beside_a_bank_is_that_of_normal_log_odds():
    _, bank, responses, _ = world("continuous")
    usual = (np.abs(responses.values - 0.5) < 0.499).all(axis=1)  # as near to a bound as the bank's
    few = responses.select(respondents=np.array(responses.respondents)[usual][:200])
    found = calibrate(few, fixed=bank)
    items, x = found.items, few.values
    loading = 1 / items["scaling"].to_numpy()
    noise = loading / items["discrimination"].to_numpy()
    mean = loading * (found.population.mean - items["difficulty"].to_numpy())
    spread = found.population.sd**2 * np.outer(loading, loading) + np.diag(noise**2)
    density = multivariate_normal(mean, spread).logpdf(np.log(x / (1 - x)))
    wanted = density.sum() - np.log(x * (1 - x)).sum()  # of scores, not of their log-odds
    assert found.log_likelihood == pytest.approx(wanted, rel=1e-6)


def test_only_what_was_found_counts_as_a_parameter():
    assert beside("2pl").n_parameters == 6 * 2 + 2
    assert beside("1pl").n_parameters == 6 + 2


def test_what_cannot_hold_items_is_refused(subtests):
    for change, message in [
        ({"engine": "joint"}, "held by the em engine with a normal population only"),
        ({"population": "histogram"}, "held by the em engine with a normal population only"),
        ({"model": "3pl"}, "must be that of the bank, '2pl', got '3pl'"),
    ]:
        with subtests.test(change=change):
            _, bank, responses, _ = world("2pl")
            with pytest.raises(InputError, match=message):
                calibrate(responses, fixed=bank, **change)


def test_a_bank_that_knows_none_of_the_items_is_refused_with_names_of_both():
    _, bank, responses, _ = world("2pl")
    strange = og.Responses(responses.values, items=[f"q{k}" for k in range(responses.n_items)])
    with pytest.raises(InputError, match=r"0 items.*\(q0, q1, q2, \.\.\.\).*\(item_1, item_2"):
        calibrate(strange, fixed=bank)


def test_a_model_whose_curves_do_not_move_with_the_scale_is_refused():
    scores = simulate("beta", 60, 5, random_state=1).responses
    with pytest.raises(InputError, match="beta model cannot be held"):
        calibrate(scores, fixed=calibrate(scores, "beta"))


@pytest.mark.parametrize("n", [1, 5])
def test_a_population_that_got_everything_right_stays_finite(n):
    _, bank, _, _ = world("2pl")
    found = calibrate(og.Responses(np.ones((n, 12)), items=list(bank.item_names)), fixed=bank)
    assert found.converged
    assert 1 < found.population.mean < 10
    assert 0.2 < found.population.sd < 5


def test_a_bank_with_guessing_at_its_bound_can_be_held():
    table = simulate("3pl", 400, 10, random_state=4).responses
    bank = calibrate(table.select(items=table.items[:7]), "3pl", priors={"guessing": None})
    assert (bank.items["guessing"] == 0).any()
    regular = replace(bank, model=bank.model.regularised())
    assert calibrate(table, fixed=regular).converged
