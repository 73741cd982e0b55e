"""The command `ogive report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.output import Console, say_if_long, typed, with_own_words
from ogive.cli.signature import AddedDimensions, AddedGroups, added_scales
from ogive.cli.sources import (
    NOT_CONVERGED,
    Items,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Quiet,
    check_targets,
    with_facts,
)
from ogive.errors import InputError
from ogive.irt.models import AUTO

if TYPE_CHECKING:
    import pandas as pd


PAGE = (".html", ".htm")

Sources = Annotated[
    list[Path],
    typer.Argument(
        help="Responses (.csv, .tsv, .parquet, .jsonl), an item bank, or a folder that decode, "
        "confusion, portfolio, capability or demo wrote."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Page to write, .html.")]
Title = Annotated[str | None, typer.Option(help="Page title.", show_default="the file names")]
Instances = Annotated[
    Path | None,
    typer.Option(
        help="Instances behind the items, shown next to them: a table (.csv, .tsv, .parquet) "
        "whose first column names items."
    ),
]


def report(
    sources: Sources,
    out: Out = Path("report.html"),
    title: Title = None,
    instances: Instances = None,
    model: ModelOrAuto = AUTO,
    groups: AddedGroups = None,
    dimensions: AddedDimensions = None,
    items: Items = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make one page of results that opens anywhere: headline, tables, figures, item explorer.

    Responses are calibrated and diagnosed first.
    """
    beside = [path for path in (instances, items) if path is not None]
    check_targets({"--out": (out, PAGE)}, sources=[*sources, *beside])
    from ogive.data.response_files import read_responses
    from ogive.reporting.page import write_report
    from ogive.reporting.sources import analysed, read_source

    console = Console(quiet, json)
    results: list[Any] = []
    added: list[Any] = []

    def analyse(path: Path) -> list[Any]:
        table = read_responses(path, layout=layout, kind=kind, progress=False)
        table = with_facts(table, items)
        say_if_long(console, "report", table)
        scales = added_scales(table, groups, dimensions) if groups or dimensions else []
        added.extend(scales)
        ranked, *others = analysed(table, model)
        return [ranked, *scales, *others]

    with console.progress("Analysing") as told:
        behind = None if instances is None else _instances(instances)
        for done, source in enumerate(sources):
            told(done, len(sources), f"reading {source.name}")
            results += read_source(source, analyse)
        if not added and (groups is not None or dimensions is not None):
            raise InputError("--groups and --dimensions are for responses, and none were given.")
    asked = {"groups": groups, "dimensions": dimensions}
    with console.progress("Writing the page"):
        names = ", ".join(source.name for source in sources)
        write_report(
            out,
            with_own_words(results),
            title=title or names,
            instances=behind,
            command=typed(),
            settings={
                "model": model,
                "sources": names,
                **{word: value for word, value in asked.items() if value is not None},
            },
        )
    verdict = [*_verdict(results), *(each.meaning for each in added)]
    for text in (*verdict, f"Report: {out}"):
        console.say(text)
    console.document({"meaning": verdict, "out": out, "bytes": out.stat().st_size})
    if not all(getattr(each, "converged", True) for each in results):
        raise typer.Exit(NOT_CONVERGED)


def _verdict(results: list[Any]) -> list[str]:
    """Return the first thing that the page finds; results may come in groups, by name."""
    for each in results:
        group = each if isinstance(each, dict) else getattr(each, "found", None)
        for one in group.values() if isinstance(group, dict) else [each]:
            if said := getattr(one, "meaning", ""):
                return [str(said)]
    return []


def _instances(path: Path) -> pd.DataFrame:
    """Return rows by the name of their item."""
    from ogive.data.table_files import read_table

    frame = read_table(str(path))
    return frame.set_index(frame.columns[0])
