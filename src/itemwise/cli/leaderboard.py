"""`itemwise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import TABLE, check_targets, page_of, report_folder, write_page, write_table
from itemwise.cli.options import Json, Kind, Layout, ModelOrAuto, Quiet, Scores, choice
from itemwise.estimation.choosing import AUTO
from itemwise.numerics.multiplicity import CORRECTIONS
from itemwise.studies.leaderboards.board import AVERAGES

COLUMNS = ["rank", "rank_low", "rank_high", "accuracy", "accuracy_low", "accuracy_high", "ability"]

By = Annotated[str, typer.Option(help="Fact of items that tells their task.")]
Cluster = Annotated[
    str, typer.Option(help="Fact of items that tells which belong together, as on one document.")
]
Average = Annotated[
    str, choice("--average", names=AVERAGES, text="Weigh all items alike, or all tasks.")
]
Confidence = Annotated[float, typer.Option(help="Of all intervals, between 0 and 1.")]
Alpha = Annotated[float, typer.Option(help="Share of pairs wrongly told apart.")]
Correction = Annotated[
    str, choice("--correction", names=CORRECTIONS, text="How many tests at once are allowed for.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Table to write, .csv or .parquet; or a folder for all there is."
    ),
]


def leaderboard(
    responses: Scores,
    by: By = "task",
    cluster: Cluster = "document",
    average: Average = "items",
    model: ModelOrAuto = AUTO,
    confidence: Confidence = 0.95,
    alpha: Alpha = 0.05,
    correction: Correction = "bh",
    out: Out = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rank respondents, with intervals of accuracy, ability and rank, and say who is really better.

    Without --out, the board is printed as CSV. A folder gets tables, figures, the item bank and
    report.html.
    """
    single = out is not None and out.suffix.lower() in TABLE
    folder = None if out is None or single else report_folder(out, responses)
    check_targets({"--out": (out if single else None, TABLE)}, sources=[responses])
    from itemwise.report import write_leaderboard
    from itemwise.responses import read_responses
    from itemwise.studies import leaderboard as rank

    console = Console(quiet, json)
    table = read_responses(responses, kind=kind, layout=layout)
    with console.progress(f"Comparing {responses.name}"):
        found = rank(
            table,
            by,
            cluster=cluster,
            average=average,
            model=model,
            confidence=confidence,
            alpha=alpha,
            correction=correction,
        )
    board, files = found.to_frame(), []
    if folder is not None:
        with console.progress("Drawing"):
            files = write_leaderboard(found, folder)
            settings = {"by": by, "cluster": cluster, "average": average, "correction": correction}
            files.append(write_page(folder, found, "Leaderboard", settings))
    elif out is not None:
        write_table(board, out)
        files.append(out)
    console.finding(
        found,
        board,
        out,
        shown=board[COLUMNS].round(3),
        written={"Tables and figures" if folder else "Board": out, "Report": page_of(folder)},
        files=files,
        leaders=found.leaders,
        board=board,
        pairs=found.pairs.set_index(["respondent", "other"]),
    )
