"""Commands that take a table of responses: one scale, short and adaptive benchmarks, a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import real_path
from ogive.cli.output import (
    ALL,
    end,
    finish,
    for_people,
    picked,
    say_if_long,
    with_own_words,
    write_files,
    write_page,
    write_table,
)
from ogive.cli.signature import Call, command
from ogive.cli.sources import (
    BANK,
    BANK_FILE,
    BY,
    BY_PREFIX,
    CONFIDENCE,
    FIGURE,
    ITEMS,
    JOBS,
    METHOD,
    MODEL,
    PRIORS,
    READING,
    RESPONSES,
    SCORES,
    SEED,
    SELECTOR,
    TABLE,
    argument,
    bank_or_responses,
    check_facts,
    check_targets,
    input_file,
    option,
    out_folder,
    output_file,
    output_folder,
    read_bank,
    read_grouped,
    read_order,
    report_folder,
    with_facts,
)
from ogive.errors import InputError
from ogive.irt.models import MODELS

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.results.base import Result

JSON_FILE = (".json",)
ABILITIES = output_file("Table of abilities to write, .csv or .parquet.", TABLE)


@command(
    "ogive.irt.calibrating:calibrate",
    responses=SCORES,
    model=MODEL,
    preset="Reproduce published work: airt (its own model and engine).",
    out=output_file("Item bank to write, .json or .parquet.", BANK),
    abilities=ABILITIES,
    method=METHOD,
    engine=option("Estimation engine.", str, "em", "ogive.irt.calibrating:ENGINES"),
    population=option("normal; histogram: any distribution; auto: where normal fails.", str),
    se=option("Standard errors: model, or robust where the model may be wrong.", str),
    priors=PRIORS,
    tolerance=option("Stop when the log-likelihood can gain less than this.", float),
    max_iterations=option("Maximum number of iterations.", int, min=1),
    jobs=JOBS,
    device=option("cpu or cuda: run on torch. Default: NumPy.", str),
    **READING,
)
def calibrate(call: Call) -> None:
    """Put the items and respondents of a table on one scale.

    Without --out, the items are printed as CSV.
    """
    console, out, abilities = call.console, call.out, call.abilities
    given = call.settings("population", "se", "tolerance", "max_iterations", "device")
    given["n_jobs"] = None if call.jobs == -1 else call.jobs
    settings = {name: value for name, value in given.items() if value is not None}
    table = call.read_responses()
    with console.progress(f"Calibrating {call.responses.name}") as report:
        bank = call.function(table, **call.arguments, **settings, progress=report)
    write_files(
        {
            "Items": (out, lambda: bank),
            "Abilities": (abilities, lambda: bank.abilities(call.method)),
        }
    )
    if out is None:
        if for_people():
            console.say(bank.meaning)
        console.remark(repr(bank))
        console.table(bank.items)
    else:
        console.say(repr(table))
        console.say(repr(bank))
        console.say(f"Items: {out}")
        if abilities is not None:
            console.say(f"Abilities: {abilities}")
    console.document(
        {
            "model": bank.model.name,
            "engine": bank.engine,
            "respondents": table.n_respondents,
            **picked(bank, "log_likelihood", "iterations", "converged", "notes"),
            "out": out,
            "abilities": abilities,
            "items": bank.items,
        }
    )
    end(bank.converged)


@command(bank=BANK_FILE, responses=SCORES, method=METHOD, out=ABILITIES, **READING)
def score(call: Call) -> None:
    """Place new respondents on the scale of an item bank.

    Items are matched by name; those that were not asked are left out. Without --out, the abilities
    are printed as CSV.
    """
    bank = read_bank(call.bank)
    table = call.read_responses()
    with call.console.progress(f"Scoring {call.responses.name}"):
        abilities = bank.score(table, call.method)
    _give_table(call, abilities, table, "Abilities")
    call.console.document({"method": call.method, "out": call.out, "abilities": abilities})


def _give_table(call: Call, frame: pd.DataFrame, table: Responses, title: str) -> None:
    """Print a table of respondents, or write it and say where."""
    if call.out is None:
        call.console.table(frame)
    else:
        write_table(frame, call.out)
        call.console.say(repr(table))
        call.console.say(f"{title}: {call.out}")


@command(
    responses=SCORES,
    model=MODEL,
    out=output_folder("Folder for a table and a figure of each diagnosis."),
    priors=PRIORS,
    **READING,
)
def diagnose(call: Call) -> None:
    """Diagnose the calibration of a table.

    One sentence per diagnosis: dimensionality, reliability, fit of the model, of items and of
    respondents, local dependence, labels that look wrong. In a pipe or with --csv, one row each.
    """
    folder = None if call.out is None else out_folder(call.out)
    import ogive as og
    from ogive.checks.check import diagnose as run_diagnoses
    from ogive.irt.item_curves import said_of_items

    console, model = call.console, call.model
    table = call.read_responses()
    say_if_long(console, "diagnose", table)
    with console.progress(f"Diagnosing {call.responses.name}") as report:
        report(0, 2, "calibrating")
        bank = og.calibrate(table, model, priors=None if call.priors == "none" else "default")
        report(1, 2, "checking the fit")
        diagnoses = run_diagnoses(bank)
    frame, say = diagnoses.to_frame(), console.speaker(folder)
    for text in (repr(table), repr(bank), said_of_items(bank)):
        say(text)
    for row in frame.itertuples():
        say(f"{row.Index}: {'' if row.available else 'none. '}{row.meaning}")
    if console.gives_csv(folder):
        console.table(frame)
    if folder is not None:
        for name, diagnosis in diagnoses.found.items():
            diagnosis.save(folder / f"{name}.csv")
            if reason := _draw(diagnosis, folder / f"{name}.png"):
                say(f"There is no figure of {name}: {reason}")
        with console.progress("Writing the page"):
            results = [with_own_words(bank), with_own_words(diagnoses)]
            page = write_page(folder, results, "Diagnoses", {"model": model})
        say(f"Tables and figures: {folder}")
        say(f"Report: {page}")
    console.document(
        {
            "model": bank.model.name,
            **picked(bank, "converged", "notes"),
            "meaning": {name: each.sentences() for name, each in diagnoses.found.items()},
            "missing": diagnoses.missing,
            "out": folder,
            "diagnoses": frame,
        }
    )
    end(bank.converged)


def _draw(diagnosis: Result, path: Path) -> str:
    """Write the figure of a diagnosis, or return why there is none."""
    try:
        display = diagnosis.plot()
    except InputError as reason:
        return str(reason)
    if not display.instead:
        display.save(path)
    return display.instead


@command(
    model=option("Measurement model of the items.", str, "2pl", tuple(MODELS)),
    respondents=option("Number of respondents.", int, 500, min=1),
    items=option("Number of items.", int, 40, min=1),
    missing=option("Share of missing responses, from 0 to below 1.", float, 0.0),
    random_state=option("Seed of random numbers.", int, 0, min=0),
    out=output_file("Responses to write, .csv or .parquet.", RESPONSES),
    truth=output_file("True items to write, .csv or .parquet.", TABLE),
)
def simulate(call: Call) -> None:
    """Simulate responses from a model with known parameters.

    Without --out, the responses are printed as CSV.
    """
    from ogive.data.column_roles import CORNER
    from ogive.irt.response_codes import NOMINAL
    from ogive.irt.simulation import simulate as draw

    settings = call.settings("missing", "random_state")
    drawn = draw(call.model, call.respondents, call.items, **settings)
    write_files(
        {
            "Items": (call.truth, lambda: drawn.truth.items),
            "Responses": (call.out, lambda: drawn.responses),
        }
    )
    codes = drawn.responses.to_frame()
    if drawn.responses.kind == NOMINAL:  # a kind that no reader would infer
        codes = codes.rename_axis(f"{CORNER} ({NOMINAL})")
    if drawn.responses.kind != "continuous":  # whole numbers, so that 1 is not printed as 1.0
        codes = codes.astype("Int16")
    if call.out is not None:
        call.console.say(repr(drawn.responses))
        call.console.say(f"Responses: {call.out}")
    else:
        call.console.table(codes)
    call.console.document(
        {
            **call.settings("model", "random_state", "out", "truth"),
            "items": drawn.truth.items,
            "abilities": drawn.truth.abilities,
            "responses": None if call.out else codes,
        }
    )


SHOWN = ["method", "predictor", "role", "mae", "mae_se", "bias", "bias_se"]
SHOWN += ["kendall", "coverage", "coverage_se"]


@command(
    "ogive.evaluation.shortening:shorten",
    responses=SCORES,
    size=option("Items to keep.", int, None, (), "--size", "-n", min=1),
    method=option("How items are chosen.", names="ogive.evaluation.shortening:METHODS"),
    model=MODEL,
    by=BY,
    by_prefix=BY_PREFIX,
    items=ITEMS,
    cv=option("Folds of respondents, each held out in turn.", min=2),
    confidence=CONFIDENCE,
    random_state=SEED,
    score=input_file("Saved short benchmark: predict scores instead of choosing."),
    out=output_file(
        "Short benchmark to write, .json; with --score, .csv or .parquet.", (*JSON_FILE, *TABLE)
    ),
    **READING,
)
def shorten(call: Call) -> None:
    """Choose a few items that predict the score on all of them, and measure the error.

    Each group of items gets its share. Without --out, the chosen items are printed: in a terminal
    the first of them below the errors, in a pipe or with --csv all of them as CSV. With
    --score short.json, respondents who were asked the short form get their predicted score on all
    items, with an interval.
    """
    console, source, out = call.console, call.responses, call.out
    check_targets({"--out": (out, JSON_FILE if call.score is None else TABLE)}, [])
    if call.score is not None:
        _predict_scores(call)
        return
    if call.size is None:
        raise InputError("Give --size, the number of items to keep; or --score short.json.")
    table, by = read_grouped(
        source, call.layout, call.kind, call.items, call.by, call.by_prefix, console
    )
    with console.progress(f"Shortening {source.name}") as report:
        result = call.function(table, **call.arguments | {"by": by}, progress=report)
    frame = result.to_frame()
    console.finding(
        result,
        frame,
        out,
        shown=result.error[SHOWN],
        written=write_files({"Short benchmark": (out, lambda: result)}),
        **picked(result, "method", "predictor", "confidence", "error"),
        items=frame,
    )
    if out is None and for_people():
        console.say("Chosen items:")
        console.show(frame, rest=ALL)


def _predict_scores(call: Call) -> None:
    """Predict the scores of respondents who answered a short form."""
    from ogive._load import load_only

    short = load_only("short-benchmark", call.score)
    table = call.read_responses()
    scores = short.predict(table)
    _give_table(call, scores, table, "Predicted scores")
    call.console.document({"confidence": short.confidence, "out": call.out, "scores": scores})


@command(
    "ogive.evaluation.adaptive_replay:replay_adaptively",
    source=argument(
        "Item bank that `ogive calibrate` wrote, or responses to calibrate.",
        Path,
        None,
        show_default="the responses of --replay",
    ),
    replay=input_file("Responses of other models.", show_default="folds of the responses given"),
    budget=option("Items to ask; repeatable.", list[int], min=1, show_default="5, 10, 25, 50"),
    method=option(
        "auto: short forms are compared, too.", names="ogive.evaluation.adaptive_replay:METHODS"
    ),
    selector=SELECTOR,
    model=MODEL,
    cv=option("Folds into which the models are divided.", min=2),
    batch_size=option("Items asked at once.", min=1),
    confidence=CONFIDENCE,
    out=output_folder("Folder for tables, figures and page."),
    lm_eval=output_file(
        "Items to ask first of an unknown model, for `lm_eval --samples`: .json.", JSON_FILE
    ),
    inspect=output_file("The same as sample ids of Inspect by task: .json.", JSON_FILE),
    items=ITEMS,
    **READING,
    random_state=SEED,
)
def adapt(call: Call) -> None:
    """Replay recorded responses adaptively: how well a few items predict the score on all items.

    Given responses alone, models are divided into folds, each with a bank from the others.
    --lm-eval and --inspect write the items to ask first of an unknown model, as many as the largest
    budget; tasks and ids are facts of the responses. Without --out, the errors are printed as CSV.
    """
    console, source, replay = call.console, call.source or call.replay, call.replay
    if source is None:
        raise InputError("There is nothing to replay. Name responses: ogive adapt RESPONSES.")
    folder = report_folder(call.out, source)
    import ogive as og

    first, recorded = bank_or_responses(source, call.layout, call.kind), None
    if replay is not None and real_path(replay) != real_path(source):
        recorded = og.read_responses(replay, layout=call.layout, kind=call.kind)
    facts: Any = first if recorded is None else recorded
    if isinstance(facts, og.Responses):
        facts = with_facts(facts, call.items)
    writers = {
        flag: (write, path)
        for flag, write, path in (
            ("--lm-eval", og.lm_eval_samples, call.lm_eval),
            ("--inspect", og.inspect_sample_ids, call.inspect),
        )
        if path is not None
    }
    for flag in writers:  # fail before the work
        if isinstance(facts, og.Calibration):
            raise InputError(
                f"{flag}: a bank does not hold the tasks of items; give responses with --replay."
            )
        check_facts(facts, ["task", "id"], flag)
    arguments = call.arguments if call.budget is None else call.arguments | {"sizes": call.budget}
    with console.progress(f"Replaying {(replay or source).name}") as report:
        result = call.function(first, recorded, **arguments, progress=report)
    finish(
        console,
        result,
        folder,
        "Adaptive evaluation",
        call.settings("selector", "model", "cv", "random_state"),
        respondents=result.n_respondents,
        items=result.n_items,
        **call.settings("lm_eval", "inspect"),
    )
    if writers:
        size = int(result.errors["n_items"].max())
        settings = call.settings("selector", "model", "random_state")
        asked_first = og.first_items(first, size, **settings)
        speak = console.remark if folder is None else console.say
        for write, path in writers.values():
            write(asked_first, facts, path)
            speak(f"Items to ask first: {path}")


@command(
    "ogive.irt.linking:link",
    old=BANK_FILE,
    new=argument("Item bank of the new version (.json, .parquet), or its responses."),
    anchors=input_file(
        "File of the items that link the scales, one per line; default: all common items."
    ),
    method=option("Linking method.", names="ogive.irt.linking_constants:METHODS"),
    drift=option("What to do with anchors that drifted.", str, "remove", ("remove", "keep")),
    alpha="False discovery rate among anchors reported as drifted.",
    out=output_file("Bank of all items on the old scale, .json or .parquet.", BANK),
    table=output_file("Table of anchors to write, .csv or .parquet.", TABLE),
    figure=output_file("Figure of the anchors, .png, .svg or .pdf.", FIGURE),
    **READING,
)
def link(call: Call) -> None:
    """Put a new version of a benchmark, or new items, on the scale of an old item bank.

    Items are matched by name. Without --out, the anchors are printed as CSV.
    """
    names = None if call.anchors is None else list(read_order(call.anchors))
    old, new = read_bank(call.old), bank_or_responses(call.new, call.layout, call.kind)
    with call.console.progress(f"Linking {call.new.name}"):
        result = call.function(old, new, anchors=names, **call.arguments)
    files = {
        "Items": (call.out, lambda: result.bank),
        "Anchors": (call.table, lambda: result.anchors),
        "Figure": (call.figure, result.plot),
    }
    call.console.finding(
        result,
        result.anchors,
        call.out,
        written=write_files(files),
        method=call.method,
        **picked(result, "slope", "slope_se", "intercept", "intercept_se", "drifted"),
        converged=result.bank.converged,
        **call.settings("table", "figure"),
        anchors=result.anchors,
    )
    end(result.bank.converged)
