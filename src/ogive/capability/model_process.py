"""One killable process answers, within a time.

The log of the service: one JSON object per line, whatever text of a request it holds.

Calls of the gate with a time limit: in a process of its own, or in a thread.

A process can be killed, whatever the model does, and is replaced. A thread that hangs can only be
left alone.

One call of the gate for all requests that wait at the same time.

A call costs nearly the same for ten rows as for a hundred, so a busy service decides more rows in
the same time, and an idle one loses nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ogive._processes import Child, as_child, receive, send
from ogive.capability.classifier import ModelError
from ogive.capability.http_requests import Problem, RefusalError
from ogive.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.http_requests import Columns, Gate, RequestLimits


REQUESTS = logging.getLogger("ogive.requests")  # one line per request, at level INFO


class JsonLines(logging.Formatter):
    """One ASCII line per event: line ends and control characters inside of text are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; `facts` of the record become fields of their own."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def log_as_json() -> None:
    """Write the log of this process to standard error, unless the program has its own."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler])  # does nothing where there are handlers
    logging.captureWarnings(True)


Decisions = list[dict[str, Any]]
Outcomes = list[Decisions | RefusalError]
START = "from ogive.capability.model_process import work; work()"
START_SECONDS = 120  # for a process to load what the gate needs
# Threads that hang, after which nothing more is asked. A request that makes the model hang costs
# up to three: together with others, alone for a short time, and last of all.
MOST_HUNG = 8

logger = logging.getLogger(__name__)


class Runner(Protocol):
    """Whatever asks the gate about the rows of some requests."""

    @property
    def ready(self) -> bool:
        """Whether it can be asked now."""

    async def run(self, parts: Sequence[Columns], seconds: float) -> Outcomes | None:
        """Return what becomes of each request; None if the gate took more than `seconds`."""

    def wait(self) -> None:
        """Wait until it can be asked, or has failed to start."""

    def close(self) -> None:
        """Ask no more."""


def late(seconds: float) -> RefusalError:
    """Refuse a request whose rows took too long."""
    return RefusalError(
        503,
        f"The model did not answer within {seconds:g} seconds. Try again, with fewer rows.",
        {"Retry-After": "1"},
    )


def busy(seconds: float) -> RefusalError:
    """Refuse a request that waited too long for others."""
    return RefusalError(
        503,
        f"The model was busy with other rows for {seconds:g} seconds. Try again.",
        {"Retry-After": "1"},
    )


class InProcess:
    """Asks the gate in a child process, which is killed when it takes too long."""

    def __init__(self, gate: Gate) -> None:
        import cloudpickle

        self._gate: bytes = cloudpickle.dumps(gate)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gate")
        self._child: Child | None = None
        self._closed = self.ready = False
        self._started = self._thread.submit(self._restart)

    def wait(self) -> None:
        """Wait until the process has loaded what the gate needs."""
        self._started.result()

    async def run(self, parts: Sequence[Columns], seconds: float) -> Outcomes | None:
        """Return what becomes of each request; None if the gate took more than `seconds`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._ask, list(parts), seconds)

    def close(self) -> None:
        """End the process, and whoever waits for its answer."""
        self._closed, self.ready = True, False
        if self._child is not None:
            self._child.kill()
        self._thread.shutdown()
        if self._child is not None:
            self._child.end()

    def _restart(self) -> None:
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

    def _ask(self, parts: list[Columns], seconds: float) -> Outcomes | None:
        if not self.ready:
            self._restart()
        if self._child is None or not self.ready:
            return [RefusalError(503, "The model is not running.", {"Retry-After": "5"})] * len(
                parts
            )
        try:
            with _killed_after(self._child, seconds) as timer:
                self._child.send(pickle.dumps(parts))
                found = json.loads(self._child.receive())
        except (EOFError, OSError):
            self.ready = False
            self._thread.submit(self._restart) if not self._closed else None
            if timer.late:
                logger.warning("The model took more than %g s and was ended", seconds)
                return None
            logger.error("The process of the model ended by itself and is started again")
            if len(parts) > 1:  # others should not suffer for the one that ended it
                return None
            return [RefusalError(500, "The gate failed on these rows.")]
        return [_restored(one) for one in found]


class _killed_after:  # noqa: N801 - a context manager, as those of contextlib
    """Kill a child that takes more than so many seconds; `late` says whether it was."""

    def __init__(self, child: Child, seconds: float) -> None:
        self.late, self._child = False, child
        self._timer = threading.Timer(max(seconds, 0.0), self._kill)
        self._timer.daemon = True

    def __enter__(self) -> _killed_after:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _kill(self) -> None:
        self.late = True
        self._child.kill()


def work() -> None:
    """In the child: decide what is asked for, until the parent ends."""
    import cloudpickle

    tasks, results = as_child()
    log_as_json()
    import pandas  # noqa: ICN001, F401 - now, not during the first request

    gate = cloudpickle.loads(receive(tasks))
    send(results, b"ready")
    while True:
        try:
            parts = pickle.loads(receive(tasks))  # noqa: S301 - from the parent
        except EOFError:
            return
        send(results, json.dumps([_written(one) for one in decide_parts(gate, parts)]).encode())


def _written(outcome: Decisions | RefusalError) -> Any:
    if isinstance(outcome, RefusalError):
        return {"status": outcome.status, "detail": outcome.detail}
    return outcome


def _restored(written: Any) -> Decisions | RefusalError:
    if isinstance(written, dict):
        found = RefusalError(written["status"], "")
        found.detail = written["detail"]
        return found
    decisions: Decisions = written
    return decisions


class InThread:
    """Asks the gate in a thread of this process, for an application in a server of your own."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._hung: list[threading.Thread] = []
        self._tasks, self._thread = self._begin()

    @property
    def ready(self) -> bool:
        """Whether it can be asked now."""
        self._hung = [one for one in self._hung if one.is_alive()]  # others came back
        return len(self._hung) < MOST_HUNG

    async def run(self, parts: Sequence[Columns], seconds: float) -> Outcomes | None:
        """Return what becomes of each request; None if the gate took more than `seconds`."""
        if not self.ready:
            return None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Outcomes] = loop.create_future()

        def tell(outcomes: Outcomes) -> None:
            if not found.done():
                found.set_result(outcomes)

        self._tasks.put((parts, lambda outcomes: loop.call_soon_threadsafe(tell, outcomes)))
        try:
            async with asyncio.timeout(seconds):
                return await found
        except TimeoutError:
            return None
        finally:
            if found.cancelled() or not found.done():
                logger.warning("The model took more than %g s; its thread is left alone", seconds)
                self._hung.append(self._thread)
                self._tasks.put(None)  # should it ever come back
                self._tasks, self._thread = self._begin()

    def wait(self) -> None:
        """Return at once: a thread can be asked from its start."""

    def close(self) -> None:
        """Let the thread end when it has finished."""
        self._tasks.put(None)

    def _begin(self) -> tuple[queue.SimpleQueue[Any], threading.Thread]:
        tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # A daemon: one that hangs must not keep the service from ending.
        thread = threading.Thread(target=self._work, args=[tasks], name="gate", daemon=True)
        thread.start()
        return tasks, thread

    def _work(self, tasks: queue.SimpleQueue[Any]) -> None:
        while (task := tasks.get()) is not None:
            parts, tell = task
            outcomes = decide_parts(self._gate, parts)
            try:
                tell(outcomes)
            except RuntimeError:  # the service has ended
                return


def decide_parts(gate: Gate, parts: Sequence[Columns]) -> Outcomes:
    """Decide all requests in one call; if that fails, each on its own."""
    together = _attempt(gate, parts)
    if isinstance(together, RefusalError):
        return [together] if len(parts) == 1 else [_attempt(gate, [one]) for one in parts]
    sizes = [len(next(iter(one.values()))) for one in parts]
    ends = np.cumsum(sizes)
    return [together[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _attempt(gate: Gate, parts: Sequence[Columns]) -> Decisions | RefusalError:
    import pandas as pd

    try:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        frame = pd.DataFrame(columns)
        decisions = to_records(gate.decide(frame))
        if len(decisions) != len(frame):
            raise RuntimeError(f"{len(frame)} rows gave {len(decisions)} decisions")
    except ModelError as error:
        logger.warning("The model refused rows of %d requests: %.999r", len(parts), str(error))
        return RefusalError(422, [Problem(("rows",), "cannot be decided: the model refused them.")])
    except InputError as error:
        return RefusalError(422, [Problem(("rows",), f"cannot be decided: {error}")])
    except (Exception, SystemExit):  # a model that ends the program must not end the service
        logger.exception("The gate failed on rows of %d requests", len(parts))
        return RefusalError(500, "The gate failed on these rows. The log of the service says why.")
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


MAX_ROWS = 1_000  # in one call, unless a single request has more
MAX_GATHERING_SECONDS = 0.01
# Requests behind rows that keep the model busy wait so many times `answer_seconds`, and so many
# seconds for its process to be started again.
PATIENCE, STARTING = 3, 20
QUICK = 0.25  # of `answer_seconds`: what takes longer is asked alone, after the others


@dataclass(eq=False)
class _Waiting:
    columns: Columns
    n_rows: int
    decided: asyncio.Future[Decisions]
    slow: bool = False  # it took long, so it is asked alone, after the others

    def settle(self, outcome: Decisions | RefusalError) -> None:
        """Tell the request what became of it, if it still waits."""
        if self.decided.done():  # the client disconnected, or was refused
            return
        if isinstance(outcome, RefusalError):
            self.decided.set_exception(outcome)
        else:
            self.decided.set_result(outcome)


class Decider:
    """Asks the gate elsewhere, so that the service can answer other requests meanwhile.

    A request is refused if the gate takes more than `answer_seconds` for it. Those behind it wait
    until the gate has been replaced, but not forever.
    """

    def __init__(self, runner: Runner, limits: RequestLimits) -> None:
        self._runner, self._seconds = runner, limits.answer_seconds
        self._patience = PATIENCE * self._seconds + STARTING
        self._max_waiting = max(limits.waiting_rows, limits.rows)  # a single request always fits
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def decide(self, columns: Columns) -> Decisions:
        """Return the decisions of the gate on these rows, in their order."""
        n_rows = len(next(iter(columns.values())))
        if self._waiting_rows() + n_rows > self._max_waiting:
            raise RefusalError(
                503, "Too many rows are waiting. Try again in a second.", {"Retry-After": "1"}
            )
        made = asyncio.get_running_loop().create_future()
        waiting = _Waiting(columns, n_rows, made)
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._decide_all())
        try:
            async with asyncio.timeout(self._patience):
                return await waiting.decided
        except TimeoutError:
            raise busy(self._patience) from None

    @property
    def ready(self) -> bool:
        """Whether the gate can be asked now."""
        return self._runner.ready

    def wait(self) -> None:
        """Wait until the gate can be asked for the first time."""
        self._runner.wait()

    def close(self) -> None:
        """Ask no more."""
        self._runner.close()

    async def _decide_all(self) -> None:
        while self._waiting:
            batch, begin = self._next_batch(), perf_counter()
            if batch:
                await self._decide_batch(batch)
            if len(batch) > 1 and self._waiting_rows() < MAX_ROWS:
                # Under load, wait for more requests while others are received and answered.
                await asyncio.sleep(min(perf_counter() - begin, MAX_GATHERING_SECONDS))

    async def _decide_batch(self, batch: list[_Waiting]) -> None:
        """Decide requests in one call; if it takes long, each on its own, slow ones last."""
        alone = len(batch) == 1
        limit = self._seconds * (1 if alone else QUICK)
        outcomes = await self._runner.run([one.columns for one in batch], limit)
        if outcomes is not None or alone:
            for place, one in enumerate(batch):
                one.settle(late(self._seconds) if outcomes is None else outcomes[place])
            return
        for one in batch:
            if one.decided.done():
                continue
            found = await self._runner.run([one.columns], self._seconds * QUICK)
            if found is None:
                one.slow = True
                self._waiting.append(one)
            else:
                one.settle(found[0])

    def _waiting_rows(self) -> int:
        return sum(one.n_rows for one in self._waiting)

    def _next_batch(self) -> list[_Waiting]:
        self._waiting = [one for one in self._waiting if not one.decided.done()]
        quick = [one for one in self._waiting if not one.slow]
        total, n = 0, 0
        for one in quick:
            total += one.n_rows
            if n and total > MAX_ROWS:
                break
            n += 1
        if not quick:
            return [self._waiting.pop(0)] if self._waiting else []
        slow = [one for one in self._waiting if one.slow]
        batch, self._waiting = quick[:n], quick[n:] + slow
        return batch
