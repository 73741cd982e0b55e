"""Arguments that commands share: their options, and the files that they check, read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive._files import (
    check_present,
    check_writable,
    make_folder,
    real_path,
    tidy_folder,
    write_bytes,
)
from ogive.cli.output import Console, at_the_end, typed, with_counts
from ogive.data.column_roles import LAYOUTS
from ogive.errors import FileError, InputError
from ogive.irt.models import AUTO, MODELS
from ogive.irt.response_codes import KINDS
from ogive.results.numbers import listed, meant

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration
    from ogive.results.base import Result


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    def checked(value: str) -> str:
        if value.lower() not in names:
            raise typer.BadParameter(
                f"{value!r} is not one of {', '.join(names)}.{meant(value, names)}"
            )
        return value.lower()

    return checked


def choice(*flags: str, names: Collection[str], text: str, **settings: Any) -> Any:
    """Return an option that takes one of some names, or nothing if its default is None."""
    checked = _one_of(names)
    return _named(
        *flags,
        names=names,
        text=text,
        callback=lambda value: None if value is None else checked(value),
        **settings,
    )


def choices(*flags: str, names: Collection[str], text: str, show_default: str = "all") -> Any:
    """Return an option that may be repeated, each time with one of some names."""
    checked = _one_of(names)
    return _named(
        *flags,
        names=names,
        text=text,
        callback=lambda values: [checked(value) for value in values or ()],
        show_default=show_default,
    )


def _named(*flags: str, names: Collection[str], text: str, **settings: Any) -> Any:
    return typer.Option(
        *flags,
        metavar="|".join(names),
        autocompletion=lambda: list(names),
        help=text,
        **settings,
    )


def _workers(value: int) -> int:
    if value < 1 and value != -1:
        raise typer.BadParameter(f"{value} should be a number from 1 up, or -1 for all cores.")
    return value


Scores = Annotated[
    Path, typer.Argument(help="Responses: .csv, .tsv, .parquet or .jsonl; see --layout.")
]
OptionalScores = Annotated[
    Path | None,
    typer.Argument(help="Responses: .csv, .tsv, .parquet or .jsonl.", show_default=False),
]
Bank = Annotated[Path, typer.Argument(help="Item bank that `ogive calibrate` wrote.")]
Model = Annotated[
    str, choice("--model", "-m", names=MODELS, text="Measurement model of the items.")
]
ModelOrAuto = Annotated[
    str,
    choice("--model", "-m", names=[AUTO, *MODELS], text="Measurement model of the items."),
]
Priors = Annotated[
    str,
    choice(
        "--priors",
        names=("default", "none"),
        text="Priors of item parameters; none: plain maximum likelihood.",
    ),
]
Layout = Annotated[
    str,
    choice(
        "--layout",
        names=LAYOUTS,
        text="Layout of the table, if it is not recognised; items: one row per item.",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="|".join(KINDS),
        help="Kind of responses, if it is not recognised, such as whole numbers that are scores.",
    ),
]
By = Annotated[
    str | None, typer.Option("--by", help="Fact of the items that groups them, such as task.")
]
ByPrefix = Annotated[
    str | None,
    typer.Option(
        "--by-prefix", help="Group items by the part of their names before this, such as /."
    ),
]
Items = Annotated[
    Path | None,
    typer.Option(
        "--items", help="Table of facts of the items: a column item, and one column per fact."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=_workers, help="Number of parallel workers; -1 uses all cores."
    ),
]
RandomState = Annotated[
    int, typer.Option(min=0, help="Seed of random numbers: same seed, same result.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document, and nothing else on standard output."),
]


def _as_csv(frame: pd.DataFrame) -> bytes:
    from ogive.results.csv_text import csv_text

    return csv_text(frame).encode()


_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = {
    ".csv": _as_csv,
    ".parquet": lambda frame: frame.reset_index().to_parquet(index=False),
}

NOT_CONVERGED = 4  # exit code
REPORT = "report.html"  # what commands call their page
FIGURE = (".png", ".svg", ".pdf")
BANK = (".json", ".parquet")
TABLE = tuple(_WRITERS)
RESPONSES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def check_targets(
    targets: Mapping[str, tuple[Path | None, Sequence[str]]],
    sources: Sequence[Path] = (),
    *,
    present: bool = True,
) -> None:
    """Check that sources exist, and that targets can be written and are not sources.

    `targets` maps an option to its path, if it was given, and the endings it may have. Without
    `present`, a source need not be a file.
    """
    taken = {real_path(source): "the input" for source in sources}
    for option, (path, endings) in targets.items():
        if path is None:
            continue
        if not path.name.lower().endswith(tuple(endings)):
            raise InputError(
                f"{option} is '{path}', but it must end in {' or '.join(endings)}. "
                "Change its ending."
            )
        _check_place(option, path)
        if real_path(path) in taken:
            raise InputError(
                f"{option} is '{path}', which is also {taken[real_path(path)]}. Name another file."
            )
        taken[real_path(path)] = option
    if present:
        check_sources(*sources)


def check_sources(*sources: Path | None) -> None:
    """Check that files exist, before packages are loaded."""
    for source in sources:
        if source is not None:
            check_present(source)


def out_folder(out: Path) -> Path:
    """Return the folder that was asked for, made if missing; if it stays empty, it is removed."""
    running = at_the_end.get()
    return make_folder(out) if running is None else running.enter_context(tidy_folder(out))


def report_folder(out: Path, source: Path | None, *, present: bool = True) -> Path:
    """Return the folder of a report, checked to be writable and not that of the input."""
    if source is not None and real_path(out) in (real_path(source), real_path(source).parent):
        raise InputError(
            f"--out is '{out}', the folder of the input, which a table might replace. Name another."
        )
    if out.suffix.lower() in (*TABLE, *FIGURE, *BANK):
        raise InputError(
            f"--out is '{out}', but several files are written. Name a folder, without an ending."
        )
    if present:
        check_sources(source)
    from ogive.reporting.exports import SUMMARY

    folder = out_folder(out)
    check_writable(folder / SUMMARY)
    return folder


def bank_or_responses(path: Path, layout: str, kind: str | None) -> Calibration | Responses:
    """Read an item bank, or else responses."""
    from ogive.data.response_files import read_responses
    from ogive.irt.banks import is_bank

    return read_bank(path) if is_bank(path) else read_responses(path, layout=layout, kind=kind)


def read_bank(path: Path) -> Calibration:
    """Read an item bank."""
    from ogive._load import load_only

    found: Calibration = load_only("calibration", path)
    return found


def page_of(folder: Path | None) -> Path | None:
    """Return the path of the page in a folder."""
    return None if folder is None else folder / REPORT


def write_page(
    folder: Path, results: Any, title: str, settings: Mapping[str, Any], instances: Any = None
) -> Path:
    """Write the page of a command next to its tables and figures."""
    from ogive.reporting.page import write_report

    return write_report(
        folder / REPORT,
        results,
        title=title,
        settings=settings,
        instances=instances,
        command=typed(),
    )


def finish(
    console: Console,
    found: Result,
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
    `beside`; without, or where nobody `named` the folder, the main table is printed as CSV in a
    pipe. `more` goes into the document of --json.
    """
    from ogive.reporting.exports import Contents, write_folder

    contents, files = Contents.of(found, beside), []
    tables = contents.tables
    first = next(iter(tables.values()))
    if folder is not None:
        with console.progress("Drawing"):
            files = write_folder(contents, folder)
            files.append(write_page(folder, [found, *beside], title, settings))
    console.finding(
        found,
        first,
        folder if named else None,
        shown=with_counts(found.preview(), first),
        written={"Tables and figures": folder, "Report": page_of(folder)},
        files=files,
        beside=beside,
        out=folder,
        **found.key_facts(),
        **tables,
        **more,
    )
    shown = [found, *beside]
    fits = [*shown, *(bank for each in shown for bank in each.banks().values())]
    if not all(getattr(each, "converged", True) for each in fits):
        raise typer.Exit(NOT_CONVERGED)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame with its index atomically."""
    write_bytes(path, _WRITERS[path.suffix.lower()](frame))


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{option} is '{path}', which is a directory. Add a file name.")
    if not path.parent.is_dir():
        raise FileError(
            f"{option} is '{path}', but there is no directory '{path.parent}'. "
            "Create it first, or correct the path."
        )
    try:
        check_writable(path)
    except FileError as error:
        raise FileError(f"{option}: {error}") from error


TASK = "task"
SEPARATORS = ("/", ":", "__", "_", "-", ".")  # of a task and the rest of a name


def read_grouped(
    path: Path,
    layout: str,
    kind: str | None,
    items: Path | None,
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
    if by_prefix is not None:
        grouped = _by_prefix(table, by_prefix)
        left = [name for name in table.items if by_prefix not in name]
        if left and console is not None:
            console.remark(
                f"--by-prefix '{by_prefix}' groups all but {listed(left, 'item')} without it in "
                "the name: the task of these is 'unknown'."
            )
        return grouped, TASK
    if by is not None:
        check_facts(table, [by], "--by")
    return table, by


def with_facts(table: Responses, items: Path | None) -> Responses:
    """Return the table with the facts of its items from a file."""
    if items is None:
        return table
    from ogive.data.table_files import read_table

    frame = read_table(items)
    if "item" not in frame:
        there = ", ".join(map(str, frame.columns[:10]))
        raise InputError(
            f"--items is '{items}', which has no column 'item' to name them. Its columns: {there}."
        )
    try:
        return table.described(
            items=frame.set_index(frame["item"].astype(str)).drop(columns="item")
        )
    except InputError as error:
        raise InputError(f"--items is '{items}'. {error}") from error


def check_facts(table: Responses, names: Sequence[str], option: str) -> None:
    """Check that facts are known; the error says how to give them."""
    known = [str(name) for name in table.item_facts]
    for name in names:
        if name not in known:
            raise InputError(
                f"Items have no fact '{name}', which {option} names; known facts: "
                f"{', '.join(known) or 'none'}. Give a table of them with --items (columns item, "
                f"{name}), or a .parquet file that keeps them.{_on_prefixes(table, option)}"
                f"{meant(name, known)}"
            )


def _on_prefixes(table: Responses, option: str) -> str:
    """Return that names of items tell groups, where they do."""
    mark = common_separator(table.items) if option == "--by" else None
    return "" if mark is None else f" Or group items by their names: --by-prefix {mark}."


def common_separator(names: Sequence[str]) -> str | None:
    """What separates a group from the rest in all names, if that makes groups of several items.

    >>> common_separator(["sums/1", "sums/2", "maps/1", "maps/2"])
    '/'
    """
    for mark in SEPARATORS:
        groups = Counter(name.partition(mark)[0] for name in names if mark in name)
        if groups.total() == len(names) and len(groups) > 1 and min(groups.values()) > 1:
            return mark
    return None


def _by_prefix(table: Responses, separator: str) -> Responses:
    """Return the table with the part of each item name before the separator as its task."""
    parts = [name.partition(separator) for name in table.items]
    if not separator or not any(mark for _, mark, _ in parts):
        raise InputError(
            f"--by-prefix is '{separator}', which no item name contains; the first name is "
            f"'{table.items[0]}'. Give what separates the task from the rest."
        )
    return table.described(items={TASK: [task if mark else None for task, mark, _ in parts]})
