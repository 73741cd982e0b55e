"""The service as a process: its socket, its server, its end."""

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

FAREWELL_SECONDS = 30  # for running requests, once the process is told to end
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

    `port` 0 takes any free one. `ready` is called with the address as soon as requests are heard.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("uvicorn", "serve") from error
    granted = limits or RequestLimits()
    config = uvicorn.Config(
        make_app(gate, limits=granted, api_key=api_key),
        http=_impatient(granted.seconds),
        ws="none",
        limit_concurrency=granted.connections,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
    )
    # The thread of the gate may hold the interpreter for long; answers should not wait for it.
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what is loaded by now stays: no need to look through it again while others wait
    with _listening(host, port) as heard:
        if ready is not None:
            ready(_address(host, heard))
        _end_quietly()
        uvicorn.Server(config).run(sockets=[heard])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that hears requests from now on, even if they wait until the server runs."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Named as TCP, or asyncio does not turn off Nagle's delay, which costs 40 ms an answer.
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


def _address(host: str, heard: socket.socket) -> str:
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{heard.getsockname()[1]}"


def _end_quietly() -> None:
    """After a graceful end the server repeats the signal, which would kill the process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _do_nothing)


def _do_nothing(_signal: int, _frame: FrameType | None) -> None:
    pass


def _impatient(seconds: float) -> type[Any]:
    """The server's HTTP protocol, closing connections that do not finish the head of a request.

    Otherwise a few hundred open connections that say nothing would keep everyone else out. Bodies
    have their own limit of time.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol

    class Impatient(protocol):  # type: ignore[misc]
        """Waits for the head of a request for so many seconds and no longer."""

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
