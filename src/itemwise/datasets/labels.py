"""The target: which column it is, whether it holds classes, and their codes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.tables.delimited import number
from itemwise.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

USUAL_TARGETS = ("class", "target", "label")
MOST_FRACTIONS = 20  # different values, some of them not whole: more of them are a measurement
MOST_NUMBERS = 200  # different numbers, whole or not


def target_column(columns: Sequence[object], target: str | None, what: str) -> object:
    """The column that `target` names; without a name, the one called class, target or label."""
    names = {str(column): column for column in columns}
    if target is None:
        usual = [name for name in names if name.strip().lower() in USUAL_TARGETS]
        if len(usual) == 1:
            return names[usual[0]]
        raise InputError(
            f"Which column of {what} holds the class? {_columns_in_words(list(names))} "
            f"Name one, for example target={shown(list(names)[-1])}."
        )
    if str(target) in names:
        return names[str(target)]
    raise InputError(
        f"There is no column {shown(target)} in {what}. {_suggestion(str(target), list(names))}"
    )


def check_labels(target: pd.Series[Any], what: str) -> None:
    """Refuse a target that is missing, constant, or a measurement rather than a class."""
    check_complete(target, what)
    n_values = target.nunique()
    if n_values < 2:
        only = f"is {shown(target.iloc[0])} in every row" if len(target) else "has no rows"
        raise InputError(f"{what} {only}, but at least two classes are needed.")
    if _is_measurement(target, n_values):
        raise InputError(
            f"{what} holds {n_values:,} different numbers: it looks like a measurement "
            "(regression), but classes are needed. Name another target, cut it into classes "
            "(pandas.qcut), or turn it into text if these numbers are classes."
        )


def check_complete(target: pd.Series[Any], what: str) -> None:
    """Refuse a target that is missing in some rows."""
    missing = np.flatnonzero(target.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"{what} is missing in {counted(len(missing), 'row')}, first in row "
            f"{missing[0] + 1:,} (an empty cell, ?, NA, NaN and null are read as missing). "
            "Remove these rows, or give them a class."
        )


def coded(target: pd.Series[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes from 0, and the classes they stand for: in order of number, else of the alphabet."""
    texts = [label_text(label) for label in target]
    classes = tuple(in_order(texts))
    place = {text: code for code, text in enumerate(classes)}
    return np.array([place[text] for text in texts], dtype=np.int64), classes


def label_text(label: object) -> str:
    """A label as text: 1.0 is 1, so that a class has one name whatever the file format."""
    if isinstance(label, float | np.floating) and math.isfinite(label) and label == int(label):
        return str(int(label))
    return str(label)


def _is_measurement(target: pd.Series[Any], n_values: int) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(target) or is_bool_dtype(target):
        return False
    numbers = target.to_numpy(dtype=float)
    limit = MOST_NUMBERS if (numbers == np.round(numbers)).all() else MOST_FRACTIONS
    return n_values > limit


def in_order(labels: Iterable[str]) -> list[str]:
    """Different labels in order of number; of the alphabet, where not all are numbers."""
    different = sorted(set(labels))
    try:
        return sorted(different, key=float)
    except ValueError:
        return different


def _suggestion(target: str, names: list[str]) -> str:
    folded = {name.strip().lower(): name for name in names}
    near = difflib.get_close_matches(target.strip().lower(), folded, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(shown(folded[name]) for name in near)}?"
    return _columns_in_words(names)


def _columns_in_words(names: list[str]) -> str:
    hint = ""
    if any(number(name) is not None for name in names):
        hint = " Some of these are numbers: if the first line holds data, add a line of names."
    return f"It has {listed([shown(name) for name in names], 'column', shown=8)}.{hint}"
