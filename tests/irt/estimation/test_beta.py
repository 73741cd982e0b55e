"""Probabilities: the beta model, whose scale has a middle and a unit of its own."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive import Responses, calibrate, simulate


@pytest.fixture(scope="module")
def drawn():
    return simulate("beta", 300, 6, missing=0.1, random_state=3)


class Items:
    """A model and a frame of items: what `definition.marginal` needs of a calibration."""

    def __init__(self, model, items):
        self.model, self.items = model, items


@pytest.mark.slow
def test_scipy_finds_nothing_better(definition, drawn):
    responses = drawn.responses.select(range(150), range(4))
    cal = calibrate(responses, "beta", priors=None, tolerance=1e-9)
    names = ["discrimination", "difficulty"]

    def loss(x):
        frame = cal.items.copy()
        frame[names] = x.reshape(4, 2)
        return -definition.marginal(Items(cal.model, frame), responses.values, nodes=161)

    begin = np.tile([1.0, 0.0], 4)
    options = {"maxiter": 200, "ftol": 1e-13, "gtol": 1e-6}
    bounds = [(-20, 20), (None, None)] * 4
    found = minimize(loss, begin, method="L-BFGS-B", bounds=bounds, options=options)
    assert cal.converged
    assert cal.log_likelihood >= -found.fun - 1e-4
    np.testing.assert_allclose(cal.items[names].to_numpy().ravel(), found.x, atol=0.01)


@pytest.mark.parametrize("digits", [3, 6])
def test_rounded_probabilities_with_exact_zeros_and_ones_give_the_same_items(digits):
    """Those at a bound tell how near they are, so that rounding costs little."""
    responses, truth = simulate("beta", 800, 10, random_state=5)
    rounded = Responses(np.round(responses.values, digits), kind="continuous")
    assert ((rounded.values == 0) | (rounded.values == 1)).mean() > 0.1
    cal = calibrate(rounded, "beta")
    assert cal.converged
    apart = cal.items[["discrimination", "difficulty"]] - truth.items
    assert np.sqrt((apart**2).mean()).max() < 0.12
    assert np.corrcoef(cal.abilities()["ability"], truth.abilities["ability"])[0, 1] > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("digits", [2, 3, 5])
def test_the_log_likelihood_of_rounded_probabilities_is_the_integral_of_its_formula(
    definition, digits
):
    """The chance of a score at a bound is right to the distance that counts as none."""
    responses = simulate("beta", 300, 8, random_state=4).responses
    rounded = Responses(np.round(responses.values, digits), kind="continuous")
    cal = calibrate(rounded, "beta")
    at_bounds = ((rounded.values == 0) | (rounded.values == 1)).sum()
    assert cal.log_likelihood == pytest.approx(
        definition.marginal(cal, rounded.values), abs=at_bounds * cal.model.inside[0]
    )


def test_scores_at_a_bound_are_a_chance_not_an_infinite_density(drawn):
    values = drawn.responses.values
    values[0, 0], values[1, 1] = 0.0, 1.0
    cal = calibrate(values, "beta")
    assert cal.converged
    assert np.isfinite(cal.log_likelihood)
    assert np.isfinite(cal.items.drop(columns="flag")).all(axis=None)
    assert np.isfinite(cal.abilities("ml")[["ability", "se"]]).all(axis=None)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "turned"), [(10, 2), (3, 3)])
def test_abilities_are_posterior_means_where_items_are_steep(definition, seed, turned):
    """Far from where a respondent stands, such items leave a log-likelihood of -1e40."""
    values = simulate("beta", 200, 9, random_state=seed).responses.values
    values[:, :turned] = 1 - values[:, :turned]
    cal = calibrate(values, "beta")
    grid = np.linspace(-8, 8, 1601)
    joint = definition.log_density(cal.model, cal.items, values, grid).sum(axis=1)
    joint = joint + definition.standard_normal(grid)
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ grid
    scored = cal.abilities(items_known=True)
    np.testing.assert_allclose(scored["ability"], mean, atol=1e-3)
    np.testing.assert_allclose(scored["se"] ** 2, weights @ grid**2 - mean**2, atol=1e-3)


def test_the_direction_is_that_of_the_scores(drawn):
    """A scale that cannot be turned needs no turning: it begins the right way round."""
    values = drawn.responses.values
    values[:, :2] = 1 - values[:, :2]
    cal = calibrate(values, "beta")
    assert (cal.items["discrimination"] < 0).tolist() == [True, True, False, False, False, False]
    flags = ["negative discrimination" in words for words in cal.flags]
    assert flags == [True, True, False, False, False, False]


def test_where_ability_is_the_difficulty_scores_are_uniform(drawn):
    """Both parameters are then one, whatever the discrimination."""
    cal = calibrate(drawn.responses, "beta")
    for k, difficulty in enumerate(cal.items["difficulty"]):
        assert cal.probability([difficulty]).iloc[0, k] == pytest.approx(0.5)


def test_a_histogram_of_abilities_is_taken_as_it_is():
    """The scale has a middle and a unit of its own; unit and discriminations go together a bit."""
    truth = simulate("beta", 1, 8, random_state=3).truth
    ability = np.random.default_rng(0).normal(0.7, 0.6, 250)
    responses = simulate("beta", abilities=ability, items=truth.items, random_state=1).responses
    cal = calibrate(responses, "beta", population="histogram", tolerance=1e-2)
    assert cal.converged
    assert cal.population.mean == pytest.approx(0.7, abs=0.15)
    assert cal.population.sd == pytest.approx(0.6, abs=0.15)
    assert cal.log_likelihood > calibrate(responses, "beta").log_likelihood + 20


@pytest.mark.slow
def test_priors_of_many_items_do_not_pull_the_scale_of_few_respondents():
    """All together they took a tenth off all discriminations."""
    responses = simulate("beta", 15, 60, random_state=2).responses
    with_priors, bare = calibrate(responses, "beta"), calibrate(responses, "beta", priors=None)
    assert with_priors.converged
    assert with_priors.iterations <= 40
    unit = np.median(with_priors.items["discrimination"] / bare.items["discrimination"])
    assert unit == pytest.approx(1.0, abs=0.03)


def test_few_respondents_and_many_items_come_to_rest():
    """Iterations crept along the scale that all items share: 200 of them did not end."""
    cal = calibrate(simulate("beta", 12, 80, random_state=501).responses, "beta")
    assert cal.converged
    assert cal.iterations <= 40
