"""Run the service: its socket, the HTTP server, and a graceful shutdown."""

from __future__ import annotations

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from itemwise.errors import InputError, MissingExtraError
from itemwise.serving.application import make_app
from itemwise.serving.contract import Gate, RequestLimits

if TYPE_CHECKING:
    from types import FrameType

SHUTDOWN_SECONDS = 30  # for running requests to finish
SWITCH_SECONDS = 0.0005


def serve(
    gate: Gate,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: RequestLimits | None = None,
    api_key: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the gate until SIGTERM or Ctrl-C; running requests are finished first.

    Port 0 chooses a free one. `ready` is called with the address once requests are accepted.
    """
    granted = limits or RequestLimits()
    run_app(
        make_app(gate, limits=granted, api_key=api_key),
        host=host,
        port=port,
        limits=granted,
        ready=ready,
    )


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
        http=_impatient(limits.seconds),
        ws="none",
        limit_concurrency=limits.connections,
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
        uvicorn.Server(config).run(sockets=[listening])


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


def _impatient(seconds: float) -> type[Any]:
    """Return uvicorn's HTTP protocol, closing connections that do not finish their headers.

    Otherwise a few hundred idle connections would keep everyone else out. Bodies have a time limit
    of their own.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol

    class Impatient(protocol):  # type: ignore[misc]
        """Waits only so many seconds for the headers of a request."""

        _timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._idle():
                self._wait()
            else:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if self._idle():
                with suppress(OSError):
                    self.transport.close()

    return Impatient
