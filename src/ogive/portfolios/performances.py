"""Tables of performance, problems × algorithms, in one form: higher is better, within bounds.

A run that did not solve its problem counts as the cut-off, as a multiple of it, or as the worst on
record. Shapley values of the virtual-best game are exact (Fréchette and others, 2016).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import as_number, one_of
from ogive.data.datasets.aslib import AslibScenario
from ogive.data.datasets.aslib_description import Better
from ogive.data.foreign_frames import with_row_names
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.response_codes import LARGEST
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Bools, Floats
from ogive.stats.metrics import edges_by_quantile, places

Unsolved = Literal["drop", "keep"]
UNSOLVED: tuple[Unsolved, ...] = ("drop", "keep")
Transform = Literal["raw", "negate", "reciprocal"]
TRANSFORMS: tuple[Transform, ...] = ("raw", "negate", "reciprocal")
FEWEST_SOLVED = 3  # problems
FEWEST_ALGORITHMS, FEWEST_PROBLEMS = 3, 3
QUICK = 0.01  # share of the time limit
FAR = 1000.0  # multiple of the time limit; so far out, log-odds are the logarithm of time
FEWEST_BETWEEN = 0.1  # share of the runs that ended and were not quick; with fewer, all count
PIVOT = "Reshape a long table: runs.pivot(index='problem', columns='algorithm', values='time')."
SOLVED = "For solved or not, use ogive.calibrate(solved, '2pl')."


class Cut(NamedTuple):
    """Where runs were stopped, on the scale of `Performances.modelled`."""

    limit: float  # a run at or below it is only known to lie there
    quick: float | None  # one at or above it is quick; how quick does not count
    reach: tuple[float, float]  # worst and best that a run could have been


@dataclass(frozen=True, eq=False)
class Performances:
    """A table of performances as given, and as it is modelled."""

    given: pd.DataFrame  # problems x algorithms, in the unit of the measure; NaN: no run
    modelled: pd.DataFrame  # the same, higher is better
    better: Better
    transform: Transform
    bounds: tuple[float, float]  # worst and best that `modelled` can be
    notes: tuple[str, ...] = ()
    folds: pd.Series | None = None  # fold of each problem, if the source has one
    scale: str = "performance"  # what `modelled` is, on the axis of a figure
    unsolved: pd.DataFrame | None = None  # of the same shape: which runs timed out or failed
    cut: Cut | None = None  # where runs were stopped, if some were
    penalty: float = 1.0  # a run that did not end counts as so many cut-offs

    @property
    def algorithms(self) -> pd.Index:
        """Names of the algorithms."""
        return self.modelled.columns.rename("algorithm")

    @property
    def cells(self) -> Floats:
        """The modelled values, (n_problems, n_algorithms)."""
        return self.modelled.to_numpy(dtype=float)

    @property
    def gains(self) -> Floats:
        """The given values, signed so that higher is better; gaps are measured in these."""
        table = self.given.to_numpy(dtype=float)
        return table if self.better == "higher" else -table

    def in_unit(self, modelled: Floats) -> Floats:
        """Return modelled values in the unit of the measure."""
        if self.transform == "reciprocal":
            return np.asarray(1 / np.clip(modelled, 1e-12, None) - 1)
        given, cells = self.given.to_numpy(dtype=float).ravel(), self.cells.ravel()
        low, high = int(np.nanargmin(given)), int(np.nanargmax(given))
        rise = (given[high] - given[low]) / (cells[high] - cells[low])
        return np.asarray(given[low] + (modelled - cells[low]) * rise)

    def of_problems(self, rows: NDArray[np.intp]) -> Performances:
        """Return the performances on some problems, with the bounds of the whole table."""
        given, modelled = self.given.iloc[rows], self.modelled.iloc[rows]
        unsolved = None if self.unsolved is None else self.unsolved.iloc[rows]
        return replace(self, given=given, modelled=modelled, notes=(), unsolved=unsolved)

    def require_every_run(self, what: str) -> None:
        """Refuse a table with missing runs for a method that needs complete tables."""
        missing = int(np.isnan(self.cells).sum())
        if missing:
            raise InputError(
                f"{what}, as published, needs every algorithm on every problem, but "
                f"{counted(missing, 'run')} {'is' if missing == 1 else 'are'} missing. Leave it "
                "out, or drop those problems: table.dropna()."
            )

    def grades(self, count: int) -> tuple[Floats, list[str]]:
        """Return grades from 0, at most `count`, by limits for all algorithms; and a note on ties.

        With no more than `count` different values, each value is a grade.
        """
        values = self.cells
        different = np.unique(values[~np.isnan(values)])
        if 2 < len(different) <= count:
            edges = np.append(different, np.inf)
        else:
            edges = edges_by_quantile(values[~np.isnan(values)], count)
        if len(edges) < 3 or len(different) < 3:
            raise InputError(
                f"Performances take too few different values for {count} grades. Ask for more "
                f"grades, or use model='continuous'. {SOLVED}"
            )
        placed = places(values.ravel(), edges).reshape(values.shape)
        grades: Floats = np.where(np.isnan(values), np.nan, placed)
        n_grades = int(np.nanmax(grades)) + 1
        if n_grades == min(count, len(different)):
            return grades, []
        note = f"{counted(n_grades, 'grade')} instead of {count}: equal performances share a grade."
        return grades, [note]


def as_performances(
    performance: Any,
    *,
    better: Better | None = None,
    transform: Transform | None = None,
    bounds: tuple[float, float] | None = None,
    cutoff: float | None = None,
    penalty: float | None = None,
    unsolved: Unsolved = "keep",
    fewest: int = FEWEST_ALGORITHMS,
) -> Performances:
    """Return a table, `Responses` or ASlib scenario as performances; see `portfolio`."""
    if isinstance(performance, Performances):
        return performance
    notes: list[str] = []
    failed: Bools | None = None
    given, folds, stated = performance, None, None
    if isinstance(performance, AslibScenario):
        if performance.kind == "runtime" and better == "higher":
            raise InputError(
                f"better is 'higher', but '{performance.measure}' is a runtime in this scenario. "
                "Leave `better` out."
            )
        given, folds = performance.performance, performance.folds
        notes += performance.notes
        better = better or performance.better
        cutoff = performance.cutoff if cutoff is None else cutoff
        if performance.kind == "runtime":
            failed = (~performance.status.isin(["ok", "missing"])).to_numpy()
    else:
        attributes = getattr(performance, "attrs", {})  # set by read_runs
        stated_notes = attributes.get("notes")
        notes += map(str, stated_notes if isinstance(stated_notes, list) else ())
        stated = None if better else attributes.get("better")
    better = better or stated or "higher"
    if better not in ("higher", "lower"):
        raise InputError(f"`better` must be 'higher' or 'lower', got {better!r}.")
    if stated:
        measure = performance.attrs.get("measure", "its values")
        notes.append(f"{stated.capitalize()} is better, as the table states for {measure}.")
    table = _table(given)
    if failed is None and better == "lower":
        failed = _failed_by_status(given, table)
    late = np.zeros(table.shape, dtype=bool) if failed is None else failed
    stopped = cutoff
    if cutoff is not None or penalty is not None:
        values, late = timed_out(table.to_numpy(), failed, better, cutoff, penalty, notes)
        table = _with_values(table, values)
    elif failed is not None and failed.any():
        table = _with_values(table, _at_worst(table.to_numpy(), failed, better, notes))
        stopped = float(np.nanmax(table.to_numpy()))
    did_not_end = _with_values(table, late)
    kept = solved_by_somebody(late, table.notna().to_numpy(), unsolved, notes)
    table = _with_runs(table[kept], notes, fewest)
    transform = transform or ("raw" if better == "higher" else "negate")
    penalized = None if penalty is None or cutoff is None else cutoff * penalty
    performances = replace(
        _transformed(table, better, transform, bounds, notes, penalized),
        folds=folds,
        penalty=1.0 if penalty is None else penalty,
    )
    if not late.any():
        return performances
    did_not_end = did_not_end.loc[table.index, table.columns]
    cut = None if stopped is None else _cut(performances, table, stopped)
    return replace(performances, unsolved=did_not_end, cut=cut)


def _failed_by_status(given: Any, table: pd.DataFrame) -> Bools | None:
    """Return which runs did not end, as `read_runs` has it from a column of status."""
    pairs = getattr(given, "attrs", {}).get("failed")
    if not pairs:
        return None
    failed = np.zeros(table.shape, dtype=bool)
    rows, columns = (
        {name: k for k, name in enumerate(axis)} for axis in (table.index, table.columns)
    )
    for row, column in pairs:
        if str(row) in rows and str(column) in columns:
            failed[rows[str(row)], columns[str(column)]] = True
    return failed


def timed_out(
    values: Floats,
    failed: Bools | None,
    better: Better,
    cutoff: float | None,
    penalty: float | None,
    notes: list[str],
) -> tuple[Floats, Bools]:
    """Set runs that timed out or failed to the cut-off, or to the penalty times the cut-off.

    Returns the values, and which runs did not end.
    """
    if better == "higher":
        raise InputError("cutoff and penalty are for runtimes: give better='lower' as well.")
    if cutoff is None:
        raise InputError("penalty is a multiple of the cut-off: give cutoff as well.")
    if not 0 < as_number(cutoff) < np.inf:
        raise InputError(f"`cutoff` must be a number above 0, got {cutoff!r}.")
    if penalty is not None:
        checked_penalty(penalty)
    # If the source says how runs ended, one at the cut-off may have succeeded.
    late = values >= cutoff if failed is None else (values > cutoff) | failed
    least = cutoff * (1.0 if penalty is None else penalty)
    longer = np.where(np.isnan(values), least, np.maximum(values, least))
    counted_as = np.where(late, longer if penalty is None else least, values)
    n_late = int(late.sum())
    if n_late:
        share = n_late / max(int((~np.isnan(counted_as)).sum()), 1)
        by = "" if penalty is None else f", counted as {least:,.10g}"
        notes.append(f"{counted(n_late, 'run')} ({share:.0%}) timed out or failed{by}.")
    if failed is None and not np.isnan(values).all():  # a scenario states its cut-off itself
        longest, beyond = float(np.nanmax(values)), int((values > cutoff).sum())
        if longest < cutoff:
            notes.append(
                f"No run reached the cut-off of {cutoff:,.10g}: the longest took "
                f"{_short(longest)}. If runs were stopped earlier, give that time."
            )
        elif beyond:
            notes.append(
                f"{counted(beyond, 'value')} beyond the cut-off of {cutoff:,.10g}, up to "
                f"{_short(longest)}: taken as timed out."
            )
    return counted_as, late


def checked_penalty(penalty: object) -> float:
    """Return the multiple of the cut-off that a timed-out run counts as: 1 or more."""
    number = as_number(penalty)
    if not 1 <= number < np.inf:
        raise InputError(f"`penalty` must be a number, 1 or more, got {penalty!r}.")
    return number


def _at_worst(values: Floats, failed: Bools, better: Better, notes: list[str]) -> Floats:
    """Set failed runs to the worst value on record, if no cut-off is known."""
    if not failed.any() or np.isnan(values).all():
        return values
    worst = float(np.nanmax(values) if better == "lower" else np.nanmin(values))
    notes.append(
        f"{counted(int(failed.sum()), 'run')} timed out or failed, and no cut-off is known: "
        f"counted as the worst value on record, {worst:,.10g}. Give cutoff to say where runs end."
    )
    return np.where(failed, worst, values)


def solved_by_somebody(late: Bools, ran: Bools, unsolved: Unsolved, notes: list[str]) -> Bools:
    """Return the problems to keep: those that somebody solved, if `unsolved` is "drop"."""
    if unsolved not in UNSOLVED:
        raise InputError(f"`unsolved` must be 'drop' or 'keep', got {unsolved!r}.")
    # Problems without any run are noted elsewhere.
    solved = np.asarray((ran & ~late).any(axis=1) | ~ran.any(axis=1))
    count = int((~solved).sum())
    if not count or unsolved == "keep":
        return np.ones_like(solved)
    if int(solved.sum()) < FEWEST_SOLVED:
        raise InputError(
            f"Nobody solved {counted(count, 'problem')} of {len(late):,}: too few are left to "
            "compare algorithms. Give more problems, or unsolved='keep'."
        )
    notes.append(
        f"Nobody solved {counted(count, 'problem')} ({count / len(late):.0%}): left out, since "
        "nobody leads there; unsolved='keep' keeps them."
    )
    return solved


def _cut(performances: Performances, table: pd.DataFrame, stopped: float) -> Cut:
    """Return the time at which runs were stopped, on a scale whose log-odds are its logarithm.

    Runs that took less than a hundredth of it are quick: between 1 and 10 milliseconds, log-odds
    differ as much as between a minute and ten, and would decide what is hard.
    """
    if performances.transform == "reciprocal":
        return Cut(1 / (1 + stopped), None, (0.0, 1.0))
    raw, modelled = table.to_numpy().ravel(), performances.cells.ravel()
    worst, best = int(np.nanargmax(raw)), int(np.nanargmin(raw))
    fall = (modelled[best] - modelled[worst]) / (raw[worst] - raw[best])
    least = min(0.0, float(raw[best]))
    limit, quick, low, high = (
        float(modelled[best] - fall * (time - raw[best]))
        for time in (stopped, QUICK * stopped, FAR * stopped, least)
    )
    n_between = int(((raw < stopped) & (raw > QUICK * stopped)).sum())
    n_ended = int((raw < stopped).sum())
    return Cut(limit, None if n_between < FEWEST_BETWEEN * n_ended else quick, (low, high))


def _table(performance: Any) -> pd.DataFrame:
    """Return problems x algorithms as floats, with unique names as text."""
    table = _frame(performance)
    table = table.set_axis(table.columns.map(str), axis=1).set_axis(table.index.map(str), axis=0)
    for axis, kind in ((table.columns, "algorithm"), (table.index, "problem")):
        twice = axis[axis.duplicated()].unique().tolist()
        if twice:
            by = "table.groupby(level=0).mean()"
            raise InputError(
                f"{listed(twice, kind)} named more than once. Give one row per problem and one "
                "column per algorithm, for example the mean of several runs: "
                f"{by if kind == 'problem' else by.replace('table', 'table.T') + '.T'}."
            )
    return _with_values(table, _numbers(table))


def _with_values(table: pd.DataFrame, values: Any) -> pd.DataFrame:
    """Return a frame of other values under the same names."""
    return pd.DataFrame(values, index=table.index, columns=table.columns)


def _with_runs(table: pd.DataFrame, notes: list[str], fewest: int) -> pd.DataFrame:
    """Return the algorithms and problems with a run; the others are dropped and noted."""
    empty = table.columns[table.isna().all()]
    if len(empty):
        notes.append(f"Left out (no runs): {listed(list(empty), 'algorithm')}.")
        table = table.drop(columns=empty)
    idle = table.index[table.isna().all(axis=1)]
    if len(idle):
        notes.append(f"Left out (no runs): {listed(list(idle), 'problem')}.")
        table = table.drop(index=idle)
    _check_size(table, notes, fewest)
    missing = int(table.isna().sum().sum())
    if missing:
        notes.append(
            f"Missing: {missing:,} of {counted(table.size, 'run')}. Curves ignore these; where "
            "portfolios are judged, each counts as the worst run on its problem."
        )
    return table


def _frame(performance: Any) -> pd.DataFrame:
    performance = with_row_names(performance)
    if isinstance(performance, Responses):
        return pd.DataFrame(
            performance.values, index=performance.respondents, columns=performance.items
        )
    if isinstance(performance, pd.DataFrame):
        return performance
    if isinstance(performance, str | PathLike):
        raise InputError(
            f"performance is '{performance}', but a table is needed. Read it with "
            "ogive.read_runs(path), or the folder of a scenario with ogive.read_aslib(path)."
        )
    if isinstance(performance, Result):
        raise InputError(
            f"performance is a {type(performance).__name__}. Give the table of runs behind it."
        )
    try:
        table = np.asarray(performance)
        shape = counted(table.ndim, "dimension")
    except ValueError:  # rows of different lengths
        table, shape = np.empty(0), "rows of different lengths"
    if table.ndim != 2:
        raise InputError(
            f"performance has {shape}, but a table is needed: one row per problem, one column per "
            f"algorithm. {PIVOT} Read a file with ogive.read_runs(path)."
        )
    return pd.DataFrame(
        table,
        index=[f"problem_{i + 1}" for i in range(table.shape[0])],
        columns=[f"algorithm_{j + 1}" for j in range(table.shape[1])],
    )


def _numbers(table: pd.DataFrame) -> Floats:
    kinds = pd.api.types
    table = table.infer_objects()
    truths = [name for name in table.columns if kinds.is_bool_dtype(table[name])]
    if truths:
        raise InputError(
            f"{listed(truths, 'column')} of True and False, but a portfolio needs to know how "
            f"good or how fast each run was. {SOLVED}"
        )
    text = [name for name in table.columns if not kinds.is_any_real_numeric_dtype(table[name])]
    if text:
        raise InputError(
            f"{listed(text, 'column')} without numbers. Give performances only: make the names of "
            "problems the index (table.set_index('problem')), and leave other columns out. "
            f"{PIVOT}"
        )
    values = table.to_numpy(dtype=float, na_value=np.nan)
    if (np.abs(values) > LARGEST).any():
        row, column = np.argwhere(np.abs(values) > LARGEST)[0]
        value = "infinite" if np.isinf(values[row, column]) else f"{values[row, column]:g}"
        raise InputError(
            f"The performance of '{table.columns[column]}' on '{table.index[row]}' is {value}, but "
            f"performances are below {LARGEST:g}. Give timeouts as the cut-off time, and NaN "
            "where there was no run."
        )
    return values


def _check_size(table: pd.DataFrame, notes: list[str], fewest: int) -> None:
    problems, algorithms = table.shape
    if algorithms < fewest:
        raise InputError(
            f"There {'is' if algorithms == 1 else 'are'} {counted(algorithms, 'algorithm')}, but a "
            f"portfolio needs at least {fewest}: with fewer, hard problems and poor algorithms "
            "cannot be separated."
        )
    if problems < FEWEST_PROBLEMS:
        raise InputError(
            f"There {'is' if problems == 1 else 'are'} {counted(problems, 'problem')}, but a "
            f"portfolio needs at least {FEWEST_PROBLEMS}."
        )
    if problems < algorithms:
        notes.append(
            f"Fewer problems ({problems}) than algorithms ({algorithms}): estimates are rough. "
            "Rows should be problems and columns algorithms; transpose the table if they are not."
        )


def _transformed(
    table: pd.DataFrame,
    better: Better,
    transform: Transform,
    bounds: tuple[float, float] | None,
    notes: list[str],
    penalized: float | None,
) -> Performances:
    """Transform so that higher is better; a timed-out run has the value `penalized`."""
    one_of(transform, "transform", TRANSFORMS)
    if (transform == "raw") != (better == "higher"):
        raise InputError(
            f"transform='{transform}' does not fit better='{better}': 'raw' is for measures where "
            "higher is better, 'negate' and 'reciprocal' are for the others."
        )
    low, high = _limits(table, bounds, penalized)
    values, limits, scale = table.to_numpy(dtype=float), (0.0, 1.0), "performance"
    if transform == "reciprocal":
        if low < 0:
            raise InputError(
                f"transform='reciprocal' is 1 / (1 + t), but there are values down to {low:g}. "
                "Use transform='negate'."
            )
        values, scale = 1 / (1 + values), "performance: 1 / (1 + t)"
    elif transform == "negate":
        values = (high - values) / (high - low)
        scale = f"performance (1 is {_short(low)}, 0 is {_short(high)})"
    else:
        limits = (low, high)
    modelled = _with_values(table, values)
    return Performances(table, modelled, better, transform, limits, tuple(notes), scale=scale)


def _short(value: float) -> str:
    """Return a number on an axis: whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _limits(
    table: pd.DataFrame, bounds: tuple[float, float] | None, penalized: float | None
) -> tuple[float, float]:
    """Return smallest and largest possible value; by default those of the table."""
    values = table.to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if bounds is None:
        if low == high:
            raise InputError(
                f"Every performance is {low:g}, so problems and algorithms cannot be compared."
            )
        return low, high
    try:
        worst, best = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise InputError(f"`bounds` must be (low, high), got {bounds!r}.") from None
    if not worst < best < np.inf or worst == -np.inf:
        raise InputError(f"`bounds` must be (low, high), low below high, got {bounds!r}.")
    if penalized is not None and high == penalized > best:
        raise InputError(
            f"With the penalty, a timed-out run counts as {penalized:g}, outside the bounds "
            f"{worst:g} to {best:g}. Give bounds that include it: ({worst:g}, {penalized:g})."
        )
    if low < worst or high > best:
        row, column = np.argwhere((values < worst) | (values > best))[0]
        raise InputError(
            f"The performance of '{table.columns[column]}' on '{table.index[row]}' is "
            f"{values[row, column]:g}, outside the bounds {worst:g} to {best:g}. Correct it, or "
            "give wider bounds."
        )
    return worst, best


# --- Columns of tables with gaps (NaN) ---


def ranges(cells: Floats) -> Floats:
    """Return the range of the numbers of each column; 0 if it has none."""
    known = ~np.isnan(cells)
    most = np.where(known, cells, -np.inf).max(axis=0)
    least = np.where(known, cells, np.inf).min(axis=0)
    return np.asarray(np.where(known.any(axis=0), most - least, 0.0))


def means(cells: Floats) -> Floats:
    """Return the mean of the numbers of each column; NaN if it has none."""
    known = ~np.isnan(cells)
    count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    return np.asarray(np.where(known, cells, 0.0).sum(axis=0) / count)


def worst_where_missing(cells: Floats) -> Floats:
    """Return the table with gaps at the least number of their row."""
    worst = np.fmin.reduce(cells, axis=1)[:, None]
    return np.asarray(np.where(np.isnan(cells), worst, cells))


def fair_means(cells: Floats) -> Floats:
    """Return mean of each column with gaps at the worst of their rows; -inf if it is empty.

    A mean over its own numbers would prefer a column that is known in good rows only.
    """
    filled = worst_where_missing(cells).mean(axis=0)
    return np.asarray(np.where(np.isnan(cells).all(axis=0), -np.inf, filled))


def virtual_best_shapley(performance: Floats, worst: float) -> Floats:
    """Return what each algorithm adds to the best of a portfolio, over all orders of joining.

    `performance` is (n_problems, n_algorithms), higher is better; nobody reaches `worst`, which is
    what no portfolio at all achieves, and so does an algorithm at NaN. On one problem, the step
    from the k-th worst to the next is shared by all who reach it, so sorting is enough: no
    enumeration of portfolios. Values add up to the mean of the virtual best above `worst`.
    """
    order, shares = _ordered_shares(performance, worst)
    n_problems, n = shares.shape
    return np.asarray(np.bincount(order.ravel(), shares.ravel(), minlength=n) / n_problems)


def shapley_shares(performance: Floats, worst: float) -> Floats:
    """Return Shapley values of each problem, (n_problems, n_algorithms)."""
    order, shares = _ordered_shares(performance, worst)
    values = np.empty(shares.shape)
    np.put_along_axis(values, order, shares, axis=1)
    return values


def _ordered_shares(performance: Floats, worst: float) -> tuple[NDArray[np.intp], Floats]:
    """Return the algorithms on each problem, the worst first, and the share of each."""
    reached = np.where(np.isnan(performance), worst, performance)
    order = np.argsort(reached, axis=1, kind="stable")
    heights = np.take_along_axis(reached, order, axis=1)
    steps = np.diff(heights, axis=1, prepend=worst)
    return order, np.cumsum(steps / np.arange(reached.shape[1], 0, -1), axis=1)
