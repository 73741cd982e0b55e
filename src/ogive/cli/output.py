"""A result as text, CSV, JSON, folder and page: results on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import re
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

from ogive._files import write_bytes
from ogive._progress import Progress, lasting, lines, resumed, silent, terminal_bar
from ogive.errors import OgiveError
from ogive.results.text_table import ACCURACY, harmless, terminal_table, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.results.base import Result

ALL = "Add --csv for all."
NOT_CONVERGED = 4  # exit code of a command whose result is written, but has not converged
PAGE = "report.html"  # name of the page in a folder

# Whether --csv was given: tables as CSV, also in a terminal.
csv_wanted: ContextVar[bool] = ContextVar("csv_wanted", default=False)
# How the command that runs says what a sentence suggests in Python.
own_words: ContextVar[Callable[[str], str]] = ContextVar("own_words", default=str)
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
        """Print a table as people read it, and say what of `whole` it leaves out.

        The table is as wide as the terminal. `rest` says how to get what is left out; `accuracy`
        is what headings call the accuracy.
        """
        if self.quiet or self.json:
            return
        lines, missing = terminal_table(frame, _width(), whole, accuracy)
        tell("\n".join(lines))
        if missing:
            tell(f"  Not shown: {'; '.join(missing)}.{f' {rest}' if rest else ''}")

    def table(
        self, frame: pd.DataFrame, shown: pd.DataFrame | None = None, accuracy: str = ACCURACY
    ) -> None:
        """Print the table of a command that writes no file, also if it is quiet.

        A person sees the first rows, of the few columns `shown` if they are given; a pipe gets all
        of it as CSV, and so does a person who asks for --csv.
        """
        if self.json:
            return
        if for_people():
            few = frame if shown is None else shown
            Console().show(few, whole=frame, rest=ALL, accuracy=accuracy)
        else:
            from ogive.results.csv_text import csv_text

            named = any(name is not None for name in frame.index.names)
            tell(csv_text(frame, index=named), nl=False, whole=True)

    def gives_csv(self, out: Path | None) -> bool:
        """Return True if stdout carries the table: no person reads it, and `out` has it not."""
        return csv_wanted.get() or (out is None and not sys.stdout.isatty())

    def speaker(self, out: Path | None) -> Callable[[str], None]:
        """Return the function that prints sentences: on stderr if stdout carries the table."""
        return self.remark if self.gives_csv(out) else self.say

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document of `--json`; frames become lists of records."""
        if self.json:
            known = {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in content.items()
            }
            tell(json.dumps(known, default=_plain, indent=1, ensure_ascii=False), whole=True)

    def finding(
        self,
        result: Result,
        table: pd.DataFrame,
        out: Path | None,
        /,
        *,
        shown: pd.DataFrame | None = None,
        written: Mapping[str, Path | None] | None = None,
        beside: Sequence[Result] = (),
        **more: Any,
    ) -> None:
        """Print a result, its sentences followed by those of the results `beside` it.

        `more` goes into the document of --json.
        """
        words, results = own_words.get(), (result, *beside)
        unsettled = [words(text) for text in unsettled_scales(results)]
        sentences = [words(text) for each in results for text in each.sentences()] + unsettled
        measure = str(getattr(result, "measure", ACCURACY))
        self.answer(sentences, table, out, shown=shown, written=written, accuracy=measure)
        notes = [words(note) for each in results for note in getattr(each, "notes", ())]
        self.document({"meaning": sentences, "notes": [*notes, *unsettled], "out": out, **more})

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
        """Print the verdict, a table, the other sentences, and the files that were written.

        Without `out`, a terminal shows the head of the `table`; a pipe gets all of it on stdout,
        and the sentences on stderr. With `out`, the few columns `shown` are printed.
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


@dataclass(frozen=True)
class _Harmless:
    """Reports progress without control codes."""

    report: Progress

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self.report(done, total, harmless(message))

    def resumed(self, steps: int) -> None:
        resumed(self.report, steps)


def tell(text: str, *, err: bool = False, nl: bool = True, whole: bool = False) -> None:
    """Write text unchanged to a file or a pipe, and without control codes to a terminal.

    In a terminal long lines are broken between words, unless the text has to stay `whole`.
    """
    if (sys.stderr if err else sys.stdout).isatty():
        text = harmless(text) if whole else wrapped(harmless(text), _width())
    typer.echo(text, err=err, nl=nl, color=True)


def for_people() -> bool:
    """Return True if a person reads stdout, and has not asked for CSV."""
    return sys.stdout.isatty() and not csv_wanted.get()


def _width() -> int:
    return shutil.get_terminal_size().columns


def _plain(value: Any) -> Any:
    """Return a value that JSON has: frames as records, with null for NaN and infinity."""
    if hasattr(value, "to_json"):
        return json.loads(value.reset_index().to_json(orient="records", double_precision=15))
    return str(value)


def typed() -> str:
    """Return the command as it was typed."""
    return shlex.join(["ogive", *sys.argv[1:]])


def with_own_words(result: Any) -> Any:
    """Return the result with reasons why parts are missing in the words of the command."""
    missing = getattr(result, "missing", None)
    if not isinstance(missing, dict):
        return result
    reasons = {name: own_words.get()(str(reason)) for name, reason in missing.items()}
    if is_dataclass(result) and not isinstance(result, type):
        return replace(result, missing=reasons)
    return result._replace(missing=reasons)


def unsettled_scales(results: Sequence[Result]) -> list[str]:
    """Return why scales behind results have not converged, unless the results say so themselves."""
    notes = {note for each in results for note in getattr(each, "notes", ())}
    banks = {name: bank for each in results for name, bank in each.banks().items()}
    return [
        note if len(banks) == 1 else f"{name}: {note}"
        for name, bank in banks.items()
        for note in getattr(bank, "notes", ())
        if note.startswith("Not converged") and note not in notes
    ]


def picked(result: object, *names: str) -> dict[str, Any]:
    """Return attributes of a result by their names, for a document."""
    return {name: getattr(result, name) for name in names}


# Files, pages, and the end of a command.


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame with its index atomically, as .csv or .parquet."""
    if path.suffix.lower() == ".parquet":
        write_bytes(path, frame.reset_index().to_parquet(index=False))
    else:
        from ogive.results.csv_text import csv_text

        write_bytes(path, csv_text(frame).encode())


def write_files(
    files: Mapping[str, tuple[Path | None, Callable[[], Any]]],
) -> dict[str, Path | None]:
    """Make and write the tables, figures and results that have a path; return all paths."""
    for path, make in files.values():
        if path is not None:
            made = make()
            if hasattr(made, "save"):
                made.save(path)
            else:
                write_table(made, path)
    return {name: path for name, (path, _) in files.items()}


def write_page(
    folder: Path, results: Any, title: str, settings: Mapping[str, Any], instances: Any = None
) -> Path:
    """Write the page of a command next to its tables and figures."""
    from ogive.reporting.page import write_report

    return write_report(
        folder / PAGE, results, title=title, settings=settings, instances=instances, command=typed()
    )


def finish(
    console: Console,
    result: Result,
    folder: Path | None,
    title: str,
    settings: Mapping[str, Any],
    beside: Sequence[Result] = (),
    *,
    named: bool = True,
    **more: Any,
) -> None:
    """End a command that shows one result: files, text, JSON, and the exit code.

    With a `folder`, tables, figures, item banks and a page are written to it, also of the results
    `beside`; without, or if nobody `named` the folder, the main table is printed as CSV in a
    pipe. `more` goes into the document of --json.
    """
    from ogive.reporting.exports import Contents, write_folder

    contents, files = Contents.of(result, beside), []
    first = next(iter(contents.tables.values()))
    if folder is not None:
        with console.progress("Drawing"):
            files = write_folder(contents, folder)
            files.append(write_page(folder, [result, *beside], title, settings))
    console.finding(
        result,
        first,
        folder if named else None,
        shown=_with_counts(result.preview(), first),
        written={"Tables and figures": folder, "Report": folder and folder / PAGE},
        files=files,
        beside=beside,
        out=folder,
        **result.key_facts(),
        **contents.tables,
        **more,
    )
    shown = [result, *beside]
    fits = [*shown, *(bank for each in shown for bank in each.banks().values())]
    end(*(getattr(each, "converged", True) for each in fits))


def _with_counts(shown: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows shown of a board, with `n_items` if respondents answered unlike many."""
    count = "n_items"
    if "respondent" not in table.index.names or count not in table or count in shown:
        return shown
    items = table[count]
    if not items.index.is_unique or bool((items == items.iloc[0]).all()):
        return shown
    return shown.assign(**{count: items.reindex(shown.index)})


def end(*converged: bool) -> None:
    """End a command with `NOT_CONVERGED` unless all its fits have converged."""
    if not all(converged):
        raise typer.Exit(NOT_CONVERGED)


# Messages of the library in the words of the command line: the library says target='species', and
# a person at a terminal types --target species.

# What a message suggests in Python, and how the same is done with files and options.
_DESCRIBED = r"responses\.described\(items=\{'(\w+)': \[\.\.\.\]\}\)"
_TABLE = r"Give a table of them with --items (columns item, \1)"
REMEDIES = {
    rf"Give a mapping from item to group, or add it: {_DESCRIBED}": f"{_TABLE}, or use --by-prefix",
    _DESCRIBED: r"--items FILE, a table with the columns item and \1",
    r"responses\.select\(items=\[\.\.\.\]\)": "a file without their columns",
    r"responses\.select\(respondents=\[\.\.\.\]\)": "a file without their rows",
    r"\bout with responses\.select\b": "out of the file",
    r"The index of the frame should name (\w+)s\.": (
        r"Its column '\1' should hold names that the responses have."
    ),
    r"\bname these with rename\b": "name these with --name",
    r"\bChoose others with metric and filter\b": "Choose others with --metric and --filter",
    r"\bname these as respondents\b": "name these with --respondents",
    r"\blogs that were read with epochs='first'": "logs read by ogive read LOGS --epochs first",
    r"\bgive a frame, or add them: responses\.described\(respondents=\{'\w+': \[\.\.\.\]\}\)": (
        "or give a long table or a .parquet file that has them as columns"
    ),
    r"\bitem_health\(\)": "ogive health",
    r"\blocal_dependence\(\)( and respondent_fit\(\))?": "ogive diagnose",
    r"\bgive accuracy instead": "give --accuracy instead",
    r" by AIC with compare_models\b": " by AIC, which diagnose shows",
    "`dimension_scale` and `task_scales` ask for those of tasks that you name": (
        "`ogive dimensions` and `ogive tasks` ask for those of tasks that you name"
    ),
    "`dimensionality`": "`ogive diagnose`",
    r"; unsolved='keep' keeps them|, or unsolved='keep'": "",
    r"\bor a Series whose index names them": "or a table whose first column names them",
    r"\bUse NaN (for both )?where\b": "Leave the cell empty where",
    r" \(pandas\.qcut\)": "",
    r", with a Dataset of kind='numbers'": "",
    r"use decode_regression\b": "use decode --pool regressors",
    r"[Uu]se decode_benchmark\b": "use another --pool",
    r", or None\.": ", or leave it out.",
    r" \(table\.set_index\('problem'\)\)": " (the first column)",
    r"ogive\.calibrate\(\w+, '(\w+)'\)": r"ogive calibrate FILE --model \1",
}
_KEYWORD = re.compile(
    r"(?:(?:pass|use|Use|Give|give) )?\b([a-z][a-z_]*)=('[^']*'|\['?\.\.\.'?\]|[\w+-]+(?:\.\d+)?)"
)
# The subject of a sentence, or a name that is no English word.
_SUBJECT = re.compile(
    r"(?:(?<![^.:] )(?<!-)\b([a-z]+)|(?<![\w'-])([a-z]+(?:_[a-z]+)+))"
    r"(?= (?:is|are|should|allows|names|lacks|gives) )"
)
_PLAIN = re.compile(r"[\w.:+/-]+")


def in_command_words(error: OgiveError | OSError, options: Mapping[str, str]) -> str:
    """Return the message of an error with `options`, from parameters to flags, for arguments.

    >>> from ogive.errors import InputError
    >>> error = InputError("Which column? Name one, for example target='kind'.")
    >>> in_command_words(error, {"target": "--target"})
    'Which column? Name one, for example --target kind.'
    """
    text = _with_options(str(error), options)
    text = re.sub(r"`(\w+)`(?= must )", lambda match: options.get(match[1], match[0]), text)
    return _SUBJECT.sub(lambda match: options.get(match[0], match[0]), text)


def in_command_prose(text: str, options: Callable[[], Mapping[str, str]]) -> str:
    """Return a sentence of a result with flags for the arguments that it suggests.

    Its subjects stay: they are words of the finding, not arguments.
    """
    suggests = "=" in text or any(re.search(pattern, text) for pattern in REMEDIES)
    return _with_options(text, options()) if suggests else text


def _with_options(text: str, options: Mapping[str, str]) -> str:
    """Return the text with what it suggests in Python as it is done with files and options."""
    for pattern, words in REMEDIES.items():
        text = re.sub(pattern, words, text)

    def keyword(match: re.Match[str]) -> str:
        flag = options.get(match[1])
        if flag is None:
            return match[0]
        verb = match[0][: match.start(1) - match.start(0)].replace("pass", "use")
        value = match[2].strip("'")
        if value in ("True", "False"):
            return verb + (flag if value == "True" else f"--no-{flag.lstrip('-')}")
        quoted = value if _PLAIN.fullmatch(value) else f"'{value}'"
        return f"{verb}{flag} {'...' if value.startswith('[') else quoted}"

    return _KEYWORD.sub(keyword, text)


# Commands that take long say so before they begin.

LONG = 30.0  # seconds; a shorter command needs no warning
# CPU seconds as benchmarks/at_size.py measures them: always, per item, per response, and per pair
# of respondents.
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
