"""The parts of a split data set as numbers.

All that is learnt (medians, scales, categories) is learnt from the training part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.datasets.dataset import Dataset
from itemwise.errors import InputError
from itemwise.learning.columns import (
    MOST_CATEGORIES,
    Plan,
    column_transformer,
    plain,
    plan_columns,
)
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def prepared(
    dataset: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[Floats, Floats, str, tuple[str, ...]]:
    """Both parts as numbers, what was done in words, and what a reader should know."""
    frame, dates, remarks = plain(dataset.features)
    plan = plan_columns(frame, frame.iloc[train], dates)
    if not plan.numbers and not plan.categories:
        raise InputError(
            f"'{dataset.name}' has no column that a classifier could use: {plan.losses}. "
            "Give columns of numbers or of few categories; turn free text into numbers first."
        )
    transformer = column_transformer(plan)
    X_train = np.ascontiguousarray(transformer.fit_transform(frame.iloc[train]), dtype=np.float64)
    X_test = np.ascontiguousarray(transformer.transform(frame.iloc[test]), dtype=np.float64)
    return X_train, X_test, _in_words(plan, frame), remarks


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
        clauses.append(plan.losses)
    return "; ".join(clauses)
