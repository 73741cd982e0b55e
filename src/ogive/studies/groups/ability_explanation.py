"""What explains ability: facts of respondents, by latent regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ogive.arguments import checked_share
from ogive.estimation import calibrate
from ogive.estimation.chosen_models import model_for
from ogive.estimation.explained_population import (
    ExplainedPopulation,
    Facts,
    explain_population,
)
from ogive.models import AUTO, MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.studies.groups.fact_columns import Columns, fact_columns
from ogive.studies.groups.fact_regression import FactRegression, coefficient_frame
from ogive.studies.groups.shared_ability import check_shared_ability

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AbilityExplanation", "explain_ability"]

NUDGE = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class AbilityExplanation(FactRegression):
    """How ability depends on facts of the respondents.

    `coefficients` has one row per fact: how much ability, in standard deviations of these
    respondents, rises with one unit of it while the others stay. `r2` is the share of the variance
    of true ability that the facts explain. `abilities` has one row per respondent.
    """

    made_by: ClassVar[str] = "explain_ability"
    kind_of_rows: ClassVar[str] = "abilities"
    outcome: ClassVar[str] = "ability"
    never: ClassVar[str] = "a respondent that was never run"

    abilities: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> pd.DataFrame:
        """The respondents."""
        return self.abilities


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
    table = as_responses(responses)
    checked_share(confidence, "confidence", 0.95)
    columns = fact_columns(table, facts)
    chosen, picked = model_for(model, table)
    with telling(progress, "Explaining ability"):
        bank = calibrate(table, chosen, progress=False)
        check_shared_ability(bank, table)
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
        coefficients=coefficient_frame(values[:n], errors[:n], confidence, columns),
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
