"""`itemwise difficulty alarm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import FIGURE, TABLE, check_targets, write_table
from itemwise.cli.options import Json, Quiet, choice
from itemwise.studies.difficulty.performance_alarm import METHODS

Reference = Annotated[
    Path,
    typer.Argument(help="Items the model is known on: .csv, .parquet; columns difficulty, right."),
]
New = Annotated[
    Path, typer.Argument(help="New items, the same columns; right may be missing in it.")
]
Rate = Annotated[float, typer.Option(help="Highest chance of an alarm if nothing changed.")]
Method = Annotated[
    str,
    choice("--method", names=METHODS, text="A curve fitted in difficulty, or the paper's means."),
]
Guessing = Annotated[float, typer.Option(help="Share that is right by luck: floor of the curve.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Table of the statements, .csv or .parquet.")
]
Figure = Annotated[
    Path | None, typer.Option(help="Figure of success against difficulty, .png, .svg or .pdf.")
]


def alarm(
    reference: Reference,
    new: New,
    alpha: Rate = 0.05,
    method: Method = "curve",
    guessing: Guessing = 0.0,
    out: Out = None,
    figure: Figure = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say whether a model is as good on new items as their difficulty lets expect.

    Without --out, the statements are printed as CSV. An alarm is a result, not an error: the exit
    code is 0; --json has `fired`.
    """
    check_targets({"--out": (out, TABLE), "--figure": (figure, FIGURE)}, sources=[reference, new])
    from itemwise.studies import performance_alarm
    from itemwise.tables.table_files import read_table

    console = Console(quiet, json)
    found = performance_alarm(
        read_table(reference),
        read_table(new),
        alpha=alpha,
        method=method,
        guessing=guessing,
    )
    statements = found.to_frame()
    if out is not None:
        write_table(statements, out)
    if figure is not None:
        found.plot().save(figure)
    console.finding(
        found,
        statements,
        out,
        written={"Statements": out, "Figure": figure},
        fired=found.fired,
        shifted=found.shifted,
        situation=found.situation,
        alpha=alpha,
        method=found.method,
        statements=statements,
    )
