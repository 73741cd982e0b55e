"""`itemwise simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import RESPONSES, TABLE, check_targets, write_table
from itemwise.cli.options import Json, Model, Quiet

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.responses import Responses


def simulate(
    model: Model = "2pl",
    respondents: Annotated[int, typer.Option(min=1, help="How many respondents.")] = 500,
    items: Annotated[int, typer.Option(min=1, help="How many items.")] = 40,
    missing: Annotated[
        float, typer.Option(help="Share of cells never asked, from 0 to below 1.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same responses.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Responses to write, .csv or .parquet.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="True items to write, .csv or .parquet.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw responses from a model whose truth is known.

    Without --out, the responses are printed as CSV.
    """
    check_targets({"--out": (out, RESPONSES), "--truth": (truth, TABLE)})
    import itemwise as iw

    console = Console(quiet, json)
    drawn = iw.simulate(model, respondents, items, missing=missing, random_state=seed)
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
            "seed": seed,
            "out": out,
            "truth": truth,
            "items": drawn.truth.items,
            "abilities": drawn.truth.abilities,
            "responses": None if out else _codes(drawn.responses),
        }
    )


def _codes(responses: Responses) -> pd.DataFrame:
    """Categories as whole numbers, so that 1 is not printed as 1.0."""
    frame = responses.to_frame()
    return frame if responses.kind == "continuous" else frame.astype("Int16")
