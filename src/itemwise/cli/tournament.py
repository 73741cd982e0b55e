"""`itemwise tournament`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import FIGURE, TABLE, check_targets, write_table
from itemwise.cli.options import Json, Layout, Quiet, Scores

Order = Annotated[
    str,
    typer.Option(help="'given', or a file: one item a line, or an item and a number to sort by."),
]
Tolerance = Annotated[
    float, typer.Option(min=0.0, help="Scores at most this far apart are a draw.")
]
Tau = Annotated[float, typer.Option(help="How fast volatility may change; above 0.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table of final ratings to write, .csv or .parquet."),
]
History = Annotated[Path | None, typer.Option(help="Table of ratings after every period to write.")]
Figure = Annotated[
    Path | None, typer.Option(help="Figure of the final ratings, .png, .svg or .pdf.")
]
Bump = Annotated[Path | None, typer.Option(help="Figure of the ranks over the periods.")]


def tournament(
    responses: Scores,
    order: Order = "given",
    tolerance: Tolerance = 0.0,
    tau: Tau = 0.5,
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
    from itemwise.cli.orders import read_order
    from itemwise.responses import read_responses
    from itemwise.studies.benchmarks.glicko_tournament import tournament as play

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
        tau=tau,
        items=found.items,
        ratings=ratings,
    )
