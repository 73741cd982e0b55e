"""What each respondent of a leaderboard reached, on all items and in each task, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.estimation.choosing import model_of_few
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.binning import wilson_limits
from itemwise.numerics.clustered import Grouping, Means, clustered_means
from itemwise.numerics.reach import t_reach
from itemwise.responses import Responses

LONGEST = 100  # iterations: an ability of few responses is rough, however long it takes
LEAST = 3  # respondents that can be put on a scale
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


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the model expects of each respondent on each item, (n_respondents, n_items) each."""

    mean: Floats
    sway: Floats  # by how much a standard error of the ability moves the mean
    noise: Floats  # variance of the response around it

    def of(
        self,
        respondents: NDArray[np.intp] | slice = slice(None),
        items: NDArray[np.intp] | slice = slice(None),
    ) -> Expectation:
        """The same of some respondents and items."""
        parts = (x[respondents][:, items] for x in (self.mean, self.sway, self.noise))
        return Expectation(*parts)

    def left_open(self, values: Floats, weights: Floats) -> Floats:
        """Variance of the mean of what was not asked; `weights` of all items sum to one."""
        left = np.isnan(values) * weights
        of_ability = (left * self.sway).sum(axis=1) ** 2
        found: Floats = of_ability + (left**2 * self.noise).sum(axis=1)
        return found


def reached(
    values: Floats,
    expectation: Expectation | None,
    grouping: Grouping,
    weights: Floats,
    confidence: float,
    *,
    bounded: bool,
    masked: tuple[Floats, int] | None = None,
) -> Reached:
    """Mean response of each to some items; NaN where nothing was asked.

    What was not asked is as the model expects it, moved by what the respondent reached beyond the
    model on what was asked (the regression estimator of surveys): a model that fits badly makes
    it less sure, not wrong. The standard error is over items of the kind. What was not asked adds
    the scatter around the model, or what the model itself leaves open, or the error of `masked`
    respondents (and how many they are), whichever is more: easy items scatter little, and still
    say little of hard ones.
    """
    asked = (~np.isnan(values)).sum(axis=1)
    means = clustered_means(values, grouping)
    mean, se = means.mean, means.se
    if expectation is not None and (asked < values.shape[1]).any():
        weights = weights / weights.sum()
        beyond = clustered_means(values - expectation.mean, grouping)
        share = asked / values.shape[1]
        mean = np.where(share < 1, expectation.mean @ weights + beyond.mean, mean)
        over_items = share * se**2
        if bounded:
            mean = np.clip(mean, 0.0, 1.0)
            flat = (share < 1) & ~(se > SMALLEST)  # a few right answers do not show any spread
            over_items = np.where(flat, mean * (1.0 - mean) / values.shape[1], over_items)
        left = np.fmax((1.0 - share) * beyond.se**2, expectation.left_open(values, weights))
        if masked is not None:
            wider = masked[0] ** 2 > left
            left = np.where(wider, masked[0] ** 2, left)
            freedom = np.where(wider, np.minimum(masked[1], means.freedom), means.freedom)
            means = replace(means, freedom=freedom)
        se = np.where(share < 1, np.sqrt(over_items + left), se)
    low, high = _limits(mean, se, means, confidence, bounded=bounded)
    return Reached(mean, se, low, high, asked)


def _limits(
    mean: Floats, se: Floats, means: Means, confidence: float, *, bounded: bool
) -> tuple[Floats, Floats]:
    """Student's interval, or between 0 and 1 Wilson's, of as many items as the error speaks of."""
    reach = t_reach(means.freedom, confidence)
    if not bounded:
        return mean - reach * se, mean + reach * se
    worth = mean * (1.0 - mean) / np.where(se > SMALLEST, se, 1.0) ** 2
    worth = np.where((se > SMALLEST) & (worth > 0), worth, means.clusters)
    return wilson_limits(mean * worth, worth, reach)


def ability_scale(
    table: Responses, model: str | MeasurementModel
) -> tuple[Calibration | None, list[str]]:
    """The calibration that abilities come from, and what is to be said of it."""
    if table.n_respondents < LEAST:
        return None, [
            f"Abilities are not estimated: that takes {LEAST} respondents, and more are better."
        ]
    chosen, notes = model_of_few(model, table)
    try:
        found = calibrate(table, chosen, max_iterations=LONGEST)
    except InputError as reason:
        return None, [f"Abilities are not estimated: {reason}"]
    if not found.converged:
        notes.append("The calibration has not converged: take abilities as rough.")
    return found, notes


def expectation_of(scale: Calibration, table: Responses) -> Expectation | None:
    """What the model expects where not everybody was asked everything; else None."""
    if table.complete:
        return None
    scored = scale.abilities()
    return expected_at(scale, scored["ability"].to_numpy(), scored["se"].to_numpy())


def expected_at(scale: Calibration, ability: Floats, se: Floats) -> Expectation:
    """What the model expects of respondents with these abilities on all items."""
    mean, low, high = (
        scale.model.expected(scale.coords, at).T for at in (ability, ability - se, ability + se)
    )
    return Expectation(mean, (high - low) / 2, scale.model.variance(scale.coords, ability).T)
