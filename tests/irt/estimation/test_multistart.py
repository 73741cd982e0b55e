"""Starting values, and other maxima of single items."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit

from ogive import Continuous, Responses, calibrate, simulate
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import em_engine
from ogive.irt.estimation.e_step import with_moments
from ogive.irt.estimation.em_engine import EM
from ogive.irt.estimation.m_step import item_values
from ogive.irt.estimation.multistart import (
    _best_loading,
    _factor_misfit,
    centred,
    factor_analysis,
    factor_start,
    has_local_maxima,
    loadings,
    restart_items,
)
from ogive.irt.estimation.objective import Problem
from ogive.irt.models import with_priors
from ogive.irt.models.logistic import ThreePL, TwoPL


def one_factor(loading, noise):
    return np.outer(loading, loading) + np.diag(noise)


def test_a_covariance_of_one_factor_gives_its_loadings_and_noise():
    loading, noise = np.array([1.0, 0.5, -0.8, 2.0]), np.array([0.5, 1.0, 0.3, 0.7])
    found, left = factor_analysis(one_factor(loading, noise), 1e-4)
    np.testing.assert_allclose(found * np.sign(found[0]), loading, atol=1e-4)
    np.testing.assert_allclose(left, noise, rtol=1e-3)


def test_the_slope_of_the_misfit_is_that_of_its_differences():
    random = np.random.default_rng(0)
    table = random.normal(size=(50, 6)) + random.normal(size=(50, 1))
    covariance = np.cov(table.T)
    for weight in (0.0, 0.1):
        error = check_grad(
            lambda x, weight: _factor_misfit(x, covariance, weight)[0],
            lambda x, weight: _factor_misfit(x, covariance, weight)[1],
            random.normal(size=6) - 0.5,
            weight,
        )
        assert error < 1e-5


def twins(noise):
    """Six items, two pairs of which tell nearly the same: where EM creeps, and finds saddles."""
    random = np.random.default_rng(3)
    ability, other = random.normal(size=(2, 400))
    base = np.stack([ability, ability, other, other, ability + other, random.normal(size=400)])
    z = (base + noise * random.normal(size=base.shape)).T
    return Responses(1 / (1 + np.exp(-z)), kind="continuous")


def test_items_that_tell_the_same_converge_at_once(subtests):
    for noise in [0.05, 0.2, 1.0]:
        with subtests.test(noise=noise):
            found = calibrate(twins(noise), Continuous(bounds=(0, 1)), priors=None)
            assert found.converged
            assert found.iterations <= 5
            assert calibrate(twins(noise), Continuous(bounds=(0, 1))).iterations <= 15


def test_nothing_higher_is_found_from_many_other_starts():
    """The likelihood of a row, by hand, climbed by a general optimiser."""
    from scipy.optimize import minimize

    responses, _ = simulate("continuous", n_respondents=300, n_items=6, random_state=5)
    values = responses.cells
    z = np.log(values) - np.log1p(-values)
    covariance = np.cov(z.T, bias=True)

    def deviance(x):
        whole = one_factor(x[:6], np.exp(2 * np.clip(x[6:], np.log(0.01), 7)))
        return np.linalg.slogdet(whole)[1] + np.trace(np.linalg.solve(whole, covariance))

    random = np.random.default_rng(0)
    lowest = min(
        minimize(deviance, random.normal(size=12), method="L-BFGS-B").fun for _ in range(8)
    )
    rows = len(z) * -0.5 * (lowest + 6 * np.log(2 * np.pi))
    density = -(np.log(values) + np.log1p(-values)).sum()  # of the scores, not of their log-odds
    best = calibrate(responses, Continuous(bounds=(0, 1)), priors=None)
    assert best.log_likelihood > rows + density - 1e-3


def test_a_simulated_truth_is_found():
    responses, truth = simulate("continuous", n_respondents=4000, n_items=12, random_state=1)
    found = calibrate(responses, "continuous")
    away = (found.items["difficulty"] - truth.items["difficulty"]) / found.items["difficulty_se"]
    assert found.converged
    assert np.abs(away).max() < 4


def test_a_constant_item_does_not_hinder():
    responses, _ = simulate("continuous", n_respondents=200, n_items=5, random_state=1)
    table = np.column_stack([responses.cells, np.full(200, 0.7)])
    found = calibrate(Responses(table, kind="continuous"), Continuous(bounds=(0, 1)))
    assert found.converged
    assert found.flags[-1]


def test_what_rounding_leaves_of_a_constant_item_is_no_spread(subtests):
    for value in [0.1, 0.7, np.log(9), 1e6 + 0.1]:
        with subtests.test(value=value):
            varied = np.random.default_rng(0).normal(size=10)
            table, asked = np.stack([np.full(10, value), varied], axis=1), np.ones((10, 2))
            found = centred(table, asked, np.full(10, 0.3))
            np.testing.assert_array_equal(found[:, 0], 0.0)
            np.testing.assert_allclose(found[:, 1], varied - varied.mean(), atol=1e-12)


def test_loadings_are_correlations_with_the_first_principal_component():
    random = np.random.default_rng(1)
    table = random.normal(size=(200, 5)) + random.normal(size=(200, 1)) * [1, 2, -1, 0.5, 3]
    table = centred(table, np.ones((200, 5)), np.ones(200))
    sizes, ways = np.linalg.eigh(np.corrcoef(table.T))
    wanted = ways[:, -1] * np.sqrt(sizes[-1])
    found = loadings(table, np.ones(200))
    np.testing.assert_allclose(found, wanted * np.sign(wanted.sum()), atol=0.02)
    turned = loadings(-table, np.ones(200))
    np.testing.assert_allclose(turned, found, atol=0.02)
    weights = random.integers(1, 4, 200)
    heavy = loadings(np.repeat(table, weights, axis=0), np.ones(weights.sum()))
    np.testing.assert_allclose(loadings(table, weights.astype(float)), heavy, atol=0.02)
    assert np.isfinite(loadings(np.zeros((4, 3)), np.ones(4))).all()


def test_the_loadings_for_a_given_noise_are_the_best():
    """Minus twice the log-likelihood of a row, from its definition."""
    random = np.random.default_rng(2)
    covariance = np.cov((random.normal(size=(60, 4)) + random.normal(size=(60, 1))).T)
    noise = np.array([0.5, 0.8, 1.2, 0.3])

    def value(loading):
        whole = np.outer(loading, loading) + np.diag(noise)
        return np.linalg.slogdet(whole)[1] + np.trace(np.linalg.solve(whole, covariance))

    loading = _best_loading(covariance, noise)
    for step in np.vstack([np.eye(4), -np.eye(4)]) * 1e-3:
        assert value(loading) < value(loading + step)
    penalty = 0.1 * (np.diag(covariance) / noise).sum()
    assert _factor_misfit(np.log(noise), covariance, 0.1)[0] == pytest.approx(
        value(loading) + penalty
    )
    assert not _best_loading(
        np.diag(noise) * 0.5, noise
    ).any()  # less than the noise: nothing shared


def test_a_factor_start_needs_three_items_that_vary_and_normal_responses():
    responses, _ = simulate("continuous", 50, 5, random_state=0)
    model = Continuous(bounds=(0, 1)).fitted_to(responses.cells, responses.items)
    data = with_moments(encode(responses.cells, model), map)
    found = factor_start(data, model)
    mean, covariance = data.moments
    loading, noise = factor_analysis(covariance, np.exp(2 * model.coordinates[2].low), 1 / 50)
    sign = 1 if loading.sum() >= 0 else -1
    np.testing.assert_allclose(found[:, 0], sign * loading / np.sqrt(noise), rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], mean)
    np.testing.assert_allclose(found[:, 2], 0.5 * np.log(noise), rtol=1e-6)
    flat = responses.cells.copy()
    flat[:, :2] = 0.5
    some = factor_start(with_moments(encode(flat, model), map), model)
    assert some[:2, 0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(some[:2, 2], model.coordinates[2].low)
    flat[:, 2] = 0.5
    assert factor_start(with_moments(encode(flat, model), map), model) is None
    assert factor_start(encode(responses.cells, model), model) is None
    two = Continuous(bounds=(0, 1)).fitted_to(responses.cells[:, :2], responses.items[:2])
    assert factor_start(with_moments(encode(responses.cells[:, :2], two), map), two) is None


BARE = with_priors(ThreePL(), None)
ABILITIES = np.linspace(-3, 3, 25)
TRUTH = np.array([[1.5, 0.3, 0.2], [-0.8, 0.5, 0.1], [2.5, -1.0, 0.25]])


def sums(coords):
    """Right responses and totals at each ability, as the curves have them without any noise."""
    totals = np.full((len(coords), ABILITIES.size), 40.0)
    rise = expit(coords[:, :1] * ABILITIES + coords[:, 1:2])
    return ABILITIES, (totals * (coords[:, 2:] + (1 - coords[:, 2:]) * rise))[None], totals


def test_an_item_at_its_highest_maximum_stays():
    given, tilt = sums(TRUTH), np.zeros((3, 3))
    found, gained = restart_items(BARE, TRUTH, given, tilt)
    np.testing.assert_allclose(found, TRUTH, atol=1e-3)
    assert 0 <= gained < 1e-4


def test_items_that_lean_the_wrong_way_are_turned_and_what_they_gain_is_said():
    given, tilt = sums(TRUTH), np.zeros((3, 3))
    wrong = TRUTH * [-1.0, 1.0, 1.0]
    found, gained = restart_items(BARE, wrong, given, tilt)
    before, after = (item_values(BARE, each, given, tilt) for each in (wrong, found))
    assert (after > before + 10).all()
    assert gained == pytest.approx((after - before).sum())
    assert (np.sign(found[:, 0]) == np.sign(TRUTH[:, 0])).all()


def test_only_asymptotes_without_priors_are_looked_at_again():
    assert has_local_maxima(BARE)
    assert not has_local_maxima(ThreePL())
    assert not has_local_maxima(with_priors(TwoPL(), None))


def test_items_are_restarted_until_nothing_is_gained(monkeypatch):
    gains, begun = [3.0, 0.5, 0.0], []

    def restart(model, coords, *others):
        return coords, gains.pop(0)

    def run(engine, problem, start, iterations=0, near=None):
        begun.append(iterations)
        return replace(solution, iterations=iterations + 4)

    responses = simulate("3pl", 50, 4, random_state=0).responses
    problem = Problem(encode(responses.cells, BARE), BARE)
    coords = np.tile([1.0, 0.0, 0.1], (4, 1))
    nodes = problem.plan(coords)
    iterate = problem.evaluate(problem.data, coords, nodes)
    solution = problem.solution(iterate, nodes, 10, 1.0, converged=True)
    monkeypatch.setattr(em_engine, "restart_items", restart)
    monkeypatch.setattr(EM, "_run", run)
    assert EM()._run_with_restarts(problem, coords, 6).iterations == 18
    assert begun == [6, 10, 14]
    assert not gains
