"""What is not one call: serve, view, read, evaluate, gate decide.

Commands about a gate: `ogive gate` and `ogive serve`.

The command `ogive view`.

The command `ogive read`.

The command `ogive evaluate`: ask a model adaptively, in the harness that runs the tasks.
"""

from __future__ import annotations

import json as json_text
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.capability.classifier import CLASSIFIERS, LOGISTIC, UNSAVED
from ogive.capability.guarantees import BYS
from ogive.capability.trust import TRUSTS
from ogive.cli.application import HelpedCommand, HelpedGroup
from ogive.cli.capability_commands import (
    RULES,
    CodingFile,
    Levels,
    Source,
    Target,
    case_difficulty,
    check_share,
    file_of,
    read_grouped_cases,
)
from ogive.cli.output import Console, own_words
from ogive.cli.sources import (
    FIGURE,
    NOT_CONVERGED,
    RESPONSES,
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
from ogive.data.logs.respondents import MERGE, SEPARATE
from ogive.errors import InputError
from ogive.evaluation.adaptive_replay import METHODS, bank_from
from ogive.irt.adaptive.selectors import SELECTORS
from ogive.irt.models import AUTO
from ogive.results.numbers import shown

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.gate import CapabilityGate
    from ogive.data.logs.read_logs import LogReading
    from ogive.data.responses import Responses


PARTS = ["part", "held_out", "accepted", "accuracy", "accuracy_low", "accuracy_high"]
COMPARED = ["at", "accepted", "accuracy", "low", "high"]  # what fits 80 columns

group = typer.Typer(
    cls=HelpedGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Let a model decide the cases it is capable of, and people the others.",
)

Saved = Annotated[Path, typer.Argument(help="Gate that `ogive gate fit` wrote, .json.")]
Model = Annotated[
    str,
    choice(
        "--model",
        "-m",
        names=[name for name in CLASSIFIERS if name not in UNSAVED],
        text="Model that predicts.",
    ),
]
TargetAccuracy = Annotated[
    float | None,
    typer.Option(
        help="Share of accepted cases that should be right, such as 0.97.",
        show_default="none: the capability is the limit",
    ),
]
Alpha = Annotated[float, typer.Option(help="Probability of missing that accuracy.")]
By = Annotated[
    str | None,
    choice(
        "--by",
        names=BYS,
        text="For whom that accuracy holds: all accepted cases together, or those of each class, "
        "predicted class or group.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(help="Column that groups cases, such as a site; new cases need it too."),
]
Trust = Annotated[
    str,
    choice(
        "--trust",
        names=TRUSTS,
        text="What cases are ranked by; auto: the mixture, unless another is expected to accept a "
        "tenth of the cases more.",
    ),
]
TestSize = Annotated[
    float | None,
    typer.Option(
        help="Share of the cases held out to find the limit.",
        show_default="0.3; 0.5 with a target",
    ),
]
CompareSize = Annotated[
    float,
    typer.Option(help="Share of the cases held out to evaluate the gate; 0 for none."),
]
Rule = Annotated[
    str, choice("--rule", names=RULES[:2], text="How cases are selected; steps: as published.")
]
Table = Annotated[
    Path | None, typer.Option("--out", "-o", help="Table to write, .csv or .parquet.")
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Accuracy against the share of cases accepted: .png, .svg or .pdf."),
]


@group.command(cls=HelpedCommand)
def fit(
    dataset: Source,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Gate to write, .json; the model goes beside it, .skops."),
    ],
    target: Target = None,
    model: Model = LOGISTIC,
    target_accuracy: TargetAccuracy = None,
    alpha: Alpha = 0.05,
    by: By = None,
    groups: Groups = None,
    trust: Trust = "auto",
    test_size: TestSize = None,
    compare_size: CompareSize = 0.25,
    coding: CodingFile = None,
    levels: Levels = None,
    rule: Rule = "information",
    figure: Figure = None,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fit a gate, write it, and compare it with simple alternatives on held-out cases."""
    _check_fit(target_accuracy, alpha, test_size, compare_size, figure)
    targets = {
        "--out": (out, (".json",)),
        "The model beside --out": (out.with_suffix(".skops"), (".skops",)),
        "--figure": (figure, FIGURE),
    }
    check_targets(targets, sources=[file_of(dataset)], present=False)
    from ogive.capability.classifier import named_classifier
    from ogive.capability.gate import CapabilityGate
    from ogive.data.saved_estimators import skops_io

    skops_io()  # report a missing package before the work, not after it
    console, scale = Console(quiet, json), case_difficulty(coding, levels)
    table, labels, group = read_grouped_cases(dataset, target, groups, console)
    learn, kept = _parts(labels, compare_size, random_state)
    made = CapabilityGate(
        named_classifier(model, table.plan, random_state),
        target_accuracy=target_accuracy,
        alpha=alpha,
        by=by,
        trust=trust,
        case_difficulty=scale,
        rule=rule,
        test_size=test_size,
        random_state=random_state,
    )
    with console.progress(f"Learning from {file_of(dataset).name}"):
        chosen = None if group is None else group.iloc[learn]
        made.fit(table.features.iloc[learn], labels[learn], groups=chosen)
    made.save(out)
    console.say(f"{model} learnt from {len(learn):,} cases. Limits, and held-out cases within:")
    console.show(made.capability_)
    console.say("What is accepted of the held-out cases, by part:")
    parts = made.parts_.set_index("by")
    console.show(parts[PARTS], whole=parts)
    later = None if group is None else group.iloc[kept]
    judged = _judged(console, made, (table.features.iloc[kept], labels[kept], later), figure)
    words = own_words.get()
    notes = [words(note) for note in (*made.notes_, *table.notes)]
    for text in (*notes, f"Gate: {out}"):
        console.say(text)
    tables = {"capability": made.capability_, "parts": made.parts_}
    content = {"out": out, "model": model, "cases": len(learn), "trust": made.trust_, **tables}
    console.document({**content, "notes": notes, **judged})
    if not all(one.converged for one in made.case_difficulty_.calibrations_):
        raise typer.Exit(NOT_CONVERGED)


@group.command(cls=HelpedCommand)
def decide(
    gate: Saved,
    cases: Annotated[
        Path,
        typer.Argument(help="Table with the gate's features; a column called case names the rows."),
    ],
    out: Table = None,
    explain: Annotated[
        Path | None,
        typer.Option(
            help="Table to write, .csv or .parquet: which features make the cases that go to a "
            "person hard, and which change would bring each within the limit."
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say for each new case whether the model decides it or a person, and why.

    The table may have more columns than the gate learnt from. Without --out, the decisions are
    printed as CSV.
    """
    targets = {"--out": (out, TABLE), "--explain": (explain, TABLE)}
    check_targets(targets, sources=[gate, gate.with_suffix(".skops"), cases], present=False)
    from ogive._load import load_only
    from ogive.data.table_files import read_table

    console = Console(quiet, json)
    made = load_only("gate", gate)
    rows = _rows(made, read_table(cases))
    found = made.decide(rows).rename_axis("case")
    for_people = rows[(found["decision"] == "person").to_numpy()]
    if explain is not None:
        write_table(_explained(made, for_people), explain)
    counted = f"The model decides {len(found) - len(for_people):,} of {len(found):,} cases."
    if out is not None:
        write_table(found, out)
    console.answer([counted], found, out, written={"Decisions": out})
    counts = {"model": len(found) - len(for_people), "person": len(for_people)}
    console.document({"out": out, "explain": explain, "counts": counts, "decisions": found})


@group.command(cls=HelpedCommand)
def compare(
    gate: Saved,
    dataset: Source,
    target: Target = None,
    out: Table = None,
    figure: Figure = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare a gate with the model's own confidence, on new cases whose class is known.

    The gate must not have learnt from these cases. Without --out, the table is printed as CSV.
    """
    targets = {"--out": (out, TABLE), "--figure": (figure, FIGURE)}
    sources = [gate, gate.with_suffix(".skops"), file_of(dataset)]
    check_targets(targets, sources=sources, present=False)
    from ogive._load import load_only
    from ogive.data.datasets.load import load_dataset

    made = load_only("gate", gate)
    loaded = load_dataset(dataset, target)
    rows = _rows(made, loaded.features)
    found = made.compare(rows, loaded.target.to_numpy())
    console, frame = Console(quiet, json), found.to_frame().set_index("method")
    if figure is not None:
        found.plot().save(figure)
    if out is not None:
        write_table(frame, out)
    console.finding(
        found,
        frame,
        out,
        shown=frame[COMPARED],
        written={"Comparison": out, "Figure": figure},
        figure=figure,
        comparison=frame,
    )


def _check_fit(
    target: float | None,
    alpha: float,
    test_size: float | None,
    compare_size: float,
    figure: Path | None,
) -> None:
    """Check numbers before anything is read."""
    if target is not None:
        check_share("--target-accuracy", target, such_as=0.97)
    check_share("--alpha", alpha, such_as=0.05)
    if test_size is not None:
        check_share("--test-size", test_size)
    if compare_size != 0:
        check_share("--compare-size", compare_size)
    elif figure is not None:
        raise InputError("--figure needs cases to compare on, but --compare-size 0 keeps none.")


def _parts(labels: Any, share: float, random_state: int) -> tuple[Any, Any]:
    """Return the positions of training and held-out cases, stratified by class."""
    import numpy as np

    from ogive.capability.class_tests import split_by_difficulty

    if share == 0:
        return np.arange(len(labels)), np.empty(0, dtype=np.intp)
    same = np.zeros(len(labels))
    return split_by_difficulty(same, labels=labels, test_size=share, random_state=random_state)


def _judged(
    console: Console, gate: CapabilityGate, cases: tuple[Any, Any, Any], figure: Path | None
) -> dict[str, Any]:
    """Show the gate on held-out cases, if there are any, next to the alternatives."""
    X, y, groups = cases
    if X.empty:
        return {"figure": None, "meaning": [], "comparison": None}
    found = gate.compare(X, y, groups=groups)
    frame = found.to_frame().set_index("method")
    if figure is not None:
        found.plot().save(figure)
    for sentence in found.sentences():
        console.say(sentence)
    console.say(f"On {len(X):,} cases held out for this comparison:")
    console.show(frame[COMPARED])
    return {"figure": figure, "meaning": found.sentences(), "comparison": frame}


def _explained(gate: CapabilityGate, rows: pd.DataFrame) -> pd.DataFrame:
    """Explain cases, however many, in parts that fit in memory; without a case, no rows."""
    import pandas as pd

    from ogive.capability.explanations import MAX_CASES

    starts = range(0, max(len(rows), 1), MAX_CASES)
    parts = [gate.explain(rows.iloc[start : start + MAX_CASES]).to_frame() for start in starts]
    return pd.concat(parts).set_index("case")


def _rows(gate: CapabilityGate, table: pd.DataFrame) -> pd.DataFrame:
    """Read new cases with the features of the gate; a column called case names them."""
    from ogive.capability.cases import new_cases

    kinds = gate.kinds_
    named = table.set_index("case") if "case" in table and "case" not in kinds else table
    return new_cases(named, kinds)


KEY = "OGIVE_API_KEY"
HERE = ("127.0.0.1", "::1", "localhost")

ServeSaved = Annotated[Path, typer.Argument(help="Gate that CapabilityGate.save wrote, .json.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")]
MostRows = Annotated[int, typer.Option(min=1, help="Maximum number of rows in a request.")]
MostBytes = Annotated[int, typer.Option(min=1, help="Maximum number of bytes in a request.")]
MostSeconds = Annotated[
    float, typer.Option(min=0.1, help="Seconds until a request without an answer is refused.")
]
KeyFile = Annotated[
    Path | None, typer.Option(help="File of API keys, one per line; read again when it changes.")
]
LogRequests = Annotated[
    bool, typer.Option("--log-requests", help="Write a line of JSON per request to the log.")
]


def serve(
    gate: ServeSaved,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    max_rows: MostRows = 1_000,
    max_bytes: MostBytes = 1_048_576,
    max_seconds: MostSeconds = 10.0,
    key_file: KeyFile = None,
    log_requests: LogRequests = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Serve a gate over HTTP: which cases the model may decide, and which go to a person.

    The service is described at /openapi.json. If the environment variable OGIVE_API_KEY is set,
    requests need it in the header X-API-Key. SIGTERM and Ctrl-C let running requests finish.
    """
    from ogive._load import load_only
    from ogive.capability.http_requests import RequestLimits
    from ogive.capability.http_service import serve as run
    from ogive.capability.model_process import REQUESTS

    if log_requests:
        REQUESTS.setLevel("INFO")
    console = Console(quiet, json)
    limits = RequestLimits(rows=max_rows, body_bytes=max_bytes, answer_seconds=max_seconds)
    key = os.environ.get(KEY)
    open_to_all = key is None and key_file is None
    loaded = load_only("gate", gate)

    def ready(address: str) -> None:
        console.say(f"Serving {gate} at {address}, described at {address}/openapi.json")
        if open_to_all and host not in HERE:
            console.remark(f"Anyone who reaches {host} can use it: set {KEY} to require a key.")
        console.document(
            {"address": address, "features": dict(loaded.kinds_), "key": not open_to_all}
        )

    run(loaded, host=host, port=port, limits=limits, api_key=key, key_file=key_file, ready=ready)


Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Responses (.csv, .tsv, .parquet, .jsonl), evaluation logs or folders of them, an "
        "item bank, or a folder that a command wrote."
    ),
]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
]


def view(
    paths: Paths,
    model: ModelOrAuto = AUTO,
    port: Port = 0,
    browser: Browser = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Explore responses, logs or an item bank in the browser, while they are still written.

    The page is served on this machine only (127.0.0.1), to whoever has the address with its token;
    nothing is sent elsewhere. Responses are calibrated in the background. Files that change are
    read again. Further logs can be dropped onto the page. Ctrl-C ends it.
    """
    from ogive.reporting.app_server import check_installed
    from ogive.reporting.app_server import view as run
    from ogive.reporting.session import ViewSession

    check_installed()
    console, session = Console(quiet, json), ViewSession(paths, model)
    with console.progress("Reading"):
        session.look()

    def ready(address: str) -> None:
        rows, items = session.opened.shape
        console.say(f"{rows:,} models, {items:,} items: {address}")
        console.remark("Ctrl-C ends it.")
        console.document({"address": address, "respondents": rows, "items": items})

    run(session, port=port, browser=browser, ready=ready)
    console.say("Ended.")


MOST_FILES = 20  # that are shown

Logs = Annotated[
    list[Path],
    typer.Argument(help="Logs, or folders: lm-eval, Inspect, HELM, Every Eval Ever, OpenML."),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Table of responses to write; .parquet keeps the facts, too."),
]
Files = Annotated[
    Path | None,
    typer.Option(
        "--files",
        help="Table of the log files to write: what was read from each, and what was not.",
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        help="Score to read; if repeated, the first that a log contains.", show_default="usual"
    ),
]
Filter = Annotated[
    str | None,
    typer.Option("--filter", help="Filter of lm-eval to read.", show_default="strict or first"),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variants",
        help="separate or merge what a model answered under different conditions; or, repeatable, "
        "the conditions that make respondents, such as shots.",
        show_default="separate",
    ),
]
Name = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="OLD=NEW",
        help="New name of a model, or of the models in a folder or file; repeatable.",
    ),
]
KeepText = Annotated[
    bool, typer.Option("--keep-text", help="Keep the text and the target of each item.")
]

ChoicesOut = Annotated[
    Path | None,
    typer.Option(
        "--choices", help="Table of the options that models chose to write, where logs tell."
    ),
]


def read(
    logs: Logs,
    out: Out,
    metric: Metric = None,
    filter_: Filter = None,
    epochs: Annotated[
        str,
        choice(
            names=("mean", "grades", "first"),
            text="How to combine several responses of a model to the same item; mean keeps their "
            "number, too.",
        ),
    ] = "mean",
    variants: Variants = None,
    name: Name = None,
    keep_text: KeepText = False,
    choices: ChoicesOut = None,
    files: Files = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Read evaluation logs of language models into one table of responses.

    Folders are searched for logs. What is left out is counted, with the reason.
    """
    check_targets(
        {"--out": (out, RESPONSES), "--files": (files, TABLE), "--choices": (choices, TABLE)},
        sources=logs,
    )
    rename = _pairs(name or [])
    from ogive.data.logs.read_logs import in_mebibytes, read_logs

    console = Console(quiet, json)
    with console.progress("Reading logs") as report:
        found = read_logs(
            logs,
            metric=metric or None,
            filter=filter_,
            epochs=epochs,  # type: ignore[arg-type]
            variants=_variants(variants or []),
            rename=rename,
            keep_text=keep_text,
            keep_choices=choices is not None,
            progress=in_mebibytes(report),
        )
    found.responses.save(out)
    lost = [] if out.suffix.lower() == ".parquet" else _lost(found)
    verdict, *others = found.sentences()
    console.say(verdict)
    _show(console, found)
    console.say(f"Responses: {out}")
    if choices is not None:
        _write_choices(console, found, choices)
    if files is not None:
        write_table(found.files.set_index("file"), files)
        console.say(f"Files: {files}")
    for text in (*others, *lost):
        console.say(text)
    console.document(_document(found) | {"notes": [*found.notes, *lost], "out": out})


def _write_choices(console: Console, found: LogReading, path: Path) -> None:
    """Write options and key, or say that there are none."""
    from ogive.data.frames import option_frame

    if found.choices is None:
        console.say("Choices: the logs do not say which option was chosen.")
        return
    write_table(option_frame(found.choices), path)
    console.say(f"Choices: {path}")


def _variants(given: list[str]) -> str | list[str]:
    """Return one of the words, or the conditions; none is the default."""
    words = [word for word in given if word in (SEPARATE, MERGE)]
    if words and len(given) > 1:
        raise InputError(f"--variants {words[0]} stands alone; leave the others out.")
    return (words or [SEPARATE])[0] if words or not given else given


def _pairs(given: list[str]) -> dict[str, str]:
    """Return new names by old ones; the last = separates, because paths may hold others."""
    found = {}
    for text in given:
        old, sign, new = text.rpartition("=")
        if not sign or not old or not new:
            raise InputError(f"--name is {shown(text)}, but it should be OLD=NEW.")
        found[old] = new
    return found


def _lost(found: LogReading) -> list[str]:
    """Return a remark on facts that a plain table does not keep."""
    facts = dict.fromkeys([*found.responses.item_facts, *found.responses.respondent_facts])
    if not facts:
        return []
    return [f"A CSV keeps no facts ({', '.join(facts)}); name a .parquet file to keep them."]


def _show(console: Console, found: LogReading) -> None:
    """Show the files by name, unless there are many."""
    if len(found.files) <= MOST_FILES:
        counts = found.files[["rows", "read", "dropped", "task", "model", "format"]]
        console.show(counts.set_index(found.files["file"].map(_distinct(found.files["file"]))))


def _distinct(files: Iterable[str]) -> dict[str, str]:
    """Return the name of each file, with its folder where others have the same name."""
    often = Counter(Path(file).name for file in files)
    return {
        file: "/".join(Path(file).parts[-1 if often[Path(file).name] == 1 else -2 :])
        for file in files
    }


def _document(found: LogReading) -> dict[str, object]:
    return {
        "models": found.responses.respondents,
        "items": found.responses.n_items,
        "kind": found.responses.kind,
        "meaning": found.sentences(),
        "left_out": found.left_out,
        "notes": found.notes,
        "files": found.files,
    }


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
    """Return tasks by their names in the responses, or one task; None if none is given."""
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
    """Return arguments of the harness: JSON where it is JSON, else text."""
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
