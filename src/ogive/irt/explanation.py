"""Explain ability, or the difficulty of items, by facts: latent regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import CONFIDENCE, checked_share
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.covariates import Columns, check_shared_ability, fact_columns
from ogive.irt.latent_regression import (
    ExplainedItems,
    ExplainedPopulation,
    Facts,
    delta_jacobian,
    explain_items_of,
    explain_population,
    usable_items,
)
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.response_matrix import as_responses
from ogive.results.base import Draw, Result, table
from ogive.results.numbers import listed, said_p, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses, Table
    from ogive.results.plots.figure import Display

__all__ = ["AbilityExplanation", "ItemExplanation", "explain_ability", "explain_items"]

POINTS = 61  # number of points of the drawn line
ROOM = 0.25  # length of the line beyond the facts, as a share of their range


@dataclass(frozen=True, eq=False, repr=False)
class FactRegression(Result):
    """Base class of explanations of ability and of difficulty.

    `coefficients` has one row per fact: how much the outcome, in standard deviations of these
    respondents' ability, rises with one unit of it while the others stay. `r2` is the share of the
    variance of the true outcome that the facts explain.
    """

    made_by: ClassVar[str]  # the function, by which its bank is named
    rows: ClassVar[str]  # name of the field that `measured` returns
    outcome: ClassVar[str]
    never: ClassVar[str]  # what a new one is called beside the band of the figure

    coefficients: pd.DataFrame
    r2: float
    r2_se: float
    residual_sd: float
    confidence: float
    columns: Columns
    covariance: Floats  # of intercept and coefficients
    calibration: Calibration

    @property
    def measured(self) -> pd.DataFrame:
        """The respondents or items: the outcome, `se`, and `expected`, which the facts predict."""
        frame: pd.DataFrame = getattr(self, self.rows)
        return frame

    @property
    def meaning(self) -> str:
        """The fact that explains most, and the share of variance that all explain."""
        rows = self.coefficients.drop(index="intercept").sort_values("p", kind="stable")
        name, row = rows.index[0], rows.iloc[0]
        low, high = self.r2_interval
        share = f"{100 * self.r2:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        return (
            f"With one unit more of {name}, {self.outcome} is "
            f"{with_interval(row['coefficient'], (row['high'] - row['low']) / 2)} standard "
            f"deviations higher ({said_p(row['p'])}), the other facts being equal. Together, the "
            f"facts go with {share} of the variance of {self.outcome}. That is association, not "
            "cause."
        )

    @property
    def r2_interval(self) -> tuple[float, float]:
        """Interval of `r2`, by Fisher's transformation of its root."""
        root = float(np.sqrt(np.clip(self.r2, 1e-12, 1 - 1e-12)))
        error = self.r2_se / (2 * root * (1 - root**2))
        half = _t_quantile(self.confidence, self.columns) * error
        low, high = np.arctanh(root) - half, np.arctanh(root) + half
        return float(np.tanh(max(low, 0.0)) ** 2), float(np.tanh(high) ** 2)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per fact."""
        return self.coefficients.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the coefficients, and the respondents or items."""
        return {self.name(): self.coefficients, self.rows: self.measured}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration behind it."""
        return {self.made_by: self.calibration}

    def figures(self) -> dict[str, Draw]:
        """Return the outcome against the first numeric fact."""
        return {f"{self.outcome}_by_fact": self.plot} if self.columns.numeric else {}

    def predict(self, facts: Any) -> pd.DataFrame:
        """Predict the outcome where nothing was ever answered; bands hold its own scatter.

        `facts` is a frame with the same columns, one row each.
        """
        design = self.columns.design(facts)
        expected = design @ self.coefficients["coefficient"].to_numpy()
        variance = np.einsum("ni,ij,nj->n", design, self.covariance, design)
        half = _t_quantile(self.confidence, self.columns) * np.sqrt(variance + self.residual_sd**2)
        predicted = {
            self.outcome: expected,
            "se": np.sqrt(variance),
            "low": expected - half,
            "high": expected + half,
        }
        return table(predicted, getattr(facts, "index", None))

    def plot(self, kind: str | None = None, **kw: Any) -> Display:
        """Plot the outcome against a fact (`kind` is its name), with the band of a new one.

        The other facts are equal for all: numbers at their mean, words at the most frequent one.
        Points are moved by as much as their own facts differ from that.
        """
        import pandas as pd

        from ogive.results.plots.planes import ScalingDisplay

        numeric, outcome = self.columns.numeric, self.outcome
        if not numeric:
            raise InputError("No fact is a number, so there is no line to draw; see to_frame().")
        name = numeric[0] if kind is None else kind
        if name not in numeric:
            raise InputError(f"`kind` must be one of {', '.join(numeric)}, got {kind!r}.")
        values = self.columns.values(name)
        room = ROOM * float(np.ptp(values))
        axis = np.linspace(values.min() - room, values.max() + room, POINTS)
        line = self.predict(self.columns.along(name, axis))
        line = line.assign(fact=axis, name="", outcome=line[outcome], outcome_se=np.nan)
        points = self.measured
        level = self.predict(self.columns.along(name, values))[outcome].to_numpy()
        points = points.assign(
            outcome=points[outcome] + level - points["expected"],
            outcome_se=points["se"],
            fact=values,
            name=list(points.index),
            low=np.nan,
            high=np.nan,
        )
        names = ["fact", "outcome", "outcome_se", "low", "high", "name"]
        frame = pd.concat([line[names], points[names]], ignore_index=True)
        several = len(self.columns.words) > 1
        return ScalingDisplay(
            frame, fact=name, outcome=outcome, never=self.never, adjusted=several
        ).plot(**kw)


def _residual_freedom(columns: Columns) -> float:
    return float(max(1, columns.matrix.shape[0] - columns.matrix.shape[1]))


def _t_quantile(confidence: float, columns: Columns) -> float:
    return float(t_reach(np.array(_residual_freedom(columns)), confidence))


def _coefficient_frame(
    values: Floats, covariance: Floats, confidence: float, columns: Columns
) -> pd.DataFrame:
    """Return one row per fact: coefficient, se, low, high, p."""
    from scipy.special import stdtr

    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = _t_quantile(confidence, columns) * errors
    t = values / np.where(errors > 0, errors, np.nan)
    numbers = {
        "coefficient": values,
        "se": errors,
        "low": values - half,
        "high": values + half,
        "p": 2 * stdtr(_residual_freedom(columns), -np.abs(t)),
    }
    return table(numbers, columns.names, "fact")


@dataclass(frozen=True, eq=False, repr=False)
class AbilityExplanation(FactRegression):
    """How ability depends on facts of the respondents.

    `coefficients` has one row per fact: how much ability, in standard deviations of these
    respondents, rises with one unit of it while the others stay. `r2` is the share of the variance
    of true ability that the facts explain. `abilities` has one row per respondent.
    """

    made_by: ClassVar[str] = "explain_ability"
    rows: ClassVar[str] = "abilities"
    outcome: ClassVar[str] = "ability"
    never: ClassVar[str] = "a respondent that was never run"

    abilities: pd.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class ItemExplanation(FactRegression):
    """How the difficulty of items depends on facts about them.

    `coefficients` has one row per fact: how much difficulty, in standard deviations of these
    respondents' ability, rises with one unit of it while the others stay. `r2` is the share of the
    variance of true difficulty that the facts explain. `items` has one row per item.
    """

    made_by: ClassVar[str] = "explain_items"
    rows: ClassVar[str] = "items"
    outcome: ClassVar[str] = "difficulty"
    never: ClassVar[str] = "an item that was never asked"

    items: pd.DataFrame
    notes: tuple[str, ...] = ()


def explain_ability(
    responses: Table,
    facts: Sequence[str] | pd.DataFrame | None = None,
    *,
    model: str | MeasurementModel = AUTO,
    confidence: float = CONFIDENCE,
    progress: Progress | bool = True,
) -> AbilityExplanation:
    """Explain ability by facts of respondents: compute, parameters, release date.

    Latent regression: the mean of the population depends on the facts, and coefficients are those
    of true ability, not of an estimate. Their errors count how uncertain every ability is. The
    frame has one row per fact: coefficient, se, low, high, p.

    Parameters
    ----------
    responses
        Respondents × items.
    facts
        Names of facts of the respondents; or a frame with one row per respondent. Numbers are used
        as they are (take logarithms yourself), dates as years, and words as groups compared with
        the most frequent one. Left out: all facts that are numbers.
    model
        Measurement model of the items.
    confidence
        Level of intervals and bands.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> log_compute = random.uniform(20, 26, 150)
    >>> ability = 0.4 * (log_compute - 23) + random.normal(0, 0.5, 150)
    >>> drawn = og.simulate("2pl", abilities=ability, n_items=40, random_state=1).responses
    >>> table = drawn.described(respondents={"log_compute": log_compute})
    >>> found = og.explain_ability(table, ["log_compute"])
    >>> bool(found.coefficients.loc["log_compute", "low"] > 0.2)
    True
    """
    observed = as_responses(responses)
    checked_share(confidence, "confidence", CONFIDENCE)
    columns = fact_columns(observed, facts)
    chosen, picked = model_for(model, observed)
    with telling(progress, "Explaining ability"):
        bank = calibrate(observed, chosen, progress=False)
        check_shared_ability(bank, observed)
        inner = columns.matrix[:, 1:]
        mean, sd = inner.mean(axis=0), inner.std(axis=0)
        standardised = np.concatenate([columns.matrix[:, :1], (inner - mean) / sd], axis=1)
        one_group = np.zeros(observed.n_respondents, dtype=int)
        regression = explain_population(bank, Facts(standardised, one_group))
    back = np.diag(np.concatenate([[1.0], 1 / sd]))  # from coefficients of standardised columns
    back[0, 1:] = -mean / sd
    return _explained_ability(regression, observed, columns, back, confidence, picked)


def _explained_ability(
    regression: ExplainedPopulation,
    responses: Responses,
    columns: Columns,
    back: Floats,
    confidence: float,
    picked: list[str],
) -> AbilityExplanation:
    """Return coefficients in standard deviations of these respondents, by the delta method."""
    n = columns.matrix.shape[1]
    lost = responses.n_respondents / max(1, responses.n_respondents - n)
    numbers = np.concatenate([back @ regression.coefficients, regression.log_sd])
    numbers[-1] += 0.5 * np.log(lost)  # a standard deviation about fitted means is too small

    def standard(at: Floats) -> Floats:
        """Return coefficients, residual sd, R²; then origin and unit of the scale."""
        means, residual = columns.matrix @ at[:-1], np.exp(at[-1])
        explained = means.var()
        unit = np.sqrt(explained + residual**2)
        moved = at[:-1].copy()
        moved[0] -= means.mean()
        share = explained / unit**2
        return np.concatenate([moved / unit, [residual / unit, share, means.mean(), unit]])

    values = standard(numbers)
    known = np.eye(numbers.size)
    known[:n, :n] = back
    slopes = delta_jacobian(standard, numbers) @ known
    covariance = lost * slopes @ regression.covariance @ slopes.T
    origin, unit = values[-2], values[-1]
    abilities = {
        "ability": (regression.ability - origin) / unit,
        "se": regression.ability_se / unit,
        "expected": (regression.means - origin) / unit,
    }
    notes = [*picked, *columns.notes]
    if not regression.converged:
        notes.append("The regression did not converge: it may be inaccurate.")
    if not regression.joint:
        notes.append(
            "Items stay where the calibration puts them: respondents are too few, or items too "
            "many, to find both together."
        )
    return AbilityExplanation(
        coefficients=_coefficient_frame(values[:n], covariance[:n, :n], confidence, columns),
        abilities=table(abilities, responses.respondents, "respondent"),
        r2=float(values[n + 1]),
        r2_se=float(np.sqrt(max(covariance[n + 1, n + 1], 0.0))),
        residual_sd=float(values[n]),
        confidence=confidence,
        columns=columns,
        covariance=covariance[:n, :n],
        calibration=regression.calibration,
        notes=tuple(notes),
    )


def explain_items(
    responses: Table,
    facts: Sequence[str] | pd.DataFrame | None = None,
    *,
    model: str | MeasurementModel = AUTO,
    confidence: float = CONFIDENCE,
    progress: Progress | bool = True,
) -> ItemExplanation:
    """Explain the difficulty of items by facts about them: length, subject, source.

    Latent regression, seen from the items: true difficulty has a mean that depends on the facts
    and a scatter of its own, and coefficients are those of true difficulty, not of an estimate.
    Their errors count how uncertain every difficulty is. The frame has one row per fact:
    coefficient, se, low, high, p. To predict difficulty by many features and any regressor, see
    `DifficultyRegressor` and `explain_difficulty`.

    Parameters
    ----------
    responses
        Respondents × items.
    facts
        Names of facts of the items; or a frame with one row per item. Numbers are used as they are
        (take logarithms yourself), dates as years, and words as groups compared with the most
        frequent one. Left out: all facts that are numbers.
    model
        Measurement model of the items.
    confidence
        Level of intervals and bands.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Notes
    -----
    The likelihood of every item along its difficulty is integrated as it is (De Boeck and Wilson,
    2004, chapter 6, call the model an LLTM with error); the scatter is found by restricted maximum
    likelihood. Items that better respondents answer worse, and items about whose difficulty
    nothing is known, are left out.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> length = random.uniform(2, 6, 60)
    >>> hard = 0.5 * (length - 4) + random.normal(0, 0.5, 60)
    >>> items = {"difficulty": hard, "discrimination": np.ones(60)}
    >>> drawn = og.simulate("2pl", 200, items=items, random_state=1).responses
    >>> found = og.explain_items(drawn.described(items={"length": length}), ["length"])
    >>> bool(found.coefficients.loc["length", "low"] > 0.2)
    True
    """
    observed = as_responses(responses)
    checked_share(confidence, "confidence", CONFIDENCE)
    fact_columns(observed, facts, "item")  # bad facts are refused before the work
    chosen, picked = model_for(model, observed)
    with telling(progress, "Explaining difficulty"):
        bank = calibrate(observed, chosen, progress=False)
        check_shared_ability(bank, observed)
        used = usable_items(bank)
        columns = fact_columns(observed, facts, "item", used)
        regression = explain_items_of(bank, observed, columns.matrix, used)
    names = np.array(bank.item_names, dtype=object)
    notes = [*picked, *columns.notes]
    if not used.all():
        why = "better respondents answer worse, or nothing is known of the difficulty"
        notes.append(f"{listed(list(names[~used]), 'item')} left out: {why}.")
    r2, r2_se = _explained_share(regression, columns.matrix)
    items = {
        "difficulty": regression.difficulty,
        "se": regression.difficulty_se,
        "expected": regression.means,
    }
    return ItemExplanation(
        coefficients=_coefficient_frame(
            regression.coefficients, regression.covariance, confidence, columns
        ),
        r2=r2,
        r2_se=r2_se,
        residual_sd=regression.sd,
        confidence=confidence,
        columns=columns,
        covariance=regression.covariance,
        calibration=bank,
        items=table(items, list(names[used]), "item"),
        notes=tuple(notes),
    )


def _explained_share(regression: ExplainedItems, matrix: Floats) -> tuple[float, float]:
    """Return R² of true difficulty, and its error by the delta method."""
    centered = matrix - matrix.mean(axis=0)
    explained, left = float((centered @ regression.coefficients).var()), regression.sd**2
    share = explained / (explained + left)
    slope = 2 * centered.T @ (centered @ regression.coefficients) / len(matrix)
    of_explained = float(slope @ regression.covariance @ slope) / explained**2
    relative = of_explained + (2 * regression.log_sd_error) ** 2
    return share, share * (1 - share) * float(np.sqrt(relative))
