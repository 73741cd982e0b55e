"""Runs of AutoGluon, TabArena, the AutoML benchmark, OpenML and MLflow as problems × algorithms.

MLflow keeps runs in a folder `mlruns`, or in a SQLite file `mlflow.db`. They are read directly, so
MLflow need not be installed, and nothing is written to the store.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ogive._files import is_folder, is_plain, readable_file
from ogive.data.foreign_frames import as_pandas
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted, listed, shown

PROBLEM, ALGORITHM, VALUE = "problem", "algorithm", "value"
_LOWER = re.compile(
    r"err|loss|time|runtime|duration|cost|memory|hours|rmse|mae|mse|mape|mase|brier|deviance|"
    r"perplexity|entropy",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"^neg_", re.IGNORECASE)  # errors with their sign changed, in scikit-learn

FINISHED = ("3", "FINISHED")  # the status in the file store, and in the database
RUN_NAME, PARENT = "mlflow.runName", "mlflow.parentRunId"
PROBLEMS = ("dataset", "data_set", "problem", "task")
ALGORITHMS = ("model", "algorithm", "classifier", "regressor", "estimator", "estimator_name")
MAX_ENTRY = 1 << 20  # bytes of one parameter, tag or description
SQLITE = b"SQLite format 3\0"
_RUNS = (
    "SELECT r.run_uuid, e.name, r.name, r.status FROM runs r "
    "JOIN experiments e ON e.experiment_id = r.experiment_id "
    "WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' "
    "ORDER BY e.experiment_id, r.start_time, r.run_uuid"
)
_METRICS = "SELECT run_uuid, key, value FROM latest_metrics WHERE is_nan = 0 ORDER BY key"
_FACTS = (
    "SELECT run_uuid, key, value FROM params UNION ALL "
    "SELECT run_uuid, key, value FROM tags WHERE value IS NOT NULL"
)


def better_of(measure: str) -> str:
    """Return whether "higher" or "lower" values of a measure are better, by its name.

    >>> better_of("val/log_loss"), better_of("balanced_accuracy"), better_of("neg_log_loss")
    ('lower', 'higher', 'higher')
    """
    lower = _LOWER.search(measure) and not _NEGATED.search(measure)
    return "lower" if lower else "higher"


def _table_of(
    names: tuple[Any, Any], values: Any, measure: str, better: str, notes: Iterable[str] = ()
) -> pd.DataFrame:
    """Pivot runs, given by the names of problems and algorithms; repeated ones become their mean.

    Problems and algorithms are in order of appearance. `attrs` holds `measure`, `better`, `notes`.
    """
    problems, algorithms = (np.array(each, dtype=object) for each in names)
    rows = pd.DataFrame({PROBLEM: problems, ALGORITHM: algorithms, VALUE: values})
    known = rows[np.isfinite(rows[VALUE].to_numpy(dtype=float))]
    all_notes = list(notes)
    if len(known) < len(rows):
        lost = counted(len(rows) - len(known), "run")
        all_notes.append(f"{lost} without a finite value: left out.")
    if not len(known):
        raise InputError(f"No run has a value of {shown(measure)}, so there is no table to make.")
    sizes = known.groupby([PROBLEM, ALGORITHM], sort=False).size()
    if several := int((sizes > 1).sum()):
        all_notes.append(
            f"{counted(several, 'pair')} of problem and algorithm with several runs, "
            f"{int(sizes.max()):,} at most: their mean is used."
        )
    wide = known.pivot_table(index=PROBLEM, columns=ALGORITHM, values=VALUE, aggfunc="mean")
    table: pd.DataFrame = wide.astype(float).reindex(
        index=known[PROBLEM].unique(), columns=known[ALGORITHM].unique()
    )
    if missing := int(table.isna().to_numpy().sum()):
        all_notes.append(f"No run: {missing:,} of {counted(table.size, 'pair')}.")
    table.attrs = {"measure": measure, "better": better, "notes": all_notes}
    return table


def _metric_of(metric: str | None, known: Sequence[str], what: str, *, first: bool = False) -> str:
    """Return the metric that is asked for, the `first` one, or the only one that there is."""
    if metric is None and (first or len(known) == 1):
        return known[0]
    if metric in known:
        return str(metric)
    if not known:
        raise InputError(f"{what} holds no metric, so there is nothing to compare.")
    wrong = "" if metric is None else f"There is no metric {shown(metric)}. "
    raise InputError(
        f"{wrong}{what} holds {listed([shown(name) for name in known], 'metric', 8)}. Name one: "
        f"metric={shown(known[0])}."
    )


def known_results(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame | None:
    """Return the table of a frame of results; None if it is of no known form."""
    columns = {str(name) for name in frame.columns}
    for needed, read in FORMS:
        if all(any(name in columns for name in names) for names in needed):
            return read(frame, metric)
    return None


def leaderboards(tables: Mapping[Any, Any], metric: str | None) -> pd.DataFrame:
    """Return the table of several leaderboards of AutoGluon, by name of data set."""
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
    """Return a leaderboard: model, score_test or score_val (higher is better), times.

    Its data set is in the column `dataset`, if there is one.
    """
    usual = ("score_test", "score_val", "fit_time", "pred_time_test", "pred_time_val")
    known = [name for name in usual if name in frame.columns]
    if not known or "model" not in frame.columns:
        raise InputError(
            f"A leaderboard has the columns model and score_test or score_val, but there are "
            f"{listed([shown(str(name)) for name in frame.columns], 'column', 8)}."
        )
    chosen = _metric_of(metric, known, "The leaderboard", first=True)
    notes = []
    if chosen == "score_val":
        notes.append("Scores are those of validation, by which AutoGluon chose: too favourable.")
    means = _values_in(frame, "eval_metric") if chosen.startswith("score") else []
    measure = f"{chosen} ({', '.join(means)})" if means else chosen
    better = "higher" if chosen.startswith("score") else "lower"
    problem = _first_column(frame, ("dataset", "task"))
    return _from_columns(frame, problem, "model", chosen, measure, better, notes)


def _tabarena(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Return results of TabArena (TabRepo): one row per method, data set and fold."""
    usual = ("metric_error", "metric_error_val", "time_train_s", "time_infer_s")
    known = [name for name in usual if name in frame.columns]
    chosen = _metric_of(metric, known, "The table", first=True)
    method = _first_column(frame, ("method", "framework"))
    problem = _first_column(frame, ("dataset", "tid"))
    notes = []
    if "imputed" in frame.columns and (filled := frame["imputed"].fillna(value=False) == 1).any():
        notes.append(f"{int(filled.sum()):,} imputed results: left out.")
        frame = frame[~filled]
    kinds = _values_in(frame, "metric") if chosen.startswith("metric_error") else []
    if len(kinds) > 1:
        notes.append(
            f"Errors are of {listed(kinds, 'metric')}: compare them within a data set only."
        )
    return _from_columns(frame, problem, method, chosen, chosen, "lower", notes)


def _automl_benchmark(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Return results of the AutoML benchmark: `result` is always higher for the better."""
    known = [name for name in ("result", "training_duration", "predict_duration") if name in frame]
    chosen = _metric_of(metric, known, "The table", first=True)
    better = "higher" if chosen == "result" else "lower"
    return _from_columns(frame, "task", "framework", chosen, chosen, better)


def _openml(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Return evaluations as `openml.evaluations.list_evaluations` returns them, as a frame."""
    measure, notes = metric or VALUE, []
    if "function" in frame.columns:
        measure = _metric_of(metric, _values_in(frame, "function"), "The table")
        frame = frame[frame["function"] == measure]
    problem = _first_column(frame, ("data_name", "task_id"))
    if problem == "data_name" and frame.groupby("data_name")["task_id"].nunique().max() > 1:
        problem = "task_id"
        notes.append("Some data sets have several tasks, so problems are tasks.")
    algorithm = _first_column(frame, ("flow_name", "flow_id"))
    return _from_columns(frame, problem, algorithm, VALUE, measure, better_of(measure), notes)


def _values_in(frame: pd.DataFrame, column: str) -> list[str]:
    """Return the distinct values of a column as text, sorted; none if there is no such column."""
    if column not in frame.columns:
        return []
    return sorted(frame[column].dropna().astype(str).unique())


def _from_columns(
    frame: pd.DataFrame,
    problem: str,
    algorithm: str,
    value: str,
    measure: str,
    better: str,
    notes: Iterable[str] = (),
) -> pd.DataFrame:
    """Pivot these columns of a frame; rows without a problem or an algorithm are left out."""
    kept = frame[frame[[problem, algorithm]].notna().all(axis=1)]
    names = kept[problem].astype(str), kept[algorithm].astype(str)
    values = pd.to_numeric(kept[value], errors="coerce").to_numpy(dtype=float)
    return _table_of(names, values, measure, better, notes)


def _first_column(frame: pd.DataFrame, names: tuple[str, ...]) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise InputError(
        f"The table has no column {' or '.join(shown(name) for name in names)}. Add it; of one "
        "leaderboard per data set, give a mapping: {'iris': leaderboard, ...}."
    )


Reader = Callable[[pd.DataFrame, "str | None"], pd.DataFrame]
# The columns of each form, with alternatives, and its reader.
FORMS: tuple[tuple[tuple[tuple[str, ...], ...], Reader], ...] = (
    ((("metric_error",), ("method", "framework"), ("dataset", "tid")), _tabarena),
    ((("model",), ("score_val", "score_test")), _autogluon),
    ((("framework",), ("task",), ("result",), ("fold",)), _automl_benchmark),
    ((("flow_name", "flow_id"), ("task_id",), ("value",), ("run_id",)), _openml),
)


@dataclass
class Run:
    """One run as MLflow stores it."""

    id: str
    experiment: str
    name: str
    finished: bool
    metrics: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)  # parameters and tags


def is_mlflow(path: Path) -> bool:
    """Return True if a path is a store of MLflow."""
    try:
        if is_folder(path):
            return any(is_plain(each / "meta.yaml") for each in path.iterdir() if is_folder(each))
        if not is_plain(path):
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise FileError(f"'{path}' may not be read: {error.strerror}.") from error


def read_mlflow(
    path: Path, metric: str | None, problem: str | None, algorithm: str | None, max_bytes: int
) -> pd.DataFrame:
    """Return the last value of a metric of all finished runs as problems × algorithms."""
    try:
        read = _of_folder if is_folder(path) else _of_database
        runs = list(read(path, max_bytes))
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"'{error.filename or path}' may not be read: {error.strerror}.") from error
    finished = [run for run in runs if run.finished]
    if not finished:
        raise InputError(f"'{path}' holds no finished run, of {counted(len(runs), 'run')}.")
    metrics = list(dict.fromkeys(name for run in finished for name in sorted(run.metrics)))
    measure = _metric_of(metric, metrics, f"'{path}'")
    with_value = [run for run in finished if measure in run.metrics]
    parents = {run.id for run in with_value}
    kept = [run for run in with_value if run.facts.get(PARENT) not in parents]
    problems, what = _named(kept, problem, PROBLEMS, "problem")
    algorithms, who = _named(kept, algorithm, ALGORITHMS, "algorithm")
    notes = [f"Problems are {what}; algorithms are {who}."]
    for lost, why in (
        (len(runs) - len(finished), "not finished"),
        (len(finished) - len(with_value), f"without the metric {measure}"),
        (len(with_value) - len(kept), "below another run that has the metric"),
    ):
        if lost:
            notes.append(f"{counted(lost, 'run')} {why}: left out.")
    values = [run.metrics[measure] for run in kept]
    return _table_of((problems, algorithms), values, measure, better_of(measure), notes)


def _named(
    runs: list[Run], wanted: str | None, usual: tuple[str, ...], what: str
) -> tuple[list[str], str]:
    """Name each run by a parameter or tag, else by its experiment or its own name; say which."""
    if wanted is not None:
        if lacking := [run.name for run in runs if wanted not in run.facts]:
            raise InputError(
                f"{what} is {shown(wanted)}, but {listed(lacking, 'run')} have no parameter or tag "
                "of this name. Name another, or log it with every run."
            )
        usual = (wanted,)
    for name in usual:
        if all(name in run.facts for run in runs):
            return [run.facts[name] for run in runs], f"the parameter or tag {shown(name)}"
    if what == "problem":
        return [run.experiment for run in runs], "experiments"
    return [run.name for run in runs], "names of runs"


def _of_folder(folder: Path, max_bytes: int) -> Iterator[Run]:
    """Yield the runs of a file store: <experiment>/<run>/ with meta.yaml, metrics, params, tags."""
    for home in sorted(entry for entry in folder.iterdir() if is_plain(entry / "meta.yaml")):
        about = _about(home / "meta.yaml")
        if about.get("lifecycle_stage") == "deleted" or home.name in (".trash", "models"):
            continue
        for place in sorted(entry for entry in home.iterdir() if is_plain(entry / "meta.yaml")):
            run = _about(place / "meta.yaml")
            if "run_id" not in run and "run_uuid" not in run:
                continue  # a data set or a logged model
            if run.get("lifecycle_stage") == "deleted":
                continue
            facts = {
                file.relative_to(place / kind).as_posix(): _text(file, MAX_ENTRY).strip()
                for kind in ("params", "tags")
                for file in _files(place / kind)
            }
            yield Run(
                id=place.name,
                experiment=about.get("name", home.name),
                name=facts.get(RUN_NAME) or run.get("run_name") or place.name,
                finished=run.get("status") in FINISHED,
                metrics=dict(_metrics(place / "metrics", max_bytes)),
                facts=facts,
            )


def _about(file: Path) -> dict[str, str]:
    """Return the plain values of a meta.yaml: one `name: value` per line."""
    text = _text(file, MAX_ENTRY)
    pairs = (line.partition(": ") for line in text.splitlines() if re.match(r"\w+: ", line))
    return {name: _scalar(value.strip()) for name, _, value in pairs}


def _scalar(text: str) -> str:
    if text[:1] == text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == text[-1:] == '"' and len(text) > 1:
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def _metrics(folder: Path, max_bytes: int) -> Iterator[tuple[str, float]]:
    """Yield the last value of each metric: that of the highest step, then of the latest time."""
    for file in _files(folder):
        last: tuple[float, float, float] | None = None
        for line in _text(file, max_bytes).splitlines():
            words = line.split()
            try:
                moment, value = float(words[0]), float(words[1])
                step = float(words[2]) if len(words) > 2 else 0.0
            except (IndexError, ValueError) as error:
                raise FileError(
                    f"'{file}' is not a metric of MLflow: a line is {line!r:.60}, but it should be "
                    "a time, a value and a step."
                ) from error
            last = max(last, (step, moment, value)) if last else (step, moment, value)
        if last is not None:
            yield file.relative_to(folder).as_posix(), last[2]


def _files(folder: Path) -> Iterable[Path]:
    if not is_folder(folder):
        return ()
    return sorted(file for file in folder.rglob("*") if is_plain(file) and not file.is_symlink())


def _text(file: Path, max_bytes: int) -> str:
    if not file.stat().st_size:
        return ""
    return readable_file(file, max_bytes).read_text(encoding="utf-8", errors="replace")


def _of_database(file: Path, max_bytes: int) -> Iterator[Run]:
    """Yield the runs of a SQLite store, opened to read only."""
    address = f"{readable_file(file, max_bytes).resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as store:
            runs = {
                str(key): Run(str(key), str(experiment), str(name or key), status in FINISHED)
                for key, experiment, name, status in store.execute(_RUNS)
            }
            for run, key, value in store.execute(_METRICS):
                if run in runs:
                    runs[run].metrics[str(key)] = float(value)
            for run, key, value in store.execute(_FACTS):
                if run in runs:
                    runs[run].facts[str(key)] = str(value)
    except (sqlite3.Error, TypeError, ValueError) as error:  # texts and numbers that are none
        raise FileError(
            f"'{file}' could not be read as a store of MLflow: {error}. Give the folder mlruns, or "
            "the file mlflow.db of a newer MLflow."
        ) from error
    yield from runs.values()
