"""`task_scales`: one scale per task, and the correlations between them."""

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

    from ogive.results.plots.figure import Display

__all__ = ["TaskScales", "task_scales"]


FIGURES = ("correlations",)
MIN_RESPONDENTS = 4  # fewest respondents that give a standard error of a correlation
CONFIDENCE = 0.95  # level of the intervals of correlations
WIDEST = 1.0  # widest interval of a correlation that is informative
DISTINCT = 0.9  # upper limit of the highest correlation of a task that stands apart
UNRELIABLE = 0.5  # reliability below which a note warns
LEAST_RELIABILITY = 0.05  # reliability of an ability below which shrinkage cannot be undone
# With fewer respondents, discriminations are overestimated, so that tests look more reliable and
# correlations lower than they are, unless a prior restrains the slopes.
FEW_RESPONDENTS = 500
FEW_PRIORS = {"discrimination": Normal(1, 0.5)}
IMPRECISE_RESPONDENTS = 30  # respondents below which a note warns of imprecise correlations

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
        """Return one row per pair, with the second name last, because names may be long."""
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
            return _all_unknown(known.iloc[0])
        if same.empty:
            text = _none_same(known, sure.iloc[0])
        else:
            first, others = same.iloc[0], len(same) - 1
            text = (
                f"{first['task']} and {first['other']} correlate {_value(first)}, so one scale "
                "would do for both"
            )
            text += f"; the same holds for {counted(others, 'other pair')}" if others else ""
        return f"{text}.{self._distinct_task(known)}"

    def _distinct_task(self, known: pd.DataFrame) -> str:
        """Return the task whose highest correlation is lowest, if it is low."""
        if len(self.tasks) < 3:
            return ""
        closest = {
            task: known[(known["task"] == task) | (known["other"] == task)].head(1)
            for task in self.tasks.index
        }
        rows = {task: rows.iloc[0] for task, rows in closest.items() if len(rows)}
        task, row = min(rows.items(), key=lambda pair: float(pair[1]["correlation"]))
        if row["high"] >= DISTINCT:
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
            asked = np.asarray(part.observed.any(axis=1))
            own_priors = _priors(chosen, int(asked.sum()), priors)
            respondents = part.select(respondents=asked)
            calibrations[task] = calibrate(respondents, chosen, priors=own_priors)
    normal = fit_joint_normal([scale_of(calibrations[task], part) for task, part in parts.items()])
    estimates = correlations(normal, CONFIDENCE)
    pairs = _pairs(estimates, list(parts))
    tasks = _tasks(calibrations)
    notes += _notes(calibrations, tasks, pairs, normal)
    return TaskScales(
        tasks=tasks,
        calibrations=calibrations,
        correlation_matrix=_matrix(estimates, list(parts)),
        correlations=pairs,
        abilities=_abilities(calibrations, parts),
        joint_abilities=_joint_abilities(normal, parts, table.respondents),
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
        n_varied = int((differ & (group == task)).sum())
        if n_varied >= least:
            parts[task] = table.select(items=group == task)
        else:
            left_out.append(
                f"{task} is left out: respondents differ on {counted(n_varied, 'item')} of "
                f"{int((group == task).sum()):,}, but {least} are needed."
            )
    notes += left_out
    if len(parts) < 2:
        raise InputError(
            f"Correlations need two tasks or more; usable here: {', '.join(parts) or 'none'}. "
            f"{' '.join(left_out[:3]) or 'Give the task of each item in by.'}"
        )
    if table.n_respondents < MIN_RESPONDENTS:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but correlations need "
            f"{MIN_RESPONDENTS} or more."
        )
    return parts


def _priors(model: str | MeasurementModel, n_respondents: int, priors: Priors) -> Priors:
    """Return priors that restrain the slopes of a few respondents, unless others are given."""
    chosen = find_model(model)
    few = n_respondents < FEW_RESPONDENTS and chosen.kind == "binary" and chosen.own_slopes
    return FEW_PRIORS if few and priors == "default" else priors


def scale_of(calibration: Calibration, part: Responses) -> Scale:
    """Return the likelihood of each respondent's ability from the responses to one task."""
    data = encode(calibration.placed(part), calibration.model, collapsing=False)
    population = calibration.population
    nodes, likelihood = likelihood_on_nodes(data, calibration.model, calibration.coords, population)
    asked = np.asarray(part.observed.any(axis=1))
    blur = np.zeros(len(asked))
    blur[asked] = _item_error_variance(calibration, part.select(respondents=asked))
    return Scale(nodes, likelihood, asked, population.mean, population.sd, blur)


def _item_error_variance(calibration: Calibration, part: Responses) -> Floats:
    """Return the variance that errors of items add to each ability.

    Origin and unit of the scale do not matter to a correlation, so moves of all abilities along
    a line are left out. A posterior mean shrinks to that of the population, which is undone.
    """
    own = calibration.responses
    same = own is not None and own.respondents == part.respondents and own.items == part.items
    abilities = calibration.ability_covariance(own if same else part)
    line = np.stack([np.ones_like(abilities.ability), abilities.ability], axis=1)
    basis, _ = np.linalg.qr(line)
    residual = abilities.shared - basis @ (basis.T @ abilities.shared)
    reliability = 1 - abilities.own / calibration.population.sd**2
    reliability = np.clip(reliability, LEAST_RELIABILITY, 1.0)
    return np.asarray((residual**2).sum(axis=1) / reliability**2)


def _pairs(estimates: Correlations, tasks: list[str]) -> pd.DataFrame:
    """Return one row per pair, sorted by correlation; NaN without information."""
    import pandas as pd

    pairs = np.triu_indices(len(tasks), 1)
    known = estimates.known[pairs]
    columns = {
        "task": [tasks[k] for k in pairs[0]],
        "other": [tasks[k] for k in pairs[1]],
        "correlation": np.where(known, estimates.value[pairs], np.nan),
        "se": np.where(known, estimates.se[pairs], np.nan),
        "low": np.where(known, estimates.low[pairs], -1.0),
        "high": np.where(known, estimates.high[pairs], 1.0),
        "n_respondents": estimates.rows[pairs],
    }
    frame = pd.DataFrame(columns)
    return frame.sort_values("correlation", ascending=False, kind="stable", ignore_index=True)


def _matrix(estimates: Correlations, tasks: list[str]) -> pd.DataFrame:
    """Return tasks × tasks, with similar tasks next to each other."""
    import pandas as pd
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    order = np.arange(len(tasks))
    if len(tasks) > 2:
        distances = squareform(1 - estimates.value, checks=False)
        order = leaves_list(linkage(distances, "average", optimal_ordering=True))
    known = np.where(estimates.known, estimates.value, np.nan)
    np.fill_diagonal(known, 1.0)
    names = pd.Index([tasks[k] for k in order], name="task")
    return pd.DataFrame(known[np.ix_(order, order)], index=names, columns=list(names))


def _tasks(calibrations: Mapping[str, Calibration]) -> pd.DataFrame:
    """Return one row per task."""
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
    normal: JointNormal, parts: Mapping[str, Responses], respondents: tuple[str, ...]
) -> pd.DataFrame:
    """Return abilities from all tasks: one row per respondent and task, asked or not."""
    import pandas as pd

    asked = [part.observed.sum(axis=1) for part in parts.values()]
    columns = {
        "respondent": np.tile(np.array(respondents, dtype=object), len(parts)),
        "task": np.repeat(np.array(list(parts), dtype=object), len(respondents)),
        "ability": normal.ability.T.ravel(),
        "ability_se": normal.se.T.ravel(),
        "n_items": np.concatenate(asked),
    }
    return pd.DataFrame(columns)


def _notes(
    calibrations: Mapping[str, Calibration],
    tasks: pd.DataFrame,
    pairs: pd.DataFrame,
    normal: JointNormal,
) -> Iterator[str]:
    """Yield notes on how far the figures can be trusted."""
    n_respondents = counted(len(normal.ability), "respondent")
    if failed := [task for task, one in calibrations.items() if not one.converged]:
        yield f"The calibration of {listed(failed, 'task')} did not converge."
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
            f"differ as far as these responses show, or fewer than {MIN_RESPONDENTS} "
            "respondents were asked both."
        )
    if len(normal.ability) < IMPRECISE_RESPONDENTS:
        yield (
            f"With only {n_respondents}, intervals of correlations are wide, and high ones are "
            "hard to tell from lower ones."
        )
    if len(normal.ability) <= len(tasks):
        yield (
            f"With {n_respondents} for {counted(len(tasks), 'task')}, the standard errors of joint "
            "abilities are too small."
        )
    if not normal.converged:
        yield "The estimation of the correlations did not converge."


def _all_unknown(row: pd.Series) -> str:
    """Return the sentence for intervals too wide to call any correlation the highest."""
    many = counted(int(row["n_respondents"]), "respondent")
    return (
        "How abilities on these tasks correlate is not known: no interval is narrower than "
        f"{WIDEST:g} (of {row['task']} and {row['other']}, of which {many} answered both, it is "
        f"{row['low']:.2f} to {row['high']:.2f}). Ask more respondents the items of several tasks."
    )


def _none_same(known: pd.DataFrame, first: pd.Series) -> str:
    """Return the sentence for tasks of which no pair is shown to share a scale."""
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
    """Return a correlation with its interval."""
    value, low, high = (f"{row[name]:.2f}" for name in ("correlation", "low", "high"))
    return f"{value} ({low} to {high})".replace("-0.00", "0.00")
