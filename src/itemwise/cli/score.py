"""`itemwise score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.calibrate import Method
from itemwise.cli.console import Console
from itemwise.cli.files import TABLE, check_targets, read_bank, write_table
from itemwise.cli.options import Bank, Json, Kind, Layout, Quiet, Scores


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

    Items are known by name; those that were not asked are left out. Without --out, the abilities
    are printed as CSV.
    """
    check_targets({"--out": (out, TABLE)}, sources=[bank, responses])
    import itemwise as iw

    console = Console(quiet, json)
    calibration = read_bank(bank)
    table = iw.read_responses(responses, layout=layout, kind=kind)
    with console.progress(f"Scoring {responses.name}"):
        found = calibration.score(table, method)
    if out is None:
        console.table(found)
    else:
        write_table(found, out)
        console.say(repr(table))
        console.say(f"Abilities: {out}")
    console.document({"method": method, "out": out, "abilities": found})
