"""Four estimates of ability: EAP, MAP, maximum likelihood, weighted likelihood (Warm, 1989).

EAP averages over the posterior; the others maximize. They start at the best node of a grid, so that
a second maximum of a 3PL does no harm, and go on with safeguarded scoring steps between its
neighbours. For normal responses, all four are weighted means. The work is done where the responses
lie, on the CPU or on a GPU; abilities come back as NumPy arrays.
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

METHODS = ("eap", "map", "ml", "wle")
GRID = 161  # number of nodes from which modes are searched
MAX_STEPS = 60
CONVERGED = 1e-9  # change of ability at which the search stops
LEAST_TELLING = 1e-3  # least information of responses, relative to that of the population
LEAST_INFORMATION = 1e-12  # floor of the information: below, standard errors have no meaning
NUDGE = 1e-4
TINY = 1e-300
EDGE_MASS = 1e-6  # posterior mass at the end nodes above which an ability is at a bound
NOTHING_BEYOND = 1e-8  # posterior mass at an end node, which leaves less than 1e-6 beyond it
MOST_SEEN = 1 << 18  # largest number of posterior weights that are kept (2 MB)

Work = Callable[[slice], tuple[Array, ...]]


@dataclass(frozen=True, eq=False)
class Seen:
    """The posteriors from which abilities were computed."""

    nodes: Nodes
    weights: Floats  # (n_respondents, n_fine)


@dataclass(frozen=True, eq=False)
class Abilities:
    """Estimates, their standard errors, and whether only a bound stopped the estimate."""

    ability: Floats  # (n_respondents,)
    se: Floats
    at_bound: np.ndarray  # bool
    seen: Seen | None = None  # posteriors of a small table, kept for the errors of the items


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
    """Run `work` on blocks of rows, and join each of its results."""
    with workers(n_jobs) as run:
        parts = list(run(work, data.blocks(width)))
    xp = array_namespace(data.cells)
    return [
        as_numpy(part[0] if len(part) == 1 else xp.concat(part))
        for part in zip(*parts, strict=True)
    ]


def _is_telling(information: Array, population: Population) -> Array:
    """Return True where responses add information to that of the population."""
    return information * population.sd**2 > LEAST_TELLING


def modes(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    population: Population,
    method: str,
    farthest: float,
) -> Work:
    """Return a function that finds modes of some rows, their errors, and which are at a bound."""
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

    def score_at(block: Block, ability: Array) -> tuple[Array, Array]:
        """Return gradient and expected information of each row at its own ability."""
        terms, information, bias = model.ability_slopes(coords, ability)
        observed = block.asked.T
        score = observed * terms[0]
        for statistic, term in zip(block.statistics, terms[1:], strict=True):
            score = score + statistic.T * term
        score = xp.sum(score, axis=0)
        information = xp.sum(observed * information, axis=0)
        if method == "map":
            at = as_numpy(ability)
            curvature = np.maximum(population.curvature(at), 0.1 / population.sd**2)
            return score + like(population.slope(at), ability), information + like(
                curvature, ability
            )
        if method == "wle":
            bias = xp.sum(observed * bias, axis=0)
            score = score + 0.5 * bias / xp.clip(information, TINY, None)
        return score, information

    def work(rows: slice) -> tuple[Array, ...]:
        block = data.block(rows)
        best = xp.argmax(objective(block), axis=1)
        if block.observed is None:
            most = xp.max(xp.sum(info_table, axis=0)) + 0 * block.statistics[0][:, 0]
        else:
            most = xp.max(block.observed @ info_table, axis=1)
        telling = _is_telling(most, population)
        lost = ~telling & (method != "map")  # nothing to estimate from: at the mean, and flagged
        at_bound = lost | (telling & ((best == 0) | (best == GRID - 1)))
        start = xp.where(telling, xp.take(grid, best), like(population.mean, grid))
        ability = _refined(lambda x: score_at(block, x), start, step, at_bound | ~telling)
        # The curvature of the objective; the expected one if the observed one is no maximum's.
        up, down = score_at(block, ability + NUDGE)[0], score_at(block, ability - NUDGE)[0]
        observed, expected = (down - up) / (2 * NUDGE), score_at(block, ability)[1]
        information = xp.where(observed > 0.1 * expected, observed, expected)
        return ability, 1 / xp.sqrt(xp.clip(information, LEAST_INFORMATION, None)), at_bound

    return work


def _refined(
    score_at: Callable[[Array], tuple[Array, Array]], start: Array, step: float, fixed: Array
) -> Array:
    """Take scoring steps between the neighbours of the best node; bisect if a step fails."""
    xp = array_namespace(start)
    ability, low, high = start, start - step, start + step
    last = xp.full_like(start, np.inf)
    for _ in range(MAX_STEPS):
        score, information = score_at(ability)
        low = xp.where(score > 0, ability, low)
        high = xp.where(score > 0, high, ability)
        proposed = ability + score / xp.clip(information, TINY, None)
        # If responses tell more than expected, steps swing to and fro and hardly shrink.
        good = (proposed > low) & (proposed < high) & (xp.abs(proposed - ability) < 0.6 * last)
        proposed = xp.where(good, proposed, 0.5 * (low + high))
        proposed = xp.where(fixed | (score == 0), ability, proposed)
        last = xp.abs(proposed - ability)
        ability, fixed = proposed, fixed | (last < CONVERGED)
        if bool(xp.all(fixed)):
            break
    return ability


def _log_warm_weight(block: Block, step: float, information: Array, bias: Array) -> Array:
    """Return log of the weight whose derivative is bias / (2 information), on the grid."""
    xp = array_namespace(information)
    if block.observed is None:
        total, total_bias = xp.sum(information, axis=0)[None], xp.sum(bias, axis=0)[None]
    else:
        total, total_bias = block.observed @ information, block.observed @ bias
    slope = 0.5 * total_bias / xp.clip(total, TINY, None)
    areas = 0.5 * (slope[:, 1:] + slope[:, :-1]) * step
    return xp.concat([0 * slope[:, :1], areas.cumsum(1)], axis=1)


def _weighted_mean(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    population: Population,
    method: str,
    farthest: float,
) -> Work:
    """Score normal responses: the posterior is normal, so its mean is its mode without bias."""
    xp = array_namespace(coords)
    loading, intercept = model.loadings(coords), coords[:, 1]
    weights = loading * xp.exp(-2 * coords[:, 2])
    no_prior = method in ("ml", "wle")
    prior = 0.0 if no_prior else population.sd**-2
    low, high = population.reach(farthest)

    def work(rows: slice) -> tuple[Array, ...]:
        values, asked = data.values(rows)
        if asked is None:
            residual = values - intercept
            information = weights @ loading + 0 * residual[:, 0]
        else:
            residual, information = (values - intercept) * asked, asked @ (weights * loading)
        precision = information + prior
        ability = (residual @ weights + prior * population.mean) / xp.clip(precision, TINY, None)
        lost = no_prior & ~_is_telling(information, population)
        at_bound = lost | (no_prior & ((ability <= low) | (ability >= high)))
        ability = xp.clip(ability, low, high) if no_prior else ability
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
        work = _posterior_means(data, model, coords, far, kept=True)
        ability, se, ends, weights = _by_blocks(work, data, GRID, n_jobs)
        return Abilities(ability, se, ends > EDGE_MASS, Seen(far, weights))
    if model.linear and data.complete:
        work, width = _means_by_score(data, coords, far)
        ability, se, ends = _by_blocks(work, data, width, n_jobs)
        return Abilities(ability, se, ends > EDGE_MASS)
    near = plan_nodes(model, coords, population, often=data.often)
    ability, se, ends = _by_blocks(_posterior_means(data, model, coords, near), data, GRID, n_jobs)
    beyond = np.flatnonzero(ends > NOTHING_BEYOND)
    if beyond.size:
        part = data.of_rows(beyond)
        work = _posterior_means(part, model, coords, far)
        ability[beyond], se[beyond], ends[beyond] = _by_blocks(work, part, GRID, n_jobs)
    return Abilities(ability, se, ends > EDGE_MASS)


def _posterior_means(
    data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, *, kept: bool = False
) -> Work:
    """Return mean and sd of posteriors, mass at the ends, and if `kept` the posteriors."""
    xp = array_namespace(coords)
    abilities = like(nodes.fine, coords)
    posterior_of = Posterior(model.log_terms(coords, like(nodes.coarse, coords)), nodes)

    def work(rows: slice) -> tuple[Array, ...]:
        posterior, _ = posterior_of(data.block(rows))
        moments = _moments(xp, posterior, abilities)
        return (*moments, posterior) if kept else moments

    return work


def _means_by_score(data: Encoded, coords: Array, nodes: Nodes) -> tuple[Work, int]:
    """Return posterior means if one score of a row is sufficient, and the numbers per row.

    For many rows, means are interpolated in a table of scores.
    """
    xp = array_namespace(coords)
    curves, slopes = LinearCurves.at(coords, nodes), coords[:, 0]
    grid = ScoreGrid.of(slopes)
    if not grid.pays(data.shape[0], nodes.fine.size):

        def by_row(rows: slice) -> tuple[Array, ...]:
            posterior, _ = curves.posterior(data.right_or_wrong(rows).times(slopes))
            return _moments(xp, posterior, curves.abilities)

        return by_row, nodes.fine.size
    table = xp.stack(_moments(xp, curves.posterior(grid.points(slopes))[0], curves.abilities))

    def interpolated(rows: slice) -> tuple[Array, ...]:
        near, share = grid.near(data.right_or_wrong(rows).times(slopes))
        return tuple(xp.sum(share * table[:, near], axis=1))

    return interpolated, 1


def _moments(xp: Any, posterior: Array, abilities: Array) -> tuple[Array, Array, Array]:
    """Return mean and standard deviation of posteriors, and their mass at both ends."""
    mean = posterior @ abilities
    variance = posterior @ abilities**2 - mean**2
    return mean, xp.sqrt(xp.clip(variance, 0.0, None)), posterior[:, 0] + posterior[:, -1]
