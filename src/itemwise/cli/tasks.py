"""`itemwise tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import write_table
from itemwise.cli.options import Json, Kind, Layout, ModelOrAuto, Quiet, Scores
from itemwise.estimation.choosing import AUTO
from itemwise.files import make_folder


def tasks(
    scores: Scores,
    by: Annotated[
        str,
        typer.Option(help="The fact of items that names their task, as .parquet files keep it."),
    ] = "task",
    model: ModelOrAuto = AUTO,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for tables and the heat map."),
    ] = None,
    least_items: Annotated[
        int, typer.Option(min=1, help="Items that a task needs on which respondents differ.")
    ] = 3,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say which tasks measure the same: one scale a task, and correlations between them.

    Without --out, the correlations are printed as CSV. With it, the folder gets correlations.csv,
    tasks.csv, abilities.csv, joint_abilities.csv and correlations.svg.
    """
    folder = None if out is None else make_folder(out)
    import itemwise as iw

    console = Console(quiet, json)
    responses = iw.read_responses(scores, layout=layout, kind=kind)
    with console.progress(f"Calibrating the tasks of {scores.name}") as report:
        found = iw.task_scales(
            responses,
            by,
            model=model,
            least_items=least_items,
            progress=lambda done, total, task: report(done, task, total),
        )
    if folder is None:
        console.remark("\n".join(found.sentences()))
        console.table(found.correlations.set_index(["task", "other"]))
    else:
        write_table(found.tasks, folder / "tasks.csv")
        for name in ("correlations", "abilities", "joint_abilities"):
            frame = getattr(found, name)
            write_table(frame.set_index(frame.columns[0]), folder / f"{name}.csv")
        found.plot().save(folder / "correlations.svg")
        console.say(repr(responses))
        console.show(found.tasks.round(3))
        console.say("\n".join(found.sentences()))
        console.say(f"Tables and figure: {folder}")
    console.document(
        {
            "meaning": found.meaning,
            "notes": found.notes,
            "out": folder,
            "tasks": found.tasks,
            "correlations": found.correlations,
        }
    )
