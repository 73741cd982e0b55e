"""One scale per task, and the correlations between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import one_of, whole_number
from ogive.checks.reliability import reliability
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.dimensions.correlated_abilities import (
    Correlations,
    JointNormal,
    Scale,
    correlations,
    fit_joint_normal,
)
from ogive.irt.encoded_responses import encode
from ogive.irt.item_curves import SAME, SURELY_SAME
from ogive.irt.models import AUTO, find_model
from ogive.irt.models.base import MeasurementModel, Normal, Prior
from ogive.irt.quadrature import likelihood_on_nodes
from ogive.irt.response_codes import as_floats
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ogive.results.plots.figure import Display

__all__ = ["TaskScales", "task_scales"]


FIGURES = ("correlations",)
LEAST_RESPONDENTS = 4  # needed for a standard error of a correlation
CONFIDENCE = 0.95  # of the intervals of correlations
WIDEST = 1.0  # interval of a correlation that still says something
APART = 0.9  # upper end of the interval of a task's highest correlation
UNRELIABLE = 0.5
LEAST_TOLD = 0.05  # of an ability by responses; of less, shrinkage cannot be undone
# With fewer respondents, discriminations are overestimated, so tests look more reliable and
# correlations lower than they are, unless a prior holds the slopes.
FEW = 500
FEW_MODELS = 30  # respondents, of whom correlations are uncertain
FEW_PRIORS = {"discrimination": Normal(1, 0.5)}

Priors: TypeAlias = "Literal['default'] | Mapping[str, Prior | None] | None"


@dataclass(frozen=True, eq=False, repr=False)
class TaskScales(Result):
    """One scale per task, and the correlations between them.

    `correlation_matrix` holds the correlations of true abilities, tasks × tasks, with similar tasks
    next to each other; `correlations` the same with standard errors and intervals, one row per
    pair. `abilities` are estimated from each task alone, `joint_abilities` also from the
    correlated tasks, so that they exist for tasks a respondent was never asked.
    """

    tasks: pd.DataFrame  # by task: n_items, n_respondents, reliability with its interval
    calibrations: Mapping[str, Calibration]
    correlation_matrix: pd.DataFrame
    correlations: pd.DataFrame
    abilities: pd.DataFrame
    joint_abilities: pd.DataFrame
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of tasks, the highest correlation first."""
        return self.correlations.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return correlations, tasks, and abilities by task."""
        names = ("correlations", "tasks", "abilities", "joint_abilities")
        return {name: getattr(self, name) for name in names}

    def figures(self) -> dict[str, Draw]:
        """Return the heat map of correlations."""
        return {kind: partial(self.plot, kind) for kind in FIGURES}

    def banks(self) -> dict[str, Calibration]:
        """Return one item bank per task."""
        return dict(self.calibrations)

    def preview(self) -> pd.DataFrame:
        """Return the correlations, a row per pair; names may be long, so they come after."""
        names = ["correlation", "se", "low", "high", "other", "n_respondents"]
        return self.correlations.set_index("task")[names]

    def plot(self, kind: str = "correlations", **kw: Any) -> Display:
        """Draw the correlations as a heat map, with similar tasks next to each other."""
        from ogive.results.plots.matrices import HeatMapDisplay

        one_of(kind, "kind", FIGURES)
        matrix = self.correlation_matrix
        low = -1.0 if np.nanmin(matrix.to_numpy()) < 0 else 0.0
        frame = matrix.rename_axis(columns="correlation of true abilities")
        return HeatMapDisplay(frame, low=low, high=1.0).plot(**kw)

    @property
    def meaning(self) -> str:
        """Which tasks correlate so highly that one scale would do, and which stands apart."""
        known = self.correlations.dropna(subset=["correlation"])
        if known.empty and not self.correlations["n_respondents"].any():
            return "No respondent was asked two tasks, so no correlation can be estimated."
        if known.empty:
            return (
                "No correlation can be estimated: these responses hardly show that respondents "
                "differ in ability on a task. Ask more respondents or more items of each task."
            )
        same = known[(known["correlation"] >= SAME) & (known["low"] >= SURELY_SAME)]
        sure = known[known["high"] - known["low"] <= WIDEST]
        if sure.empty:
            return _said_of_unknown(known.iloc[0])
        if same.empty:
            told = _said_of_none(known, sure.iloc[0])
        else:
            others = len(same) - 1
            told = f"{_pair(same.iloc[0])}, so one scale would do for both"
            told += f"; the same holds for {counted(others, 'other pair')}" if others else ""
        return f"{told}.{self._apart(known)}"

    def _apart(self, known: pd.DataFrame) -> str:
        """Return the task whose highest correlation is lowest, if it is low."""
        if len(self.tasks) < 3:
            return ""
        closest = {
            task: known[(known["task"] == task) | (known["other"] == task)].head(1)
            for task in self.tasks.index
        }
        rows = {task: rows.iloc[0] for task, rows in closest.items() if len(rows)}
        task, row = min(rows.items(), key=lambda pair: float(pair[1]["correlation"]))
        if row["high"] >= APART:
            return ""
        other = row["other"] if row["task"] == task else row["task"]
        return f" {task} stands apart: its highest correlation, with {other}, is {_value(row)}."


def task_scales(
    responses: Table,
    by: object = "task",
    *,
    model: str | MeasurementModel = AUTO,
    priors: Priors = "default",
    min_items: int = 3,
    progress: Progress | bool = True,
) -> TaskScales:
    """Calibrate each task alone, then estimate how true abilities on the tasks correlate.

    The frame has one row per pair of tasks: correlation, se, low, high, n_respondents;
    `correlation_matrix` is tasks × tasks.

    Parameters
    ----------
    responses
        Respondents × items of all tasks. Not every respondent needs to have been asked every task.
    by
        The task of each item: a fact of the items, a mapping from item, or a list.
    model, priors
        Model and priors of the items of each task, as in `calibrate`; "auto" picks one model for
        all tasks. For right or wrong responses of fewer than 500 respondents, the default prior of
        discrimination is N(1, 0.5) where each item has its own.
    min_items
        Tasks with fewer items on which respondents differ are left out; a note names them.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message): tasks calibrated, and the next task.

    Notes
    -----
    Items are calibrated by task; their errors count as further noise of the abilities. The
    correlations are maximum likelihood estimates under a joint normal distribution of the
    abilities, so they are free of attenuation by measurement error, unlike the correlation of two
    ability estimates. Means and standard deviations are estimated as well. Intervals use Fisher's
    transformation.

    Examples
    --------
    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 200, 24, random_state=1).responses
    >>> found = og.task_scales(drawn, by=["odd", "even"] * 12)
    >>> bool(found.correlation_matrix.loc["odd", "even"] > 0.9)
    True
    """
    table = as_responses(responses)
    least = whole_number(min_items, "min_items", 1)
    chosen, notes = model_for(model, table)
    parts = _usable(table, table.item_groups(by), least, notes)
    calibrations: dict[str, Calibration] = {}
    with telling(progress, "Calibrating tasks") as report:
        for k, (task, part) in enumerate(parts.items()):
            report(k, len(parts), task)
            asked = _met(part)
            calibrations[task] = calibrate(
                part.select(respondents=asked),
                chosen,
                priors=_priors(chosen, int(asked.sum()), priors),
            )
    found = fit_joint_normal([scale_of(calibrations[task], part) for task, part in parts.items()])
    told = correlations(found, CONFIDENCE)
    pairs = _pairs(told, list(parts))
    tasks = _tasks(calibrations)
    notes += _remarks(calibrations, tasks, pairs, found)
    return TaskScales(
        tasks=tasks,
        calibrations=calibrations,
        correlation_matrix=_wide(told, list(parts)),
        correlations=pairs,
        abilities=_abilities(calibrations, parts),
        joint_abilities=_joint_abilities(found, parts, table.respondents),
        notes=tuple(notes),
    )


def _usable(
    table: Responses, groups: tuple[str, ...], least: int, notes: list[str]
) -> dict[str, Responses]:
    """Return responses of each task that has enough items; notes on the others go to `notes`."""
    values, group = as_floats(table.cells), np.array(groups)
    differ = np.fmax.reduce(values, axis=0) > np.fmin.reduce(values, axis=0)
    parts: dict[str, Responses] = {}
    left_out: list[str] = []
    for task in dict.fromkeys(groups):
        telling = int((differ & (group == task)).sum())
        if telling >= least:
            parts[task] = table.select(items=group == task)
        else:
            left_out.append(
                f"{task} is left out: respondents differ on {counted(telling, 'item')} of "
                f"{int((group == task).sum()):,}, but {least} are needed."
            )
    notes += left_out
    if len(parts) < 2:
        raise InputError(
            f"Correlations need two tasks or more; usable here: {', '.join(parts) or 'none'}. "
            f"{' '.join(left_out[:3]) or 'Give the task of each item in by.'}"
        )
    if table.n_respondents < LEAST_RESPONDENTS:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but correlations need "
            f"{LEAST_RESPONDENTS} or more."
        )
    return parts


def _priors(model: str | MeasurementModel, n_respondents: int, priors: Priors) -> Priors:
    known = find_model(model)
    few = n_respondents < FEW and known.kind == "binary" and known.own_slopes
    return FEW_PRIORS if few and priors == "default" else priors


def _met(part: Responses) -> NDArray[np.bool_]:
    """Return respondents who answered anything."""
    met: NDArray[np.bool_] = np.asarray(part.observed.any(axis=1))
    return met


def scale_of(calibration: Calibration, part: Responses) -> Scale:
    """Return the likelihood of each respondent's ability from the responses to one task."""
    data = encode(calibration.placed(part), calibration.model, collapsing=False)
    population = calibration.population
    nodes, likelihood = likelihood_on_nodes(data, calibration.model, calibration.coords, population)
    met = _met(part)
    blur = np.zeros(len(met))
    blur[met] = _error_of_items(calibration, part.select(respondents=met))
    return Scale(nodes, likelihood, met, population.mean, population.sd, blur)


def _error_of_items(calibration: Calibration, part: Responses) -> Floats:
    """Return variance that errors of items add to each ability, on the scale of its own responses.

    Origin and unit of the scale do not matter to a correlation, so what moves all abilities along
    a line is left out. A posterior mean moves less than the responses tell, by what the population
    adds: that shrinkage is undone.
    """
    own = calibration.responses
    same = own is not None and own.respondents == part.respondents and own.items == part.items
    found = calibration.ability_covariance(own if same else part)
    line = np.stack([np.ones_like(found.ability), found.ability], axis=1)
    basis, _ = np.linalg.qr(line)
    apart = found.shared - basis @ (basis.T @ found.shared)
    told = np.clip(1 - found.own / calibration.population.sd**2, LEAST_TOLD, 1.0)
    variance: Floats = (apart**2).sum(axis=1) / told**2
    return variance


def _pairs(told: Correlations, tasks: list[str]) -> pd.DataFrame:
    """One row per pair, the highest correlation first; NaN where the responses tell nothing."""
    import pandas as pd

    pairs = np.triu_indices(len(tasks), 1)
    known = told.known[pairs]
    columns = {
        "task": [tasks[k] for k in pairs[0]],
        "other": [tasks[k] for k in pairs[1]],
        "correlation": np.where(known, told.value[pairs], np.nan),
        "se": np.where(known, told.se[pairs], np.nan),
        "low": np.where(known, told.low[pairs], -1.0),
        "high": np.where(known, told.high[pairs], 1.0),
        "n_respondents": told.rows[pairs],
    }
    frame = pd.DataFrame(columns)
    return frame.sort_values("correlation", ascending=False, kind="stable", ignore_index=True)


def _wide(told: Correlations, tasks: list[str]) -> pd.DataFrame:
    """Return tasks × tasks, with similar tasks next to each other."""
    import pandas as pd
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    order = np.arange(len(tasks))
    if len(tasks) > 2:
        apart = squareform(1 - told.value, checks=False)
        order = leaves_list(linkage(apart, "average", optimal_ordering=True))
    known = np.where(told.known, told.value, np.nan)
    np.fill_diagonal(known, 1.0)
    names = pd.Index([tasks[k] for k in order], name="task")
    return pd.DataFrame(known[np.ix_(order, order)], index=names, columns=list(names))


def _tasks(calibrations: Mapping[str, Calibration]) -> pd.DataFrame:
    import pandas as pd

    rows = {}
    for task, calibration in calibrations.items():
        measured = reliability(calibration)
        rows[task] = {
            "n_items": len(calibration.item_names),
            "n_respondents": int(calibration.n_respondents),
            "reliability": measured.empirical,
            "reliability_low": measured.empirical_low,
            "reliability_high": measured.empirical_high,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("task")


def _abilities(
    calibrations: Mapping[str, Calibration], parts: Mapping[str, Responses]
) -> pd.DataFrame:
    """Return abilities from each task alone: one row per respondent and task asked."""
    import pandas as pd

    frames = []
    for task, calibration in calibrations.items():
        scored = calibration.abilities()[["ability", "se"]].reset_index()
        scored = scored.rename(columns={"se": "ability_se"})
        scored.insert(1, "task", task)
        asked = parts[task].observed.sum(axis=1)
        frames.append(scored.assign(n_items=asked[asked > 0]))
    return pd.concat(frames, ignore_index=True)


def _joint_abilities(
    found: JointNormal, parts: Mapping[str, Responses], respondents: tuple[str, ...]
) -> pd.DataFrame:
    """Abilities from all tasks: every respondent and task; n_items is 0 if it was not asked."""
    import pandas as pd

    asked = [part.observed.sum(axis=1) for part in parts.values()]
    columns = {
        "respondent": np.tile(np.array(respondents, dtype=object), len(parts)),
        "task": np.repeat(np.array(list(parts), dtype=object), len(respondents)),
        "ability": found.ability.T.ravel(),
        "ability_se": found.se.T.ravel(),
        "n_items": np.concatenate(asked),
    }
    return pd.DataFrame(columns)


def _remarks(
    calibrations: Mapping[str, Calibration],
    tasks: pd.DataFrame,
    pairs: pd.DataFrame,
    found: JointNormal,
) -> Iterator[str]:
    """Yield notes on how far the figures can be trusted."""
    if astray := [task for task, one in calibrations.items() if not one.converged]:
        yield f"The calibration of {listed(astray, 'task')} did not converge."
    if weak := list(tasks.index[~(tasks["reliability"] >= UNRELIABLE)]):
        yield (
            f"The reliability of {listed(weak, 'task')} is below {UNRELIABLE}: abilities and "
            "correlations there are imprecise."
        )
    if unmet := int((pairs["n_respondents"] == 0).sum()):
        yield f"No correlation for {counted(unmet, 'pair')} of tasks: no respondent was asked both."
    if open_pairs := int((pairs["correlation"].isna() & (pairs["n_respondents"] > 0)).sum()):
        yield (
            f"No correlation for {counted(open_pairs, 'pair')} of tasks whose respondents were "
            f"asked both: its standard error would be above 1, because true abilities hardly "
            f"differ as far as these responses show, or fewer than {LEAST_RESPONDENTS} "
            "respondents were asked both."
        )
    if len(found.ability) < FEW_MODELS:
        yield (
            f"With only {counted(len(found.ability), 'respondent')}, intervals of correlations are "
            "wide, and high ones are hard to tell from lower ones."
        )
    if len(found.ability) <= len(tasks):
        yield (
            f"With {counted(len(found.ability), 'respondent')} for {counted(len(tasks), 'task')}, "
            "the standard errors of joint abilities are too small."
        )
    if not found.converged:
        yield "The estimation of the correlations did not converge."


def _said_of_unknown(row: pd.Series) -> str:
    """Return that no interval is narrow enough to call any correlation the highest."""
    many = counted(int(row["n_respondents"]), "respondent")
    return (
        "How abilities on these tasks correlate is not known: no interval is narrower than "
        f"{WIDEST:g} (of {row['task']} and {row['other']}, of which {many} answered both, it is "
        f"{row['low']:.2f} to {row['high']:.2f}). Ask more respondents the items of several tasks."
    )


def _said_of_none(known: pd.DataFrame, first: pd.Series) -> str:
    """What is known where no pair is shown to share a scale: that it may, or that it does not."""
    highest = f"is between {first['task']} and {first['other']}, {_value(first)}"
    if (known["high"] < SAME).all():
        return f"No two tasks could share one scale: the highest correlation {highest}"
    many = counted(int(first["n_respondents"]), "respondent")
    return (
        f"The highest correlation of true abilities {highest}. {many} who were asked both neither "
        f"show that one scale would do for any two tasks (the interval would have to begin at "
        f"{SURELY_SAME:.2f}) nor rule it out"
    )


def _value(row: pd.Series) -> str:
    value, low, high = (f"{row[name]:.2f}" for name in ("correlation", "low", "high"))
    return f"{value} ({low} to {high})".replace("-0.00", "0.00")


def _pair(row: pd.Series) -> str:
    return f"{row['task']} and {row['other']} correlate {_value(row)}"
