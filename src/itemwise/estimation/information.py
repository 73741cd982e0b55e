"""Standard errors of items from the observed information (Louis, 1982).

Observed information is what complete data would tell, less what is missing because abilities
are not seen. The missing part is, for each respondent, the covariance of the items' scores over
the posterior.

With few items the whole matrix is built and inverted. With many, items have nothing in common
but the origin and the unit of their scale: each item's own block is exact, and what the scale
adds follows from the information on the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from itemwise.estimation.expectation import Run, expect
from itemwise.estimation.maximization import add_diagonal, penalty_slopes
from itemwise.estimation.scale import population_information, tangents
from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from itemwise.numerics.blocks import fold, row_blocks, workers
from itemwise.numerics.newton import positive_inverse, symmetric
from itemwise.numerics.quadrature import Nodes
from itemwise.responses.encoding import Block, Encoded
from itemwise.scoring.likelihood import LogLikelihood, normalised

MOST_EXACT = 200  # coordinates of all items together, up to which the whole matrix is inverted
MOST_ROWS = 20_000  # respondents that settle the missing part; more only repeat it
MOST_ORDERS = 8
NEGLIGIBLE = 1e-4  # part of the missing information that may be left out
BLOCK_CELLS = 1 << 17


@dataclass(frozen=True, eq=False)
class ObservedInformation:
    """Covariances of the items' coordinates, computed when first asked for."""

    data: Encoded
    model: MeasurementModel
    coords: Array
    nodes: Nodes
    n_jobs: int | None = None

    @cached_property
    def covariances(self) -> Floats:
        """Covariance of each item's coordinates, (n_items, width, width)."""
        with workers(self.n_jobs) as run:
            found = expect(self.data, self.model, self.coords, self.nodes, run)
            _, stiffness = penalty_slopes(self.model, self.coords)
            complete = add_diagonal(found.observed, stiffness)
            scores = _Scores(self.data, self.model, self.coords, self.nodes)
            free = self._free()
            if self.coords.shape[0] * self.model.width <= MOST_EXACT:
                missing = as_numpy(scores.missing_of_all(run))
                return _invert_whole(self.model, as_numpy(complete), missing, free)
            own = complete - scores.missing_of_each(run)
            weight = float(self.data.weights.sum())
            population = population_information(as_numpy(found.spread), weight)
            directions = as_numpy(tangents(self.model, self.coords))
            return _invert_structured(self.model, as_numpy(own), directions, population, free)

    def _free(self) -> np.ndarray:
        """Which coordinates are not at a bound, (n_items, width)."""
        coords = as_numpy(self.coords)
        low = np.array([c.low for c in self.model.coordinates])
        high = np.array([c.high for c in self.model.coordinates])
        free: np.ndarray = (coords > low) & (coords < high)
        return free


@dataclass(frozen=True, eq=False)
class InUnit:
    """Covariances after the shared slope became the unit of the scale: known, without error."""

    base: ObservedInformation
    model: MeasurementModel

    @cached_property
    def covariances(self) -> Floats:
        """Covariance of each item's coordinates, (n_items, width, width)."""
        known = np.array([c.shared for c in self.model.coordinates])
        return np.where(known[:, None] | known, 0.0, self.base.covariances)


class _Scores:
    """The derivatives of each respondent's log-likelihood in the items' coordinates."""

    def __init__(self, data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes) -> None:
        self.data = data
        coarse = like(nodes.coarse, coords)
        self.likelihood = LogLikelihood(model.log_prob(coords, coarse))
        self.fine = like(nodes.fine, coords)
        self.log_weights = like(nodes.log_weights, coords)
        self.refine = None if nodes.interpolation is None else like(nodes.interpolation, coords)
        self.slopes = model.slopes(coords, coarse)  # (width, n_categories, n_items, n_nodes)

    def missing_of_all(self, run: Run) -> Array:
        """Missing information of all coordinates together, item by item.

        A score is a smooth function of ability: a few polynomials, orthogonal under the
        posterior, carry its covariance, and each adds one product.
        """
        xp = array_namespace(self.slopes)
        width, _, n_items, _ = self.slopes.shape
        blocks, scale = self._sample(width * n_items)
        orders = self._orders(blocks[0])

        def pass_over(rows: slice) -> tuple[Array]:
            root = xp.sqrt(self.data.weights[rows])[:, None]
            block, posterior = self._posterior(rows)
            total = 0
            for polynomial in _orthogonal(posterior, self.fine, orders):
                scores = self._scores(block, posterior * polynomial)
                flat = xp.reshape(xp.stack(scores, axis=2), (root.shape[0], -1)) * root
                total = total + flat.T @ flat
            return (total,)

        return fold(run, blocks, pass_over, lanes=4)[0] * scale

    def missing_of_each(self, run: Run) -> Array:
        """Missing information of each item with itself, (n_items, width, width)."""
        xp = array_namespace(self.slopes)
        width, n_categories, n_items, _ = self.slopes.shape
        pairs = [(i, k) for i in range(width) for k in range(i, width)]
        blocks, scale = self._sample(n_items)

        def pass_over(rows: slice) -> tuple[Array, ...]:
            weights = self.data.weights[rows]
            block, posterior = self._posterior(rows)
            scores = self._scores(block, posterior)
            outer = xp.stack([weights @ (scores[i] * scores[k]) for i, k in pairs])
            mass = self._on_coarse(posterior) * weights[:, None]
            counts = [mass.T @ indicator for indicator in block.indicators]
            asked = (
                xp.sum(mass, axis=0)[:, None] if block.observed is None else mass.T @ block.observed
            )
            return outer, asked, *counts

        outer, asked, *counts = fold(run, blocks, pass_over, lanes=4)
        weights = [asked - sum(counts), *counts]
        square = [
            sum(
                xp.sum(weights[c].T * self.slopes[i, c] * self.slopes[k, c], axis=1)
                for c in range(n_categories)
            )
            for i, k in pairs
        ]
        return symmetric([(s - o) * scale for s, o in zip(square, outer, strict=True)])

    def _sample(self, width: int) -> tuple[list[slice], float]:
        """Evenly spaced rows in blocks, and how many times their weight is that of all."""
        n_rows = self.data.shape[0]
        stride = max(1, n_rows // MOST_ROWS)
        chosen = row_blocks(-(-n_rows // stride), max(64, BLOCK_CELLS // width))
        blocks = [slice(b.start * stride, min(b.stop * stride, n_rows), stride) for b in chosen]
        weights = self.data.weights
        return blocks, float(weights.sum()) / float(weights[::stride].sum())

    def _orders(self, rows: slice) -> int:
        """How many polynomials are worth their while, judged by the first rows."""
        block, posterior = self._posterior(rows)
        sizes = [
            sum(float((score**2).sum()) for score in self._scores(block, posterior * polynomial))
            for polynomial in _orthogonal(posterior, self.fine, MOST_ORDERS)
        ]
        enough = (1 - NEGLIGIBLE) * sum(sizes)
        return int(np.searchsorted(np.cumsum(sizes), enough)) + 1

    def _posterior(self, rows: slice) -> tuple[Block, Array]:
        block = self.data.block(rows)
        joint = self.likelihood(block)
        joint = joint if self.refine is None else joint @ self.refine
        return block, normalised(joint + self.log_weights)[0]

    def _on_coarse(self, weights: Array) -> Array:
        return weights if self.refine is None else weights @ self.refine.T

    def _scores(self, block: Block, weights: Array) -> list[Array]:
        """Scores averaged with `weights` on the fine nodes, one (n_rows, n_items) a coordinate."""
        coarse = self._on_coarse(weights)
        found = []
        for slope in self.slopes:
            first = coarse @ slope[0].T
            score = first if block.observed is None else block.observed * first
            for k, indicator in enumerate(block.indicators, start=1):
                score = score + indicator * (coarse @ (slope[k] - slope[0]).T)
            found.append(score)
        return found


def _orthogonal(posterior: Array, points: Array, orders: int) -> list[Array]:
    """Polynomials of degree 1..orders, orthonormal under each row of `posterior`."""
    xp = array_namespace(posterior)
    before, now = 0 * posterior, 0 * posterior + 1
    found = []
    for _ in range(orders):
        centre = xp.sum(posterior * now * now * points, axis=1, keepdims=True)
        overlap = xp.sum(posterior * now * before * points, axis=1, keepdims=True)
        ahead = (points - centre) * now - overlap * before
        length = xp.sqrt(xp.sum(posterior * ahead * ahead, axis=1, keepdims=True))
        before, now = now, ahead / xp.clip(length, 1e-150, None)
        found.append(now)
    return found


def _invert_whole(
    model: MeasurementModel, complete: Floats, missing: Floats, free: np.ndarray
) -> Floats:
    """Blocks of the inverse of complete minus missing information, over the free numbers."""
    n_items, width = free.shape
    matrix = -missing.copy()
    for k in range(n_items):
        own = slice(k * width, (k + 1) * width)
        matrix[own, own] += complete[k]
    spread = _spread_out(model, free)
    inverse = spread @ positive_inverse(spread.T @ matrix @ spread) @ spread.T
    cube = inverse.reshape(n_items, width, n_items, width)
    return np.stack([cube[k, :, k, :] for k in range(n_items)])


def _spread_out(model: MeasurementModel, free: np.ndarray) -> Floats:
    """Map from the numbers that were free, a shared one counted once, to all coordinates."""
    n_items, width = free.shape
    columns = []
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.shared:
            column = np.zeros((n_items, width))
            column[:, k] = 1
            columns.append(column.reshape(-1, 1))
    own = free & ~np.array([c.shared for c in model.coordinates])
    columns.append(np.eye(n_items * width)[:, own.reshape(-1)])
    return np.concatenate(columns, axis=1)


def _invert_structured(
    model: MeasurementModel, own: Floats, directions: Floats, population: Floats, free: np.ndarray
) -> Floats:
    """Each item's own inverse, plus what the shared origin and unit of the scale add."""
    shared = np.array([c.shared for c in model.coordinates])
    alone = free & ~shared
    mask = alone[:, :, None] & alone[:, None, :]
    blocks = np.where(mask, own, np.eye(own.shape[1]))
    inverse = positive_inverse(blocks) * mask
    flat = directions.reshape(2, -1)
    own_alone = np.where(mask, own, 0.0)
    known = flat @ np.einsum("nij,knj->kni", own_alone, directions).reshape(2, -1).T
    extra = np.linalg.inv(population) - np.linalg.pinv(known)
    shift = np.einsum("kni,kl,lnj->nij", directions, extra, directions)
    result: Floats = inverse + shift
    return result
