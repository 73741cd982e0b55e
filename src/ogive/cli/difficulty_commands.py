"""Commands about predicted difficulty: `ogive difficulty` and its alarm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.application import HelpedCommand, HelpedGroup
from ogive.cli.output import Console
from ogive.cli.sources import (
    FIGURE,
    TABLE,
    Jobs,
    Json,
    Quiet,
    RandomState,
    check_targets,
    choice,
    choices,
    write_table,
)
from ogive.difficulty.alarm import METHODS
from ogive.difficulty.regressor import PRESETS
from ogive.errors import InputError
from ogive.results.numbers import meant

if TYPE_CHECKING:
    import pandas as pd


Reference = Annotated[
    Path,
    typer.Argument(
        help="Reference items, .csv or .parquet, with the columns difficulty and right."
    ),
]
New = Annotated[Path, typer.Argument(help="New items with the same columns; right may be missing.")]
Rate = Annotated[
    float, typer.Option(help="Maximum probability of an alarm if nothing has changed.")
]
Method = Annotated[
    str,
    choice(
        "--method",
        names=METHODS,
        text="curve: fitted along difficulty; paper: means only, as published.",
    ),
]
Guessing = Annotated[
    float, typer.Option(help="Probability of a correct guess, the floor of the curve.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table of the findings to write, .csv or .parquet."),
]
Figure = Annotated[
    Path | None, typer.Option(help="Figure of success against difficulty, .png, .svg or .pdf.")
]


def alarm(
    reference: Reference,
    new: New,
    alpha: Rate = 0.05,
    method: Method = "curve",
    guessing: Guessing = 0.0,
    out: Out = None,
    figure: Figure = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say whether a model is as good on new items as their difficulty predicts.

    Without --out, the statements are printed as CSV. An alarm is a result, not an error: the exit
    code is 0; --json has `fired`.
    """
    check_targets({"--out": (out, TABLE), "--figure": (figure, FIGURE)}, sources=[reference, new])
    from ogive.data.table_files import read_table
    from ogive.difficulty.alarm import performance_alarm

    console = Console(quiet, json)
    found = performance_alarm(
        read_table(reference),
        read_table(new),
        alpha=alpha,
        method=method,
        guessing=guessing,
    )
    statements = found.to_frame()
    if out is not None:
        write_table(statements, out)
    if figure is not None:
        found.plot().save(figure)
    console.finding(
        found,
        statements,
        out,
        written={"Statements": out, "Figure": figure},
        fired=found.fired,
        shifted=found.shifted,
        situation=found.situation,
        alpha=alpha,
        method=found.method,
        statements=statements,
    )


group = typer.Typer(
    cls=HelpedGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Predict the difficulty of items from their features.",
)

Features = Annotated[
    Path,
    typer.Argument(
        help="Table with one row per item and one column per feature (.csv, .tsv, .parquet, "
        ".arff). A column called item names the rows."
    ),
]
LeaveOut = Annotated[
    list[str] | None, typer.Option("--leave-out", help="Column that is not a feature; repeatable.")
]
Regressor = Annotated[str, choice("--regressor", "-r", names=PRESETS, text="Regressor.")]
Regressors = Annotated[
    list[str] | None,
    choices("--regressor", "-r", names=PRESETS, text="Regressor; repeatable."),
]
Confidence = Annotated[
    float, typer.Option(help="Confidence level of the intervals, from 0.5 to below 1.")
]
Model = Annotated[Path, typer.Argument(help="Regressor that `ogive difficulty fit` wrote.")]


@group.command(cls=HelpedCommand)
def fit(
    features: Features,
    difficulty: Annotated[str, typer.Option(help="Column that holds the difficulty.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Regressor to write, .skops.")],
    regressor: Regressor = "rf",
    leave_out: LeaveOut = None,
    confidence: Confidence = 0.95,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn the difficulty of items from their features; rows without one are left out."""
    check_targets({"--out": (out, (".skops",))}, sources=[features])
    import numpy as np

    from ogive.data.saved_estimators import skops_io
    from ogive.difficulty.regressor import DifficultyRegressor

    skops_io()  # report a missing package before the work, not after it
    console = Console(quiet, json)
    frame, columns = _read(features, [difficulty], leave_out, console)
    known = np.isfinite(columns[difficulty])
    made = DifficultyRegressor(regressor, confidence=confidence, random_state=random_state)
    with console.progress(f"Learning from {features.name}"):
        made.fit(frame[known], columns.loc[known, difficulty])
    made.save(out)
    figures = made.held_out_figures(columns.loc[known, difficulty])
    console.say(f"{regressor} learnt from {int(known.sum()):,} items.{_judged(figures)}")
    for note in made.notes_:
        console.say(note)
    console.say(f"Regressor: {out}")
    console.document(
        {"out": out, "regressor": regressor, "items": int(known.sum()), **figures}
        | {"notes": made.notes_}
    )


@group.command(cls=HelpedCommand)
def predict(
    model: Model,
    features: Features,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table to write, .csv or .parquet.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Confidence level of the intervals.", show_default="the model's"),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict the difficulty of items, each with an interval.

    The table may have more columns than the regressor learnt from. Without --out, the predictions
    are printed as CSV.
    """
    check_targets({"--out": (out, TABLE)}, sources=[model, features])
    import pandas as pd

    from ogive._load import load_only

    console = Console(quiet, json)
    made = load_only("difficulty-regressor", model)
    frame, _ = _read(features, [], None, console)
    known = list(getattr(made, "feature_names_in_", frame.columns))
    missing = [name for name in known if name not in frame]
    if missing:
        raise InputError(f"'{features}' lacks the column '{missing[0]}', which it learnt from.")
    low, high = made.predict_interval(frame[known], confidence)
    columns = {"difficulty": made.predict(frame[known]), "low": low, "high": high}
    found = pd.DataFrame(columns, index=frame.index.rename("item"))
    if out is None:
        console.table(found)
    else:
        write_table(found, out)
        console.say(f"{len(found):,} predictions: {out}")
    console.document({"out": out, "predictions": found})


@group.command(cls=HelpedCommand)
def evaluate(
    features: Features,
    difficulty: Annotated[
        list[str], typer.Option(help="Column that holds a difficulty; repeatable.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table to write, .csv or .parquet.")
    ] = None,
    regressor: Regressors = None,
    negative: Annotated[
        str | None,
        typer.Option(
            help="Column that is 1 for items of negative discrimination: train with and without."
        ),
    ] = None,
    leave_out: LeaveOut = None,
    cv: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    n_resamples: Annotated[
        int, typer.Option(min=1, help="How many times the folds are drawn.")
    ] = 2,
    jobs: Jobs = 1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Evaluate by cross-validation how well regressors predict difficulty.

    Without --out, the table is printed as CSV.
    """
    check_targets({"--out": (out, TABLE)}, sources=[features])
    from ogive.difficulty.regressor_evaluation import evaluate_difficulty

    console = Console(quiet, json)
    named = [*difficulty, *([negative] if negative else [])]
    frame, columns = _read(features, named, leave_out, console)
    with console.progress(f"Evaluating on {features.name}") as report:
        found = evaluate_difficulty(
            frame,
            columns[difficulty],
            regressors=regressor or None,
            negative=None if negative is None else columns[negative] == 1,
            cv=cv,
            n_resamples=n_resamples,
            random_state=random_state,
            n_jobs=jobs,
            progress=report,
        )
    table = found.to_frame().set_index("target")
    if out is not None:
        write_table(table, out)
    console.finding(
        found,
        table,
        out,
        shown=found.table().reset_index().set_index("target"),
        written={"Evaluation": out},
        evaluation=table,
    )


def _judged(figures: dict[str, float]) -> str:
    """Say how well held-out items were predicted, if there were any."""
    if figures["nrmse"] != figures["nrmse"]:
        return ""
    return (
        f" On held-out items: NRMSE {figures['nrmse']:.2f} (1: no better than the mean), Spearman "
        f"{figures['spearman']:.2f}."
    )


def _read(
    path: Path, named: Sequence[str], leave_out: Sequence[str] | None, console: Console
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the features, and the named columns as numbers."""
    import pandas as pd

    from ogive.data.table_files import read_table
    from ogive.difficulty.targets import TARGETS

    frame = read_table(path)
    frame = frame.set_index("item") if "item" in frame else frame
    for name in (*named, *(leave_out or ())):
        if name not in frame:
            there = ", ".join(map(str, frame.columns[:10]))
            hint = meant(name, frame.columns)
            raise InputError(f"'{path}' has no column '{name}'. Its columns: {there}.{hint}")
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


group.command(cls=HelpedCommand)(alarm)
