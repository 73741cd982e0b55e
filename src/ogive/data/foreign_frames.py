"""Frames of other libraries (polars, pyarrow and whatever speaks Arrow) as frames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from ogive.errors import InputError
from ogive.results.numbers import half_character, shown


def as_pandas(table: Any) -> Any:
    """Return a frame or column of another library as one of pandas; anything else as it is.

    polars, pyarrow, cuDF and others offer `to_pandas`; DuckDB and others offer Arrow's stream
    (`__arrow_c_stream__`). Lazy frames are collected. Text stays text and categories stay
    categories; a missing value is missing in pandas, too.

    >>> import pyarrow
    >>> as_pandas(pyarrow.table({"size": [1, 2]})).columns.tolist()
    ['size']
    """
    if isinstance(table, type) or type(table).__module__.partition(".")[0] == "pandas":
        return table
    if hasattr(table, "collect") and hasattr(table, "lazy"):
        table = table.collect()
    try:
        if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "to_pandas"):
            table = pa.table(table)
        if callable(getattr(table, "to_pandas", None)):
            return _with_signed_codes(table).to_pandas()
    except Exception as error:  # whatever a foreign library raises
        raise InputError(
            f"The {type(table).__name__} could not be turned into a pandas frame: "
            f"{type(error).__name__}, {(str(error).splitlines() or [''])[0]:.200}. Give one of "
            "pandas."
        ) from error
    return table


def _with_signed_codes(table: Any) -> Any:
    """Return an Arrow table whose categories have codes that pandas knows; others as they are.

    Codes of other libraries may be unsigned, which older versions of PyArrow do not convert.
    """
    if type(table).__module__.partition(".")[0] != "pyarrow":
        return table

    for k, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
            plain = table.column(k).cast(kind.value_type)
            table = table.set_column(k, field.name, plain.dictionary_encode())
    return table


def with_whole_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame; refuse half of a surrogate pair, which pandas' own text cannot hold."""
    for name, column in frame.items():
        if column.dtype == object:
            broken = half_character([cell for cell in column if isinstance(cell, str)])
            if broken is not None:
                raise InputError(
                    f"Column {shown(name)} has {shown(broken)}, which holds half a character. "
                    "Correct it, or leave the column out."
                )
    return frame


def with_row_names(table: Any) -> Any:
    """Return `as_pandas`; a foreign frame has no index, so a first column of text names its rows.

    >>> import pyarrow
    >>> with_row_names(pyarrow.table({"model": ["a", "b"], "q1": [1, 0]})).index.tolist()
    ['a', 'b']
    """
    frame = as_pandas(table)
    if frame is table or not hasattr(frame, "columns") or frame.shape[1] < 2:
        return frame
    from pandas.api.types import is_numeric_dtype

    first = frame.columns[0]
    return frame if is_numeric_dtype(frame[first]) else frame.set_index(first)
