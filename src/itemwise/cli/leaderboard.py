"""`itemwise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import check_sources, page_of, report_folder, write_page
from itemwise.cli.grouping import TASK, check_facts, read_grouped
from itemwise.cli.options import (
    ByPrefix,
    Items,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Quiet,
    Scores,
    choice,
)
from itemwise.estimation.choosing import AUTO
from itemwise.numerics.multiplicity import CORRECTIONS
from itemwise.studies.leaderboards.board import AVERAGES, DOCUMENT

COLUMNS = ["rank", "rank_low", "rank_high", "accuracy", "accuracy_low", "accuracy_high", "ability"]

By = Annotated[
    str | None, typer.Option(help="Fact of items that tells their task.", show_default=TASK)
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Fact of items that tells which belong together, as on one document.",
        show_default=DOCUMENT,
    ),
]
Average = Annotated[
    str, choice("--average", names=AVERAGES, text="Weigh all items alike, or all tasks.")
]
Confidence = Annotated[float, typer.Option(help="Of all intervals, between 0 and 1.")]
Alpha = Annotated[float, typer.Option(help="False discoveries among the pairs, at most.")]
Correction = Annotated[
    str, choice("--correction", names=CORRECTIONS, text="How many tests at once are allowed for.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for tables, figures, bank and page."),
]


def leaderboard(
    responses: Scores,
    by: By = None,
    by_prefix: ByPrefix = None,
    cluster: Cluster = None,
    items: Items = None,
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

    Without --out, the board is printed as CSV.
    """
    check_sources(responses, items)
    folder = None if out is None else report_folder(out, responses)
    from itemwise.report import write_folder
    from itemwise.studies import leaderboard as rank

    console = Console(quiet, json)
    table, by = read_grouped(responses, layout, kind, items, by, by_prefix)
    if cluster is not None:
        check_facts(table, [cluster], "--cluster")
    with console.progress(f"Comparing {responses.name}"):
        found = rank(
            table,
            by or TASK,
            cluster=cluster or DOCUMENT,
            average=average,
            model=model,
            confidence=confidence,
            alpha=alpha,
            correction=correction,
        )
    board, files = found.to_frame(), []
    if folder is not None:
        with console.progress("Drawing"):
            files = write_folder(found, folder)
            settings = {"by": by, "cluster": cluster, "average": average, "correction": correction}
            files.append(write_page(folder, found, "Leaderboard", settings))
    console.finding(
        found,
        board,
        folder,
        shown=board[COLUMNS].round(3),
        written={"Tables and figures": folder, "Report": page_of(folder)},
        files=files,
        leaders=found.leaders,
        board=board,
        pairs=found.pairs.set_index(["respondent", "other"]),
    )
