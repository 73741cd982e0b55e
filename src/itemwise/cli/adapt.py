"""`itemwise adapt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itemwise.adaptive import SELECTORS
from itemwise.cli.console import Console
from itemwise.cli.files import (
    bank_or_responses,
    check_targets,
    finish,
    report_folder,
)
from itemwise.cli.grouping import check_facts, with_facts
from itemwise.cli.options import Items, Json, Kind, Layout, ModelOrAuto, Quiet, Seed, choice
from itemwise.errors import InputError
from itemwise.models import AUTO
from itemwise.studies.evaluation.adaptive_replay import SIZES

if TYPE_CHECKING:
    from itemwise.calibration import Calibration
    from itemwise.responses import Responses

LM_EVAL, INSPECT = "--lm-eval", "--inspect"

Source = Annotated[
    Path | None,
    typer.Argument(
        help="Item bank that `itemwise calibrate` wrote, or responses to make one of.",
        show_default="the responses of --replay",
    ),
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
    source: Source = None,
    replay: Replay = None,
    budget: Budget = None,
    selector: Annotated[
        str, choice("--selector", names=SELECTORS, text="How items are chosen.")
    ] = "score",
    model: ModelOrAuto = AUTO,
    cv: Annotated[int, typer.Option(min=2, help="Parts of the models.")] = 5,
    batch_size: Annotated[int, typer.Option(min=1, help="Items asked at once.")] = 1,
    confidence: Annotated[float, typer.Option(help="Of all intervals, between 0 and 1.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for tables, figures and page.")
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
    items: Items = None,
    layout: Layout = "auto",
    kind: Kind = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Simulate adaptive evaluation on recorded responses: how well a few items foretell all.

    Given responses alone, models are divided into folds, each with a bank from the others.
    --lm-eval and --inspect write the items of the largest budget that suit a model of which
    nothing is known; tasks and ids are facts of the responses. Without --out, the errors are
    printed as CSV.
    """
    source = source or replay
    if source is None:
        raise InputError("There is nothing to replay. Name responses: itemwise adapt RESPONSES.")
    wanted = {LM_EVAL: lm_eval, INSPECT: inspect}
    chosen = {option: path for option, path in wanted.items() if path is not None}
    targets = {option: (path, (".json",)) for option, path in chosen.items()}
    check_targets(targets, sources=[path for path in (source, replay, items) if path])
    folder = None if out is None else report_folder(out, source)
    import itemwise as iw

    console = Console(quiet, json)
    given, recorded = bank_or_responses(source, layout, kind), None
    if replay is not None and replay.resolve() != source.resolve():
        recorded = iw.read_responses(replay, layout=layout, kind=kind)
    facts = given if recorded is None else recorded
    if isinstance(facts, iw.Responses):
        facts = with_facts(facts, items)
    for option in chosen:  # refused before the work
        _with_ids(facts, option)
    with console.progress(f"Replaying {(replay or source).name}") as report:
        found = iw.replay_adaptively(
            given,
            recorded,
            sizes=budget or SIZES,
            selector=selector,
            model=model,
            cv=cv,
            batch_size=batch_size,
            confidence=confidence,
            random_state=seed,
            progress=report,
        )
    finish(
        console,
        found,
        folder,
        "Adaptive evaluation",
        {"selector": selector, "model": model, "cv": cv, "random_state": seed},
        respondents=found.n_respondents,
        items=found.n_items,
        lm_eval=lm_eval,
        inspect=inspect,
    )
    if chosen:
        size = int(found.errors["n_items"].max())
        first = iw.first_items(given, size, selector=selector, model=model, random_state=seed)
        speak = console.remark if folder is None else console.say
        for option, path in chosen.items():
            write = iw.lm_eval_samples if option == LM_EVAL else iw.inspect_sample_ids
            write(first, _with_ids(facts, option), path)
            speak(f"Items to ask first: {path}")


def _with_ids(facts: Calibration | Responses, option: str) -> Responses:
    """Responses that know task and id of their items; all else is refused."""
    from itemwise.calibration import Calibration

    if isinstance(facts, Calibration):
        raise InputError(f"{option}: a bank knows no tasks of items; give responses by --replay.")
    check_facts(facts, ["task", "id"], option)
    return facts
