"""Four estimates of ability: EAP, MAP, maximum likelihood and weighted likelihood.

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
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, Floats, array_namespace, as_numpy, like, workers
from ogive.responses.encoding import Encoded
from ogive.scoring.likelihood_modes import GRID, LEAST_INFORMATION, TINY, modes, told
from ogive.scoring.posterior import (
    FARTHEST,
    STANDARD,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    plan_nodes,
)
from ogive.scoring.sufficient_scores import LinearCurves, ScoreGrid

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
    """The same where one score of a row says all; from a table of scores, if rows are many.

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
    """Mean and standard deviation of posteriors, and their mass at both ends."""
    mean = posterior @ abilities
    variance = posterior @ abilities**2 - mean**2
    return mean, xp.sqrt(xp.clip(variance, 0.0, None)), posterior[:, 0] + posterior[:, -1]
