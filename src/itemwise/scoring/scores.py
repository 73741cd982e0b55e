"""Scores that weigh a respondent's hits by what the items say: true score and total score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats
from itemwise.numerics.blocks import row_blocks
from itemwise.responses.cells import as_floats

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
        part = as_floats(cells[rows]).T
        observed = ~np.isnan(part)
        share = (part - low[..., None]) / span
        chance, change = _expected(model, coords, ability[rows])
        chance = (chance - low[..., None]) / span
        total.append(np.where(observed, share + chance - 1, 0.0).sum(axis=0))
        slope.append((observed * change / span).sum(axis=0))
        asked.append(observed.sum(axis=0).astype(float))
    se = np.abs(np.concatenate(slope)) * ability_se
    return ScoreSums(np.concatenate(total), se, np.concatenate(asked))


def _expected(model: MeasurementModel, coords: Floats, ability: Floats) -> tuple[Floats, Floats]:
    """Expected response and its derivative in ability, (n_items, n_abilities)."""
    up, down = (model.expected(coords, ability + step) for step in (NUDGE, -NUDGE))
    return model.expected(coords, ability), (up - down) / (2 * NUDGE)
