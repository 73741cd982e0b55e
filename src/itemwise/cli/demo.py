"""`itemwise demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.errors import NOT_CONVERGED
from itemwise.cli.options import Json, Model, Quiet
from itemwise.files import make_folder

ROWS = 8


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Directory to write to; made if it is missing.")
    ] = Path("itemwise-demo"),
    model: Model = "2pl",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Calibrate sixty classifiers on handwritten digits, some of them wrongly labelled.

    Trains the classifiers, asks which digits are hard and which labels look wrong, and writes the
    item bank, tables and figures. Takes some seconds and needs no network.
    """
    from itemwise import demo as study

    console = Console(quiet, json)
    folder = make_folder(out)
    with console.progress("Training classifiers", study.N_CLASSIFIERS) as report:
        digits = study.classify_digits(report)
    with console.progress("Calibrating and drawing"):
        found = study.calibrate_digits(digits, model)
        files = found.write(folder)

    console.say(repr(digits.responses))
    console.say(repr(found.calibration))
    console.say("\nHardest digits: `chance` is that of the average classifier to be right.")
    console.show(found.hardest.head(ROWS).round(2))
    console.say(f"\nSuspect labels. {len(digits.mislabelled)} were changed on purpose; found are")
    for flag in study.SUSPICIOUS:
        number, changed = found.count(flag)
        console.say(f"  {changed} of them among {number} digits flagged: {flag}")
    console.show(found.suspects.head(ROWS).round(2))
    console.say("\nBest classifiers (rows they learned from), with 95% intervals of ability.")
    console.show(found.ranking.head(ROWS).round(2))
    console.say(f"\nWritten to {folder}/")
    for file in files:
        console.say(f"  {file.name}")
    console.document(
        {
            "out": folder,
            "files": files,
            "converged": found.calibration.converged,
            "notes": found.calibration.notes,
            "mislabelled": digits.mislabelled,
            "hardest": found.hardest.head(ROWS),
            "suspects": found.suspects,
            "ranking": found.ranking,
        }
    )
    if not found.calibration.converged:
        raise typer.Exit(NOT_CONVERGED)
