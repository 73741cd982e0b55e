"""Run the service: its socket, the HTTP server, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ogive.errors import InputError, MissingExtraError
from ogive.files import PathLike
from ogive.serving.application import make_app
from ogive.serving.connections import impatient
from ogive.serving.contract import Gate, RequestLimits
from ogive.serving.json_log import log_as_json

if TYPE_CHECKING:
    from types import FrameType

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
