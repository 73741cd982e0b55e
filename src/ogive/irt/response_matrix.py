"""The table of responses, whose class `ogive.data` defines above this package.

Type checkers take its types from there. What makes or reads a table is asked for by name when it is
first needed, so that importing `ogive.irt` imports nothing of `ogive.data`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from ogive.data.responses import Responses, Table
    from ogive.data.scan import OpenedRows, ScannedResponses

UNKNOWN_GROUP = "unknown"  # group of a respondent or item whose fact is missing


def from_data(module: str, name: str) -> Any:
    """Return the object `name` of `ogive.data.<module>`."""
    return getattr(import_module(f"ogive.data.{module}"), name)


def as_responses(table: Table, kind: str | None = None) -> Responses:
    """Return responses as they are, or make them from a frame or an array, of a given `kind`."""
    found: Responses = from_data("responses", "as_responses")(table, kind)
    return found


def new_responses(values: Any, *args: Any, **names: Any) -> Responses:
    """Return a table of floats with NaN, or of integer codes with -1, for never asked."""
    table = from_data("responses", "Responses")
    make = table if names.get("tries") is not None or values.dtype.kind == "f" else table.from_codes
    found: Responses = make(values, *args, **names)
    return found


def is_responses(table: object) -> TypeIs[Responses]:
    """Return True for a table of responses in memory."""
    return isinstance(table, from_data("responses", "Responses"))


def is_scanned(table: object) -> TypeIs[ScannedResponses]:
    """Return True for responses that are read from files in blocks."""
    return hasattr(type(table), "opened")  # opening would read the files


def is_opened(rows: object) -> TypeIs[OpenedRows]:
    """Return True for the rows of scanned responses, instead of an array of cells."""
    return hasattr(rows, "seen")
