"""Columns of any kind as numbers, with scikit-learn's ColumnTransformer.

All that is learnt (medians, scales, categories) is learnt from the training part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.datasets.dataset import Dataset
from itemwise.errors import InputError
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 20  # 0/1 columns per categorical column; the rarest share one
_ID_NAME = re.compile(r"(?i:(.*[_. -])?(id|index)|unnamed: 0)|\w*[a-z]I[dD]")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What becomes of each column."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    left_out: dict[str, str]  # column -> why


def prepared(
    dataset: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[Floats, Floats, str, tuple[str, ...]]:
    """Both parts as numbers, what was done in words, and what a reader should know."""
    frame, remarks = _plain(dataset.features)
    plan = _plan(frame, frame.iloc[train])
    if not plan.numbers and not plan.categories:
        raise InputError(
            f"'{dataset.name}' has no column that a classifier could use: {_left_out(plan)}. "
            "Give columns of numbers or of few categories; turn free text into numbers first."
        )
    transformer = _transformer(plan)
    X_train = np.ascontiguousarray(transformer.fit_transform(frame.iloc[train]), dtype=np.float64)
    X_test = np.ascontiguousarray(transformer.transform(frame.iloc[test]), dtype=np.float64)
    return X_train, X_test, _in_words(plan, frame), remarks


def _plain(features: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Float columns and text columns, nothing else; infinite values count as missing."""
    import pandas as pd

    columns: dict[str, Any] = {}
    infinite = []
    for at, name in enumerate(map(str, features.columns)):
        columns[name] = _plain_column(features.iloc[:, at])
        if columns[name].dtype == np.float64 and np.isinf(columns[name]).any():
            infinite.append(name)
            columns[name] = np.where(np.isinf(columns[name]), np.nan, columns[name])
    remarks = (f"{listed(infinite, 'column')} with infinite values: read as missing",)
    return pd.DataFrame(columns), remarks if infinite else ()


def _plain_column(column: pd.Series[Any]) -> NDArray[Any]:
    """Numbers and truth values as floats, dates as days since 1970, all else as text."""
    from pandas.api import types

    missing = column.isna().to_numpy()
    if types.is_complex_dtype(column):
        raise InputError(f"Column '{column.name}' holds complex numbers. Give real ones.")
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_datetime64_any_dtype(column):
        return _days(column.to_numpy(dtype="datetime64[us]"))
    if types.is_timedelta64_dtype(column):
        return _days(column.to_numpy(dtype="timedelta64[us]"))
    return _number_objects_or_text(column.to_numpy(dtype=object), missing)


def _number_objects_or_text(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Objects that are all numbers or truth values as floats; otherwise each as text."""
    pairs = list(zip(values, missing, strict=True))
    known = values[~missing]
    if len(known) and all(isinstance(v, Real | Decimal | np.bool_) for v in known):
        return np.array([np.nan if lack else float(v) for v, lack in pairs])
    texts = np.empty(len(values), dtype=object)
    texts[:] = [np.nan if lack else str(v) for v, lack in pairs]
    return texts


def _days(moments: NDArray[Any]) -> Floats:
    days = moments.astype("int64") / 86_400e6
    return np.where(np.isnat(moments), np.nan, days)


def _plan(whole: pd.DataFrame, train: pd.DataFrame) -> Plan:
    numbers, categories, left_out = [], [], {}
    for name in whole.columns:
        column = train[name].dropna()
        is_number = train[name].dtype == np.float64
        n_values = len(column.unique())
        if n_values < 2:
            left_out[name] = "constant" if n_values else "empty"
        elif is_number and _counts_rows(name, whole[name].to_numpy()):
            left_out[name] = "an identifier"
        elif not is_number and 2 * n_values > max(len(column), 2 * MOST_CATEGORIES):
            left_out[name] = "free text or an identifier"
        elif is_number:
            numbers.append(name)
        else:
            categories.append(name)
    return Plan(tuple(numbers), tuple(categories), left_out)


def _counts_rows(name: str, values: Floats) -> bool:
    """Whether a column numbers the rows: one by one, or differently each under a name like id."""
    if len(values) < 2 or np.isnan(values).any() or (values != np.round(values)).any():
        return False
    if (np.diff(values) == 1).all():
        return True
    return bool(_ID_NAME.fullmatch(name)) and len(np.unique(values)) == len(values)


def _transformer(plan: Plan) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_CATEGORIES,
            sparse_output=False,
        ),
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, list(plan.numbers)),
            ("categories", categories, list(plan.categories)),
        ],
        sparse_threshold=0,
    )


def _in_words(plan: Plan, frame: pd.DataFrame) -> str:
    """One clause per group of columns."""
    clauses = []
    if plan.numbers:
        missing = frame[list(plan.numbers)].isna().to_numpy().any()
        filled = "missing values replaced by the median, " if missing else ""
        clauses.append(
            f"{counted(len(plan.numbers), 'numeric column')}: {filled}scaled to mean 0 and "
            "standard deviation 1"
        )
    if plan.categories:
        missing = frame[list(plan.categories)].isna().to_numpy().any()
        filled = "missing values replaced by the most frequent one, " if missing else ""
        clauses.append(
            f"{counted(len(plan.categories), 'categorical column')}: {filled}one 0/1 column per "
            f"category, at most {MOST_CATEGORIES} each"
        )
    if plan.left_out:
        clauses.append(_left_out(plan))
    return "; ".join(clauses)


def _left_out(plan: Plan) -> str:
    reasons = [f"{name}: {why}" for name, why in plan.left_out.items()]
    return f"left out {listed(reasons, 'column', shown=10)}"
