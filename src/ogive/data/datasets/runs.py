"""Read_runs: problems × algorithms from one row per run.

Which columns of a table of runs are measures, status or features of problems.

Tables of runs, of whatever origin, as problems × algorithms; plain ones are read here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ogive._files import TO_RAISE, PathLike, most_bytes, size_for_people
from ogive.data.datasets.run_formats import is_mlflow, known_results, leaderboards, read_mlflow
from ogive.data.datasets.run_tables import ALGORITHM, PROBLEM
from ogive.data.foreign_frames import as_pandas, with_whole_texts
from ogive.data.names import is_numbered
from ogive.data.table_files import MAX_BYTES, as_name, read_table
from ogive.errors import InputError
from ogive.results.numbers import listed, meant, shown

STATUS = ("status", "runstatus", "run_status")
BESIDE = ("repetition", "repeat", "seed", "fold", "run", "run_id", "id", "index", "unnamed: 0")
OK = ("ok", "success", "solved", "finished", "complete", "completed", "true", "1")
FEATURE_PREFIXES = ("feature_", "feature:", "feat_")
APART = 100.0  # times that a scale must differ from that of most columns to be another one
FEWEST = 4  # columns to say what most have


def measure_of(
    path: PathLike,
    frame: pd.DataFrame,
    names: Sequence[str],
    known: Sequence[str],
    metric: str | None,
) -> str | None:
    """Return the column of a long table that is measured; asks where there are several."""
    beside = {*names, *(c for c in frame.columns if _plain(c) in (*STATUS, *BESIDE))}
    further = [str(name) for name in frame.columns if name not in beside]
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
    by_name = next((name for word in known for name in further if _plain(name) == word), None)
    return by_name or (further[0] if len(further) == 1 else None) or next(iter(numbers), None)


def failed_runs(
    frame: pd.DataFrame, problem: str, algorithm: str, names_in: Callable[[Any], list[str]]
) -> dict[str, Any]:
    """Return which runs of a long table did not end well, if it has a status."""
    status = next((c for c in frame.columns if _plain(c) in STATUS), None)
    if status is None:
        return {}
    told = frame[status].astype(str).str.strip().str.lower()
    failed = (~told.isin(OK)).to_numpy()
    problems, algorithms = names_in(frame[problem]), names_in(frame[algorithm])
    pairs = [(problems[k], algorithms[k]) for k in np.flatnonzero(failed)]
    return {"failed": pairs}


def algorithms_only(
    path: PathLike, table: pd.DataFrame, features: Sequence[str] | None
) -> pd.DataFrame:
    """Return a wide table without features of problems; asks about columns on another scale."""
    if features is not None:
        lacking = [name for name in features if name not in table.columns]
        if lacking:
            hint = meant(str(lacking[0]), table.columns)
            raise InputError(
                f"'{path}' has no {listed(list(map(shown, lacking)), 'column')}.{hint}"
            )
        return table.drop(columns=list(features))
    named = [c for c in table.columns if str(c).strip().lower().startswith(FEATURE_PREFIXES)]
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
    large = type(table)(sizes).quantile(0.9).to_numpy()
    middle = float(np.nanmedian(large)) if np.isfinite(large).any() else 0.0
    if not middle > 0:
        return []
    far = (large < middle / APART) | (large > middle * APART)
    return [] if 2 * int(far.sum()) >= len(numeric) else list(numeric[far])


def _plain(name: object) -> str:
    return str(name).strip().lower()


LAYOUTS = ("auto", "wide", "long")
_PROBLEMS = ("problem", "problem_id", "instance", "instance_id", "dataset", "task", "task_id")
_ALGORITHMS = ("algorithm", "algorithm_id", "solver", "solver_id", "flow", "flow_id")
_VALUES = ("value", "performance", "score", "runtime", "time", "accuracy")
_BETTER = {"runtime": "lower", "time": "lower", "accuracy": "higher"}
_FIRST_OF_WIDE = {*_PROBLEMS, "name", "id", "", "unnamed: 0"}


class _LongColumns(NamedTuple):
    problem: str
    algorithm: str
    value: str


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
        raise InputError(f"layout is {shown(layout)}, but it should be 'auto', 'wide' or 'long'.")
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
    return _plain_runs_plain(frame, path, layout, most, metric, features)


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose index, if it says something, is its first column."""
    if frame.index.nlevels > 1:
        return frame.reset_index()
    plain = frame.index.name is None and is_numbered(frame.index)
    return frame if plain else frame.rename_axis(str(frame.index.name or PROBLEM)).reset_index()


def _plain_runs_plain(
    frame: pd.DataFrame,
    path: PathLike,
    layout: str,
    max_bytes: int,
    metric: str | None,
    features: Sequence[str] | None,
) -> pd.DataFrame:
    columns = None if layout == "wide" else _long_columns(path, frame, layout, metric)
    if columns is None:
        if metric is not None:
            raise InputError(
                f"metric is {shown(metric)}, but '{path}' is a wide table, one column per "
                "algorithm: it has one measure. Leave it out."
            )
        table = algorithms_only(path, _wide(path, frame), features)
    else:
        table = _pivoted(path, frame, columns, max_bytes)
    table = table.rename_axis(index=PROBLEM, columns=ALGORITHM)
    table = _all_numbers(path, table)
    if columns is not None:
        table.attrs.update({"measure": columns.value} if metric else {}, **_stated(columns.value))
        table.attrs.update(failed_runs(frame, *columns[:2], _names))
    return table


def _stated(measure: str) -> dict[str, str]:
    """Return the measure and its better direction, if the name of the measure implies it."""
    better = _BETTER.get(measure.strip().lower())
    return {} if better is None else {"measure": measure, "better": better}


def _long_columns(
    path: PathLike, frame: pd.DataFrame, layout: str, metric: str | None
) -> _LongColumns | None:
    """Return the columns of a long table, or None if it is wide."""
    plain = {str(name).strip().lower(): str(name) for name in frame.columns}
    problem, algorithm = (
        next((plain[name] for name in names if name in plain), None)
        for names in (_PROBLEMS, _ALGORITHMS)
    )
    if problem is not None and algorithm is not None:
        value = measure_of(path, frame, (problem, algorithm), _VALUES, metric)
        if value is not None:
            return _LongColumns(problem, algorithm, value)
    elif layout == "auto":
        return None
    raise InputError(
        f"'{path}' has {listed([shown(name) for name in frame.columns], 'column', 6)}, but a long "
        "table of runs has the columns problem, algorithm and value. Rename them."
    )


def _wide(path: PathLike, frame: pd.DataFrame) -> pd.DataFrame:
    """Move the names of problems to the index, if the first column holds them."""
    first = frame.iloc[:, 0]
    named = str(frame.columns[0]).strip().lower() in _FIRST_OF_WIDE
    if named or first.dtype.kind not in "fiub":
        _require_names(path, frame, [frame.columns[0]])
        return frame.iloc[:, 1:].set_axis(_names(first), axis=0)
    return frame.set_axis([f"problem_{row + 1}" for row in range(len(frame))], axis=0)


def _pivoted(
    path: PathLike, frame: pd.DataFrame, columns: _LongColumns, max_bytes: int
) -> pd.DataFrame:
    """Return pivot a long table; problems and algorithms are in order of appearance."""
    _require_names(path, frame, (columns.problem, columns.algorithm))
    names = [_names(frame[name]) for name in (columns.problem, columns.algorithm)]
    long = pd.DataFrame({PROBLEM: names[0], ALGORITHM: names[1]}).assign(
        value=frame[columns.value].to_numpy()
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
    return wide.reindex(index=axes[0], columns=axes[1])


def _require_names(path: PathLike, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        absent = frame[name].isna().to_numpy()
        if absent.any():
            raise InputError(
                f"Row {int(absent.argmax()) + 1:,} of '{path}' has nothing in column "
                f"{shown(name)}. Every row needs a name."
            )


def _names(column: pd.Series) -> list[str]:
    return [as_name(cell) for cell in column]


def _all_numbers(path: PathLike, table: pd.DataFrame) -> pd.DataFrame:
    """The table in floats; at once where all columns are numbers, for there may be thousands."""
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
