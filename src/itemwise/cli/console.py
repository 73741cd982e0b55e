"""Output of commands: results on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from itemwise.progress import Progress, lines, resumed, silent, terminal_bar

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.results import Result

WIDEST_NAME = 40
# What is done when the command that runs ends, however it ends.
at_the_end: ContextVar[ExitStack | None] = ContextVar("at_the_end", default=None)


@dataclass(frozen=True)
class Console:
    """Output of a command, as `--quiet` and `--json` ask for it."""

    quiet: bool = False
    json: bool = False

    def say(self, text: str = "") -> None:
        """Print a line."""
        if not (self.quiet or self.json):
            tell(text)

    def remark(self, text: str) -> None:
        """Print a line on stderr, while stdout carries a table for the next program."""
        if not (self.quiet or self.json):
            tell(text, err=True)

    def show(self, frame: pd.DataFrame) -> None:
        """Print a short table."""
        if not (self.quiet or self.json):
            tell(_aligned(frame))

    def table(self, frame: pd.DataFrame) -> None:
        """Print a whole table as CSV, where a command writes no file."""
        if not self.json:
            named = any(name is not None for name in frame.index.names)
            tell(frame.to_csv(lineterminator="\n", index=named), nl=False)

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document of `--json`; frames become lists of records."""
        if self.json:
            known = {name: None if _unknown(value) else value for name, value in content.items()}
            tell(json.dumps(known, default=_plain, indent=1, ensure_ascii=False))

    def finding(
        self,
        found: Result,
        table: pd.DataFrame,
        out: Path | None,
        /,
        *,
        shown: pd.DataFrame | None = None,
        written: Mapping[str, Path | None] | None = None,
        **more: Any,
    ) -> None:
        """Print the result of a command, what it means, and where it was written.

        Without `out`, the whole `table` goes to stdout and the sentences to stderr; with it, the
        few rows and columns `shown`, the sentences, and the files `written` by what they are.
        `more` goes into the document that --json asks for.
        """
        speak = self.remark if out is None else self.say
        if out is None:
            self.table(table)
        elif shown is not None and len(shown):
            self.show(shown)
        for sentence in found.sentences():
            speak(sentence)
        for name, path in (written or {}).items():
            if path is not None:
                speak(f"{name}: {path}")
        notes = list(getattr(found, "notes", ()))
        self.document({"meaning": found.sentences(), "notes": notes, "out": out, **more})

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Show progress: a bar on a terminal, plain lines elsewhere."""
        if self.quiet:
            yield silent
        elif sys.stderr.isatty():
            with terminal_bar(harmless(title)) as report:
                yield _Harmless(report)
        else:
            with lines(title) as report:
                yield report


@dataclass(frozen=True)
class _Harmless:
    """Reports progress without control codes."""

    report: Progress

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self.report(done, total, harmless(message))

    def resumed(self, steps: int) -> None:
        resumed(self.report, steps)


def tell(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write text unchanged to a file or a pipe, and without control codes to a terminal."""
    stream = sys.stderr if err else sys.stdout
    typer.echo(harmless(text) if stream.isatty() else text, err=err, nl=nl, color=True)


def harmless(text: str) -> str:
    r"""Return text with control codes, except line ends, written out: \u001b."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text
    )


def _aligned(frame: pd.DataFrame) -> str:
    shown = frame.rename(index=_short).rename_axis(None)
    return "\n".join(f"  {line}" for line in shown.to_string().splitlines())


def _short(name: object) -> str:
    """Return a name on one line, without control codes."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(name))
    return text if len(text) <= WIDEST_NAME else f"{text[: WIDEST_NAME - 1]}…"


def _unknown(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):  # NaN and infinity, which JSON lacks, become null
        return json.loads(value.reset_index().to_json(orient="records", double_precision=15))
    return str(value)


def typed() -> str:
    """Return the command as it was typed."""
    return shlex.join(["itemwise", *sys.argv[1:]])
