"""Populations whose mean depends on facts: against a second writing, and against the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

import ogive as og
from ogive.errors import InputError
from ogive.irt import latent_regression as explained_population
from ogive.irt.latent_regression import Facts, explain_population

GRID = np.linspace(-9.0, 9.0, 121)


def drawn(n=200, n_items=4, seed=0, missing=0.1):
    random = np.random.default_rng(seed)
    group = np.arange(n) % 2
    ability = random.normal(0.5 * group, 1 + 0.3 * group)
    table = og.simulate("2pl", abilities=ability, n_items=n_items, missing=missing, random_state=1)
    return table.responses, Facts(np.stack([np.ones(n), group * 1.0], axis=1), group)


def log_likelihood(values, slopes, intercepts, mean, sd):
    """Marginal log-likelihood by the trapezoid rule, one normal population per respondent."""
    chance = expit(slopes[:, None] * GRID + intercepts[:, None])
    right, wrong = np.log(chance), np.log1p(-chance)
    joint = np.where(np.isnan(values), 0, values) @ right + np.where(values == 0, 1, 0) @ wrong
    away = (GRID - mean[:, None]) / sd[:, None]
    weights = -0.5 * away**2 - np.log(sd[:, None] * np.sqrt(2 * np.pi) / (GRID[1] - GRID[0]))
    return logsumexp(joint + weights, axis=1).sum()


def test_two_groups_have_the_maximum_that_another_optimiser_finds():
    table, facts = drawn()
    found = explain_population(og.calibrate(table, "2pl", priors=None, progress=False), facts)
    assert found.joint
    assert found.converged

    def value(x):
        mean, sd = x[0] * facts.groups, np.where(facts.groups == 1, np.exp(x[1]), 1.0)
        return -log_likelihood(table.values, x[2:6], x[6:], mean, sd)

    begin = np.concatenate(
        [[0.0, 0.0], found.calibration.coords[:, 0], found.calibration.coords[:, 1]]
    )
    best = minimize(value, begin, method="L-BFGS-B", options={"maxfun": 20_000})
    assert found.log_likelihood == pytest.approx(-best.fun, abs=0.01)
    assert found.coefficients[1] == pytest.approx(best.x[0], abs=0.01)
    assert found.log_sd[1] == pytest.approx(best.x[1], abs=0.01)
    here = value(
        np.concatenate([[found.coefficients[1], found.log_sd[1]], *found.calibration.coords.T])
    )
    assert found.log_likelihood == pytest.approx(-here, abs=1e-4)


def test_standard_errors_are_those_of_the_curvature_where_items_are_known(monkeypatch):
    monkeypatch.setattr(explained_population, "ENOUGH", 10_000)
    table, facts = drawn(120)
    bank = og.calibrate(table, "2pl", progress=False)
    found = explain_population(bank, facts)
    assert not found.joint
    at = np.concatenate([found.coefficients, found.log_sd])

    def value(x):
        mean, sd = facts.columns @ x[:2], np.exp(x[2:])[facts.groups]
        return log_likelihood(table.values, *bank.coords.T, mean, sd)

    step = 1e-3 * np.eye(4)
    hessian = np.array(
        [
            [
                (value(at + i + k) - value(at + i - k) - value(at - i + k) + value(at - i - k))
                / 4e-6
                for k in step
            ]
            for i in step
        ]
    )
    np.testing.assert_allclose(found.covariance, np.linalg.inv(-hessian), rtol=0.01, atol=1e-5)


@pytest.mark.slow
def test_grades_and_choices_are_explained_as_well(subtests):
    for model in (og.Graded(categories=3), og.Nominal(categories=3), og.Continuous()):
        with subtests.test(model.name):
            group = np.arange(260) % 2
            ability = np.random.default_rng(2).normal(0.8 * group, 1)
            table = og.simulate(model, abilities=ability, n_items=8, random_state=3).responses
            facts = Facts(np.stack([np.ones(260), group * 1.0], axis=1), np.zeros(260, int))
            found = explain_population(og.calibrate(table, progress=False), facts)
            assert found.coefficients[1] == pytest.approx(0.8, abs=0.45)


def test_a_model_whose_scale_is_fixed_is_refused():
    table = og.simulate("beta", 30, 5, random_state=0).responses
    bank = og.calibrate(table, "beta", progress=False)
    with pytest.raises(InputError, match="uses the beta model"):
        explain_population(bank, Facts(np.ones((30, 1)), np.zeros(30, int)))


def test_facts_that_explain_nearly_all_leave_the_items_where_they_are():
    x = np.random.default_rng(3).normal(0, 1, 220)
    table = og.simulate("2pl", abilities=x + 0.01, n_items=40, random_state=3).responses
    facts = Facts(np.stack([np.ones(220), x], axis=1), np.zeros(220, int))
    found = explain_population(og.calibrate(table, "2pl", progress=False), facts)
    assert not found.joint
    assert np.corrcoef(found.ability, x)[0, 1] > 0.95
    assert found.coefficients[1] == pytest.approx(1.0, abs=0.15)
