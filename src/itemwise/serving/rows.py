"""Rows of a request as columns for the gate; what cannot be used is named by row and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.features import NUMBER
from itemwise.serving.contract import Fields
from itemwise.serving.refusals import Problem, RefusalError
from itemwise.words import counted

if TYPE_CHECKING:
    from itemwise.serving.contract import RequestLimits

Columns = Mapping[str, NDArray[Any]]

LARGEST = 1e30  # classifiers that compute in single precision overflow soon after
LONGEST = 10_000
MOST_PROBLEMS = 20
_NAMES = {bool: "true or false", str: "text", list: "a list", dict: "an object"}


def read_rows(document: Any, fields: Fields, limits: RequestLimits) -> Columns:
    """One array a feature, each as long as there are rows: numbers as float, text as object."""
    rows = _rows(document, limits)
    if problems := list(islice(_problems(rows, fields), MOST_PROBLEMS)):
        raise RefusalError(422, problems)
    columns = {name: [row[name] for row in rows] for name in fields.kinds}
    if fields.missing:
        columns = {
            name: [np.nan if value is None else value for value in values]
            for name, values in columns.items()
        }
    return {
        name: np.array(values, dtype=float if fields.kinds[name] == NUMBER else object)
        for name, values in columns.items()
    }


def _rows(document: Any, limits: RequestLimits) -> list[Any]:
    if not isinstance(document, dict):
        raise _refused((), 'The body should be an object: {"rows": [{...}, ...]}.')
    if unknown := [name for name in document if name != "rows"]:
        raise _refused((unknown[0],), 'is unknown; the body has one field, "rows".')
    if "rows" not in document:
        raise _refused(("rows",), "is missing.")
    rows = document["rows"]
    if not isinstance(rows, list):
        raise _refused(("rows",), f"is {_what(rows)}, but should be a list of objects.")
    if not 1 <= len(rows) <= limits.rows:
        raise _refused(
            ("rows",), f"has {counted(len(rows), 'row')}, but should have 1 to {limits.rows:,}."
        )
    return rows


def _problems(rows: list[Any], fields: Fields) -> Iterator[Problem]:
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            yield Problem(("rows", place), f"is {_what(row)}, but should be an object.")
            continue
        for name, kind in fields.kinds.items():
            if name not in row:
                yield Problem(("rows", place, name), "is missing.")
            elif why := _why_not(row[name], kind, missing=fields.missing):
                yield Problem(("rows", place, name), why)
        for name in row:
            if name not in fields.kinds:
                yield Problem(("rows", place, name), "is unknown to the gate.")


def _why_not(value: Any, kind: str, *, missing: bool) -> str | None:
    """Why a value cannot be used; nothing if it can."""
    if value is None:
        return None if missing else "is null, but the model takes no missing values."
    if kind == NUMBER:
        if type(value) is not float and type(value) is not int:
            return f"is {_what(value)}, but should be a number."
        return None if abs(value) <= LARGEST else f"is beyond {LARGEST:g} in size."
    if not isinstance(value, str):
        return f"is {_what(value)}, but should be text."
    if len(value) > LONGEST:
        return f"has {len(value):,} characters, but should have at most {LONGEST:,}."
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return "has half of a surrogate pair, which is no character."
    return None


def _what(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), "a number")


def _refused(place: tuple[str | int, ...], why: str) -> RefusalError:
    return RefusalError(422, [Problem(place, why)])
