"""Shojima's EM as published, against plain loops and the normal distribution."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ogive import Continuous, simulate
from ogive.errors import InputError
from ogive.irt.estimation.alternative_engines import (
    Shojima,
    _covariances,
    _expected_value,
    _log_likelihood,
)


@pytest.fixture(scope="module")
def table():
    responses, _ = simulate("continuous", 40, 4, random_state=3)
    model = Continuous(bounds=(0, 1)).fitted_to(responses.cells, responses.items)
    z = np.log(responses.cells / (1 - responses.cells))
    return responses.cells, model, z


def published(z, turns):
    """Shojima (2005), one number at a time: α, β and γ of each item."""
    n, m = z.shape
    alpha, beta, gamma = [1.0] * m, [-z[:, j].mean() for j in range(m)], [1.0] * m
    for _ in range(turns):
        left = 1 / (1 + sum(a**2 for a in alpha))
        ability = [
            left * sum(alpha[j] ** 2 * (beta[j] + gamma[j] * z[i, j]) for j in range(m))
            for i in range(n)
        ]
        spread = np.var(ability, ddof=1) + left
        for j in range(m):
            gamma[j] = spread / np.cov(ability, z[:, j])[0, 1]
            beta[j] = np.mean(ability) - gamma[j] * z[:, j].mean()
            noise = gamma[j] ** 2 * np.var(z[:, j], ddof=1) - spread
            alpha[j] = np.sign(gamma[j]) / np.sqrt(noise)
    return np.array(alpha), np.array(beta), np.array(gamma)


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_iterations_are_those_of_plain_loops(table, turns):
    cells, model, z = table
    found = Shojima(tolerance=1e-12, max_iterations=turns).fit(cells, model)
    alpha, beta, gamma = published(z, turns)
    wanted = model.from_parameters({"discrimination": alpha, "difficulty": beta, "scaling": gamma})
    np.testing.assert_allclose(found.coords, wanted, rtol=1e-8)
    assert found.iterations == turns
    assert not found.converged
    assert f"after {turns} iterations" in found.notes[1]


def test_it_stops_when_its_value_changes_by_little(table):
    cells, model, _ = table
    seen = []
    found = Shojima(tolerance=0.05).fit(cells, model, progress=lambda *told: seen.append(told))
    assert found.converged
    assert found.iterations == len(seen) > 3
    fewer = Shojima(tolerance=0.05, max_iterations=found.iterations - 1).fit(cells, model)
    assert not fewer.converged
    assert (Shojima().tolerance, Shojima().max_iterations) == (0.01, 200)


def test_likelihoods_are_those_of_normal_log_odds(table):
    cells, model, z = table
    coords = Shojima(tolerance=0.05).fit(cells, model).coords
    loading, noise = model.loadings(coords), np.exp(2 * coords[:, 2])
    law = multivariate_normal(coords[:, 1], np.outer(loading, loading) + np.diag(noise))
    assert _log_likelihood(model, coords, z) == pytest.approx(law.logpdf(z).sum())
    alpha, gamma = coords[:, 0], np.sign(coords[:, 0]) / np.abs(loading)
    beta = -coords[:, 1] * gamma
    ability, left = np.linspace(-1, 1, 40), 0.3
    # E log N(β + γ z - θ; 0, 1 / α²) |γ| over θ of mean `ability` and variance `left`.
    apart = beta + gamma * z - ability[:, None]
    value = np.log(np.abs(alpha * gamma)) - 0.5 * alpha**2 * (apart**2 + left)
    assert _expected_value(z, alpha, beta, gamma, ability, left) == pytest.approx(value.sum())


def test_errors_take_abilities_as_known(table):
    cells, model, z = table
    coords = Shojima(tolerance=0.05).fit(cells, model).coords
    loading, precision = model.loadings(coords), np.exp(-2 * coords[:, 2])
    left = 1 / (1 + precision @ loading**2)
    ability = left * ((z - coords[:, 1]) @ (loading * precision))
    square = ability @ ability + 40 * left
    found = _covariances(model, coords, z)
    for j in range(4):
        # z = σ (α θ + b / σ) + σ ε: information on α and on the intercept given the noise.
        block = np.linalg.inv(found[j])
        assert block[1, 1] == pytest.approx(40 * precision[j], rel=1e-6)
        assert block[0, 0] == pytest.approx(square, rel=1e-6)
        assert block[0, 1] == pytest.approx(ability.sum() * np.sqrt(precision[j]), rel=1e-5)


def test_what_it_cannot_fit_is_said(table):
    cells, model, _ = table
    with pytest.raises(InputError, match="at least 3 respondents; there are 2"):
        Shojima().fit(cells[:2], model)
    Shojima(max_iterations=1).fit(cells[[0, 1, 2, 5]], model)
    flat = cells.copy()
    flat[:, 2] = 0.4
    with pytest.raises(InputError, match="Item 3, by position, is constant"):
        Shojima().fit(flat, model)
