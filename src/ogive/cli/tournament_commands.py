"""The command `ogive tournament`, and files that order items."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ogive._files import most_bytes, readable_file
from ogive.cli.output import Console
from ogive.cli.sources import FIGURE, TABLE, Json, Layout, Quiet, Scores, check_targets, write_table
from ogive.data.text_files import text_lines
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import number

if TYPE_CHECKING:
    from ogive._files import PathLike


Order = Annotated[
    str,
    typer.Option(
        help="'given', or a file with one item per line, or an item and a number to sort by."
    ),
]
Tolerance = Annotated[
    float, typer.Option(min=0.0, help="Scores at most this far apart are a draw.")
]
Tau = Annotated[
    float | None,
    typer.Option(
        help="How fast volatility may change; above 0. Without it, 0.5, or less where needed."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table of final ratings to write, .csv or .parquet."),
]
History = Annotated[
    Path | None, typer.Option(help="Table of the ratings after every period to write.")
]
Figure = Annotated[
    Path | None, typer.Option(help="Figure of the final ratings, .png, .svg or .pdf.")
]
Bump = Annotated[Path | None, typer.Option(help="Figure of the ranks over the periods.")]


def tournament(
    responses: Scores,
    order: Order = "given",
    tolerance: Tolerance = 0.0,
    tau: Tau = None,
    out: Out = None,
    history: History = None,
    figure: Figure = None,
    bump: Bump = None,
    layout: Layout = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rate respondents by Glicko-2: every item is a round robin, the higher score wins.

    Without --out, the final ratings are printed as CSV.
    """
    ordered = None if order == "given" else Path(order)
    check_targets(
        {
            "--out": (out, TABLE),
            "--history": (history, TABLE),
            "--figure": (figure, FIGURE),
            "--bump": (bump, FIGURE),
        },
        sources=[responses, *([ordered] if ordered else [])],
    )
    from ogive.benchmarking.glicko_tournament import tournament as play
    from ogive.data.response_files import read_responses

    console = Console(quiet, json)
    table = read_responses(responses, kind="continuous", layout=layout)
    with console.progress(f"Playing {responses.name}"):
        found = play(
            table,
            order=read_order(ordered) if ordered else None,
            tolerance=tolerance,
            tau=tau,
        )
    ratings = found.to_frame()
    if out is not None:
        write_table(ratings, out)
    if history is not None:
        write_table(found.history().set_index("period"), history)
    for which, path in (("ratings", figure), ("ranks", bump)):
        if path is not None:
            found.plot(kind=which).save(path)
    console.finding(
        found,
        ratings,
        out,
        written={"Ratings": out, "History": history, "Figure": figure, "Figure of ranks": bump},
        tolerance=tolerance,
        tau=found.tau,
        items=found.items,
        ratings=ratings,
    )


HEADINGS = ("item", "name", "dataset", "data set", "data_set")
MOST_ITEMS = 1_000_000


def read_order(path: PathLike, *, max_bytes: int | None = None) -> list[str] | dict[str, float]:
    """The names in a file, one per line; with a number after a comma, the values to sort them by.

    A first line that begins with item, name or dataset is a heading.
    """
    most = most_bytes(max_bytes, 64 * 1024**2)
    file = readable_file(path, most)
    with text_lines(file, most) as lines:
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
    return _values(path, rows)


def _values(path: PathLike, rows: list[list[str]]) -> dict[str, float]:
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
