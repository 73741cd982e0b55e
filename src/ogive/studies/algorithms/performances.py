"""Performances of algorithms on problems in one form: higher is better, within bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.datasets.aslib import AslibScenario
from ogive.datasets.aslib_description import Better
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.binning import edges_by_quantile, places
from ogive.responses import Responses
from ogive.responses.stored_cells import LARGEST
from ogive.results import Result
from ogive.studies.algorithms.timeouts import Unsolved, at_worst, solved_by_somebody, timed_out
from ogive.tables.foreign_frames import with_row_names
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

Transform = Literal["raw", "negate", "reciprocal"]
TRANSFORMS: tuple[Transform, ...] = ("raw", "negate", "reciprocal")
FEWEST_ALGORITHMS, FEWEST_PROBLEMS = 3, 3
QUICK = 0.01  # of the time limit
FAR = 1000.0  # time limits: so far out, log-odds are the logarithm of time
FEWEST_BETWEEN = 0.1  # of the runs that ended, that were not quick; with fewer, all count
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
        """Modelled values in the unit of the measure."""
        if self.transform == "reciprocal":
            found: Floats = 1 / np.clip(modelled, 1e-12, None) - 1
            return found
        given, cells = self.given.to_numpy(dtype=float).ravel(), self.cells.ravel()
        low, high = int(np.nanargmin(given)), int(np.nanargmax(given))
        rise = (given[high] - given[low]) / (cells[high] - cells[low])
        return np.asarray(given[low] + (modelled - cells[low]) * rise)

    def of_problems(self, rows: NDArray[np.intp]) -> Performances:
        """The performances on some problems, with the bounds of the whole table."""
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

    def grades(self, count: int) -> Floats:
        """Grades from 0, at most `count` of them, with the same limits for all algorithms.

        With no more than `count` different values, each value is a grade.
        """
        values = self.cells
        different = self._different
        if 2 < len(different) <= count:
            edges = np.append(different, np.inf)
        else:
            edges = edges_by_quantile(values[~np.isnan(values)], count)
        if len(edges) < 3 or len(different) < 3:
            raise InputError(
                f"Performances take too few different values for {count} grades. Ask for more "
                f"grades, or use model='continuous'. {SOLVED}"
            )
        found = places(values.ravel(), edges).reshape(values.shape)
        return np.where(np.isnan(values), np.nan, found)

    def notes_on_grades(self, grades: Floats, count: int) -> list[str]:
        """A note if ties leave fewer grades than were asked for."""
        got = int(np.nanmax(grades)) + 1
        if got == min(count, len(self._different)):
            return []
        return [f"{counted(got, 'grade')} instead of {count}: equal performances share a grade."]

    @property
    def _different(self) -> Floats:
        """The different performances, in ascending order."""
        values = self.cells
        return np.unique(values[~np.isnan(values)])


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
    """A table, `Responses` or ASlib scenario as performances; see `portfolio`."""
    if isinstance(performance, Performances):
        return performance
    failed: NDArray[np.bool_] | None = None
    notes: list[str] = []
    given, folds, stated = performance, None, None
    if isinstance(performance, AslibScenario):
        folds = performance.folds
        if performance.kind == "runtime" and better == "higher":
            raise InputError(
                f"better is 'higher', but '{performance.measure}' is a runtime in this scenario. "
                "Leave `better` out."
            )
        notes += performance.notes
        better = better or performance.better
        cutoff = performance.cutoff if cutoff is None else cutoff
        if performance.kind == "runtime":
            failed = (~performance.status.isin(["ok", "missing"])).to_numpy()
        given = performance.performance
    else:
        attributes = getattr(performance, "attrs", {})  # set by read_runs
        told = attributes.get("notes")
        notes += map(str, told if isinstance(told, list) else ())
        stated = None if better else attributes.get("better")
    better = better or stated or "higher"
    if better not in ("higher", "lower"):
        raise InputError(f"better is {better!r}, but it should be 'higher' or 'lower'.")
    if stated:
        measure = performance.attrs.get("measure", "its values")
        notes.append(f"{stated.capitalize()} is better, as the table states for {measure}.")
    table = _table(given)
    if failed is None and better == "lower" and (pairs := _pairs(given, table)) is not None:
        failed = pairs
    late = np.zeros(table.shape, dtype=bool) if failed is None else failed
    stopped = cutoff
    if cutoff is not None or penalty is not None:
        values, late = timed_out(table.to_numpy(), failed, better, cutoff, penalty, notes)
        table = _filled(table, values)
    elif failed is not None and failed.any():
        table = _filled(table, at_worst(table.to_numpy(), failed, better, notes))
        stopped = float(np.nanmax(table.to_numpy()))
    did_not_end = _filled(table, late)
    kept = solved_by_somebody(late, table.notna().to_numpy(), unsolved, notes)
    table = _with_runs(table[kept], notes, fewest)
    transform = transform or ("raw" if better == "higher" else "negate")
    counts = None if penalty is None or cutoff is None else cutoff * penalty
    made = _transformed(table, better, transform, bounds, notes, counts)
    made = replace(made, folds=folds, penalty=1.0 if penalty is None else penalty)
    if not late.any():
        return made
    did_not_end = did_not_end.loc[table.index, table.columns]
    cut = None if stopped is None else _cut(made, table, stopped)
    return replace(made, unsolved=did_not_end, cut=cut)


def _pairs(given: Any, table: pd.DataFrame) -> NDArray[np.bool_] | None:
    """Which runs did not end, as `read_runs` has it from a column of status."""
    told = getattr(given, "attrs", {}).get("failed")
    if not told:
        return None
    failed = np.zeros(table.shape, dtype=bool)
    names = [(str(row), str(column)) for row, column in told]
    rows, columns = (
        {name: place for place, name in enumerate(axis)} for axis in (table.index, table.columns)
    )
    for row, column in names:
        if row in rows and column in columns:
            failed[rows[row], columns[column]] = True
    return failed


def _cut(made: Performances, table: pd.DataFrame, stopped: float) -> Cut:
    """The time at which runs were stopped, on a scale whose log-odds are the logarithm of time.

    Runs that took less than a hundredth of it are quick: between 1 and 10 milliseconds, log-odds
    differ as much as between a minute and ten, and would decide what is hard.
    """
    if made.transform == "reciprocal":
        return Cut(1 / (1 + stopped), None, (0.0, 1.0))
    raw, modelled = table.to_numpy().ravel(), made.cells.ravel()
    worst, best = int(np.nanargmax(raw)), int(np.nanargmin(raw))
    fall = (modelled[best] - modelled[worst]) / (raw[worst] - raw[best])
    least = min(0.0, float(raw[best]))
    limit, quick, low, high = (
        float(modelled[best] - fall * (time - raw[best]))
        for time in (stopped, QUICK * stopped, FAR * stopped, least)
    )
    between, ended = (
        int(((raw < stopped) & (raw > time)).sum()) for time in (QUICK * stopped, -np.inf)
    )
    if between < FEWEST_BETWEEN * ended:
        return Cut(limit, None, (low, high))
    return Cut(limit, quick, (low, high))


def _table(performance: Any) -> pd.DataFrame:
    """Problems x algorithms as floats, with unique names as text."""
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
    return _filled(table, _numbers(table))


def _filled(table: pd.DataFrame, values: Any) -> pd.DataFrame:
    """A frame of other values under the same names."""
    import pandas as pd

    return pd.DataFrame(values, index=table.index, columns=table.columns)


def _with_runs(table: pd.DataFrame, notes: list[str], fewest: int) -> pd.DataFrame:
    """The algorithms and problems with a run; the others are dropped and noted."""
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
    import pandas as pd

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
    import pandas as pd

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
        found = "infinite" if np.isinf(values[row, column]) else f"{values[row, column]:g}"
        raise InputError(
            f"The performance of '{table.columns[column]}' on '{table.index[row]}' is {found}, but "
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
    counts: float | None,
) -> Performances:
    """Transform so that higher is better; a timed-out run has the value `counts`."""
    if transform not in TRANSFORMS:
        raise InputError(
            f"transform is {transform!r}, but it should be one of {', '.join(TRANSFORMS)}."
        )
    if (transform == "raw") != (better == "higher"):
        raise InputError(
            f"transform='{transform}' does not fit better='{better}': 'raw' is for measures where "
            "higher is better, 'negate' and 'reciprocal' are for the others."
        )
    low, high = _limits(table, bounds, counts)
    scale = "performance"
    values = table.to_numpy(dtype=float)
    if transform == "reciprocal":
        if low < 0:
            raise InputError(
                f"transform='reciprocal' is 1 / (1 + t), but there are values down to {low:g}. "
                "Use transform='negate'."
            )
        values, limits = 1 / (1 + values), (0.0, 1.0)
        scale = "performance: 1 / (1 + t)"
    elif transform == "negate":
        values, limits = (high - values) / (high - low), (0.0, 1.0)
        scale = f"performance (1 is {_said(low)}, 0 is {_said(high)})"
    else:
        limits = (low, high)
    made = _filled(table, values)
    return Performances(table, made, better, transform, limits, tuple(notes), scale=scale)


def _said(value: float) -> str:
    """A number on an axis: whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _limits(
    table: pd.DataFrame, bounds: tuple[float, float] | None, counts: float | None
) -> tuple[float, float]:
    """Smallest and largest possible value; by default those of the table."""
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
        raise InputError(f"bounds is {bounds!r}, but it should be (low, high).") from None
    if not worst < best < np.inf or worst == -np.inf:
        raise InputError(f"bounds is {bounds!r}, but it should be (low, high), low below high.")
    if counts is not None and high == counts > best:
        raise InputError(
            f"With the penalty, a timed-out run counts as {counts:g}, outside the bounds "
            f"{worst:g} to {best:g}. Give bounds that include it: ({worst:g}, {counts:g})."
        )
    if low < worst or high > best:
        row, column = np.argwhere((values < worst) | (values > best))[0]
        raise InputError(
            f"The performance of '{table.columns[column]}' on '{table.index[row]}' is "
            f"{values[row, column]:g}, outside the bounds {worst:g} to {best:g}. Correct it, or "
            "give wider bounds."
        )
    return worst, best
