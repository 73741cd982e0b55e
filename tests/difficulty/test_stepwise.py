from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from ogive.difficulty.regressor import StepwiseRegressor
from ogive.errors import InputError


def draw(seed, n=80, p=6):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) + random.normal(size=(n, 1))
    return X, 2 * X[:, 1] - X[:, 4] + random.normal(size=n)


def criterion(X, y, columns, penalty):
    left = y - y.mean()
    if len(columns):
        part = X[:, columns]
        left = y - LinearRegression().fit(part, y).predict(part)
    return len(y) * np.log((left**2).sum()) + penalty * len(columns)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_no_single_step_lowers_the_criterion(seed):
    X, y = draw(seed)
    found = list(StepwiseRegressor().fit(X, y).selected_)
    own = criterion(X, y, found, 2)
    for column in range(X.shape[1]):
        other = sorted(set(found) ^ {column})
        assert criterion(X, y, other, 2) > own - 1e-6


def test_what_matters_is_found_and_fitted_by_least_squares():
    X, y = draw(3)
    made = StepwiseRegressor("bic").fit(X, y)
    assert {1, 4} <= set(made.selected_) < set(range(6))
    plain = LinearRegression().fit(X[:, made.selected_], y)
    np.testing.assert_allclose(made.coef_[made.selected_], plain.coef_)
    np.testing.assert_allclose(made.predict(X), plain.predict(X[:, made.selected_]))
    assert not np.delete(made.coef_, made.selected_).any()


def test_on_small_tables_it_finds_the_best_of_all_subsets():
    X, y = draw(5)
    found = StepwiseRegressor().fit(X, y).selected_
    subsets = [list(c) for k in range(7) for c in combinations(range(6), k)]
    assert list(found) == min(subsets, key=lambda columns: criterion(X, y, columns, 2))


def test_repeated_and_constant_columns_do_no_harm():
    X, y = draw(3)
    wide = np.column_stack([X, X, 2 * X[:, :1], np.ones(len(X))])
    made, plain = StepwiseRegressor().fit(wide, y), StepwiseRegressor().fit(X, y)
    np.testing.assert_allclose(made.predict(wide), plain.predict(X))


def test_more_columns_than_rows_leave_a_model_that_predicts():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 40)), random.normal(size=12)
    made = StepwiseRegressor().fit(X, y)
    assert len(made.selected_) <= 10
    assert np.isfinite(made.predict(X)).all()


def test_noise_of_no_meaning_is_mostly_left_out_by_bic():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(500, 20)), random.normal(size=500)
    assert len(StepwiseRegressor("bic").fit(X, y).selected_) <= 2


def test_an_unknown_criterion_is_refused():
    with pytest.raises(InputError, match=r"`criterion` must be 'aic' or 'bic'.*got 'r2'"):
        StepwiseRegressor("r2").fit(*draw(0))
