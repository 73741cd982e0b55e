"""Regression of something measured on facts: its coefficients, its line and its band."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import t_reach
from ogive.results import Draw, Result
from ogive.studies.groups.fact_columns import Columns
from ogive.words import said_p, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

POINTS = 61
ROOM = 0.25  # of the range of a fact, beyond which nothing is drawn


@dataclass(frozen=True, eq=False, repr=False)
class FactRegression(Result):
    """What explanations of ability and of difficulty share.

    `coefficients` has one row per fact: how much the outcome, in standard deviations of these
    respondents' ability, rises with one unit of it while the others stay. `r2` is the share of the
    variance of the true outcome that the facts explain.
    """

    made_by: ClassVar[str]  # the function, by which its bank is named
    kind_of_rows: ClassVar[str]  # what `measured` holds
    outcome: ClassVar[str]
    never: ClassVar[str]  # whom the band is for

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
        """One row each: the outcome, `se`, and `expected`, which the facts predict."""
        raise NotImplementedError

    @property
    def meaning(self) -> str:
        """What explains most, how surely, and how much all facts explain."""
        rows = self.coefficients.drop(index="intercept").sort_values("p", kind="stable")
        name, row = rows.index[0], rows.iloc[0]
        reach = (row["high"] - row["low"]) / 2
        low, high = self.r2_interval
        share = f"{100 * self.r2:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        return (
            f"With one unit more of {name}, {self.outcome} is "
            f"{with_interval(row['coefficient'], reach)} standard deviations higher "
            f"({said_p(row['p'])}), the other facts being equal. Together, the facts go with "
            f"{share} of the variance of {self.outcome}. That is association, not cause."
        )

    @property
    def r2_interval(self) -> tuple[float, float]:
        """Interval of `r2`, by Fisher's transformation of its root."""
        root = float(np.sqrt(np.clip(self.r2, 1e-12, 1 - 1e-12)))
        error = self.r2_se / (2 * root * (1 - root**2))
        reach = quantile(self.confidence, self.columns) * error
        low, high = np.arctanh(root) - reach, np.arctanh(root) + reach
        return float(np.tanh(max(low, 0.0)) ** 2), float(np.tanh(high) ** 2)

    def to_frame(self) -> pd.DataFrame:
        """One row per fact."""
        return self.coefficients.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the coefficients, and what was measured."""
        return {self.name(): self.coefficients, self.kind_of_rows: self.measured}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration behind it."""
        return {self.made_by: self.calibration}

    def figures(self) -> dict[str, Draw]:
        """Return the outcome against the first numeric fact."""
        return {f"{self.outcome}_by_fact": partial(self.plot)} if self.columns.numeric else {}

    def predict(self, facts: Any) -> pd.DataFrame:
        """Predict the outcome where nothing was ever answered; bands hold its own scatter.

        `facts` is a frame with the same columns, one row each.
        """
        import pandas as pd

        design = self.columns.design(facts)
        expected = design @ self.coefficients["coefficient"].to_numpy()
        of_line = np.einsum("ni,ij,nj->n", design, self.covariance, design)
        reach = quantile(self.confidence, self.columns)
        error = np.sqrt(of_line + self.residual_sd**2)
        found = {
            self.outcome: expected,
            "se": np.sqrt(of_line),
            "low": expected - reach * error,
            "high": expected + reach * error,
        }
        return pd.DataFrame(found, index=getattr(facts, "index", None))

    def plot(self, kind: str | None = None, **kw: Any) -> Display:
        """Plot the outcome against a fact (`kind` is its name), with the band of a new one.

        The other facts are equal for all: numbers at their mean, words at the most frequent one.
        Points are moved by as much as their own facts differ from that.
        """
        import pandas as pd

        from ogive.displays.fact_planes import ScalingDisplay

        numeric, outcome = self.columns.numeric, self.outcome
        if not numeric:
            raise InputError("No fact is a number, so there is no line to draw; see to_frame().")
        name = numeric[0] if kind is None else kind
        if name not in numeric:
            raise InputError(f"kind is {kind!r}, but the facts are: {', '.join(numeric)}.")
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


def coefficient_frame(
    values: Floats, errors: Floats, confidence: float, columns: Columns
) -> pd.DataFrame:
    """One row per fact: coefficient, se, low, high, p."""
    import pandas as pd
    from scipy.special import stdtr

    reach = quantile(confidence, columns) * errors
    t = values / np.where(errors > 0, errors, np.nan)
    return pd.DataFrame(
        {
            "coefficient": values,
            "se": errors,
            "low": values - reach,
            "high": values + reach,
            "p": 2 * stdtr(_left(columns), -np.abs(t)),
        },
        index=pd.Index(columns.names, name="fact"),
    )


def _left(columns: Columns) -> float:
    return float(max(1, columns.matrix.shape[0] - columns.matrix.shape[1]))


def quantile(confidence: float, columns: Columns) -> float:
    """Student's t with as many degrees of freedom as rows leave."""
    return float(t_reach(np.array(_left(columns)), confidence))
