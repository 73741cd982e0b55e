"""`itemwise shorten`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import TABLE, check_targets, write_table
from itemwise.cli.grouping import read_grouped
from itemwise.cli.options import (
    By,
    ByPrefix,
    Items,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Quiet,
    Scores,
    Seed,
    choice,
)
from itemwise.errors import InputError
from itemwise.models import AUTO
from itemwise.studies.shortening.short_form import METHODS

SHORT = (".json",)
SHOWN = ["method", "predictor", "mae", "mae_se", "bias", "kendall", "coverage"]


def shorten(
    responses: Scores,
    size: Annotated[int | None, typer.Option("--size", "-n", min=1, help="Items to keep.")] = None,
    method: Annotated[
        str, choice("--method", names=METHODS, text="How items are chosen.")
    ] = "information",
    model: ModelOrAuto = AUTO,
    by: By = None,
    by_prefix: ByPrefix = None,
    items: Items = None,
    cv: Annotated[int, typer.Option(min=2, help="Parts of respondents held out in turn.")] = 5,
    confidence: Annotated[float, typer.Option(help="Of all intervals, between 0 and 1.")] = 0.95,
    seed: Seed = 0,
    score: Annotated[
        Path | None,
        typer.Option("--score", help="Saved short benchmark: predict scores instead of choosing."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Short benchmark to write, .json; with --score, .csv or .parquet."
        ),
    ] = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Choose a few items that predict the score on all of them, and say how far off they are.

    Each group of items gets its share. Without --out, the chosen items are printed as CSV. With
    --score short.json, respondents who were asked the short form get their predicted score on all
    items, with an interval.
    """
    console = Console(quiet, json)
    if score is not None:
        _predict(responses, score, out, layout, kind, console)
        return
    if size is None:
        raise InputError("Give --size, the number of items to keep; or --score short.json.")
    check_targets({"--out": (out, SHORT)}, sources=[responses, *([items] if items else [])])
    import itemwise as iw

    table, by = read_grouped(responses, layout, kind, items, by, by_prefix)
    with console.progress(f"Shortening {responses.name}") as report:
        found = iw.shorten(
            table,
            size,
            method=method,
            model=model,
            by=by,
            cv=cv,
            confidence=confidence,
            random_state=seed,
            progress=report,
        )
    if out is not None:
        found.save(out)
    console.finding(
        found,
        found.to_frame(),
        out,
        shown=found.error[SHOWN].round(4),
        written={"Short benchmark": out},
        method=found.method,
        predictor=found.predictor,
        confidence=found.confidence,
        error=found.error,
        items=found.to_frame(),
    )


def _predict(
    responses: Path,
    short: Path,
    out: Path | None,
    layout: str,
    kind: str | None,
    console: Console,
) -> None:
    """Scores of respondents who were asked a short form."""
    check_targets({"--out": (out, TABLE)}, sources=[responses, short])
    import itemwise as iw
    from itemwise.saved_files import load_only

    saved = load_only("short-benchmark", short)
    table = iw.read_responses(responses, layout=layout, kind=kind)
    found = saved.predict(table)
    if out is None:
        console.table(found)
    else:
        write_table(found, out)
        console.say(repr(table))
        console.say(f"Predicted scores: {out}")
    console.document({"confidence": saved.confidence, "out": out, "scores": found})
