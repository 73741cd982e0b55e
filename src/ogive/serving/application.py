"""The service as an ASGI application."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ogive import __version__
from ogive.errors import MissingExtraError
from ogive.files import PathLike
from ogive.serving import openapi
from ogive.serving.admission import Keys, Rates
from ogive.serving.batching import Decider
from ogive.serving.contract import (
    SENTENCES,
    Fields,
    Gate,
    RefusalError,
    RequestLimits,
    answer,
    as_json,
)
from ogive.serving.guard import Guard, Metrics
from ogive.serving.model_calls import InProcess, InThread, to_records
from ogive.serving.request_rows import parse, read_body, read_rows, refuse_many_values

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Endpoint = Callable[["Request"], Awaitable["Response"]]


def make_app(
    gate: Gate,
    *,
    limits: RequestLimits | None = None,
    api_key: str | None = None,
    key_file: PathLike | None = None,
    own_process: bool = False,
) -> Starlette:
    """Return the gate as an ASGI application (Starlette), for a server of your own.

    POST /decide takes {"rows": [{feature: value, ...}, ...]}. With `api_key`, requests need it in
    the header X-API-Key, except those for /health, /ready and the documentation; `key_file` has
    one key per line, and may change while the application runs. With `own_process`, the model
    runs in a process of its own, which can be ended when it hangs. `serve` runs all of it.
    """
    keys = Keys(api_key, key_file)
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
    except ImportError as error:
        raise MissingExtraError("starlette", "serve") from error

    granted = limits or RequestLimits()
    fields, metrics = Fields.of(gate), Metrics()
    decider = Decider(InProcess(gate) if own_process else InThread(gate), granted)
    document = openapi.document(
        fields, granted, _classes(gate), key=keys.needed, version=__version__
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        decider.close()

    decide = _decide(fields, granted, decider, metrics)
    app = Starlette(
        routes=_routes(gate, document, decide, metrics, decider),
        middleware=[Middleware(Guard, metrics=metrics, keys=keys, rates=Rates(granted.per_second))],
        exception_handlers={HTTPException: _explain},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.decider = decider
    return app


def _routes(
    gate: Gate, document: dict[str, Any], decide: Endpoint, metrics: Metrics, decider: Decider
) -> list[Any]:
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route

    capability, page = _capability(gate), openapi.page(document)
    told: dict[str, Callable[[], Response]] = {
        "/capability": lambda: as_json(capability),
        "/health": lambda: as_json({"status": "ok"}),
        "/ready": lambda: _readiness(decider),
        "/metrics": lambda: Response(metrics.text(), headers={"content-type": METRICS_TYPE}),
        "/openapi.json": lambda: as_json(document),
        "/docs": lambda: HTMLResponse(page),
    }
    return [
        Route("/decide", decide, methods=["POST"]),
        *(Route(path, _telling(make), methods=["GET"]) for path, make in told.items()),
    ]


def _readiness(decider: Decider) -> Response:
    """Whether the model can be asked: 503 while its process starts, or is started again."""
    if decider.ready:
        return as_json({"status": "ready"})
    return answer(RefusalError(503, "The model is not running.", {"Retry-After": "1"}))


def _telling(make: Callable[[], Response]) -> Endpoint:
    async def tell(_request: Request) -> Response:
        return make()

    return tell


def _decide(fields: Fields, limits: RequestLimits, decider: Decider, metrics: Metrics) -> Endpoint:
    async def decide(request: Request) -> Response:
        try:
            body = await read_body(request, limits)
            refuse_many_values(body, fields, limits)
            decisions = await decider.decide(read_rows(parse(body), fields, limits))
        except RefusalError as refusal:
            return answer(refusal)
        made = [one["decision"] for one in decisions]
        metrics.count_decisions(made)
        counts = {"model": 0, "person": 0, **Counter(made)}
        return as_json({"decisions": decisions, "counts": counts})

    return decide


def _capability(gate: Gate) -> dict[str, Any]:
    frame = gate.capability_
    named = frame if "class" in frame else frame.rename_axis("class").reset_index()
    parts = getattr(gate, "parts_", None)
    told = {} if parts is None else {"parts": to_records(parts)}
    return {"classes": to_records(named), **told}


def _classes(gate: Gate) -> list[Any]:
    return [one.item() if hasattr(one, "item") else one for one in gate.classes_]


async def _explain(_request: Request, error: Any) -> Response:
    """Answer unknown paths and methods with a sentence."""
    sentence = SENTENCES.get(error.status_code, "The request cannot be answered.")
    return answer(RefusalError(error.status_code, sentence, error.headers))
