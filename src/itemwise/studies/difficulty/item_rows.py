"""Items as rows of features, and values that belong to them, matched with care."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.learning.columns import Plan
from itemwise.learning.rows import Rows, is_frame, plain_rows, plan_of
from itemwise.learning.targets import DifficultyTargets, difficulty_of
from itemwise.numerics.arrays import Floats
from itemwise.responses.aligning import aligned
from itemwise.words import counted


def feature_rows(X: Any) -> tuple[Rows, Plan | None, tuple[str, ...]]:
    """Features as a plain frame with its plan, or as an array of numbers; and the column names."""
    if is_frame(X):
        rows = plain_rows(X)
        rows.frame.index = X.index
        return rows.frame, plan_of(rows), tuple(rows.frame.columns)
    try:
        cells = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"X should be numbers, but: {error}. Give columns of another kind in a frame."
        ) from error
    if cells.ndim != 2 or not cells.size:
        raise InputError(
            f"X has shape {cells.shape}, but it should have a row an item and a column a feature."
        )
    if np.isinf(cells).any():
        raise InputError("X holds infinite values. Replace them, by NaN if unknown.")
    return cells, None, tuple(f"feature {k + 1}" for k in range(cells.shape[1]))


def values_of_items(values: Any, rows: Rows, what: str) -> Floats:
    """One number an item, NaN where unknown; by name where both have names."""
    found = labels_of_items(difficulty_of(values), rows, what)
    try:
        numbers = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} should be numbers, but: {error}.") from error
    return np.where(np.isfinite(numbers), numbers, np.nan)


def labels_of_items(values: Any, rows: Rows, what: str) -> Any:
    """One value of any kind an item, in the order of the features."""
    index = getattr(values, "index", None)
    if is_frame(rows) and index is not None and not callable(index):
        frame: Any = rows
        values = aligned(values, frame.index, what)
    found = np.asarray(values)
    if found.shape != (len(rows),):
        raise InputError(
            f"{what} has shape {found.shape}, but there are {counted(len(rows), 'item')} in X. "
            "Give one value an item."
        )
    return found


def columns_of_items(values: Any, rows: Rows, what: str) -> dict[str, Floats]:
    """Numbers an item under each of some names: a frame, a mapping, or one column alone.

    Of difficulty targets, each method is a column.
    """
    if isinstance(values, DifficultyTargets):
        values = {name: values.difficulty(name, keep_dropped=True) for name in values.methods}
    if is_frame(values):
        _check_columns(values, what)
    if isinstance(values, Mapping) or is_frame(values):
        found = {str(name): values_of_items(values[name], rows, what) for name in values}
        if not found:
            raise InputError(f"{what} has no column. Give at least one.")
        return found
    name = getattr(values, "name", None)
    return {str(name or "difficulty"): values_of_items(values, rows, what)}


def negative_items(targets: DifficultyTargets, rows: Rows) -> NDArray[np.bool_]:
    """Which items are known to be of negative discrimination, in the order of the features."""
    import pandas as pd

    known = pd.Series(targets.negative.astype(np.float64), index=list(targets.items))
    found: NDArray[np.bool_] = values_of_items(known, rows, "targets") == 1
    return found


def _check_columns(frame: Any, what: str) -> None:
    """Refuse columns of text: a frame of targets also tells errors and flags, which are none."""
    import pandas as pd

    for name, column in frame.items():
        if (pd.to_numeric(column, errors="coerce").isna() & column.notna()).any():
            raise InputError(
                f"The column '{name}' of {what} holds no numbers, but each column should be a "
                f"difficulty. Choose columns, such as {what}[['difficulty_1pl']], or give what "
                "difficulty_targets found as it is, not its frame."
            )
