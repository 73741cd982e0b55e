"""The command `ogive portfolio`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ogive.cli.output import Console
from ogive.cli.portfolio_findings import Told, found_in
from ogive.cli.sources import (
    NOT_CONVERGED,
    Json,
    Layout,
    Quiet,
    RandomState,
    check_sources,
    choice,
    finish,
    page_of,
    report_folder,
    write_page,
)
from ogive.data.datasets.aslib_description import Better as BetterName
from ogive.errors import InputError
from ogive.portfolios.airt import MODELS, Settings
from ogive.portfolios.performances import TRANSFORMS
from ogive.portfolios.portfolio_choice import AIRT

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.datasets.aslib import AslibScenario


COLUMNS = ["consistency", "consistency_se", "difficulty_limit", "difficulty_limit_se", "anomalous"]

Runs = Annotated[
    Path,
    typer.Argument(
        help="Performance of algorithms on problems: a table with one row per problem and one "
        "column per algorithm, or with the columns problem, algorithm and value (.csv, .tsv, "
        ".parquet, .arff); or the folder of an ASlib scenario."
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder for tables, figures and the bank.")
]
Better = Annotated[
    str | None,
    choice(
        "--better",
        names=get_args(BetterName),
        text="Whether higher or lower values are better.",
        show_default="higher; ASlib: as stated",
    ),
]
Transform = Annotated[
    str | None,
    choice(
        "--transform",
        names=TRANSFORMS,
        text="raw: unchanged; negate: reversed and scaled to 0 to 1; reciprocal: 1 / (1 + t).",
        show_default="raw; negate if lower is better",
    ),
]
Low = Annotated[
    float | None, typer.Option(help="Lowest possible value.", show_default="the observed one")
]
High = Annotated[
    float | None, typer.Option(help="Highest possible value.", show_default="the observed one")
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        help="Time at which runs were cut off.", show_default="none; ASlib: the scenario's"
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option(help="Cut-off runs count as this multiple of the cut-off; 10 is PAR10."),
]
Model = Annotated[
    str, choice("--model", "-m", names=MODELS, text="Measurement model of performance.")
]
Grades = Annotated[
    int | None,
    typer.Option(
        min=2, help="Number of grades, for --model graded.", show_default=str(Settings.grades)
    ),
]
Preset = Annotated[str | None, choice("--preset", names=(AIRT,), text="Reproduce the AIRT paper.")]
MeasureNames = Annotated[
    list[str],
    typer.Option(
        "--measure",
        help="Performance measure of an ASlib scenario, or metric of tracked runs; of several "
        "(repeat the option), each has its portfolio, beside who is best over all.",
        show_default="its first",
    ),
]
Epsilon = Annotated[
    list[float],
    typer.Option(
        "--epsilon",
        "-e",
        min=0.0,
        help="How far from the best curve still counts as strong; repeatable. Portfolios are "
        "chosen by the largest.",
    ),
]
FeatureNames = Annotated[
    list[str],
    typer.Option(
        "--features",
        help="Column that is a feature of problems, not an algorithm; repeatable.",
        show_default="none",
    ),
]
Size = Annotated[
    int | None,
    typer.Option(min=1, help="Number of algorithms to keep.", show_default="all strong somewhere"),
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Folds of the cross-validation of portfolios.",
        show_default="10; ASlib: the scenario's",
    ),
]


def portfolio(
    runs: Runs,
    out: Out = None,
    better: Better = None,
    transform: Transform = None,
    low: Low = None,
    high: High = None,
    cutoff: Cutoff = None,
    penalty: Penalty = None,
    model: Model = "continuous",
    grades: Grades = None,
    preset: Preset = None,
    measure: MeasureNames = [],  # noqa: B006
    features: FeatureNames = [],  # noqa: B006
    epsilon: Epsilon = [0.0, 0.01],  # noqa: B006
    size: Size = None,
    cv: Folds = None,
    layout: Layout = "auto",
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare algorithms on problems: who is consistent, who leads where, and which few to keep.

    Without --out, the table of algorithms is printed as CSV. `ogive portfolio evaluate` measures
    what choosing by features of problems is worth, and `ogive portfolio select` chooses.
    """
    _check_source(runs, layout)
    _check_direction(runs, better, transform, cutoff, penalty)
    _check_model(model, grades, preset)
    bounds = _bounds(low, high)
    folder = None if out is None else report_folder(out, runs)
    check_sources(runs)
    console = Console(quiet, json)
    settings: dict[str, Any] = {"better": better, "transform": transform, "bounds": bounds}
    settings |= {"cutoff": cutoff, "penalty": penalty, "preset": preset, "model": model}
    settings |= {} if grades is None else {"grades": grades}
    with console.progress(f"Reading {runs.name}"):
        wanted: list[str | None] = [*measure] or [None]
        tables = {name: _read(runs, name, layout, features) for name in wanted}
    if len(tables) > 1:
        _compare_measures(console, tables, settings, folder)
        return
    (table,) = tables.values()
    _check_scenario(table, better, cutoff, penalty)
    told = found_in(console, table, settings, epsilon, size, cv, random_state)
    files = [] if folder is None else _write(console, told, folder, size)
    _show(console, told, folder)
    console.document({"out": folder, "files": files, **told.document()})
    converged = told.found.calibration.converged
    if not converged and preset is None:  # the preset stops early on purpose
        raise typer.Exit(NOT_CONVERGED)


def _compare_measures(
    console: Console, tables: dict[Any, Any], settings: dict[str, Any], folder: Path | None
) -> None:
    from ogive.portfolios.measure_comparison import compare_measures

    with console.progress("Fitting"):
        found = compare_measures(tables, **settings)
    finish(console, found, folder, "Several measures of algorithms", settings, best=found.best)


def _check_source(runs: Path, layout: str) -> None:
    if runs.is_dir() and layout != "auto":
        raise InputError(f"--layout is for tables, but '{runs}' is a folder. Leave it out.")


def _check_direction(
    runs: Path,
    better: str | None,
    transform: str | None,
    cutoff: float | None,
    penalty: float | None,
) -> None:
    """Refuse wrong settings before anything is read; a scenario states what is better."""
    known = better or (None if runs.is_dir() else "higher")
    if transform is not None and known is not None and (transform == "raw") != (known == "higher"):
        raise InputError(
            f"--transform {transform} does not go with --better {known}: raw is for values "
            "where higher is better, negate and reciprocal for the others."
        )
    for option, value in (("--cutoff", cutoff), ("--penalty", penalty)):
        if value is not None and not 0 < value < float("inf"):
            raise InputError(f"{option} is {value:g}, but it should be a number above 0.")
        if value is not None and known == "higher":
            raise InputError(f"{option} is for runtimes: give --better lower with it.")
    if penalty is not None and cutoff is None and not runs.is_dir():
        raise InputError("--penalty is a multiple of the cut-off: give --cutoff with it.")


def _check_scenario(
    table: pd.DataFrame | AslibScenario,
    better: str | None,
    cutoff: float | None,
    penalty: float | None,
) -> None:
    """Refuse settings that do not suit the scenario, in terms of the command line."""
    if (better or getattr(table, "better", None)) != "higher":
        return
    for option, value in (("--cutoff", cutoff), ("--penalty", penalty)):
        if value is not None:
            raise InputError(
                f"{option} is for runtimes, but for '{getattr(table, 'measure', 'these')}' higher "
                "is better. Leave it out, or name another --measure."
            )


def _check_model(model: str, grades: int | None, preset: str | None) -> None:
    if model != "graded" and grades is not None:
        raise InputError("--grades is for --model graded. Leave it out, or name that model.")
    if model == "graded" and preset is not None:
        raise InputError(f"--preset {preset} uses the continuous model. Leave --model out.")


def _bounds(low: float | None, high: float | None) -> tuple[float, float] | None:
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise InputError("--low and --high go together: give both or neither.")
    if not float("-inf") < low < high < float("inf"):
        raise InputError(f"--low is {low:g} and --high {high:g}, but low should be below high.")
    return low, high


def _read(
    runs: Path, measure: str | None, layout: str, features: list[str]
) -> pd.DataFrame | AslibScenario:
    from ogive.data.datasets.aslib import read_aslib
    from ogive.data.datasets.run_formats import is_mlflow
    from ogive.data.datasets.runs import read_runs

    if runs.is_dir() and not is_mlflow(runs):
        return read_aslib(runs, measure)
    return read_runs(runs, layout=layout, metric=measure, features=features or None)


def _write(console: Console, told: Told, folder: Path, size: int | None) -> list[Path]:
    from ogive.reporting.exports import write_folder

    with console.progress("Drawing"):
        files = write_folder(told.contents(size), folder)
        settings = {"epsilons": told.epsilons, "random_state": told.random_state}
        page = write_page(folder, told.findings, "Portfolio of algorithms", settings)
    return [*files, page]


def _show(console: Console, told: Told, folder: Path | None) -> None:
    """Print the verdict, and how often each algorithm is within epsilon of the best curve."""
    frame = told.found.algorithms
    levels = sorted({min(told.epsilons), max(told.epsilons)})
    shares = {f"within {level:g}": told.occupancy(level)["occupancy"] for level in levels}
    shown = frame[COLUMNS].assign(**shares).sort_values([*shares][::-1], ascending=False)
    console.answer(
        [*(each.meaning for each in told.findings), *told.notes],
        frame,
        folder,
        shown=shown,
        written={"Tables and figures": folder, "Report": page_of(folder)},
    )
