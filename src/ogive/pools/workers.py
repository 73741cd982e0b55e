"""Worker processes for members with a time limit, or outside the main thread.

A signal cannot interrupt a fit that is inside compiled code, and dask runs members in threads. So a
member with a time limit is fitted by a worker: a child process that waits for tasks, does one after
the other, and is killed when one takes too long. A worker ends with its parent, as soon as the
current fit lets Python run.
"""

from __future__ import annotations

import atexit
import json
import threading
from dataclasses import asdict

from ogive.child_pipes import Child, as_child, receive, send
from ogive.pools.outcomes import Outcome, Task, answer, one_line

START = "from ogive.pools.workers import serve; serve()"


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


class _Worker(Child):
    """One child process."""

    def __init__(self) -> None:
        super().__init__(START)

    @classmethod
    def ready(cls) -> _Worker:
        """An idle worker, or a new one."""
        while True:
            try:
                worker = _idle.pop()
            except IndexError:
                return cls()
            if worker.alive():
                return worker
            worker.end()  # it died while it waited

    def ask(self, task: Task, time_limit: float | None) -> Outcome:
        """The outcome of a task; at the time limit the worker is killed and the member fails."""
        import cloudpickle

        late = threading.Event()
        timer: threading.Timer | None = None
        served = False
        try:
            self.receive()  # it is ready: its start does not count as the member's time
            if time_limit is not None:
                timer = threading.Timer(time_limit, self._stop, [late])
                timer.daemon = True
                timer.start()
            self.send(cloudpickle.dumps(task))
            outcome = _outcome(self.receive())
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

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self.kill()

    def _failure(self, late: threading.Event, time_limit: float | None) -> Outcome:
        if late.is_set():
            return Outcome(
                failure=f"stopped at the time limit of {time_limit:g} s", time_limit=time_limit
            )
        status = self.process.wait()
        return Outcome(failure=f"its process ended with status {status}", passing=True)


_idle: list[_Worker] = []
atexit.register(dismiss)


def serve() -> None:
    """Work on tasks from standard input until it closes."""
    import cloudpickle

    tasks, outcomes = as_child()
    import sklearn.model_selection  # noqa: F401 - now, not during the first member's time

    while True:
        send(outcomes, b"ready")
        try:
            content = receive(tasks)
        except EOFError:
            return
        try:
            outcome = answer(cloudpickle.loads(content))
        except (Exception, SystemExit) as error:
            outcome = Outcome(failure=one_line(error))
        send(outcomes, json.dumps(asdict(outcome)).encode())


def _outcome(content: bytes) -> Outcome:
    given = json.loads(content)
    given["predictions"] = tuple(given["predictions"])
    given["remarks"] = tuple(given["remarks"])
    return Outcome(**given)
