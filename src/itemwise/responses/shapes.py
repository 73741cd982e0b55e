"""What may be a table: checked before it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itemwise.errors import InputError
from itemwise.responses.cells import NEVER_ASKED


def as_table(values: ArrayLike) -> NDArray[Any]:
    """Any rectangle as an array of two dimensions; a frame is refused."""
    if hasattr(values, "columns") and hasattr(values, "index"):
        raise InputError(
            "values is a DataFrame, whose names would be lost. "
            "Use Responses.from_frame(frame), or from_long(frame) for one row per response."
        )
    if isinstance(values, np.ma.MaskedArray):
        numeric = values.dtype.kind in "biuf"
        values = np.ma.filled(values.astype(np.float64 if numeric else object), np.nan)
    try:
        table = np.asarray(values)
    except ValueError as error:
        raise InputError(
            "The rows of values differ in length, but a table has one column per item. "
            "Fill the gaps with NaN."
        ) from error
    if table.ndim != 2:
        raise InputError(
            f"values has shape {table.shape}, which is {table.ndim}-dimensional, "
            "but a table has two dimensions. Give one row per respondent and one column per item."
        )
    check_shape(table.shape)
    return table


def check_codes(cells: NDArray[Any]) -> None:
    """Refuse what is no table of codes."""
    if cells.dtype not in (np.int8, np.int16) or cells.ndim != 2:
        raise InputError(
            f"cells is {cells.ndim}-dimensional and of type {cells.dtype}, but codes are a table "
            "of int8 or int16. Give other numbers to Responses(values)."
        )
    check_shape(cells.shape)
    if cells.min() < NEVER_ASKED:
        raise InputError(
            f"cells holds {cells.min()}, but codes are -1 (never asked), 0 and above. "
            "Use -1 for what is missing."
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a table without respondents or items."""
    if 0 in shape:
        raise InputError(
            f"The table is empty: {shape[0]:,} respondents × {shape[1]:,} items. "
            "There must be at least one of each."
        )
