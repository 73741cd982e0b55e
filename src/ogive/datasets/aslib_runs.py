"""The runs of an ASlib scenario, a long table, as problems × algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.byte_limits import TO_RAISE
from ogive.errors import FileError
from ogive.files import size_for_people
from ogive.tables.table_files import as_name
from ogive.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

PROBLEM, ALGORITHM, REPETITION, STATUS = "instance_id", "algorithm", "repetition", "runstatus"
STATUSES = ("ok", "timeout", "memout", "crash", "not_applicable", "other", "missing")
_OTHER, _MISSING = STATUSES.index("other"), STATUSES.index("missing")


def runs_by_problem(
    path: Path, runs: pd.DataFrame, measure: str, max_bytes: int
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Values and statuses, problems × algorithms in order of appearance, and notes on them.

    Repeated runs of a pair are averaged, and have the status of most of them.
    """
    import pandas as pd

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
    values, n_runs = _means(cells, _numbers(path, runs, measure), shape)
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
    """The names in a column as text, even if the file holds them as numbers."""
    cells = frame[column].astype(object)
    absent = np.flatnonzero(cells.isna() | (cells == ""))
    if len(absent):
        raise FileError(
            f"'{path}': row {absent[0] + 1:,} below @data has no {column}. Every row needs one."
        )
    return np.array([as_name(cell) for cell in cells], dtype=object)


def _numbers(path: Path, runs: pd.DataFrame, measure: str) -> NDArray[np.float64]:
    column = runs[measure]
    if column.dtype.kind != "f":
        raise FileError(
            f"'{path}': the measure {shown(measure)} is declared as text, not numeric. "
            f"Correct the line @ATTRIBUTE {measure}, or name another measure."
        )
    return column.to_numpy(dtype=np.float64)


def _statuses(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Positions in STATUSES; an unknown status is "other"."""
    known = {name: code for code, name in enumerate(STATUSES[:_MISSING])}
    text = column.astype(object).where(column.notna(), "?").astype(str)
    codes = text.str.lower().map(known)
    strange = sorted({shown(name) for name in text[codes.isna()]})
    notes = []
    if strange:
        notes.append(
            f"{counted(int(codes.isna().sum()), 'run')} with a status unknown to ASlib "
            f"({', '.join(strange[:3])}): read as 'other'."
        )
    return np.asarray(codes.fillna(_OTHER), dtype=np.intp), notes


def _means(
    cells: NDArray[np.intp], values: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The mean of the values in each cell, NaN if there is none, and the number of runs."""
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
    """The most frequent status of each cell, ties not being ok; and whether statuses differ."""
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
    """Notes on runs that are missing, failed or have no value, and on unsolved problems."""
    values, ends = performance.to_numpy(), status.to_numpy()
    counts = {name: int((ends == name).sum()) for name in STATUSES}
    absent = counts.pop("missing")
    n_run = ends.size - absent
    notes = []
    failed = n_run - counts.pop("ok")
    if failed:
        shares = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
        notes.append(f"{failed:,} of {counted(n_run, noun)} did not end ok: {shares}.")
    unsolved = [shown(name) for name in status.index[(ends != "ok").all(axis=1)]]
    if unsolved:
        notes.append(f"{listed(unsolved, 'problem')} without a run that ended ok.")
    if absent:
        notes.append(f"No run: {absent:,} of {counted(ends.size, 'pair')}.")
    unmeasured = int((np.isnan(values) & (ends != "missing")).sum())
    if unmeasured:
        notes.append(f"{counted(unmeasured, noun)} without a value: NaN.")
    infinite = int(np.isinf(values).sum())
    if infinite:
        notes.append(f"{counted(infinite, noun)} with an infinite value, kept as recorded.")
    return notes
