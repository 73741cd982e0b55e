"""Predict how hard an item is from its features, before anybody has answered it."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ogive._files import PathLike, readable_file, write_bytes
from ogive._processes import heeded
from ogive._validation import whole_number
from ogive.data.feature_columns import (
    Plan,
    checked_kinds,
    coder_of,
    in_sentences,
    is_frame,
    known_columns,
    known_rows,
    plain_rows,
    plan_of,
)
from ogive.data.foreign_frames import as_pandas
from ogive.data.saved_estimators import packed, skops_io, unpacked
from ogive.difficulty.targets import difficulty_of, equally_hard, same_for_all
from ogive.errors import InputError
from ogive.results.numbers import counted, meant
from ogive.stats.array_backend import Floats
from ogive.stats.conformal import (
    checked_confidence,
    checked_test_size,
    conformal_interval,
    held_out_part,
)
from ogive.stats.metrics import prediction_figures

COLLINEAR = 1e-8  # share of a column's variance not explained by others; below it adds nothing
EXACT = 1e-12  # share of the target's variance left; below it there is nothing to explain
PRESETS = ("stepwise", "elastic-net", "knn", "gbm", "rf")
NEIGHBOURS = 5
FOLDS = 5  # in which the elastic net chooses its penalty
TREES = 200
FEWEST = 5  # items
ARRAY_CHECKS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


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
            raise InputError(f"`criterion` must be 'aic' or 'bic', got {self.criterion!r}.")
        self.selected_ = selected(X, y, penalties[self.criterion])
        centre, level = X[:, self.selected_].mean(axis=0), y.mean()
        slopes = np.linalg.lstsq(X[:, self.selected_] - centre, y - level, rcond=None)[0]
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[self.selected_] = slopes
        self.intercept_ = float(level - centre @ slopes)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the value of the linear model for each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_)


def selected(X: Floats, y: Floats, penalty: float) -> Any:
    """Return columns of the model at which no single step lowers n log(RSS) + penalty × size.

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
    """Return correlations of all columns and the target, which is last; None if it is constant."""
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


def regressor_of(given: Any, n_items: int, seed: int) -> Any:
    """Return a new regressor: a preset for `n_items` training items, or a copy of the given one."""
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import ElasticNetCV
    from sklearn.neighbors import KNeighborsRegressor

    if isinstance(given, str):
        name = checked_name(given)
        if name == "stepwise":
            return StepwiseRegressor()
        if name == "elastic-net":
            return ElasticNetCV(l1_ratio=[0.1, 0.5, 1.0], cv=min(FOLDS, n_items), max_iter=10_000)
        if name == "knn":
            # Brute force: no tree to check in a file, and as fast beyond twenty columns.
            return KNeighborsRegressor(n_neighbors=min(NEIGHBOURS, n_items), algorithm="brute")
        if name == "gbm":
            return HistGradientBoostingRegressor(random_state=seed)
        # A third of the columns at each split, as in R's randomForest.
        return RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed)
    if not (hasattr(given, "fit") and hasattr(given, "predict")) or isinstance(given, type):
        raise InputError(
            "`regressor` must be an unfitted scikit-learn regressor, or one of: "
            f"{', '.join(PRESETS)}, got {given!r:.60}."
        )
    if is_classifier(given):
        raise InputError(
            f"regressor is the classifier {type(given).__name__}, but difficulty is a number. "
            "Give a regressor."
        )
    return clone(given)


def checked_name(name: str) -> str:
    """Return the name of a preset, or raise an error that lists them."""
    if name not in PRESETS:
        raise InputError(
            f"There is no regressor {name!r:.40}.{meant(name, PRESETS)} It should be one of: "
            f"{', '.join(PRESETS)}."
        )
    return name


class DifficultyRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the difficulty of items from their features, with an interval for each.

    Intervals are conformal: they assume nothing about the regressor, only that new items come from
    the same source as the old ones. By default they are found by CV+ with five folds: `predict`
    learns from every item, and the items of each fold show the errors of a regressor fitted without
    them. Over many samples of items, such intervals cover about the share `confidence` of new
    items, and never (up to 1/√n) less than 2 × confidence − 1. With `test_size`, one part of the
    items is held out of training instead (split conformal): one fit instead of six and a guarantee
    of `confidence` itself, but fewer items to learn from. With too few items for the confidence,
    intervals are infinite. CV+ is that of Barber et al. (2021), the question that of
    Martínez-Plumed et al. (2022).

    A frame may hold numbers, booleans, dates, categories and missing values. Missing values are
    replaced by the median or the most frequent category, numbers are scaled, categories get one 0/1
    column each. Dates, also as text if every value is one (2024-05-31, ISO 8601), become days since
    1970. Columns that are constant, free text or row numbers are left out (`notes_`). In an array,
    missing values (NaN) are replaced by the median of their column.

    Parameters
    ----------
    regressor : str or scikit-learn regressor
        "stepwise", "elastic-net", "knn", "gbm" or "rf"; or any regressor, of which a copy is used.
    confidence : float
        Confidence level of the intervals, from 0.5 to below 1.
    cv : int
        Number of folds for the intervals, from 2.
    test_size : float, int or None
        If given, the share or number of items to hold out for the intervals, instead of folds.
    prepare : bool
        False passes the rows to the regressor as they are: for texts, images or a pipeline of your
        own.
    random_state : int, RandomState or None
        Seed of the folds and of a preset; a regressor object has its own.

    Attributes
    ----------
    regressor_ : the fitted regressor that predicts, with the encoding of columns before it
    fold_regressors_ : the regressors fitted without each fold
    residuals_ : their absolute errors on the items of that fold, ascending
    held_out_ : the prediction for each training item by a regressor fitted without it; NaN if it
        was never held out
    notes_ : remarks on the data

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> regressor = og.DifficultyRegressor("stepwise").fit(features, 2 * features[:, 0])
    >>> regressor.predict([[1.0, 0.0]]).round(2).tolist()
    [2.0]
    >>> low, high = regressor.predict_interval([[1.0, 0.0]])
    """

    def __init__(
        self,
        regressor: Any = "rf",
        *,
        confidence: float = 0.95,
        cv: int = 5,
        test_size: float | None = None,
        prepare: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.regressor = regressor
        self.confidence = confidence
        self.cv = cv
        self.test_size = test_size
        self.prepare = prepare
        self.random_state = random_state

    @heeded()
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from one row of features per item and their difficulties `y`, all finite.

        `y` may be the result of `difficulty_targets`: the first of its methods is learned.
        """
        from sklearn.model_selection import KFold

        checked_confidence(self.confidence)
        rows, y = self._training_rows(X, difficulty_of(y))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        whole_number(self.cv, "cv", 2)
        if self.test_size is not None:
            splits = [held_out_part(len(y), checked_test_size(self.test_size), seed)]
        else:
            folds = KFold(min(int(self.cv), len(y)), shuffle=True, random_state=seed)
            splits = list(folds.split(np.empty((len(y), 1))))
        self.held_out_ = np.full(len(y), np.nan)
        self.fold_regressors_, self.residuals_ = [], []
        for train, held in splits:
            fitted = self._unfitted(y[train], seed).fit(_safe_indexing(rows, train), y[train])
            predicted = _flat(fitted.predict(_safe_indexing(rows, held)))
            self.held_out_[held] = predicted
            self.fold_regressors_.append(fitted)
            self.residuals_.append(np.sort(np.abs(y[held] - predicted)))
        # Split conformal: the guarantee holds for the regressor whose errors were measured.
        alone = len(splits) == 1
        self.regressor_ = (
            self.fold_regressors_[0] if alone else self._unfitted(y, seed).fit(rows, y)
        )
        return self

    def predict(self, X: Any) -> Floats:
        """Return the difficulty of each row."""
        check_is_fitted(self)
        return _flat(self.regressor_.predict(self._new_rows(X)))

    def predict_interval(self, X: Any, confidence: float | None = None) -> tuple[Floats, Floats]:
        """Return lower and upper end of each difficulty, at `confidence` or the model's own."""
        check_is_fitted(self)
        wanted = checked_confidence(self.confidence if confidence is None else confidence)
        rows = self._new_rows(X)
        centres = np.column_stack([_flat(fold.predict(rows)) for fold in self.fold_regressors_])
        return conformal_interval(centres, self.residuals_, wanted)

    def save(self, path: PathLike) -> Path:
        """Write the fitted regressor to one file, usually called .skops; `ogive.load` reads it.

        A regressor with parts that are neither scikit-learn's nor Ogive's could not be read
        back safely, and is refused.
        """
        skops_io()
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise InputError("The regressor is not fitted yet. Call fit first.") from error
        write_bytes(path, packed(self, "regressor"))
        return Path(path)

    def held_out_figures(self, y: Any) -> dict[str, float]:
        """Return the error of predictions for held-out items of `fit`, whose difficulties are `y`.

        NRMSE (1: no better than the mean) and Spearman's correlation; NaN if all are equally hard.
        """
        check_is_fitted(self)
        known = np.isfinite(self.held_out_)
        return prediction_figures(self.held_out_[known], _target(y)[known])

    def _training_rows(self, X: Any, y: Any) -> tuple[Any, Floats]:
        """Return rows and target to learn from; set the names, the plan and the notes."""
        self.numbers_ = self.categories_ = None
        X, y, remarks = known_rows(as_pandas(X), as_pandas(y))
        if self.prepare and not is_frame(X):
            X, y = validate_data(
                self, X, y, **ARRAY_CHECKS, ensure_min_samples=FEWEST, y_numeric=True
            )
            y = np.asarray(y, dtype=np.float64)
        else:
            y = _target(y)
            check_consistent_length(X, y)
            if self.prepare:
                rows = plain_rows(X)
                plan = plan_of(rows)
                self.numbers_, self.categories_ = list(plan.numbers), list(plan.categories)
                remarks += (*rows.remarks, *([plan.losses] if plan.left_out else ()))
            if is_frame(X):
                validate_data(self, X, skip_check_array=True)
            X = rows.frame if self.prepare else X
        if len(y) < FEWEST:
            raise InputError(
                f"There are {counted(len(y), 'item')}, but at least {FEWEST} are needed to learn "
                "difficulty. Give more."
            )
        self.notes_ = in_sentences((*remarks, *same_for_all(y)))
        return X, y

    def _new_rows(self, X: Any) -> Any:
        """Return new rows in the form of those that were learnt from."""
        X = as_pandas(X)
        names = getattr(self, "feature_names_in_", None)
        if not self.prepare:
            return X if names is None or not is_frame(X) else known_columns(X, names)
        if self.numbers_ is None:
            return validate_data(self, X, **ARRAY_CHECKS, reset=False)
        if is_frame(X):
            X = known_columns(X, self._plan().used if names is None else names)
            if names is not None:
                validate_data(self, X, skip_check_array=True, reset=False)
        else:
            cells = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
            columns = range(cells.shape[1]) if names is None else names
            X = pd.DataFrame(cells, columns=list(map(str, columns))).infer_objects()
        return checked_kinds(plain_rows(X, self.categories_ or ()).frame, self._plan())

    def _plan(self) -> Plan:
        return Plan(tuple(self.numbers_ or ()), tuple(self.categories_ or ()), {})

    def _unfitted(self, target: Floats, seed: int) -> Any:
        """Return an unfitted regressor, after the coding of columns if that is wanted."""
        if not self.prepare:
            return bare_regressor(self.regressor, target, seed)
        plan = None if self.numbers_ is None else self._plan()
        return pipeline_of(self.regressor, plan, target, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.prepare)
        return tags


def _target(y: Any) -> Floats:
    if y is None:
        raise InputError("y is None, but it should be the difficulty of each item.")
    found = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64)
    return np.asarray(found, dtype=np.float64)


def _flat(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def pipeline_of(regressor: Any, plan: Plan | None, target: Floats, seed: int) -> Any:
    """Return an unfitted regressor for `target`, with the encoding of columns before it.

    Without a plan, rows are arrays of numbers.
    """
    from sklearn.pipeline import make_pipeline

    return make_pipeline(coder_of(plan), bare_regressor(regressor, target, seed))


def bare_regressor(regressor: Any, target: Floats, seed: int) -> Any:
    """Return a preset or a copy of a regressor; a constant predictor for a constant target."""
    from sklearn.dummy import DummyRegressor

    made = regressor_of(regressor, len(target), seed)
    return DummyRegressor() if equally_hard(target) else made  # some divide by the spread


def unwrapped(given: Any) -> Any:
    """Return the regressor inside a DifficultyRegressor, or the given one."""
    return given.regressor if isinstance(given, DifficultyRegressor) else given


def load_regressor(file: Path, max_bytes: int) -> DifficultyRegressor:
    """Restore the regressor that `DifficultyRegressor.save` wrote."""
    content = readable_file(file, max_bytes).read_bytes()
    writer = "DifficultyRegressor.save"
    regressor: DifficultyRegressor = unpacked(
        file, content, _check_loaded, "regressor", writer, max_bytes
    )
    return regressor


def _check_loaded(loaded: Any) -> None:
    """Refuse a regressor whose parts are missing or do not belong together."""
    if not isinstance(loaded, DifficultyRegressor):
        raise InputError(f"it holds a {type(loaded).__name__}, not a DifficultyRegressor")
    folds, errors = loaded.fold_regressors_, loaded.residuals_
    sound = len(folds) == len(errors) > 0
    sound = sound and all(hasattr(each, "predict") for each in (loaded.regressor_, *folds))
    sound = sound and all(np.isfinite(e).all() and (np.diff(e) >= 0).all() for e in errors)
    if not sound:
        raise InputError("its parts are damaged or do not belong together")
    check_predicts(loaded, getattr(loaded, "feature_names_in_", None))


def check_predicts(loaded: Any, names: Any) -> None:
    """Refuse what cannot predict a single row: what was loaded should not fail later."""
    if names is None:
        return
    try:
        loaded.predict(pd.DataFrame([[0.0] * len(names)], columns=list(names)))
    except InputError:  # its columns hold something else than numbers
        return
    except Exception as error:
        raise InputError("its parts do not belong together") from error
