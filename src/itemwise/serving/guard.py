"""What stands around every request: the key, the count, and the last word when something fails."""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from itemwise.serving.refusals import SENTENCES, RefusalError

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from itemwise.serving.metrics import Metrics

OPEN = ("/healthz", "/docs", "/openapi.json")  # without a key: they tell no data
PATHS = (*OPEN, "/decide", "/capability", "/metrics")
GONE = 499  # the sender hung up; counted, never sent
MOST_HEADER_BYTES = 32_768
HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]

logger = logging.getLogger(__name__)


class Guard:
    """An ASGI layer: lets in who has the key, and lets nothing out but plain answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics, key: str | None) -> None:
        self._app, self._metrics = app, metrics
        self._key = None if key is None else key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = perf_counter(), GONE

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            refused = self._refused(scope)
            await (answer(refused) if refused else self._app)(scope, receive, sent)
        except Exception as error:
            if not _hung_up(error):
                logger.exception("A request failed")
                if status == GONE:  # nothing was sent yet
                    await answer(RefusalError(500, SENTENCES[500]))(scope, receive, sent)
        finally:
            path = scope["path"] if scope["path"] in PATHS else "other"
            self._metrics.count_request(path, status, perf_counter() - begin)

    def _refused(self, scope: Scope) -> RefusalError | None:
        """Why a request does not come in; nothing if it does."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADER_BYTES:
            return RefusalError(431, SENTENCES[431])
        if self._key is None or scope["path"] in OPEN:
            return None
        given = [value for name, value in scope["headers"] if name == b"x-api-key"]
        if len(given) == 1 and hmac.compare_digest(given[0], self._key):
            return None
        return RefusalError(401, SENTENCES[401])


def answer(refusal: RefusalError) -> Response:
    """What the sender of a refused request gets."""
    return as_json({"detail": refusal.detail}, refusal.status, refusal.headers)


def as_json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; NaN and infinity would be a mistake of ours."""
    from starlette.responses import Response

    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type="application/json")


def _hung_up(error: Exception) -> bool:
    from starlette.requests import ClientDisconnect

    return isinstance(error, ClientDisconnect)
