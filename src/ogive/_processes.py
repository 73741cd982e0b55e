"""Child processes, joblib workers, Ctrl-C.

Ctrl-C that nothing below may swallow.

Some estimators catch KeyboardInterrupt and go on with what they have: scikit-learn's networks
return half trained, as if they were finished. An interrupt is therefore noted when it arrives, and
raised again before anything of that work is kept.

Child processes of this program, and the messages to and from them.

What travels through the pipes comes from this program and goes to its own child; none of it is ever
stored.

Work on the workers of joblib, which whoever stops early leaves to nobody.
"""

from __future__ import annotations

import _thread
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, BinaryIO, Literal

INTERRUPTED = 130  # exit code
SOON = 0.02  # seconds in which an object is deleted
_met = threading.Event()


def end_at_once() -> None:
    """Let Ctrl-C end the process with a line, and nothing else, until work `begins`.

    While packages are imported, and after the work, there is nothing to clean up, and a
    KeyboardInterrupt would be shown with a traceback.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


@contextmanager
def begins() -> Iterator[None]:
    """Raise KeyboardInterrupt inside, if Ctrl-C ends the process outside.

    Only once: who presses the keys again, while things are cleaned up, does not want to wait.
    Python only prints what is raised while an object is deleted; there it is raised again, later.
    """
    before, printed = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if before is not _end:
        yield
        return
    met = False

    def unraisable(told: sys.UnraisableHookArgs) -> None:
        nonlocal met
        if not issubclass(told.exc_type, KeyboardInterrupt):
            printed(told)
            return
        met = False
        later = threading.Timer(SOON, _thread.interrupt_main)
        later.daemon = True
        later.start()

    def first(number: int, frame: FrameType | None) -> None:
        nonlocal met
        if met:
            _end(number, frame)
        met = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)
    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = printed


@contextmanager
def heeded() -> Iterator[None]:
    """Raise at the end, and at `raise_swallowed`, a KeyboardInterrupt that was swallowed inside.

    Also a decorator, for functions that fit estimators of unknown origin. Only the main thread
    receives signals; elsewhere, and where SIGINT is not handled by Python, this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(before) or getattr(before, "heeds", False):
        yield
        raise_swallowed()
        return

    def noted(number: int, frame: FrameType | None) -> None:
        _met.set()
        before(number, frame)

    noted.heeds = True  # type: ignore[attr-defined]
    _met.clear()
    signal.signal(signal.SIGINT, noted)
    try:
        yield
        raise_swallowed()
    except Exception:
        raise_swallowed()  # compiled code may turn the interrupt into an error of its own
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        _met.clear()


@contextmanager
def unheard_by_children() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, since this one ends them; it waits meanwhile.

    A terminal sends it to them, too, and each would show a traceback while it starts.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def unheard_by_workers() -> Iterator[None]:
    """Block Ctrl-C for workers of joblib; their resource tracker lifts the block as it starts."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        from joblib.externals.loky.backend import resource_tracker as of_joblib

        for tracker in (resource_tracker, of_joblib):
            tracker.ensure_running()
    with unheard_by_children():
        yield


def raise_swallowed() -> None:
    """Raise the interrupt that was swallowed, if there was one."""
    if _met.is_set() and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


SECONDS_BETWEEN_CHECKS = 1.0


class Child:
    """A Python process that runs `code`, and imports nothing from the working directory."""

    def __init__(self, code: str) -> None:
        with unheard_by_children():
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        assert self.process.stdin is not None  # noqa: S101 - opened above
        assert self.process.stdout is not None  # noqa: S101
        self.input: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.output: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def alive(self) -> bool:
        """Return True if it has not ended."""
        return self.process.poll() is None

    def send(self, content: bytes) -> None:
        """Send a message to the child."""
        send(self.input, content)

    def receive(self) -> bytes:
        """Wait for a message of the child; EOFError once it has ended."""
        return receive(self.output)

    def kill(self) -> None:
        """End it at once; whoever waits for its message gets an EOFError."""
        self.process.kill()

    def end(self) -> int:
        """Kill it, if it is still alive, close its pipes, and return its status."""
        self.process.kill()
        status = self.process.wait()
        for pipe in (self.input, self.output):
            with suppress(OSError):  # unwritten data has no reader any more
                pipe.close()
        return status


def as_child() -> tuple[BinaryIO, BinaryIO]:
    """Return where messages of a child come from and go to; it ends with its parent.

    Ctrl-C and SIGTERM are for the parent, which ends its children itself. What is printed goes to
    standard error, so that it does not mix with messages.
    """
    tasks, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, args=[os.getppid()], daemon=True).start()
    return tasks, results


def send(pipe: BinaryIO, content: bytes) -> None:
    """Write one message."""
    pipe.write(struct.pack(">Q", len(content)) + content)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes:
    """Read one message; EOFError if the other side has ended."""
    (size,) = struct.unpack(">Q", _exactly(pipe, 8))
    return _exactly(pipe, size)


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_CHECKS)
    os._exit(1)


def one_by_one(
    calls: Sequence[Any],
    n_jobs: int | None,
    *,
    ordered: bool = True,
    batch_size: int | Literal["auto"] = "auto",
) -> Generator[Any, None, None]:
    """Yield results of delayed calls as they come, or in their order. Close it to stop the others.

    A backend that cannot return one result at a time, such as ray's, works in rounds.
    """
    from joblib import Parallel, effective_n_jobs

    kind = "generator" if ordered else "generator_unordered"
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as=kind, batch_size=batch_size)
    except ValueError:
        size = effective_n_jobs(n_jobs)
        for start in range(0, len(calls), size):
            yield from Parallel(n_jobs=n_jobs, batch_size=1)(calls[start : start + size])
        return
    with unheard_by_workers():
        results = parallel(calls)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them loudly
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # calls were stopped on purpose
            results.close()
