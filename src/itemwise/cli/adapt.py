"""`itemwise adapt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.files import FIGURE, TABLE, check_targets, write_table
from itemwise.cli.options import Json, ModelOrAuto, Quiet, Seed, choice
from itemwise.errors import FileError, InputError
from itemwise.estimation.choosing import AUTO

if TYPE_CHECKING:
    from itemwise.calibration import Calibration
    from itemwise.responses import Responses

SIZES = (5, 10, 25, 50)
SELECTORS = ("score", "information", "randomesque", "nearest", "random")
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
    given, recorded = _read(source, replay)
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
        size = int(found.figures["n_items"].max())
        _select(given, recorded, (selector, model, size, seed), lm_eval, inspect)
    console.show(found.figures[SHOWN].set_index("method").round(3))
    for sentence in found.sentences():
        console.say(sentence)
    written = {"out": out, "figure": figure, "lm_eval": lm_eval, "inspect": inspect}
    for name, path in written.items():
        if path is not None:
            console.say(f"{name}: {path}")
    document = {"respondents": found.n_respondents, "items": found.n_items, **written}
    console.document({**document, "notes": found.notes, "figures": found.figures})


def _read(source: Path, replay: Path | None) -> tuple[Calibration | Responses, Responses | None]:
    """A bank or responses, and responses to replay; of one file, nothing is left to replay."""
    import itemwise as iw

    same = replay is not None and replay.resolve() == source.resolve()
    recorded = None if replay is None or same else iw.read_responses(replay)
    if source.suffix.lower() == ".json":
        return iw.load(source), recorded
    if source.suffix.lower() == ".parquet":
        try:
            return iw.load(source), recorded
        except FileError:  # a table of responses may have the same ending
            pass
    return iw.read_responses(source), recorded


def _select(
    given: Calibration | Responses,
    recorded: Responses | None,
    settings: tuple[str, str, int, int],
    lm_eval: Path | None,
    inspect: Path | None,
) -> None:
    """Write what to ask first of a model of which nothing is known."""
    import itemwise as iw
    from itemwise.studies.evaluation.replay import bank_from

    selector, model, size, seed = settings
    facts = recorded if recorded is not None else given
    if not isinstance(facts, iw.Responses):
        raise InputError("A bank knows no tasks of its items; give responses with --replay.")
    bank = bank_from(given, model) if isinstance(given, iw.Responses) else given
    test = iw.AdaptiveTest(bank, selector=selector, random_state=seed)
    items = test.start().next_items(size)
    if lm_eval is not None:
        iw.lm_eval_samples(items, facts, lm_eval)
    if inspect is not None:
        iw.inspect_sample_ids(items, facts, inspect)
