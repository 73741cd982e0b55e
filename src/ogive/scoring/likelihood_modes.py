"""Abilities that maximise: MAP, maximum likelihood, and weighted likelihood (Warm, 1989).

The best node of a grid first, so that a second maximum of a 3PL does no harm, then safeguarded
scoring steps inside its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, array_namespace, as_numpy, like
from ogive.responses.encoding import Block, Encoded
from ogive.scoring.posterior import LogLikelihood, Population

GRID = 161
MOST_TURNS = 60
SETTLED = 1e-9  # a step that is no longer worth another
LEAST_TELLING = 1e-3  # of what the population tells; items that tell less tell nothing
LEAST_INFORMATION = 1e-12  # less is none: the standard error would only grow without meaning
NUDGE = 1e-4
TINY = 1e-300


def modes(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    population: Population,
    method: str,
    farthest: float,
) -> Callable[[slice], tuple[Array, ...]]:
    """A function that finds the modes of some rows, their errors, and who stands at a bound."""
    xp = array_namespace(coords)
    low, high = population.reach(farthest)
    points = np.linspace(low, high, GRID)
    grid, step = like(points, coords), float(points[1] - points[0])
    likelihood = LogLikelihood(model.log_terms(coords, grid))
    _, info_table, bias_table = model.ability_slopes(coords, grid)

    def objective(block: Block) -> Array:
        value = likelihood(block)
        if method == "map":
            return value + like(population.log_density(points), coords)
        if method == "wle":
            return value + _log_warm_weight(block, step, info_table, bias_table)
        return value

    def slope(block: Block, ability: Array) -> tuple[Array, Array]:
        score, information, bias = _score(block, model, coords, ability)
        if method == "map":
            place = as_numpy(ability)
            bend = np.maximum(population.curvature(place), 0.1 / population.sd**2)
            pull = like(population.slope(place), ability)
            return score + pull, information + like(bend, ability)
        if method == "wle":
            score = score + 0.5 * bias / xp.clip(information, TINY, None)
        return score, information

    def work(rows: slice) -> tuple[Array, ...]:
        block = data.block(rows)
        best = xp.argmax(objective(block), axis=1)
        some = told(_most_information(block, info_table), population)
        lost = ~some & (method != "map")  # nothing to estimate from: at the mean, and said so
        at_bound = lost | (some & ((best == 0) | (best == GRID - 1)))
        start = xp.where(some, xp.take(grid, best), like(population.mean, grid))
        ability = _polish(lambda x: slope(block, x), start, step, at_bound | ~some)
        information = _bend(lambda x: slope(block, x), ability)
        return ability, 1 / xp.sqrt(xp.clip(information, LEAST_INFORMATION, None)), at_bound

    return work


def told(information: Array, population: Population) -> Array:
    """Whether responses tell anything beside what the population tells."""
    return information * population.sd**2 > LEAST_TELLING


def _most_information(block: Block, information: Array) -> Array:
    """The most that a row's items could tell of any ability on the grid."""
    xp = array_namespace(information)
    if block.observed is None:
        return xp.max(xp.sum(information, axis=0)) + 0 * block.statistics[0][:, 0]
    return xp.max(block.observed @ information, axis=1)


def _polish(
    slope: Callable[[Array], tuple[Array, Array]], start: Array, step: float, fixed: Array
) -> Array:
    """Scoring steps between the neighbours of the best node; halves the bracket where they fail."""
    xp = array_namespace(start)
    ability, low, high = start, start - step, start + step
    last = xp.full_like(start, np.inf)
    for _ in range(MOST_TURNS):
        score, information = slope(ability)
        low = xp.where(score > 0, ability, low)
        high = xp.where(score > 0, high, ability)
        ahead = ability + score / xp.clip(information, TINY, None)
        # Where responses tell more than expected, steps swing to and fro and hardly shrink.
        good = (ahead > low) & (ahead < high) & (xp.abs(ahead - ability) < 0.6 * last)
        ahead = xp.where(good, ahead, 0.5 * (low + high))
        ahead = xp.where(fixed | (score == 0), ability, ahead)
        last = xp.abs(ahead - ability)
        ability, fixed = ahead, fixed | (last < SETTLED)  # who has arrived stays there
        if bool(xp.all(fixed)):
            break
    return ability


def _bend(slope: Callable[[Array], tuple[Array, Array]], ability: Array) -> Array:
    """Curvature of what was maximised; the expected one where the observed one is no maximum's."""
    up, down = slope(ability + NUDGE)[0], slope(ability - NUDGE)[0]
    observed, expected = (down - up) / (2 * NUDGE), slope(ability)[1]
    return array_namespace(ability).where(observed > 0.1 * expected, observed, expected)


def _score(
    block: Block, model: MeasurementModel, coords: Array, ability: Array
) -> tuple[Array, Array, Array]:
    """Each row at its own ability: score, information and Warm's bias term."""
    xp = array_namespace(coords)
    terms, information, bias = model.ability_slopes(coords, ability)
    observed = block.asked.T
    score = observed * terms[0]
    for statistic, term in zip(block.statistics, terms[1:], strict=True):
        score = score + statistic.T * term
    sums = score, observed * information, observed * bias
    return xp.sum(sums[0], axis=0), xp.sum(sums[1], axis=0), xp.sum(sums[2], axis=0)


def _log_warm_weight(block: Block, step: float, information: Array, bias: Array) -> Array:
    """Log of the weight whose derivative is bias / (2 information), on the grid (Warm, 1989)."""
    xp = array_namespace(information)
    if block.observed is None:
        total, tilt = xp.sum(information, axis=0)[None], xp.sum(bias, axis=0)[None]
    else:
        total, tilt = block.observed @ information, block.observed @ bias
    slope = 0.5 * tilt / xp.clip(total, TINY, None)
    areas = 0.5 * (slope[:, 1:] + slope[:, :-1]) * step
    return xp.concat([0 * slope[:, :1], areas.cumsum(1)], axis=1)
