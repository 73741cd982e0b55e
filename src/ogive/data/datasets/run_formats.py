"""Runs of AutoGluon, TabArena, AMLB, OpenML, MLflow.

Results of AutoGluon, TabArena, the AutoML benchmark and OpenML as problems × algorithms.

Performance of flows on tasks of OpenML, as problems × algorithms.

Runs that MLflow tracked on this machine: a folder `mlruns`, or a SQLite file `mlflow.db`.

Files are read directly, so MLflow need not be installed, and nothing is written to the store.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ogive._files import PathLike, is_folder, is_plain, readable_file
from ogive.data.datasets.openml import OpenMLServer, Server, number_of, suite_tasks
from ogive.data.datasets.run_tables import (
    ALGORITHM,
    PROBLEM,
    VALUE,
    better_of,
    chosen_metric,
    table_of,
)
from ogive.data.foreign_frames import as_pandas
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted, listed, repeated, shown


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
    """Return results of TabArena (TabRepo): one row per method, data set and fold."""
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
    """Return results of the AutoML benchmark: `result` is always higher for the better."""
    there = [name for name in ("result", "training_duration", "predict_duration") if name in frame]
    chosen = there[0] if metric is None else chosen_metric(metric, there, "The table")
    better = "higher" if chosen == "result" else "lower"
    return table_of(_rows(frame, "task", "framework", chosen), chosen, better)


def _openml(frame: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """Return evaluations as `openml.evaluations.list_evaluations` returns them, as a frame."""
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


Repeated = Literal["mean", "best", "latest"]

_COLUMNS = ("run_id", "task_id", "flow_id", "flow_name", "value")
_MEASURE = re.compile(r"[A-Za-z0-9_]{1,64}")  # it becomes a part of an address
_LOWER_IS_BETTER = re.compile(r"error|time|cost|memory|hours")


def openml_performance(
    tasks: Any,
    measure: str = "predictive_accuracy",
    flows: Iterable[int] | None = None,
    *,
    repeated: Repeated = "mean",
    max_runs: int = 100_000,
    cache: PathLike | None = None,
    server: Server | None = None,
) -> pd.DataFrame:
    """Ask OpenML for the performance of flows on tasks: a frame of tasks × flows.

    `tasks` is a suite like "openml-suite:99", or numbers of tasks: [31, 37] or "openml-task:31".
    `measure` is one that OpenML computes. `flows` are numbers of flows; by default, all flows that
    were run are included, which are very many for well-known tasks. If a flow was run on a task
    several times, `repeated` selects the mean, the best or the latest value. Cells without a run
    are NaN.

    `frame.attrs` holds the `measure`, which direction is `better`, and `notes`. Runs are added
    every day, and nothing is cached: save the frame to reproduce a result. For example:

        openml_performance("openml-suite:99", flows=[60, 65, 66, 75])
    """
    if repeated not in get_args(Repeated):
        raise InputError(
            f"repeated is {shown(repeated)}, but it should be 'mean', 'best' or 'latest'."
        )
    if not isinstance(measure, str) or not _MEASURE.fullmatch(measure):
        raise InputError(
            f"measure is {shown(measure)}, but it should be the name of a measure of OpenML, "
            "like 'predictive_accuracy'."
        )
    if max_runs < 1:
        raise InputError(f"max_runs is {shown(max_runs)}, but it should be at least 1.")
    numbers = _tasks(tasks, cache, server)
    chosen = None if flows is None else _numbers(flows, "flow")
    runs = (server or OpenMLServer()).evaluations(numbers, measure, chosen, max_runs + 1)
    _check_runs(runs, measure, max_runs)
    return _table(runs, numbers, measure, repeated)


def _tasks(tasks: Any, cache: PathLike | None, server: Server | None) -> list[int]:
    """Return the numbers of the tasks, given or from a suite."""
    if isinstance(tasks, str) and tasks.startswith("openml-suite:"):
        name = tasks.removeprefix("openml-suite:")
        return list(suite_tasks(name, cache=cache, server=server))
    return _numbers(tasks, "task")


def _numbers(given: Any, noun: str) -> list[int]:
    """Return the distinct numbers, in the order given."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    texts = [str(one).removeprefix(f"openml-{noun}:") for one in several]
    if not texts:
        raise InputError(f"There is no {noun} to ask for. Give at least one number.")
    return list(dict.fromkeys(number_of(text, noun) for text in texts))


def _check_runs(runs: pd.DataFrame, measure: str, max_runs: int) -> None:
    """Refuse an empty list, too many runs, and lists of another form."""
    if not len(runs) or ("value" in runs.columns and runs["value"].isna().all()):
        raise InputError(
            f"OpenML knows no run of these tasks with the measure {shown(measure)}. "
            "Check the numbers of tasks and flows, and the name of the measure, at "
            "https://www.openml.org."
        )
    lacking = [name for name in _COLUMNS if name not in runs.columns]
    if lacking:
        raise FileError(
            f"OpenML's list of runs lacks {listed(lacking, 'column')}. The package openml may be "
            "too new: install another version of it."
        )
    if len(runs) > max_runs:
        raise InputError(
            f"There are more than {max_runs:,} runs of these tasks. Name flows or fewer tasks, or "
            "pass a larger max_runs."
        )


def _table(runs: pd.DataFrame, tasks: list[int], measure: str, repeated: Repeated) -> pd.DataFrame:
    """One row per task in the order requested, one column per flow in the order of numbers."""
    better = "lower" if _LOWER_IS_BETTER.search(measure) else "higher"
    valued = runs[runs["value"].notna()].sort_values("run_id")
    ways: dict[Repeated, Literal["mean", "min", "max", "last"]] = {
        "mean": "mean",
        "best": "min" if better == "lower" else "max",
        "latest": "last",
    }
    wide = valued.pivot_table(
        index="task_id",
        columns="flow_id",
        values="value",
        aggfunc=ways[repeated],
    )
    wide = wide.reindex([task for task in tasks if task in wide.index])
    names = valued.drop_duplicates("flow_id", keep="last").set_index("flow_id")["flow_name"]
    table = wide.astype(float).set_axis(_flow_names(wide.columns, names), axis=1)
    table = table.set_axis([str(task) for task in table.index], axis=0)
    table = table.rename_axis(index="problem", columns="algorithm")
    table.attrs = {
        "measure": measure,
        "better": better,
        "notes": _notes(runs, valued, tasks, table, repeated),
    }
    return table


def _flow_names(flows: pd.Index, names: pd.Series) -> list[str]:
    """Return the name of each flow, with its number if two flows have the same name."""
    texts = [str(names[flow]) for flow in flows]
    shared = set(repeated(texts))
    return [
        f"{text} [{flow}]" if text in shared else text
        for text, flow in zip(texts, flows, strict=True)
    ]


def _notes(
    runs: pd.DataFrame,
    valued: pd.DataFrame,
    tasks: list[int],
    table: pd.DataFrame,
    repeated: Repeated,
) -> list[str]:
    notes = []
    sizes = valued.groupby(["task_id", "flow_id"]).size()
    several = int((sizes > 1).sum())
    if several:
        notes.append(
            f"{counted(several, 'pair')} of task and flow with several runs, {int(sizes.max()):,} "
            f"at most: the {repeated} value is used."
        )
    absent = [str(task) for task in tasks if str(task) not in table.index]
    if absent:
        notes.append(f"{listed(absent, 'task')} without a run: left out.")
    n_missing = int(table.isna().sum().sum())
    if n_missing:
        notes.append(f"No run: {n_missing:,} of {counted(table.size, 'pair')}.")
    n_without = len(runs) - len(valued)
    if n_without:
        notes.append(f"{counted(n_without, 'run')} without a value: left out.")
    return notes


FINISHED = ("3", "FINISHED")  # in the file store, and in the database
RUN_NAME, PARENT = "mlflow.runName", "mlflow.parentRunId"
PROBLEMS = ("dataset", "data_set", "problem", "task")
ALGORITHMS = ("model", "algorithm", "classifier", "regressor", "estimator", "estimator_name")
MAX_ENTRY = 1 << 20  # bytes of one parameter, tag or description
SQLITE = b"SQLite format 3\0"


@dataclass
class Run:
    """What MLflow knows of one run."""

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
        found = list(read(path, max_bytes))
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"'{error.filename or path}' may not be read: {error.strerror}.") from error
    runs = [run for run in found if run.finished]
    if not runs:
        raise InputError(f"'{path}' holds no finished run, of {counted(len(found), 'run')}.")
    there = list(dict.fromkeys(name for run in runs for name in sorted(run.metrics)))
    measure = chosen_metric(metric, there, f"'{path}'")
    with_value = [run for run in runs if measure in run.metrics]
    parents = {run.id for run in with_value}
    kept = [run for run in with_value if run.facts.get(PARENT) not in parents]
    problems, what = _named(kept, problem, PROBLEMS, "problem")
    algorithms, who = _named(kept, algorithm, ALGORITHMS, "algorithm")
    notes = [f"Problems are {what}; algorithms are {who}."]
    for lost, why in (
        (len(found) - len(runs), "not finished"),
        (len(runs) - len(with_value), f"without the metric {measure}"),
        (len(with_value) - len(kept), "below another run that has the metric"),
    ):
        if lost:
            notes.append(f"{counted(lost, 'run')} {why}: left out.")
    rows = pd.DataFrame(
        {
            PROBLEM: np.array(problems, dtype=object),
            ALGORITHM: np.array(algorithms, dtype=object),
            VALUE: [run.metrics[measure] for run in kept],
        }
    )
    return table_of(rows, measure, better_of(measure), notes)


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
        return [run.facts[wanted] for run in runs], f"the parameter or tag {shown(wanted)}"
    for name in usual:
        if all(name in run.facts for run in runs):
            return [run.facts[name] for run in runs], f"the parameter or tag {shown(name)}"
    if what == "problem":
        return [run.experiment for run in runs], "experiments"
    return [run.name for run in runs], "names of runs"


def _of_folder(folder: Path, max_bytes: int) -> Iterator[Run]:
    """The runs of a file store: <experiment>/<run>/ with meta.yaml, metrics, params and tags."""
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
            facts = dict(_entries(place / "params")) | dict(_entries(place / "tags"))
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


def _entries(folder: Path) -> Iterator[tuple[str, str]]:
    for file in _files(folder):
        yield file.relative_to(folder).as_posix(), _text(file, MAX_ENTRY).strip()


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
