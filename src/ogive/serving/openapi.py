"""The documentation of a service: an OpenAPI document of its gate's features, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ogive.capability.case_features import NUMBER
from ogive.serving.request_rows import LARGEST, LONGEST

if TYPE_CHECKING:
    from ogive.serving.contract import Fields, RequestLimits

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
