"""Scores that weigh responses by what the items say: true, total and completed scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, Floats, row_blocks
from ogive.responses.encoding import Encoded
from ogive.responses.stored_cells import as_floats
from ogive.scoring.abilities import Abilities, score_abilities
from ogive.scoring.item_errors import ItemErrors, PosteriorSlopes, ability_derivatives
from ogive.scoring.posterior import FARTHEST, Population, plan_nodes

ROWS = 1024
NUDGE = 1e-5


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """A score of each respondent, its standard error, and how many items it sums over."""

    total: Floats  # (n_respondents,)
    se: Floats
    n_items: Floats


def true_scores(
    model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Expected sum of the responses to all items; of binary ones, the expected number right."""
    parts = [_expected(model, coords, ability[rows]) for rows in row_blocks(ability.size, ROWS)]
    total = np.concatenate([value.sum(axis=0) for value, _ in parts])
    slope = np.concatenate([slope.sum(axis=0) for _, slope in parts])
    return ScoreSums(
        total, np.abs(slope) * ability_se, np.full(ability.size, float(coords.shape[0]))
    )


def total_scores(
    cells: Array, model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Σ P over right responses minus Σ (1 - P) over wrong ones; items never asked count nothing.

    The better the chance a respondent had, the more a hit earns and the less a miss costs. Other
    than binary responses count with their place between the worst and the best of the item.
    """
    low, high = (np.asarray(bound, dtype=float) for bound in model.extent())
    span = (high - low)[..., None]
    total, slope, asked = [], [], []
    for rows in row_blocks(ability.size, ROWS):
        part = model.scored(as_floats(cells[rows])).T
        observed = ~np.isnan(part)
        share = (part - low[..., None]) / span
        chance, change = _expected(model, coords, ability[rows])
        chance = (chance - low[..., None]) / span
        total.append(np.where(observed, share + chance - 1, 0.0).sum(axis=0))
        slope.append((observed * change / span).sum(axis=0))
        asked.append(observed.sum(axis=0).astype(float))
    se = np.abs(np.concatenate(slope)) * ability_se
    return ScoreSums(np.concatenate(total), se, np.concatenate(asked))


def expected_sums(
    model: MeasurementModel, coords: Floats, found: Abilities, counted: Floats
) -> Floats:
    """Σ counted x expected response of each respondent, (n_rows,).

    `counted` is (n_items,), or (n_rows, n_items) where it differs.
    """
    shape = found.ability.size, len(coords)
    parts = [
        (np.broadcast_to(counted, shape)[rows] * model.expected(coords, found.ability[rows]).T)
        for rows in row_blocks(found.ability.size, ROWS)
    ]
    return np.concatenate([part.sum(axis=1) for part in parts])


def sum_errors(
    data: Encoded,
    model: MeasurementModel,
    population: Population,
    method: str,
    reported: Floats,
    errors: ItemErrors,
    counted: Floats,
) -> Floats:
    """Root of the mean square error of the `reported` expected sums, (n_rows,).

    A sum moves with the ability, which moves with the items, and with the items' own curves. Where
    both move along the scale, they cancel.
    """
    coords = errors.coords
    found = score_abilities(data, model, coords, population, method)
    away = expected_sums(model, coords, found, counted) - reported
    parts = []
    for rows, slopes in ability_derivatives(data, model, coords, population, method, found):
        weights, ability = np.broadcast_to(counted, data.shape)[rows], found.ability[rows]
        along = (weights * _expected(model, coords, ability)[1].T).sum(axis=1)
        direct = np.transpose(model.expected_slopes(coords, ability), (2, 1, 0))
        moved = errors.variance(along[:, None, None] * slopes + weights[..., None] * direct)
        parts.append((along * found.se[rows]) ** 2 + moved)
    error: Floats = np.sqrt(np.concatenate(parts) + away**2)
    return error


def _expected(model: MeasurementModel, coords: Floats, ability: Floats) -> tuple[Floats, Floats]:
    """Expected response and its derivative in ability, (n_items, n_abilities)."""
    up, down = (model.expected(coords, ability + step) for step in (NUDGE, -NUDGE))
    return model.expected(coords, ability), (up - down) / (2 * NUDGE)


@dataclass(frozen=True, eq=False)
class Completion:
    """The mean over all items of each respondent, as far as it is known."""

    mean: Floats  # (n_respondents,)
    se: Floats
    asked: Floats  # how many items were


def completed_means(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
) -> Completion:
    """Mean response over all items, given some of them; `cells` are the responses as stored.

    What was never asked is expected from the posterior of ability. The standard error holds both
    parts of what is not known: where the respondent stands, and how single responses will fall.
    A test that was asked whole has none.
    """
    return _completed(data, cells, model, coords, population, None)


def completed_errors(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    population: Population,
    reported: Floats,
    errors: ItemErrors,
) -> Floats:
    """Root of the mean square error of `reported` completed means, with that of the items."""
    found = _completed(data, cells, model, errors.coords, population, errors)
    error: Floats = np.hypot(found.se, found.mean - reported)
    return error


def _completed(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    errors: ItemErrors | None,
) -> Completion:
    # Only items that somebody was asked can make a posterior narrow.
    there = np.flatnonzero(~np.isnan(as_floats(cells)).all(axis=0))
    asked_of = there if there.size else np.arange(len(coords))
    nodes = plan_nodes(
        model.of_items(asked_of),
        coords[asked_of],
        population,
        population.reach(FARTHEST),
        often=None if data.often is None else data.often[asked_of],
    )
    posteriors = PosteriorSlopes(model, coords, nodes)
    chance, noise = model.expected(coords, nodes.fine), model.variance(coords, nodes.fine)
    change = None if errors is None else model.expected_slopes(coords, nodes.fine)
    parts = []
    for rows in data.blocks(nodes.fine.size):
        block = data.block(rows)
        weights, _ = posteriors.posterior(block)
        known = model.scored(as_floats(cells[rows]))
        open_ = np.isnan(known).astype(float)
        left = open_ @ chance  # expected sum of what was not asked, at each node
        expected = (weights * left).sum(axis=1)
        spread = (weights * (left - expected[:, None]) ** 2).sum(axis=1)
        spread += (weights * (open_ @ noise)).sum(axis=1)
        if errors is not None and change is not None:
            through = posteriors.covariances(block, weights * (left - expected[:, None]))
            direct = np.stack([weights @ slope.T for slope in change], axis=2)
            spread += errors.variance(through + open_[..., None] * direct)
        total = np.nansum(known, axis=1) + expected
        parts.append((total, np.sqrt(spread), known.shape[1] - open_.sum(axis=1)))
    total, error, asked = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Completion(total / len(coords), error / len(coords), asked)
