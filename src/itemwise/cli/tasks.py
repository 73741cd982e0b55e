"""`itemwise tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.errors import NOT_CONVERGED
from itemwise.cli.files import check_sources, page_of, report_folder, write_page
from itemwise.cli.grouping import TASK, read_grouped
from itemwise.cli.options import ByPrefix, Items, Json, Kind, Layout, ModelOrAuto, Quiet, Scores
from itemwise.estimation.choosing import AUTO


def tasks(
    responses: Scores,
    by: Annotated[
        str | None,
        typer.Option(help="Fact of items that names their task.", show_default=TASK),
    ] = None,
    by_prefix: ByPrefix = None,
    items: Items = None,
    model: ModelOrAuto = AUTO,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for tables, the heat map, banks and a page."),
    ] = None,
    min_items: Annotated[
        int, typer.Option(min=1, help="Items that a task needs on which respondents differ.")
    ] = 3,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say which tasks measure the same: one scale a task, and correlations between them.

    Without --out, the correlations are printed as CSV.
    """
    check_sources(responses, items)
    folder = None if out is None else report_folder(out, responses)
    import itemwise as iw
    from itemwise.report import write_folder

    console = Console(quiet, json)
    given = TASK if by is None and by_prefix is None else by
    table, by = read_grouped(responses, layout, kind, items, given, by_prefix)
    with console.progress(f"Calibrating the tasks of {responses.name}") as report:
        found = iw.task_scales(
            table,
            by,
            model=model,
            min_items=min_items,
            progress=report,
        )
    files = []
    if folder is not None:
        with console.progress("Drawing"):
            files = write_folder(found, folder)
            files.append(write_page(folder, found, "Tasks", {"by": by, "model": model}))
    console.finding(
        found,
        found.correlations.set_index(["task", "other"]),
        folder,
        shown=found.tasks.round(3),
        written={"Tables and figures": folder, "Report": page_of(folder)},
        files=files,
        tasks=found.tasks,
        correlations=found.correlations,
    )
    if not all(one.converged for one in found.calibrations.values()):
        raise typer.Exit(NOT_CONVERGED)
