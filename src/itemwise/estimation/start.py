"""Where engines begin: the first principal component of the responses.

Beginning at equal slopes stops at a saddle when many items discriminate negatively; the
component does not care for the sign of an item.
"""

from __future__ import annotations

import numpy as np

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, as_array, as_numpy
from itemwise.responses.encoding import Encoded

MOST_ROWS = 2_000  # a sample this large finds the direction
MOST_TURNS = 30


def start(data: Encoded, model: MeasurementModel, device: str | None = None) -> Array:
    """Coordinates from item means and loadings on the first principal component."""
    rows = slice(None, None, max(1, data.shape[0] // MOST_ROWS))
    cells, weights = as_numpy(data.cells[rows]), as_numpy(data.weights[rows])
    table = cells.astype(np.float64)
    observed = cells >= 0
    asked = weights @ observed
    top = data.n_categories - 1
    # Half a response in either direction keeps the log-odds of constant items finite.
    mean = (weights @ np.where(observed, table, 0.0) + 0.5 * top) / (asked + 1.0)
    table = np.where(observed, table - mean, 0.0)
    loading = loadings(table, weights)
    return as_array(model.start(np.log(mean / (top - mean)), loading), device)


def loadings(table: Floats, weights: Floats) -> Floats:
    """Correlation of each centred column with the first principal component."""
    spread = np.sqrt(weights @ table**2)
    scale = 1 / np.where(spread > 0, spread, 1.0)
    root = np.sqrt(weights)[:, None]
    scaled = table * (root * scale)
    # Start from a fixed draw: no column, and no sum of columns, is safe from being orthogonal.
    direction = np.random.default_rng(0).standard_normal(table.shape[1])
    direction += scaled.sum(axis=0) @ scaled.T @ scaled
    value = 0.0
    for _ in range(MOST_TURNS):
        direction /= np.linalg.norm(direction) or 1.0
        component = scaled @ direction
        last, value = value, float(component @ component)
        direction = component @ scaled
        if abs(value - last) <= 1e-4 * value:
            break
    length = np.sqrt(value) or 1.0
    loading: Floats = direction / length
    return loading if loading.sum() >= 0 else -loading
