"""The E-step: what the responses say of the items, averaged over where respondents may stand.

Two ways to the same sums. Where the log-odds are linear in ability and no response is missing,
s = Σ a x is sufficient for ability: the responses enter through two matrix-vector products, the
posterior through a table in s. Otherwise two matrix products over all nodes do the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, array_namespace, histogram, like
from itemwise.numerics.blocks import by_items, fold
from itemwise.numerics.quadrature import Nodes
from itemwise.numerics.special import log_fall, sigmoid_pair
from itemwise.responses.encoding import Encoded
from itemwise.scoring.likelihood import LogLikelihood, normalised

Run = Callable[..., Any]  # a `map` that may use threads
Tables = tuple[Array, Array, Array]  # abilities, counts, totals: see MeasurementModel.curvature

TABLE_STEP = 0.0625  # in s; cubic interpolation between is then exact to 1e-9 a respondent


@dataclass(frozen=True, eq=False)
class Expectation:
    """Log-likelihood, its gradient, complete-data information, and how abilities spread.

    `spread` sums over respondents E[θ], E[θ²], E[θ³], E[θ⁴], E[θ]², E[θ]E[θ²] and E[θ²]²:
    what shift and scale of the population need.
    """

    log_likelihood: float
    gradient: Array  # (n_items, width)
    expected: Array  # (n_items, width, width), Fisher information
    observed: Array  # (n_items, width, width), minus the second derivatives
    spread: Array  # (7,)
    edges: tuple[float, float]  # largest posterior mass at the first and the last node
    products: Array  # (n_items,), the sum over respondents of E[θ] times the response
    tables: Tables | None = None  # of the general way only


def expect(
    data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, run: Run = map
) -> Expectation:
    """One E-step at `coords`; `run` maps a function over blocks of rows."""
    if not (model.linear and data.complete):
        return _expect_general(data, model, coords, nodes, run)
    scores_possible = float(array_namespace(coords).sum(abs(coords[:, 0]))) / TABLE_STEP
    if data.shape[0] > 2 * scores_possible:
        return _expect_by_table(data, coords, nodes, run)
    return _expect_by_row(data, coords, nodes, run)


def _expect_by_row(data: Encoded, coords: Array, nodes: Nodes, run: Run) -> Expectation:
    """Sufficient scores, few respondents: the posterior of each."""
    xp = array_namespace(coords)
    curves = _LinearCurves.at(coords, nodes)
    slope = coords[:, 0]
    blocks = data.blocks(1)
    scores = xp.concat(list(run(lambda rows: data.rights(rows) @ slope, blocks)))
    posterior, log_norm = normalised(scores[:, None] * curves.abilities + curves.log_base)
    moments = posterior @ curves.powers[:, :2]
    mass = data.weights @ posterior
    means = moments[:, 0] * data.weights
    (products,) = fold(run, blocks, lambda rows: (means[rows] @ data.rights(rows),))
    return curves.expectation(
        data,
        coords,
        products,
        mass,
        data.weights @ log_norm,
        _spread(mass @ curves.powers, moments, data.weights),
        _edges(posterior),
    )


def _expect_by_table(data: Encoded, coords: Array, nodes: Nodes, run: Run) -> Expectation:
    """Sufficient scores, many respondents: posteriors on a grid of scores, interpolated."""
    xp = array_namespace(coords)
    curves = _LinearCurves.at(coords, nodes)
    slope = coords[:, 0]
    low = float(xp.sum(xp.where(slope < 0, slope, 0 * slope))) - 2 * TABLE_STEP
    size = int(float(xp.sum(xp.abs(slope))) / TABLE_STEP) + 6
    grid = low + TABLE_STEP * xp.arange(size, dtype=coords.dtype, device=coords.device)
    posterior, log_norm = normalised(grid[:, None] * curves.abilities + curves.log_base)
    moments = posterior @ curves.powers[:, :2]
    means = moments[:, 0]

    def pass_over(rows: slice) -> tuple[Array, Array]:
        rights, weights = data.rights(rows), data.weights[rows]
        place = (rights @ slope - low) / TABLE_STEP
        index = xp.astype(place, xp.int64)
        u = place - xp.astype(index, coords.dtype)
        bins, mean = 0, 0
        for offset, weight in zip((-1, 0, 1, 2), _cubic_weights(u), strict=True):
            near = index + offset
            bins = bins + histogram(near, weight * weights, size)
            mean = mean + weight * xp.take(means, near)
        return bins, (mean * weights) @ rights

    bins, products = fold(run, data.blocks(1), pass_over)
    mass = bins @ posterior
    return curves.expectation(
        data,
        coords,
        products,
        mass,
        bins @ log_norm,
        _spread(mass @ curves.powers, moments, bins),
        _edges(posterior[bins > 1e-6 * xp.max(bins)]),
    )


@dataclass(frozen=True, eq=False)
class _LinearCurves:
    """The items' curves on the nodes, where log-odds are linear in ability."""

    abilities: Array  # (n_nodes,)
    powers: Array  # (n_nodes, 4)
    rise: Array  # (n_items, n_nodes)
    fall: Array
    log_base: Array  # (n_nodes,): population weight and the chance to get everything wrong

    @classmethod
    def at(cls, coords: Array, nodes: Nodes) -> _LinearCurves:
        xp = array_namespace(coords)
        abilities = like(nodes.fine, coords)
        z = coords[:, :1] * abilities + coords[:, 1:2]
        rise, fall = sigmoid_pair(z)
        log_base = like(nodes.log_weights, coords) + xp.sum(log_fall(z, rise), axis=0)
        return cls(abilities, _powers(abilities), rise, fall, log_base)

    def expectation(
        self,
        data: Encoded,
        coords: Array,
        products: Array,
        mass: Array,
        log_norm: Array,
        spread: Array,
        edges: tuple[float, float],
    ) -> Expectation:
        """Finish the step: `products` is Σ E[θ] x, `mass` the posterior mass on the nodes."""
        xp = array_namespace(coords)
        moments = xp.stack([mass * self.powers[:, 1], mass * self.abilities, mass], axis=1)
        expected = self.rise @ moments[:, 1:]
        gradient = xp.stack([products - expected[:, 0], data.right_counts - expected[:, 1]], axis=1)
        weighted = (self.rise * self.fall) @ moments
        information = xp.stack([weighted[:, :2], weighted[:, 1:]], axis=1)
        value = float(log_norm + coords[:, 1] @ data.right_counts)
        return Expectation(value, gradient, information, information, spread, edges, products)


def _expect_general(
    data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, run: Run
) -> Expectation:
    """Matrix products of responses with log-probabilities, and of posteriors with responses."""
    xp = array_namespace(coords)
    coarse, fine = like(nodes.coarse, coords), like(nodes.fine, coords)
    log_weights, powers = like(nodes.log_weights, coords), _powers(fine)
    refine = None if nodes.interpolation is None else like(nodes.interpolation, coords)
    n_nodes = coarse.shape[0]

    def item_log_prob(items: slice) -> tuple[Array]:
        return (xp.permute_dims(model.log_prob(coords[items], coarse), (1, 0, 2)),)

    (log_prob,) = by_items(run, coords, n_nodes, item_log_prob)
    likelihood = LogLikelihood(xp.permute_dims(log_prob, (1, 0, 2)))

    def pass_over(rows: slice) -> tuple[Array, ...]:
        block, weights = data.block(rows), data.weights[rows]
        joint = likelihood(block)
        joint = log_weights + (joint if refine is None else joint @ refine)
        posterior, log_norm = normalised(joint)
        moments = posterior @ powers[:, :2]
        weighted = posterior * weights[:, None]
        mass = xp.sum(weighted, axis=0)
        coarse_weights = weighted if refine is None else weighted @ refine.T
        if block.observed is None:
            totals = xp.sum(coarse_weights, axis=0)
        else:
            totals = coarse_weights.T @ block.observed
        counts = [coarse_weights.T @ indicator for indicator in block.indicators]
        spread = _spread(mass @ powers, moments, weights)
        edges = xp.stack([xp.max(posterior[:, 0]), xp.max(posterior[:, -1])])
        return weights @ log_norm, spread, edges, totals, *counts

    n_cells = max(1, model.n_categories * coords.shape[0] * n_nodes)
    lanes = min(16, max(2, (1 << 25) // n_cells))
    value, spread, edges, totals, *counts = fold(run, data.blocks(fine.shape[0]), pass_over, lanes)
    totals = totals[None, :] if data.complete else totals.T
    tables = coarse, xp.stack([count.T for count in counts]), totals
    gradient, expected, observed = by_items(
        run, coords, n_nodes, lambda items: model.curvature(coords[items], *of_items(tables, items))
    )
    ends = float(edges[0]), float(edges[1])
    graded = sum(k * count for k, count in enumerate(counts, start=1))
    return Expectation(
        float(value), gradient, expected, observed, spread, ends, coarse @ graded, tables
    )


def of_items(tables: Tables, items: slice | Array) -> Tables:
    """The tables of some items; totals that all items share stay as they are."""
    abilities, counts, totals = tables
    return abilities, counts[:, items], totals if totals.shape[0] == 1 else totals[items]


def _powers(abilities: Array) -> Array:
    xp = array_namespace(abilities)
    return xp.stack([abilities, abilities**2, abilities**3, abilities**4], axis=1)


def _spread(raw: Array, moments: Array, weights: Array) -> Array:
    """The seven sums of `Expectation.spread`."""
    xp = array_namespace(raw)
    mean, square = moments[:, 0], moments[:, 1]
    products = xp.stack([mean * mean, mean * square, square * square])
    return xp.concat([raw, products @ weights])


def _edges(posterior: Array) -> tuple[float, float]:
    xp = array_namespace(posterior)
    return float(xp.max(posterior[:, 0])), float(xp.max(posterior[:, -1]))


def _cubic_weights(u: Array) -> tuple[Array, Array, Array, Array]:
    """Lagrange weights of the points -1, 0, 1, 2 for a place `u` in [0, 1)."""
    v, w = u - 1, u - 2
    outer = u * v / 6
    inner = (u + 1) * w / 2
    return -outer * w, inner * v, -inner * u, outer * (u + 1)
