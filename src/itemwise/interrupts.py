"""Ctrl-C that nothing below may swallow.

Some estimators catch KeyboardInterrupt and go on with what they have: scikit-learn's networks
return half trained, as if they were finished. An interrupt is therefore noted when it arrives, and
raised again before anything of that work is kept.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_met = threading.Event()


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
    finally:
        signal.signal(signal.SIGINT, before)
        _met.clear()


def raise_swallowed() -> None:
    """Raise the interrupt that was swallowed, if there was one."""
    if _met.is_set() and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
