"""Where engines begin: the first principal component of the responses.

Beginning at equal slopes stops at a saddle when many items discriminate negatively; the
component does not care for the sign of an item.
"""

from __future__ import annotations

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, array_namespace, like
from itemwise.responses.encoding import Encoded

MOST_ROWS = 2_000  # a sample this large finds the direction
MOST_TURNS = 30


def start(data: Encoded, model: MeasurementModel) -> Array:
    """Coordinates from item means and loadings on the first principal component."""
    xp = array_namespace(data.cells)
    sample = data.every(data.shape[0] // MOST_ROWS)
    block, weights = sample.block(slice(None)), sample.weights
    asked = weights @ block.asked
    some = xp.clip(asked, 1e-300, None)
    means = xp.stack([weights @ table / some for table in block.statistics])
    table = 0 * block.asked
    for weight, statistic in zip(model.direction, block.statistics, strict=True):
        table = table + weight * statistic
    mean = weights @ table / some
    return model.start(means, asked, loadings((table - mean) * block.asked, weights))


def loadings(table: Array, weights: Array) -> Array:
    """Correlation of each centred column with the first principal component."""
    xp = array_namespace(table)
    spread = xp.sqrt(weights @ table**2)
    scale = 1 / xp.where(spread > 0, spread, 0 * spread + 1)
    scaled = table * (xp.sqrt(weights)[:, None] * scale)
    # Start from a fixed draw: no column, and no sum of columns, is safe from being orthogonal.
    direction = like(np.random.default_rng(0).standard_normal(table.shape[1]), table)
    value = 0.0
    for _ in range(MOST_TURNS):
        direction = direction / xp.clip(xp.linalg.vector_norm(direction), 1e-300, None)
        component = scaled @ direction
        last, value = value, float(component @ component)
        direction = component @ scaled
        if abs(value - last) <= 1e-4 * value:
            break
    loading = direction / max(value, 1e-300) ** 0.5
    return loading if float(xp.sum(loading)) >= 0 else -loading
