"""`itemwise link`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import (
    BANK,
    FIGURE,
    NOT_CONVERGED,
    TABLE,
    bank_or_responses,
    check_targets,
    read_bank,
    write_table,
)
from itemwise.cli.options import Bank, Json, Kind, Layout, Quiet, choice
from itemwise.studies.linking.linking_lines import METHODS

New = Annotated[
    Path,
    typer.Argument(help="Item bank of the new version (.json, .parquet), or its responses."),
]
Anchors = Annotated[
    Path | None,
    typer.Option(help="Items that tie the scales, one a line; without it, all common ones."),
]
Method = Annotated[
    str,
    choice("--method", names=METHODS, text="How the line between the scales is found."),
]
Drift = Annotated[
    str,
    choice("--drift", names=("remove", "keep"), text="What becomes of anchors that changed."),
]
Alpha = Annotated[
    float, typer.Option(help="Share of false alarms among anchors called drifted; 0 to 1.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Bank of all items on the old scale, .json or .parquet."),
]
Table = Annotated[Path | None, typer.Option(help="Table of anchors to write, .csv or .parquet.")]
Figure = Annotated[Path | None, typer.Option(help="Figure of the anchors, .png, .svg or .pdf.")]


def link(
    old: Bank,
    new: New,
    anchors: Anchors = None,
    method: Method = "stocking-lord",
    drift: Drift = "remove",
    alpha: Alpha = 0.05,
    out: Out = None,
    table: Table = None,
    figure: Figure = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Put a new version of a benchmark, or new items, on the scale of an old item bank.

    Items are known by name. Without --out, the anchors are printed as CSV.
    """
    check_targets(
        {"--out": (out, BANK), "--table": (table, TABLE), "--figure": (figure, FIGURE)},
        sources=[old, new, *([anchors] if anchors else [])],
    )
    import itemwise as iw
    from itemwise.cli.orders import read_order

    console = Console(quiet, json)
    names = None if anchors is None else list(read_order(anchors))
    first, second = read_bank(old), bank_or_responses(new, layout, kind)
    with console.progress(f"Linking {new.name}"):
        found = iw.link(first, second, anchors=names, method=method, drift=drift, alpha=alpha)  # type: ignore[arg-type]
    if out is not None:
        found.bank.save(out)
    if table is not None:
        write_table(found.anchors, table)
    if figure is not None:
        found.plot().save(figure)
    console.finding(
        found,
        found.anchors,
        out,
        written={"Items": out, "Anchors": table, "Figure": figure},
        method=method,
        slope=found.slope,
        slope_se=found.slope_se,
        intercept=found.intercept,
        intercept_se=found.intercept_se,
        drifted=found.drifted,
        converged=found.bank.converged,
        table=table,
        figure=figure,
        anchors=found.anchors,
    )
    if not found.bank.converged:
        raise typer.Exit(NOT_CONVERGED)
