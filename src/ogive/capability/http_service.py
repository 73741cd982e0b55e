"""The gate over HTTP: a Starlette application, its keys, counts and log, and its server.

Behind a reverse proxy, which encrypts, ends slow connections, and limits rates (docs/serving.md).
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import hmac
import logging
import signal
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from ogive import __version__
from ogive._files import PathLike, most_bytes, readable_file
from ogive.capability.http_requests import (
    SENTENCES,
    Fields,
    Gate,
    RefusalError,
    RequestLimits,
    answer,
    as_json,
    openapi_document,
    parse,
    read_body,
    read_rows,
    refuse_many_values,
)
from ogive.capability.model_process import REQUESTS, ModelProcess, log_as_json, to_records
from ogive.errors import FileError, InputError, MissingExtraError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


MOST_BYTES = 1 << 20  # size limit of a file of keys
SECONDS_BETWEEN_CHECKS = 1.0  # of the file of keys
MAX_HEADER_BYTES = 32_768
OPEN = ("/health", "/ready", "/openapi.json")  # no key needed: they return no data
PATHS = (*OPEN, "/decide", "/capability", "/metrics")
GONE = 499  # status of a request whose client disconnected; counted, never sent
KEY = "ogive.key"  # in the scope of a request: the digest of the key that it was sent with
HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHUTDOWN_SECONDS = 30  # for running requests to finish

logger = logging.getLogger(__name__)


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
        self._keys, self._version, self._next_check = self._given, (0, 0), 0.0
        if self._path is not None:
            self._keys = (*self._given, *self._read(self._path))

    @property
    def needed(self) -> bool:
        """True if requests need a key."""
        return bool(self._keys)

    def holder(self, given: bytes) -> bytes | None:
        """Return the digest of an accepted key, or None; all are compared, in constant time."""
        self._reread_if_changed()
        digest = _digest(given)
        same = [hmac.compare_digest(digest, key) for key in self._keys]
        return digest if any(same) else None

    def _reread_if_changed(self) -> None:
        if self._path is None or monotonic() < self._next_check:
            return
        self._next_check = monotonic() + SECONDS_BETWEEN_CHECKS
        try:
            status = self._path.stat()
            if (status.st_mtime_ns, status.st_size) != self._version:
                self._keys = (*self._given, *self._read(self._path))
        except OSError:  # FileError among them: the file is being replaced
            return

    def _read(self, path: Path) -> list[bytes]:
        status = readable_file(path, most_bytes(None, MOST_BYTES)).stat()
        lines = map(bytes.strip, path.read_bytes().splitlines())
        digests = [_digest(line) for line in lines if line]
        if not digests:
            raise FileError(f"'{path}' holds no API key. Write one per line.")
        self._version = status.st_mtime_ns, status.st_size
        return digests


def _digest(key: bytes) -> bytes:
    """Return bytes of equal length for all keys, from which no key can be read."""
    return hashlib.sha256(key).digest()


class Metrics:
    """Counts since the start, in the text format of Prometheus; used by one thread."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._decisions: Counter[str] = Counter()

    def count_request(self, path: str, status: int) -> None:
        """Count one request to `path`, answered with `status`."""
        self._requests[path, status] += 1

    def count_decisions(self, decisions: Iterable[str]) -> None:
        """Count rows by who decides them: the model or a person."""
        self._decisions.update(decisions)

    def text(self) -> str:
        """Return all metrics."""
        lines = [
            "# HELP ogive_requests_total Requests by path and status.",
            "# TYPE ogive_requests_total counter",
        ]
        for (path, status), count in sorted(self._requests.items()):
            lines.append(f'ogive_requests_total{{path="{path}",status="{status}"}} {count}')
        lines += [
            "# HELP ogive_decisions_total Rows by who decides them.",
            "# TYPE ogive_decisions_total counter",
        ]
        for decision, count in sorted(self._decisions.items()):
            lines.append(f'ogive_decisions_total{{decision="{_escaped(decision)}"}} {count}')
        return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Guard:
    """ASGI middleware: checks the key, counts and logs requests, and hides tracebacks."""

    def __init__(self, app: ASGIApp, metrics: Metrics, keys: Keys) -> None:
        self._app, self._metrics, self._keys = app, metrics, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = perf_counter(), GONE

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        try:
            refused = self._refused(scope)
            await (answer(refused) if refused else self._app)(scope, receive, send_with_headers)
        except Exception as error:
            if not hung_up(error):
                logger.exception("A request failed")
                if status == GONE:  # nothing was sent yet
                    failed = answer(RefusalError(500, SENTENCES[500]))
                    await failed(scope, receive, send_with_headers)
        finally:
            path = scope["path"] if scope["path"] in PATHS else "other"
            self._metrics.count_request(path, status)
            if REQUESTS.isEnabledFor(logging.INFO):
                facts = _facts(scope, status, perf_counter() - begin)
                REQUESTS.info("request", extra={"facts": facts})

    def _refused(self, scope: Scope) -> RefusalError | None:
        """Return why the request is refused; None if it is not."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            return RefusalError(431, SENTENCES[431])
        if scope["path"] in OPEN or not self._keys.needed:
            return None
        given = [value for name, value in scope["headers"] if name == b"x-api-key"]
        holder = self._keys.holder(given[0]) if len(given) == 1 else None
        if holder is None:
            return RefusalError(401, SENTENCES[401])
        scope[KEY] = holder
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
    """Return True if the client is gone, so that nobody waits for an answer."""
    from starlette.requests import ClientDisconnect

    return isinstance(error, ClientDisconnect)


def make_app(
    gate: Gate,
    *,
    limits: RequestLimits | None = None,
    api_key: str | None = None,
    key_file: PathLike | None = None,
) -> Starlette:
    """Return the gate as an ASGI application (Starlette), for a server of your own.

    POST /decide takes {"rows": [{feature: value, ...}, ...]}. With `api_key`, requests need it in
    the header X-API-Key, except those for /health, /ready and /openapi.json; `key_file` has one key
    per line, and may change while the application runs. The model runs in a process of its own,
    which ends when the application shuts down. `serve` runs all of it.
    """
    keys = Keys(api_key, key_file)
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
    except ImportError as error:
        raise MissingExtraError("starlette", "serve") from error

    limits = limits or RequestLimits()
    fields, metrics, model = Fields.of(gate), Metrics(), ModelProcess(gate, limits)
    classes = [one.item() if hasattr(one, "item") else one for one in gate.classes_]
    document = openapi_document(fields, limits, classes, key=keys.needed, version=__version__)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(model.wait)
        yield
        model.close()

    app = Starlette(
        routes=_routes(gate, fields, limits, model, metrics, document),
        middleware=[Middleware(Guard, metrics=metrics, keys=keys)],
        exception_handlers={HTTPException: _explain},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.model = model
    return app


def _routes(
    gate: Gate,
    fields: Fields,
    limits: RequestLimits,
    model: ModelProcess,
    metrics: Metrics,
    document: dict[str, Any],
) -> list[Any]:
    from starlette.responses import Response
    from starlette.routing import Route

    async def decide(request: Request) -> Response:
        try:
            body = await read_body(request, limits)
            refuse_many_values(body, fields, limits)
            decisions = await model.decide(read_rows(parse(body), fields, limits))
        except RefusalError as refusal:
            return answer(refusal)
        deciders = [str(one["decision"]) for one in decisions]
        metrics.count_decisions(deciders)
        counts = {"model": 0, "person": 0, **Counter(deciders)}
        return as_json({"decisions": decisions, "counts": counts})

    async def ready(_request: Request) -> Response:
        if model.ready:
            return as_json({"status": "ready"})
        return answer(RefusalError(503, "The model is not running.", {"Retry-After": "1"}))

    async def metrics_text(_request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": METRICS_TYPE})

    def constant(content: Any) -> Callable[[Request], Any]:
        async def endpoint(_request: Request) -> Response:
            return as_json(content)

        return endpoint

    return [
        Route("/decide", decide, methods=["POST"]),
        Route("/ready", ready, methods=["GET"]),
        Route("/metrics", metrics_text, methods=["GET"]),
        Route("/health", constant({"status": "ok"}), methods=["GET"]),
        Route("/capability", constant(_capability(gate)), methods=["GET"]),
        Route("/openapi.json", constant(document), methods=["GET"]),
    ]


def _capability(gate: Gate) -> dict[str, Any]:
    frame = gate.capability_
    named = frame if "class" in frame else frame.rename_axis("class").reset_index()
    parts = getattr(gate, "parts_", None)
    return {
        "classes": to_records(named),
        **({} if parts is None else {"parts": to_records(parts)}),
    }


async def _explain(_request: Request, error: Any) -> Response:
    """Answer unknown paths and methods with a sentence."""
    sentence = SENTENCES.get(error.status_code, "The request cannot be answered.")
    return answer(RefusalError(error.status_code, sentence, error.headers))


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
    limits = limits or RequestLimits()
    log_as_json()
    app = make_app(gate, limits=limits, api_key=api_key, key_file=key_file)

    def listening(address: str) -> None:
        app.state.model.wait()  # requests wait in the queue of the socket
        if ready is not None:
            ready(address)

    with closing(app.state.model):
        run_app(app, host=host, port=port, limits=limits, ready=listening)


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
        ws="none",
        limit_concurrency=limits.connections,
        timeout_keep_alive=max(1, round(limits.seconds)),
        timeout_graceful_shutdown=graceful,
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
    )
    gc.collect()
    gc.freeze()  # what is loaded now stays loaded, so the collector need not visit it again
    with _listening(host, port) as listening:
        if ready is not None:
            ready(_address(host, listening))
        if threading.current_thread() is threading.main_thread():
            # uvicorn raises SIGTERM again after its shutdown; the exit code should be 0.
            signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections from now on, before the server runs."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Named as TCP, or asyncio leaves Nagle's algorithm on, which costs 40 ms per response.
        opened = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise _not_bound(host, port, error) from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(2048)
    except (OSError, OverflowError) as error:
        opened.close()
        raise _not_bound(host, port, error) from error
    return opened


def _not_bound(host: str, port: int, error: Exception) -> InputError:
    return InputError(
        f"Port {port} of '{host}' cannot be used: {error}. Choose another --port or --host."
    )


def _address(host: str, listening: socket.socket) -> str:
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{listening.getsockname()[1]}"
