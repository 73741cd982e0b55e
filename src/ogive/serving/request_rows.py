"""From the bytes of a request to columns for the gate; errors name the row and the field."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ogive.capability.case_features import NUMBER
from ogive.files import size_for_people
from ogive.serving.contract import Fields, Problem, RefusalError, RequestLimits
from ogive.words import counted

if TYPE_CHECKING:
    from starlette.requests import Request

Columns = Mapping[str, NDArray[Any]]

LARGEST = 1e30  # classifiers that compute in single precision overflow soon after
LONGEST = 10_000
MAX_PROBLEMS = 20
_NAMES = {bool: "true or false", str: "text", list: "a list", dict: "an object"}


async def read_body(request: Request, limits: RequestLimits) -> bytes:
    """Return the whole body; refuse it once it is too large, too slow or not JSON."""
    _check_headers(request, limits)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise RefusalError(
            408, f"The body did not arrive within {limits.seconds:g} seconds."
        ) from None
    return b"".join(parts)


def refuse_many_values(body: bytes, fields: Fields, limits: RequestLimits) -> None:
    """Refuse a body with many more values than its rows may have, before it is parsed.

    Nobody else is answered while 300,000 lists are parsed. Where a field is text, any sign may
    occur in it, and nothing can be told.
    """
    if any(kind != NUMBER for kind in fields.kinds.values()):
        return
    signs = sum(2 + name.count(",") + name.count("[") for name in fields.kinds)
    if body.count(b",") + body.count(b"[") > 2 * limits.rows * signs:
        rows, names = counted(limits.rows, "row"), counted(len(fields.kinds), "field")
        raise _refused(("rows",), f"has too many values: at most {rows} of {names} are allowed.")


def parse(body: bytes) -> Any:
    """Parse strict JSON: UTF-8, no field twice, no NaN or Infinity."""
    try:
        with _without_collector():
            return json.loads(
                body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_once
            )
    except UnicodeDecodeError as error:
        raise RefusalError(
            400, f"The body is not UTF-8 text: byte {error.start + 1:,} cannot be read."
        ) from None
    except json.JSONDecodeError as error:
        raise RefusalError(
            400,
            f"The body is not valid JSON: {error.msg} at line {error.lineno:,}, "
            f"column {error.colno:,}.",
        ) from None
    except RecursionError:
        raise RefusalError(400, "The body is nested too deeply.") from None
    except ValueError:  # Python does not parse integers of more than 4,300 digits
        raise RefusalError(400, "The body has a number with too many digits.") from None


def read_rows(document: Any, fields: Fields, limits: RequestLimits) -> Columns:
    """Return one array per feature, (n_rows,): numbers as float, text as object."""
    rows = _rows(document, limits)
    if problems := list(islice(_problems(rows, fields), MAX_PROBLEMS)):
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


def _check_headers(request: Request, limits: RequestLimits) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusalError(
            415, "The body should be JSON, with the header Content-Type: application/json."
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RefusalError(415, "The body is compressed. Send it uncompressed.")
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise RefusalError(400, "The request has both Content-Length and Transfer-Encoding.")
    length = request.headers.get("content-length", "")
    # The header may be long itself, so its digits are counted before it is parsed.
    if length.isdecimal() and (len(length) > 18 or int(length) > limits.body_bytes):
        raise _too_large(limits)


def _too_large(limits: RequestLimits) -> RefusalError:
    return RefusalError(
        413,
        f"The body is larger than {size_for_people(limits.body_bytes)}. "
        "Send fewer rows in a request.",
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Look for no cycles meanwhile: JSON has none, and 300,000 lists would take twice the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; a field that occurs twice is ambiguous, and refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise RefusalError(400, f"The body has the field {twice[:60]!r} twice in one object.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise RefusalError(400, f"The body holds {name}, which is not JSON. Missing values are null.")


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
    """Return why a value cannot be used; None if it can."""
    if value is None:
        return None if missing else "is null, but the model does not accept missing values."
    if kind == NUMBER:
        if type(value) is not float and type(value) is not int:
            return f"is {_what(value)}, but should be a number."
        return None if abs(value) <= LARGEST else f"has a magnitude above {LARGEST:g}."
    if not isinstance(value, str):
        return f"is {_what(value)}, but should be text."
    if len(value) > LONGEST:
        return f"has {len(value):,} characters, but should have at most {LONGEST:,}."
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return "has half of a surrogate pair, which is not a character."
    return None


def _what(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), "a number")


def _refused(place: tuple[str | int, ...], why: str) -> RefusalError:
    return RefusalError(422, [Problem(place, why)])
