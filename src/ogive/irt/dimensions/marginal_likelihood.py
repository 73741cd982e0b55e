"""Marginal likelihood of several dimensions, its scores and complete-data information.

With P(x >= k) = σ(η + c_k), a category between two thresholds has probability
σ(η + c_k) σ(-η - c_{k+1}) (1 - exp(c_{k+1} - c_k)): two logistic terms, and a factor that does not
depend on ability. Right or wrong is one term. A missing cell is a term far in its tail.

Rows are taken in blocks. Expected products of derivatives with powers of ability, by respondent,
give the scores (Fisher's identity) and the information of complete data; `missing_information`
computes what is missing because abilities are not observed (Louis, 1982).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ogive.irt.dimensions.adaptive_quadrature import (
    Nodes,
    PosteriorMoments,
    Rule,
    bifactor_nodes,
    correlated_nodes,
)
from ogive.irt.dimensions.loading_pattern import ABSENT, Parameters, Pattern
from ogive.stats.array_backend import Floats, Run, fold, row_blocks

FAR = 80.0  # logit at which a curve is 1 for every purpose
FACTORS = 500  # factors between 1 and 2 whose product is a finite number
BLOCK_SIZE = 1_500_000  # numbers of a block: nodes × items × rows


@dataclass(frozen=True, eq=False)
class Terms:
    """One logistic term of every cell, σ(sign (η + threshold)), and the index of its threshold."""

    sign: Floats  # (n_rows, n_items)
    threshold: Floats  # (n_rows, n_items)
    index: NDArray[np.intp]  # (n_rows, n_items); -1 for a term that is always 1


def cell_terms(
    codes: NDArray[np.int16], thresholds: Floats, n_thresholds: NDArray[np.intp]
) -> list[Terms]:
    """Return the terms of all cells: one list entry for right or wrong, two for grades."""
    items = np.arange(codes.shape[1])
    missing = codes < 0
    if thresholds.shape[1] == 1:
        sign = np.where(codes == 0, -1.0, 1.0)
        at = np.where(missing, FAR, thresholds[:, 0])
        return [Terms(sign, at, np.where(missing, -1, 0).astype(np.intp))]
    above, below = codes >= 1, ~missing & (codes < n_thresholds)
    lower, upper = np.where(above, codes - 1, -1), np.where(below, codes, -1)
    ones = np.ones(codes.shape)
    return [
        Terms(ones, np.where(above, thresholds[items, lower], FAR), lower.astype(np.intp)),
        Terms(-ones, np.where(below, thresholds[items, upper], -FAR), upper.astype(np.intp)),
    ]


@dataclass(frozen=True, eq=False)
class TermDerivatives:
    """First derivative of one log-term in η at all nodes, and minus the second."""

    slope: Floats  # (n_rows, n_nodes, n_items)
    curvature: Floats


def evaluate_terms(
    logits: Floats, terms: list[Terms], *, with_curvature: bool = True
) -> tuple[Floats, list[TermDerivatives]]:
    """Return the log-likelihood at nodes, (n_rows, n_nodes), and the derivatives of each term."""
    total = np.zeros(logits.shape[:2])
    derivatives = []
    for term in terms:
        t = logits + term.threshold[:, None, :]
        t *= term.sign[:, None, :]
        tail = np.exp(-np.abs(t))
        total += np.minimum(t, 0.0).sum(axis=2)
        whole = 1 + tail
        for first in range(0, whole.shape[2], FACTORS):
            total -= np.log(whole[:, :, first : first + FACTORS].prod(axis=2))
        slope = np.where(t > 0, tail, 1.0)
        slope /= whole
        slope *= term.sign[:, None, :]
        curvature = tail / whole**2 if with_curvature else slope
        derivatives.append(TermDerivatives(slope, curvature))
    return total, derivatives


def probabilities(logits: Floats, terms: list[Terms], factor: Floats) -> Floats:
    """Return the probability of each cell's category at all nodes, (n_rows, n_nodes, n_items)."""
    prob = np.broadcast_to(factor[:, None, :], logits.shape).copy()
    for term in terms:
        t = (logits + term.threshold[:, None, :]) * term.sign[:, None, :]
        prob *= 1 / (1 + np.exp(-np.clip(t, -FAR, FAR)))
    return prob


def category_factors(
    thresholds: Floats, n_thresholds: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """Return log factors of categories between thresholds, and two derivatives in the gap.

    The derivatives are the first and minus the second. Each array is (n_items, most thresholds - 1)
    and 0 if an item has no such category.
    """
    present = np.arange(1, thresholds.shape[1]) < n_thresholds[:, None]
    gap = np.where(present, thresholds[:, :-1] - thresholds[:, 1:], 1.0)
    slope = 1 / np.expm1(gap)
    return (
        np.where(present, np.log(-np.expm1(-gap)), 0.0),
        np.where(present, slope, 0.0),
        np.where(present, slope * (1 + slope), 0.0),
    )


@dataclass(frozen=True, eq=False)
class ItemCluster:
    """Items that share their nodes: dimensions, nodes, and posterior weights."""

    items: NDArray[np.intp]
    dimensions: NDArray[np.intp]
    nodes: Floats  # (n_rows, n_outer * n_inner, n_dimensions of the cluster)
    weights: Floats  # (n_rows, n_outer * n_inner), with sum 1
    terms: list[Terms]
    derivatives: list[TermDerivatives]
    inner: Floats  # (n_rows, n_outer, n_inner): weights given the outer node


@dataclass(frozen=True, eq=False)
class PosteriorBlock:
    """Posteriors of some respondents."""

    outer: Floats  # weights of the outer nodes
    log_norm: Floats
    clusters: list[ItemCluster]
    moments: PosteriorMoments
    nodes: Nodes

    @cached_property
    def products(self) -> Floats:
        """Expected products of abilities, (n_rows, n_dimensions, n_dimensions)."""
        mean = self.moments.mean
        return np.asarray(self.moments.covariance + mean[:, :, None] * mean[:, None, :])


class ResponseTable:
    """Codes of the answers, and which items share their nodes."""

    def __init__(self, codes: NDArray[np.int16], pattern: Pattern) -> None:
        self.codes, self.pattern = codes, pattern
        self.clusters = _clusters(pattern)
        categories = range(int(pattern.n_thresholds.max()) + 1)
        counts = [(codes == k).sum(axis=0) for k in categories]
        self.counts = np.stack(counts, axis=1).astype(float)  # (n_items, n_categories)

    def n_nodes(self, rule: Rule) -> int:
        """Return the number of nodes of every item."""
        return len(rule.nodes) if self.pattern.correlated else len(rule.nodes) ** 2

    def blocks(self, rule: Rule) -> list[slice]:
        """Return blocks of rows that are worked on together."""
        rows = max(1, BLOCK_SIZE // max(1, self.n_nodes(rule) * self.codes.shape[1]))
        return row_blocks(len(self.codes), rows)

    def posterior(
        self,
        rows: slice,
        moments: PosteriorMoments,
        params: Parameters,
        rule: Rule,
        *,
        with_curvature: bool = True,
    ) -> PosteriorBlock:
        """Return posteriors of some rows on nodes around their last `moments`."""
        if self.pattern.correlated:
            nodes = correlated_nodes(moments.rows(rows), params.correlation, rule)
        else:
            nodes = bifactor_nodes(moments.rows(rows), rule)

        # 1. Joint log-density of responses and abilities at the nodes, summed over inner nodes.
        total = nodes.log_weights.copy()
        evaluated = []
        for items, dimensions in self.clusters:
            at, log_inner = _cluster_nodes(nodes, dimensions)
            logits = at @ params.loadings[np.ix_(items, dimensions)].T
            n_thresholds = self.pattern.n_thresholds[items]
            terms = cell_terms(self.codes[rows][:, items], params.thresholds[items], n_thresholds)
            value, derivatives = evaluate_terms(logits, terms, with_curvature=with_curvature)
            joint = value.reshape(log_inner.shape) + log_inner
            most = joint.max(axis=2, keepdims=True)
            inner = np.exp(joint - most)
            mass = inner.sum(axis=2, keepdims=True)
            total += (np.log(mass) + most)[:, :, 0]
            evaluated.append((items, dimensions, at, inner / mass, terms, derivatives))

        # 2. Posterior weights of the outer nodes, and of the inner ones given them.
        most = total.max(axis=1, keepdims=True)
        outer = np.exp(total - most)
        mass = outer.sum(axis=1, keepdims=True)
        outer /= mass
        clusters = []
        for items, dimensions, at, inner, terms, derivatives in evaluated:
            weights = (outer[:, :, None] * inner).reshape(len(at), -1)
            clusters.append(ItemCluster(items, dimensions, at, weights, terms, derivatives, inner))

        # 3. Moments of the posteriors.
        moments = _moments(nodes, outer, clusters, self.pattern)
        return PosteriorBlock(outer, (np.log(mass) + most)[:, 0], clusters, moments, nodes)


def _clusters(pattern: Pattern) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return items and dimensions that share nodes."""
    if pattern.correlated:
        return [(np.arange(len(pattern.free)), np.arange(pattern.n_dimensions))]
    own = pattern.free[:, 1:]
    clusters = [(np.flatnonzero(~own.any(axis=1)), np.array([0]))]
    clusters += [(np.flatnonzero(own[:, k]), np.array([0, k + 1])) for k in range(own.shape[1])]
    return [(items, dimensions) for items, dimensions in clusters if items.size]


def _cluster_nodes(nodes: Nodes, dimensions: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return nodes of a cluster in one list per row, and log weights of the inner ones."""
    n_rows, n_outer = nodes.log_weights.shape
    if not nodes.inner or dimensions.size == 1:
        return nodes.outer, np.zeros((n_rows, n_outer, 1))
    own, log_inner = nodes.inner[int(dimensions[1])]
    general = np.broadcast_to(nodes.outer, own.shape)
    return np.stack([general, own], axis=-1).reshape(n_rows, -1, 2), log_inner


def _moments(
    nodes: Nodes, outer: Floats, clusters: list[ItemCluster], pattern: Pattern
) -> PosteriorMoments:
    """Return mean and covariance of every posterior."""
    if pattern.correlated:
        mean = np.einsum("nq,nqd->nd", outer, nodes.outer)
        diff = nodes.outer - mean[:, None, :]
        return PosteriorMoments(mean, np.swapaxes(diff * outer[:, :, None], 1, 2) @ diff)
    given = np.zeros((*outer.shape, pattern.n_dimensions))  # means, given the outer node
    within = np.zeros((len(outer), pattern.n_dimensions))
    given[:, :, 0] = nodes.outer[:, :, 0]
    within[:, 1:] = 1.0  # variance of a dimension without items
    for cluster in clusters:
        if cluster.dimensions.size == 1:
            continue
        k = int(cluster.dimensions[1])
        own = nodes.inner[k][0]
        given[:, :, k] = (cluster.inner * own).sum(axis=2)
        spread = (cluster.inner * (own - given[:, :, k, None]) ** 2).sum(axis=2)
        within[:, k] = (outer * spread).sum(axis=1)
    mean = np.einsum("nq,nqd->nd", outer, given)
    diff = given - mean[:, None, :]
    covariance = np.swapaxes(diff * outer[:, :, None], 1, 2) @ diff
    covariance += np.eye(pattern.n_dimensions) * within[:, :, None]
    return PosteriorMoments(mean, covariance)


@dataclass(frozen=True, eq=False)
class ExpectedProducts:
    """Expected derivatives of each term times products of the columns (1, abilities).

    Each is (n_rows, n_products, n_items); `number` is the index of the product of two columns.
    """

    slopes: list[Floats]
    curvatures: list[Floats]
    number: NDArray[np.intp]

    def slope(self, left: int, right: int) -> Floats:
        """Return the slopes of all terms times a product of two columns, (n_rows, n_items)."""
        k = self.number[left, right]
        total: Floats = sum(slope[:, k] for slope in self.slopes)  # type: ignore[assignment]
        return total


def expected_products(cluster: ItemCluster) -> ExpectedProducts:
    """Take expectations over the posterior of every row."""
    n_rows, n_nodes, width = cluster.nodes.shape
    columns = np.concatenate([np.ones((n_rows, n_nodes, 1)), cluster.nodes], axis=2)
    left, right = np.triu_indices(width + 1)
    number = np.zeros((width + 1, width + 1), dtype=np.intp)
    number[left, right] = number[right, left] = np.arange(left.size)
    products = columns[:, :, left] * columns[:, :, right] * cluster.weights[:, :, None]
    products = np.ascontiguousarray(np.swapaxes(products, 1, 2))
    slopes = [products @ term.slope for term in cluster.derivatives]
    curvatures = [products @ term.curvature for term in cluster.derivatives]
    return ExpectedProducts(slopes, curvatures, number)


def add_item_scores(
    cluster: ItemCluster, products: ExpectedProducts, pattern: Pattern, scores: Floats
) -> None:
    """Add the expected scores of a cluster's items to `scores`, (n_rows, size + 1).

    The last column takes terms without a parameter.
    """
    rows = np.arange(len(scores))[:, None]
    for u, dimension in enumerate(cluster.dimensions, start=1):
        position = pattern.of_loadings[cluster.items, dimension]
        free = position != ABSENT
        scores[:, position[free]] += products.slope(0, u)[:, free]
    for term, slope in zip(cluster.terms, products.slopes, strict=True):
        scores[rows, threshold_positions(cluster, term, pattern)] += slope[:, 0]


def threshold_positions(cluster: ItemCluster, term: Terms, pattern: Pattern) -> NDArray[np.intp]:
    """Return the position of each cell's threshold; `pattern.size` if it has none."""
    position = pattern.of_thresholds[cluster.items, term.index]
    return np.where(term.index >= 0, position, pattern.size)


def add_item_information(
    cluster: ItemCluster, products: ExpectedProducts, pattern: Pattern, information: Floats
) -> None:
    """Add the information of complete data to `information`, (n_items, width, width)."""
    n_dimensions, items = pattern.n_dimensions, cluster.items
    number = products.number
    curvature = sum(c.sum(axis=0) for c in products.curvatures)  # (n_products, n_items)
    for u, one in enumerate(cluster.dimensions, start=1):
        for v, other in enumerate(cluster.dimensions, start=1):
            information[items, one, other] += curvature[number[u, v]]
    for term, own in zip(cluster.terms, products.curvatures, strict=True):
        for k in range(pattern.of_thresholds.shape[1]):
            mask = (term.index == k)[:, None, :]
            summed = (own[:, : number[0].size] * mask).sum(axis=0)  # products with 1
            at = n_dimensions + k
            information[items, at, at] += summed[0]
            for u, one in enumerate(cluster.dimensions, start=1):
                information[items, one, at] += summed[u]
                information[items, at, one] += summed[u]


def correlation_scores(nodes: Floats, params: Parameters, pattern: Pattern) -> Floats:
    """Return derivatives of the population's log-density in the correlations, at every node."""
    inverse = np.linalg.inv(params.correlation)
    scaled = nodes @ inverse
    left, right = pattern.pairs
    return np.asarray(scaled[..., left] * scaled[..., right] - inverse[left, right])


def correlation_information(
    products: Floats, rows: int, params: Parameters, pattern: Pattern
) -> Floats:
    """Return complete-data information on correlations; `products` are summed over `rows`."""
    inverse: Floats = np.asarray(np.linalg.inv(params.correlation), dtype=float)
    scaled: Floats = inverse @ products @ inverse
    both = _traces(inverse, scaled, pattern) + _traces(scaled, inverse, pattern)
    return np.asarray(0.5 * (both - rows * _traces(inverse, inverse, pattern)))


def _traces(a: Floats, b: Floats, pattern: Pattern) -> Floats:
    """Return tr(a E_k b E_l) for every two pairs; E_k has ones at both entries of pair k."""
    left, right = pattern.pairs
    i, j = left[:, None], right[:, None]
    one: Floats = a[j, left] * b[right, i] + a[j, right] * b[left, i]
    other: Floats = a[i, left] * b[right, j] + a[i, right] * b[left, j]
    return one + other


@dataclass(frozen=True, eq=False)
class LikelihoodDerivatives:
    """Log-likelihood and its derivatives, summed over all rows."""

    value: float
    gradient: Floats  # (size,)
    complete: Floats  # (n_items, width, width): complete data, over dimensions and thresholds
    of_correlations: Floats  # complete data
    missing: Floats  # missing information of all numbers
    moments: PosteriorMoments


Missing = Callable[
    [ResponseTable, PosteriorBlock, Parameters, list[ExpectedProducts]],
    Floats,
]


def likelihood_derivatives(
    table: ResponseTable,
    params: Parameters,
    moments: PosteriorMoments,
    rule: Rule,
    run: Run,
    missing: Missing,
) -> LikelihoodDerivatives:
    """Return likelihood, gradient and information; `missing` is computed block by block."""
    pattern = table.pattern
    width = pattern.n_dimensions + pattern.of_thresholds.shape[1]
    new_moments: dict[int, PosteriorMoments] = {}

    def work(rows: slice) -> tuple[Floats, ...]:
        block = table.posterior(rows, moments, params, rule)
        new_moments[rows.start] = block.moments
        scores = np.zeros((len(block.outer), pattern.size + 1))
        complete = np.zeros((len(pattern.free), width, width))
        products = [expected_products(cluster) for cluster in block.clusters]
        for cluster, product in zip(block.clusters, products, strict=True):
            add_item_scores(cluster, product, pattern, scores)
            add_item_information(cluster, product, pattern, complete)
        scores = scores[:, :-1]
        if pattern.pairs[0].size:
            at_nodes = correlation_scores(block.nodes.outer, params, pattern)
            scores[:, pattern.n_of_items :] = np.einsum("nq,nqk->nk", block.outer, at_nodes)
        of_correlations = correlation_information(
            block.products.sum(axis=0), len(scores), params, pattern
        )
        lost = missing(table, block, params, products)
        value = np.array(block.log_norm.sum())
        return value, scores.sum(axis=0), complete, of_correlations, lost

    blocks = table.blocks(rule)
    value, gradient, complete, of_correlations, lost = fold(run, blocks, work)
    factor = _add_category_factors(table, params, gradient, complete)
    parts = [new_moments[rows.start] for rows in blocks]
    all_moments = PosteriorMoments(
        np.concatenate([part.mean for part in parts]),
        np.concatenate([part.covariance for part in parts]),
    )
    return LikelihoodDerivatives(
        float(value) + factor, gradient, complete, of_correlations, lost, all_moments
    )


def _add_category_factors(
    table: ResponseTable, params: Parameters, gradient: Floats, complete: Floats
) -> float:
    """Add the part of categories between two thresholds that does not depend on abilities."""
    pattern = table.pattern
    log_factor, slope, curvature = category_factors(params.thresholds, pattern.n_thresholds)
    counts = table.counts[:, 1 : 1 + log_factor.shape[1]]
    for k in range(log_factor.shape[1]):
        present = pattern.n_thresholds > k + 1
        upper, lower = pattern.of_thresholds[present, k], pattern.of_thresholds[present, k + 1]
        gradient[upper] += (counts * slope)[present, k]
        gradient[lower] -= (counts * slope)[present, k]
        own, at = (counts * curvature)[:, k], pattern.n_dimensions + k
        complete[:, at, at] += own
        complete[:, at + 1, at + 1] += own
        complete[:, at, at + 1] -= own
        complete[:, at + 1, at] -= own
    return float((counts * log_factor).sum())


def log_likelihood(
    table: ResponseTable, params: Parameters, moments: PosteriorMoments, rule: Rule, run: Run
) -> float:
    """Return the log-likelihood alone."""

    def work(rows: slice) -> tuple[Floats]:
        block = table.posterior(rows, moments, params, rule, with_curvature=False)
        return (np.array(block.log_norm.sum()),)

    (value,) = fold(run, table.blocks(rule), work)
    log_factor, *_ = category_factors(params.thresholds, table.pattern.n_thresholds)
    return float(value) + float((table.counts[:, 1 : 1 + log_factor.shape[1]] * log_factor).sum())
