"""ASlib scenarios (Bischl et al., 2016): runs, features and folds of problems."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import (
    TO_RAISE,
    PathLike,
    is_folder,
    is_there,
    most_bytes,
    real_path,
    size_for_people,
)
from ogive.data.datasets.aslib_description import (
    Better,
    MeasureKind,
    read_description,
)
from ogive.data.table_files import MAX_BYTES, as_name, read_table
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted, listed, shown

PROBLEM, ALGORITHM, REPETITION, STATUS = "instance_id", "algorithm", "repetition", "runstatus"
STATUSES = ("ok", "timeout", "memout", "crash", "not_applicable", "other", "missing")
_OTHER, _MISSING = STATUSES.index("other"), STATUSES.index("missing")


def runs_by_problem(
    path: Path, runs: pd.DataFrame, measure: str, max_bytes: int
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return values and statuses, problems × algorithms in order of appearance, and notes on them.

    Repeated runs of a pair are averaged, and have the status of most of them.
    """
    require_columns(path, runs, (PROBLEM, ALGORITHM, STATUS, measure))
    problem_codes, problems = pd.factorize(names_in(path, runs, PROBLEM))
    algorithm_codes, algorithms = pd.factorize(names_in(path, runs, ALGORITHM))
    shape = len(problems), len(algorithms)
    if 8 * shape[0] * shape[1] > max_bytes:
        raise FileError(
            f"'{path}' names {counted(shape[0], 'problem')} and "
            f"{counted(shape[1], 'algorithm')}: their table needs more than "
            f"{size_for_people(max_bytes)}. Check how it was made. {TO_RAISE}"
        )
    cells = problem_codes * shape[1] + algorithm_codes
    statuses, notes = _statuses(runs[STATUS])
    if runs[measure].dtype.kind != "f":
        raise FileError(
            f"'{path}': the measure {shown(measure)} is declared as text, not numeric. "
            f"Correct the line @ATTRIBUTE {measure}, or name another measure."
        )
    values, n_runs = _means(cells, runs[measure].to_numpy(dtype=np.float64), shape)
    ends, mixed = _most_frequent(cells, statuses, shape)
    axes: dict[str, Any] = {
        "index": pd.Index(problems, name="problem"),
        "columns": pd.Index(algorithms, name="algorithm"),
    }
    performance = pd.DataFrame(values, **axes)
    status = pd.DataFrame(np.array(STATUSES, dtype=object)[ends], **axes)
    notes += _notes_on_repeats(runs, cells, n_runs, mixed, axes)
    notes += _notes_on_ends(performance, status, "pair" if (n_runs > 1).any() else "run")
    return performance, status, notes


def require_columns(path: Path, frame: pd.DataFrame, wanted: tuple[str, ...]) -> None:
    """Refuse a file that lacks one of these columns."""
    lacking = [name for name in wanted if name not in frame.columns]
    if lacking:
        raise FileError(
            f"'{path}' has no column {', '.join(map(shown, lacking))}; it has "
            f"{listed([shown(name) for name in frame.columns], 'column', 6)}. "
            "Check that it is what its name says."
        )


def names_in(path: Path, frame: pd.DataFrame, column: str) -> NDArray[Any]:
    """Return the names in a column as text, even if the file holds them as numbers."""
    cells = frame[column].astype(object)
    absent = np.flatnonzero(cells.isna() | (cells == ""))
    if len(absent):
        raise FileError(
            f"'{path}': row {absent[0] + 1:,} below @data has no {column}. Every row needs one."
        )
    return np.array([as_name(cell) for cell in cells], dtype=object)


def _statuses(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return positions in STATUSES; an unknown status is "other"."""
    known = {name: code for code, name in enumerate(STATUSES[:_MISSING])}
    text = column.astype(object).where(column.notna(), "?").astype(str)
    codes = text.str.lower().map(known)
    strange = sorted({shown(name) for name in text[codes.isna()]})
    note = (
        f"{counted(int(codes.isna().sum()), 'run')} with a status unknown to ASlib "
        f"({', '.join(strange[:3])}): read as 'other'."
    )
    return np.asarray(codes.fillna(_OTHER), dtype=np.intp), [note] if strange else []


def _means(
    cells: NDArray[np.intp], values: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the mean of the values in each cell, NaN if there is none, and the number of runs."""
    size = shape[0] * shape[1]
    given = ~np.isnan(values)
    sums = np.bincount(cells[given], weights=values[given], minlength=size)
    n_given = np.bincount(cells[given], minlength=size)
    means = np.full(size, np.nan)
    np.divide(sums, n_given, out=means, where=n_given > 0)
    return means.reshape(shape), np.bincount(cells, minlength=size).reshape(shape)


def _most_frequent(
    cells: NDArray[np.intp], statuses: NDArray[np.intp], shape: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the most frequent status of each cell, ties not ok, and whether statuses differ."""
    size = shape[0] * shape[1]
    pairs, counts = np.unique(cells * len(STATUSES) + statuses, return_counts=True)
    where, which = np.divmod(pairs, len(STATUSES))
    order = np.lexsort((which, counts, where))  # the last of a cell stays
    ends = np.full(size, _MISSING, dtype=np.intp)
    ends[where[order]] = which[order]
    mixed = np.bincount(where, minlength=size) > 1
    return ends.reshape(shape), mixed.reshape(shape)


def _notes_on_repeats(
    runs: pd.DataFrame,
    cells: NDArray[np.intp],
    n_runs: NDArray[np.intp],
    mixed: NDArray[np.bool_],
    axes: dict[str, Any],
) -> list[str]:
    several = np.argwhere(n_runs > 1)
    if not len(several):
        return []
    problem, algorithm = axes["index"][several[0, 0]], axes["columns"][several[0, 1]]
    note = (
        f"{counted(len(several), 'pair')} of problem and algorithm with several runs (the first: "
    )
    note += f"{shown(problem)} and {shown(algorithm)}): averaged"
    if REPETITION in runs.columns:
        keys = runs[[REPETITION]].assign(cell=cells)
        alike = int(keys.duplicated().sum())
        if alike:
            note += f"; {counted(alike, 'run')} with the repetition number of another"
    if mixed.any():
        note += f"; in {counted(int(mixed.sum()), 'pair')} their statuses differ, and the most "
        note += "frequent one is used"
    return [note + "."]


def _notes_on_ends(performance: pd.DataFrame, status: pd.DataFrame, noun: str) -> list[str]:
    """Return notes on runs that are missing, failed or have no value, and on unsolved problems."""
    values, ends = performance.to_numpy(), status.to_numpy()
    counts = {name: int((ends == name).sum()) for name in STATUSES}
    absent = counts.pop("missing")
    n_run = ends.size - absent
    failed = n_run - counts.pop("ok")
    shares = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
    unsolved = [shown(name) for name in status.index[(ends != "ok").all(axis=1)]]
    unmeasured = int((np.isnan(values) & (ends != "missing")).sum())
    infinite = int(np.isinf(values).sum())
    notes = {
        f"{failed:,} of {counted(n_run, noun)} did not end ok: {shares}.": failed,
        f"{listed(unsolved, 'problem')} without a run that ended ok.": unsolved,
        f"No run: {absent:,} of {counted(ends.size, 'pair')}.": absent,
        f"{counted(unmeasured, noun)} without a value: NaN.": unmeasured,
        f"{counted(infinite, noun)} with an infinite value, kept as recorded.": infinite,
    }
    return [note for note, cases in notes.items() if cases]


_DESCRIPTION, _RUNS = "description.txt", "algorithm_runs.arff"
_FEATURES, _FOLDS = "feature_values.arff", "cv.arff"
_COSTS, _STATUS = "feature_costs.arff", "feature_runstatus.arff"
_FOLD = "fold"
_LOOKED_AT = 1000  # entries of a folder that are searched for scenarios one level down


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AslibScenario:
    """The performance of algorithms on problems, and features and folds of the problems."""

    name: str
    measure: str
    better: Better
    kind: MeasureKind
    cutoff: float | None  # of a runtime, if it is known
    performance: pd.DataFrame  # problems x algorithms, as recorded; NaN if nothing is
    status: pd.DataFrame  # of the same shape: "ok", "timeout", ..., or "missing"
    features: pd.DataFrame | None  # problems x features
    folds: pd.Series | None  # the fold of each problem in the first repetition
    notes: tuple[str, ...]
    feature_costs: pd.DataFrame | None = None  # problems x steps: time of computing features
    feature_status: pd.DataFrame | None = None  # of the same shape: "ok", "timeout", "presolved"

    @property
    def presolved(self) -> pd.Series | None:
        """Which problems were solved by computing their features."""
        if self.feature_status is None:
            return None
        return (self.feature_status == "presolved").any(axis=1)

    def __repr__(self) -> str:
        n_problems, n_algorithms = self.performance.shape
        cutoff = "" if self.cutoff is None else f", cut off at {self.cutoff:,.10g}"
        what = "a runtime" if self.kind == "runtime" else "a quality"
        features = 0 if self.features is None else self.features.shape[1]
        folds = 0 if self.folds is None else self.folds.nunique()
        size = f"{counted(n_problems, 'problem')} and {counted(n_algorithms, 'algorithm')}"
        given = (
            f"{counted(features, 'feature') if features else 'no features'} and "
            f"{counted(folds, 'fold') if folds else 'no folds'}"
        )
        noted = f" See its notes ({len(self.notes)})." if self.notes else ""
        return (
            f"ASlib scenario '{self.name}': {size}. It measures {self.measure}, {what} for "
            f"which {self.better} is better{cutoff}. It has {given}.{noted}"
        )


@overload
def read_aslib(
    folder: PathLike, measure: str | None = None, *, max_bytes: int | None = None
) -> AslibScenario: ...


@overload
def read_aslib(
    folder: PathLike, measure: list[str] | tuple[str, ...], *, max_bytes: int | None = None
) -> dict[str, AslibScenario]: ...


def read_aslib(
    folder: PathLike,
    measure: str | list[str] | tuple[str, ...] | None = None,
    *,
    max_bytes: int | None = None,
) -> AslibScenario | dict[str, AslibScenario]:
    """Read a scenario of the algorithm selection library ASlib from its folder.

    The folder holds `description.txt` and `algorithm_runs.arff`; `feature_values.arff`,
    `feature_costs.arff`, `feature_runstatus.arff` and `cv.arff` are read if they exist. Each may be
    compressed, with `.gz` appended to its name. `measure` names one of the scenario's measures, by
    default the first; for several names, a scenario for each is returned, by name. No file may
    unpack to more than `max_bytes`.

    Problems and algorithms are in order of appearance among the runs. Repeated runs of an algorithm
    on a problem are averaged, and so are repeated rows of features; `notes` lists this and anything
    else unusual.

    `performance` and `status` are frames of problems × algorithms, `features` of problems ×
    features, `feature_costs` and `feature_status` of problems × steps that compute features.

    >>> import ogive as og
    >>> from pathlib import Path
    >>> _ = Path("description.txt").write_text('''scenario_id: toy
    ... performance_measures: [runtime]
    ... maximize: [false]
    ... performance_type: [runtime]
    ... ''')
    >>> _ = Path("algorithm_runs.arff").write_text('''@RELATION runs
    ... @ATTRIBUTE instance_id STRING
    ... @ATTRIBUTE algorithm STRING
    ... @ATTRIBUTE runtime NUMERIC
    ... @ATTRIBUTE runstatus {ok, timeout}
    ... @DATA
    ... p1,fast,1.5,ok
    ... p1,slow,100,timeout
    ... ''')
    >>> og.read_aslib(".").performance.to_numpy().tolist()
    [[1.5, 100.0]]
    """
    max_bytes = most_bytes(max_bytes, MAX_BYTES)
    if measure is not None and not isinstance(measure, str):
        return {str(one): read_aslib(folder, str(one), max_bytes=max_bytes) for one in measure}
    path = _scenario_folder(folder)
    description_file, runs_file = _file(path, _DESCRIPTION), _file(path, _RUNS)
    if description_file is None or runs_file is None:
        raise _no_scenario(path)
    description = read_description(description_file)
    name = description.name or real_path(path).name
    measures = {each.name: each for each in description.measures}
    if measure is not None and measure not in measures:
        raise InputError(
            f"measure is {shown(measure)}, but the scenario '{name}' measures "
            f"{', '.join(map(shown, measures))}. Name one of these, or omit it for the first."
        )
    chosen = description.measures[0] if measure is None else measures[measure]
    performance, status, notes = runs_by_problem(
        runs_file, read_table(runs_file, max_bytes), chosen.name, max_bytes
    )
    cutoff = description.cutoff if chosen.kind == "runtime" else None
    beyond = 0 if cutoff is None else int((performance.to_numpy() > cutoff).sum())
    if chosen.kind == "runtime" and cutoff is None:
        notes.append("The scenario states no cut-off of its runtimes.")
    elif beyond:
        values = counted(beyond, "value")
        notes.append(f"{values} beyond the cut-off of {cutoff:,.10g}, kept as recorded.")
    features, more = _features(_file(path, _FEATURES), performance.index, max_bytes)
    costs, of_costs = _by_step(_file(path, _COSTS), performance.index, max_bytes, numeric=True)
    steps, of_steps = _by_step(_file(path, _STATUS), performance.index, max_bytes, numeric=False)
    folds, yet_more = _folds(_file(path, _FOLDS), performance.index, max_bytes)
    return AslibScenario(
        name=name,
        measure=chosen.name,
        better=chosen.better,
        kind=chosen.kind,
        cutoff=cutoff,
        performance=performance,
        status=status,
        features=features,
        folds=folds,
        notes=(*notes, *more, *of_costs, *of_steps, *yet_more),
        feature_costs=costs,
        feature_status=steps,
    )


def _scenario_folder(folder: PathLike) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"folder is {shown(folder)}, but the path of a folder is needed.")
    path = Path(folder)
    try:
        if is_folder(path):
            return path
        is_file = is_there(path)
    except (OSError, ValueError) as error:
        raise FileError(f"'{path}' cannot be read: {error}. Check the path.") from error
    if is_file:
        raise FileError(
            f"'{path}' is a file, but the folder of an ASlib scenario is needed. Give the folder "
            f"that holds it: '{path.parent}'."
        )
    raise FileError(f"There is no folder '{path}'. Check the spelling of the path.")


def _file(folder: Path, name: str) -> Path | None:
    """Return the file, plain or compressed; None if there is neither."""
    try:
        found = [path for path in (folder / name, folder / f"{name}.gz") if is_there(path)]
    except OSError as error:
        raise FileError(
            f"The folder '{folder}' may not be read: {error.strerror}. Change its permissions."
        ) from error
    return found[0] if found else None


def _no_scenario(folder: Path) -> FileError:
    """Return the error for a folder without a scenario, which may be one level down."""
    lacking = [name for name in (_DESCRIPTION, _RUNS) if _file(folder, name) is None]
    fault = f"'{folder}' is not an ASlib scenario: it has no {' and no '.join(lacking)} (or .gz)."
    try:
        entries = sorted(islice(folder.iterdir(), _LOOKED_AT))
        below = [path for path in entries if is_folder(path) and _file(path, _DESCRIPTION)]
    except OSError:
        below = []
    if below:
        names = listed([path.name for path in below], "folder")
        return FileError(f"{fault} One level down, {names} may hold one: give '{below[0]}'.")
    return FileError(f"{fault} Give the folder that holds these files.")


def _features(
    path: Path | None, problems: pd.Index, max_bytes: int
) -> tuple[pd.DataFrame | None, list[str]]:
    """Return features of the problems that have runs; numbers are averaged over repetitions."""
    if path is None:
        return None, []
    frame = _by_problem(path, max_bytes)
    if not frame.shape[1]:
        raise FileError(f"'{path}' has no features besides the names of problems. Remove the file.")
    numeric = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    other = [shown(name) for name in frame.columns if name not in set(numeric)]
    notes = _notes_on_problems(path, "features", problems, frame.index)
    if frame.index.has_duplicates:
        n_repeated = int(frame.index[frame.index.duplicated()].nunique())
        notes.append(f"{counted(n_repeated, 'problem')} with several rows of features: averaged.")
        first = frame[~frame.index.duplicated()].copy()
        if numeric:
            means = frame[numeric].groupby(level=0, sort=False).mean()
            first[numeric] = means.loc[first.index]
        frame = first
    if other:
        notes.append(f"{listed(other, 'feature')} with text: of several rows the first is kept.")
    return frame.reindex(problems).rename_axis(columns="feature"), notes


def _by_problem(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read a table whose rows are named by problems."""
    frame = read_table(path, max_bytes)
    require_columns(path, frame, (PROBLEM,))
    names = names_in(path, frame, PROBLEM)
    return frame.drop(columns=[PROBLEM, REPETITION], errors="ignore").set_axis(names, axis=0)


def _by_step(
    path: Path | None, problems: pd.Index, max_bytes: int, *, numeric: bool
) -> tuple[pd.DataFrame | None, list[str]]:
    """Return costs (the mean of repetitions) or status (the first) of each step.

    Steps compute features. Published scenarios hold damaged files of both; they are left out with
    a note, since nothing else depends on them.
    """
    if path is None:
        return None, []
    try:
        frame = _by_problem(path, max_bytes)
    except FileError as error:
        return None, [f"{path.name} is not used: {error}"]
    if numeric:
        frame = frame[[name for name in frame.columns if frame[name].dtype.kind == "f"]]
        frame = frame.groupby(level=0, sort=False).mean()
    else:
        frame = frame.astype(object)[~frame.index.duplicated()]
        frame = frame.where(frame.notna(), "unknown").astype(str).apply(lambda c: c.str.lower())
    return frame.reindex(problems).rename_axis(columns="step"), []


def _notes_on_problems(path: Path, what: str, problems: pd.Index, named: pd.Index) -> list[str]:
    lacking = [shown(name) for name in problems.difference(named, sort=False)]
    beyond = [shown(name) for name in named.unique().difference(problems, sort=False)]
    notes = []
    if lacking:
        notes.append(f"{listed(lacking, 'problem')} without {what} in {path.name}.")
    if beyond:
        notes.append(f"{listed(beyond, 'problem')} in {path.name} without runs: left out.")
    return notes


def _folds(
    path: Path | None, problems: pd.Index, max_bytes: int
) -> tuple[pd.Series | None, list[str]]:
    """Return the fold of each problem in the first repetition; None if some have none."""
    if path is None:
        return None, []
    frame = read_table(path, max_bytes)
    require_columns(path, frame, (PROBLEM, _FOLD))
    frame = frame.assign(**{PROBLEM: names_in(path, frame, PROBLEM)})
    if REPETITION in frame.columns and not frame[REPETITION].isna().any():
        column = frame[REPETITION]  # the lowest comes first; the first if they are no numbers
        frame = frame[column == (column.min() if column.dtype.kind == "f" else column.iloc[0])]
    folds = frame.drop_duplicates([PROBLEM, _FOLD]).set_index(PROBLEM)[_FOLD]
    if folds.dtype.kind != "f":
        raise FileError(f"'{path}': the column 'fold' is text, but it should be numeric.")
    wrong = folds[~((folds >= 1) & (folds < 1e6) & (folds == np.floor(folds)))]
    if len(wrong):
        raise FileError(
            f"'{path}': the fold of problem {shown(wrong.index[0])} is {wrong.iloc[0]:.10g}, but "
            "folds are whole numbers from 1."
        )
    twice = folds.index[folds.index.duplicated()]
    if len(twice):
        raise FileError(
            f"'{path}' puts problem {shown(twice[0])} into two folds of one repetition. Remove one."
        )
    notes = _notes_on_problems(path, "a fold", problems, folds.index)
    if not problems.isin(folds.index).all():
        notes.append(f"{path.name} is not used: it does not assign a fold to every problem.")
        return None, notes
    return folds.reindex(problems).astype(np.int64), notes
