"""Five estimates of ability: EAP, MAP, maximum likelihood, weighted likelihood, and in stages.

EAP averages over the posterior. The next three maximise: the best node of a grid first, so that a
second maximum of a 3PL does no harm, then safeguarded scoring steps inside its neighbours. Where
responses are normal, all four are weighted means. Weighted likelihood is that of Warm (1989).

The staged estimate is that of decodIRT: ten groups of items, from easy to hard. Each group alone
gives an estimate, so that the last and hardest group decides. Where a respondent gets a whole group
right or wrong, no maximum of the likelihood exists, and the estimate goes half the way to the
hardest or the easiest item (Dodd, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from itemwise.errors import InputError
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, workers
from itemwise.responses.encoding import Block, Encoded, encode
from itemwise.scoring.posterior import (
    STANDARD,
    LogLikelihood,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    plan_nodes,
)

METHODS = ("eap", "map", "ml", "wle")

FARTHEST = (
    10.0  # standard deviations of the population; where no finite estimate exists, it stands here
)
GRID = 161
MOST_TURNS = 60
SETTLED = 1e-9  # a step that is no longer worth another
LEAST_TELLING = 1e-3  # of what the population tells; items that tell less tell nothing
LEAST_INFORMATION = 1e-12  # less is none: the standard error would only grow without meaning
EDGE_MASS = 1e-6
NUDGE = 1e-4
TINY = 1e-300

MOST_SEEN = 1 << 18  # posterior weights that are kept: 2 MB

Work = Callable[[slice], tuple[np.ndarray, ...]]
GROUPS = 10


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
    width = GRID
    if model.normal and (method in ("ml", "wle") or isinstance(population, NormalPopulation)):
        work, width = _weighted_mean(data, model, coords, population, method, farthest), 1
    elif method == "eap":
        return _eap(data, model, coords, population, n_jobs)
    else:
        work = _mode(data, model, coords, population, method, farthest)
    return Abilities(*_by_blocks(work, data, width, n_jobs))


def _by_blocks(work: Work, data: Encoded, width: int, n_jobs: int | None) -> list[Any]:
    """What `work` finds of all rows: abilities, errors, whether at a bound, and what else."""
    with workers(n_jobs) as run:
        parts = list(run(work, data.blocks(width)))
    return [
        part[0] if len(part) == 1 else np.concatenate(part) for part in zip(*parts, strict=True)
    ]


def _weighted_mean(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    farthest: float,
) -> Work:
    """Normal responses: the posterior is normal, so its mean is its mode, and nothing is biased."""
    loading, intercept = model.loadings(coords), coords[:, 1]
    weights = loading * np.exp(-2 * coords[:, 2])
    alone = method in ("ml", "wle")  # nothing but the responses counts
    prior = 0.0 if alone else population.sd**-2
    low, high = population.reach(farthest)

    def work(rows: slice) -> tuple[Floats, Floats, np.ndarray]:
        values, asked = data.values(rows)
        if asked is None:
            apart, information = values - intercept, np.full(len(values), weights @ loading)
        else:
            apart, information = (values - intercept) * asked, asked @ (weights * loading)
        precision = information + prior
        ability = (apart @ weights + prior * population.mean) / np.maximum(precision, TINY)
        lost = alone & (information * population.sd**2 <= LEAST_TELLING)
        at_bound = lost | (alone & ((ability <= low) | (ability >= high)))
        ability = np.clip(ability, low, high) if alone else ability
        ability = np.where(lost, population.mean, ability)
        return ability, 1 / np.sqrt(np.maximum(precision, LEAST_INFORMATION)), at_bound

    return work


def _eap(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    n_jobs: int | None,
) -> Abilities:
    # Ten standard deviations, not six: a perfect row of a long test lies far out.
    reach = population.reach(FARTHEST)
    nodes = plan_nodes(model, coords, population, reach, often=data.often)
    posterior_of = Posterior(model.log_terms(coords, nodes.coarse), nodes)
    kept = data.shape[0] * nodes.fine.size <= MOST_SEEN

    def work(rows: slice) -> tuple[np.ndarray, ...]:
        posterior, _ = posterior_of(data.block(rows))
        mean = posterior @ nodes.fine
        variance = posterior @ nodes.fine**2 - mean**2
        ends = posterior[:, 0] + posterior[:, -1]
        found = mean, np.sqrt(np.maximum(variance, 0.0)), ends > EDGE_MASS
        return (*found, posterior) if kept else found

    ability, se, at_bound, *weights = _by_blocks(work, data, GRID, n_jobs)
    return Abilities(ability, se, at_bound, Seen(nodes, weights[0]) if kept else None)


def _mode(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    farthest: float,
) -> Work:
    low, high = population.reach(farthest)
    grid = np.linspace(low, high, GRID)
    likelihood = LogLikelihood(model.log_terms(coords, grid))
    _, info_table, bias_table = model.ability_slopes(coords, grid)

    def objective(block: Block) -> Floats:
        value: Floats = likelihood(block)
        if method == "map":
            return value + population.log_density(grid)
        if method == "wle":
            return value + _log_warm_weight(block, grid, info_table, bias_table)
        return value

    def slope(block: Block, ability: Floats) -> tuple[Floats, Floats]:
        score, information, bias = _score(block, model, coords, ability)
        if method == "map":
            bend = np.maximum(population.curvature(ability), 0.1 / population.sd**2)
            return score + population.slope(ability), information + bend
        if method == "wle":
            score = score + 0.5 * bias / np.maximum(information, TINY)
        return score, information

    def work(rows: slice) -> tuple[Floats, Floats, np.ndarray]:
        block = data.block(rows)
        best = np.argmax(objective(block), axis=1)
        told = _most_information(block, info_table) * population.sd**2 > LEAST_TELLING
        lost = ~told & (method != "map")  # nothing to estimate from: at the mean, and said so
        at_bound = lost | (told & ((best == 0) | (best == GRID - 1)))
        start = np.where(told, grid[best], population.mean)
        ability = _polish(lambda x: slope(block, x), start, grid[1] - grid[0], at_bound | ~told)
        information = _bend(lambda x: slope(block, x), ability)
        return ability, 1 / np.sqrt(np.maximum(information, LEAST_INFORMATION)), at_bound

    return work


def _most_information(block: Block, information: Floats) -> Floats:
    """The most that a row's items could tell of any ability on the grid."""
    if block.observed is None:
        return np.full(block.statistics[0].shape[0], information.sum(axis=0).max())
    found: Floats = (block.observed @ information).max(axis=1)
    return found


def _polish(
    slope: Callable[[Floats], tuple[Floats, Floats]], start: Floats, step: float, fixed: np.ndarray
) -> Floats:
    """Scoring steps between the neighbours of the best node; halves the bracket where they fail."""
    ability, low, high = start.copy(), start - step, start + step
    last = np.full(start.shape, np.inf)
    for _ in range(MOST_TURNS):
        score, information = slope(ability)
        low = np.where(score > 0, ability, low)
        high = np.where(score > 0, high, ability)
        ahead = ability + score / np.maximum(information, TINY)
        # Where responses tell more than expected, steps swing to and fro and hardly shrink.
        good = (ahead > low) & (ahead < high) & (np.abs(ahead - ability) < 0.6 * last)
        ahead = np.where(good, ahead, 0.5 * (low + high))
        ahead = np.where(fixed | (score == 0), ability, ahead)
        last = np.abs(ahead - ability)
        ability, fixed = ahead, fixed | (last < SETTLED)  # who has arrived stays there
        if fixed.all():
            break
    return ability


def _bend(slope: Callable[[Floats], tuple[Floats, Floats]], ability: Floats) -> Floats:
    """Curvature of what was maximised; the expected one where the observed one is no maximum's."""
    up, down = slope(ability + NUDGE)[0], slope(ability - NUDGE)[0]
    observed, expected = (down - up) / (2 * NUDGE), slope(ability)[1]
    return np.where(observed > 0.1 * expected, observed, expected)


def _score(
    block: Block, model: MeasurementModel, coords: Floats, ability: Floats
) -> tuple[Floats, Floats, Floats]:
    """Each row at its own ability: score, information and Warm's bias term."""
    terms, information, bias = model.ability_slopes(coords, ability)
    observed = block.asked.T
    score = observed * terms[0]
    for statistic, term in zip(block.statistics, terms[1:], strict=True):
        score = score + statistic.T * term
    return score.sum(axis=0), (observed * information).sum(axis=0), (observed * bias).sum(axis=0)


def _log_warm_weight(block: Block, grid: Floats, information: Floats, bias: Floats) -> Floats:
    """Log of the weight whose derivative is bias / (2 information), on the grid (Warm, 1989)."""
    if block.observed is None:
        total, tilt = information.sum(axis=0)[None], bias.sum(axis=0)[None]
    else:
        total, tilt = block.observed @ information, block.observed @ bias
    slope = 0.5 * tilt / np.maximum(total, TINY)
    areas = 0.5 * (slope[:, 1:] + slope[:, :-1]) * (grid[1] - grid[0])
    return np.concatenate([np.zeros((slope.shape[0], 1)), np.cumsum(areas, axis=1)], axis=1)


def staged_abilities(
    cells: Array, model: MeasurementModel, coords: Floats, groups: int = GROUPS
) -> Abilities:
    """Ability of every row of right (1) and wrong (0) responses; -1 was never asked.

    All groups have the same size; the hardest items that do not fill a group are left out. The
    standard error is that of the last group alone, at the estimate.
    """
    if model.kind != "binary":
        raise InputError(
            f"The staged estimate is for right and wrong responses, but the model is "
            f"{model.name}. Choose another method, such as 'eap'."
        )
    difficulty = model.parameters(coords)["difficulty"]
    size = difficulty.size // groups
    if not size:
        raise InputError(
            f"The staged estimate needs {groups} items or more, but there are {difficulty.size}. "
            "Choose another method, such as 'eap'."
        )
    order = np.argsort(difficulty, kind="stable")[: groups * size]
    asked = cells >= 0
    ability = (cells == 1).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
    at_bound = np.zeros(ability.size, dtype=bool)
    for group in np.split(order, groups):
        there, part = asked[:, group], cells[:, group]
        right, wrong = (~there | (part == 1)).all(axis=1), (part != 1).all(axis=1)
        found = _most_likely(part, model.of_items(group), coords[group])
        found = np.where(right, 0.5 * (ability + difficulty.max()), found)
        found = np.where(wrong, 0.5 * (ability + difficulty.min()), found)
        some = there.any(axis=1)
        ability = np.where(some, found, ability)
        at_bound = np.where(some, right | wrong, at_bound)
    last = order[-size:]
    information = model.of_items(last).information(coords[last], ability)
    told = (asked[:, last].T * information).sum(axis=0)
    return Abilities(ability, 1 / np.sqrt(np.maximum(told, LEAST_INFORMATION)), at_bound)


def _most_likely(cells: Array, model: MeasurementModel, coords: Floats) -> Floats:
    data = encode(cells, model, collapsing=False)
    return score_abilities(data, model, coords, method="ml").ability
