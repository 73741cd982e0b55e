"""The service as an ASGI application."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from itemwise import __version__
from itemwise.errors import InputError, MissingExtraError
from itemwise.serving import schema
from itemwise.serving.batches import Decider, to_records
from itemwise.serving.bodies import parse, read_body
from itemwise.serving.contract import Fields, Gate, RequestLimits
from itemwise.serving.guard import Guard, answer, as_json
from itemwise.serving.metrics import CONTENT_TYPE, Metrics
from itemwise.serving.refusals import SENTENCES, RefusalError
from itemwise.serving.rows import read_rows

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

Endpoint = Callable[["Request"], Awaitable["Response"]]


def make_app(
    gate: Gate, *, limits: RequestLimits | None = None, api_key: str | None = None
) -> FastAPI:
    """The gate as a FastAPI application, for a server of your own; `serve` brings one.

    POST /decide takes {"rows": [{feature: value, ...}, ...]}. With `api_key`, requests need it in
    the header X-API-Key, except those for /healthz and the documentation.
    """
    if api_key is not None and not api_key.strip():
        raise InputError("The API key is empty. Give a longer one, or none at all.")
    try:
        from fastapi import FastAPI
        from starlette.exceptions import HTTPException
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtraError("fastapi", "serve") from error

    granted = limits or RequestLimits()
    fields, metrics, decider = Fields.of(gate), Metrics(), Decider(gate, granted)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        decider.close()

    app = FastAPI(
        title="Itemwise gate",
        lifespan=lifespan,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _explain},
    )
    # Plain routes: the rows are checked by hand, which is many times quicker than by pydantic.
    app.router.routes += [
        Route("/decide", _decide(fields, granted, decider, metrics), methods=["POST"]),
        Route("/capability", _always(_capability(gate)), methods=["GET"]),
        Route("/healthz", _always({"status": "ok"}), methods=["GET"]),
        Route("/metrics", _tell(metrics), methods=["GET"]),
    ]
    document = schema.document(
        fields, granted, _classes(gate), key=api_key is not None, version=__version__
    )
    app.openapi = lambda: document  # type: ignore[method-assign]
    app.add_middleware(Guard, metrics=metrics, key=api_key)
    return app


def _decide(fields: Fields, limits: RequestLimits, decider: Decider, metrics: Metrics) -> Endpoint:
    async def decide(request: Request) -> Response:
        try:
            body = await read_body(request, limits)
            decisions = await decider.decide(read_rows(parse(body), fields, limits))
        except RefusalError as refusal:
            return answer(refusal)
        made = [one["decision"] for one in decisions]
        metrics.count_decisions(made)
        counts = {"model": 0, "person": 0, **Counter(made)}
        return as_json({"decisions": decisions, "counts": counts})

    return decide


def _always(content: Any) -> Endpoint:
    async def tell(_request: Request) -> Response:
        return as_json(content)

    return tell


def _tell(metrics: Metrics) -> Endpoint:
    async def tell(_request: Request) -> Response:
        from starlette.responses import Response

        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    return tell


def _capability(gate: Gate) -> dict[str, Any]:
    frame = gate.capability_
    named = frame if "class" in frame else frame.rename_axis("class").reset_index()
    return {"classes": to_records(named)}


def _classes(gate: Gate) -> list[Any]:
    return [one.item() if hasattr(one, "item") else one for one in gate.classes_]


async def _explain(_request: Request, error: Any) -> Response:
    """Unknown paths and methods, in a sentence."""
    sentence = SENTENCES.get(error.status_code, "The request cannot be answered.")
    return answer(RefusalError(error.status_code, sentence, error.headers))
