"""What each respondent of a leaderboard reached, on all items and in each task, and how surely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.binning import wilson_limits
from itemwise.numerics.clustered import Grouping, Means, clustered_means, t_reach
from itemwise.responses import Responses

LONGEST = 100  # iterations: an ability of few responses is rough, however long it takes
LEAST = 3  # respondents that can be put on a scale
FEW = 100  # respondents, below which items have one discrimination in common
SMALLEST = 1e-12  # standard error; below, nothing varies but rounding


@dataclass(frozen=True, eq=False)
class Reached:
    """Mean responses with their intervals, and how many items were answered."""

    mean: Floats  # (n_respondents,), as all that follow
    se: Floats
    low: Floats
    high: Floats
    n: NDArray[np.intp]

    def of(self, rows: NDArray[np.intp]) -> Reached:
        """The same of some respondents, in this order."""
        mean, se, low, high = (x[rows] for x in (self.mean, self.se, self.low, self.high))
        return Reached(mean, se, low, high, self.n[rows])


def reached(
    values: Floats,
    expected: Floats | None,
    grouping: Grouping,
    weights: Floats,
    level: float,
    *,
    bounded: bool,
) -> Reached:
    """Mean response of each to some items; NaN where nothing was asked.

    What was not asked is `expected` by the model, moved by what the respondent reached beyond the
    model on what was asked (the regression estimator of surveys): a model that fits badly makes
    it less sure, not wrong. The standard error is over items of the kind, and holds both.
    """
    asked = (~np.isnan(values)).sum(axis=1)
    means = clustered_means(values, grouping)
    mean, se = means.mean, means.se
    if expected is not None and (asked < values.shape[1]).any():
        beyond = clustered_means(values - expected, grouping)
        share = asked / values.shape[1]
        mean = np.where(share < 1, expected @ weights / weights.sum() + beyond.mean, mean)
        over_items = share * se**2
        if bounded:
            mean = np.clip(mean, 0.0, 1.0)
            flat = (share < 1) & ~(se > SMALLEST)  # a few right answers do not show any spread
            over_items = np.where(flat, mean * (1.0 - mean) / values.shape[1], over_items)
        se = np.where(share < 1, np.sqrt(over_items + (1.0 - share) * beyond.se**2), se)
    low, high = _limits(mean, se, means, level, bounded=bounded)
    return Reached(mean, se, low, high, asked)


def _limits(
    mean: Floats, se: Floats, means: Means, level: float, *, bounded: bool
) -> tuple[Floats, Floats]:
    """Student's interval, or between 0 and 1 Wilson's, of as many items as the error speaks of."""
    reach = t_reach(means.freedom, level)
    if not bounded:
        return mean - reach * se, mean + reach * se
    worth = mean * (1.0 - mean) / np.where(se > SMALLEST, se, 1.0) ** 2
    worth = np.where((se > SMALLEST) & (worth > 0), worth, means.clusters)
    return wilson_limits(mean * worth, worth, reach)


def ability_scale(
    table: Responses, model: str | MeasurementModel | None
) -> tuple[Calibration | None, list[str]]:
    """The calibration that abilities come from, and what is to be said of it."""
    if table.n_respondents < LEAST:
        return None, [
            f"Abilities are not estimated: that takes {LEAST} respondents, and more are better."
        ]
    if model is None:
        few = table.n_respondents < FEW
        model = "1pl" if few and table.kind == "binary" else "auto"
    try:
        found = calibrate(table, model, max_iterations=LONGEST)
    except InputError as reason:
        return None, [f"Abilities are not estimated: {reason}"]
    if found.converged:
        return found, []
    return found, ["The calibration has not converged: take abilities as rough."]


def expected_responses(scale: Calibration, table: Responses) -> Floats | None:
    """What the model expects of each respondent on each item; None where all were asked all."""
    if table.complete:
        return None
    ability = scale.abilities()["ability"].to_numpy()
    found: Floats = scale.model.expected(scale.coords, ability).T
    return found
