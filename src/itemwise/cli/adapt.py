"""`itemwise adapt`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.adaptive import SELECTORS
from itemwise.cli.console import Console
from itemwise.cli.files import FIGURE, TABLE, bank_or_responses, check_targets, write_table
from itemwise.cli.options import Json, Kind, Layout, ModelOrAuto, Quiet, Seed, choice
from itemwise.errors import InputError
from itemwise.estimation.choosing import AUTO
from itemwise.studies.evaluation.replay import SIZES

SHOWN = ["method", "n_items", "mae", "mae_se", "spearman", "coverage", "coverage_widened"]

Source = Annotated[
    Path,
    typer.Argument(help="Item bank that `itemwise calibrate` wrote, or responses to make one of."),
]
Replay = Annotated[
    Path | None,
    typer.Option(help="Responses of other models.", show_default="folds of the responses given"),
]
Budget = Annotated[
    list[int] | None,
    typer.Option(min=1, help="Items to ask; repeatable.", show_default=", ".join(map(str, SIZES))),
]


def adapt(
    source: Source,
    replay: Replay = None,
    budget: Budget = None,
    selector: Annotated[
        str, choice("--selector", names=SELECTORS, text="How items are chosen.")
    ] = "score",
    model: ModelOrAuto = AUTO,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the models.")] = 5,
    batch_size: Annotated[int, typer.Option(min=1, help="Items asked at once.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table of figures to write, .csv or .parquet."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Error by number of items: .png, .svg or .pdf.")
    ] = None,
    lm_eval: Annotated[
        Path | None,
        typer.Option(
            help="Items to ask first of an unknown model, for `lm_eval --samples`: .json."
        ),
    ] = None,
    inspect: Annotated[
        Path | None, typer.Option(help="The same as sample ids of Inspect by task: .json.")
    ] = None,
    layout: Layout = "auto",
    kind: Kind = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Simulate adaptive evaluation on recorded responses: how well a few items foretell all.

    Given responses alone, models are divided into folds, each with a bank from the others.
    --lm-eval and --inspect write the items of the largest budget that suit a model of which
    nothing is known; tasks and ids are facts of the responses.
    """
    targets = {"--out": (out, TABLE), "--figure": (figure, FIGURE)}
    selections = {"--lm-eval": (lm_eval, (".json",)), "--inspect": (inspect, (".json",))}
    check_targets({**targets, **selections}, sources=[source, *([replay] if replay else [])])
    import itemwise as iw

    console = Console(quiet, json)
    given, recorded = bank_or_responses(source, layout, kind), None
    if replay is not None and replay.resolve() != source.resolve():
        recorded = iw.read_responses(replay, layout=layout, kind=kind)
    with console.progress(f"Replaying {(replay or source).name}"):
        found = iw.replay_adaptively(
            given,
            recorded,
            sizes=budget or SIZES,
            selector=selector,
            model=model,
            folds=folds,
            batch_size=batch_size,
            random_state=seed,
        )
    if out is not None:
        write_table(found.figures.set_index("method"), out)
    if figure is not None:
        found.plot().save(figure)
    if lm_eval is not None or inspect is not None:
        facts = given if recorded is None else recorded
        if not isinstance(facts, iw.Responses):
            raise InputError("A bank knows no tasks of its items; give responses with --replay.")
        size = int(found.figures["n_items"].max())
        items = iw.first_items(given, size, selector=selector, model=model, random_state=seed)
        if lm_eval is not None:
            iw.lm_eval_samples(items, facts, lm_eval)
        if inspect is not None:
            iw.inspect_sample_ids(items, facts, inspect)
    table = found.figures.set_index("method")
    console.finding(
        found,
        table,
        out,
        shown=found.figures[SHOWN].set_index("method").round(3),
        written={"Table": out, "Figure": figure, "lm-eval": lm_eval, "Inspect": inspect},
        respondents=found.n_respondents,
        items=found.n_items,
        figure=figure,
        lm_eval=lm_eval,
        inspect=inspect,
        figures=table,
    )
