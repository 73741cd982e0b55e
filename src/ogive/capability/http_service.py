"""Starlette app, keys, counts, log, uvicorn.

Who may ask, and how often: API keys that can be changed while the service runs, and rates.

Connections of the service: none keeps the others out, and none sends or reads too slowly.

Around every request: the API key, counts for Prometheus, and an answer if something fails.

The service as an ASGI application.

Run the service: its socket, the HTTP server, and a graceful shutdown.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import hmac
import logging
import signal
import socket
import sys
import threading
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, closing, suppress
from itertools import accumulate
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from ogive import __version__
from ogive._files import PathLike, most_bytes, readable_file
from ogive.capability import http_requests as openapi
from ogive.capability.http_requests import (
    SENTENCES,
    Fields,
    Gate,
    RefusalError,
    RequestLimits,
    answer,
    as_json,
    parse,
    read_body,
    read_rows,
    refuse_many_values,
)
from ogive.capability.model_process import (
    REQUESTS,
    Decider,
    InProcess,
    InThread,
    log_as_json,
    to_records,
)
from ogive.errors import FileError, InputError, MissingExtraError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


MOST_BYTES = 1 << 20  # of a file of keys
SECONDS_BETWEEN_LOOKS = 1.0
MOST_SENDERS = 10_000  # whose rates are remembered


class Keys:
    """The keys that open the service: one that is given, or the lines of a file.

    The file is read again when it has changed, so that keys are replaced without a stop: add the
    new one, let its users change, remove the old one. If it cannot be read, the keys stay.
    """

    def __init__(self, key: str | None = None, file: PathLike | None = None) -> None:
        if key is not None and not key.strip():
            raise InputError("The API key is empty. Give a longer one, or none at all.")
        self._path = None if file is None else Path(file)
        self._given = () if key is None else (_digest(key.encode()),)
        self._keys, self._stamp, self._next = self._given, (0, 0), 0.0
        if self._path is not None:
            self._keys = (*self._given, *self._read(self._path))

    @property
    def needed(self) -> bool:
        """Whether requests need a key."""
        return bool(self._keys)

    def holder(self, given: bytes) -> bytes | None:
        """Digest of a key that is accepted, or None; all keys are compared, in constant time."""
        self._look()
        wanted = _digest(given)
        same = [hmac.compare_digest(wanted, key) for key in self._keys]
        return wanted if any(same) else None

    def _look(self) -> None:
        if self._path is None or monotonic() < self._next:
            return
        self._next = monotonic() + SECONDS_BETWEEN_LOOKS
        try:
            told = self._path.stat()
            if (told.st_mtime_ns, told.st_size) != self._stamp:
                self._keys = (*self._given, *self._read(self._path))
        except OSError:  # FileError among them: it is being replaced
            return

    def _read(self, path: Path) -> list[bytes]:
        told = readable_file(path, most_bytes(None, MOST_BYTES)).stat()
        found = [_digest(line) for line in map(bytes.strip, path.read_bytes().splitlines()) if line]
        if not found:
            raise FileError(f"'{path}' holds no API key. Write one per line.")
        self._stamp = told.st_mtime_ns, told.st_size
        return found


def _digest(key: bytes) -> bytes:
    """Return of equal length for all keys, and no key itself."""
    return hashlib.sha256(key).digest()


class Rates:
    """So many requests per second for each sender, and as many at once."""

    def __init__(self, per_second: float | None, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def allows(self, sender: object) -> bool:
        """Count a request; False if its sender has sent too many."""
        if self._rate is None:
            return True
        now, most = self._clock(), max(self._rate, 1.0)
        left, last = self._left.pop(sender, (most, now))
        left = min(most, left + (now - last) * self._rate)
        allowed = left >= 1
        self._left[sender] = (left - allowed, now)
        if len(self._left) > MOST_SENDERS:
            self._left.popitem(last=False)
        return allowed


def impatient(seconds: float, most: int) -> type[Any]:
    """Return uvicorn's HTTP protocol, which closes connections that let it wait for `seconds`.

    Otherwise a few hundred clients that never finish their headers, or never read their answers,
    would keep everyone else out. Bodies have a time limit of their own. Beyond `most` connections,
    the one whose client has let it wait for longest makes room.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol

    class Impatient(protocol):  # type: ignore[misc]
        """Waits only so many seconds for the headers of a request, or for answers to be read."""

        _timer: Any = None
        _unread: Any = None
        _since = 0.0  # when the last answer was given, by the clock

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=0)  # so that what is not read is noticed
            self._since = monotonic()
            self._wait()
            if len(self.connections) > most:
                self._make_room()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._idle():
                self._wait()
            else:
                self._stop_waiting()

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            # What httptools reads after the body, trailers, must not count as headers.
            self.scope["headers"] = list(self.scope["headers"])

        def on_response_complete(self) -> None:
            self._since = monotonic()
            super().on_response_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._unread is None:
                self._unread = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_unread()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._stop_unread()
            super().connection_lost(exc)

        def _idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _waits_for_client(self) -> bool:
            return self._idle() or self.cycle.more_body or self.flow.write_paused

        def _make_room(self) -> None:
            waiting = [one for one in self.connections if one._waits_for_client()]  # noqa: SLF001
            oldest = min(waiting, key=lambda one: one._since, default=self)  # noqa: SLF001
            oldest._close()  # noqa: SLF001

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _stop_unread(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _give_up(self) -> None:
            self._timer = None
            if self._idle():
                self._close()

        def _close(self) -> None:
            self.connections.discard(self)
            with suppress(OSError):
                # What is not read would keep a connection that is only closed open for ever.
                (self.transport.abort if self.flow.write_paused else self.transport.close)()

    return Impatient


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
    """Return what the log says of a request: no key, and no value of a case."""
    facts = {
        "method": scope["method"][:20],
        "path": scope["path"][:200],
        "status": status,
        "ms": round(1000 * seconds, 2),
        "client": (scope.get("client") or ("",))[0],
    }
    return facts | ({"key": scope[KEY].hex()[:8]} if KEY in scope else {})


def hung_up(error: Exception) -> bool:
    """Return True if whoever asked is gone, so that nobody waits for an answer."""
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
    """Return whether the model can be asked: 503 while its process starts, or is started again."""
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
    """Return answer unknown paths and methods with a sentence."""
    sentence = SENTENCES.get(error.status_code, "The request cannot be answered.")
    return answer(RefusalError(error.status_code, sentence, error.headers))


SHUTDOWN_SECONDS = 30  # for running requests to finish
DRAIN_SECONDS = 0.5  # before connections are closed
SWITCH_SECONDS = 0.0005


def serve(
    gate: Gate,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: RequestLimits | None = None,
    api_key: str | None = None,
    key_file: PathLike | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the gate until SIGTERM or Ctrl-C; running requests are finished first.

    Port 0 chooses a free one. `ready` is called with the address once requests are accepted. The
    model runs in a process of its own, which is ended and started again when it hangs. The log, on
    standard error, has one JSON object per line, unless the program has a log of its own.
    """
    granted = limits or RequestLimits()
    log_as_json()
    app = make_app(gate, limits=granted, api_key=api_key, key_file=key_file, own_process=True)

    def listening(address: str) -> None:
        app.state.decider.wait()  # requests wait in the queue of the socket
        if ready is not None:
            ready(address)

    with closing(app.state.decider):
        run_app(app, host=host, port=port, limits=granted, ready=listening)


def run_app(
    app: Any,
    *,
    host: str,
    port: int,
    limits: RequestLimits,
    ready: Callable[[str], None] | None = None,
    graceful: int = SHUTDOWN_SECONDS,
) -> None:
    """Run an ASGI application until SIGTERM or Ctrl-C."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("uvicorn", "serve") from error
    config = uvicorn.Config(
        app,
        http=impatient(limits.seconds, limits.connections),
        ws="none",
        timeout_graceful_shutdown=graceful,
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
    )
    # Another thread may hold the interpreter for long; other answers should not wait for it.
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what is loaded now stays loaded, so the collector need not visit it again
    with _listening(host, port) as listening:
        if ready is not None:
            ready(_address(host, listening))
        _end_quietly()
        _draining(config, min(DRAIN_SECONDS, graceful / 2)).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections from now on, before the server runs."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Named as TCP, or asyncio leaves Nagle's algorithm on, which costs 40 ms per response.
        made = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise _not_bound(host, port, error) from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except (OSError, OverflowError) as error:
        made.close()
        raise _not_bound(host, port, error) from error
    return made


def _not_bound(host: str, port: int, error: Exception) -> InputError:
    return InputError(
        f"Port {port} of '{host}' cannot be used: {error}. Choose another --port or --host."
    )


def _address(host: str, listening: socket.socket) -> str:
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{listening.getsockname()[1]}"


def _end_quietly() -> None:
    """Ignore SIGTERM after a graceful shutdown, when uvicorn raises it again."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _do_nothing)


def _do_nothing(_signal: int, _frame: FrameType | None) -> None:
    pass


def _draining(config: Any, seconds: float) -> Any:
    """Return uvicorn's server, which goes on accepting for a moment before it ends.

    What was sent just before the signal lies in the queue of the socket, and would be reset.
    """
    import uvicorn

    class Draining(uvicorn.Server):
        """Ends in two steps."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Clients that keep their connection are told that it ends with this answer.
            self.server_state.default_headers.append((b"connection", b"close"))
            if not self.force_exit:
                await asyncio.sleep(seconds)
            await super().shutdown(sockets)

    return Draining(config)
