"""Runs that MLflow tracked on this machine: a folder `mlruns`, or a SQLite file `mlflow.db`.

Files are read directly, so MLflow need not be installed, and nothing is written to the store.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ogive.datasets.run_tables import (
    ALGORITHM,
    PROBLEM,
    VALUE,
    better_of,
    chosen_metric,
    table_of,
)
from ogive.errors import FileError, InputError
from ogive.files import is_folder, is_plain, readable_file
from ogive.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

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
    """Whether a path is a store of MLflow."""
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
    import pandas as pd

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
    """The plain values of a meta.yaml: one `name: value` per line."""
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
    """The last value of each metric: that of the highest step, then of the latest time."""
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
    """The runs of a SQLite store, opened to read only."""
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
