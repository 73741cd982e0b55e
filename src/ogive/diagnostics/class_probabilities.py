"""Probabilities that classifiers give to classes, and labels, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.responses.names_and_facts import row_name
from ogive.tables.foreign_frames import as_pandas
from ogive.words import counted, listed, shown

FAR_FROM_ONE = 0.01  # a sum of probabilities, for half precision and many classes


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """What each model says of each item, and the label that the item has."""

    models: tuple[str, ...]
    items: tuple[str, ...]
    classes: tuple[Any, ...]
    labels: NDArray[np.int64]  # (n_items,), codes of `classes`
    scores: Floats  # (n_models, n_items, n_classes); rows sum to one, or are NaN: never asked


def read_probabilities(
    scores: Any, labels: Any, classes: Any = None, items: Sequence[str] | None = None
) -> ClassProbabilities:
    """Probabilities with their labels, or one sentence that says why they do not fit together.

    `scores` is a frame or array of items × classes, a mapping of them by model, or an array of
    models × items × classes. `items` are the names that the rows should have, if they are known.
    """
    if labels is None:
        raise InputError("scores were given without labels. Give labels=, one label per item.")
    tables = _tables(scores)
    given = _plain(labels, "labels")
    names = _items(tables, labels, len(given), items)
    _check_complete(given, names)
    known = _classes(tables, given, classes)
    values = []
    for model, table in tables.items():
        value = _ordered(_matrix(model, table, names, known), table, known, names)
        values.append(_checked(f"'{model}'" if len(tables) > 1 else "the model", value, names))
    stacked = np.stack(values)
    _check_gaps(stacked, tuple(tables), names)
    return ClassProbabilities(tuple(tables), names, known, _codes(given, known, names), stacked)


def _tables(scores: Any) -> dict[str, Any]:
    if isinstance(scores, Mapping):
        tables = {str(name): as_pandas(table) for name, table in scores.items()}
    elif hasattr(scores, "columns"):
        tables = {"model": as_pandas(scores)}
    else:
        array = np.asarray(scores)
        several = array.ndim == 3
        tables = {f"model_{k + 1}": a for k, a in enumerate(array)} if several else {"model": array}
    if not tables:
        raise InputError("scores are empty. Give probabilities of at least one model.")
    return tables


def _plain(values: Any, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size:
        raise InputError(
            f"{what} have shape {array.shape}, but they should be a list: one label per item."
        )
    return array


def _check_complete(labels: NDArray[Any], items: tuple[str, ...]) -> None:
    missing = [
        item for item, each in zip(items, labels, strict=True) if each is None or each != each
    ]
    if missing:
        raise InputError(
            f"The label is missing for {listed(missing, 'item')}. Leave such items out of labels "
            "and scores."
        )


def _items(
    tables: dict[str, Any], labels: Any, n_items: int, items: Sequence[str] | None
) -> tuple[str, ...]:
    """Names from the calibration, or from the index of a frame, or by position."""
    names = None
    for each in (*tables.values(), labels):
        index = getattr(each, "index", None)
        if names is None and index is not None and not callable(index) and _named(index):
            names = tuple(map(str, index))
    if items is not None and len(items) != n_items:
        raise InputError(
            f"There are {counted(n_items, 'label')} for {counted(len(items), 'item')} of the "
            "calibration. Give one label per item, in the order of the items."
        )
    if items is not None and names is not None and names != tuple(items):
        strange = next((a for a, b in zip(names, items, strict=False) if a != b), names[-1])
        raise InputError(
            f"scores have a row {shown(strange)} where the calibration has another item. Put the "
            "rows in the order of the items: scores.loc[list(calibration.item_names)]."
        )
    return tuple(items) if items is not None else names or tuple(map(row_name, range(n_items)))


def _named(index: Any) -> bool:
    """Whether an index of pandas names its rows, and does not only count them."""
    return type(index).__name__ != "RangeIndex" and len(set(index)) == len(index)


def _classes(tables: dict[str, Any], labels: NDArray[Any], classes: Any) -> tuple[Any, ...]:
    """The classes given, or the columns of a frame, or the labels in order, or codes."""
    if classes is not None:
        found = tuple(_value(each) for each in classes)
        if len(set(found)) < len(found):
            raise InputError("classes name a class twice. Give each class once.")
        return found
    first = next(iter(tables.values()))
    if hasattr(first, "columns"):
        return tuple(_value(each) for each in first.columns)
    shape = np.asarray(first).shape
    if len(shape) != 2:
        raise InputError(
            f"scores have shape {shape}, but they should have one row per item and one column per "
            "class. Give all that predict_proba returns, not one of its columns."
        )
    width = shape[1]
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < width:
        return tuple(range(width))
    distinct = _distinct(labels)
    if len(distinct) != width:
        raise InputError(
            f"scores have {counted(width, 'column')}, but the labels have "
            f"{counted(len(distinct), 'different value')}. Say which class each column is: "
            "classes=[...]."
        )
    return distinct


def _distinct(labels: NDArray[Any]) -> tuple[Any, ...]:
    """The different labels, in the order of scikit-learn."""
    values = {_value(each) for each in labels}
    try:
        return tuple(sorted(values))
    except TypeError:
        raise InputError(
            "labels mix types, such as text and numbers. Give all of one type."
        ) from None


def _value(each: Any) -> Any:
    return each.item() if isinstance(each, np.generic) else each


def _matrix(model: str, table: Any, items: tuple[str, ...], classes: tuple[Any, ...]) -> Floats:
    try:
        found: Floats = np.asarray(table, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"scores of '{model}' are not all numbers.") from None
    if found.shape != (len(items), len(classes)):
        raise InputError(
            f"scores of '{model}' have shape {found.shape}, but there are "
            f"{counted(len(items), 'label')} and {len(classes)} classes. "
            "Give one row per item and one column per class, as predict_proba does."
        )
    if len(classes) < 2:
        raise InputError("There is one class only, so that no label can be wrong.")
    return found


def _ordered(
    values: Floats, table: Any, classes: tuple[Any, ...], items: tuple[str, ...]
) -> Floats:
    """The columns of a frame in the order of the classes, its rows in that of the items."""
    if not hasattr(table, "columns"):
        return values
    columns = [_value(each) for each in table.columns]
    if set(columns) != set(classes):
        strange = next(each for each in columns if each not in classes)
        raise InputError(
            f"scores have a column {shown(strange)}, which is none of the classes "
            f"{_said(classes)}. Name the columns by the classes."
        )
    index = list(map(str, table.index))
    if _named(table.index) and tuple(index) != items and set(index) == set(items):
        values = values[[index.index(item) for item in items]]
    return values[:, [columns.index(each) for each in classes]]


def _said(classes: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, classes[:4])) + (", ..." if len(classes) > 4 else "")


def _checked(whose: str, values: Floats, items: tuple[str, ...]) -> Floats:
    """Rows that sum to one; those without any number stay."""
    asked = ~np.isnan(values).all(axis=1)
    rows = values[asked]
    sums = rows.sum(axis=1)
    for bad, reason in (
        (~np.isfinite(rows).all(axis=1), "a probability is missing or infinite"),
        ((rows < 0).any(axis=1) | (rows > 1 + FAR_FROM_ONE).any(axis=1), "one is not from 0 to 1"),
        (abs(sums - 1) > FAR_FROM_ONE, "they do not sum to one"),
    ):
        if bad.any():
            names = [items[k] for k in np.flatnonzero(asked)[bad]]
            raise InputError(
                f"scores of {whose} are no probabilities for {listed(names, 'item')}: {reason}. "
                "Give what predict_proba returns."
            )
    found: Floats = values.copy()
    found[asked] = rows / sums[:, None]
    return found


def _check_gaps(values: Floats, models: tuple[str, ...], items: tuple[str, ...]) -> None:
    """An item without probabilities has none from any model."""
    missing = np.isnan(values[:, :, 0])
    uneven = missing.any(axis=0) & ~missing.all(axis=0)
    if uneven.any():
        item = int(np.flatnonzero(uneven)[0])
        model = models[int(np.flatnonzero(missing[:, item])[0])]
        raise InputError(
            f"scores of '{model}' are missing for {items[item]}, which other models predicted. "
            "Leave the model or the item out."
        )
    if missing.all():
        raise InputError("scores hold no number, so nothing can be said about the labels.")


def _codes(
    labels: NDArray[Any], classes: tuple[Any, ...], items: tuple[str, ...]
) -> NDArray[np.int64]:
    places = {each: code for code, each in enumerate(classes)}
    codes = np.array([places.get(_value(each), -1) for each in labels], dtype=np.int64)
    if (codes < 0).any():
        first = int(np.flatnonzero(codes < 0)[0])
        label = _value(labels[first])
        kinds = {type(each).__name__ for each in classes}
        other = (
            f"; it is of type {type(label).__name__}, they are of type {' and '.join(kinds)}"
            if type(label).__name__ not in kinds
            else ""
        )
        raise InputError(
            f"The label {shown(label)} of {items[first]} is none of the classes "
            f"{_said(classes)}{other}. Give scores a column for each class that a label has."
        )
    return codes
