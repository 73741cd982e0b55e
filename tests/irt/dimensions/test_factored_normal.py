"""A covariance by its factor: against densities, differences and the conditions of a maximum."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ogive.irt.dimensions.correlated_abilities import FactoredNormal, GaussianSites, posterior

MEAN = np.array([0.2, -0.4, 0.1])
FACTOR = np.array([[1.0, 0.0], [0.6, 0.5], [-0.3, 0.8]])


def told(n, factor, error, seed):
    """Abilities of covariance factor @ factor.T, each seen with an error."""
    random = np.random.default_rng(seed)
    ability = random.normal(size=(n, factor.shape[1])) @ factor.T
    error = error * random.uniform(0.7, 1.5, ability.shape)
    seen = ability + error * random.normal(size=ability.shape)
    return FactoredNormal(1 / error**2, seen / error**2), seen, error


def log_likelihood(seen, error, mean, covariance):
    return sum(
        multivariate_normal(mean, covariance + np.diag(one**2)).logpdf(y)
        for one, y in zip(error, seen, strict=True)
    )


def test_the_likelihood_is_that_of_what_was_seen_up_to_a_constant():
    normal, seen, error = told(9, FACTOR, 0.8, seed=1)
    places = [(MEAN, FACTOR), (0 * MEAN, FACTOR[:, :1]), (2 * MEAN, 0.3 * FACTOR)]
    ours = [normal.value_and_gradient(mean, factor)[0] for mean, factor in places]
    theirs = [log_likelihood(seen, error, mean, f @ f.T) for mean, f in places]
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs))


def test_slopes_are_differences():
    normal, _, _ = told(9, FACTOR, 0.8, seed=2)
    _, by_mean, by_factor = normal.value_and_gradient(MEAN, FACTOR)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        up, down = (normal.value_and_gradient(MEAN + s, FACTOR)[0] for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx(by_mean[k], rel=1e-6)
        for j in range(2):
            turn = np.zeros_like(FACTOR)
            turn[k, j] = 1e-6
            up, down = (normal.value_and_gradient(MEAN, FACTOR + s)[0] for s in (turn, -turn))
            assert (up - down) / 2e-6 == pytest.approx(by_factor[k, j], rel=1e-5, abs=1e-6)


def test_the_top_is_where_em_stays():
    whole = np.array([[1.0, 0.0, 0.0], [0.6, 0.7, 0.0], [-0.3, 0.5, 0.8]])
    normal, _, _ = told(400, whole, 0.5, seed=3)
    mean, covariance = normal.maximized(np.zeros(3), np.eye(3), 1e-8)
    ability, spread = posterior(GaussianSites(normal.precision, normal.shift), mean, covariance)
    np.testing.assert_allclose(ability.mean(axis=0), mean, atol=1e-5)
    again = np.cov(ability.T, bias=True) + spread.mean(axis=0)
    np.testing.assert_allclose(again, covariance, atol=1e-5)
    np.testing.assert_allclose(covariance, whole @ whole.T, atol=0.25)


def test_a_singular_covariance_is_reached_and_nothing_rises_from_there():
    single = np.array([[1.0], [0.8], [0.9], [0.7], [1.1]])
    normal, _, _ = told(300, single, 1.5, seed=4)
    mean, covariance = normal.maximized(np.zeros(5), np.eye(5), 1e-7)
    values, vectors = np.linalg.eigh(covariance)
    assert values[0] < 1e-4 < 0.5 < values[-1]
    held = values > 1e-6
    rise = normal._covariance_gradient(mean, vectors[:, held] * np.sqrt(values[held])) / 300
    assert np.linalg.eigvalsh(rise)[-1] < 1e-3
    assert np.abs(rise @ covariance).max() < 1e-4


def test_directions_that_were_left_out_come_back():
    whole = np.array([[1.0, 0.0], [0.2, 0.9]])
    normal, _, _ = told(300, whole, 0.4, seed=5)
    alone = np.array([[1.0, 0.5], [0.5, 0.25]])  # of rank one
    found = normal.maximized(np.zeros(2), alone, 1e-7)
    expected = normal.maximized(np.zeros(2), np.eye(2), 1e-7)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_where_nothing_varies_the_covariance_is_nothing():
    normal = FactoredNormal(np.full((6, 2), 3.0), np.full((6, 2), 1.5))  # all see the same
    for begin in (np.zeros((2, 2)), np.eye(2)):
        mean, covariance = normal.maximized(np.zeros(2), begin, 1e-9)
        np.testing.assert_allclose(mean, 0.5, atol=1e-6)
        np.testing.assert_allclose(covariance, 0.0, atol=1e-4)
