"""Commands about one model in use: its capability, gates, and predicted difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.cli.output import Console, end, own_words, picked, write_files, write_page
from ogive.cli.signature import Call, command
from ogive.cli.sources import (
    FIGURE,
    JOBS,
    SEED,
    SOURCE,
    TABLE,
    UNSET,
    Parameter,
    argument,
    check_targets,
    file_of,
    input_file,
    option,
    output_file,
    output_folder,
    report_folder,
)
from ogive.errors import InputError
from ogive.results.numbers import listed, meant

if TYPE_CHECKING:
    from ogive.capability.capability_result import Capability
    from ogive.capability.case_difficulty import CaseDifficulty
    from ogive.capability.gate import CapabilityGate


# Cases and their difficulty.

RULES = ("information", "steps")
LEVELS = 4  # quantile grades of a numeric feature

CASES = Parameter(
    "Cases: data.csv#target, .parquet, .arff, sklearn:wine, openml:53.",
    str,
    argument=True,
    reads=SOURCE,
)
TARGET = option("Column that holds the class.", str, show_default="class, target or label")
CODING = input_file(
    "Table of how features become items: feature, normal range, risk state; or feature, coding.",
    show_default="quantiles",
)
GRADES = option(
    "Number of quantile grades of a numeric feature.", int, min=2, show_default=str(LEVELS)
)
RULE_TEXT = "How cases are selected; steps: as published."


def _case_difficulty(coding: Path | None, levels: int | None) -> CaseDifficulty:
    """Return the unfitted scale of --coding or --levels."""
    if coding is not None and levels is not None:
        raise InputError("--levels is for quantiles, not for --coding. Leave one of them out.")
    from ogive.capability.case_difficulty import CaseDifficulty
    from ogive.capability.coding_rules import read_coding

    items = "quantiles" if coding is None else read_coding(coding)
    return CaseDifficulty(items, levels=levels or LEVELS)


def _read_cases(call: Call, groups: str | None = None) -> tuple[Any, Any, Any]:
    """Return cases as a CaseTable, their classes and, if a column groups them, that column."""
    from ogive.capability.cases import case_table
    from ogive.data.datasets.load import load_dataset

    with call.console.progress(f"Reading {file_of(call.dataset).name}"):
        dataset = load_dataset(call.dataset, call.target)
    features = dataset.features.rename(columns=str)
    if groups is not None and groups not in features:
        raise InputError(
            f"--groups is {groups!r:.60}, but the data set has no such column. It has "
            f"{listed(list(features.columns), 'column', 10)}."
        )
    group = None if groups is None else features[groups]
    return case_table(dataset.features), dataset.target.to_numpy(), group


MEASURED = "ogive-capability"  # folder
LIMITS = ["rule", "mlc", "mlc_se", "limit_is", "cases_used", "accuracy_below", "accuracy_above"]


@command(
    "ogive.capability.measurement:measure_capability",
    dataset=CASES,
    target=TARGET,
    model=option(
        "Model to test; repeatable, to compare models.",
        list[str],
        None,
        "ogive.capability.classifier:CLASSIFIERS",
        show_default="logistic-regression",
    ),
    out=output_folder("Folder for tables, figures and banks.", MEASURED),
    coding=CODING,
    levels=GRADES,
    rule=option(RULE_TEXT, str, "information", (*RULES, "both")),
    n_resamples=option("Tests per class.", min=1),
    budget=option("Maximum number of cases in a test by information.", min=1),
    test_size="Share of cases to test on.",
    random_state=SEED,
)
def capability(call: Call) -> None:
    """Find up to what case difficulty a classifier can be trusted, class by class, with few cases.

    Models are fitted on one part of the cases and tested on the other, the same for all models.
    """
    scale = _case_difficulty(call.coding, call.levels)
    folder: Any = report_folder(call.out or Path(MEASURED), file_of(call.dataset))
    from ogive.capability.capability_result import MeasuredModels
    from ogive.capability.classifier import LOGISTIC, named_classifier
    from ogive.reporting.exports import write_folder

    console, out = call.console, call.out
    table, labels, _ = _read_cases(call)
    names = list(dict.fromkeys(call.model or [LOGISTIC]))
    settings = call.arguments | {"rule": list(RULES) if call.rule == "both" else call.rule}
    with console.progress("Testing") as report:
        scale.fit(table.features, labels)
        result: dict[str, Capability] = {}
        for done, name in enumerate(names):
            report(done, len(names), name)
            model = named_classifier(name, table.plan, call.random_state)
            result[name] = call.function(
                model, table.features, labels, case_difficulty=scale, **settings
            )
    measured = MeasuredModels(result, scale)
    notes = tuple(dict.fromkeys((*table.notes, *measured.notes)))
    with console.progress("Drawing"):
        files = write_folder(measured, folder)
        shown = call.settings("rule", "n_resamples", "budget", "random_state")
        page = write_page(folder, result, "Capability", shown)
    parts = {name: one.classes for name, one in result.items()}
    classes = pd.concat(parts, names=["model", "class"]).reset_index().set_index("model")
    csv, say = console.gives_csv(out), console.speaker(out)
    for name, one in result.items():
        say(f"{name}:")
        say(one.meaning)
        if not csv:
            console.show(one.classes[LIMITS])
            console.say()
    if csv:
        console.table(classes)
    for text in (*notes, f"Tables and figures: {folder}", f"Report: {page}"):
        say(text)
    console.document(
        {
            "out": folder,
            "files": [*files, page],
            "notes": notes,
            "meaning": {name: one.sentences() for name, one in result.items()},
            "classes": classes,
        }
    )
    end(*(calibration.converged for calibration in scale.calibrations_))


# Gates.

GATE = argument("Gate that `ogive gate fit` wrote, .json.")
ACCURACY_FIGURE = output_file(
    "Accuracy against the share of cases accepted: .png, .svg or .pdf.", FIGURE
)
PARTS = ["part", "held_out", "accepted", "accuracy", "accuracy_low", "accuracy_high"]
COMPARED = ["at", "accepted", "accuracy", "low", "high"]  # columns that fit into 80 signs


def _saved_classifiers() -> list[str]:
    from ogive.capability.classifier import CLASSIFIERS, UNSAVED

    return [name for name in CLASSIFIERS if name not in UNSAVED]


@command(
    "ogive.capability.gate:CapabilityGate",
    dataset=CASES,
    out=output_file("Gate to write, .json; the model goes beside it, .skops.", (".json",), UNSET),
    target=TARGET,
    model=option("Model that predicts.", str, "logistic-regression", _saved_classifiers),
    target_accuracy=option(
        "Share of accepted cases that should be right, such as 0.97.",
        float,
        show_default="none: the capability is the limit",
    ),
    alpha=option("Probability of missing that accuracy.", float, 0.05),
    by=option(
        "For whom that accuracy holds: all accepted cases together, or those of each class, "
        "predicted class or group.",
        str,
        None,
        "ogive.capability.guarantees:BYS",
    ),
    groups=option("Column that groups cases, such as a site; new cases need it too.", str),
    trust=option(
        "What cases are ranked by; auto: the mixture, unless another is expected to accept a "
        "tenth of the cases more.",
        str,
        "auto",
        "ogive.capability.trust:TRUSTS",
    ),
    test_size=option(
        "Share of the cases held out to find the limit.",
        float,
        show_default="0.3; 0.5 with a target",
    ),
    compare_size=option(
        "Share of the cases held out to evaluate the gate; 0 for none.", float, 0.25
    ),
    coding=CODING,
    levels=GRADES,
    rule=option(RULE_TEXT, str, "information", RULES),
    figure=ACCURACY_FIGURE,
    random_state=SEED,
)
def gate_fit(call: Call) -> None:
    """Fit a gate, write it, and compare it with simple alternatives on held-out cases."""
    share, out, console = call.compare_size, call.out, call.console
    if not 0 <= share < 1:
        raise InputError(f"--compare-size is {share:g}, but it should lie between 0 and 1.")
    if share == 0 and call.figure is not None:
        raise InputError("--figure needs cases to compare on, but --compare-size 0 keeps none.")
    beside = {
        "The model beside --out": (out.with_suffix(".skops"), (".skops",)),
        "--figure": (call.figure, FIGURE),
    }
    check_targets(beside, sources=[file_of(call.dataset)])
    from ogive.capability.class_tests import split_by_difficulty
    from ogive.capability.classifier import named_classifier
    from ogive.data.saved_estimators import skops_io

    skops_io()  # report a missing package before the work, not after it
    scale = _case_difficulty(call.coding, call.levels)
    table, labels, group = _read_cases(call, call.groups)
    learn, kept = np.arange(len(labels)), np.empty(0, dtype=np.intp)
    if share != 0:
        same, seed = np.zeros(len(labels)), call.random_state
        learn, kept = split_by_difficulty(same, labels=labels, test_size=share, random_state=seed)
    gate = call.function(
        named_classifier(call.model, table.plan, call.random_state),
        case_difficulty=scale,
        **call.arguments,
    )
    with console.progress(f"Learning from {file_of(call.dataset).name}"):
        chosen = None if group is None else group.iloc[learn]
        gate.fit(table.features.iloc[learn], labels[learn], groups=chosen)
    gate.save(out)
    console.say(
        f"{call.model} learnt from {len(learn):,} cases. Limits, and held-out cases within:"
    )
    console.show(gate.capability_)
    console.say("What is accepted of the held-out cases, by part:")
    parts = gate.parts_.set_index("by")
    console.show(parts[PARTS], whole=parts)
    judged: dict[str, Any] = {"figure": None, "meaning": [], "comparison": None}
    if len(kept):
        later = None if group is None else group.iloc[kept]
        result = gate.compare(table.features.iloc[kept], labels[kept], groups=later)
        frame = result.to_frame().set_index("method")
        write_files({"Figure": (call.figure, result.plot)})
        for sentence in result.sentences():
            console.say(sentence)
        console.say(f"On {len(kept):,} cases held out for this comparison:")
        console.show(frame[COMPARED])
        judged = {"figure": call.figure, "meaning": result.sentences(), "comparison": frame}
    notes = [own_words.get()(note) for note in (*gate.notes_, *table.notes)]
    for text in (*notes, f"Gate: {out}"):
        console.say(text)
    tables = {"capability": gate.capability_, "parts": gate.parts_}
    content = {"out": out, "model": call.model, "cases": len(learn), "trust": gate.trust_, **tables}
    console.document({**content, "notes": notes, **judged})
    end(*(one.converged for one in gate.case_difficulty_.calibrations_))


@command(
    gate=GATE,
    cases=argument("Table with the gate's features; a column called case names the rows."),
    out=output_file("Table to write, .csv or .parquet.", TABLE),
    explain=output_file(
        "Table to write, .csv or .parquet: which features make the cases that go to a "
        "person hard, and which change would bring each within the limit.",
        TABLE,
    ),
)
def gate_decide(call: Call) -> None:
    """Say for each new case whether the model decides it or a person, and why.

    The table may have more columns than the gate learnt from. Without --out, the decisions are
    printed as CSV.
    """
    from ogive._load import load_only
    from ogive.capability.explanations import MAX_CASES
    from ogive.data.table_files import read_table

    gate = load_only("gate", call.gate)
    rows = gate_cases(gate, read_table(call.cases))
    decisions = gate.decide(rows).rename_axis("case")
    for_people = rows[(decisions["decision"] == "person").to_numpy()]

    def explained() -> pd.DataFrame:
        """Explain cases in parts that fit in memory; without a case, no rows."""
        starts = range(0, max(len(for_people), 1), MAX_CASES)
        parts = [gate.explain(for_people.iloc[at : at + MAX_CASES]).to_frame() for at in starts]
        table: pd.DataFrame = pd.concat(parts).set_index("case")
        return table

    write_files({"Explanations": (call.explain, explained)})
    written = write_files({"Decisions": (call.out, lambda: decisions)})
    counts = {"model": len(decisions) - len(for_people), "person": len(for_people)}
    sentence = f"The model decides {counts['model']:,} of {len(decisions):,} cases."
    call.console.answer([sentence], decisions, call.out, written=written)
    content = {**call.settings("out", "explain"), "counts": counts, "decisions": decisions}
    call.console.document(content)


@command(
    gate=GATE,
    dataset=CASES,
    target=TARGET,
    out=output_file("Table to write, .csv or .parquet.", TABLE),
    figure=ACCURACY_FIGURE,
)
def gate_compare(call: Call) -> None:
    """Compare a gate with the model's own confidence, on new cases whose class is known.

    The gate must not have learnt from these cases. Without --out, the table is printed as CSV.
    """
    from ogive._load import load_only
    from ogive.data.datasets.load import load_dataset

    gate = load_only("gate", call.gate)
    dataset = load_dataset(call.dataset, call.target)
    result = gate.compare(gate_cases(gate, dataset.features), dataset.target.to_numpy())
    frame = result.to_frame().set_index("method")
    files = {"Comparison": (call.out, lambda: frame), "Figure": (call.figure, result.plot)}
    call.console.finding(
        result,
        frame,
        call.out,
        shown=frame[COMPARED],
        written=write_files(files),
        figure=call.figure,
        comparison=frame,
    )


def gate_cases(gate: CapabilityGate, table: pd.DataFrame) -> pd.DataFrame:
    """Return new cases with the features of the gate; a column called case names them."""
    from ogive.capability.cases import new_cases

    named = "case" in table and "case" not in gate.kinds_
    cases: pd.DataFrame = new_cases(table.set_index("case") if named else table, gate.kinds_)
    return cases


# Predicted difficulty.

PRESETS = "ogive.difficulty.regressor:PRESETS"
FEATURES = argument(
    "Table with one row per item and one column per feature (.csv, .tsv, .parquet, "
    ".arff). A column called item names the rows."
)
LEAVE_OUT = option("Column that is not a feature; repeatable.", list[str])
PREDICTED = output_file("Table to write, .csv or .parquet.", TABLE)


@command(
    features=FEATURES,
    difficulty=option("Column that holds the difficulty.", str, UNSET),
    out=output_file("Regressor to write, .skops.", (".skops",), UNSET),
    regressor=option("Regressor.", str, "rf", PRESETS),
    leave_out=LEAVE_OUT,
    confidence=option("Confidence level of the intervals, from 0.5 to below 1.", float, 0.95),
    random_state=SEED,
)
def difficulty_fit(call: Call) -> None:
    """Learn the difficulty of items from their features; rows without one are left out."""
    from ogive.data.saved_estimators import skops_io
    from ogive.difficulty.regressor import DifficultyRegressor

    skops_io()  # report a missing package before the work, not after it
    console, name = call.console, call.difficulty
    frame, columns = _read_features(call.features, [name], call.leave_out, console)
    known = np.isfinite(columns[name])
    settings = call.settings("confidence", "random_state")
    regressor = DifficultyRegressor(call.regressor, **settings)
    with console.progress(f"Learning from {call.features.name}"):
        regressor.fit(frame[known], columns.loc[known, name])
    regressor.save(call.out)
    figures = regressor.held_out_figures(columns.loc[known, name])
    items, judged = int(known.sum()), ""
    if figures["nrmse"] == figures["nrmse"]:  # not NaN: there are held-out items
        judged = (
            f" On held-out items: NRMSE {figures['nrmse']:.2f} (1: no better than the mean), "
            f"Spearman {figures['spearman']:.2f}."
        )
    console.say(f"{call.regressor} learnt from {items:,} items.{judged}")
    for note in regressor.notes_:
        console.say(note)
    console.say(f"Regressor: {call.out}")
    content = {**call.settings("out", "regressor"), "items": items, **figures}
    console.document({**content, "notes": regressor.notes_})


@command(
    model=argument("Regressor that `ogive difficulty fit` wrote."),
    features=FEATURES,
    out=PREDICTED,
    confidence=option("Confidence level of the intervals.", float, show_default="the model's"),
)
def difficulty_predict(call: Call) -> None:
    """Predict the difficulty of items, each with an interval.

    The table may have more columns than the regressor learnt from. Without --out, the predictions
    are printed as CSV.
    """
    from ogive._load import load_only

    regressor = load_only("difficulty-regressor", call.model)
    frame, _ = _read_features(call.features, [], None, call.console)
    known = list(getattr(regressor, "feature_names_in_", frame.columns))
    missing = [name for name in known if name not in frame]
    if missing:
        raise InputError(
            f"'{call.features}' lacks the column '{missing[0]}', which it learnt from."
        )
    low, high = regressor.predict_interval(frame[known], call.confidence)
    columns = {"difficulty": regressor.predict(frame[known]), "low": low, "high": high}
    predictions = pd.DataFrame(columns, index=frame.index.rename("item"))
    if call.out is None:
        call.console.table(predictions)
    else:
        write_files({"Predictions": (call.out, lambda: predictions)})
        call.console.say(f"{len(predictions):,} predictions: {call.out}")
    call.console.document({"out": call.out, "predictions": predictions})


@command(
    "ogive.difficulty.regressor_evaluation:evaluate_difficulty",
    features=FEATURES,
    difficulty=option("Column that holds a difficulty; repeatable.", list[str], UNSET),
    out=PREDICTED,
    regressor=option("Regressor; repeatable.", list[str], None, PRESETS, show_default="all"),
    negative=option(
        "Column that is 1 for items of negative discrimination: train with and without.", str
    ),
    leave_out=LEAVE_OUT,
    cv=option("Folds of the cross-validation.", min=2),
    n_resamples=option("How many times the folds are drawn.", min=1),
    jobs=option(JOBS.text, int, 1, (), *JOBS.flags, **JOBS.settings),
    random_state=SEED,
)
def difficulty_evaluate(call: Call) -> None:
    """Evaluate by cross-validation how well regressors predict difficulty.

    Without --out, the table is printed as CSV.
    """
    targets, negative = call.difficulty, call.negative
    named = [*targets, *([negative] if negative else [])]
    frame, columns = _read_features(call.features, named, call.leave_out, call.console)
    with call.console.progress(f"Evaluating on {call.features.name}") as report:
        result = call.function(
            frame,
            columns[targets],
            regressors=call.regressor or None,
            negative=None if negative is None else columns[negative] == 1,
            n_jobs=call.jobs,
            progress=report,
            **call.settings("cv", "n_resamples", "random_state"),
        )
    table = result.to_frame().set_index("target")
    call.console.finding(
        result,
        table,
        call.out,
        shown=result.table().reset_index().set_index("target"),
        written=write_files({"Evaluation": (call.out, lambda: table)}),
        evaluation=table,
    )


@command(
    "ogive.difficulty.alarm:performance_alarm",
    reference=argument("Reference items, .csv or .parquet, with the columns difficulty and right."),
    new=argument("New items with the same columns; right may be missing."),
    alpha="Maximum probability of an alarm if nothing has changed.",
    method=option(
        "curve: fitted along difficulty; paper: means only, as published.",
        names="ogive.difficulty.alarm:METHODS",
    ),
    guessing="Probability of a correct guess, the floor of the curve.",
    out=output_file("Table of the findings to write, .csv or .parquet.", TABLE),
    figure=output_file("Figure of success against difficulty, .png, .svg or .pdf.", FIGURE),
)
def difficulty_alarm(call: Call) -> None:
    """Say whether a model is as good on new items as their difficulty predicts.

    Without --out, the statements are printed as CSV. An alarm is a result, not an error: the exit
    code is 0; --json has `fired`.
    """
    from ogive.data.table_files import read_table

    result = call.function(read_table(call.reference), read_table(call.new), **call.arguments)
    statements = result.to_frame()
    files = {"Statements": (call.out, lambda: statements), "Figure": (call.figure, result.plot)}
    call.console.finding(
        result,
        statements,
        call.out,
        written=write_files(files),
        **picked(result, "fired", "shifted", "situation"),
        alpha=call.alpha,
        method=result.method,
        statements=statements,
    )


def _read_features(
    path: Path, named: Sequence[str], leave_out: Sequence[str] | None, console: Console
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the features, and the named columns as numbers."""
    from ogive.data.table_files import read_table
    from ogive.difficulty.targets import TARGETS

    frame = read_table(path)
    frame = frame.set_index("item") if "item" in frame else frame
    for name in (*named, *(leave_out or ())):
        if name not in frame:
            present = ", ".join(map(str, frame.columns[:10]))
            hint = meant(name, frame.columns)
            raise InputError(f"'{path}' has no column '{name}'. Its columns: {present}.{hint}")
    columns: dict[str, Any] = {}
    for name in named:
        columns[name] = pd.to_numeric(frame[name], errors="coerce")
        wrong = frame[name].notna() & columns[name].isna()
        if wrong.any():
            value = frame.loc[wrong, name].iloc[0]
            raise InputError(f"Column '{name}' of '{path}' holds {value!r:.40}, not a number.")
    rest = frame.drop(columns=[*named, *(leave_out or ())])
    if telling := [str(name) for name in rest if str(name).startswith(TARGETS)]:
        console.remark(f"Left out (they reveal difficulty): {', '.join(telling)}.")
        rest = rest.drop(columns=telling)
    return rest, pd.DataFrame(columns, index=frame.index)
