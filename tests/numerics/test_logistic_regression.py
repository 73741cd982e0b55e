import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from itemwise.numerics.logistic_regression import logistic_curves


def penalised(parameters, x, y):
    """Minus the log-likelihood with Jeffreys' prior, written out."""
    z = parameters[0] + parameters[1] * x
    design = np.stack([np.ones_like(x), x], axis=1)
    weight = expit(z) * expit(-z)
    information = design.T @ (weight[:, None] * design)
    fit = (y * log_expit(z) + (1 - y) * log_expit(-z)).sum()
    return -(fit + 0.5 * np.linalg.slogdet(information)[1])


@pytest.mark.parametrize("n", [1, 4, 50])
def test_a_step_at_two_places_by_hand(n):
    # Saturated, the penalty adds half a cell to each kind: n + 1/2 right of n + 1.
    x = np.repeat([-1.0, 1.0], n)
    found = logistic_curves((x < 0).astype(float)[None], x)
    np.testing.assert_allclose(found, [[0.0, -np.log(2 * n + 1)]], atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_curves_are_at_the_top_of_the_penalised_likelihood(seed):
    random = np.random.default_rng(seed)
    x = random.normal(2.0, 3.0, 40)
    y = (random.uniform(size=40) < expit(1.0 - 0.6 * x)).astype(float)
    found = logistic_curves(y[None], x)[0]
    best = minimize(penalised, np.zeros(2), (x, y), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_slopes_are_hardly_biased_with_few_cells():
    random = np.random.default_rng(0)
    x = np.linspace(-2.5, 2.5, 40)
    cells = (random.uniform(size=(4000, 40)) < expit(-1.2 * x)).astype(float)
    slope = logistic_curves(cells, x)[:, 1]
    assert slope.mean() == pytest.approx(-1.2, abs=4 * slope.std() / np.sqrt(4000))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_weights_are_cells_that_are_there_more_often_and_nan_ones_that_are_not(seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=12)
    cells = random.integers(0, 2, (3, 12)).astype(float)
    counts = random.integers(0, 3, 12)
    counts[:2] = 1
    weighted = logistic_curves(cells, x, counts.astype(float))
    repeated = logistic_curves(np.repeat(cells, counts, axis=1), np.repeat(x, counts))
    hidden = logistic_curves(np.where(counts == 0, np.nan, cells), x, np.maximum(counts, 1.0))
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)
    np.testing.assert_allclose(hidden, weighted, atol=1e-5)


@given(st.integers(0, 10_000), st.floats(0.01, 1000.0), st.floats(-1000.0, 1000.0))
@settings(max_examples=30, deadline=None)
def test_another_unit_and_origin_give_the_same_curve(seed, unit, origin):
    random = np.random.default_rng(seed)
    x = random.normal(size=15)
    cells = random.integers(0, 2, (2, 15)).astype(float)
    plain, moved = logistic_curves(cells, x), logistic_curves(cells, unit * x + origin)
    np.testing.assert_allclose(moved[:, 1] * unit, plain[:, 1], atol=1e-5)
    np.testing.assert_allclose(
        moved[:, 0] + moved[:, 1] * origin, plain[:, 0], atol=1e-5 * (1 + abs(origin / unit))
    )


@pytest.mark.parametrize("row", [[1.0] * 6, [0.0] * 6, [np.nan] * 6, [1.0, *[np.nan] * 5]])
def test_rows_that_tell_little_stay_finite(row):
    assert np.isfinite(logistic_curves(np.array([row]), np.arange(6.0))).all()


def test_at_one_place_there_is_no_slope():
    found = logistic_curves(np.array([[1.0, 1.0, 0.0]]), np.full(3, 4.0))
    assert found[0, 1] == pytest.approx(0.0, abs=1e-6)
