"""A result as text, CSV, JSON, folder, page, exit code.

Output of commands: results on stdout, progress on stderr.

How long a command will take on a large table, said before it begins.
"""

from __future__ import annotations

import json
import math
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ogive._progress import Progress, lasting, lines, resumed, silent, terminal_bar
from ogive.results.text_table import ACCURACY, harmless, terminal_table, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.results.base import Result


ALL = "Add --csv for all."
# Whether --csv was given: tables as CSV, also in a terminal.
csv_wanted: ContextVar[bool] = ContextVar("csv_wanted", default=False)
# How the command that runs says what a sentence suggests in Python.
own_words: ContextVar[Callable[[str], str]] = ContextVar("own_words", default=str)
# What is done when the command that runs ends, however it ends.
at_the_end: ContextVar[ExitStack | None] = ContextVar("at_the_end", default=None)


def with_own_words(results: Sequence[Any]) -> list[Any]:
    """Return the results with reasons why some are missing in the words of the command."""
    return [_with_own_reasons(each) for each in results]


def _with_own_reasons(each: Any) -> Any:
    missing = getattr(each, "missing", None)
    if not isinstance(missing, dict):
        return each
    said = {name: own_words.get()(str(reason)) for name, reason in missing.items()}
    if is_dataclass(each) and not isinstance(each, type):
        return replace(each, missing=said)
    return each._replace(missing=said)


@dataclass(frozen=True)
class Console:
    """Output of a command, as `--quiet` and `--json` ask for it."""

    quiet: bool = False
    json: bool = False

    def say(self, text: str = "") -> None:
        """Print a line."""
        if not (self.quiet or self.json):
            tell(own_words.get()(text))

    def remark(self, text: str) -> None:
        """Print a line on stderr, while stdout carries a table for the next program."""
        if not (self.quiet or self.json):
            tell(own_words.get()(text), err=True)

    def show(
        self,
        frame: pd.DataFrame,
        *,
        whole: pd.DataFrame | None = None,
        rest: str = "",
        accuracy: str = ACCURACY,
    ) -> None:
        """Print a table as people read it, and where the rest of it, or of a whole one, lies."""
        if not (self.quiet or self.json):
            _show(frame, whole, rest, accuracy)

    def table(
        self, frame: pd.DataFrame, shown: pd.DataFrame | None = None, accuracy: str = ACCURACY
    ) -> None:
        """Print the table of a command that writes no file.

        A person sees the first rows, of the few columns `shown` if they are given, with headings
        that call `accuracy` so; a pipe, and who asks for --csv, gets all of it as CSV.
        """
        if self.json:
            return
        if for_people():
            _show(frame if shown is None else shown, frame, ALL, accuracy)
        else:
            from ogive.results.csv_text import csv_text

            named = any(name is not None for name in frame.index.names)
            tell(csv_text(frame, index=named), nl=False, whole=True)

    def gives_csv(self, out: Path | None) -> bool:
        """Whether stdout carries the table as CSV: unless a person reads it or `out` has it all."""
        return csv_wanted.get() or (out is None and not sys.stdout.isatty())

    def speaker(self, out: Path | None) -> Callable[[str], None]:
        """Return what prints sentences: on stderr where stdout carries the table."""
        return self.remark if self.gives_csv(out) else self.say

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document of `--json`; frames become lists of records."""
        if self.json:
            known = {name: None if _unknown(value) else value for name, value in content.items()}
            tell(json.dumps(known, default=_plain, indent=1, ensure_ascii=False), whole=True)

    def finding(
        self,
        found: Result,
        table: pd.DataFrame,
        out: Path | None,
        /,
        *,
        shown: pd.DataFrame | None = None,
        written: Mapping[str, Path | None] | None = None,
        beside: Sequence[Result] = (),
        **more: Any,
    ) -> None:
        """Print the result of a command; `more` goes into the document that --json asks for.

        What results `beside` it say follows what it says.
        """
        words = own_words.get()
        results = (found, *beside)
        unsettled = [words(text) for text in unsettled_scales(results)]
        said = [words(text) for each in results for text in each.sentences()] + unsettled
        measure = str(getattr(found, "measure", ACCURACY))
        self.answer(said, table, out, shown=shown, written=written, accuracy=measure)
        notes = [words(note) for each in results for note in getattr(each, "notes", ())]
        self.document({"meaning": said, "notes": [*notes, *unsettled], "out": out, **more})

    def answer(
        self,
        sentences: Sequence[str],
        table: pd.DataFrame,
        out: Path | None,
        /,
        *,
        shown: pd.DataFrame | None = None,
        written: Mapping[str, Path | None] | None = None,
        accuracy: str = ACCURACY,
    ) -> None:
        """Print what was found: the verdict, a table, other sentences, and where the rest lies.

        Without `out`, a terminal shows the head of the `table`; a pipe, and who asks for --csv,
        gets all of it on stdout, and the sentences on stderr. With `out`, the few columns `shown`
        are printed, and the files `written` by what they are.
        """
        csv, speak = self.gives_csv(out), self.speaker(out)
        for sentence in sentences[:1]:
            speak(sentence)
        few = shown if shown is not None and len(shown) else None
        if csv or out is None:
            self.table(table, few, accuracy)
        elif few is not None:
            self.show(few, whole=table, accuracy=accuracy)
        for sentence in sentences[1:]:
            speak(sentence)
        for name, path in (written or {}).items():
            if path is not None:
                speak(f"{name}: {path}")

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


def unsettled_scales(results: Sequence[Result]) -> list[str]:
    """Return why scales behind results have not converged, unless the results say so themselves."""
    said = {note for each in results for note in getattr(each, "notes", ())}
    banks = {name: bank for each in results for name, bank in each.banks().items()}
    return [
        note if len(banks) == 1 else f"{name}: {note}"
        for name, bank in banks.items()
        for note in getattr(bank, "notes", ())
        if note.startswith("Not converged") and note not in said
    ]


@dataclass(frozen=True)
class _Harmless:
    """Reports progress without control codes."""

    report: Progress

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self.report(done, total, harmless(message))

    def resumed(self, steps: int) -> None:
        resumed(self.report, steps)


def for_people() -> bool:
    """Return True if a person reads stdout, who did not ask for CSV."""
    return sys.stdout.isatty() and not csv_wanted.get()


def _show(
    frame: pd.DataFrame, whole: pd.DataFrame | None, rest: str, accuracy: str = ACCURACY
) -> None:
    """Print a table as wide as the terminal, what it does not show, and where that is."""
    lines, missing = terminal_table(frame, _width(), whole, accuracy)
    tell("\n".join(lines))
    if missing:
        tell(f"  Not shown: {'; '.join(missing)}.{f' {rest}' if rest else ''}")


def with_counts(shown: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows shown of a board, with `n_items` where respondents answered unlike many."""
    count = "n_items"
    if "respondent" not in table.index.names or count not in table or count in shown:
        return shown
    items = table[count]
    if not items.index.is_unique or bool((items == items.iloc[0]).all()):
        return shown
    return shown.assign(**{count: items.reindex(shown.index)})


def _width() -> int:
    return shutil.get_terminal_size().columns


def tell(text: str, *, err: bool = False, nl: bool = True, whole: bool = False) -> None:
    """Write text unchanged to a file or a pipe, and without control codes to a terminal.

    In a terminal long lines are broken between words, unless the text has to stay `whole`.
    """
    if (sys.stderr if err else sys.stdout).isatty():
        text = harmless(text) if whole else wrapped(harmless(text), _width())
    typer.echo(text, err=err, nl=nl, color=True)


def _unknown(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):  # NaN and infinity, which JSON lacks, become null
        return json.loads(value.reset_index().to_json(orient="records", double_precision=15))
    return str(value)


def typed() -> str:
    """Return the command as it was typed."""
    return shlex.join(["ogive", *sys.argv[1:]])


LONG = 30.0  # seconds; what takes less needs no warning
# CPU seconds: always, per item, per response, and per pair of respondents, as benchmarks/at_size.py
# measures them.
COSTS = {
    "diagnose": (4.0, 1.2e-3, 1.6e-6, 0.0),
    "report": (4.0, 1.2e-3, 1.6e-6, 0.0),
    "item_health": (3.0, 0.9e-3, 2.6e-6, 0.0),
    "leaderboard": (3.0, 0.6e-3, 1.0e-6, 1.8e-5),
}
MOST_COMPARED = 2000  # respondents of whom a leaderboard shows all pairs


def expected_seconds(name: str, n_respondents: int, n_items: int) -> float:
    """Return about how long a command takes, 0 if it is not known."""
    always, item, response, pair = COSTS.get(name, (0.0, 0.0, 0.0, 0.0))
    pairs = n_respondents**2 / 2 if n_respondents <= MOST_COMPARED else 0.0
    return always + item * n_items + response * n_respondents * n_items + pair * pairs


def say_if_long(console: Console, name: str, table: Responses) -> None:
    """Say at once how long a command will take if that is long."""
    seconds = expected_seconds(name, table.n_respondents, table.n_items)
    if seconds > LONG:
        console.remark(
            f"{table.n_respondents:,} × {table.n_items:,} responses take about {lasting(seconds)} "
            "of one core."
        )
