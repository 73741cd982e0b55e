"""Missing information of several dimensions (Louis, 1982).

It is the covariance of every respondent's score over its posterior, taken in full, or as far as
scores are linear in ability, which is nearly all of it if items are many.
"""

from __future__ import annotations

import numpy as np

from ogive.irt.dimensions.loading_pattern import ABSENT, Parameters, Pattern
from ogive.irt.dimensions.marginal_likelihood import (
    ExpectedProducts,
    ItemCluster,
    PosteriorBlock,
    ResponseTable,
    correlation_scores,
    threshold_positions,
)
from ogive.stats.array_backend import Floats

RIDGE = 1e-9


def linear_missing_information(
    table: ResponseTable,
    block: PosteriorBlock,
    params: Parameters,
    products: list[ExpectedProducts],
) -> Floats:
    """Return the part of scores linear in ability; that of correlations in full."""
    pattern = table.pattern
    slopes = _score_slopes(block, params, pattern, products)
    root = np.linalg.cholesky(block.moments.covariance + RIDGE * np.eye(pattern.n_dimensions))
    root = (np.swapaxes(root, 1, 2) @ slopes).reshape(-1, pattern.size)
    missing: Floats = root.T @ root
    if pattern.pairs[0].size:
        first = pattern.n_of_items
        scores = correlation_scores(block.nodes.outer, params, pattern)
        scores = scores - np.einsum("nq,nqk->nk", block.outer, scores)[:, None]
        scores = scores * np.sqrt(block.outer)[:, :, None]
        scores = scores.reshape(-1, pattern.pairs[0].size)
        missing[first:, first:] = scores.T @ scores
    return missing


def whole_missing_information(
    table: ResponseTable,
    block: PosteriorBlock,
    params: Parameters,
    products: list[ExpectedProducts],  # noqa: ARG001
) -> Floats:
    """Return the covariance of the scores in full."""
    pattern = table.pattern
    n_rows, n_outer = block.outer.shape
    given = np.zeros((n_rows, n_outer, pattern.size))  # mean scores, given the outer node
    missing = np.zeros((pattern.size, pattern.size))
    for cluster in block.clusters:
        own, at = _node_scores(cluster, pattern)
        own = own.reshape(n_rows, n_outer, -1, at.size)
        mean = (own * cluster.inner[..., None]).sum(axis=2)
        given[:, :, at] = mean
        if own.shape[2] > 1:
            weights = np.sqrt(cluster.weights).reshape(own.shape[:3])
            diff = ((own - mean[:, :, None]) * weights[..., None]).reshape(-1, at.size)
            missing[np.ix_(at, at)] += diff.T @ diff
    if pattern.pairs[0].size:
        given[:, :, pattern.n_of_items :] = correlation_scores(block.nodes.outer, params, pattern)
    given -= np.einsum("nq,nqp->np", block.outer, given)[:, None]
    given *= np.sqrt(block.outer)[:, :, None]
    flat = given.reshape(-1, pattern.size)
    missing += flat.T @ flat
    return missing


def ability_gradients(
    block: PosteriorBlock, params: Parameters, pattern: Pattern, products: list[ExpectedProducts]
) -> Floats:
    """Return derivatives of posterior means in all numbers, (n_rows, n_dimensions, size)."""
    return np.asarray(block.moments.covariance @ _score_slopes(block, params, pattern, products))


def _node_scores(cluster: ItemCluster, pattern: Pattern) -> tuple[Floats, np.ndarray]:
    """Return scores of a cluster's items, (n_rows, n_nodes, n_numbers), and their positions."""
    slope: Floats = sum(term.slope for term in cluster.derivatives)  # type: ignore[assignment]
    columns, positions = [], []
    for u, dimension in enumerate(cluster.dimensions):
        position = pattern.of_loadings[cluster.items, dimension]
        free = position != ABSENT
        columns.append(slope[:, :, free] * cluster.nodes[:, :, u, None])
        positions.append(position[free])
    for k in range(pattern.of_thresholds.shape[1]):
        position = pattern.of_thresholds[cluster.items, k]
        present = position != ABSENT
        own = sum(
            derivatives.slope * (term.index == k)[:, None, :]
            for derivatives, term in zip(cluster.derivatives, cluster.terms, strict=True)
        )
        columns.append(own[:, :, present])
        positions.append(position[present])
    return np.concatenate(columns, axis=2), np.concatenate(positions)


def _score_slopes(
    block: PosteriorBlock, params: Parameters, pattern: Pattern, products: list[ExpectedProducts]
) -> Floats:
    """Return regressions of scores on the abilities, (n_rows, n_dimensions, size)."""
    mean, covariance = block.moments.mean, block.moments.covariance
    slopes = np.zeros((len(mean), pattern.n_dimensions, pattern.size))
    for cluster, product in zip(block.clusters, products, strict=True):
        dimensions = cluster.dimensions
        covaried = np.zeros((len(mean), dimensions.size, pattern.size + 1))
        for u, dimension in enumerate(dimensions, start=1):
            _add_covariances(cluster, product, pattern, u, mean[:, dimension], covaried[:, u - 1])
        own = covariance[:, dimensions[:, None], dimensions] + RIDGE * np.eye(dimensions.size)
        slopes[:, dimensions] += np.linalg.solve(own, covaried[:, :, :-1])
    if pattern.pairs[0].size:
        scores = correlation_scores(block.nodes.outer, params, pattern)
        diff = (block.nodes.outer - mean[:, None, :]) * block.outer[:, :, None]
        own = covariance + RIDGE * np.eye(pattern.n_dimensions)
        slopes[:, :, pattern.n_of_items :] = np.linalg.solve(own, np.swapaxes(diff, 1, 2) @ scores)
    return slopes


def _add_covariances(
    cluster: ItemCluster,
    product: ExpectedProducts,
    pattern: Pattern,
    u: int,
    mean: Floats,
    covaried: Floats,
) -> None:
    """Add covariances of scores with a cluster's u-th ability to `covaried` (n_rows, size + 1)."""
    rows = np.arange(len(covaried))[:, None]
    for v, dimension in enumerate(cluster.dimensions, start=1):
        position = pattern.of_loadings[cluster.items, dimension]
        free = position != ABSENT
        own = product.slope(u, v) - mean[:, None] * product.slope(0, v)
        covaried[:, position[free]] += own[:, free]
    with_ability, alone = product.number[0, u], product.number[0, 0]
    for term, slope in zip(cluster.terms, product.slopes, strict=True):
        own = slope[:, with_ability] - mean[:, None] * slope[:, alone]
        covaried[rows, threshold_positions(cluster, term, pattern)] += own
