"""`itemwise calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import BANK, NOT_CONVERGED, TABLE, check_targets, write_table
from itemwise.cli.options import (
    Jobs,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Priors,
    Quiet,
    Scores,
    choice,
)
from itemwise.estimation import ENGINES
from itemwise.models import AUTO
from itemwise.scoring import METHODS

Engine = Annotated[str, choice("--engine", names=ENGINES, text="How items are found.")]
Method = Annotated[str, choice("--method", names=METHODS, text="Estimate of ability.")]


def calibrate(
    responses: Scores,
    model: ModelOrAuto = AUTO,
    preset: Annotated[
        str | None,
        typer.Option(help="Reproduce published work: airt (its own model and engine)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Item bank to write, .json or .parquet."),
    ] = None,
    abilities: Annotated[
        Path | None, typer.Option(help="Table of abilities to write, .csv or .parquet.")
    ] = None,
    method: Method = "eap",
    engine: Engine = "em",
    population: Annotated[
        str | None,
        typer.Option(help="normal, or histogram: abilities of any distribution."),
    ] = None,
    priors: Priors = "default",
    tolerance: Annotated[
        float | None, typer.Option(help="Log-likelihood still to be gained at which to stop.")
    ] = None,
    max_iterations: Annotated[int | None, typer.Option(min=1, help="Most iterations.")] = None,
    jobs: Jobs = -1,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda: run on torch. Default: NumPy.")
    ] = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Put the items and respondents of a table on one scale.

    Without --out, the items are printed as CSV.
    """
    check_targets({"--out": (out, BANK), "--abilities": (abilities, TABLE)}, sources=[responses])
    import itemwise as iw

    console = Console(quiet, json)
    given: dict[str, Any] = {
        "preset": preset,
        "population": population,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "n_jobs": None if jobs == -1 else jobs,
        "device": device,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    table = iw.read_responses(responses, layout=layout, kind=kind)
    with console.progress(f"Calibrating {responses.name}") as report:
        found = iw.calibrate(
            table,
            model,
            engine=engine,
            priors=None if priors == "none" else "default",
            progress=report,
            **settings,
        )
    if out is not None:
        found.save(out)
    if abilities is not None:
        write_table(found.abilities(method), abilities)

    if out is None:
        console.remark(repr(found))
        console.table(found.items)
    else:
        console.say(repr(table))
        console.say(repr(found))
        console.say(f"Items: {out}")
    if abilities is not None and out is not None:
        console.say(f"Abilities: {abilities}")
    console.document(
        {
            "model": found.model.name,
            "engine": found.engine,
            "respondents": table.n_respondents,
            "log_likelihood": found.log_likelihood,
            "iterations": found.iterations,
            "converged": found.converged,
            "notes": found.notes,
            "out": out,
            "abilities": abilities,
            "items": found.items,
        }
    )
    if not found.converged:
        raise typer.Exit(NOT_CONVERGED)
