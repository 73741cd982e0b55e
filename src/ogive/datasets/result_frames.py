"""Results of AutoGluon, TabArena, the AutoML benchmark and OpenML as problems × algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ogive.datasets.run_tables import (
    ALGORITHM,
    PROBLEM,
    VALUE,
    better_of,
    chosen_metric,
    table_of,
)
from ogive.errors import InputError
from ogive.tables.foreign_frames import as_pandas
from ogive.words import listed, shown

if TYPE_CHECKING:
    import pandas as pd


def known_results(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame | None:
    """Return the table of a frame of results; None if it is of no known form."""
    columns = {str(name) for name in frame.columns}
    for needed, read in FORMS:
        if all(any(name in columns for name in names) for names in needed):
            return read(frame, metric)
    return None


def leaderboards(tables: Mapping[Any, Any], metric: str | None) -> pd.DataFrame:
    """Return the table of several leaderboards of AutoGluon, by name of data set."""
    import pandas as pd

    parts = []
    for name, table in tables.items():
        frame = as_pandas(table)
        if not hasattr(frame, "columns"):
            raise InputError(
                f"{shown(str(name))} is of type {type(table).__name__}, but it should be a frame, "
                "as predictor.leaderboard(test_data) returns it."
            )
        parts.append(frame.assign(dataset=str(name)))
    if not parts:
        raise InputError("There is no leaderboard. Give {name of data set: leaderboard}.")
    return _autogluon(pd.concat(parts, ignore_index=True), metric)


def _autogluon(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """A leaderboard: model, score_test or score_val (higher is better), times.

    Its data set is in the column `dataset`, if there is one.
    """
    there = [name for name in _AUTOGLUON if name in frame.columns]
    if not there or "model" not in frame.columns:
        raise InputError(
            f"A leaderboard has the columns model and score_test or score_val, but there are "
            f"{listed([shown(str(name)) for name in frame.columns], 'column', 8)}."
        )
    chosen = there[0] if metric is None else chosen_metric(metric, there, "The leaderboard")
    notes = []
    if chosen == "score_val":
        notes.append("Scores are those of validation, by which AutoGluon chose: too favourable.")
    means = (
        sorted(frame["eval_metric"].dropna().astype(str).unique())
        if ("eval_metric" in frame.columns and chosen.startswith("score"))
        else []
    )
    measure = f"{chosen} ({', '.join(means)})" if means else chosen
    rows = _rows(frame, _first(frame, ("dataset", "task")), "model", chosen)
    return table_of(rows, measure, "higher" if chosen.startswith("score") else "lower", notes)


_AUTOGLUON = ("score_test", "score_val", "fit_time", "pred_time_test", "pred_time_val")


def _tabarena(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Results of TabArena (TabRepo): one row per method, data set and fold."""
    there = [name for name in _TABARENA if name in frame.columns]
    chosen = there[0] if metric is None else chosen_metric(metric, there, "The table")
    method, problem = _first(frame, ("method", "framework")), _first(frame, ("dataset", "tid"))
    notes = []
    if "imputed" in frame.columns and (filled := frame["imputed"].fillna(value=False) == 1).any():
        notes.append(f"{int(filled.sum()):,} imputed results: left out.")
        frame = frame[~filled]
    if chosen.startswith("metric_error") and "metric" in frame.columns:
        kinds = sorted(frame["metric"].dropna().astype(str).unique())
        if len(kinds) > 1:
            notes.append(
                f"Errors are of {listed(kinds, 'metric')}: compare them within a data set only."
            )
    return table_of(_rows(frame, problem, method, chosen), chosen, "lower", notes)


_TABARENA = ("metric_error", "metric_error_val", "time_train_s", "time_infer_s")


def _automl_benchmark(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Results of the AutoML benchmark: `result` is always higher for the better."""
    there = [name for name in ("result", "training_duration", "predict_duration") if name in frame]
    chosen = there[0] if metric is None else chosen_metric(metric, there, "The table")
    better = "higher" if chosen == "result" else "lower"
    return table_of(_rows(frame, "task", "framework", chosen), chosen, better)


def _openml(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Evaluations as `openml.evaluations.list_evaluations` returns them, as a frame."""
    measure, notes = metric or VALUE, []
    if "function" in frame.columns:
        names = sorted(frame["function"].dropna().astype(str).unique())
        measure = chosen_metric(metric, names, "The table")
        frame = frame[frame["function"] == measure]
    problem = _first(frame, ("data_name", "task_id"))
    if problem == "data_name" and frame.groupby("data_name")["task_id"].nunique().max() > 1:
        problem = "task_id"
        notes.append("Some data sets have several tasks, so problems are tasks.")
    algorithm = _first(frame, ("flow_name", "flow_id"))
    return table_of(_rows(frame, problem, algorithm, VALUE), measure, better_of(measure), notes)


def _rows(frame: pd.DataFrame, problem: str, algorithm: str, value: str) -> pd.DataFrame:
    import pandas as pd

    there = frame[[problem, algorithm]].notna().all(axis=1)
    kept = frame[there]
    return pd.DataFrame(
        {
            PROBLEM: kept[problem].astype(str).to_numpy(dtype=object),
            ALGORITHM: kept[algorithm].astype(str).to_numpy(dtype=object),
            VALUE: pd.to_numeric(kept[value], errors="coerce").to_numpy(dtype=float),
        }
    )


def _first(frame: pd.DataFrame, names: tuple[str, ...]) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise InputError(
        f"The table has no column {' or '.join(shown(name) for name in names)}. Add it; of one "
        "leaderboard per data set, give a mapping: {'iris': leaderboard, ...}."
    )


Reader = Callable[["pd.DataFrame", "str | None"], "pd.DataFrame"]
# The columns of each form, with alternatives, and its reader.
FORMS: tuple[tuple[tuple[tuple[str, ...], ...], Reader], ...] = (
    ((("metric_error",), ("method", "framework"), ("dataset", "tid")), _tabarena),
    ((("model",), ("score_val", "score_test")), _autogluon),
    ((("framework",), ("task",), ("result",), ("fold",)), _automl_benchmark),
    ((("flow_name", "flow_id"), ("task_id",), ("value",), ("run_id",)), _openml),
)
