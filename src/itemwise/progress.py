"""How far long work is: a bar in a terminal or a notebook, plain lines elsewhere, or nothing."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

SECONDS_BETWEEN_LINES = 2.0
SECONDS_BETWEEN_BARS = 0.2  # of a notebook, which keeps what it is sent
PATIENCE = 1.0  # seconds; what ends sooner needs no bar


class Report(Protocol):
    """Called with how many steps are done, a word about it, and how many there are, once known."""

    def __call__(self, done: int, word: str, total: int | None = None) -> None:
        """Tell it."""


Wanted = Report | bool  # one's own; a bar where a person watches; nothing
Bar = Callable[[str, int | None], AbstractContextManager[Report]]

# Whether someone further out speaks already, or asked for silence.
_hushed: ContextVar[bool] = ContextVar("hushed", default=False)


@contextmanager
def hushed() -> Iterator[None]:
    """Nothing that runs inside shows a bar of its own."""
    before = _hushed.set(True)
    try:
        yield
    finally:
        _hushed.reset(before)


@contextmanager
def telling(progress: Wanted, title: str, total: int | None = None) -> Iterator[Report]:
    """What a caller wanted, ready to be told."""
    if callable(progress) or not progress:
        with hushed():
            yield progress if callable(progress) else silent
    else:
        with watched(title, total) as report:
            yield report


@contextmanager
def watched(title: str, total: int | None = None) -> Iterator[Report]:
    """A bar where a person watches, a terminal or a notebook; nothing elsewhere.

    Only the outermost work is shown, and only once it has lasted `PATIENCE`.
    """
    bar = None if _hushed.get() else _bar()
    with hushed():
        if bar is None:
            yield silent
        else:
            with _after_a_while(bar, title, total) as report:
                yield report


def in_notebook() -> bool:
    """Whether a person looks at this program through a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _bar() -> Bar | None:
    """What a person looks at; helpers, threads and processes, have none."""
    if threading.current_thread() is not threading.main_thread():
        return None
    if in_notebook():
        return _notebook_bar
    return terminal_bar if sys.stderr.isatty() and not _is_helper() else None


def _is_helper() -> bool:
    from multiprocessing import current_process

    return current_process().name != "MainProcess"


@contextmanager
def _after_a_while(bar: Bar, title: str, total: int | None) -> Iterator[Report]:
    begin, known = time.monotonic(), total
    shown: Report | None = None
    with ExitStack() as stack:

        def report(done: int, word: str, total: int | None = known) -> None:
            nonlocal shown
            if shown is None and time.monotonic() - begin >= PATIENCE:
                shown = stack.enter_context(bar(title, total))
            if shown is not None:
                shown(done, word, total)

        yield report


@contextmanager
def terminal_bar(title: str, total: int | None = None) -> Iterator[Report]:
    """A bar on stderr that goes when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),  # a file may be called [bold].csv
        BarColumn(bar_width=24),
        TextColumn("{task.fields[word]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, word="")
        yield lambda done, word, total=total: bar.update(
            task, completed=done, word=how_far(done, word, total), total=total
        )


def lines(title: str, total: int | None = None) -> Report:
    """A line on stderr now and then."""
    print(f"{title} ...", file=sys.stderr)  # noqa: T201
    last, known = time.monotonic(), total

    def report(done: int, word: str, total: int | None = known) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{title}: {how_far(done, word, total)}", file=sys.stderr)  # noqa: T201

    return report


def silent(done: int, word: str, total: int | None = None) -> None:
    """Tell nobody."""
    del done, word, total


def how_far(done: int, word: str, total: int | None) -> str:
    """Steps and what is being done, in words."""
    return word if total is None else f"{done} of {total}, {word}"


def time_left(seconds: float | None) -> str:
    """How long it still takes, in words; nothing where nobody knows."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    minutes = seconds / 60
    return f"about {minutes:.0f} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


@contextmanager
def _notebook_bar(title: str, total: int | None) -> Iterator[Report]:
    """One cell output that is written over, and emptied at the end."""
    from IPython.display import HTML, display

    last = 0.0
    shown: Any = None

    def report(done: int, word: str, total: int | None = total) -> None:
        nonlocal shown, last
        now = time.monotonic()
        if shown is not None and now - last < SECONDS_BETWEEN_BARS:
            return
        last = now
        page = HTML(bar_html(title, done, word, total))
        if shown is None:
            shown = display(page, display_id=True)
        else:
            shown.update(page)

    try:
        yield report
    finally:
        if shown is not None:
            shown.update(HTML(""))


def bar_html(title: str, done: int, word: str, total: int | None) -> str:
    """A bar as a page shows it; without a total, one that only moves."""
    value = f' value="{done}" max="{total}"' if total else ""
    said = html.escape(f"{title}: {how_far(done, word, total)}")
    return f"<div><progress{value}></progress> {said}</div>"
