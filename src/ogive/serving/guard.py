"""Around every request: the API key, counts for Prometheus, and an answer if something fails."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING

from ogive.serving.admission import Keys, Rates
from ogive.serving.contract import SENTENCES, RefusalError, answer
from ogive.serving.json_log import REQUESTS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

OPEN = ("/health", "/ready", "/docs", "/openapi.json")  # no key needed: they return no data
PATHS = (*OPEN, "/decide", "/capability", "/metrics")
GONE = 499  # the client disconnected; counted, never sent
MAX_HEADER_BYTES = 32_768
KEY = "ogive.key"  # in the scope of a request: the digest of the key that it was sent with
HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]

logger = logging.getLogger(__name__)


class Guard:
    """ASGI middleware: checks the key and the rate, counts requests, and hides tracebacks."""

    def __init__(self, app: ASGIApp, metrics: Metrics, keys: Keys, rates: Rates) -> None:
        self._app, self._metrics, self._keys, self._rates = app, metrics, keys, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its outcome."""
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
            if not hung_up(error):
                logger.exception("A request failed")
                if status == GONE:  # nothing was sent yet
                    await answer(RefusalError(500, SENTENCES[500]))(scope, receive, sent)
        finally:
            path = scope["path"] if scope["path"] in PATHS else "other"
            spent = perf_counter() - begin
            self._metrics.count_request(path, status, spent)
            if REQUESTS.isEnabledFor(logging.INFO):
                REQUESTS.info("request", extra={"facts": _facts(scope, status, spent)})

    def _refused(self, scope: Scope) -> RefusalError | None:
        """Return why the request is refused; None if it is not."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            return RefusalError(431, SENTENCES[431])
        if scope["path"] in OPEN:
            return None
        sender: object = (scope.get("client") or ("",))[0]
        if self._keys.needed:
            given = [value for name, value in scope["headers"] if name == b"x-api-key"]
            sender = self._keys.holder(given[0]) if len(given) == 1 else None
            if sender is None:
                return RefusalError(401, SENTENCES[401])
            scope[KEY] = sender
        if not self._rates.allows(sender):
            return RefusalError(429, SENTENCES[429], {"Retry-After": "1"})
        return None


def _facts(scope: Scope, status: int, seconds: float) -> dict[str, object]:
    """What the log says of a request: no key, and no value of a case."""
    facts = {
        "method": scope["method"][:20],
        "path": scope["path"][:200],
        "status": status,
        "ms": round(1000 * seconds, 2),
        "client": (scope.get("client") or ("",))[0],
    }
    return facts | ({"key": scope[KEY].hex()[:8]} if KEY in scope else {})


def hung_up(error: Exception) -> bool:
    """Whether whoever asked is gone, so that nobody waits for an answer."""
    from starlette.requests import ClientDisconnect

    return isinstance(error, ClientDisconnect)


class Metrics:
    """Counts and times since the start, in the text format of Prometheus; used by one thread."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._decisions: Counter[str] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count one request to `path`, answered with `status` after `seconds`."""
        self._requests[path, status] += 1
        buckets = self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[path] = self._seconds.get(path, 0.0) + seconds

    def count_decisions(self, decisions: Iterable[object]) -> None:
        """Count rows by who decides them: the model or a person."""
        self._decisions.update(str(decision) for decision in decisions)

    def text(self) -> str:
        """Return all metrics."""
        return "\n".join([*self._counts(), *self._histogram(), ""])

    def _counts(self) -> Iterable[str]:
        yield "# HELP ogive_requests_total Requests by path and status."
        yield "# TYPE ogive_requests_total counter"
        for (path, status), count in sorted(self._requests.items()):
            yield f'ogive_requests_total{{path="{path}",status="{status}"}} {count}'
        yield "# HELP ogive_decisions_total Rows by who decides them."
        yield "# TYPE ogive_decisions_total counter"
        for decision, count in sorted(self._decisions.items()):
            yield f'ogive_decisions_total{{decision="{_escaped(decision)}"}} {count}'

    def _histogram(self) -> Iterable[str]:
        name = "ogive_request_seconds"
        yield f"# HELP {name} Time from the headers of a request to the end of its response."
        yield f"# TYPE {name} histogram"
        for path, buckets in sorted(self._buckets.items()):
            *sums, total = accumulate(buckets)
            for limit, count in zip(BUCKETS, sums, strict=True):
                yield f'{name}_bucket{{path="{path}",le="{limit:g}"}} {count}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {total}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {total}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
