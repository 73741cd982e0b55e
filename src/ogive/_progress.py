"""Progress of long work: a bar in a terminal or a notebook, plain lines elsewhere, or nothing.

Every `progress=` argument of the package takes True (a bar where a person watches), False
(nothing), or a callable `progress(done, total, message)`; `total` is None while it is unknown.
"""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

SECONDS_BETWEEN_LINES = 2.0
SECONDS_OF_SILENCE = 4.0  # at most, where lines are printed
SECONDS_BETWEEN_BARS = 0.2  # in a notebook, which keeps what it is sent
PATIENCE = 1.0  # seconds; shorter work shows no bar
FREE = 1e-3  # seconds; steps faster than this were done in an earlier run
LEAST_MADE = 0.01  # of the steps; before, the time left is anybody's guess

Progress = Callable[[int, int | None, str], None]  # steps done, steps in all, message
Wanted = Progress | bool  # the type of a `progress` argument
Bar = Callable[[str], AbstractContextManager[Progress]]

# Whether an outer call shows progress already, or was asked for silence.
_hushed: ContextVar[bool] = ContextVar("hushed", default=False)
# Who is told of the stage that work has come to, however deep inside it is.
_watcher: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)


_SHOWN: list[str] = []  # titles of the bars and lines that are on screen


def at_stage(name: str) -> None:
    """Tell whoever watches what is done now: work that has no steps to count names its stages."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(name)


@contextmanager
def told_of_stages(watcher: Callable[[str], None]) -> Iterator[None]:
    """Tell `watcher` of every stage that is named inside."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


@contextmanager
def hushed() -> Iterator[None]:
    """Show no bar for anything that runs inside."""
    before = _hushed.set(True)
    try:
        yield
    finally:
        _hushed.reset(before)


@contextmanager
def telling(progress: Wanted, title: str) -> Iterator[Progress]:
    """Turn the value of a `progress` argument into a function to call."""
    if callable(progress):
        staged = _Staged(progress)
        with hushed(), told_of_stages(staged.at_stage):
            yield staged
    elif not progress:
        with hushed():
            yield silent
    else:
        with watched(title) as report:
            yield report


@contextmanager
def watched(title: str) -> Iterator[Progress]:
    """Show a bar where a person watches, in a terminal or a notebook, and nothing elsewhere.

    Only the outermost work is shown, and only once it has lasted `PATIENCE`.
    """
    bar = None if _hushed.get() else _bar()
    with hushed():
        if bar is None:
            yield silent
        else:
            with _after_a_while(bar, title) as report:
                yield report


def in_notebook() -> bool:
    """Return True if this program runs in a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _bar() -> Bar | None:
    """Return the bar for where a person watches; worker threads and processes have none."""
    if threading.current_thread() is not threading.main_thread():
        return None
    if in_notebook():
        return _notebook_bar
    return terminal_bar if sys.stderr.isatty() and not _is_worker() else None


def _is_worker() -> bool:
    from multiprocessing import current_process

    return current_process().name != "MainProcess"


@contextmanager
def _after_a_while(bar: Bar, title: str) -> Iterator[Progress]:
    staged = _Staged(_Patient(bars := ExitStack(), bar, title))
    with told_of_stages(staged.at_stage), bars:
        yield staged


@dataclass
class _Staged:
    """Passes progress on, and the stages of work inside as messages."""

    show: Progress
    done: int = 0
    total: int | None = None

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self.done, self.total = done, total
        self.show(done, total, message)

    def at_stage(self, name: str) -> None:
        """Tell a stage, at the step that was reached."""
        self.show(self.done, self.total, name)

    def resumed(self, steps: int) -> None:
        """Pass it on."""
        resumed(self.show, steps)


@dataclass
class _Patient:
    """Reports nothing until the work has lasted `PATIENCE`."""

    stack: ExitStack
    bar: Bar
    title: str
    begin: float = field(default_factory=time.monotonic)
    shown: Progress | None = None

    def __call__(self, done: int, total: int | None, message: str) -> None:
        if self.shown is None and time.monotonic() - self.begin >= PATIENCE:
            self.shown = self.stack.enter_context(self.bar(self.title))
        if self.shown is not None:
            self.shown(done, total, message)

    def resumed(self, steps: int) -> None:
        """Pass it on; what was done before the bar appears does not count anyway."""
        if self.shown is not None:
            resumed(self.shown, steps)


@contextmanager
def terminal_bar(title: str) -> Iterator[Progress]:
    """Show a bar on stderr that disappears when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),  # a file may be called [bold].csv
        BarColumn(bar_width=24),
        TextColumn("{task.fields[message]}", markup=False),
        TimeElapsedColumn(),
    )
    pace = Pace()
    shown = RichProgress(*columns, console=Console(stderr=True), transient=True)
    with _on_screen(title), shown as bar:
        task = bar.add_task(title, total=None, message="")
        with told_of_stages(lambda name: bar.update(task, message=name)):
            yield Paced(
                pace,
                lambda done, total, said: bar.update(
                    task, completed=done, message=said, total=total
                ),
            )


@contextmanager
def lines(title: str) -> Iterator[Progress]:
    """Print a line on stderr now and then, and never be silent for long."""
    with _on_screen(title):
        printed = _Lines(title)
        printed.announce()
        with _ticking(printed):
            yield Paced(Pace(), printed)


@contextmanager
def heartbeat(title: str) -> Iterator[None]:
    """Print a line on stderr whenever work shows no progress of its own for some seconds."""
    with _ticking(_Lines(title, outer=True)):
        yield


@contextmanager
def _on_screen(title: str) -> Iterator[None]:
    _SHOWN.append(title)
    try:
        yield
    finally:
        _SHOWN.remove(title)


@contextmanager
def _ticking(printed: _Lines) -> Iterator[None]:
    """Let lines be printed while work inside has nothing to say."""
    over = threading.Event()
    clock = threading.Thread(target=printed.keep_talking, args=(over,), daemon=True)
    clock.start()
    try:
        with told_of_stages(lambda name: printed(0, None, name)):
            yield
    finally:
        over.set()
        clock.join()


@dataclass
class _Lines:
    """Lines on stderr: what was said last, and how long it has taken so far."""

    title: str
    begin: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    said: str = ""
    outer: bool = False  # whether it speaks only while nothing else is on screen

    def announce(self) -> None:
        """Say that the work begins."""
        print(f"{self.title} ...", file=sys.stderr, flush=True)  # noqa: T201

    def __call__(self, done: int, total: int | None, said: str) -> None:
        del done, total
        self.said = said
        if not self.outer and time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self._print(said)

    def keep_talking(self, over: threading.Event) -> None:
        """Repeat what was said last while nothing new is."""
        while not over.wait(SECONDS_OF_SILENCE / 8):
            now = time.monotonic()
            if self.outer and _SHOWN:
                self.last, self.said = now, ""
            elif now - self.last >= SECONDS_OF_SILENCE:
                so_far = f"{now - self.begin:.0f} s so far"
                self._print(f"{self.said}, {so_far}" if self.said else so_far)

    def _print(self, said: str) -> None:
        self.last = time.monotonic()
        print(f"{self.title}: {said}", file=sys.stderr, flush=True)  # noqa: T201


def resumed(progress: Progress, steps: int) -> None:
    """Say that so many steps were done by an earlier run: the time left does not count them."""
    tell = getattr(progress, "resumed", None)
    if callable(tell):
        tell(steps)


def silent(done: int, total: int | None, message: str) -> None:
    """Show nothing."""
    del done, total, message


@dataclass
class Pace:
    """Describes progress in words, with an estimate of the time left.

    Steps that an earlier run did, or that took no time, do not count: the time left is that of the
    steps that are left.
    """

    begin: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    done: int = 0
    free: int = 0

    def resumed(self, steps: int) -> None:
        """Leave out steps that an earlier run did."""
        now = time.monotonic()
        if self.done == self.free:  # nothing was made yet: what was stored has been read so far
            self.begin = now
        self.free += steps
        self.done += steps
        self.last = now

    def describe(self, done: int, total: int | None, message: str) -> str:
        """Return steps done, message and time left, as far as they are known."""
        now = time.monotonic()
        steps = done - self.done
        if steps > 0 and now - self.last < FREE * steps:
            self.free += steps
        self.last, self.done = now, done
        if total is None:
            return message
        made = done - self.free
        # The first steps wait for what all need, such as processes that start.
        known = made > 0 and made >= LEAST_MADE * (total - self.free) and done < total
        left = (now - self.begin) / made * (total - done) if known else None
        parts = (f"{done} of {total}", message, time_left(left))
        return ", ".join(part for part in parts if part)


@dataclass
class Paced:
    """Shows progress with the time left."""

    pace: Pace
    show: Progress

    def __call__(self, done: int, total: int | None, message: str) -> None:
        """Show the message with steps done and time left."""
        self.show(done, total, self.pace.describe(done, total, message))

    def resumed(self, steps: int) -> None:
        """Leave out steps that an earlier run did."""
        self.pace.resumed(steps)


def time_left(seconds: float | None) -> str:
    """Return time left in words; empty where it is unknown."""
    return "" if seconds is None else f"about {lasting(seconds)} left"


def lasting(seconds: float) -> str:
    """Return a time in words: seconds, minutes or hours.

    >>> lasting(40), lasting(150), lasting(9000)
    ('40 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@contextmanager
def _notebook_bar(title: str) -> Iterator[Progress]:
    """Show one cell output that is overwritten, and emptied at the end."""
    from IPython.display import HTML, display

    last, pace = 0.0, Pace()
    shown: Any = None

    def report(done: int, total: int | None, said: str) -> None:
        nonlocal shown, last
        now = time.monotonic()
        if shown is not None and now - last < SECONDS_BETWEEN_BARS:
            return
        last = now
        page = HTML(bar_html(f"{title}: {said}", done, total))
        if shown is None:
            shown = display(page, display_id=True)
        else:
            shown.update(page)

    try:
        with told_of_stages(_Staged(report).at_stage):
            yield Paced(pace, report)
    finally:
        if shown is not None:
            shown.update(HTML(""))


def bar_html(text: str, done: int, total: int | None) -> str:
    """Return a bar as HTML; without a total, one that only moves."""
    value = f' value="{done}" max="{total}"' if total else ""
    return f"<div><progress{value}></progress> {html.escape(text)}</div>"
