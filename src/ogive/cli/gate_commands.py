"""Commands about a gate: `ogive gate` and `ogive serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.capability.named_classifiers import CLASSIFIERS, LOGISTIC, UNSAVED
from ogive.capability.promises import BYS
from ogive.capability.trust import TRUSTS
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
from ogive.cli.command_arguments import (
    FIGURE,
    NOT_CONVERGED,
    TABLE,
    Json,
    Quiet,
    RandomState,
    check_targets,
    choice,
    write_table,
)
from ogive.cli.console import Console, own_words
from ogive.cli.help_pages import HelpedCommand, HelpedGroup
from ogive.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability import CapabilityGate

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
    from ogive.capability import CapabilityGate
    from ogive.capability.named_classifiers import named_classifier
    from ogive.learning.skops_files import skops_io

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
    from ogive.saved_files import load_only
    from ogive.tables.table_files import read_table

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
    from ogive.datasets import load_dataset
    from ogive.saved_files import load_only

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

    from ogive.capability import split_by_difficulty

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

    from ogive.capability.explaining import MAX_CASES

    starts = range(0, max(len(rows), 1), MAX_CASES)
    parts = [gate.explain(rows.iloc[start : start + MAX_CASES]).to_frame() for start in starts]
    return pd.concat(parts).set_index("case")


def _rows(gate: CapabilityGate, table: pd.DataFrame) -> pd.DataFrame:
    """Read new cases with the features of the gate; a column called case names them."""
    from ogive.capability.case_features import new_cases

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
MostRate = Annotated[
    float | None, typer.Option(min=0.001, help="Maximum number of requests per second and key.")
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
    max_rate: MostRate = None,
    key_file: KeyFile = None,
    log_requests: LogRequests = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Serve a gate over HTTP: which cases the model may decide, and which go to a person.

    The documentation of the service is at /docs. Where the environment variable OGIVE_API_KEY is
    set, requests need it in the header X-API-Key. SIGTERM and Ctrl-C let running requests finish.
    """
    from ogive.saved_files import load_only
    from ogive.serving import RequestLimits
    from ogive.serving import serve as run
    from ogive.serving.json_log import REQUESTS

    if log_requests:
        REQUESTS.setLevel("INFO")
    console = Console(quiet, json)
    limits = RequestLimits(
        rows=max_rows, body_bytes=max_bytes, answer_seconds=max_seconds, per_second=max_rate
    )
    key = os.environ.get(KEY)
    open_to_all = key is None and key_file is None
    loaded = load_only("gate", gate)

    def ready(address: str) -> None:
        console.say(f"Serving {gate} at {address}, documentation at {address}/docs")
        if open_to_all and host not in HERE:
            console.remark(f"Anyone who reaches {host} can use it: set {KEY} to require a key.")
        console.document(
            {"address": address, "features": dict(loaded.kinds_), "key": not open_to_all}
        )

    run(loaded, host=host, port=port, limits=limits, api_key=key, key_file=key_file, ready=ready)
