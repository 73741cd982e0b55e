"""Fields, limits, parsing, errors by field, OpenAPI.

What the service needs of a gate, what a request may contain, and how one is refused.

From the bytes of a request to columns for the gate; errors name the row and the field.

The documentation of a service: an OpenAPI document of its gate's features, and a page.
"""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ogive._files import size_for_people
from ogive._validation import as_number, whole_number
from ogive.capability.cases import NUMBER, TEXT
from ogive.capability.guarantees import GROUP
from ogive.errors import InputError
from ogive.results.numbers import counted

if TYPE_CHECKING:
    import pandas as pd
    from starlette.requests import Request
    from starlette.responses import Response


SENTENCES = {
    401: "The header X-API-Key is missing or wrong.",
    404: "There is nothing here. The paths are listed at /docs.",
    429: "Too many requests. Send fewer in a second.",
    405: "This path does not allow this method. The methods are listed at /docs.",
    431: "The headers of the request are too long.",
    500: "Something failed inside the service; its log says what.",
}


class Gate(Protocol):
    """A fitted CapabilityGate, or any object with these attributes and this method."""

    classes_: Any
    capability_: pd.DataFrame
    kinds_: Mapping[str, str]

    def decide(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return one row per case: prediction, decision, cdi, difficulty, limit, reason.

        If the gate groups cases, `X` has the group as a column.
        """
        ...


@dataclass(frozen=True)
class RequestLimits:
    """Limits on the size and time of a request, and on what may wait."""

    rows: int = 1_000
    body_bytes: int = 1_048_576
    seconds: float = 10.0  # for sending a whole request
    answer_seconds: float = 10.0  # for its answer, after which the model is ended
    per_second: float | None = None  # requests of one key, or of one address where none is needed
    waiting_rows: int = 20_000  # at least `rows`
    connections: int = 500

    def __post_init__(self) -> None:
        for name in ("rows", "body_bytes", "waiting_rows", "connections"):
            whole_number(getattr(self, name), name, least=1)
        for name in ("seconds", "answer_seconds", "per_second"):
            value = getattr(self, name)
            given = value is not None or name != "per_second"
            if given and not 0 < as_number(value) < float("inf"):
                raise InputError(f"{name} is {value!r}, but it should be a number above 0.")


@dataclass(frozen=True)
class Fields:
    """The features of a gate, as fields of a request."""

    kinds: Mapping[str, str]  # name -> "number" | "text", in the order of the gate
    missing: bool  # whether null is allowed

    @classmethod
    def of(cls, gate: Gate) -> Fields:
        """Return the features of the gate, and whether it accepts missing values."""
        names = getattr(gate, "feature_names_in_", None)
        ordered = list(gate.kinds_) if names is None else [str(name) for name in names]
        kinds = {name: gate.kinds_[name] for name in ordered}
        kinds |= {name: kind for name, kind in _groups(gate).items() if name not in kinds}
        return cls(kinds, _decides_missing(gate, kinds))


def _groups(gate: Gate) -> dict[str, str]:
    """Return the fact that groups cases, if the promise of the gate holds in each group."""
    fact = getattr(gate, "group_fact_", None)
    if fact is None or getattr(gate, "by_", None) != GROUP:
        return {}
    return {fact.name: NUMBER if fact.numeric else TEXT}


def _decides_missing(gate: Gate, kinds: Mapping[str, str]) -> bool:
    """Check whether the gate decides a row of missing values; most classifiers refuse it."""
    import pandas as pd

    empty = {NUMBER: pd.Series([float("nan")]), TEXT: pd.Series([None], dtype=object)}
    row = pd.DataFrame({name: empty[kind] for name, kind in kinds.items()})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return len(gate.decide(row)) == 1
    except (Exception, SystemExit):  # whatever the model raises, it does not accept them
        return False


@dataclass(frozen=True)
class Problem:
    """A value that cannot be used: where it is in the request, and why."""

    place: tuple[str | int, ...]  # such as ("rows", 2, "age")
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the problem in the form that FastAPI uses, which many clients know."""
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in self.place
        ).lstrip(".")
        message = f"{where} {self.why}" if where else self.why
        return {"loc": ["body", *self.place], "msg": message, "type": "value_error"}


class RefusalError(Exception):
    """A refused request: its status, and the `detail` that is sent back."""

    def __init__(
        self,
        status: int,
        detail: str | Sequence[Problem],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail)
        self.status, self.headers = status, headers
        self.detail = detail if isinstance(detail, str) else [one.to_dict() for one in detail]


def _short(name: str, most: int = 60) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def answer(refusal: RefusalError) -> Response:
    """Return the response to a refused request."""
    return as_json({"detail": refusal.detail}, refusal.status, refusal.headers)


def as_json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response; NaN and infinity are bugs here, not data."""
    from starlette.responses import Response

    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type="application/json")


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


ERRORS = {
    400: "The body is not valid JSON.",
    401: "The key is missing or wrong.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    422: "A row has a field that cannot be used; the answer names it.",
    431: "The headers are too long.",
    429: "Too many requests of one sender.",
    500: "The gate failed.",
    503: "Too many rows are waiting, or the model did not answer in time.",
}
_NULLABLE_NUMBER = {"type": ["number", "null"]}
OPTIONAL = ("cdi_se", "trust", "least_trust")


def document(
    fields: Fields, limits: RequestLimits, classes: list[Any], *, key: bool, version: str
) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document: paths, requests, responses and errors."""
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Ogive gate",
            "version": version,
            "description": "Says for each case whether the model may decide it or a person should.",
        },
        "paths": _paths(key=key),
        "components": {"schemas": _schemas(fields, limits, classes)},
    }
    if key:
        found["components"]["securitySchemes"] = {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
        }
    return found


def page(document: dict[str, Any]) -> str:
    """Return the document as one plain HTML page, without scripts."""
    info, row = document["info"], document["components"]["schemas"]["Row"]["properties"]
    paths = [
        (f"{method.upper()} {path}", operation["summary"], ", ".join(operation["responses"]))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    fields = [(name, " or ".join(_listed(value["type"]))) for name, value in row.items()]
    key = "securitySchemes" in document["components"]
    said = "<p>Requests need the header <code>X-API-Key</code>.</p>" if key else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>"
        f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])}</p>{said}"
        f"{_table('Paths', ('request', 'answers', 'status'), paths)}"
        f"{_table('Fields of a row', ('field', 'type'), fields)}"
        '<p>POST /decide takes <code>{"rows": [{field: value, ...}, ...]}</code>. The whole '
        "description is <a href=openapi.json>openapi.json</a>.</p></html>"
    )


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    heads = "".join(f"<th align=left>{name}</th>" for name in head)
    return f"<h2>{title}</h2><table><tr>{heads}</tr>{''.join(lines)}</table>"


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _paths(*, key: bool) -> dict[str, Any]:
    guarded: dict[str, Any] = {"security": [{"key": []}]} if key else {}
    refused = [401, 431] if key else [431]
    ask = {
        "summary": "Model or person, for each row",
        "operationId": "decide",
        "requestBody": {"required": True, "content": _json("Rows")},
        "responses": _responses("Decisions", [code for code in ERRORS if code != 401 or key]),
    }
    limits = {
        "summary": "Up to what difficulty the model is trusted, by class; what it accepts, by part",
        "operationId": "capability",
        "responses": _responses("Capability", refused),
    }
    metrics = {
        "summary": "Counts and times, for Prometheus",
        "operationId": "metrics",
        "responses": {
            "200": {"description": "Success.", "content": {"text/plain": {"schema": _text()}}},
            **_refusals(refused),
        },
    }
    health = {
        "summary": "Whether the service runs",
        "operationId": "health",
        "responses": _responses("Health", [431]),
    }
    ready = {
        "summary": "Whether the model can be asked",
        "operationId": "ready",
        "responses": _responses("Health", [431, 503]),
    }
    return {
        "/decide": {"post": {**ask, **guarded}},
        "/capability": {"get": {**limits, **guarded}},
        "/metrics": {"get": {**metrics, **guarded}},
        "/health": {"get": health},
        "/ready": {"get": ready},
    }


def _schemas(fields: Fields, limits: RequestLimits, classes: list[Any]) -> dict[str, Any]:
    values = {name: _value(kind, missing=fields.missing) for name, kind in fields.kinds.items()}
    rows = {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": limits.rows}
    decision = {
        "prediction": {"enum": classes},
        "decision": {"enum": ["model", "person"]},
        "cdi": _NULLABLE_NUMBER,
        "difficulty": _NULLABLE_NUMBER,
        "limit": _NULLABLE_NUMBER,
        "reason": _text(),
    }
    count = {"type": "integer", "minimum": 0}
    told = {
        "decisions": {"type": "array", "items": _ref("Decision")},
        "counts": _object({"model": count, "person": count}),
    }
    problem = {"loc": {"type": "array"}, "msg": _text(), "type": _text()}
    detail = {"anyOf": [_text(), {"type": "array", "items": _object(problem)}]}
    return {
        "Row": {**_object(values), "additionalProperties": False},
        "Rows": {**_object({"rows": rows}), "additionalProperties": False},
        "Decision": _object(decision, dict.fromkeys(OPTIONAL, _NULLABLE_NUMBER)),
        "Decisions": _object(told),
        "Capability": _object({"classes": _records()}, {"parts": _records()}),
        "Health": _object({"status": {"enum": ["ok", "ready"]}}),
        "Refusal": _object({"detail": detail}),
    }


def _value(kind: str, *, missing: bool) -> dict[str, Any]:
    name = "number" if kind == NUMBER else "string"
    bounds: dict[str, Any] = (
        {"minimum": -LARGEST, "maximum": LARGEST} if kind == NUMBER else {"maxLength": LONGEST}
    )
    return {"type": [name, "null"] if missing else name, **bounds}


def _object(properties: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    every = {**properties, **(optional or {})}
    return {"type": "object", "properties": every, "required": list(properties)}


def _records() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object"}}


def _text() -> dict[str, Any]:
    return {"type": "string"}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _ref(name)}}


def _responses(name: str, refused: list[int]) -> dict[str, Any]:
    return {"200": {"description": "Success.", "content": _json(name)}, **_refusals(refused)}


def _refusals(codes: list[int]) -> dict[str, Any]:
    return {str(code): {"description": ERRORS[code], "content": _json("Refusal")} for code in codes}
