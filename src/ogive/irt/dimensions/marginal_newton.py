"""Start, penalty, Newton steps.

Maximum likelihood in several dimensions: Newton's method on nodes that move with the posteriors.

Loadings of a dimension may be drawn to their mean, and thresholds to 0: weak priors that leave the
unit of the scale to the responses.

Where a climb in several dimensions begins: loadings, thresholds, and posteriors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ogive._progress import at_stage
from ogive.irt.dimensions.adaptive_quadrature import (
    MOST_EXACT,
    Around,
    Rule,
    grid_rule,
    scattered_rule,
)
from ogive.irt.dimensions.loading_pattern import ABSENT, Pattern, Place
from ogive.irt.dimensions.marginal_likelihood import (
    Missing,
    Sums,
    Table,
    cell_terms,
    gather,
    likelihood,
)
from ogive.irt.dimensions.missing_information import all_of_it, linear_part
from ogive.stats.array_backend import Floats, Run, evenly_spaced

LEAST_UNIT = 0.3
FAR_FROM_ONE = 1e-3  # times log|R|: keeps correlations inside, and costs less than 0.01 nats
LONGEST, LONGEST_CORRELATION = 1.0, 0.2
CLOSE, CLOSEST = 0.1, 1e-4  # nats to gain, where a coarse and where a fine climb ends
QUICK = 0.02  # nats to gain, where a climb ends that only predicts
MOST_STEPS = 60
NODES_MOVED = 0.1  # nats by which a value may fall because its nodes lie elsewhere
EXACT_ENOUGH = 0.02  # nats
FAR_OFF = 0.5  # nats, where steps of too coarse nodes are taken back
STEPS_BETWEEN = 4
FEW_EACH = 10  # items of a dimension, below which posteriors are far from normal
ROWS_TO_CHECK = 200
MOST_WORK = 3e9  # products up to which all missing information is found at every step
COARSE = {1: 7, 2: 5, 3: 3, 4: 3}
FINE = {1: 15, 2: 9, 3: 5, 4: 5}
FINEST = {1: 61, 2: 31, 3: 13, 4: 5}
SCATTERED, MANY_SCATTERED = 256, 1024


@dataclass(frozen=True)
class Pull:
    """Standard deviations of the priors; infinity for none.

    That of loadings is in units of the mean loading of their dimension, so that it says nothing of
    the unit of the scale: many priors would outweigh few respondents, who alone can tell it.
    """

    loading: float = np.inf  # about the mean of the dimension
    threshold: float = np.inf  # about 0
    correlation: float = FAR_FROM_ONE  # power of the determinant

    def at_most(self, other: Pull) -> Pull:
        """Return the stronger of two in each part."""
        return Pull(
            min(self.loading, other.loading),
            min(self.threshold, other.threshold),
            max(self.correlation, other.correlation),
        )


# A likelihood without priors has poor maxima, where coarse nodes miss steep curves: a climb begins
# with these, and goes on without.
GUIDE = Pull(1.0, 5.0, 0.5)


@dataclass(frozen=True, eq=False)
class DimensionFit:
    """Where a climb ended."""

    table: Table
    place: Place
    pull: Pull
    sums: Sums
    rule: Rule
    log_likelihood: float
    integral_error: float  # nats by which a finer rule differs
    converged: bool

    @property
    def pattern(self) -> Pattern:
        """The pattern that was fitted."""
        return self.table.pattern


def climb(
    codes: NDArray[np.int16],
    pattern: Pattern,
    pull: Pull,
    run: Run,
    start: tuple[Place, Around],
    *,
    quickly: bool = False,
    rule: Rule | None = None,
) -> DimensionFit:
    """Climb on coarse nodes, then on finer ones until the integral is exact enough.

    `quickly` ends on the first nodes; with a `rule`, the climb uses these nodes alone.
    """
    table, (place, around) = Table(codes, pattern), start
    width = pattern.n_dimensions if pattern.correlated else 2
    scattered = pattern.correlated and width > MOST_EXACT
    if quickly or rule is not None:
        few = pattern.free.sum() < FEW_EACH * pattern.n_dimensions
        one = rule or _first_rule(pattern, width, (FINE if few else COARSE).get(width, 0))
        at = _Climb(table, pull, run, one, place, around)
        at.to_top(QUICK if quickly else CLOSEST)
        return at.found(0.0)
    coarse = _first_rule(pattern, width, COARSE.get(width, 0))
    at = _Climb(table, pull.at_most(GUIDE), run, coarse, place, around)
    at.to_top(CLOSE)
    at.pull = pull
    if scattered:
        at.rule = scattered_rule(width, MANY_SCATTERED)
        at.to_top(CLOSEST)
        other = scattered_rule(width, MANY_SCATTERED, seed=1)
        value = likelihood(table, at.place, at.around, other, run)
        return at.found(abs(value - at.sums.value))
    return _finely(at, FINE[width], FINEST[width])


def _first_rule(pattern: Pattern, width: int, points: int) -> Rule:
    if pattern.correlated and width > MOST_EXACT:
        return scattered_rule(width, SCATTERED)
    return _grid(pattern, points)


def _finely(at: _Climb, points: int, most: int) -> DimensionFit:
    """Climb a few steps at a time, on more nodes whenever a finer grid would tell otherwise."""
    table, run = at.table, at.run
    while True:
        last, at.rule = (at.place, at.around), _grid(table.pattern, points)
        at.to_top(CLOSEST, STEPS_BETWEEN)
        error = _integral_error(at, _grid(table.pattern, points + 2), run)
        if points >= most or (at.rested and error < EXACT_ENOUGH) or at.steps > MOST_STEPS:
            return at.found(error)
        if error >= EXACT_ENOUGH:
            points += max(2, points // 3)
        if error >= FAR_OFF:
            at.place, at.around = last


def _integral_error(at: _Climb, finer: Rule, run: Run) -> float:
    """Return by how much the log-likelihood of all rows would change, from some of them."""
    rows = evenly_spaced(len(at.table.codes), ROWS_TO_CHECK)
    some = Table(at.table.codes[rows], at.table.pattern)
    around = Around(at.around.mean[rows], at.around.covariance[rows])
    apart = likelihood(some, at.place, around, finer, run) - likelihood(
        some, at.place, around, at.rule, run
    )
    return abs(apart) * len(at.table.codes) / rows.size


def _grid(pattern: Pattern, points: int) -> Rule:
    return grid_rule(pattern.n_dimensions if pattern.correlated else 1, points)


class _Climb:
    """A place, what was seen from it, and the way up."""

    def __init__(
        self, table: Table, pull: Pull, run: Run, rule: Rule, place: Place, around: Around
    ) -> None:
        self.table, self.pull, self.run, self.rule = table, pull, run, rule
        self.place, self.around, self.steps, self.rested = place, around, 0, False
        self.sums: Sums

    def look(self, place: Place, around: Around) -> tuple[Sums, float]:
        """Return sums at a place, and what is climbed there."""
        pattern, n = self.table.pattern, len(self.table.codes)
        n_nodes = self.table.n_nodes(self.rule)
        at_stage(f"several dimensions: step {self.steps + 1}, {n_nodes:,} nodes per respondent")
        work = 2.0 * n * n_nodes * pattern.size**2
        missing: Missing = all_of_it if work < MOST_WORK else linear_part
        sums = gather(self.table, place, around, self.rule, self.run, missing)
        return sums, sums.value + penalty(place, pattern, self.pull)[0]

    def to_top(self, enough: float, most: int = MOST_STEPS) -> None:
        """Newton's method until less than `enough` is left to gain."""
        pattern = self.table.pattern
        self.sums, value = self.look(self.place, self.around)
        self.around, self.rested = self.sums.around, False
        for _ in range(most):
            slope = self.sums.slope + penalty(self.place, pattern, self.pull)[1]
            step = _step(information(self.sums, self.place, pattern, self.pull), slope)
            gain = 0.5 * float(step @ slope)
            if gain < enough:
                self.rested = True
                return
            length = _longest(step, pattern)
            for _ in range(12):
                there = Place.of(self.place.flat(pattern) + length * step, pattern)
                if there.possible(pattern):
                    sums, new = self.look(there, self.around)
                    if new > value - max(NODES_MOVED, 0.1 * gain):
                        break
                length /= 2
            else:
                return
            self.place, self.sums, self.around, value = there, sums, sums.around, new
            self.steps += 1

    def found(self, error: float) -> DimensionFit:
        """Return what was found."""
        return DimensionFit(
            self.table,
            self.place,
            self.pull,
            self.sums,
            self.rule,
            self.sums.value,
            error,
            self.rested,
        )


def in_full(fit: DimensionFit, run: Run) -> DimensionFit:
    """Return the same fit with all of the missing information, for standard errors."""
    sums = gather(fit.table, fit.place, fit.sums.around, fit.rule, run, all_of_it)
    return replace(fit, sums=sums)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Loadings about the mean of their dimension, in units of that mean."""

    away: Floats  # (n_items, n_dimensions), 0 where there is no loading
    mean: Floats  # (n_dimensions,)
    count: Floats
    floored: NDArray[np.bool_]  # means too small to be a unit

    @classmethod
    def of(cls, place: Place, pattern: Pattern) -> _Scatter:
        count = np.maximum(pattern.free.sum(axis=0), 1).astype(float)
        mean = place.loadings.sum(axis=0) / count
        floored = np.abs(mean) < LEAST_UNIT
        away = np.where(pattern.free, place.loadings - mean, 0.0)
        return cls(away, np.where(floored, LEAST_UNIT, mean), count, floored)

    def value(self) -> Floats:
        """Return half the sum of squares of each dimension."""
        found: Floats = 0.5 * (self.away**2).sum(axis=0) / self.mean**2
        return found

    def slope(self) -> Floats:
        """Return its slopes, (n_items, n_dimensions)."""
        moved = np.where(self.floored, 0.0, 2 * self.value() / (self.count * self.mean))
        return self.away / self.mean**2 - moved

    def bend(self, k: int, own: NDArray[np.bool_]) -> Floats:
        """Return how it bends in the loadings of one dimension."""
        count, mean, away = self.count[k], self.mean[k], self.away[own, k]
        found: Floats = (np.eye(away.size) - 1 / count) / mean**2
        if not self.floored[k]:
            found = found - 2 * (away[:, None] + away) / (count * mean**3)
            found = found + 6 * self.value()[k] / (count * mean) ** 2
        return found


def penalty(place: Place, pattern: Pattern, pull: Pull) -> tuple[float, Floats]:
    """Return log-density of the priors, and its slope."""
    slope = np.zeros(pattern.size)
    there = pattern.of_thresholds != ABSENT
    scatter = _Scatter.of(place, pattern)
    value = -float(scatter.value().sum()) / pull.loading**2
    value -= 0.5 * float((place.thresholds[there] ** 2).sum()) / pull.threshold**2
    of_loadings = -scatter.slope() / pull.loading**2
    slope[pattern.of_loadings[pattern.free]] = of_loadings[pattern.free]
    slope[pattern.of_thresholds[there]] = -place.thresholds[there] / pull.threshold**2
    if pattern.pairs[0].size:
        value += pull.correlation * float(np.linalg.slogdet(place.correlation)[1])
        inverse = np.linalg.inv(place.correlation)
        slope[pattern.n_of_items :] = 2 * pull.correlation * inverse[pattern.pairs]
    return value, slope


def information(sums: Sums, place: Place, pattern: Pattern, pull: Pull) -> tuple[Floats, Floats]:
    """Return information of complete data with that of the priors, and what of it is missing."""
    whole = np.zeros((pattern.size + 1, pattern.size + 1))
    position = np.concatenate([pattern.of_loadings, pattern.of_thresholds], axis=1)
    position = np.where(position == ABSENT, pattern.size, position)
    whole[position[:, :, None], position[:, None, :]] = sums.complete
    whole = whole[:-1, :-1]
    first, scatter = pattern.n_of_items, _Scatter.of(place, pattern)
    for k in range(pattern.n_dimensions):
        own = pattern.of_loadings[pattern.free[:, k], k]
        whole[np.ix_(own, own)] += scatter.bend(k, pattern.free[:, k]) / pull.loading**2
    own = pattern.of_thresholds[pattern.of_thresholds != ABSENT]
    whole[own, own] += 1 / pull.threshold**2
    if pattern.pairs[0].size:
        inverse = np.linalg.inv(place.correlation)
        left, right = pattern.pairs
        i, j = left[:, None], right[:, None]
        apart = inverse[i, left] * inverse[j, right] + inverse[i, right] * inverse[j, left]
        whole[first:, first:] += sums.of_correlations + 2 * pull.correlation * apart
    return whole, sums.missing


def _step(known: tuple[Floats, Floats], slope: Floats) -> Floats:
    """A Newton step; where the likelihood does not bend down, as much of EM's as is needed."""
    from scipy.linalg import cho_factor, cho_solve

    whole, missing = known
    for share in (1.0, 0.95, 0.8, 0.5, 0.0):
        bend = whole - share * missing
        bend[np.diag_indices_from(bend)] += 1e-9 + (1 - share) * 1e-3
        try:
            found: Floats = cho_solve(cho_factor(bend, lower=True, check_finite=False), slope)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(found).all():
            return found
    return slope / np.maximum(np.abs(np.diag(whole)), 1.0)


def _longest(step: Floats, pattern: Pattern) -> float:
    """Return the share of a step that is not too long."""
    items, correlations = np.abs(step[: pattern.n_of_items]), np.abs(step[pattern.n_of_items :])
    worst = items.max(initial=0.0) / LONGEST
    worst = max(worst, correlations.max(initial=0.0) / LONGEST_CORRELATION)
    return 1.0 if worst <= 1 else 1 / worst


LEAST_LOADING, MOST_LOADING = 0.2, 2.5
FIRST_CORRELATION = 0.5
SPECIFIC = 0.5  # of a loading, for the dimension of a group
DIMENSION_START_LONGEST = 2.0


def first_place(codes: NDArray[np.int16], pattern: Pattern) -> Place:
    """Loadings on the first principal component of each dimension, thresholds from frequencies."""
    missing = codes < 0
    seen = np.where(missing, np.nan, codes)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.nansum(seen, axis=0) / count
    away = np.where(missing, 0.0, codes - mean)
    sd = np.sqrt((away**2).sum(axis=0) / count)
    away = away / np.where(sd > 0, sd, 1.0)
    loadings = np.zeros(pattern.free.shape)
    for k in range(pattern.n_dimensions):
        own = pattern.free[:, k]
        loadings[own, k] = _component(away[:, own])
    several = np.maximum(pattern.free.sum(axis=1), 1)
    if pattern.correlated:
        loadings /= several[:, None]
    else:
        loadings[:, 1:] *= SPECIFIC
    n_thresholds = pattern.n_thresholds
    thresholds = np.zeros((len(n_thresholds), int(n_thresholds.max())))
    size = np.sqrt(1 + (loadings**2).sum(axis=1) / 3)
    for k in range(int(n_thresholds.max())):
        above = ((codes > k).sum(axis=0) + 0.5) / (count + 1)
        thresholds[:, k] = size * np.log(above / (1 - above)) - 1e-3 * k
    thresholds[np.arange(int(n_thresholds.max())) >= n_thresholds[:, None]] = 0.0
    correlation = np.eye(pattern.n_dimensions)
    correlation[pattern.pairs] = correlation.T[pattern.pairs] = FIRST_CORRELATION
    return Place(loadings, thresholds, correlation)


def _component(away: Floats) -> Floats:
    """Return loadings on the first principal component, as logistic slopes, mostly positive."""
    n_rows, n_items = away.shape
    if n_items <= n_rows:
        values, ways = np.linalg.eigh(away.T @ away / n_rows)
        way = ways[:, -1] * np.sqrt(max(values[-1], 0.0))
    else:
        values, ways = np.linalg.eigh(away @ away.T / n_rows)
        way = away.T @ ways[:, -1] / np.sqrt(n_rows)
    way = np.clip(way if way.sum() >= 0 else -way, -0.95, 0.95)
    slope = 1.7 * way / np.sqrt(1 - way**2)
    sign = np.where(slope < -LEAST_LOADING, -1.0, 1.0)
    found: Floats = sign * np.clip(np.abs(slope), LEAST_LOADING, MOST_LOADING)
    return found


def posterior_modes(codes: NDArray[np.int16], pattern: Pattern, place: Place) -> Around:
    """Return mode of every posterior, and the covariance of a normal density that bends like it."""
    terms = cell_terms(codes, place.thresholds, pattern.n_thresholds)
    inverse = np.linalg.inv(place.correlation)
    n, size = len(codes), pattern.n_dimensions
    squares = (place.loadings[:, :, None] * place.loadings[:, None, :]).reshape(-1, size**2)
    at = np.zeros((n, size))
    for _ in range(30):
        slope, bend = -at @ inverse, np.zeros((n, size, size)) + inverse
        logits = at @ place.loadings.T
        for term in terms:
            t = np.clip((logits + term.threshold) * term.sign, -500, 500)
            tail = 1 / (1 + np.exp(t))
            slope += (tail * term.sign) @ place.loadings
            bend += ((tail * (1 - tail)) @ squares).reshape(n, size, size)
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        length = np.sqrt((step**2).sum(axis=1, keepdims=True))
        at = at + step * np.minimum(1.0, DIMENSION_START_LONGEST / np.maximum(length, 1e-12))
        if length.max() < 1e-4:
            break
    return Around(at, np.linalg.inv(bend))
