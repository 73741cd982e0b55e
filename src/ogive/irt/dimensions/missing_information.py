"""Information that responses do not hold because abilities of several dimensions are not seen.

It is the covariance of every respondent's score over its posterior (Louis, 1982).
"""

from __future__ import annotations

import numpy as np

from ogive.irt.dimensions.loading_pattern import ABSENT, Pattern, Place
from ogive.irt.dimensions.marginal_likelihood import (
    Block,
    Part,
    Products,
    Table,
    correlation_scores,
    threshold_places,
)
from ogive.stats.array_backend import Floats

RIDGE = 1e-9


def linear_root(table: Table, block: Block, place: Place, products: list[Products]) -> Floats:
    """A root of what is missing as far as scores are linear in ability: (rows × dims, size)."""
    pattern = table.pattern
    found = _lines(block, place, pattern, products)
    root = np.linalg.cholesky(block.around.covariance + RIDGE * np.eye(pattern.n_dimensions))
    return (np.swapaxes(root, 1, 2) @ found).reshape(-1, pattern.size)


def linear_part(table: Table, block: Block, place: Place, products: list[Products]) -> Floats:
    """What is missing as far as scores of items are linear in ability; correlations in full."""
    root = linear_root(table, block, place, products)
    found: Floats = root.T @ root
    pattern = table.pattern
    if pattern.pairs[0].size:
        first = pattern.n_of_items
        at = correlation_scores(block.nodes.outer, place, pattern)
        at = at - np.einsum("nq,nqk->nk", block.outer, at)[:, None]
        at = (at * np.sqrt(block.outer)[:, :, None]).reshape(-1, pattern.pairs[0].size)
        found[first:, first:] = at.T @ at
    return found


def all_of_it(
    table: Table,
    block: Block,
    place: Place,
    products: list[Products],  # noqa: ARG001
) -> Floats:
    """Return the covariance of the scores in full."""
    pattern = table.pattern
    n_rows, n_outer = block.outer.shape
    given = np.zeros((n_rows, n_outer, pattern.size))  # expected, given the outer node
    found = np.zeros((pattern.size, pattern.size))
    for part in block.parts:
        own, at = _node_scores(part, pattern)
        own = own.reshape(n_rows, n_outer, -1, at.size)
        mean = (own * part.inner[..., None]).sum(axis=2)
        given[:, :, at] = mean
        if own.shape[2] > 1:
            weights = np.sqrt(part.weights).reshape(own.shape[:3])
            away = ((own - mean[:, :, None]) * weights[..., None]).reshape(-1, at.size)
            found[np.ix_(at, at)] += away.T @ away
    if pattern.pairs[0].size:
        given[:, :, pattern.n_of_items :] = correlation_scores(block.nodes.outer, place, pattern)
    given -= np.einsum("nq,nqp->np", block.outer, given)[:, None]
    given *= np.sqrt(block.outer)[:, :, None]
    flat = given.reshape(-1, pattern.size)
    found += flat.T @ flat
    return found


def ability_slopes(
    block: Block, place: Place, pattern: Pattern, products: list[Products]
) -> Floats:
    """Return how posterior means move with every number, (n_rows, n_dimensions, size)."""
    found: Floats = block.around.covariance @ _lines(block, place, pattern, products)
    return found


def _node_scores(part: Part, pattern: Pattern) -> tuple[Floats, np.ndarray]:
    """Scores of a part's items at its nodes, (n_rows, n_nodes, n_numbers), and their positions."""
    slope: Floats = sum(curve.slope for curve in part.curves)  # type: ignore[assignment]
    columns, places = [], []
    for u, dimension in enumerate(part.dimensions):
        place = pattern.of_loadings[part.items, dimension]
        free = place != ABSENT
        columns.append(slope[:, :, free] * part.nodes[:, :, u, None])
        places.append(place[free])
    for k in range(pattern.of_thresholds.shape[1]):
        place = pattern.of_thresholds[part.items, k]
        there = place != ABSENT
        each = sum(
            curve.slope * (term.which == k)[:, None, :]
            for curve, term in zip(part.curves, part.terms, strict=True)
        )
        columns.append(each[:, :, there])
        places.append(place[there])
    return np.concatenate(columns, axis=2), np.concatenate(places)


def _lines(block: Block, place: Place, pattern: Pattern, products: list[Products]) -> Floats:
    """Return how scores rise with each dimension, (n_rows, n_dimensions, size), by regression."""
    mean, covariance = block.around.mean, block.around.covariance
    found = np.zeros((len(mean), pattern.n_dimensions, pattern.size))
    for part, product in zip(block.parts, products, strict=True):
        dimensions = part.dimensions
        moved = np.zeros((len(mean), dimensions.size, pattern.size + 1))
        for u, dimension in enumerate(dimensions, start=1):
            _covary(part, product, pattern, u, mean[:, dimension], moved[:, u - 1])
        own = covariance[:, dimensions[:, None], dimensions] + RIDGE * np.eye(dimensions.size)
        found[:, dimensions] += np.linalg.solve(own, moved[:, :, :-1])
    if pattern.pairs[0].size:
        at = correlation_scores(block.nodes.outer, place, pattern)
        away = (block.nodes.outer - mean[:, None, :]) * block.outer[:, :, None]
        own = covariance + RIDGE * np.eye(pattern.n_dimensions)
        found[:, :, pattern.n_of_items :] = np.linalg.solve(own, np.swapaxes(away, 1, 2) @ at)
    return found


def _covary(
    part: Part, product: Products, pattern: Pattern, u: int, mean: Floats, found: Floats
) -> None:
    """Add covariances of scores with one of a part's dimensions to `found` (n_rows, size + 1)."""
    rows = np.arange(len(found))[:, None]
    for v, dimension in enumerate(part.dimensions, start=1):
        place = pattern.of_loadings[part.items, dimension]
        free = place != ABSENT
        moved = product.slope(u, v) - mean[:, None] * product.slope(0, v)
        found[:, place[free]] += moved[:, free]
    with_it, alone = product.number[0, u], product.number[0, 0]
    for term, slope in zip(part.terms, product.slopes, strict=True):
        moved = slope[:, with_it] - mean[:, None] * slope[:, alone]
        found[rows, threshold_places(part, term, pattern)] += moved
