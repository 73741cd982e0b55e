"""Where a climb in several dimensions begins: loadings, thresholds, and posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.estimation.cell_terms import cell_terms
from ogive.estimation.loading_patterns import Pattern, Place
from ogive.estimation.moved_nodes import Around
from ogive.numerics.arrays import Floats

LEAST_LOADING, MOST_LOADING = 0.2, 2.5
FIRST_CORRELATION = 0.5
SPECIFIC = 0.5  # of a loading, for the dimension of a group
LONGEST = 2.0


def first_place(codes: NDArray[np.int16], pattern: Pattern) -> Place:
    """Loadings on the first principal component of each dimension, thresholds from frequencies."""
    missing = codes < 0
    seen = np.where(missing, np.nan, codes)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.nansum(seen, axis=0) / count
    away = np.where(missing, 0.0, codes - mean)
    sd = np.sqrt((away**2).sum(axis=0) / count)
    away = away / np.where(sd > 0, sd, 1.0)
    loadings = np.zeros(pattern.free.shape)
    for k in range(pattern.n_dimensions):
        own = pattern.free[:, k]
        loadings[own, k] = _component(away[:, own])
    several = np.maximum(pattern.free.sum(axis=1), 1)
    if pattern.correlated:
        loadings /= several[:, None]
    else:
        loadings[:, 1:] *= SPECIFIC
    n_thresholds = pattern.n_thresholds
    thresholds = np.zeros((len(n_thresholds), int(n_thresholds.max())))
    size = np.sqrt(1 + (loadings**2).sum(axis=1) / 3)
    for k in range(int(n_thresholds.max())):
        above = ((codes > k).sum(axis=0) + 0.5) / (count + 1)
        thresholds[:, k] = size * np.log(above / (1 - above)) - 1e-3 * k
    thresholds[np.arange(int(n_thresholds.max())) >= n_thresholds[:, None]] = 0.0
    correlation = np.eye(pattern.n_dimensions)
    correlation[pattern.pairs] = correlation.T[pattern.pairs] = FIRST_CORRELATION
    return Place(loadings, thresholds, correlation)


def _component(away: Floats) -> Floats:
    """Loadings on the first principal component, as logistic slopes, mostly positive."""
    n_rows, n_items = away.shape
    if n_items <= n_rows:
        values, ways = np.linalg.eigh(away.T @ away / n_rows)
        way = ways[:, -1] * np.sqrt(max(values[-1], 0.0))
    else:
        values, ways = np.linalg.eigh(away @ away.T / n_rows)
        way = away.T @ ways[:, -1] / np.sqrt(n_rows)
    way = np.clip(way if way.sum() >= 0 else -way, -0.95, 0.95)
    slope = 1.7 * way / np.sqrt(1 - way**2)
    sign = np.where(slope < -LEAST_LOADING, -1.0, 1.0)
    found: Floats = sign * np.clip(np.abs(slope), LEAST_LOADING, MOST_LOADING)
    return found


def posterior_modes(codes: NDArray[np.int16], pattern: Pattern, place: Place) -> Around:
    """Mode of every posterior, and the covariance of a normal density that bends like it."""
    terms = cell_terms(codes, place.thresholds, pattern.n_thresholds)
    inverse = np.linalg.inv(place.correlation)
    n, size = len(codes), pattern.n_dimensions
    squares = (place.loadings[:, :, None] * place.loadings[:, None, :]).reshape(-1, size**2)
    at = np.zeros((n, size))
    for _ in range(30):
        slope, bend = -at @ inverse, np.zeros((n, size, size)) + inverse
        logits = at @ place.loadings.T
        for term in terms:
            t = np.clip((logits + term.threshold) * term.sign, -500, 500)
            tail = 1 / (1 + np.exp(t))
            slope += (tail * term.sign) @ place.loadings
            bend += ((tail * (1 - tail)) @ squares).reshape(n, size, size)
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        length = np.sqrt((step**2).sum(axis=1, keepdims=True))
        at = at + step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-12))
        if length.max() < 1e-4:
            break
    return Around(at, np.linalg.inv(bend))
