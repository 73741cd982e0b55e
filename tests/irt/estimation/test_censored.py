"""Scores that are cut off: the maximum of a Tobit factor analysis, and recovered items."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit, logsumexp
from scipy.stats import norm

import ogive as og

NAMES = ["discrimination", "difficulty", "scaling"]


def tobit_factor_analysis(scores, limit, start):
    """Maximum of the likelihood of one factor, by quadrature and a quasi-Newton search."""
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    log_weights = np.log(weights / weights.sum())
    z, late = logit(scores), scores <= limit

    def lost(flat):
        loading, mean, noise = flat.reshape(3, -1)
        spread = np.exp(noise)
        middle = loading * points[:, None, None] + mean
        dense = norm.logpdf(z, middle, spread)
        dense = np.where(late, norm.logcdf(logit(limit), middle, spread), dense)
        return -logsumexp(dense.sum(axis=2) + log_weights[:, None], axis=0).sum()

    found = minimize(lost, start.ravel(), method="L-BFGS-B", options={"maxfun": 100_000})
    loading, mean, noise = found.x.reshape(3, -1)
    stretch = np.log(1 / (scores * (1 - scores)))[~late].sum()
    return loading, mean, np.exp(noise), -found.fun + stretch


def test_the_maximum_is_that_of_an_own_tobit_factor_analysis():
    drawn = og.simulate("continuous", 60, 3, random_state=6)
    scores = drawn.responses.values.clip(0.4, None)
    found = og.calibrate(
        scores, og.Censored(bounds=(0, 1), limits=(0.4, None)), priors=None, tolerance=1e-10
    )
    start = np.stack([np.ones(3), np.zeros(3), np.zeros(3)])
    loading, mean, noise, value = tobit_factor_analysis(scores, 0.4, start)
    assert (scores <= 0.4).mean() > 0.2
    assert found.log_likelihood == pytest.approx(value, abs=1e-3)
    np.testing.assert_allclose(1 / found.items["scaling"], loading, atol=2e-3)
    np.testing.assert_allclose(found.items["discrimination"], loading / noise, rtol=5e-3)
    np.testing.assert_allclose(-found.items["difficulty"] / found.items["scaling"], mean, atol=2e-3)


def test_items_are_recovered_where_four_scores_of_ten_are_cut_off():
    drawn = og.simulate("continuous", 1500, 8, random_state=1)
    scores = drawn.responses.values.clip(0.4, None)
    assert (scores <= 0.4).mean() > 0.4
    found = og.calibrate(scores, og.Censored(bounds=(0, 1), limits=(0.4, None)))
    naive = og.calibrate(scores, og.Continuous(bounds=(0, 1)))
    for name in NAMES:
        truth = drawn.truth.items[name].to_numpy()
        apart = (found.items[name] - truth) / found.items[f"{name}_se"]
        assert np.abs(apart).max() < 4
        error, moved = (np.abs(cal.items[name] - truth).mean() for cal in (found, naive))
        assert error < 0.5 * moved


def test_without_a_score_beyond_a_limit_it_is_the_continuous_model():
    scores = og.simulate("continuous", 150, 5, random_state=2).responses.values
    plain = og.calibrate(scores, og.Continuous(bounds=(0, 1)), priors=None, tolerance=1e-8)
    found = og.calibrate(scores, og.Censored(bounds=(0, 1)), priors=None, tolerance=1e-8)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-4)
    for name in NAMES:
        np.testing.assert_allclose(found.items[name], plain.items[name], rtol=1e-3)
