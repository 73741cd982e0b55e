"""How far long work is: a bar in a terminal or a notebook, plain lines elsewhere, or nothing."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

SECONDS_BETWEEN_LINES = 2.0
SECONDS_BETWEEN_BARS = 0.2  # of a notebook, which keeps what it is sent
PATIENCE = 1.0  # seconds; what ends sooner needs no bar


class Report(Protocol):
    """Called with how many steps are done, a word about it, and how many there are, once known."""

    def __call__(self, done: int, word: str, total: int | None = None) -> None:
        """Tell it."""


def in_notebook() -> bool:
    """Whether a person looks at this program through a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


@contextmanager
def watched(title: str, total: int | None = None) -> Iterator[Report]:
    """A bar where a person watches, a terminal or a notebook; nothing elsewhere."""
    if in_notebook():
        with _notebook_bar(title, total) as report:
            yield report
    elif sys.stderr.isatty():
        with terminal_bar(title, total) as report:
            yield report
    else:
        yield silent


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

    begin = last = time.monotonic()
    shown: Any = None

    def report(done: int, word: str, total: int | None = total) -> None:
        nonlocal shown, last
        now = time.monotonic()
        if now - begin < PATIENCE or (shown is not None and now - last < SECONDS_BETWEEN_BARS):
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
