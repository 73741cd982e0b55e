"""Accuracy of each respondent on a set of items, with its interval.

The measurement model predicts missing responses. One ability seldom explains all tasks, and the
model cannot tell by how much it is wrong. So respondents who answered nearly everything are masked
like the others, which shows the error of such predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ogive._validation import CONFIDENCE
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import calibrate_by_rightness
from ogive.irt.estimation.identifiability import common_factor
from ogive.irt.models.base import MeasurementModel
from ogive.irt.response_matrix import from_data
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import Grouping, Means, clustered_means, t_reach, wilson_limits

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses

LONGEST = 100  # iterations: abilities from few responses are imprecise anyway
LEAST = 3  # smallest number of respondents for a scale
SMALLEST = 1e-12  # standard error below which differences are rounding
NEARLY_ALL = 0.9  # least share of items answered by respondents who are masked
LEAST_MASKED = 5  # smallest number of respondents that show the error of predictions
MOST_MASKED = 40  # largest number of masked respondents
MOST_PATTERNS = 100  # number of patterns of missing responses tried; others get the worst error

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reached:
    """Mean responses with their intervals, and how many items were answered."""

    mean: Floats  # (n_respondents,), as all that follow
    se: Floats
    low: Floats
    high: Floats
    n: Ints

    def of(self, rows: Ints) -> Reached:
        """Select some respondents, in this order."""
        return Reached(*(getattr(self, each.name)[rows] for each in fields(self)))

    def columns(self) -> dict[str, Floats]:
        """Return columns of accuracy with its standard error and interval."""
        columns = {"accuracy": self.mean, "accuracy_se": self.se}
        return {**columns, "accuracy_low": self.low, "accuracy_high": self.high}


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected responses by respondent and item, (n_respondents, n_items) each."""

    mean: Floats
    sway: Floats  # change of the mean by one standard error of the ability
    noise: Floats  # variance of the response around the mean

    def of(
        self, respondents: Ints | slice = slice(None), items: Ints | slice = slice(None)
    ) -> Expectation:
        """Select some respondents and items."""
        parts = (x[respondents][:, items] for x in (self.mean, self.sway, self.noise))
        return Expectation(*parts)

    def left_open(self, values: Floats, weights: Floats) -> Floats:
        """Return variance of the mean due to missing responses; weights of items sum to one."""
        left = np.isnan(values) * weights
        of_ability = (left * self.sway).sum(axis=1) ** 2
        return np.asarray(of_ability + (left**2 * self.noise).sum(axis=1))


def reached(
    values: Floats,
    expectation: Expectation | None,
    grouping: Grouping,
    weights: Floats,
    confidence: float,
    *,
    bounded: bool,
    masked: tuple[Floats, int] | None = None,
    ends: tuple[float, float] = (-np.inf, np.inf),
) -> Reached:
    """Return mean response of each respondent to some items; NaN where nothing was asked.

    Missing responses are predicted by the model, plus the respondent's mean residual on the items
    it answered (the regression estimator of survey sampling): a badly fitting model makes the mean
    less certain, not wrong. The standard error is over items of this kind. Missing responses add
    the largest of three variances: the scatter around the model, what the model itself leaves open,
    and the error of `masked` respondents (given with their number), since easy items scatter little
    and still say little about hard ones. Intervals stay within `ends`, the bounds of scores.
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
    ends = (0.0, 1.0) if bounded else ends
    ended = bool(np.isfinite(ends).all())
    extent = ends if ended else (float(np.nanmin(values)), float(np.nanmax(values)))
    if ended:
        mean = np.clip(mean, *ends)
    low, high = _limits(mean, se, means, confidence, extent, ended=ended)
    return Reached(mean, se, np.clip(low, *ends), np.clip(high, *ends), asked)


def _limits(
    mean: Floats,
    se: Floats,
    means: Means,
    confidence: float,
    extent: tuple[float, float],
    *,
    ended: bool,
) -> tuple[Floats, Floats]:
    """Return Student's interval; Wilson's with the effective number of items for bounded scores.

    A respondent whose responses are all the same shows no spread: within the `extent` of all
    responses, its interval is Wilson's, too.
    """
    reach = t_reach(means.freedom, confidence)
    lowest, span = extent[0], extent[1] - extent[0]
    flat = ~(se > SMALLEST)
    if not ended and not (span > 0 and flat.any()):
        return mean - reach * se, mean + reach * se
    share = (mean - lowest) / span
    worth = share * (1.0 - share) / np.where(flat, 1.0, se / span) ** 2
    worth = np.where(~flat & (worth > 0), worth, means.clusters)
    low, high = wilson_limits(share * worth, worth, reach)
    low, high = lowest + span * low, lowest + span * high
    if ended:
        return low, high
    return np.where(flat, low, mean - reach * se), np.where(flat, high, mean + reach * se)


def ends_of(table: Responses) -> tuple[float, float]:
    """Return bounds of intervals: the ends of grades, and of what looks like percentages."""
    if from_data("study_tables", "like_percentages")(table):
        return 0.0, from_data("study_tables", "PERCENT")
    values = table.values
    seen = float(np.nanmin(values)), float(np.nanmax(values))
    return seen if table.kind == "graded" and seen[0] < seen[1] else (-np.inf, np.inf)


def check_known(known: object, table: Responses) -> None:
    """Refuse a calibration of other respondents or items than those of this table."""
    if known is None:
        return
    if not isinstance(known, Calibration):
        raise InputError(
            f"calibration is a {type(known).__name__}; give what ogive.calibrate(responses) "
            "returned, or leave it out."
        )
    own = known.responses
    if own is None or own is table:
        return
    if (own.respondents, own.items) != (table.respondents, table.items):
        raise InputError(
            "calibration is of other respondents or items than responses. Give the calibration of "
            "these responses, or leave it out."
        )


def ability_scale(
    table: Responses, model: str | MeasurementModel, known: Calibration | None = None
) -> tuple[Calibration | None, list[str]]:
    """Return the calibration for abilities, or None, and notes on it.

    The `known` one is used if it was fitted to this very table.
    """
    if table.n_respondents < LEAST:
        return None, [f"Abilities are not estimated: at least {LEAST} respondents are needed."]
    known = known if known is not None and known.responses is table else None
    notes: list[str] = []
    try:
        found = known or calibrate_by_rightness(table, model, max_iterations=LONGEST)
    except InputError as reason:
        return None, [f"Abilities are not estimated: {reason}"]
    if table.kind == "continuous":
        factor = common_factor(table, found.model)
        if not factor.found:
            return None, [factor.note]
    if not found.converged:
        notes.append("The calibration did not converge: treat abilities as approximate.")
    return found, [*notes, *(() if known else found.notes)]


def expectation_of(scale: Calibration, table: Responses) -> Expectation | None:
    """Return expected responses of the respondents of a table; None if it is complete."""
    # Items stand on the same scale, so that its error cancels; errors of single items are
    # measured by masking.
    return None if table.complete else _expected(scale, scale.abilities(items_known=True))


def _expected(scale: Calibration, scored: pd.DataFrame) -> Expectation:
    """Return expected responses of respondents with these abilities to all items."""
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    mean, low, high = (
        scale.model.expected(scale.coords, at).T for at in (ability, ability - se, ability + se)
    )
    return Expectation(mean, (high - low) / 2, scale.model.variance(scale.coords, ability).T)


@dataclass(frozen=True, eq=False)
class Whole:
    """A table and how accuracy is averaged over it; respondents that nothing links are separate."""

    table: Responses
    scale: Calibration | None
    expectation: Expectation | None
    strata: Ints  # (n_items,); tasks, if these have equal weight
    cluster: Ints  # (n_items,)
    parts: tuple[Ints, Ints]  # of respondents and of items
    bounded: bool

    def masked(self) -> tuple[Floats, int]:
        """Return errors of predicted accuracy, (n_respondents,), and the number of masked ones.

        NaN for respondents who were asked nearly all items or none, and for all if fewer than five
        respondents can be masked.
        """
        found = np.full(self.table.n_respondents, np.nan)
        if self.scale is None or self.expectation is None or self.parts[0].any():
            return found, 0
        seen = self.table.observed
        share = seen.mean(axis=1)
        known = np.flatnonzero(share >= NEARLY_ALL)
        open_ = np.flatnonzero((share < NEARLY_ALL) & (share > 0))
        if known.size < LEAST_MASKED or not open_.size:
            return found, 0
        truth = self._mean(self.table.values, self.expectation)
        order = known[np.argsort(truth[known], kind="stable")]  # evenly, from worst to best
        places = np.linspace(0, known.size - 1, min(known.size, MOST_MASKED)).round().astype(int)
        known = np.sort(order[places])
        patterns, which = np.unique(seen[open_], axis=0, return_inverse=True)
        tried = patterns[np.argsort(patterns.sum(axis=1), kind="stable")[:MOST_PATTERNS]]
        errors = {mask.tobytes(): self._masked_error(known, truth, mask) for mask in tried}
        worst = max(errors.values())
        each = np.array([errors.get(mask.tobytes(), worst) for mask in patterns])
        found[open_] = each[which.ravel()]
        return found, known.size

    def reached(self, confidence: float, masked: tuple[Floats, int]) -> Reached:
        """Return accuracy of each respondent on all items of the part it belongs to."""
        rows, columns = self.parts
        found = np.empty((4, self.table.n_respondents))
        asked = np.empty(self.table.n_respondents, dtype=np.intp)
        for part in range(int(rows.max()) + 1):
            own, items = np.flatnonzero(rows == part), np.flatnonzero(columns == part)
            expectation = None if self.expectation is None else self.expectation.of(own, items)
            values = self.table.values[np.ix_(own, items)]
            of_part = self._on(items, values, expectation, confidence, (masked[0][own], masked[1]))
            found[:, own] = of_part.mean, of_part.se, of_part.low, of_part.high
            asked[own] = of_part.n
        mean, se, low, high = found
        return Reached(mean, se, low, high, asked)

    def _mean(self, values: Floats, expectation: Expectation) -> Floats:
        """Return mean response to all items, from responses with gaps."""
        return self._on(np.arange(self.table.n_items), values, expectation, CONFIDENCE).mean

    def _on(
        self,
        items: Ints,
        values: Floats,
        expectation: Expectation | None,
        confidence: float,
        masked: tuple[Floats, int] | None = None,
    ) -> Reached:
        strata = np.unique(self.strata[items], return_inverse=True)[1]
        return reached(
            values,
            expectation,
            Grouping.of(strata, self.cluster[items]),
            1.0 / np.bincount(strata)[strata],
            confidence,
            bounded=self.bounded,
            ends=ends_of(self.table),
            masked=masked,
        )

    def _masked_error(self, rows: Ints, truth: Floats, mask: NDArray[np.bool_]) -> float:
        """Return root mean square error for the respondents `rows`, seen on masked items only."""
        assert self.scale is not None  # noqa: S101 - checked by the caller
        items = np.flatnonzero(mask)
        asked = self.table.select(respondents=rows, items=items)
        part = self.scale.of_items([self.table.items[k] for k in items])
        expectation = _expected(self.scale, part.score(asked, items_known=True))
        values = np.where(mask, self.table.values[rows], np.nan)
        off = self._mean(values, expectation) - truth[rows]
        return float(np.sqrt(np.nanmean(off**2)))
