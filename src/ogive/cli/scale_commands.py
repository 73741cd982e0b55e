"""Commands about one scale: calibrate, score, diagnose, simulate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.output import Console, for_people, say_if_long, with_own_words
from ogive.cli.sources import (
    BANK,
    NOT_CONVERGED,
    RESPONSES,
    TABLE,
    Bank,
    Jobs,
    Json,
    Kind,
    Layout,
    Model,
    ModelOrAuto,
    Priors,
    Quiet,
    Scores,
    check_sources,
    check_targets,
    choice,
    out_folder,
    read_bank,
    write_page,
    write_table,
)
from ogive.data.column_roles import CORNER
from ogive.errors import InputError
from ogive.irt.abilities import METHODS
from ogive.irt.calibrating import ENGINES
from ogive.irt.models import AUTO
from ogive.irt.response_codes import NOMINAL

if TYPE_CHECKING:
    import pandas as pd

    from ogive.checks.check import Diagnoses
    from ogive.data.responses import Responses
    from ogive.results.base import Result


Engine = Annotated[str, choice("--engine", names=ENGINES, text="Estimation engine.")]
Method = Annotated[str, choice("--method", names=METHODS, text="Ability estimate.")]


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
        typer.Option(help="normal; histogram: any distribution; auto: where normal fails."),
    ] = None,
    se: Annotated[
        str | None,
        typer.Option(help="Standard errors: model, or robust where the model may be wrong."),
    ] = None,
    priors: Priors = "default",
    tolerance: Annotated[
        float | None, typer.Option(help="Stop when the log-likelihood can gain less than this.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of iterations.")
    ] = None,
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
    import ogive as og

    console = Console(quiet, json)
    given: dict[str, Any] = {
        "preset": preset,
        "population": population,
        "se": se,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "n_jobs": None if jobs == -1 else jobs,
        "device": device,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    table = og.read_responses(responses, layout=layout, kind=kind)
    with console.progress(f"Calibrating {responses.name}") as report:
        found = og.calibrate(
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
        if for_people():
            console.say(found.meaning)
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


def score(
    bank: Bank,
    responses: Scores,
    method: Method = "eap",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table of abilities to write, .csv or .parquet."),
    ] = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Place new respondents on the scale of an item bank.

    Items are matched by name; those that were not asked are left out. Without --out, the abilities
    are printed as CSV.
    """
    check_targets({"--out": (out, TABLE)}, sources=[bank, responses])
    import ogive as og

    console = Console(quiet, json)
    calibration = read_bank(bank)
    table = og.read_responses(responses, layout=layout, kind=kind)
    with console.progress(f"Scoring {responses.name}"):
        found = calibration.score(table, method)
    if out is None:
        console.table(found)
    else:
        write_table(found, out)
        console.say(repr(table))
        console.say(f"Abilities: {out}")
    console.document({"method": method, "out": out, "abilities": found})


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
    """Diagnose the calibration of a table.

    One sentence per diagnosis: dimensionality, reliability, fit of the model, of items and of
    respondents, local dependence, labels that look wrong. In a pipe or with --csv, one row each.
    """
    check_sources(responses)
    folder = None if out is None else out_folder(out)
    import ogive as og
    from ogive.checks.check import diagnose as look
    from ogive.irt.item_curves import said_of_items

    console = Console(quiet, json)
    table = og.read_responses(responses, layout=layout, kind=kind)
    say_if_long(console, "diagnose", table)
    with console.progress(f"Diagnosing {responses.name}") as report:
        report(0, 2, "calibrating")
        found = og.calibrate(table, model, priors=None if priors == "none" else "default")
        report(1, 2, "checking the fit")
        diagnoses = look(found)
    say = console.speaker(folder)
    for text in (repr(table), repr(found), said_of_items(found), *_first_sentences(diagnoses)):
        say(text)
    if console.gives_csv(folder):
        console.table(diagnoses.to_frame())
    if folder is not None:
        for name, diagnosis in diagnoses.found.items():
            diagnosis.save(folder / f"{name}.csv")
            lacking = _draw(diagnosis, folder / f"{name}.png")
            if lacking:
                say(f"There is no figure of {name}: {lacking}")
        with console.progress("Writing the page"):
            told = with_own_words([found, diagnoses])
            page = write_page(folder, told, "Diagnoses", {"model": model})
        say(f"Tables and figures: {folder}")
        say(f"Report: {page}")
    console.document(
        {
            "model": found.model.name,
            "converged": found.converged,
            "notes": found.notes,
            "meaning": {name: each.sentences() for name, each in diagnoses.found.items()},
            "missing": diagnoses.missing,
            "out": folder,
            "diagnoses": diagnoses.to_frame(),
        }
    )
    if not found.converged:
        raise typer.Exit(NOT_CONVERGED)


def _draw(diagnosis: Result, path: Path) -> str:
    """Write the figure of a diagnosis, or return why there is none: the rest is worth its files."""
    try:
        display = diagnosis.plot()
    except InputError as reason:
        return str(reason)
    if not display.instead:
        display.save(path)
    return display.instead


def _first_sentences(diagnoses: Diagnoses) -> list[str]:
    """Return what each diagnosis means, and why others are missing."""
    frame = diagnoses.to_frame()
    return [
        f"{row.Index}: {row.meaning}" if row.available else f"{row.Index}: none. {row.meaning}"
        for row in frame.itertuples()
    ]


def simulate(
    model: Model = "2pl",
    respondents: Annotated[int, typer.Option(min=1, help="Number of respondents.")] = 500,
    items: Annotated[int, typer.Option(min=1, help="Number of items.")] = 40,
    missing: Annotated[
        float, typer.Option(help="Share of missing responses, from 0 to below 1.")
    ] = 0.0,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of random numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Responses to write, .csv or .parquet.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="True items to write, .csv or .parquet.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Simulate responses from a model with known parameters.

    Without --out, the responses are printed as CSV.
    """
    check_targets({"--out": (out, RESPONSES), "--truth": (truth, TABLE)})
    import ogive as og

    console = Console(quiet, json)
    drawn = og.simulate(model, respondents, items, missing=missing, random_state=random_state)
    if truth is not None:
        write_table(drawn.truth.items, truth)
    if out is not None:
        drawn.responses.save(out)
        console.say(repr(drawn.responses))
        console.say(f"Responses: {out}")
    else:
        console.table(_codes(drawn.responses))
    console.document(
        {
            "model": model,
            "random_state": random_state,
            "out": out,
            "truth": truth,
            "items": drawn.truth.items,
            "abilities": drawn.truth.abilities,
            "responses": None if out else _codes(drawn.responses),
        }
    )


def _codes(responses: Responses) -> pd.DataFrame:
    """Return categories as whole numbers, so that 1 is not printed as 1.0."""
    frame = responses.to_frame()
    if responses.kind == NOMINAL:  # which no reader would infer
        frame = frame.rename_axis(f"{CORNER} ({NOMINAL})")
    return frame if responses.kind == "continuous" else frame.astype("Int16")
