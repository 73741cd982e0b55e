"""`itemwise diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import NOT_CONVERGED, check_sources, write_page
from itemwise.cli.options import Json, Kind, Layout, ModelOrAuto, Priors, Quiet, Scores
from itemwise.files import make_folder
from itemwise.models import AUTO


def diagnose(
    responses: Scores,
    model: ModelOrAuto = AUTO,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for a table and a figure of each diagnosis."),
    ] = None,
    priors: Priors = "default",
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say whether a calibration of a table can be believed.

    One sentence a diagnosis: dimensions, reliability, fit of the model, of items and of
    respondents, items that depend on each other, labels that look wrong.
    """
    check_sources(responses)
    folder = None if out is None else make_folder(out)
    import itemwise as iw
    from itemwise.diagnostics import diagnose as look

    console = Console(quiet, json)
    table = iw.read_responses(responses, layout=layout, kind=kind)
    with console.progress(f"Diagnosing {responses.name}") as report:
        report(0, 2, "calibrating")
        found = iw.calibrate(table, model, priors=None if priors == "none" else "default")
        report(1, 2, "checking the fit")
        diagnoses = look(found)
    console.say(repr(table))
    console.say(repr(found))
    for name, diagnosis in diagnoses.found.items():
        console.say(f"{name}: {diagnosis.meaning}")
        if folder is not None:
            diagnosis.save(folder / f"{name}.csv")
            diagnosis.plot().save(folder / f"{name}.png")
    for name, reason in diagnoses.missing.items():
        console.say(f"{name}: none. {reason}")
    if folder is not None:
        with console.progress("Writing the page"):
            page = write_page(folder, [found, diagnoses], "Diagnoses", {"model": model})
        console.say(f"Tables and figures: {folder}")
        console.say(f"Report: {page}")
    console.document(
        {
            "model": found.model.name,
            "converged": found.converged,
            "notes": found.notes,
            "meaning": {name: each.sentences() for name, each in diagnoses.found.items()},
            "missing": diagnoses.missing,
            "out": folder,
        }
    )
    if not found.converged:
        raise typer.Exit(NOT_CONVERGED)
