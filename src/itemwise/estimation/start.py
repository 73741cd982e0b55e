"""Where engines begin: the first principal component of the responses.

Beginning at equal slopes stops at a saddle when many items discriminate negatively; the
component does not care for the sign of an item.
"""

from __future__ import annotations

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, array_namespace, like
from itemwise.numerics.special import logit
from itemwise.responses.encoding import Encoded

MOST_ROWS = 2_000  # a sample this large finds the direction
MOST_TURNS = 30


def start(data: Encoded, model: MeasurementModel) -> Array:
    """Coordinates from item means and loadings on the first principal component."""
    xp = array_namespace(data.cells)
    rows = slice(None, None, max(1, data.shape[0] // MOST_ROWS))
    cells, weights = data.cells[rows], data.weights[rows]
    table, observed = xp.astype(cells, xp.float64), xp.astype(cells >= 0, xp.float64)
    asked = weights @ observed
    top = data.n_categories - 1
    total = weights @ (table * observed)
    mean = total / xp.clip(asked, 1e-300, None)
    loading = loadings((table - mean) * observed, weights)
    # Half a response in either direction keeps the log-odds of constant items finite.
    shrunk = (total + 0.5 * top) / (asked + 1.0)
    return model.start(logit(shrunk / top), loading)


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
