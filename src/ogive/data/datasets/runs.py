"""Runs of algorithms on problems, from tables of any origin; plain tables are read here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ogive._files import TO_RAISE, PathLike, most_bytes, size_for_people
from ogive.data.datasets.run_formats import (
    ALGORITHM,
    PROBLEM,
    is_mlflow,
    known_results,
    leaderboards,
    read_mlflow,
)
from ogive.data.foreign_frames import as_pandas, with_whole_texts
from ogive.data.names import is_numbered
from ogive.data.table_files import MAX_BYTES, as_name, read_table
from ogive.errors import InputError
from ogive.results.numbers import listed, meant, shown

LAYOUTS = ("auto", "wide", "long")
_PROBLEMS = ("problem", "problem_id", "instance", "instance_id", "dataset", "task", "task_id")
_ALGORITHMS = ("algorithm", "algorithm_id", "solver", "solver_id", "flow", "flow_id")
_VALUES = ("value", "performance", "score", "runtime", "time", "accuracy")
_BETTER = {"runtime": "lower", "time": "lower", "accuracy": "higher"}
_FIRST_OF_WIDE = {*_PROBLEMS, "name", "id", "", "unnamed: 0"}
_STATUS = ("status", "runstatus", "run_status")
_OK = ("ok", "success", "solved", "finished", "complete", "completed", "true", "1")
_NO_MEASURE = (
    *_STATUS,
    *("repetition", "repeat", "seed", "fold", "run", "run_id", "id", "index", "unnamed: 0"),
)
_FEATURE_PREFIXES = ("feature_", "feature:", "feat_")
OTHER_SCALE = 100.0  # factor by which a scale must differ from that of most columns
FEWEST = 4  # columns to say what most have


def read_runs(
    source: Any,
    *,
    layout: str = "auto",
    metric: str | None = None,
    problem: str | None = None,
    algorithm: str | None = None,
    features: Sequence[str] | None = None,
    max_bytes: int | None = None,
) -> pd.DataFrame:
    """Read the performance of algorithms on problems, for `portfolio` and `tournament`.

    The frame has one row per problem and one column per algorithm. `frame.attrs` holds the
    `measure`, which direction is `better`, and `notes`, where they are known; `portfolio` uses
    them. `tournament`, in which the higher score wins, takes `frame.T`, or `-frame.T` of errors.

    Parameters
    ----------
    source
        - A table: `.csv`, `.tsv` (also with `.gz`), `.parquet`, `.arff`, or a frame. *Long* tables
          have the columns problem (or instance, dataset, task, also with _id), algorithm (or
          solver, flow) and value (or performance, score, runtime, time, accuracy, or the only
          further column; `metric` names one of several). A column status (or runstatus) says which
          runs ended "ok"; the others did not solve their problem. All others are *wide*: one row
          per problem, one column per algorithm; the first column names the problems if its heading
          is one of the above, name, id or empty, or if it holds text. An empty cell means no run.
        - A result table of TabArena (TabRepo), of the AutoML benchmark, or of OpenML's
          `list_evaluations`; folds and repeats become their mean.
        - Leaderboards of AutoGluon: a mapping from data sets to frames.
        - Runs that MLflow tracked: the folder `mlruns`, or the file `mlflow.db`. The last value of
          the metric counts.
    layout
        "wide" or "long" if the column names of a plain table are misleading.
    metric
        Which metric, where there are several.
    problem, algorithm
        The parameter or tag of MLflow that names the data set, and the one that names the model.
        By default, such as "dataset" and "model" where every run has them, else the experiment and
        the name of the run.
    features
        Columns of a wide table that are features of problems, not algorithms. Where a column lies
        on another scale than the rest, you are asked; an empty list says that all are algorithms.
    max_bytes
        No file may unpack to more than this.

    Examples
    --------
    >>> import ogive as og
    >>> from pathlib import Path
    >>> _ = Path("runs.csv").write_text('''problem,solver,runtime
    ... p1,fast,1.5
    ... p1,slow,9
    ... p2,slow,7
    ... ''')
    >>> runs = og.read_runs("runs.csv")
    >>> runs.columns.tolist(), runs.shape, runs.attrs["better"]
    (['fast', 'slow'], (2, 2), 'lower')
    """
    if layout not in LAYOUTS:
        raise InputError(f"`layout` must be 'auto', 'wide' or 'long', got {shown(layout)}.")
    if isinstance(source, Mapping):
        return leaderboards(source, metric)
    most = most_bytes(max_bytes, MAX_BYTES)
    given = as_pandas(source)
    if not hasattr(given, "columns"):
        if isinstance(source, str | os.PathLike) and is_mlflow(Path(source)):
            return read_mlflow(Path(source), metric, problem, algorithm, most)
        frame, path = read_table(source, most), source
    else:
        frame, path = _without_index(with_whole_texts(given)), "the frame"
    known = known_results(frame, metric) if layout == "auto" else None
    if known is not None:
        return known
    columns = None if layout == "wide" else _long_columns(path, frame, layout, metric)
    if columns is not None:
        return _from_long(path, frame, columns, most, stated=metric is not None)
    if metric is not None:
        raise InputError(
            f"metric is {shown(metric)}, but '{path}' is a wide table, one column per "
            "algorithm: it has one measure. Leave it out."
        )
    return _as_runs(path, _algorithms_only(path, _wide(path, frame), features))


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose index, if it says something, is its first column."""
    if frame.index.nlevels > 1:
        return frame.reset_index()
    plain = frame.index.name is None and is_numbered(frame.index)
    return frame if plain else frame.rename_axis(str(frame.index.name or PROBLEM)).reset_index()


def _plain(name: object) -> str:
    return str(name).strip().lower()


def _long_columns(
    path: PathLike, frame: pd.DataFrame, layout: str, metric: str | None
) -> tuple[str, str, str] | None:
    """Return the columns of problem, algorithm and value, or None if the table is wide."""
    plain = {_plain(name): str(name) for name in frame.columns}
    problem, algorithm = (
        next((plain[name] for name in names if name in plain), None)
        for names in (_PROBLEMS, _ALGORITHMS)
    )
    if problem is not None and algorithm is not None:
        value = _measure_of(path, frame, (problem, algorithm), metric)
        if value is not None:
            return problem, algorithm, value
    elif layout == "auto":
        return None
    raise InputError(
        f"'{path}' has {listed([shown(name) for name in frame.columns], 'column', 6)}, but a long "
        "table of runs has the columns problem, algorithm and value. Rename them."
    )


def _measure_of(
    path: PathLike, frame: pd.DataFrame, names: Sequence[str], metric: str | None
) -> str | None:
    """Return the column of a long table that is measured; refuse to choose one of several."""
    further = [
        str(name) for name in frame.columns if name not in names and _plain(name) not in _NO_MEASURE
    ]
    if metric is not None:
        if metric in further:
            return metric
        raise InputError(
            f"'{path}' has no measure {shown(metric)}; it has "
            f"{listed([shown(name) for name in further], 'column', 6)}."
        )
    numbers = [name for name in further if frame[name].dtype.kind in "fiu"]
    if len(numbers) > 1:
        raise InputError(
            f"'{path}' holds {listed([shown(name) for name in numbers], 'measure', 6)}. Name one: "
            f"metric={shown(numbers[0])}."
        )
    by_name = next((name for word in _VALUES for name in further if _plain(name) == word), None)
    return by_name or (further[0] if len(further) == 1 else None) or next(iter(numbers), None)


def _from_long(
    path: PathLike,
    frame: pd.DataFrame,
    columns: tuple[str, str, str],
    max_bytes: int,
    *,
    stated: bool,
) -> pd.DataFrame:
    """Pivot a long table; problems and algorithms are in order of appearance.

    `attrs` has the measure if it is `stated` or its name says which direction is better, and the
    pairs whose runs failed if there is a status.
    """
    problems, algorithms = (_names(path, frame[name]) for name in columns[:2])
    measure = columns[2]
    long = pd.DataFrame({PROBLEM: problems, ALGORITHM: algorithms}).assign(
        value=frame[measure].to_numpy()
    )
    twice = long[long.duplicated([PROBLEM, ALGORITHM])]
    if len(twice):
        raise InputError(
            f"'{path}' holds more than one run of {shown(twice[ALGORITHM].iloc[0])} on "
            f"{shown(twice[PROBLEM].iloc[0])}, and {len(twice) - 1:,} more such rows. Keep one "
            "each, for example their mean."
        )
    axes = [long[name].unique() for name in (PROBLEM, ALGORITHM)]
    n_bytes = 8 * len(axes[0]) * len(axes[1])
    if n_bytes > max_bytes:
        raise InputError(
            f"'{path}' names {len(axes[0]):,} problems and {len(axes[1]):,} algorithms, whose "
            f"table needs {size_for_people(n_bytes)}; the limit is {size_for_people(max_bytes)}. "
            f"Check its columns. {TO_RAISE}"
        )
    wide = long.pivot(index=PROBLEM, columns=ALGORITHM, values="value")  # noqa: PD010
    table = _as_runs(path, wide.reindex(index=axes[0], columns=axes[1]))
    better = _BETTER.get(_plain(measure))
    if stated or better:
        table.attrs["measure"] = measure
    if better:
        table.attrs["better"] = better
    status = next((name for name in frame.columns if _plain(name) in _STATUS), None)
    if status is not None:
        failed = ~frame[status].astype(str).str.strip().str.lower().isin(_OK).to_numpy()
        table.attrs["failed"] = [(problems[k], algorithms[k]) for k in np.flatnonzero(failed)]
    return table


def _wide(path: PathLike, frame: pd.DataFrame) -> pd.DataFrame:
    """Move the names of problems to the index, if the first column holds them."""
    first = frame.iloc[:, 0]
    if _plain(first.name) in _FIRST_OF_WIDE or first.dtype.kind not in "fiub":
        return frame.iloc[:, 1:].set_axis(_names(path, first), axis=0)
    return frame.set_axis([f"problem_{row + 1}" for row in range(len(frame))], axis=0)


def _names(path: PathLike, column: pd.Series[Any]) -> list[str]:
    """Return the names in a column, which every row needs."""
    absent = column.isna().to_numpy()
    if absent.any():
        raise InputError(
            f"Row {int(absent.argmax()) + 1:,} of '{path}' has nothing in column "
            f"{shown(column.name)}. Every row needs a name."
        )
    return [as_name(cell) for cell in column]


def _algorithms_only(
    path: PathLike, table: pd.DataFrame, features: Sequence[str] | None
) -> pd.DataFrame:
    """Return a wide table without features of problems; refuse columns on another scale."""
    if features is not None:
        lacking = [name for name in features if name not in table.columns]
        if lacking:
            hint = meant(str(lacking[0]), table.columns)
            raise InputError(
                f"'{path}' has no {listed(list(map(shown, lacking)), 'column')}.{hint}"
            )
        return table.drop(columns=list(features))
    named = [name for name in table.columns if _plain(name).startswith(_FEATURE_PREFIXES)]
    table = table.drop(columns=named)
    other = _on_another_scale(table)
    if other:
        raise InputError(
            f"'{path}': {listed(list(map(shown, other)), 'column')} on quite another scale than "
            "the rest. If these are features of problems, leave them out: features="
            f"{list(map(str, other))}; if all columns are algorithms, give features=[]."
        )
    return table


def _on_another_scale(table: pd.DataFrame) -> list[Any]:
    """Return columns whose large values are far from those of most others."""
    numeric = table.columns[[kind.kind in "fiu" for kind in table.dtypes]]
    if len(numeric) < FEWEST:
        return []
    sizes = np.abs(table[numeric].to_numpy(float))  # one array: pandas would go column by column
    sizes = np.where(sizes < np.inf, sizes, np.nan)
    large = pd.DataFrame(sizes).quantile(0.9).to_numpy()
    middle = float(np.nanmedian(large)) if np.isfinite(large).any() else 0.0
    if not middle > 0:
        return []
    far = (large < middle / OTHER_SCALE) | (large > middle * OTHER_SCALE)
    return [] if 2 * int(far.sum()) >= len(numeric) else list(numeric[far])


def _as_runs(path: PathLike, table: pd.DataFrame) -> pd.DataFrame:
    """Return problems × algorithms as floats; at once if possible, for there may be thousands."""
    table = table.rename_axis(index=PROBLEM, columns=ALGORITHM)
    if all(kind.kind in "biuf" for kind in table.dtypes):
        return table.astype(float)
    return table.apply(lambda column: _numbers(path, column))


def _numbers(path: PathLike, column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    wrong = column.notna() & numbers.isna()
    if wrong.any():
        raise InputError(
            f"In '{path}', the value of {shown(str(column.name))} on "
            f"{shown(str(column.index[wrong][0]))} is {shown(column[wrong].iloc[0])}, not a "
            "number. Leave cells empty if there was no run, write the cut-off if a run timed out, "
            "and leave out columns that are not algorithms."
        )
    return numbers
