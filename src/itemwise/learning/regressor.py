"""DifficultyRegressor: how hard an item is, from its features, before anybody has answered it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from itemwise.errors import InputError
from itemwise.files import PathLike, readable_file, write_bytes
from itemwise.learning.conformal import checked_coverage, conformal_interval, held_out_share
from itemwise.learning.pipelines import bare_regressor, pipeline_of
from itemwise.learning.rows import (
    checked_kinds,
    in_sentences,
    is_frame,
    known_columns,
    known_rows,
    plain_rows,
    plan_of,
)
from itemwise.learning.targets import difficulty_of, same_for_all
from itemwise.numerics.agreement import prediction_figures
from itemwise.numerics.arrays import Floats
from itemwise.words import counted

if TYPE_CHECKING:
    from itemwise.learning.columns import Plan

FEWEST = 5  # items


class DifficultyRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learns the difficulty of items from their features, and says how sure it is of each.

    Intervals are conformal: they need no assumption about the regressor, only that new items come
    from where the old ones did. By default CV+ with five folds: `predict` learns from every item,
    and the items of each fold show how far off a regressor is that never saw them. Over many draws
    of items, intervals then hold about as often as `coverage` says, and never (but for 1/√n) less
    often than 2 × coverage − 1. A share instead of a number of folds holds that part of the items
    out of training (split conformal): one fit instead of six, a promise of `coverage` itself, and
    fewer items to learn from. With too few items for the coverage, intervals are infinite. CV+ is
    that of Barber et al. (2021), the question that of Martínez-Plumed et al. (2022).

    A frame may hold numbers, truth values, dates and categories, and gaps: gaps are filled with the
    median or the most frequent category, numbers are scaled, categories get a 0/1 column each.
    Dates, also as text where every value is one (2024-05-31, ISO 8601), become days since 1970.
    Columns that are constant, free text or merely number the rows are left out (`notes_`). In an
    array, gaps (NaN) are filled with the median of their column.

    Parameters
    ----------
    regressor : str or scikit-learn regressor
        "stepwise", "elastic-net", "knn", "gbm" or "rf"; or any regressor, of which a copy is used.
    coverage : float
        Share of new items that intervals should hold, from 0.5 to below 1.
    calibration : int or float
        Number of folds, from 2, for CV+; or share of the items to hold out, between 0 and 1.
    prepare : bool
        False gives the rows to the regressor as they are: for texts, images or a pipeline of yours.
    random_state : int, RandomState or None
        Of the folds, and of a preset; a regressor that is given has its own.

    Attributes
    ----------
    regressor_ : the fitted regressor that predicts, with the coding of columns before it
    fold_regressors_ : those that never saw the items of a fold
    residuals_ : their absolute errors on those items, ascending
    held_out_ : what was predicted for each training item by a regressor that never saw it; NaN
        where it was not held out
    notes_ : what a reader should know

    Examples
    --------
    >>> import itemwise as iw
    >>> import numpy as np
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> regressor = iw.DifficultyRegressor("stepwise").fit(features, 2 * features[:, 0])
    >>> regressor.predict([[1.0, 0.0]]).round(2).tolist()
    [2.0]
    >>> low, high = regressor.predict_interval([[1.0, 0.0]])
    """

    def __init__(
        self,
        regressor: Any = "rf",
        *,
        coverage: float = 0.9,
        calibration: float = 5,
        prepare: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.regressor = regressor
        self.coverage = coverage
        self.calibration = calibration
        self.prepare = prepare
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a row of features an item, and their difficulties `y`, all finite.

        `y` may be what `difficulty_targets` found: the first of its methods is learnt.
        """
        from sklearn.utils import _safe_indexing

        checked_coverage(self.coverage)
        rows, y = self._training_rows(X, difficulty_of(y))
        draw = check_random_state(self.random_state)
        seed = int(draw.randint(2**31 - 1))
        parts = _parts(len(y), self.calibration, seed)
        self.held_out_ = np.full(len(y), np.nan)
        self.fold_regressors_, self.residuals_ = [], []
        for train, held in parts:
            fitted = self._made(y[train], seed).fit(_safe_indexing(rows, train), y[train])
            found = _flat(fitted.predict(_safe_indexing(rows, held)))
            self.held_out_[held] = found
            self.fold_regressors_.append(fitted)
            self.residuals_.append(np.sort(np.abs(y[held] - found)))
        # Split conformal: the promise is for the very regressor whose errors were measured.
        alone = len(parts) == 1
        self.regressor_ = self.fold_regressors_[0] if alone else self._made(y, seed).fit(rows, y)
        return self

    def predict(self, X: Any) -> Floats:
        """The difficulty of each row."""
        check_is_fitted(self)
        return _flat(self.regressor_.predict(self._new_rows(X)))

    def predict_interval(self, X: Any, coverage: float | None = None) -> tuple[Floats, Floats]:
        """Lower and upper end of the difficulty of each row, at `coverage` or that of the model."""
        check_is_fitted(self)
        wanted = checked_coverage(self.coverage if coverage is None else coverage)
        rows = self._new_rows(X)
        centres = np.column_stack([_flat(one.predict(rows)) for one in self.fold_regressors_])
        return conformal_interval(centres, self.residuals_, wanted)

    def save(self, path: PathLike) -> Path:
        """Write the fitted regressor to one file, usually called .skops; `itemwise.load` reads it.

        A regressor with parts that are neither scikit-learn's nor Itemwise's could not be read
        back safely, and is refused.
        """
        from sklearn.exceptions import NotFittedError

        from itemwise.learning.skops_files import packed, skops_io

        skops_io()
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise InputError("The regressor is not fitted yet. Call fit first.") from error
        write_bytes(path, packed(self, "regressor"))
        return Path(path)

    def held_out_figures(self, y: Any) -> dict[str, float]:
        """How well the items of `fit`, of difficulty `y`, were predicted while held out.

        NRMSE (1: no better than the mean) and Spearman's correlation; NaN where all are equally
        hard.
        """
        check_is_fitted(self)
        known = np.isfinite(self.held_out_)
        found, truth = self.held_out_[known], _target(y)[known]
        return prediction_figures(found, truth)

    def _training_rows(self, X: Any, y: Any) -> tuple[Any, Floats]:
        """Rows and target as they are learnt from; sets the names, the plan and the notes."""
        self.numbers_ = self.categories_ = None
        X, y, remarks = known_rows(X, y)
        if not self.prepare:
            y = _target(y)
            check_consistent_length(X, y)
        elif is_frame(X):
            y = _target(y)
            check_consistent_length(X, y)
            rows = plain_rows(X)
            remarks += rows.remarks
            validate_data(self, X, skip_check_array=True)
            X, plan = rows.frame, plan_of(rows)
            self.numbers_, self.categories_ = list(plan.numbers), list(plan.categories)
            remarks += (f"{plan.losses}",) if plan.left_out else ()
        else:
            X, y = validate_data(self, X, y, **_ARRAY, ensure_min_samples=FEWEST, y_numeric=True)
            y = np.asarray(y, dtype=np.float64)
        if len(y) < FEWEST:
            raise InputError(
                f"There are {counted(len(y), 'item')}, but at least {FEWEST} are needed to learn "
                "difficulty. Give more."
            )
        self.notes_ = in_sentences((*remarks, *same_for_all(y)))
        return X, y

    def _new_rows(self, X: Any) -> Any:
        if not self.prepare:
            return X
        if self.numbers_ is None:
            return validate_data(self, X, **_ARRAY, reset=False)
        if is_frame(X):
            named = getattr(self, "feature_names_in_", None)
            X = known_columns(X, self._plan().used if named is None else named)
            if named is not None:
                validate_data(self, X, skip_check_array=True, reset=False)
        else:
            import pandas as pd

            cells = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
            names = getattr(self, "feature_names_in_", range(cells.shape[1]))
            X = pd.DataFrame(cells, columns=list(map(str, names))).infer_objects()
        return checked_kinds(plain_rows(X, self.categories_ or ()).frame, self._plan())

    def _plan(self) -> Plan:
        from itemwise.learning.columns import Plan

        return Plan(tuple(self.numbers_ or ()), tuple(self.categories_ or ()), {})

    def _made(self, target: Floats, seed: int) -> Any:
        """An unfitted regressor, after the coding of columns where that is wanted."""
        if not self.prepare:
            return bare_regressor(self.regressor, target, seed)
        plan = None if self.numbers_ is None else self._plan()
        return pipeline_of(self.regressor, plan, target, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.prepare)
        return tags


_ARRAY: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


def _target(y: Any) -> Floats:
    if y is None:
        raise InputError("y is None, but it should be the difficulty of each item.")
    found = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64)
    return np.asarray(found, dtype=np.float64)


def _flat(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _parts(n: int, calibration: Any, seed: int) -> list[tuple[Any, Any]]:
    """Training and held-out items: of each fold, or of the one split."""
    from sklearn.model_selection import KFold

    if isinstance(calibration, int | np.integer) and calibration >= 2:
        folds = KFold(min(int(calibration), n), shuffle=True, random_state=seed)
        return list(folds.split(np.empty((n, 1))))
    if isinstance(calibration, float) and 0 < calibration < 1:
        return [held_out_share(n, calibration, seed)]
    raise InputError(
        f"calibration is {calibration!r}, but it should be a number of folds, from 2, or a share "
        "of the items between 0 and 1, such as 0.2."
    )


def load_regressor(file: Path, max_bytes: int) -> DifficultyRegressor:
    """Restore the regressor that `DifficultyRegressor.save` wrote."""
    from itemwise.learning.skops_files import unpacked

    content = readable_file(file, max_bytes).read_bytes()
    writer = "DifficultyRegressor.save"
    found: DifficultyRegressor = unpacked(
        file, content, _check_loaded, "regressor", writer, max_bytes
    )
    return found


def _check_loaded(found: Any) -> None:
    """Refuse what could not predict: parts that are missing, or do not belong together."""
    if not isinstance(found, DifficultyRegressor):
        raise InputError(f"it holds a {type(found).__name__}, not a DifficultyRegressor")
    folds, errors = found.fold_regressors_, found.residuals_
    whole = [found.regressor_, *folds]
    sound = len(folds) == len(errors) > 0 and all(hasattr(one, "predict") for one in whole)
    for error in errors:
        sound = sound and bool(np.isfinite(error).all() and (np.diff(error) >= 0).all())
    if not sound:
        raise InputError("its parts are damaged or do not belong together")
