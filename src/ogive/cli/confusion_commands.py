"""The command `ogive confusion`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.application import resumable
from ogive.cli.decode_commands import Binary, Pool, Target, TestSize, TimeLimit
from ogive.cli.output import Console
from ogive.cli.sources import (
    NOT_CONVERGED,
    Jobs,
    Json,
    Quiet,
    RandomState,
    finish,
    out_folder,
    write_page,
)
from ogive.data.pools.pool import POOLS

if TYPE_CHECKING:
    import pandas as pd


REGRESSORS = "regressors"
COLUMNS = ["accuracy", "f1", "recall", "true_score", "total_score", "total_score_filtered"]

Source = Annotated[
    str, typer.Argument(help="Data set: data.csv#target, .parquet, .arff, sklearn:wine, openml:53.")
]
Models = Annotated[
    str,
    typer.Option(
        help=f"What to compare: a pool ({', '.join(POOLS)}), or a table of predictions with "
        "one column per model and one row per test instance."
    ),
]
Positive = Annotated[str | None, typer.Option(help="The positive class.", show_default="the last")]
FOLDER = "ogive-confusion"
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for tables, figures, the item bank and answers.",
        show_default=FOLDER,
    ),
]
MaxTestSize = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of test instances.", show_default="all")
]


def confusion(
    dataset: Source,
    models: Models = "tuned",
    pool: Pool = "random-200",
    out: Out = None,
    target: Target = None,
    positive: Positive = None,
    model: Binary = "3pl",
    test_size: TestSize = 0.3,
    max_test_size: MaxTestSize = None,
    time_limit: TimeLimit = None,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Look inside the confusion matrix: which items each of several classifiers gets right.

    A pool of random classifiers calibrates the test instances. Each finished classifier is kept in
    the folder: the same command resumes an interrupted run. With --pool regressors, the target is a
    number, and its grades take the place of classes.
    """
    folder = out_folder(out or Path(FOLDER))
    from ogive.classifiers.classifier_comparison import compare_classifiers
    from ogive.data.datasets.load import load_dataset
    from ogive.reporting.exports import write_folder

    console = Console(quiet, json)
    given = models if models in POOLS else _predictions(models)
    if pool == REGRESSORS:
        _compare_regressors(
            console,
            dataset,
            REGRESSORS if models == "tuned" else given,
            folder,
            named=out is not None,
            target=target,
            test_size=test_size,
            max_test_size=max_test_size,
            time_limit=time_limit,
            n_jobs=jobs,
            random_state=random_state,
        )
        return
    with console.progress("Running classifiers") as report, resumable():
        found = compare_classifiers(
            dataset,
            given,
            pool,
            target=target,
            positive=positive,
            model=model,
            test_size=test_size,
            max_test_size=max_test_size,
            time_limit=time_limit,
            folder=folder / "answers",
            n_jobs=jobs,
            random_state=random_state,
            progress=report,
        )
    with console.progress("Drawing"), resumable():
        files = write_folder(found, folder)
        page = write_page(
            folder,
            {found.dataset: found},
            f"Classifiers on {found.dataset}",
            {"models": models, "pool": pool, "model": model, "random_state": random_state},
            load_dataset(dataset, target),
        )
    frame = found.to_frame()
    console.finding(
        found,
        frame,
        out,
        shown=frame[[name for name in COLUMNS if name in frame]],
        written={"Tables and figures": folder, "Report": page},
        out=folder,
        files=[*files, page],
        failures=found.failures,
        models=frame,
    )
    if not found.curves.calibration.converged:
        raise typer.Exit(NOT_CONVERGED)


def _compare_regressors(
    console: Console, dataset: str, models: Any, folder: Path, *, named: bool, **settings: Any
) -> None:
    """Compare regressors on a data set with numbers to predict."""
    from ogive.classifiers.regressor_comparison import compare_regressors

    with console.progress("Running regressors") as report, resumable():
        found = compare_regressors(
            dataset, models, REGRESSORS, folder=folder / "answers", progress=report, **settings
        )
    shown = {"pool": REGRESSORS, "random_state": settings["random_state"]}
    finish(console, found, folder, f"Regressors on {found.dataset}", shown, named=named)


def _predictions(path: str) -> pd.DataFrame:
    """Read a table of predictions; a column called item names the rows."""
    from ogive.data.table_files import read_table

    frame = read_table(path)
    first = str(frame.columns[0]).strip().lower()
    if first in ("item", "") or first.startswith("unnamed"):  # as pandas writes an index
        return frame.set_index(frame.columns[0])
    return frame
