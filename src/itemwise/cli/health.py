"""`itemwise health`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.errors import NOT_CONVERGED
from itemwise.cli.files import report_folder
from itemwise.cli.options import Json, Kind, Layout, Quiet, Scores

ROWS = 12
COLUMNS = ["difficulty", "discrimination", "discrimination_se", "share_right", "problems"]

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder for tables, figures and the bank.")
]
BankOption = Annotated[
    Path | None,
    typer.Option("--bank", help="Item bank of these items.", show_default="calibrated here"),
]
By = Annotated[
    str | None,
    typer.Option("--by", help="Fact of the items that groups them, such as task (.parquet)."),
]


def health(
    scores: Scores,
    bank: BankOption = None,
    by: By = None,
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
    folder = None if out is None else report_folder(out, scores)
    import itemwise as iw
    from itemwise.report import write_health

    console = Console(quiet, json)
    responses = iw.read_responses(scores, layout=layout, kind=kind)
    with console.progress(f"Looking at the items of {scores.name}"):
        found = iw.item_health(responses, None if bank is None else iw.load(bank), by=by)
    files = []
    if folder is None:
        console.table(found.items)
    else:
        with console.progress("Drawing"):
            files = write_health(found, folder)
        troubled = found.items[found.items["problems"] != ""]
        if len(troubled):
            console.show(troubled[COLUMNS].head(ROWS).round(3))
    say = console.remark if folder is None else console.say
    for sentence in found.sentences():
        say(sentence)
    if folder is not None:
        console.say(f"Tables and figures: {folder}")
    console.document(
        {
            "out": folder,
            "files": files,
            "meaning": found.sentences(),
            "items": found.items,
            "duplicates": found.duplicates,
            "saturation": found.saturation,
            "respondents": found.respondents,
            "groups": found.groups,
        }
    )
    if not found.calibration.converged:
        raise typer.Exit(NOT_CONVERGED)
