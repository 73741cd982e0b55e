"""Connections of the service: none keeps the others out, and none sends its headers too late."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Any


def impatient(seconds: float, most: int) -> type[Any]:
    """Return uvicorn's HTTP protocol, which closes connections that do not finish their headers.

    Otherwise a few hundred idle connections would keep everyone else out. Bodies have a time limit
    of their own. Beyond `most` connections, the one that has been idle for longest makes room.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol

    class Impatient(protocol):  # type: ignore[misc]
        """Waits only so many seconds for the headers of a request."""

        _timer: Any = None
        _since = 0.0  # idle, by the clock

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
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

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _make_room(self) -> None:
            idle = [one for one in self.connections if one._idle()]  # noqa: SLF001
            oldest = min(idle, key=lambda one: one._since, default=self)  # noqa: SLF001
            oldest._close()  # noqa: SLF001

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
                self._close()

        def _close(self) -> None:
            self.connections.discard(self)
            with suppress(OSError):
                self.transport.close()

    return Impatient
