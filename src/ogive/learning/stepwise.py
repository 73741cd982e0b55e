"""Stepwise linear regression, forward and backward, by AIC or BIC."""

from __future__ import annotations

from math import log
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ogive.errors import InputError
from ogive.numerics.arrays import Floats

COLLINEAR = 1e-8  # share of a column's variance not explained by others; below it adds nothing
EXACT = 1e-12  # share of the target's variance left; below it there is nothing to explain


class StepwiseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model of the columns that lower AIC or BIC.

    It starts with no column. Each step adds or removes the one column that lowers the criterion
    most, until none does. `criterion` is "aic" or "bic", which is stricter.

    Attributes
    ----------
    selected_ : array
        Which columns are in the model, ascending.
    coef_, intercept_
        The model; 0 for columns that were not selected.
    """

    def __init__(self, criterion: str = "aic") -> None:
        self.criterion = criterion

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns and fit them by least squares."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        penalties = {"aic": 2.0, "bic": log(len(y))}
        if self.criterion not in penalties:
            raise InputError(f"criterion is {self.criterion!r}, but it should be 'aic' or 'bic'.")
        self.selected_ = selected(X, y, penalties[self.criterion])
        centre, level = X[:, self.selected_].mean(axis=0), y.mean()
        slopes = np.linalg.lstsq(X[:, self.selected_] - centre, y - level, rcond=None)[0]
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[self.selected_] = slopes
        self.intercept_ = float(level - centre @ slopes)
        return self

    def predict(self, X: Any) -> Floats:
        """The value of the linear model for each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        found: Floats = X @ self.coef_ + self.intercept_
        return found


def selected(X: Floats, y: Floats, penalty: float) -> Any:
    """Columns of the model at which no single step lowers n log(RSS) + penalty × size.

    One sweep (Goodnight, 1979) of the cross products updates every candidate at once.
    """
    n, p = X.shape
    table, inside = _cross_products(X, y), np.zeros(p, dtype=bool)
    if table is None:
        return np.flatnonzero(inside)
    while table[p, p] > EXACT:
        own, shared = np.diagonal(table)[:p], table[:p, p]
        possible = inside | ((own > COLLINEAR) & (inside.sum() < n - 2))
        change = np.divide(shared**2, own, out=np.zeros(p), where=possible)
        left = np.maximum(table[p, p] + np.where(inside, change, -change), EXACT)
        gain = n * np.log(left / table[p, p]) + penalty * np.where(inside, -1.0, 1.0)
        gain[~possible] = np.inf
        best = int(np.argmin(gain)) if p else 0
        if not p or gain[best] > -1e-9:
            break
        _sweep(table, best)
        inside[best] = ~inside[best]
    return np.flatnonzero(inside)


def _cross_products(X: Floats, y: Floats) -> Floats | None:
    """Correlations of all columns and the target, which is last; None if it is constant."""
    both = np.column_stack([X, y])
    both = both - both.mean(axis=0)
    length = np.linalg.norm(both, axis=0)
    size = np.maximum(np.abs(np.column_stack([X, y])).max(axis=0), np.finfo(float).tiny)
    flat = length <= 1e-12 * size * np.sqrt(len(y))
    if flat[-1]:
        return None
    both = np.where(flat, 0.0, both / np.where(flat, 1.0, length))
    return np.asarray(both.T @ both, dtype=np.float64)


def _sweep(table: Floats, k: int) -> None:
    """Move column k into the model, or out of it if it is there: a sweep undoes itself."""
    pivot = table[k, k]
    row, column = table[k] / pivot, table[:, k].copy()
    table -= np.outer(column, row)
    table[k] = row
    table[:, k] = -column / pivot
    table[k, k] = 1.0 / pivot
