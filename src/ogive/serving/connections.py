"""Connections of the service: none keeps the others out, and none sends or reads too slowly."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Any


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
