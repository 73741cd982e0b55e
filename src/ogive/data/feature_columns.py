"""Columns of any kind as numbers: what each holds, which are used, and how they are encoded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ogive.data.foreign_frames import as_pandas
from ogive.data.names import aligned
from ogive.errors import InputError
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

MOST_CATEGORIES = 20  # 0/1 columns per categorical column; the rarest share one
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_ID_NAME = re.compile(r"(?i:(.*[_. -])?(id|index)|unnamed: 0)|\w*[a-z]I[dD]")


@dataclass(frozen=True)
class Plan:
    """The use of each column."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    left_out: dict[str, str]  # column -> why

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are used."""
        return (*self.numbers, *self.categories)

    @property
    def losses(self) -> str:
        """The columns that are left out, and why."""
        reasons = [f"{name}: {why}" for name, why in self.left_out.items()]
        return f"left out {listed(reasons, 'column', shown=10)}"


class Plain(NamedTuple):
    """A frame of float columns and text columns, nothing else."""

    frame: pd.DataFrame
    dates: tuple[str, ...]  # float columns that hold days since 1970
    remarks: tuple[str, ...]


def plain(features: pd.DataFrame, texts: Collection[str] = ()) -> Plain:
    """Return columns as floats or as text; infinite values count as missing.

    Text columns with a date in every row are read as dates, except those named in `texts`.
    """
    columns: dict[str, Any] = {}
    infinite, dates = [], []
    for at, name in enumerate(map(str, features.columns)):
        days = None if name in texts else _days_of(features.iloc[:, at])
        if days is not None:
            dates.append(name)
        columns[name] = _plain_column(features.iloc[:, at]) if days is None else days
        if columns[name].dtype == np.float64 and np.isinf(columns[name]).any():
            infinite.append(name)
            columns[name] = np.where(np.isinf(columns[name]), np.nan, columns[name])
    remarks = (f"{listed(infinite, 'column')} with infinite values: read as missing",)
    return Plain(pd.DataFrame(columns), tuple(dates), remarks if infinite else ())


def _days_of(column: pd.Series[Any]) -> Floats | None:
    """Return days since 1970, if a column holds dates, or texts that are all dates (ISO 8601)."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        return _days(column.to_numpy(dtype="datetime64[us]"))
    if types.is_numeric_dtype(column) or types.is_timedelta64_dtype(column):
        return None
    known = column.dropna().astype(str)
    if not len(known) or not all(map(_DATE.fullmatch, known)):
        return None
    try:
        moments = pd.to_datetime(known, format="ISO8601", utc=True)
    except ValueError:  # the 30th of February
        return None
    days = np.full(len(column), np.nan)
    days[column.notna().to_numpy()] = _days(moments.to_numpy(dtype="datetime64[us]"))
    return days


def _plain_column(column: pd.Series[Any]) -> NDArray[Any]:
    """Return numbers and booleans as floats, durations as days, everything else as text."""
    from pandas.api import types

    missing = column.isna().to_numpy()
    if types.is_complex_dtype(column):
        raise InputError(f"Column '{column.name}' holds complex numbers. Give real ones.")
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_timedelta64_dtype(column):
        return _days(column.to_numpy(dtype="timedelta64[us]"))
    # Objects that are all numbers or booleans become floats; otherwise all become text.
    values = column.to_numpy(dtype=object)
    known = values[~missing]
    numeric = len(known) and all(isinstance(v, Real | Decimal | np.bool_) for v in known)
    cells = np.empty(len(values), dtype=np.float64 if numeric else object)
    convert: Any = float if numeric else str
    cells[:] = [np.nan if lack else convert(v) for v, lack in zip(values, missing, strict=True)]
    return cells


def _days(moments: NDArray[Any]) -> Floats:
    days = moments.astype("int64") / 86_400e6
    return np.where(np.isnat(moments), np.nan, days)


def plan_columns(whole: pd.DataFrame, train: pd.DataFrame, dates: Collection[str] = ()) -> Plan:
    """Decide how each column of a plain frame is used, from its training part.

    A different date in each row is not an identifier: items may change over time.
    """
    numbers, categories, left_out = [], [], {}
    for name in whole.columns:
        column = train[name].dropna()
        is_number = train[name].dtype == np.float64
        n_values = len(column.unique())
        if n_values < 2:
            left_out[name] = "constant" if n_values else "empty"
        elif is_number and name not in dates and _counts_rows(name, whole[name].to_numpy()):
            left_out[name] = "an identifier"
        elif not is_number and 2 * n_values > max(len(column), 2 * MOST_CATEGORIES):
            left_out[name] = "free text or an identifier"
        elif is_number:
            numbers.append(name)
        else:
            categories.append(name)
    return Plan(tuple(numbers), tuple(categories), left_out)


def _counts_rows(name: str, values: Floats) -> bool:
    """Return True if a column numbers the rows: 1, 2, 3, ..., or is named id and all differs."""
    if len(values) < 2 or np.isnan(values).any() or (values != np.round(values)).any():
        return False
    if (np.diff(values) == 1).all():
        return True
    return bool(_ID_NAME.fullmatch(name)) and len(np.unique(values)) == len(values)


def column_transformer(plan: Plan) -> Any:
    """Return an unfitted transformer: fill missing values, scale, encode categories."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), encode)
    parts = [
        ("numbers", numbers, list(plan.numbers)),
        ("categories", categories, list(plan.categories)),
    ]
    return ColumnTransformer(parts, sparse_threshold=0)


Rows: TypeAlias = "pd.DataFrame | Floats"


def is_frame(X: object) -> bool:
    """Return True if X is a pandas frame."""
    return isinstance(X, pd.DataFrame)


def known_rows(X: Any, y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Match items and difficulties by name if both have names; leave out items without one."""
    if not isinstance(y, pd.Series) or not isinstance(X, pd.DataFrame | pd.Series):
        return X, y, ()
    y = aligned(y, X.index, "y")
    known = y.notna().to_numpy()
    if known.all():
        return X, y, ()
    lost = f"left out (no difficulty): {counted(int((~known).sum()), 'item')}"
    return X[known], y[known], (lost,)


def in_sentences(remarks: Sequence[str]) -> list[str]:
    """Return remarks as sentences."""
    return [f"{text[0].upper()}{text[1:]}." for text in remarks]


def plain_rows(X: pd.DataFrame, texts: Collection[str] = ()) -> Plain:
    """Return a frame of float and text columns, with remarks on what was read as missing."""
    _places(X)
    return plain(X, texts)


def known_columns(X: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the columns of the training items, in their order; others are left out."""
    places = _places(X)
    wanted = list(names)
    if missing := [name for name in wanted if name not in places]:
        extra = [name for name in places if name not in set(wanted)]
        besides = f"; new: {listed(extra, 'column', 10)}" if extra else ""
        raise InputError(
            f"The features lack {listed(missing, 'column', 10)}, on which the regressor was "
            f"trained{besides}. Give the columns of the training items by name, in any order."
        )
    return X.iloc[:, [places[name] for name in wanted]]


def _places(X: pd.DataFrame) -> dict[str, int]:
    """Return position of each column; names must differ."""
    names = [str(name) for name in X.columns]
    places = {name: k for k, name in enumerate(names)}
    if len(places) < len(names):
        twice = next(name for k, name in enumerate(names) if places[name] != k)
        raise InputError(f"The features have the column '{twice}' more than once. Keep one.")
    return places


def plan_of(rows: Plain) -> Plan:
    """Decide how columns are used; refused if none can be used."""
    plan = plan_columns(rows.frame, rows.frame, rows.dates)
    if not plan.numbers and not plan.categories:
        raise InputError(
            f"The features have no usable column: {plan.losses}. "
            "Give columns of numbers or of few categories; turn free text into numbers first."
        )
    return plan


def coder_of(plan: Plan | None) -> Any:
    """Return an unfitted transformer into complete numbers; without a plan, for an array."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if plan is not None:
        return column_transformer(plan)
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(fill, StandardScaler())


def checked_kinds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Return the plain frame if its columns are still of the kind seen in training."""
    changed: dict[str, Any] = {}
    for name in plan.used:
        wanted = name in plan.numbers
        if (frame[name].dtype == np.float64) == wanted:
            continue
        if frame[name].isna().all():  # the kind of an empty column is unknown
            changed[name] = np.full(len(frame), np.nan, dtype=float if wanted else object)
            continue
        kinds = ("numbers", "text") if wanted else ("text", "numbers")
        raise InputError(
            f"Column '{name}' held {kinds[0]} when the regressor was fitted, but holds {kinds[1]} "
            "now. Give it in the same form."
        )
    return frame.assign(**changed) if changed else frame


def owners_of(coder: Any, plan: Plan) -> list[str]:
    """Return the column of the frame from which each column of a fitted transformer comes."""
    if not plan.categories:
        return list(plan.numbers)
    encoder = coder.named_transformers_["categories"][-1]
    # Encoded columns are named by the position of their source: "2_red" is from the third column.
    made = encoder.get_feature_names_out([str(k) for k in range(len(plan.categories))])
    places = [int(name.partition("_")[0]) for name in made]
    return [*plan.numbers, *(plan.categories[k] for k in places)]


_ARRAY: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fills missing values, scales numbers, and gives each category a 0/1 column.

    The pools of the package prepare columns in this way for their own members. Classifiers of your
    own get columns as they are; put this before one that needs numbers. Missing numbers become the
    median, missing categories the most frequent one; the rarest categories of a column share a 0/1
    column; dates become days since 1970. Columns that are constant, free text or row numbers are
    left out (`notes_`). In an array, every column is a number.

    Attributes
    ----------
    notes_ : remarks on columns that were left out or changed

    Examples
    --------
    >>> import ogive as og
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"size": [1.0, None, 3.0, 5.0], "kind": ["a", "b", "a", "b"]})
    >>> prepared = og.TablePreparation().fit(rows)
    >>> prepared.transform(rows).shape, prepared.get_feature_names_out().tolist()
    ((4, 3), ['size', 'kind_a', 'kind_b'])
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Learn medians, scales and categories from the rows of `X`; `y` is not used."""
        X = as_pandas(X)
        self.numbers_, self.categories_, self.notes_ = None, None, []
        plan: Plan | None = None
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            rows = plain_rows(X)
            plan = plan_of(rows)
            self.numbers_, self.categories_ = list(plan.numbers), list(plan.categories)
            remarks = (*rows.remarks, *((plan.losses,) if plan.left_out else ()))
            self.notes_ = in_sentences(remarks)
            cells: Any = rows.frame
        else:
            cells = validate_data(self, X, **_ARRAY)
        self.coder_ = coder_of(plan).fit(cells)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows of `X` as numbers, (n_rows, n_columns)."""
        check_is_fitted(self)
        return np.ascontiguousarray(self.coder_.transform(self._new_rows(X)), dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name each column: numbers by their column, categories as column_category."""
        check_is_fitted(self)
        if self.numbers_ is None:
            from sklearn.utils.validation import _check_feature_names_in

            found: NDArray[Any] = _check_feature_names_in(self, input_features)
            return found
        made = list(map(str, self.numbers_))
        if self.categories_:
            encoder = self.coder_.named_transformers_["categories"][-1]
            made += encoder.get_feature_names_out(self.categories_).tolist()
        return np.array(made, dtype=object)

    def _new_rows(self, X: Any) -> Any:
        X = as_pandas(X)
        if self.numbers_ is None:
            return validate_data(self, X, **_ARRAY, reset=False)
        if is_frame(X):
            named = getattr(self, "feature_names_in_", None)
            X = known_columns(X, self._plan().used if named is None else named)
        else:
            cells = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
            names = getattr(self, "feature_names_in_", range(cells.shape[1]))
            X = pd.DataFrame(cells, columns=list(map(str, names))).infer_objects()
        return checked_kinds(plain_rows(X, self.categories_ or ()).frame, self._plan())

    def _plan(self) -> Plan:
        return Plan(tuple(self.numbers_ or ()), tuple(self.categories_ or ()), {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
