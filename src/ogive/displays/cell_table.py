"""Curves of items by cell of a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ogive.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Cells:
    """Curves (n_items, n_points) over one grid, and the cell of each."""

    classes: list[Any]
    true: np.ndarray[Any, np.dtype[np.intp]]  # (n_items,), place among the classes
    predicted: np.ndarray[Any, np.dtype[np.intp]]
    discrimination: Floats
    grid: Floats
    curves: Floats
    lost: int  # items without a whole curve
    hidden: int  # classes for which there is no room

    def inside(self, row: int, column: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which items are in a cell."""
        found: np.ndarray[Any, np.dtype[np.bool_]] = (self.true == row) & (self.predicted == column)
        return found


def split(frame: pd.DataFrame, cells: pd.DataFrame | None, owner: str, most: int) -> Cells:
    """Sort a long frame into cells; of more than `most` classes, those with the most items."""
    _check_labels(frame, owner)
    order, shape = _by_item(frame, owner)
    rows = frame.iloc[order]
    ability = rows["ability"].to_numpy().reshape(shape)
    _check_grid(ability, rows, owner)
    for name in ("true", "predicted"):
        _check_one_cell(rows, name, shape, owner)
    first = rows.iloc[:: shape[1]]
    curves = rows["expected"].to_numpy().reshape(shape)
    whole = np.isfinite(curves).all(axis=1)
    if not whole.any():
        raise InputError(
            f"{owner} has nothing to draw: no item has a finite 'expected' at every ability."
        )
    if ((curves[whole] < 0) | (curves[whole] > 1)).any():
        raise InputError(f"{owner} needs probabilities, between 0 and 1, in the column 'expected'.")
    classes = _classes(frame, cells)
    shown = _largest(classes, first[whole], most)
    place = {name: k for k, name in enumerate(shown)}
    true, predicted = (
        np.array([place.get(name, -1) for name in first[column]], dtype=np.intp)
        for column in ("true", "predicted")
    )
    kept = whole & (true >= 0) & (predicted >= 0)
    return Cells(
        classes=shown,
        true=true[kept],
        predicted=predicted[kept],
        discrimination=first["discrimination"].to_numpy()[kept],
        grid=ability[0],
        curves=curves[kept],
        lost=int((~whole).sum()),
        hidden=len(classes) - len(shown),
    )


def _by_item(frame: pd.DataFrame, owner: str) -> tuple[np.ndarray[Any, Any], tuple[int, int]]:
    """Return the order of rows by item and ability, and the numbers of items and abilities."""
    import pandas as pd

    codes, items = pd.factorize(frame["item"], use_na_sentinel=False)
    counts = np.bincount(codes)
    if (counts != counts[0]).any() or counts[0] < 2:
        odd = int(np.argmax(counts != counts[0]))
        raise InputError(
            f"{owner} needs every item at the same two or more abilities, but item "
            f"'{items[0]}' has {counts[0]:,} rows and item '{items[odd]}' {counts[odd]:,}."
        )
    return np.lexsort((frame["ability"].to_numpy(), codes)), (len(items), int(counts[0]))


def _check_labels(frame: pd.DataFrame, owner: str) -> None:
    for name in ("true", "predicted"):
        if (missing := frame[name].isna()).any():
            item = frame.loc[missing.to_numpy(), "item"].iloc[0]
            raise InputError(
                f"{owner} needs a class in every row, but item '{item}' has none in '{name}'."
            )


def _check_grid(ability: Floats, rows: pd.DataFrame, owner: str) -> None:
    same = (ability == ability[0]).all(axis=1)
    if not same.all():
        item = rows["item"].iloc[int(np.argmin(same)) * ability.shape[1]]
        raise InputError(
            f"{owner} needs every item at the same finite abilities, but item '{item}' "
            f"has other abilities than item '{rows['item'].iloc[0]}'."
        )
    if (np.diff(ability[0]) <= 0).any() or not np.isfinite(ability[0]).all():
        raise InputError(
            f"{owner} needs each item once at each finite ability. "
            "Give it the cells of one model at a time."
        )


def _check_one_cell(rows: pd.DataFrame, name: str, shape: tuple[int, int], owner: str) -> None:
    import pandas as pd

    codes = pd.factorize(rows[name])[0].reshape(shape)
    mixed = (codes != codes[:, :1]).any(axis=1)
    if mixed.any():
        item = rows["item"].iloc[int(np.argmax(mixed)) * shape[1]]
        raise InputError(
            f"{owner} needs each item in one cell, but item '{item}' has more than one class "
            f"in '{name}'. Give it the cells of one model at a time."
        )


def _classes(frame: pd.DataFrame, cells: pd.DataFrame | None) -> list[Any]:
    """Return classes in the order of categories if there are any, else of appearance."""
    import pandas as pd

    found: dict[Any, None] = {}
    for source in (frame, cells) if cells is not None else (frame,):
        for name in ("true", "predicted"):
            column = source[name]
            ordered = isinstance(column.dtype, pd.CategoricalDtype)
            found |= dict.fromkeys(column.cat.categories if ordered else column.unique())
    return list(found)


def _largest(classes: list[Any], items: pd.DataFrame, most: int) -> list[Any]:
    """Return the classes with the most items, true or predicted, in their old order."""
    if len(classes) <= most:
        return classes
    count = items["true"].astype(object).value_counts()
    other = items["predicted"].astype(object).value_counts()
    sizes = np.array([count.get(name, 0) + other.get(name, 0) for name in classes])
    kept = np.sort(np.argsort(-sizes, kind="stable")[:most])
    return [classes[k] for k in kept]
