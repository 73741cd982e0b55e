"""Worker processes for members with a time limit, or outside the main thread.

A signal cannot interrupt a fit that is inside compiled code, and dask runs members in threads. So a
member with a time limit is fitted by a worker: a child process that waits for tasks, does one after
the other, and is killed when one takes too long. A worker ends with its parent, as soon as the
current fit lets Python run. What travels through the pipe comes from this program and goes to its
own child; none of it is ever stored.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import BinaryIO

from itemwise.pools.outcomes import Outcome, Task, answer, one_line

SECONDS_BETWEEN_CHECKS = 1.0
START = "from itemwise.pools.workers import serve; serve()"


def answer_within(task: Task, time_limit: float | None, *, apart: bool = False) -> Outcome:
    """Run a task here if that is safe, and in a worker otherwise, or if `apart`.

    Counting warnings is not safe in threads, so members run here only in the main thread.
    """
    main = threading.current_thread() is threading.main_thread()
    if time_limit is None and main and not apart:
        return answer(task)
    return _Worker.ready().ask(task, time_limit)


def dismiss() -> None:
    """End the idle workers of this process."""
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return
        worker.end()


class _Worker:
    """One child process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    @classmethod
    def ready(cls) -> _Worker:
        """An idle worker, or a new one."""
        while True:
            try:
                worker = _idle.pop()
            except IndexError:
                return cls()
            if worker.process.poll() is None:
                return worker
            worker.end()  # it died while it waited

    def ask(self, task: Task, time_limit: float | None) -> Outcome:
        """The outcome of a task; at the time limit the worker is killed and the member fails."""
        import cloudpickle

        late = threading.Event()
        timer: threading.Timer | None = None
        served = False
        try:
            _read(
                self._output
            )  # it says that it is ready: its start does not count as the member's time
            if time_limit is not None:
                timer = threading.Timer(time_limit, self._stop, [late])
                timer.daemon = True
                timer.start()
            _write(self._input, cloudpickle.dumps(task))
            outcome = _outcome(_read(self._output))
            if timer is not None:  # it may be killing the worker at this moment
                timer.cancel()
                timer.join()
            served = not late.is_set()
        except (EOFError, OSError):
            outcome = self._failure(late, time_limit)
        finally:
            if timer is not None:
                timer.cancel()
            if served:
                _idle.append(self)
            else:
                self.end()
        return outcome

    def end(self) -> None:
        """Kill it, if it is still alive, and close its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unwritten data has no reader any more
                    pipe.close()

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self.process.kill()

    def _failure(self, late: threading.Event, time_limit: float | None) -> Outcome:
        if late.is_set():
            return Outcome(
                failure=f"stopped at the time limit of {time_limit:g} s", time_limit=time_limit
            )
        status = self.process.wait()
        return Outcome(failure=f"its process ended with status {status}", passing=True)

    @property
    def _input(self) -> BinaryIO:
        assert self.process.stdin is not None  # noqa: S101 - opened above
        return self.process.stdin  # type: ignore[return-value]

    @property
    def _output(self) -> BinaryIO:
        assert self.process.stdout is not None  # noqa: S101 - opened above
        return self.process.stdout  # type: ignore[return-value]


_idle: list[_Worker] = []
atexit.register(dismiss)


def serve() -> None:
    """Work on tasks from standard input until it closes."""
    import cloudpickle

    tasks, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted parent ends its workers itself
    os.dup2(2, 1)  # what a classifier prints must not mix with the outcomes
    threading.Thread(target=_end_with_parent, args=[os.getppid()], daemon=True).start()
    import sklearn.model_selection  # noqa: F401 - now, not during the first member's time

    while True:
        _write(outcomes, b"ready")
        try:
            content = _read(tasks)
        except EOFError:
            return
        try:
            outcome = answer(cloudpickle.loads(content))
        except (Exception, SystemExit) as error:
            outcome = Outcome(failure=one_line(error))
        _write(outcomes, json.dumps(asdict(outcome)).encode())


def _end_with_parent(parent: int) -> None:
    """End this worker once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_CHECKS)
    os._exit(1)


def _outcome(content: bytes) -> Outcome:
    given = json.loads(content)
    given["predictions"] = tuple(given["predictions"])
    given["remarks"] = tuple(given["remarks"])
    return Outcome(**given)


def _write(pipe: BinaryIO, content: bytes) -> None:
    pipe.write(struct.pack(">Q", len(content)) + content)
    pipe.flush()


def _read(pipe: BinaryIO) -> bytes:
    (size,) = struct.unpack(">Q", _exactly(pipe, 8))
    return _exactly(pipe, size)


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content
