"""Ctrl-C that nothing below may swallow.

Some estimators catch KeyboardInterrupt and go on with what they have: scikit-learn's networks
return half trained, as if they were finished. An interrupt is therefore noted when it arrives, and
raised again before anything of that work is kept.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
    """The same for workers of joblib. What tracks their resources lifts the block as it starts."""
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
