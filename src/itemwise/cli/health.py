"""`itemwise health`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.errors import NOT_CONVERGED
from itemwise.cli.files import check_sources, page_of, read_bank, report_folder, write_page
from itemwise.cli.grouping import read_grouped
from itemwise.cli.options import By, ByPrefix, Items, Json, Kind, Layout, ModelOrAuto, Quiet, Scores
from itemwise.errors import InputError
from itemwise.estimation.choosing import AUTO

ROWS = 12
COLUMNS = ["difficulty", "discrimination", "discrimination_se", "share_right", "problems"]

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for tables, figures, bank and page."),
]
BankOption = Annotated[
    Path | None,
    typer.Option("--bank", help="Item bank of these items.", show_default="calibrated here"),
]


def health(
    responses: Scores,
    bank: BankOption = None,
    model: ModelOrAuto = AUTO,
    by: By = None,
    by_prefix: ByPrefix = None,
    items: Items = None,
    out: Out = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say which items of a benchmark need a look, and how much it still tells.

    Items that nobody or everybody solves, negative discrimination, keys that look wrong,
    near-duplicates; saturation at the top; respondents right on hard items against the odds.
    Without --out, the table of items is printed as CSV.
    """
    if bank is not None and model != AUTO:
        raise InputError("--model is for items without a --bank. Leave one of them out.")
    check_sources(responses, bank, items)
    folder = None if out is None else report_folder(out, responses)
    import itemwise as iw
    from itemwise.report import write_folder

    console = Console(quiet, json)
    table, by = read_grouped(responses, layout, kind, items, by, by_prefix)
    with console.progress(f"Looking at the items of {responses.name}"):
        known = iw.calibrate(table, model) if bank is None else read_bank(bank)
        found = iw.item_health(table, known, by=by)
    files = []
    if folder is not None:
        with console.progress("Drawing"):
            files = write_folder(found, folder)
            files.append(
                write_page(folder, found, "Item health", {"by": by, "bank": bank, "model": model})
            )
    troubled = found.items[found.items["problems"] != ""]
    console.finding(
        found,
        found.items,
        folder,
        shown=troubled[COLUMNS].head(ROWS).round(3),
        written={"Tables and figures": folder, "Report": page_of(folder)},
        files=files,
        items=found.items,
        duplicates=found.duplicates,
        saturation=found.saturation,
        respondents=found.respondents,
        groups=found.groups,
    )
    if not found.calibration.converged:
        raise typer.Exit(NOT_CONVERGED)
