"""`itemwise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import TABLE, check_targets, report_folder, write_table
from itemwise.cli.options import Json, Kind, Layout, ModelOrAuto, Quiet, Scores, choice
from itemwise.estimation.choosing import AUTO

AVERAGES = ("items", "tasks")
CORRECTIONS = ("bh", "by", "holm")
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
        "--out", "-o", help="Table to write, .csv or .parquet; or a folder for tables and figures."
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

    Without --out, the board is printed as CSV.
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
    board = found.to_frame()
    files = []
    if out is None:
        console.table(board)
    elif folder is None:
        write_table(board, out)
        files.append(out)
    else:
        with console.progress("Drawing"):
            files += write_leaderboard(found, folder)
    speak = console.remark if out is None else console.say
    if out is not None:
        console.show(board[COLUMNS].round(3))
    for sentence in found.sentences():
        speak(sentence)
    if out is not None:
        speak(f"{'Board' if single else 'Tables and figures'}: {out}")
    console.document(
        {
            "meaning": found.meaning,
            "notes": found.notes,
            "leaders": found.leaders,
            "out": out,
            "files": files,
            "board": board,
            "pairs": found.pairs.set_index(["respondent", "other"]),
        }
    )
