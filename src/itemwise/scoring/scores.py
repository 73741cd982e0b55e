"""Scores that weigh a respondent's hits by what the items say: true score and total score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.blocks import row_blocks
from itemwise.responses.encoding import Encoded

ROWS = 1024


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """A score of each respondent, its standard error, and how many items it sums over."""

    total: Floats  # (n_respondents,)
    se: Floats
    n_items: Floats


def true_scores(
    model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Expected number right on all items: Σ P.

    For more than two categories, the expected sum of category numbers.
    """
    parts = [_expected(model, coords, ability[rows]) for rows in row_blocks(ability.size, ROWS)]
    total = np.concatenate([value.sum(axis=0) for value, _ in parts])
    slope = np.concatenate([slope.sum(axis=0) for _, slope in parts])
    return ScoreSums(
        total, np.abs(slope) * ability_se, np.full(ability.size, float(coords.shape[0]))
    )


def total_scores(
    data: Encoded, model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Σ P over right responses minus Σ (1 - P) over wrong ones; items never asked count nothing.

    The better the chance a respondent had, the more a hit earns and the less a miss costs.
    """
    total, slope, asked = [], [], []
    for rows in row_blocks(ability.size, ROWS):
        block = data.block(rows)
        observed, right = block.asked.T, block.indicators[0].T
        chance, change = _expected(model, coords, ability[rows])
        total.append((observed * (chance - 1) + right).sum(axis=0))
        slope.append((observed * change).sum(axis=0))
        asked.append(observed.sum(axis=0))
    se = np.abs(np.concatenate(slope)) * ability_se
    return ScoreSums(np.concatenate(total), se, np.concatenate(asked))


def _expected(model: MeasurementModel, coords: Floats, ability: Floats) -> tuple[Floats, Floats]:
    """Expected response and its derivative in ability, (n_items, n_abilities)."""
    prob, first, _ = model.ability_derivatives(coords, ability)
    grades = np.arange(prob.shape[0])[:, None, None]
    return (grades * prob).sum(axis=0), (grades * first).sum(axis=0)
