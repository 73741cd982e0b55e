"""Where a command speaks: its result on stdout, its progress on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    import pandas as pd

SECONDS_BETWEEN_LINES = 2.0
WIDEST_NAME = 40


class Report(Protocol):
    """Called with how many steps are done, a word about it, and how many there are, once known."""

    def __call__(self, done: int, word: str, total: int | None = None) -> None:
        """Tell it."""


@dataclass(frozen=True)
class Console:
    """What `--quiet` and `--json` ask for."""

    quiet: bool = False
    json: bool = False

    def say(self, text: str = "") -> None:
        """A line for a person."""
        if not (self.quiet or self.json):
            typer.echo(text)

    def remark(self, text: str) -> None:
        """A line for a person while stdout carries a table for the next program."""
        if not (self.quiet or self.json):
            typer.echo(text, err=True)

    def show(self, frame: pd.DataFrame) -> None:
        """A short table for a person."""
        if not (self.quiet or self.json):
            typer.echo(_aligned(frame))

    def table(self, frame: pd.DataFrame) -> None:
        """A whole table for the next program: what a command makes when it writes no file."""
        if not self.json:
            typer.echo(frame.to_csv(lineterminator="\n"), nl=False)

    def document(self, content: Mapping[str, Any]) -> None:
        """The one JSON document that `--json` promises; frames become lists of records."""
        if self.json:
            known = {name: None if _unknown(value) else value for name, value in content.items()}
            typer.echo(json.dumps(known, default=_plain, indent=1, ensure_ascii=False))

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Report]:
        """Show how far the work is: a bar on a terminal, plain lines elsewhere."""
        if self.quiet:
            yield lambda done, word, total=None: None  # noqa: ARG005
        elif sys.stderr.isatty():
            with _bar(title, total) as report:
                yield report
        else:
            yield _lines(title, total)


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Report]:
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),  # a file may be called [bold].csv
        BarColumn(bar_width=24),
        TextColumn("{task.fields[word]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, word="")
        yield lambda done, word, total=total: bar.update(
            task, completed=done, word=_how_far(done, word, total), total=total
        )


def _lines(title: str, total: int | None) -> Report:
    typer.echo(f"{title} ...", err=True)
    last, known = time.monotonic(), total

    def report(done: int, word: str, total: int | None = known) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            typer.echo(f"{title}: {_how_far(done, word, total)}", err=True)

    return report


def _how_far(done: int, word: str, total: int | None) -> str:
    return word if total is None else f"{done} of {total}, {word}"


def time_left(seconds: float | None) -> str:
    """How long it still takes, in words; nothing where nobody knows."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    minutes = seconds / 60
    return f"about {minutes:.0f} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


def _aligned(frame: pd.DataFrame) -> str:
    shown = frame.rename(index=_short).rename_axis(None)
    return "\n".join(f"  {line}" for line in shown.to_string().splitlines())


def _short(name: object) -> str:
    """A name on one line and without escape codes, whatever the file held."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(name))
    return text if len(text) <= WIDEST_NAME else f"{text[: WIDEST_NAME - 1]}…"


def _unknown(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):  # NaN and infinity, which JSON lacks, become null
        return json.loads(value.reset_index().to_json(orient="records", double_precision=15))
    return str(value)
