"""The continuous model with censored scores (Tobin, 1958).

With z the log-odds of a score between its bounds, normal given ability as in `continuous`, a score
at or beyond a limit contributes the probability of lying there, Φ((c - μ) / σ) below and its
complement above. A run that was stopped at its time limit is the common case: it would have taken
longer, but how much is unknown.

z is read as cut off at the limits, and being there has a statistic of its own, whose term replaces
the density at the limit by the probability of lying beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import AbilitySlopes, Coordinate, NormalSums
from ogive.irt.models.continuous import INTERCEPT, LOG_2PI, NEAREST, SLOPE, Continuous, Pair
from ogive.stats.array_backend import Array, Floats, array_namespace, like
from ogive.stats.newton import symmetric
from ogive.stats.special_functions import log_normal_cdf, logit, scaled_log_normal_cdf, sigmoid_pair

UNFITTED_LIMIT = 700.0  # log-odds of the limits of a model that has seen no table
LEAST_NOISE = 0.05  # smallest noise in log-odds whose posteriors are not too narrow for nodes
STEEPEST = 20.0
FARTHEST = 8.5  # standard deviations that contain all of a normal distribution
# Points of a Gauss-Legendre rule that is exact to 1e-9 over 400 log-odds.
POINTS_PER_LOGIT, MIN_POINTS, MAX_POINTS = 5, 64, 1024


@dataclass(frozen=True, kw_only=True)
class Censored(Continuous):
    """Scores inside an interval of which some are cut off (Tobin, 1958).

    `limits` are the scores at or beyond which a score is only known to lie there: (low, high) for
    all items, either of which may be None for a bound. By default both are bounds. A limit at a
    bound lies half way between the bound and the nearest score inside. `bounds` as in `Continuous`;
    items have a discrimination, a difficulty and a scaling, which mean the same.

    >>> import ogive as og
    >>> drawn = og.simulate("continuous", 200, 6, random_state=0).responses
    >>> stopped = drawn.values.clip(0.3, None)
    >>> found = og.calibrate(stopped, og.Censored(limits=(0.3, None)))
    >>> found.items.columns[:3].tolist()
    ['discrimination', 'difficulty', 'scaling']
    """

    name: ClassVar[str] = "censored"
    normal: ClassVar[bool] = False
    limits: tuple[float | None, float | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_bounds != "midway":
            raise InputError("at_bounds has no place here: scores at a bound are not moved.")
        if self.limits is not None:
            object.__setattr__(self, "limits", _checked_limits(self.limits))

    @property
    def direction(self) -> tuple[float, ...]:
        """The log-odds of the score, cut off at the limits."""
        return (1.0, 0.0, 0.0, 0.0)

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Return discrimination, intercept and log standard deviation of the noise."""
        slope = Coordinate(SLOPE.name, SLOPE.prior, low=-STEEPEST, high=STEEPEST, longest=2.0)
        noise = Coordinate("noise", low=float(np.log(LEAST_NOISE)), high=7.0, longest=0.7)
        return slope, INTERCEPT, noise

    def _inside(self, cells: Array, bounds: Pair, item: str | None) -> Pair:
        """Return the limits; one at a bound lies half way to the nearest score inside."""
        limits = self.limits or (None, None)
        low, high = (
            bound if limit is None else limit for limit, bound in zip(limits, bounds, strict=True)
        )
        if not bounds[0] <= low < high <= bounds[1]:
            raise InputError(
                f"limits is {self.limits!r}, but it should lie within the bounds {bounds[0]:g} "
                f"and {bounds[1]:g}, low below high."
            )
        between = np.where((cells > low) & (cells < high), cells, np.nan)
        if np.isnan(between).all():
            if item is None and not np.isnan(cells).all():
                raise InputError(
                    f"No response lies between the limits {low:g} and {high:g} of the "
                    f"{self.name} model. Such responses are right or wrong: give them as 0 and 1 "
                    "with kind='binary', and calibrate a '2pl'."
                )
            return low + 0.25 * (high - low), high - 0.25 * (high - low)
        if low == bounds[0]:
            low = (low + float(np.nanmin(between))) / 2
        if high == bounds[1]:
            high = (high + float(np.nanmax(between))) / 2
        return low, high

    def ends(self, values: Array) -> tuple[Array, Array]:
        """Return log-odds of the limits, one for all items or one for each."""
        if self.inside is None:
            return like(np.array([-UNFITTED_LIMIT]), values), like(
                np.array([UNFITTED_LIMIT]), values
            )
        low, high = np.atleast_2d(np.array(self.bounds, dtype=float)).T
        worst, best = np.atleast_2d(np.array(self.inside, dtype=float)).T
        places = (
            np.clip((end - low) / (high - low), NEAREST, 1 - NEAREST) for end in (worst, best)
        )
        at_low, at_high = (logit(like(place, values)) for place in places)
        return at_low, at_high

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Return the censored log-odds, their square, and indicators of either limit."""
        del dtype
        xp = array_namespace(values)
        low, high = self.ends(values)
        # A small tolerance, because a limit that is read back has rounding errors.
        at_low, at_high = values <= low + 1e-9, values >= high - 1e-9
        cut = xp.where(at_low, 0 * values + low, xp.where(at_high, 0 * values + high, values))
        return [
            cut,
            cut**2,
            xp.astype(at_low, values.dtype),
            xp.astype(at_high, values.dtype),
        ]

    def log_base(self, cells: Array, weights: Array) -> float:
        """Return Σ weights × log |dz / dy| over scores between the limits."""
        xp = array_namespace(cells)
        values = self.read(cells)
        low, high = self.ends(values)
        observed = (values > low + 1e-9) & (values < high - 1e-9)
        least, most = (like(bound, cells) for bound in self.extent())
        rise, fall = sigmoid_pair(xp.where(observed, values, 0 * low))
        log_slope = xp.log(rise) + xp.log(fall) + xp.log(most - least)
        return -float(weights @ xp.sum(xp.where(observed, log_slope, 0 * log_slope), axis=1))

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return constant, factors of z and z², and the terms of either limit."""
        xp = array_namespace(coords)
        inner, cuts = super().log_terms(coords, abilities), self._cuts(coords, abilities)
        low, high = scaled_log_normal_cdf(cuts.low), scaled_log_normal_cdf(-cuts.high)
        plain = coords[:, 2:3] + 0.5 * LOG_2PI
        return xp.concat([inner, xp.stack([low + plain, high + plain])])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of the terms, (3, 5, n_items, n_abilities)."""
        xp = array_namespace(coords)
        inner, cuts = super().term_slopes(coords, abilities), self._cuts(coords, abilities)
        low, high = (
            xp.stack([factor * part for part in self._along(coords, abilities, cut)])
            for factor, cut in (
                (_mills(cuts.low) + cuts.low, cuts.low),
                (cuts.high - _mills(-cuts.high), cuts.high),
            )
        )
        noise = xp.stack([0 * low[0], 0 * low[0], 1 + 0 * low[0]])
        return xp.concat([inner, (low + noise)[:, None], (high + noise)[:, None]], axis=1)

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)
        cuts = self._cuts(coords, abilities)
        low, high = (end[:, None] for end in self.ends(coords))
        at_low, at_high = counts[2], counts[3]
        observed_mass = totals - at_low - at_high
        z = counts[0] - low * at_low - high * at_high
        sums = NormalSums(
            asked=xp.sum(observed_mass, axis=1),
            ability=observed_mass @ abilities,
            ability_square=observed_mass @ abilities**2,
            z=xp.sum(z, axis=1),
            z_ability=z @ abilities,
            z_square=xp.sum(counts[1] - low**2 * at_low - high**2 * at_high, axis=1),
        )
        gradient, _, observed = self.curvature_of_sums(coords, sums)
        for weight, cut, sign in ((at_low, cuts.low, 1.0), (at_high, cuts.high, -1.0)):
            added = self._beyond(coords, abilities, weight, cut, sign)
            gradient, observed = gradient + added[0], observed + added[1]
        return gradient, self._fisher(coords, abilities, totals, cuts), observed

    def _beyond(
        self, coords: Array, abilities: Array, weight: Array, cut: Array, sign: float
    ) -> tuple[Array, Array]:
        """Return gradient and observed information of Σ weight x log Φ(sign x cut)."""
        xp = array_namespace(coords)
        ratio = _mills(sign * cut)
        first = weight * sign * ratio
        second = weight * ratio * (ratio + sign * cut)
        parts = self._along(coords, abilities, cut)
        gradient = xp.stack([xp.sum(first * part, axis=1) for part in parts], axis=1)
        upper = [
            xp.sum(second * parts[i] * parts[k], axis=1)
            for i, k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        ]
        # The cut is (c - d) exp(-s) - aθ: only these two second derivatives are not 0.
        precision, scaled = xp.exp(-coords[:, 2:3]), cut + coords[:, :1] * abilities
        upper[4] = upper[4] - xp.sum(first * precision, axis=1)
        upper[5] = upper[5] - xp.sum(first * scaled, axis=1)
        return gradient, symmetric(upper)

    def _along(self, coords: Array, abilities: Array, cut: Array) -> list[Array]:
        """Return derivatives of a cut in the coordinates."""
        xp = array_namespace(coords)
        precision = xp.exp(-coords[:, 2:3])
        by_slope = abilities + 0 * cut
        return [-by_slope, -precision + 0 * cut, -(cut + coords[:, :1] * abilities)]

    def _fisher(self, coords: Array, abilities: Array, totals: Array, cuts: Cuts) -> Array:
        """Return expected information of responses to items, summed over abilities."""
        xp = array_namespace(coords)
        moments = _truncated_moments(cuts)
        noise, along = xp.exp(coords[:, 2:3]), coords[:, :1] * abilities
        both = along * moments.mean + moments.both
        upper = [
            abilities**2 * moments.mean,
            abilities * moments.mean / noise,
            abilities * both,
            moments.mean / noise**2,
            both / noise,
            along**2 * moments.mean + 2 * along * moments.both + moments.log_sd,
        ]
        return symmetric([xp.sum(totals * part, axis=1) for part in upper])

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Return derivatives in ability, and the information on it."""
        xp = array_namespace(coords)
        cuts, slope = self._cuts(coords, abilities), coords[:, :1]
        inner = super().ability_slopes(coords, abilities).terms
        low = -slope * (_mills(cuts.low) + cuts.low)
        high = slope * (_mills(-cuts.high) - cuts.high)
        moments = _truncated_moments(cuts)
        terms = xp.concat([inner, xp.stack([low, high])])
        return AbilitySlopes(terms, slope**2 * moments.mean, slope**3 * moments.both)

    def chance_beyond(self, coords: Array, abilities: Array) -> tuple[Array, Array]:
        """Return probabilities of a score at or beyond either limit, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        cuts = self._cuts(coords, abilities)
        return xp.exp(log_normal_cdf(cuts.low)), xp.exp(log_normal_cdf(-cuts.high))

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return mean and standard deviation of the censored z, split by the loading."""
        return self.bounded(super().start(means, asked, loading))

    def _share_moment(self, coords: Array, abilities: Array, power: int) -> Array:
        """Return the expected power of the share of the interval, censored at the limits."""
        xp = array_namespace(coords)
        cuts, noise = self._cuts(coords, abilities), xp.exp(coords[:, 2:3])
        mean = coords[:, :1] * noise * abilities + coords[:, 1:2]
        start, end = xp.clip(cuts.low, -FARTHEST, FARTHEST), xp.clip(cuts.high, -FARTHEST, FARTHEST)
        half, total = 0.5 * (end - start), 0 * mean
        for point, weight in zip(*_legendre_rule(float(xp.max(half * noise))), strict=True):
            x = start + half * (1 + point)
            dense = half * weight * xp.exp(-0.5 * x**2 - 0.5 * LOG_2PI)
            total = total + dense * sigmoid_pair(mean + noise * x)[0] ** power
        below, above = self.chance_beyond(coords, abilities)
        worst, best = (sigmoid_pair(end[:, None])[0] for end in self.ends(coords))
        return total + below * worst**power + above * best**power

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Return normal log-odds, as scores; those beyond a limit are at it."""
        scores = super().draw(coords, abilities, random)
        limits = self.limits or (None, None)
        # NumPy 2.0 refuses to clip without any limit.
        return scores if limits == (None, None) else np.asarray(np.clip(scores, *limits))

    def _cuts(self, coords: Array, abilities: Array) -> Cuts:
        """Return the limits in standard deviations from the mean."""
        xp = array_namespace(coords)
        low, high = (end[:, None] for end in self.ends(coords))
        precision, along = xp.exp(-coords[:, 2:3]), coords[:, :1] * abilities
        return Cuts(*((limit - coords[:, 1:2]) * precision - along for limit in (low, high)))


class Cuts(NamedTuple):
    """Limits of an item in standard deviations from its mean at an ability."""

    low: Array  # (n_items, n_abilities)
    high: Array


class TruncatedMoments(NamedTuple):
    """Information of a response on its mean and the logarithm of its standard deviation."""

    mean: Array
    both: Array
    log_sd: Array


def _truncated_moments(cuts: Cuts) -> TruncatedMoments:
    """Return moments of the scores x and x² - 1 of a censored standard normal."""
    xp = array_namespace(cuts.low)
    start, end = cuts
    below, above = (xp.exp(-0.5 * cut**2 - 0.5 * LOG_2PI) for cut in cuts)
    low, high = _mills(start), _mills(-end)
    inside = xp.clip(xp.exp(log_normal_cdf(end)) - xp.exp(log_normal_cdf(start)), 0.0, None)
    return TruncatedMoments(
        inside + below * (start + low) + above * (high - end),
        below * (start**2 + 1 + start * low) - above * (end**2 + 1 - end * high),
        2 * inside
        + below * (start**3 + start + start**2 * low)
        - above * (end**3 + end - end**2 * high),
    )


def _legendre_rule(half_width: float) -> tuple[list[float], list[float]]:
    """Return points and weights on (-1, 1) for a normal density times a logistic curve.

    The wider the interval, in log-odds, the steeper is the curve in it.
    """
    needed = np.clip(np.nan_to_num(POINTS_PER_LOGIT * half_width), MIN_POINTS, MAX_POINTS)
    points, weights = _legendre(64 * int(np.ceil(needed / 64)))
    return points.tolist(), weights.tolist()


_legendre = cache(np.polynomial.legendre.leggauss)


def _mills(x: Array) -> Array:
    """Return the density of a standard normal over its distribution function."""
    return array_namespace(x).exp(-0.5 * LOG_2PI - scaled_log_normal_cdf(x))


def _checked_limits(limits: Any) -> tuple[float | None, float | None]:
    try:
        low, high = (None if end is None else float(end) for end in limits)
        ordered = low is None or high is None or low < high
        fine = ordered and all(end is None or np.isfinite(end) for end in (low, high))
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise InputError(
            f"`limits` must be (low, high), either of which may be None, got {limits!r:.60}."
        )
    return low, high
