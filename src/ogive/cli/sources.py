"""Parameters that commands share, and how the files that they name are checked and read."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive._files import (
    PathLike,
    check_present,
    check_writable,
    make_folder,
    most_bytes,
    readable_file,
    real_path,
    tidy_folder,
)
from ogive.cli.output import Console, at_the_end
from ogive.data.column_roles import LAYOUTS
from ogive.data.text_files import text_lines
from ogive.errors import FileError, InputError
from ogive.irt.models import AUTO, MODELS
from ogive.irt.response_codes import KINDS, number
from ogive.results.numbers import listed, meant

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration

# Values, or where they are ("module:name"), or a function that imports and returns them.
Names = Collection[str] | Callable[[], Collection[str]]
UNSET: Any = object()  # a type or default that is that of the function which a command calls
SHORT = {"out": "-o", "model": "-m", "regressor": "-r", "epsilon": "-e"}  # flags of one letter
FILE, SOURCE = "file", "data set"  # what a parameter reads: a file, or a source of a data set


@dataclass(frozen=True)
class Parameter:
    """An argument or option of a command."""

    text: str
    kind: Any = UNSET
    default: Any = UNSET
    names: Names = ()  # values that it may have
    flags: tuple[str, ...] = ()  # by default --name, and its flag of one letter
    argument: bool = False
    reads: str = ""  # FILE or SOURCE if it names what is read
    endings: tuple[str, ...] = ()  # endings of the file to write that it names
    settings: Mapping[str, Any] = field(default_factory=dict)  # further settings for typer

    def annotation(self, name: str) -> Any:
        """Return the annotation from which typer makes the parameter."""
        kind = self.kind | None if self.default is None else self.kind
        if self.argument:
            return Annotated[kind, typer.Argument(help=self.text, **self.settings)]
        flags = self.flags
        if not flags and kind is not bool:  # typer itself adds --no-name to a switch
            flags = (f"--{name.replace('_', '-')}", *([SHORT[name]] if name in SHORT else []))
        names = resolve_name(self.names) if isinstance(self.names, str) else self.names
        names = names() if callable(names) else names
        settings = {**(_choice_settings(names) if names else {}), **self.settings}
        return Annotated[kind, typer.Option(*flags, help=self.text, **settings)]


def _choice_settings(names: Collection[str]) -> dict[str, Any]:
    """Return settings of an option that takes one of some names, or several if it is repeated."""

    def checked(value: Any) -> Any:
        if isinstance(value, str) and value.lower() not in names:
            raise typer.BadParameter(
                f"{value!r} is not one of {', '.join(names)}.{meant(value, names)}"
            )
        if isinstance(value, list):
            return [checked(each) for each in value]
        return None if value is None else value.lower()

    return {"metavar": "|".join(names), "autocompletion": lambda: list(names), "callback": checked}


def argument(text: str, kind: Any = Path, default: Any = UNSET, **settings: Any) -> Parameter:
    """Return an argument; a path names a file to read."""
    reads = FILE if kind in (Path, list[Path]) else ""
    return Parameter(text, kind, default, argument=True, reads=reads, settings=settings)


def option(
    text: str,
    kind: Any = UNSET,
    default: Any = None,
    names: Names = (),
    *flags: str,
    **settings: Any,
) -> Parameter:
    """Return an option; without a `kind`, type and default are those of the function called."""
    default = UNSET if kind is UNSET else default
    return Parameter(text, kind, default, names, flags, settings=settings)


def switch(text: str, *flags: str, default: bool = False) -> Parameter:
    """Return an option without a value."""
    return Parameter(text, bool, default, flags=flags)


def input_file(text: str, default: Any = None, **settings: Any) -> Parameter:
    """Return an option that names a file to read."""
    return Parameter(text, Path, default, reads=FILE, settings=settings)


def output_file(text: str, endings: Sequence[str], default: Any = None) -> Parameter:
    """Return an option that names a file to write; `UNSET` as its default makes it required."""
    return Parameter(text, Path, default, endings=tuple(endings))


def output_folder(text: str, default: str | None = None) -> Parameter:
    """Return an option that names a folder to write; help shows its default."""
    return Parameter(text, Path, None, settings={"show_default": default} if default else {})


def _workers(value: int) -> int:
    if value < 1 and value != -1:
        raise typer.BadParameter(f"{value} should be a number from 1 up, or -1 for all cores.")
    return value


FIGURE = (".png", ".svg", ".pdf")
BANK = (".json", ".parquet")
TABLE = (".csv", ".parquet")
RESPONSES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")

SCORES = argument("Responses: .csv, .tsv, .parquet or .jsonl; see --layout.")
BANK_FILE = argument("Item bank that `ogive calibrate` wrote.")
MODEL = option("Measurement model of the items.", str, AUTO, (AUTO, *MODELS))
METHOD = option("Ability estimate.", str, "eap", "ogive.irt.abilities:METHODS")
PRIORS = option(
    "Priors of item parameters; none: plain maximum likelihood.",
    str,
    "default",
    ("default", "none"),
)
SELECTOR = option("How items are chosen.", str, "score", "ogive.irt.adaptive.selectors:SELECTORS")
CONFIDENCE = option("Confidence level of the intervals, between 0 and 1.", float, 0.95)
LAYOUT = option(
    "Layout of the table, if it is not recognised; items: one row per item.", str, "auto", LAYOUTS
)
KIND = option(
    "Kind of responses, if it is not recognised, such as whole numbers that are scores.",
    str,
    metavar="|".join(KINDS),
)
READING = {"layout": LAYOUT, "kind": KIND}
BY = option("Fact of the items that groups them, such as task.", str)
BY_PREFIX = option("Group items by the part of their names before this, such as /.", str)
ITEMS = input_file("Table of facts of the items: a column item, and one column per fact.")
JOBS = option(
    "Number of parallel workers; -1 uses all cores.", int, -1, (), "--jobs", "-j", callback=_workers
)
SEED = option("Seed of random numbers: same seed, same result.", int, 0, min=0)
QUIET = switch("Show no progress and no summary.", "--quiet", "-q")
JSON = switch("Print one JSON document, and nothing else on standard output.", "--json")


def check_files(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Check what is read and written before packages are loaded and work begins."""
    sources: list[Path] = []
    for name, parameter in parameters.items():
        if parameter.reads == FILE and given[name] is not None:
            sources += given[name] if isinstance(given[name], list) else [given[name]]
    datasets = [file_of(given[name]) for name, each in parameters.items() if each.reads == SOURCE]
    targets = {
        f"--{name}": (given[name], each.endings)
        for name, each in parameters.items()
        if each.endings
    }
    check_targets(targets, [*sources, *datasets])
    for source in sources:
        check_present(source)


def check_targets(
    targets: Mapping[str, tuple[Path | None, Sequence[str]]], sources: Sequence[Path]
) -> None:
    """Check that files can be written and are neither a source nor written twice.

    `targets` maps an option to its path, if it was given, and the endings it may have.
    """
    taken = {real_path(source): "the input" for source in sources}
    for flag, (path, endings) in targets.items():
        if path is None:
            continue
        if not path.name.lower().endswith(tuple(endings)):
            raise InputError(
                f"{flag} is '{path}', but it must end in {' or '.join(endings)}. Change its ending."
            )
        if path.is_dir():
            raise FileError(f"{flag} is '{path}', which is a directory. Add a file name.")
        if not path.parent.is_dir():
            raise FileError(
                f"{flag} is '{path}', but there is no directory '{path.parent}'. "
                "Create it first, or correct the path."
            )
        try:
            check_writable(path)
        except FileError as error:
            raise FileError(f"{flag}: {error}") from error
        if real_path(path) in taken:
            raise InputError(
                f"{flag} is '{path}', which is also {taken[real_path(path)]}. Name another file."
            )
        taken[real_path(path)] = flag


def out_folder(out: Path) -> Path:
    """Return the folder that was asked for, made if missing; if it stays empty, it is removed."""
    running = at_the_end.get()
    return make_folder(out) if running is None else running.enter_context(tidy_folder(out))


def report_folder(out: Path | None, source: Path | None) -> Path | None:
    """Return the folder that was asked for, checked to be writable and not that of the input."""
    if out is None:
        return None
    if source is not None and real_path(out) in (real_path(source), real_path(source).parent):
        raise InputError(
            f"--out is '{out}', the folder of the input, which a table might replace. Name another."
        )
    if out.suffix.lower() in (*TABLE, *FIGURE, *BANK):
        raise InputError(
            f"--out is '{out}', but several files are written. Name a folder, without an ending."
        )
    from ogive.reporting.exports import SUMMARY

    folder = out_folder(out)
    check_writable(folder / SUMMARY)
    return folder


def read_bank(path: Path) -> Calibration:
    """Read an item bank."""
    from ogive._load import load_only

    bank: Calibration = load_only("calibration", path)
    return bank


def bank_or_responses(path: Path, layout: str, kind: str | None) -> Calibration | Responses:
    """Read an item bank, or else responses."""
    from ogive.data.response_files import read_responses
    from ogive.irt.banks import is_bank

    return read_bank(path) if is_bank(path) else read_responses(path, layout=layout, kind=kind)


def file_of(source: str) -> Path:
    """Return the path in `data.csv#target`."""
    path, mark, _ = source.rpartition("#")
    return Path(path if mark and not Path(source).exists() else source)


# Facts of items and respondents.

TASK = "task"
SEPARATORS = ("/", ":", "__", "_", "-", ".")  # of a task and the rest of a name


def read_grouped(
    path: Path,
    layout: str,
    kind: str | None,
    items: Path | None = None,
    by: str | None = None,
    by_prefix: str | None = None,
    console: Console | None = None,
) -> tuple[Responses, str | None]:
    """Read responses with the facts of --items, and return the fact that groups the items.

    The `console` says how many items have no group.
    """
    if by is not None and by_prefix is not None:
        raise InputError("--by and --by-prefix both group the items. Leave one of them out.")
    from ogive.data.response_files import read_responses

    table = with_facts(read_responses(path, layout=layout, kind=kind), items)
    if by_prefix is None:
        if by is not None:
            check_facts(table, [by], "--by")
        return table, by
    parts = [name.partition(by_prefix) if by_prefix else (name, "", "") for name in table.items]
    left = [name for name, mark, _ in parts if not mark]
    if len(left) == len(parts):
        raise InputError(
            f"--by-prefix is '{by_prefix}', which no item name contains; the first name is "
            f"'{table.items[0]}'. Give what separates the task from the rest."
        )
    if left and console is not None:
        console.remark(
            f"--by-prefix '{by_prefix}' groups all but {listed(left, 'item')} without it in "
            "the name: the task of these is 'unknown'."
        )
    tasks = [task if mark else None for task, mark, _ in parts]
    return table.described(items={TASK: tasks}), TASK


def with_facts(table: Responses, items: Path | None) -> Responses:
    """Return the table with the facts of its items from a file."""
    if items is None:
        return table
    from ogive.data.table_files import read_table

    frame = read_table(items)
    if "item" not in frame:
        columns = ", ".join(map(str, frame.columns[:10]))
        raise InputError(
            f"--items is '{items}', which has no column 'item' to name them. Its columns: "
            f"{columns}."
        )
    try:
        return table.described(
            items=frame.set_index(frame["item"].astype(str)).drop(columns="item")
        )
    except InputError as error:
        raise InputError(f"--items is '{items}'. {error}") from error


def check_facts(table: Responses, names: Sequence[str], flag: str) -> None:
    """Check that facts of items are known; the error says how to give them."""
    known = [str(name) for name in table.item_facts]
    mark = common_separator(table.items) if flag == "--by" else None
    prefixes = "" if mark is None else f" Or group items by their names: --by-prefix {mark}."
    for name in names:
        if name not in known:
            raise InputError(
                f"Items have no fact '{name}', which {flag} names; known facts: "
                f"{', '.join(known) or 'none'}. Give a table of them with --items (columns item, "
                f"{name}), or a .parquet file that keeps them.{prefixes}{meant(name, known)}"
            )


def common_separator(names: Sequence[str]) -> str | None:
    """Return what separates a group from the rest in all names, if groups have several items.

    >>> common_separator(["sums/1", "sums/2", "maps/1", "maps/2"])
    '/'
    """
    for mark in SEPARATORS:
        groups = Counter(name.partition(mark)[0] for name in names if mark in name)
        if groups.total() == len(names) and len(groups) > 1 and min(groups.values()) > 1:
            return mark
    return None


def groups_named(table: Responses, given: str) -> Any:
    """Return the fact of the respondents, or the groups that a table gives them."""
    if given in (known := list(table.respondent_facts)):
        return given
    if not Path(given).is_file():
        raise InputError(
            f"--groups is '{given}', which is neither a file nor a fact of the respondents; known "
            f"facts: {', '.join(map(str, known)) or 'none'}. "
            "Give a table with the columns respondent and group."
        )
    from ogive.data.table_files import read_table

    frame = read_table(Path(given))
    if not {"respondent", "group"} <= set(frame.columns):
        raise InputError(
            f"'{given}' has the columns {', '.join(map(str, frame.columns[:10]))}; --groups needs "
            "respondent and group."
        )
    return dict(zip(frame["respondent"].astype(str), frame["group"], strict=True))


# Files that list or order items.

HEADINGS = ("item", "name", "dataset", "data set", "data_set")
MOST_ITEMS = 1_000_000


def read_order(path: PathLike, *, max_bytes: int | None = None) -> list[str] | dict[str, float]:
    """Return the names in a file, one per line, or the numbers after them by name.

    A first line that begins with item, name or dataset is a heading.
    """
    most = most_bytes(max_bytes, 64 * 1024**2)
    with text_lines(readable_file(path, most), most) as lines:
        try:
            rows = [
                [cell.strip() for cell in row]
                for row in islice(csv.reader(lines), MOST_ITEMS)
                if any(cell.strip() for cell in row)
            ]
        except csv.Error as error:
            raise FileError(f"'{path}' is not CSV: {error}. Write one name per line.") from error
    if rows and rows[0][0].lower() in HEADINGS:
        rows = rows[1:]
    if not rows:
        raise InputError(f"'{path}' names no item. Write one name per line.")
    widths = {len(row) for row in rows}
    if widths == {1}:
        return [row[0] for row in rows]
    if widths != {2}:
        raise InputError(
            f"'{path}' has lines of {min(widths)} to {max(widths)} fields, but each should hold a "
            "name, or a name and a number. Correct the lines; quote names that hold commas."
        )
    values: dict[str, float] = {}
    for name, text in rows:
        value = number(text)
        if value is None:
            raise InputError(
                f"'{path}' gives {name!r:.60} the value {text!r:.40}, which is not a number. "
                "Correct it."
            )
        if name in values:
            raise InputError(f"'{path}' names {name!r:.60} more than once. Keep one line.")
        values[name] = value
    return values
