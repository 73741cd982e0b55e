"""Tables that a caller gives: responses as they are, or made from a frame or an array."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike

from ogive.errors import InputError
from ogive.responses.response_table import Responses
from ogive.responses.stored_cells import NOMINAL
from ogive.responses.table_layouts import long_columns
from ogive.tables.foreign_frames import as_pandas, with_row_names

if TYPE_CHECKING:
    import pandas as pd

Table: TypeAlias = "Responses | pd.DataFrame | ArrayLike"


def as_responses(table: Table, kind: str | None = None) -> Responses:
    """Return responses as they are, or make them from a frame or an array, of a given `kind`.

    Choices become right and wrong unless they are asked for: only the nominal model reads them.
    """
    if isinstance(table, Responses):
        if kind is None and table.kind == NOMINAL:
            return table.of_kind("binary")
        return table if kind is None else table.of_kind(kind)
    if isinstance(table, str | os.PathLike):
        raise InputError(
            f"Responses are needed, not a path. Read it: ogive.read_responses({str(table)!r})."
        )
    if hasattr(table, "responses"):
        raise InputError(
            f"Responses are needed, not a {type(table).__name__}; give its attribute 'responses'."
        )
    if hasattr(table, "toarray"):
        raise InputError(
            "Responses are needed, not a sparse matrix, which cannot tell 0 from never asked. "
            "Give matrix.toarray(), with NaN where an item was never asked."
        )
    frame: Any = as_pandas(table)
    if hasattr(frame, "columns") and long_columns([str(name) for name in frame.columns], "auto"):
        raise InputError(
            "The frame has one row per response, but a table has one row per respondent and one "
            "column per item. Use Responses.from_long(frame), which takes the names of its columns."
        )
    if hasattr(frame, "columns"):
        return Responses.from_frame(with_row_names(table), kind=kind)
    return Responses(frame, kind=kind)
