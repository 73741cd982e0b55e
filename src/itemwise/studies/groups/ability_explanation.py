"""What explains ability: facts of respondents, by latent regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import checked_share
from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.estimation.calibrating import model_of_few
from itemwise.estimation.explained_population import (
    ExplainedPopulation,
    Facts,
    explain_population,
)
from itemwise.models import AUTO, MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.progress import Progress, telling
from itemwise.responses import Responses, Table, as_responses
from itemwise.results import Draw, Result
from itemwise.studies.groups.fact_columns import Columns, fact_columns
from itemwise.words import said_p, with_reach

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

__all__ = ["AbilityExplanation", "explain_ability"]

NUDGE = 1e-5
POINTS = 61
ROOM = 0.25  # of the range of a fact, beyond which nothing is drawn


@dataclass(frozen=True, eq=False, repr=False)
class AbilityExplanation(Result):
    """How ability depends on facts of the respondents.

    `coefficients` has one row per fact: how much ability, in standard deviations of these
    respondents, rises with one unit of it while the others stay. `r2` is the share of the variance
    of true ability that the facts explain. `abilities` has one row per respondent.
    """

    coefficients: pd.DataFrame
    abilities: pd.DataFrame
    r2: float
    r2_se: float
    residual_sd: float
    confidence: float
    columns: Columns
    covariance: Floats  # of intercept and coefficients
    calibration: Calibration
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What explains most, how surely, and how much all facts explain."""
        rows = self.coefficients.drop(index="intercept").sort_values("p", kind="stable")
        name, row = rows.index[0], rows.iloc[0]
        reach = (row["high"] - row["low"]) / 2
        low, high = self.r2_interval
        share = f"{100 * self.r2:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        return (
            f"With one unit more of {name}, ability is {with_reach(row['coefficient'], reach)} "
            f"standard deviations higher ({said_p(row['p'])}), the other facts being equal. "
            f"Together, the facts go with {share} of the variance of ability. That is "
            "association, not cause."
        )

    @property
    def r2_interval(self) -> tuple[float, float]:
        """Interval of `r2`, by Fisher's transformation of its root."""
        root = float(np.sqrt(np.clip(self.r2, 1e-12, 1 - 1e-12)))
        error = self.r2_se / (2 * root * (1 - root**2))
        reach = _quantile(self.confidence, self.columns) * error
        low, high = np.arctanh(root) - reach, np.arctanh(root) + reach
        return float(np.tanh(max(low, 0.0)) ** 2), float(np.tanh(high) ** 2)

    def to_frame(self) -> pd.DataFrame:
        """One row per fact."""
        return self.coefficients.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the coefficients and the respondents."""
        return {self.name(): self.coefficients, "abilities": self.abilities}

    def figures(self) -> dict[str, Draw]:
        """Return ability against the first numeric fact."""
        return {"ability_by_fact": partial(self.plot)} if self.columns.numeric else {}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration whose abilities are explained."""
        return {"explain_ability": self.calibration}

    def predict(self, facts: Any) -> pd.DataFrame:
        """Predict ability of respondents that were never run; bands hold their own scatter.

        `facts` is a frame with the same columns, one row per respondent.
        """
        import pandas as pd

        design = self.columns.design(facts)
        expected = design @ self.coefficients["coefficient"].to_numpy()
        of_line = np.einsum("ni,ij,nj->n", design, self.covariance, design)
        reach = _quantile(self.confidence, self.columns)
        error = np.sqrt(of_line + self.residual_sd**2)
        found = {
            "ability": expected,
            "se": np.sqrt(of_line),
            "low": expected - reach * error,
            "high": expected + reach * error,
        }
        return pd.DataFrame(found, index=getattr(facts, "index", None))

    def plot(self, kind: str | None = None, **kw: Any) -> Display:
        """Plot ability against a fact (`kind` is its name), with the band of a new respondent.

        The other facts are equal for all: numbers at their mean, words at the most frequent one.
        Respondents are moved by as much as their own facts differ from that.
        """
        from itemwise.displays.fact_planes import ScalingDisplay

        numeric = self.columns.numeric
        if not numeric:
            raise InputError("No fact is a number, so there is no line to draw; see to_frame().")
        name = numeric[0] if kind is None else kind
        if name not in numeric:
            raise InputError(f"kind is {kind!r}, but the facts are: {', '.join(numeric)}.")
        values = self.columns.values(name)
        room = ROOM * float(np.ptp(values))
        axis = np.linspace(values.min() - room, values.max() + room, POINTS)
        band = self.predict(self.columns.along(name, axis))
        line = band.assign(fact=axis, respondent="", ability_se=np.nan)
        points = self.abilities.rename(columns={"se": "ability_se"})
        level = self.predict(self.columns.along(name, values))["ability"].to_numpy()
        points["ability"] += level - points["expected"]
        points = points[["ability", "ability_se"]].assign(
            fact=values, respondent=list(points.index), low=np.nan, high=np.nan
        )
        import pandas as pd

        names = ["fact", "ability", "ability_se", "low", "high", "respondent"]
        frame = pd.concat([line[names], points[names]], ignore_index=True)
        several = len(self.columns.words) > 1
        return ScalingDisplay(frame, fact=name, adjusted=several).plot(**kw)


def explain_ability(
    responses: Table,
    facts: Sequence[str] | pd.DataFrame | None = None,
    *,
    model: str | MeasurementModel = AUTO,
    confidence: float = 0.95,
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
    >>> import itemwise as iw
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> log_compute = random.uniform(20, 26, 150)
    >>> ability = 0.4 * (log_compute - 23) + random.normal(0, 0.5, 150)
    >>> drawn = iw.simulate("2pl", abilities=ability, n_items=40, random_state=1).responses
    >>> table = drawn.described(respondents={"log_compute": log_compute})
    >>> found = iw.explain_ability(table, ["log_compute"])
    >>> bool(found.coefficients.loc["log_compute", "low"] > 0.2)
    True
    """
    table = as_responses(responses)
    checked_share(confidence, "confidence", 0.95)
    columns = fact_columns(table, facts)
    chosen, picked = model_of_few(model, table)
    with telling(progress, "Explaining ability"):
        bank = calibrate(table, chosen, progress=False)
        one = np.zeros(table.n_respondents, dtype=int)
        found = explain_population(bank, Facts(_standardised(columns.matrix), one))
    return _explained(found, table, columns, confidence, tuple(picked))


def _explained(
    found: ExplainedPopulation,
    table: Responses,
    columns: Columns,
    confidence: float,
    picked: tuple[str, ...],
) -> AbilityExplanation:
    """Coefficients in standard deviations of these respondents, by the delta method."""
    import pandas as pd

    back = _of_standardised(columns.matrix)
    lost = table.n_respondents / max(1, table.n_respondents - columns.matrix.shape[1])
    numbers = np.concatenate([back @ found.coefficients, found.log_sd])
    numbers[-1] += 0.5 * np.log(lost)  # a standard deviation about fitted means is too small

    def standard(at: Floats) -> Floats:
        """Coefficients, residual sd, R²; then origin and unit of the scale."""
        means, residual = columns.matrix @ at[:-1], np.exp(at[-1])
        explained = means.var()
        unit = np.sqrt(explained + residual**2)
        moved = at[:-1].copy()
        moved[0] -= means.mean()
        share = explained / unit**2
        return np.concatenate([moved / unit, [residual / unit, share, means.mean(), unit]])

    values = standard(numbers)
    steps = NUDGE * np.eye(numbers.size)
    slopes = np.stack(
        [(standard(numbers + s) - standard(numbers - s)) / (2 * NUDGE) for s in steps], axis=1
    )
    known = np.eye(numbers.size)
    known[: len(back), : len(back)] = back
    slopes = slopes @ known
    covariance = lost * slopes @ found.covariance @ slopes.T
    n = columns.matrix.shape[1]
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    reach = _quantile(confidence, columns) * errors[:n]
    frame = pd.DataFrame(
        {
            "coefficient": values[:n],
            "se": errors[:n],
            "low": values[:n] - reach,
            "high": values[:n] + reach,
            "p": _two_sided(values[:n] / np.where(errors[:n] > 0, errors[:n], np.nan), columns),
        },
        index=pd.Index(columns.names, name="fact"),
    )
    origin, unit = values[-2], values[-1]
    abilities = pd.DataFrame(
        {
            "ability": (found.ability - origin) / unit,
            "se": found.ability_se / unit,
            "expected": (found.means - origin) / unit,
        },
        index=pd.Index(table.respondents, name="respondent"),
    )
    said = [] if found.converged else ["The regression did not converge: it may be inaccurate."]
    if not found.joint:
        said.append(
            "Items stay where the calibration puts them: respondents are too few, or items too "
            "many, to find both together."
        )
    return AbilityExplanation(
        coefficients=frame,
        abilities=abilities,
        r2=float(values[n + 1]),
        r2_se=float(errors[n + 1]),
        residual_sd=float(values[n]),
        confidence=confidence,
        columns=columns,
        covariance=covariance[:n, :n],
        calibration=found.calibration,
        notes=(*picked, *columns.notes, *said),
    )


def _standardised(matrix: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, beside the first."""
    inner = matrix[:, 1:]
    return np.concatenate([matrix[:, :1], (inner - inner.mean(axis=0)) / inner.std(axis=0)], axis=1)


def _of_standardised(matrix: Floats) -> Floats:
    """What turns coefficients of standardised columns into those of the columns."""
    inner = matrix[:, 1:]
    back = np.diag(np.concatenate([[1.0], 1 / inner.std(axis=0)]))
    back[0, 1:] = -inner.mean(axis=0) / inner.std(axis=0)
    return back


def _left(columns: Columns) -> float:
    return float(max(1, columns.matrix.shape[0] - columns.matrix.shape[1]))


def _quantile(confidence: float, columns: Columns) -> float:
    """Student's t with as many degrees of freedom as respondents leave."""
    from scipy.special import stdtrit

    return float(stdtrit(_left(columns), (1 + confidence) / 2))


def _two_sided(t: Floats, columns: Columns) -> Floats:
    from scipy.special import stdtr

    found: Floats = 2 * stdtr(_left(columns), -np.abs(t))
    return found
