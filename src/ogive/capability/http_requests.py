"""What a request to the gate may hold: fields, limits, errors by row and field, OpenAPI."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import size_for_people
from ogive._validation import as_number, whole_number
from ogive.capability.cases import NUMBER, TEXT
from ogive.capability.guarantees import GROUP
from ogive.errors import InputError
from ogive.results.numbers import counted

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


Columns = Mapping[str, NDArray[Any]]

LARGEST = 1e30  # largest number of a field; classifiers in single precision overflow soon after
LONGEST = 10_000  # characters of a text field
MAX_PROBLEMS = 20  # problems that one answer names
SENTENCES = {
    401: "The header X-API-Key is missing or wrong.",
    404: "There is nothing here. The paths are listed at /openapi.json.",
    405: "This path does not allow this method. The methods are listed at /openapi.json.",
    431: "The headers of the request are too long.",
    500: "Something failed inside the service; its log says what.",
}
_NAMES = {bool: "true or false", str: "text", list: "a list", dict: "an object"}


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
    seconds: float = 10.0  # for sending the body
    answer_seconds: float = 10.0  # for its answer, after which the model is ended
    waiting_rows: int = 20_000  # rows waiting or being decided; a single request always fits
    connections: int = 500

    def __post_init__(self) -> None:
        for name in ("rows", "body_bytes", "waiting_rows", "connections"):
            whole_number(getattr(self, name), name, least=1)
        for name in ("seconds", "answer_seconds"):
            value = getattr(self, name)
            if not 0 < as_number(value) < float("inf"):
                raise InputError(f"`{name}` must be a number above 0, got {value!r}.")


@dataclass(frozen=True)
class Fields:
    """The features of a gate, as fields of a request."""

    kinds: Mapping[str, str]  # name -> "number" | "text", in the order of the gate
    missing: bool  # whether null is allowed

    @classmethod
    def of(cls, gate: Gate) -> Fields:
        """Return the features of the gate, with the fact that groups cases if it needs one."""
        names = getattr(gate, "feature_names_in_", None)
        ordered = list(gate.kinds_) if names is None else [str(name) for name in names]
        kinds = {name: gate.kinds_[name] for name in ordered}
        fact = getattr(gate, "group_fact_", None)
        if fact is not None and getattr(gate, "by_", None) == GROUP:
            kinds.setdefault(fact.name, NUMBER if fact.numeric else TEXT)
        return cls(kinds, _decides_missing(gate, kinds))


def _decides_missing(gate: Gate, kinds: Mapping[str, str]) -> bool:
    """Check whether the gate decides a row of missing values; most classifiers refuse it."""
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

    path: tuple[str | int, ...]  # such as ("rows", 2, "age")
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the problem in the form that FastAPI uses, which many clients know."""
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{_shortened(part)}" for part in self.path
        ).lstrip(".")
        message = f"{where} {self.why}" if where else self.why
        return {"loc": ["body", *self.path], "msg": message, "type": "value_error"}


def _shortened(name: str, most: int = 60) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


class RefusalError(Exception):
    """A refused request: its status, and the `detail` that is sent back."""

    def __init__(
        self,
        status: int,
        detail: str | Sequence[Problem | dict[str, Any]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail)
        self.status, self.headers = status, headers
        self.detail = (
            detail
            if isinstance(detail, str)
            else [one.to_dict() if isinstance(one, Problem) else one for one in detail]
        )


def answer(refusal: RefusalError) -> Response:
    """Return the response to a refused request."""
    return as_json({"detail": refusal.detail}, refusal.status, refusal.headers)


def as_json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response; NaN and infinity are bugs here, not data."""
    from starlette.responses import Response

    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type="application/json")


# --- From the bytes of a request to columns for the gate ---


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


def refuse_many_values(body: bytes, fields: Fields, limits: RequestLimits) -> None:
    """Refuse a body with many more values than its rows may have, before it is parsed.

    No other request is answered while 300,000 lists are parsed. If a field is text, any character
    may occur in it, so values cannot be counted.
    """
    if any(kind != NUMBER for kind in fields.kinds.values()):
        return
    per_row = sum(2 + name.count(",") + name.count("[") for name in fields.kinds)
    if body.count(b",") + body.count(b"[") > 2 * limits.rows * per_row:
        rows, names = counted(limits.rows, "row"), counted(len(fields.kinds), "field")
        raise _refused(("rows",), f"has too many values: at most {rows} of {names} are allowed.")


def parse(body: bytes) -> Any:
    """Parse strict JSON: UTF-8, no field twice, no NaN or Infinity."""
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object_of
        )
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text: byte {error.start + 1:,} cannot be read"
    except json.JSONDecodeError as error:
        why = f"is not valid JSON: {error.msg} at line {error.lineno:,}, column {error.colno:,}"
    except RecursionError:
        why = "is nested too deeply"
    except ValueError:  # Python does not parse integers of more than 4,300 digits
        why = "has a number with too many digits"
    raise RefusalError(400, f"The body {why}.")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a parsed object; a field that occurs twice is ambiguous, and refused."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise RefusalError(400, f"The body has the field {twice[:60]!r} twice in one object.")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise RefusalError(400, f"The body holds {name}, which is not JSON. Missing values are null.")


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


def _rows(document: Any, limits: RequestLimits) -> list[Any]:
    if not isinstance(document, dict):
        raise _refused((), 'The body should be an object: {"rows": [{...}, ...]}.')
    if unknown := [name for name in document if name != "rows"]:
        raise _refused((unknown[0],), 'is unknown; the body has one field, "rows".')
    if "rows" not in document:
        raise _refused(("rows",), "is missing.")
    rows = document["rows"]
    if not isinstance(rows, list):
        raise _refused(("rows",), f"is {_type_name(rows)}, but should be a list of objects.")
    if not 1 <= len(rows) <= limits.rows:
        raise _refused(
            ("rows",), f"has {counted(len(rows), 'row')}, but should have 1 to {limits.rows:,}."
        )
    return rows


def _problems(rows: list[Any], fields: Fields) -> Iterator[Problem]:
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            yield Problem(("rows", index), f"is {_type_name(row)}, but should be an object.")
            continue
        for name, kind in fields.kinds.items():
            if name not in row:
                yield Problem(("rows", index, name), "is missing.")
            elif why := _why_not(row[name], kind, missing=fields.missing):
                yield Problem(("rows", index, name), why)
        for name in row:
            if name not in fields.kinds:
                yield Problem(("rows", index, name), "is unknown to the gate.")


def _why_not(value: Any, kind: str, *, missing: bool) -> str | None:
    """Return why a value cannot be used; None if it can."""
    if value is None:
        return None if missing else "is null, but the model does not accept missing values."
    if kind == NUMBER:
        if type(value) is not float and type(value) is not int:
            return f"is {_type_name(value)}, but should be a number."
        return None if abs(value) <= LARGEST else f"has a magnitude above {LARGEST:g}."
    if not isinstance(value, str):
        return f"is {_type_name(value)}, but should be text."
    if len(value) > LONGEST:
        return f"has {len(value):,} characters, but should have at most {LONGEST:,}."
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        return "has half of a surrogate pair, which is not a character."
    return None


def _type_name(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), "a number")


def _refused(path: tuple[str | int, ...], why: str) -> RefusalError:
    return RefusalError(422, [Problem(path, why)])


# --- The OpenAPI document ---

ERRORS = {
    400: "The body is not valid JSON.",
    401: "The key is missing or wrong.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    422: "A row has a field that cannot be used; the answer names it.",
    431: "The headers are too long.",
    500: "The gate failed.",
    503: "Too many rows are waiting, or the model did not answer in time.",
}
_NULLABLE_NUMBER = {"type": ["number", "null"]}
_TEXT = {"type": "string"}
_RECORDS = {"type": "array", "items": {"type": "object"}}


def openapi_document(
    fields: Fields, limits: RequestLimits, classes: list[Any], *, key: bool, version: str
) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document: paths, requests, responses and errors."""
    components: dict[str, Any] = {"schemas": _schemas(fields, limits, classes)}
    if key:
        components["securitySchemes"] = {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ogive gate",
            "version": version,
            "description": "Says for each case whether the model may decide it or a person should.",
        },
        "paths": _paths(key=key),
        "components": components,
    }


def _paths(*, key: bool) -> dict[str, Any]:
    guarded: dict[str, Any] = {"security": [{"key": []}]} if key else {}
    refused = [401, 431] if key else [431]
    decide = _operation(
        "decide",
        "Model or person, for each row",
        _json("Decisions"),
        [code for code in ERRORS if code != 401 or key],
    )
    capability = _operation(
        "capability",
        "Up to what difficulty the model is trusted, by class; what it accepts, by part",
        _json("Capability"),
        refused,
    )
    metrics = _operation(
        "metrics",
        "Counts of requests and decisions, for Prometheus",
        {"text/plain": {"schema": _TEXT}},
        refused,
    )
    health = _operation("health", "Whether the service runs", _json("Health"), [431])
    ready = _operation("ready", "Whether the model can be asked", _json("Health"), [431, 503])
    body = {"requestBody": {"required": True, "content": _json("Rows")}}
    return {
        "/decide": {"post": {**decide, **body, **guarded}},
        "/capability": {"get": {**capability, **guarded}},
        "/metrics": {"get": {**metrics, **guarded}},
        "/health": {"get": health},
        "/ready": {"get": ready},
    }


def _operation(
    name: str, summary: str, content: dict[str, Any], refused: list[int]
) -> dict[str, Any]:
    success = {"200": {"description": "Success.", "content": content}}
    refusals = {
        str(code): {"description": ERRORS[code], "content": _json("Refusal")} for code in refused
    }
    return {"summary": summary, "operationId": name, "responses": success | refusals}


def _schemas(fields: Fields, limits: RequestLimits, classes: list[Any]) -> dict[str, Any]:
    values = {name: _value(kind, missing=fields.missing) for name, kind in fields.kinds.items()}
    rows = {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": limits.rows}
    decision = {
        "prediction": {"enum": classes},
        "decision": {"enum": ["model", "person"]},
        "cdi": _NULLABLE_NUMBER,
        "difficulty": _NULLABLE_NUMBER,
        "limit": _NULLABLE_NUMBER,
        "reason": _TEXT,
    }
    optional = dict.fromkeys(("cdi_se", "trust", "least_trust"), _NULLABLE_NUMBER)
    count = {"type": "integer", "minimum": 0}
    decisions = {
        "decisions": {"type": "array", "items": _ref("Decision")},
        "counts": _object({"model": count, "person": count}),
    }
    problem = {"loc": {"type": "array"}, "msg": _TEXT, "type": _TEXT}
    detail = {"anyOf": [_TEXT, {"type": "array", "items": _object(problem)}]}
    return {
        "Row": {**_object(values), "additionalProperties": False},
        "Rows": {**_object({"rows": rows}), "additionalProperties": False},
        "Decision": _object(decision, optional),
        "Decisions": _object(decisions),
        "Capability": _object({"classes": _RECORDS}, {"parts": _RECORDS}),
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


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _ref(name)}}
