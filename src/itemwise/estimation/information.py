"""Standard errors of items from the observed information (Louis, 1982).

Observed information is what complete data would tell, less what is missing because abilities
are not seen. The missing part is, for each respondent, the covariance of the items' scores over
the posterior. A score is a smooth function of ability, so that a few polynomials, orthogonal
under the posterior, carry all of it: each adds one low-rank product.
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
from itemwise.numerics.quadrature import Nodes
from itemwise.responses.encoding import Encoded
from itemwise.scoring.likelihood import LogLikelihood, normalised

MOST_EXACT = 3_000  # free numbers up to which the whole matrix is inverted
MOST_ROWS = 20_000  # respondents that settle the missing part; more only repeat it
MOST_ORDERS = 8
NEGLIGIBLE = 1e-4  # of an item's complete-data information


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
                missing = scores.missing(run, whole=True)
                return _invert_whole(self.model, as_numpy(complete), as_numpy(missing), free)
            own = complete - scores.missing(run, whole=False)
            weight = float(self.data.weights.sum())
            population = population_information(as_numpy(found.spread), weight)
            directions = as_numpy(tangents(self.model, self.coords))
            return _invert_structured(as_numpy(own), directions, population, free)

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
    """The items' scores, projected on polynomials of the posterior."""

    def __init__(self, data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes) -> None:
        xp = array_namespace(coords)
        self.data, self.nodes = data, nodes
        coarse = like(nodes.coarse, coords)
        self.likelihood = LogLikelihood(model.log_prob(coords, coarse))
        self.fine = like(nodes.fine, coords)
        self.log_weights = like(nodes.log_weights, coords)
        self.refine = None if nodes.interpolation is None else like(nodes.interpolation, coords)
        self.shape = coords.shape[0], model.width
        slopes = model.slopes(coords, coarse)  # (width, n_categories, n_items, n_nodes)
        # Item-major, so that an item's coordinates stand together.
        tables = xp.permute_dims(slopes, (1, 3, 2, 0))
        self.tables = xp.reshape(tables, (tables.shape[0], coarse.shape[0], -1))

    def missing(self, run: Run, *, whole: bool) -> Array:
        """Missing information: of all coordinates together, or of each item with itself."""
        xp = array_namespace(self.tables)
        n_rows = self.data.shape[0]
        stride = max(1, n_rows // MOST_ROWS)
        blocks = [
            slice(rows.start * stride, rows.stop * stride, stride)
            for rows in row_blocks(n_rows // stride, max(64, (1 << 19) // self.tables.shape[2]))
        ]
        orders = self._orders(blocks[0])
        n_items, width = self.shape

        def pass_over(rows: slice) -> tuple[Array, Array]:
            weights = self.data.weights[rows]
            total = 0
            for score in self._projections(rows, orders):
                root = score * xp.sqrt(weights)[:, None]
                if whole:
                    total = total + root.T @ root
                else:
                    apart = xp.reshape(root, (-1, n_items, width))
                    total = total + xp.sum(apart[:, :, :, None] * apart[:, :, None, :], axis=0)
            return total, xp.sum(weights)

        total, weight = fold(run, blocks, pass_over, lanes=4)
        return total * (float(xp.sum(self.data.weights)) / float(weight))

    def _orders(self, rows: slice) -> int:
        """How many polynomials are worth their while, judged by the first rows."""
        sizes = [float((score**2).sum()) for score in self._projections(rows, MOST_ORDERS)]
        total = sum(sizes)
        return next(
            (k for k in range(1, len(sizes)) if sum(sizes[k:]) <= NEGLIGIBLE * total), len(sizes)
        )

    def _projections(self, rows: slice, orders: int) -> list[Array]:
        """Scores of all coordinates along each polynomial, (n_rows, n_items x width) each."""
        xp = array_namespace(self.tables)
        block = self.data.block(rows)
        joint = self.likelihood(block)
        joint = self.log_weights + (joint if self.refine is None else joint @ self.refine)
        posterior, _ = normalised(joint)
        width = self.shape[1]
        observed = None if block.observed is None else xp.repeat(block.observed, width, axis=1)
        indicators = [xp.repeat(table, width, axis=1) for table in block.indicators]
        projections = []
        for polynomial in _orthogonal(posterior, self.fine, orders):
            along = posterior * polynomial
            along = along if self.refine is None else along @ self.refine.T
            first = along @ self.tables[0]
            score = first if observed is None else observed * first
            for k, indicator in enumerate(indicators, start=1):
                score = score + indicator * (along @ self.tables[k] - first)
            projections.append(score)
        return projections


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
    inverse = spread @ _positive_inverse(spread.T @ matrix @ spread) @ spread.T
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


def _positive_inverse(matrix: Floats) -> Floats:
    """Inverse of a matrix that should be positive; flat directions get a very large variance."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    scaled = matrix * scale[:, None] * scale
    try:
        np.linalg.cholesky(scaled)
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors / np.maximum(values, FLATTEST)) @ vectors.T
    result: Floats = inverse * scale[:, None] * scale
    return result


FLATTEST = 1e-8  # eigenvalue of a scaled information below which a direction is called flat


def _invert_structured(
    own: Floats, directions: Floats, population: Floats, free: np.ndarray
) -> Floats:
    """Each item's own inverse, plus what the shared origin and unit of the scale add.

    With thousands of items, the scale is all that items have in common.
    """
    mask = free[:, :, None] & free[:, None, :]
    eye = np.eye(own.shape[1])
    blocks = np.where(mask, own, eye)
    inverse = np.stack([_positive_inverse(block) for block in blocks]) * mask
    flat = directions.reshape(2, -1)
    known = flat @ np.einsum("nij,knj->kni", np.where(mask, own, 0.0), directions).reshape(2, -1).T
    extra = np.linalg.inv(population) - np.linalg.inv(known)
    shift = np.einsum("kni,kl,lnj->nij", directions, extra, directions)
    result: Floats = inverse + shift
    return result
