"""The commands `ogive portfolio select` and `ogive portfolio evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.cli.output import Console
from ogive.cli.portfolio_commands import Better, Cutoff, Folds, Runs
from ogive.cli.sources import Json, Quiet, RandomState, check_sources, check_targets
from ogive.errors import InputError
from ogive.results.numbers import counted, joined

if TYPE_CHECKING:
    import pandas as pd


MOST_NAMED = 5  # algorithms

SAVED = (".skops",)
PENALTY = 10.0

Features = Annotated[
    Path | None,
    typer.Option(
        help="Features of the problems: a table whose first column names them as RUNS does.",
        show_default="ASlib: the scenario's",
    ),
]
New = Annotated[
    Path | None,
    typer.Option(help="Features of new problems.", show_default="those that were learnt from"),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="File for the fitted selector (.skops).")
]


def evaluate(
    runs: Runs,
    features: Features = None,
    better: Better = None,
    cutoff: Cutoff = None,
    cv: Folds = None,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure how much of the gap to a perfect choice a selector closes on held-out problems.

    Runs that did not end count as ten times the cut-off. The time of computing features is charged
    where an ASlib scenario states it.
    """
    from ogive.portfolios.selector_evaluation import evaluate_selectors

    check_sources(runs, features)
    console = Console(quiet, json)
    table, rows = _read(console, runs, features)
    with console.progress("Evaluating"):
        told: dict[str, Any] = {"better": better, "cutoff": cutoff, "cv": cv}
        found = evaluate_selectors(table, rows, random_state=random_state, **told)
    console.finding(found, found.to_frame(), None, selectors=found.to_frame())


def select(
    runs: Runs,
    features: Features = None,
    new: New = None,
    better: Better = None,
    cutoff: Cutoff = None,
    out: Out = None,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn which algorithm to run from features of problems, and choose for new ones.

    The table has one row per problem: the algorithm to run, how sure the choice is, the next best,
    and the expected performance of each algorithm.
    """
    check_sources(runs, features, new)
    check_targets({"--out": (out, SAVED)}, [each for each in (features, new) if each])
    console = Console(quiet, json)
    table, rows = _read(console, runs, features)
    with console.progress("Learning"):
        selector = _learnt(table, rows, better, cutoff, random_state)
    asked = rows if new is None else _features(new)
    chosen = _chosen(selector, asked)
    if out is not None:
        selector.save(out)
    console.answer([_how_often(chosen), *selector.notes_], chosen, None)
    console.document({"notes": list(selector.notes_), "out": out, "chosen": chosen})


def _read(console: Console, runs: Path, features: Path | None) -> tuple[Any, Any]:
    """Return the runs, and the features of their problems."""
    from ogive.data.datasets.aslib import read_aslib
    from ogive.data.datasets.runs import read_runs

    with console.progress(f"Reading {runs.name}"):
        table: Any = read_aslib(runs) if runs.is_dir() else read_runs(runs)
        rows = getattr(table, "features", None) if features is None else _features(features)
    if rows is None:
        raise InputError(
            f"'{runs}' has no features, but selectors choose by them. Give --features with a "
            "table whose first column names the problems."
        )
    return table, rows


def _features(path: Path) -> pd.DataFrame:
    """Return a table whose first column names the problems."""
    from ogive.data.table_files import read_table

    frame = read_table(path)
    return frame.set_axis(frame.iloc[:, 0].astype(str), axis=0).iloc[:, 1:]


def _learnt(
    table: Any, rows: Any, better: str | None, cutoff: float | None, random_state: int
) -> Any:
    """Return a selector that has seen all runs, as `evaluate_selectors` would judge it."""
    from ogive.portfolios.selector_evaluation import AlgorithmSelector, learnt_from

    selector = AlgorithmSelector(random_state=random_state)
    told: dict[str, Any] = {"better": better, "cutoff": cutoff, "penalty": PENALTY}
    return learnt_from(selector, table, rows, **told)


def _how_often(chosen: pd.DataFrame) -> str:
    """Return which algorithms are chosen, and for how many problems, the most frequent first."""
    counts = chosen["algorithm"].value_counts()
    said = joined([f"{name} for {n:,}" for name, n in counts.items()][:MOST_NAMED])
    said += f", {counted(len(counts) - MOST_NAMED, 'other')}" if len(counts) > MOST_NAMED else ""
    return f"Of {counted(len(chosen), 'problem')}: {said}."


def _chosen(selector: Any, rows: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    ranking = selector.rank(rows)
    frame = pd.DataFrame({"algorithm": ranking[:, 0]}, index=rows.index.rename("problem"))
    frame["sureness"] = selector.sureness(rows)
    if ranking.shape[1] > 1:
        frame["next"] = ranking[:, 1]
    return frame.join(selector.predict_performance(rows).set_axis(rows.index, axis=0))
