"""The model of a gate in a process of its own, which is killed if it takes too long.

One queue, one process: each request is one call, and a model that hangs or ends its process is
started again. The process writes its log like the service, as one JSON object per line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._processes import Child, as_child, receive, send
from ogive.capability.classifier import ModelError
from ogive.capability.http_requests import Problem, RefusalError
from ogive.errors import InputError

if TYPE_CHECKING:
    from ogive.capability.http_requests import Columns, Gate, RequestLimits


Decisions = list[dict[str, Any]]

START = "from ogive.capability.model_process import work; work()"
START_SECONDS = 120  # time limit for a process to load what the gate needs
# A request waits for those before it at most PATIENCE times `answer_seconds`, and RESTART_SECONDS
# for the process to be started again.
PATIENCE, RESTART_SECONDS = 3, 20
REQUESTS = logging.getLogger("ogive.requests")  # one line per request, at level INFO

logger = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """One ASCII line per event: line ends and control characters inside of text are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; `facts` of the record become fields of their own."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def log_as_json() -> None:
    """Write the log of this process to standard error, unless the program has its own."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler])  # does nothing if there are handlers
    logging.captureWarnings(True)


class ModelProcess:
    """Decides requests one after the other, in a child process that is killed when it hangs.

    A request is refused if the gate takes more than `answer_seconds` for it. Those behind it wait
    until the process has been started again, but not forever.
    """

    def __init__(self, gate: Gate, limits: RequestLimits) -> None:
        import cloudpickle

        self._gate: bytes = cloudpickle.dumps(gate)
        self._seconds = limits.answer_seconds
        self._patience = PATIENCE * self._seconds + RESTART_SECONDS
        self._max_waiting = max(limits.waiting_rows, limits.rows)  # a single request always fits
        self._waiting_rows = 0  # of all requests that are not answered yet
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="gate")
        self._child: Child | None = None
        self._closed = self.ready = False
        self._started = self._queue.submit(self._restart)

    def wait(self) -> None:
        """Wait until the process has loaded what the gate needs, or has failed to."""
        self._started.result()

    async def decide(self, columns: Columns) -> Decisions:
        """Return the decisions of the gate on these rows, in their order."""
        n_rows = len(next(iter(columns.values())))
        if self._waiting_rows + n_rows > self._max_waiting:
            raise _unavailable("Too many rows are waiting. Try again in a second.")
        self._waiting_rows += n_rows
        try:
            async with asyncio.timeout(self._patience):
                return await asyncio.wrap_future(self._queue.submit(self._ask, columns))
        except TimeoutError:
            raise _unavailable(
                f"The model was busy with other rows for {self._patience:g} seconds. Try again."
            ) from None
        finally:
            self._waiting_rows -= n_rows

    def close(self) -> None:
        """End the process, and the request that waits for its answer."""
        self._closed, self.ready = True, False
        if self._child is not None:
            self._child.kill()
        self._queue.shutdown()
        if self._child is not None:
            self._child.end()

    def _restart(self) -> None:
        """Start a process that knows the gate, in place of the one before."""
        self.ready = False
        if self._child is not None:
            self._child.end()
        if self._closed:
            return
        self._child = Child(START)
        if self._closed:  # meanwhile
            self._child.kill()
        try:
            with _killed_after(self._child, START_SECONDS):
                self._child.send(self._gate)
                self._child.receive()
            self.ready = True
        except (EOFError, OSError):
            if not self._closed:
                logger.error("The process of the model cannot be started")

    def _ask(self, columns: Columns) -> Decisions:
        """Send rows to the process, and wait for its decisions."""
        if not self.ready:
            self._restart()
        if self._child is None or not self.ready:
            raise _unavailable("The model is not running.", seconds=5)
        try:
            with _killed_after(self._child, self._seconds) as timed_out:
                self._child.send(pickle.dumps(columns))
                decided = json.loads(self._child.receive())
        except (EOFError, OSError):
            self.ready = False
            if not self._closed:
                self._queue.submit(self._restart)
            if timed_out.is_set():
                logger.warning("The model took more than %g s and was ended", self._seconds)
                raise _unavailable(
                    f"The model did not answer within {self._seconds:g} seconds. Try again, with "
                    "fewer rows."
                ) from None
            logger.error("The process of the model ended by itself and is started again")
            raise RefusalError(500, "The gate failed on these rows.") from None
        if isinstance(decided, dict):
            raise RefusalError(decided["status"], decided["detail"])
        decisions: Decisions = decided
        return decisions


def _unavailable(sentence: str, seconds: int = 1) -> RefusalError:
    return RefusalError(503, sentence, {"Retry-After": str(seconds)})


@contextmanager
def _killed_after(child: Child, seconds: float) -> Iterator[threading.Event]:
    """Kill a child that takes more than so many seconds; the event says whether it was killed."""
    timed_out = threading.Event()

    def kill() -> None:
        timed_out.set()
        child.kill()

    timer = threading.Timer(seconds, kill)
    timer.daemon = True
    timer.start()
    try:
        yield timed_out
    finally:
        timer.cancel()


def work() -> None:
    """Decide in the child what is asked for, until the parent ends."""
    import cloudpickle

    tasks, results = as_child()
    log_as_json()
    gate = cloudpickle.loads(receive(tasks))
    send(results, b"ready")
    while True:
        try:
            columns = pickle.loads(receive(tasks))  # noqa: S301 - from the parent
        except EOFError:
            return
        try:
            decided: Any = decide_rows(gate, columns)
        except RefusalError as refusal:
            decided = {"status": refusal.status, "detail": refusal.detail}
        send(results, json.dumps(decided).encode())


def decide_rows(gate: Gate, columns: Columns) -> Decisions:
    """Return the decisions of a gate; what it raises becomes a RefusalError without its inside."""
    try:
        frame = pd.DataFrame(columns)
        decisions = to_records(gate.decide(frame))
        if len(decisions) != len(frame):
            raise RuntimeError(f"{len(frame)} rows gave {len(decisions)} decisions")
    except ModelError as error:
        logger.warning("The model refused the rows of a request: %.999r", str(error))
        refused = Problem(("rows",), "cannot be decided: the model refused them.")
        raise RefusalError(422, [refused]) from error
    except InputError as error:
        raise RefusalError(422, [Problem(("rows",), f"cannot be decided: {error}")]) from error
    except (Exception, SystemExit) as error:  # a model that ends the program must not end this
        logger.exception("The gate failed on the rows of a request")
        raise RefusalError(
            500, "The gate failed on these rows. The log of the service says why."
        ) from error
    return decisions


def to_records(frame: pd.DataFrame) -> Decisions:
    """Return the rows of a frame as JSON values; what is not finite becomes null."""
    names = [str(name) for name in frame.columns]
    columns = [[_plain(value) for value in frame[name].tolist()] for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
