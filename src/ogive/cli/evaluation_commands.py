"""Commands about shorter evaluations: shorten, adapt, link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ogive._files import real_path
from ogive.cli.output import ALL, Console, for_people
from ogive.cli.sources import (
    BANK,
    FIGURE,
    NOT_CONVERGED,
    TABLE,
    Bank,
    By,
    ByPrefix,
    Items,
    Json,
    Kind,
    Layout,
    ModelOrAuto,
    Quiet,
    RandomState,
    Scores,
    bank_or_responses,
    check_facts,
    check_targets,
    choice,
    finish,
    read_bank,
    read_grouped,
    report_folder,
    with_facts,
    write_table,
)
from ogive.errors import InputError
from ogive.evaluation.adaptive_replay import METHODS as REPLAYS
from ogive.evaluation.adaptive_replay import SIZES
from ogive.evaluation.shortening import METHODS
from ogive.irt.adaptive.selectors import SELECTORS
from ogive.irt.linking_constants import METHODS as LINKINGS
from ogive.irt.models import AUTO

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


SHORT = (".json",)
SHOWN = ["method", "predictor", "role", "mae", "mae_se", "bias", "bias_se"]
SHOWN += ["kendall", "coverage", "coverage_se"]


def shorten(
    responses: Scores,
    size: Annotated[int | None, typer.Option("--size", "-n", min=1, help="Items to keep.")] = None,
    method: Annotated[
        str, choice("--method", names=METHODS, text="How items are chosen.")
    ] = "information",
    model: ModelOrAuto = AUTO,
    by: By = None,
    by_prefix: ByPrefix = None,
    items: Items = None,
    cv: Annotated[
        int, typer.Option(min=2, help="Folds of respondents, each held out in turn.")
    ] = 5,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the intervals, between 0 and 1.")
    ] = 0.95,
    random_state: RandomState = 0,
    score: Annotated[
        Path | None,
        typer.Option("--score", help="Saved short benchmark: predict scores instead of choosing."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Short benchmark to write, .json; with --score, .csv or .parquet."
        ),
    ] = None,
    layout: Layout = "auto",
    kind: Kind = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Choose a few items that predict the score on all of them, and measure the error.

    Each group of items gets its share. Without --out, the chosen items are printed: in a terminal
    the first of them below the errors, in a pipe or with --csv all of them as CSV. With
    --score short.json, respondents who were asked the short form get their predicted score on all
    items, with an interval.
    """
    console = Console(quiet, json)
    if score is not None:
        _predict(responses, score, out, layout, kind, console)
        return
    if size is None:
        raise InputError("Give --size, the number of items to keep; or --score short.json.")
    check_targets({"--out": (out, SHORT)}, sources=[responses, *([items] if items else [])])
    import ogive as og

    table, by = read_grouped(responses, layout, kind, items, by, by_prefix, console)
    with console.progress(f"Shortening {responses.name}") as report:
        found = og.shorten(
            table,
            size,
            method=method,
            model=model,
            by=by,
            cv=cv,
            confidence=confidence,
            random_state=random_state,
            progress=report,
        )
    if out is not None:
        found.save(out)
    console.finding(
        found,
        found.to_frame(),
        out,
        shown=found.error[SHOWN],
        written={"Short benchmark": out},
        method=found.method,
        predictor=found.predictor,
        confidence=found.confidence,
        error=found.error,
        items=found.to_frame(),
    )
    if out is None and for_people():
        console.say("Chosen items:")
        console.show(found.to_frame(), rest=ALL)


def _predict(
    responses: Path,
    short: Path,
    out: Path | None,
    layout: str,
    kind: str | None,
    console: Console,
) -> None:
    """Predict the scores of respondents who answered a short form."""
    check_targets({"--out": (out, TABLE)}, sources=[responses, short])
    import ogive as og
    from ogive._load import load_only

    saved = load_only("short-benchmark", short)
    table = og.read_responses(responses, layout=layout, kind=kind)
    found = saved.predict(table)
    if out is None:
        console.table(found)
    else:
        write_table(found, out)
        console.say(repr(table))
        console.say(f"Predicted scores: {out}")
    console.document({"confidence": saved.confidence, "out": out, "scores": found})


LM_EVAL, INSPECT = "--lm-eval", "--inspect"

Source = Annotated[
    Path | None,
    typer.Argument(
        help="Item bank that `ogive calibrate` wrote, or responses to calibrate.",
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
    method: Annotated[
        str, choice("--method", names=REPLAYS, text="auto: short forms are compared, too.")
    ] = AUTO,
    selector: Annotated[
        str, choice("--selector", names=SELECTORS, text="How items are chosen.")
    ] = "score",
    model: ModelOrAuto = AUTO,
    cv: Annotated[int, typer.Option(min=2, help="Folds into which the models are divided.")] = 5,
    batch_size: Annotated[int, typer.Option(min=1, help="Items asked at once.")] = 1,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the intervals, between 0 and 1.")
    ] = 0.95,
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
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Replay recorded responses adaptively: how well a few items predict the score on all items.

    Given responses alone, models are divided into folds, each with a bank from the others.
    --lm-eval and --inspect write the items to ask first of an unknown model, as many as the largest
    budget; tasks and ids are facts of the responses. Without --out, the errors are printed as CSV.
    """
    source = source or replay
    if source is None:
        raise InputError("There is nothing to replay. Name responses: ogive adapt RESPONSES.")
    wanted = {LM_EVAL: lm_eval, INSPECT: inspect}
    chosen = {option: path for option, path in wanted.items() if path is not None}
    targets = {option: (path, (".json",)) for option, path in chosen.items()}
    check_targets(targets, sources=[path for path in (source, replay, items) if path])
    folder = None if out is None else report_folder(out, source)
    import ogive as og

    console = Console(quiet, json)
    given, recorded = bank_or_responses(source, layout, kind), None
    if replay is not None and real_path(replay) != real_path(source):
        recorded = og.read_responses(replay, layout=layout, kind=kind)
    facts = given if recorded is None else recorded
    if isinstance(facts, og.Responses):
        facts = with_facts(facts, items)
    for option in chosen:  # fail before the work
        _with_ids(facts, option)
    with console.progress(f"Replaying {(replay or source).name}") as report:
        found = og.replay_adaptively(
            given,
            recorded,
            sizes=budget or SIZES,
            method=method,
            selector=selector,
            model=model,
            cv=cv,
            batch_size=batch_size,
            confidence=confidence,
            random_state=random_state,
            progress=report,
        )
    finish(
        console,
        found,
        folder,
        "Adaptive evaluation",
        {"selector": selector, "model": model, "cv": cv, "random_state": random_state},
        respondents=found.n_respondents,
        items=found.n_items,
        lm_eval=lm_eval,
        inspect=inspect,
    )
    if chosen:
        size = int(found.errors["n_items"].max())
        first = og.first_items(
            given, size, selector=selector, model=model, random_state=random_state
        )
        speak = console.remark if folder is None else console.say
        for option, path in chosen.items():
            write = og.lm_eval_samples if option == LM_EVAL else og.inspect_sample_ids
            write(first, _with_ids(facts, option), path)
            speak(f"Items to ask first: {path}")


def _with_ids(facts: Calibration | Responses, option: str) -> Responses:
    """Return responses that know the task and id of their items, or raise an error."""
    from ogive.irt.calibration import Calibration

    if isinstance(facts, Calibration):
        raise InputError(
            f"{option}: a bank does not hold the tasks of items; give responses with --replay."
        )
    check_facts(facts, ["task", "id"], option)
    return facts


New = Annotated[
    Path,
    typer.Argument(help="Item bank of the new version (.json, .parquet), or its responses."),
]
Anchors = Annotated[
    Path | None,
    typer.Option(
        help="File of the items that link the scales, one per line; default: all common items."
    ),
]
Method = Annotated[
    str,
    choice("--method", names=LINKINGS, text="Linking method."),
]
Drift = Annotated[
    str,
    choice("--drift", names=("remove", "keep"), text="What to do with anchors that drifted."),
]
Alpha = Annotated[
    float, typer.Option(help="False discovery rate among anchors reported as drifted.")
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

    Items are matched by name. Without --out, the anchors are printed as CSV.
    """
    check_targets(
        {"--out": (out, BANK), "--table": (table, TABLE), "--figure": (figure, FIGURE)},
        sources=[old, new, *([anchors] if anchors else [])],
    )
    import ogive as og
    from ogive.cli.tournament_commands import read_order

    console = Console(quiet, json)
    names = None if anchors is None else list(read_order(anchors))
    first, second = read_bank(old), bank_or_responses(new, layout, kind)
    with console.progress(f"Linking {new.name}"):
        found = og.link(first, second, anchors=names, method=method, drift=drift, alpha=alpha)  # type: ignore[arg-type]
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
