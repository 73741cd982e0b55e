"""The command `ogive evaluate`: ask a model adaptively, in the harness that runs the tasks."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.adaptive import SELECTORS
from ogive.cli.command_arguments import (
    TABLE,
    Items,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Quiet,
    RandomState,
    Scores,
    check_facts,
    check_targets,
    choice,
    read_bank,
    with_facts,
    write_table,
)
from ogive.cli.console import Console
from ogive.errors import InputError
from ogive.models import AUTO
from ogive.studies.evaluation.adaptive_replay import METHODS, bank_from
from ogive.words import shown

if TYPE_CHECKING:
    from ogive.responses import Responses

JOURNAL = "journal.jsonl"
INSPECT, LM_EVAL = "inspect", "lm-eval"

Harness = Annotated[
    str, choice("--harness", names=(INSPECT, LM_EVAL), text="What runs and scores the items.")
]
HarnessModel = Annotated[
    str,
    typer.Option(
        help="Model to ask, as the harness names it: openai/gpt-4o in Inspect, hf in lm-eval."
    ),
]
Folder = Annotated[
    Path,
    typer.Option(help="Folder for logs and journal; after a crash, the same command resumes."),
]
Task = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]TASK",
        help="Task to run, as the harness takes it: a name or a file; repeatable, with the name "
        "that it has in the responses.",
        show_default="names in the responses",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Further argument of the harness, such as temperature=0 or "
        "model_args=pretrained=gpt2; repeatable.",
    ),
]
CalibratedBank = Annotated[
    Path | None,
    typer.Option(
        "--bank",
        help="Item bank that `ogive calibrate` wrote.",
        show_default="calibrated on the responses",
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        help="Score to read; if repeated, the first that a log contains.", show_default="usual"
    ),
]


def evaluate(
    responses: Scores,
    harness: Harness,
    harness_model: HarnessModel,
    folder: Folder,
    task: Task = None,
    setting: Setting = None,
    bank: CalibratedBank = None,
    model: ModelOrAuto = AUTO,
    budget: Annotated[int, typer.Option(min=1, help="Items to ask.")] = 25,
    max_se: Annotated[
        float | None, typer.Option(help="Stop at this standard error of the ability.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Items asked at once.")] = 5,
    method: Annotated[
        str,
        choice(
            "--method",
            names=METHODS,
            text="auto: a fixed short form, where a replay of the responses finds it better.",
        ),
    ] = AUTO,
    selector: Annotated[
        str, choice("--selector", names=SELECTORS, text="How items are chosen.")
    ] = "score",
    metric: Metric = None,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the intervals, between 0 and 1.")
    ] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table of responses, .csv or .parquet.")
    ] = None,
    items: Items = None,
    layout: Layout = "auto",
    kind: Kind = None,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Ask a model the most informative items, in Inspect or lm-eval, and predict its accuracy.

    Responses of earlier models, with task and id of their items, say what each item is, and are
    calibrated unless --bank is given. They are also replayed, which tells whether a short form is
    better and how wide intervals must be. Without --out, the responses are printed as CSV.
    """
    check_targets({"--out": (out, TABLE)}, sources=[responses])
    import ogive as og

    console = Console(quiet, json)
    table = with_facts(og.read_responses(responses, layout=layout, kind=kind), items)
    check_facts(table, ["task", "id"], "--harness")
    make: Callable[..., Any] = og.inspect_ask if harness == INSPECT else og.lm_eval_ask
    ask = make(
        harness_model,
        table,
        folder,
        tasks=_tasks(task or [], table),
        metric=metric,
        settings=_settings(setting or []),
    )
    known = bank_from(table, model) if bank is None else read_bank(bank)
    with console.progress(f"Asking {harness_model}") as report, redirect_stdout(sys.stderr):
        found = og.evaluate_adaptively(
            known,
            ask,
            budget=budget,
            max_se=max_se,
            method=method,
            selector=selector,
            batch_size=batch_size,
            journal=folder / JOURNAL,
            confidence=confidence,
            respondent=harness_model,
            random_state=random_state,
            progress=report,
        )
    if out is not None:
        write_table(found.to_frame(), out)
    console.finding(
        found,
        found.to_frame(),
        out,
        written={"Responses": out, "Logs": folder},
        **{name: getattr(found, name) for name in REPORTED},
        folder=folder,
        responses=found.to_frame(),
    )


REPORTED = (
    *("accuracy", "accuracy_se", "accuracy_low", "accuracy_high"),
    *("ability", "ability_se", "confidence", "reason", "skipped"),
)


def _tasks(given: Sequence[str], table: Responses) -> Any:
    """Tasks by their names in the responses, or one task; None if none is given."""
    names = set(table.item_groups("task"))
    pairs = [one.partition("=") for one in given]
    if given and all(mark and name in names for name, mark, _ in pairs):
        return {name: task for name, _, task in pairs}
    if len(given) > 1:
        odd = next(
            one
            for one, (name, mark, _) in zip(given, pairs, strict=True)
            if not mark or name not in names
        )
        raise InputError(
            f"--task is {shown(odd)}; with several, give each as NAME=TASK, where NAME is a task "
            f"of the responses: {', '.join(sorted(names)[:5])}."
        )
    return given[0] if given else None


def _settings(given: Sequence[str]) -> Mapping[str, Any]:
    """Arguments of the harness: JSON where it is JSON, else text."""
    found: dict[str, Any] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not (mark and name.isidentifier()):
            raise InputError(f"--setting is {shown(one)}, but it should be NAME=VALUE.")
        try:
            found[name] = json_text.loads(value)
        except ValueError:
            found[name] = value
    return found
