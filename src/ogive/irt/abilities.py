"""EAP, MAP, ML, Warm's weighted likelihood.

Abilities that maximise: MAP, maximum likelihood, and weighted likelihood (Warm, 1989).

The best node of a grid first, so that a second maximum of a 3PL does no harm, then safeguarded
scoring steps inside its neighbours.

Four estimates of ability: EAP, MAP, maximum likelihood and weighted likelihood.

EAP averages over the posterior; the others maximise (`likelihood_modes`). Where responses are
normal, all four are weighted means. The work is done where the responses lie, on the CPU or on a
GPU; abilities come back as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive.errors import InputError
from ogive.irt.encoded_responses import Block, Encoded
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import (
    FARTHEST,
    STANDARD,
    LinearCurves,
    LogLikelihood,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    ScoreGrid,
    plan_nodes,
)
from ogive.stats.array_backend import Array, Floats, array_namespace, as_numpy, like, workers

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
    """Return whether responses tell anything beside what the population tells."""
    return information * population.sd**2 > LEAST_TELLING


def _most_information(block: Block, information: Array) -> Array:
    """Return the most that a row's items could tell of any ability on the grid."""
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
    """Return each row at its own ability: score, information and Warm's bias term."""
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


METHODS = ("eap", "map", "ml", "wle")

EDGE_MASS = 1e-6
NOTHING_BEYOND = 1e-8  # posterior mass at an end node, which leaves less than 1e-6 beyond it
MOST_SEEN = 1 << 18  # posterior weights that are kept: 2 MB

Work = Callable[[slice], tuple[Array, ...]]


@dataclass(frozen=True, eq=False)
class Seen:
    """The posteriors from which abilities were computed."""

    nodes: Nodes
    weights: Floats  # (n_respondents, n_fine)


@dataclass(frozen=True, eq=False)
class Abilities:
    """Where each respondent stands, how surely, and whether only a bound stopped the estimate."""

    ability: Floats  # (n_respondents,)
    se: Floats
    at_bound: np.ndarray  # bool
    seen: Seen | None = None  # of a small table, whose errors then need no second look at it


def score_abilities(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population = STANDARD,
    method: str = "eap",
    n_jobs: int | None = None,
    farthest: float = FARTHEST,
) -> Abilities:
    """Estimate the ability of every row of `data` by `method`."""
    method = method.lower() if isinstance(method, str) else method
    if method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    placed, width = like(coords, data.cells), GRID
    if model.normal and (method in ("ml", "wle") or isinstance(population, NormalPopulation)):
        work, width = _weighted_mean(data, model, placed, population, method, farthest), 1
    elif method == "eap":
        return _eap(data, model, placed, population, n_jobs)
    else:
        work = modes(data, model, placed, population, method, farthest)
    ability, se, at_bound = _by_blocks(work, data, width, n_jobs)
    return Abilities(ability, se, at_bound)


def _by_blocks(work: Work, data: Encoded, width: int, n_jobs: int | None) -> list[np.ndarray]:
    """What `work` finds of all rows: abilities, errors, whether at a bound, and what else."""
    with workers(n_jobs) as run:
        parts = list(run(work, data.blocks(width)))
    xp = array_namespace(data.cells)
    return [
        as_numpy(part[0] if len(part) == 1 else xp.concat(part))
        for part in zip(*parts, strict=True)
    ]


def _weighted_mean(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    population: Population,
    method: str,
    farthest: float,
) -> Work:
    """Normal responses: the posterior is normal, so its mean is its mode, and nothing is biased."""
    xp = array_namespace(coords)
    loading, intercept = model.loadings(coords), coords[:, 1]
    weights = loading * xp.exp(-2 * coords[:, 2])
    alone = method in ("ml", "wle")  # nothing but the responses counts
    prior = 0.0 if alone else population.sd**-2
    low, high = population.reach(farthest)

    def work(rows: slice) -> tuple[Array, ...]:
        values, asked = data.values(rows)
        if asked is None:
            apart = values - intercept
            information = weights @ loading + 0 * apart[:, 0]
        else:
            apart, information = (values - intercept) * asked, asked @ (weights * loading)
        precision = information + prior
        ability = (apart @ weights + prior * population.mean) / xp.clip(precision, TINY, None)
        lost = alone & ~told(information, population)
        at_bound = lost | (alone & ((ability <= low) | (ability >= high)))
        ability = xp.clip(ability, low, high) if alone else ability
        ability = xp.where(lost, like(population.mean, ability), ability)
        return ability, 1 / xp.sqrt(xp.clip(precision, LEAST_INFORMATION, None)), at_bound

    return work


def _eap(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    population: Population,
    n_jobs: int | None,
) -> Abilities:
    # Ten standard deviations, not six: a perfect row of a long test lies far out.
    far = plan_nodes(model, coords, population, population.reach(FARTHEST), often=data.often)
    if data.shape[0] * far.fine.size <= MOST_SEEN:
        work = _means(data, model, coords, far, kept=True)
        ability, se, ends, weights = _by_blocks(work, data, GRID, n_jobs)
        return Abilities(ability, se, ends > EDGE_MASS, Seen(far, weights))
    if model.linear and data.complete:
        work, width = _means_of_scores(data, coords, far)
        ability, se, ends = _by_blocks(work, data, width, n_jobs)
        return Abilities(ability, se, ends > EDGE_MASS)
    near = plan_nodes(model, coords, population, often=data.often)
    ability, se, ends = _by_blocks(_means(data, model, coords, near), data, GRID, n_jobs)
    beyond = np.flatnonzero(ends > NOTHING_BEYOND)
    if beyond.size:
        part = data.of_rows(beyond)
        work = _means(part, model, coords, far)
        ability[beyond], se[beyond], ends[beyond] = _by_blocks(work, part, GRID, n_jobs)
    return Abilities(ability, se, ends > EDGE_MASS)


def _means(
    data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, *, kept: bool = False
) -> Work:
    """Mean and standard deviation of posteriors, mass at the ends, and if `kept` all of them."""
    xp = array_namespace(coords)
    abilities = like(nodes.fine, coords)
    posterior_of = Posterior(model.log_terms(coords, like(nodes.coarse, coords)), nodes)

    def work(rows: slice) -> tuple[Array, ...]:
        posterior, _ = posterior_of(data.block(rows))
        found = _moments(xp, posterior, abilities)
        return (*found, posterior) if kept else found

    return work


def _means_of_scores(data: Encoded, coords: Array, nodes: Nodes) -> tuple[Work, int]:
    """Return the same where one score of a row says all; from a table of scores, if rows are many.

    With the numbers that it needs for each row.
    """
    xp = array_namespace(coords)
    curves, slopes = LinearCurves.at(coords, nodes), coords[:, 0]
    grid = ScoreGrid.of(slopes)
    if not grid.pays(data.shape[0], nodes.fine.size):

        def each(rows: slice) -> tuple[Array, ...]:
            posterior, _ = curves.posterior(data.right_or_wrong(rows).times(slopes))
            return _moments(xp, posterior, curves.abilities)

        return each, nodes.fine.size
    table = xp.stack(_moments(xp, curves.posterior(grid.points(slopes))[0], curves.abilities))

    def interpolated(rows: slice) -> tuple[Array, ...]:
        near, share = grid.near(data.right_or_wrong(rows).times(slopes))
        found = xp.sum(share * table[:, near], axis=1)
        return found[0], found[1], found[2]

    return interpolated, 1


def _moments(xp: Any, posterior: Array, abilities: Array) -> tuple[Array, Array, Array]:
    """Return mean and standard deviation of posteriors, and their mass at both ends."""
    mean = posterior @ abilities
    variance = posterior @ abilities**2 - mean**2
    return mean, xp.sqrt(xp.clip(variance, 0.0, None)), posterior[:, 0] + posterior[:, -1]
