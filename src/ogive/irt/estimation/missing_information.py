"""The information that is missing because abilities are not observed (Louis, 1982).

    I_observed = I_complete - Σ_i Cov(score_i(θ) | responses of i)

A respondent's score, the derivative of the log-likelihood in the items' coordinates, is a function
of ability. Its covariance over the posterior is summed in one of three ways: by a few polynomials
orthonormal under the posterior, which carry a smooth function; node by node, if curves are steps
compared with the posteriors; or by category, for the blocks of single items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ogive.irt.encoded_responses import Block, Encoded, Work
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes, Posterior
from ogive.irt.score_errors import averaged_scores
from ogive.stats.array_backend import Array, Run, array_namespace, like
from ogive.stats.newton import symmetric

MAX_DEGREE = 24  # polynomials of higher degree are not orthogonal under a narrow posterior
MAX_NODE_WORK = 5e8  # products of scores up to which sums go node by node
SAMPLE_ROWS = 16  # rows that decide whether polynomials suffice
LEAST_MASS = 1e-14  # posterior mass at a node that counts
NODE_CELLS = 1 << 17  # scores of nodes that are taken together
NEGLIGIBLE = 1e-5  # share of the missing information that may be left out
BLOCK_CELLS = 1 << 17  # scores in one block of rows
DEVICE_CELLS = 1 << 24  # the same number on a GPU


class Scores:
    """The derivatives of each respondent's log-likelihood in the items' coordinates."""

    def __init__(self, data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes) -> None:
        self.data, self.model, self.nodes = data, model, nodes
        self.coords = like(coords, data.weights)  # where the rows are
        self.exclusive = model.exclusive and data.exclusive

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rows, and what is quickly computed again for other rows."""
        return {name: vars(self)[name] for name in ("model", "coords", "nodes", "exclusive")}

    def _of_part(self, data: Encoded) -> Scores:
        """Return the scores of other rows, such as a part of all."""
        if data is vars(self).get("data"):
            return self
        return Scores(data, self.model, self.coords, self.nodes)

    @cached_property
    def posterior_of(self) -> Posterior:
        """Posteriors of respondents on the nodes."""
        terms = self.model.log_terms(self.coords, like(self.nodes.coarse, self.coords))
        xp = array_namespace(self.coords)
        return Posterior(xp.astype(terms, self.data.dtype, copy=False), self.nodes)

    @cached_property
    def term_gradients(self) -> Array:
        """Derivatives of the terms, (width, n_terms, n_items, n_nodes)."""
        gradients = self.model.term_slopes(self.coords, like(self.nodes.coarse, self.coords))
        return array_namespace(self.coords).astype(gradients, self.data.dtype, copy=False)

    @cached_property
    def _gradients_by_node(self) -> Array:
        """Derivatives of the terms at each fine node, (n_fine, width, n_terms, n_items)."""
        xp = array_namespace(self.term_gradients)
        return xp.moveaxis(self.posterior_of.on_fine(self.term_gradients), -1, 0)

    @property
    def _n_numbers(self) -> int:
        return int(self.coords.shape[0]) * int(self.coords.shape[1])

    def _gather(
        self,
        run: Run,
        row_sums: Callable[[Scores, slice], Sequence[Array]],
        width: int,
        **options: Any,
    ) -> Sequence[Array]:
        """Sum `row_sums` over blocks of rows, each with about `width` numbers per row."""

        def over(part: Encoded, run: Run) -> Work:
            del run
            own = self._of_part(part)
            return lambda rows: row_sums(own, rows)

        cells = BLOCK_CELLS if isinstance(self.data.weights, np.ndarray) else DEVICE_CELLS
        return self.data.gather(run, over, rows=max(64, cells // width), **options)

    def missing_of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> Array:
        """Return the missing information of all coordinates together, item by item."""
        by_nodes = self.needs_node_sums(negligible)

        def row_sums(own: Scores, rows: slice) -> tuple[Array]:
            total = 0
            for scores in own.weighted_scores(rows, negligible, by_nodes=by_nodes):
                flat = _side_by_side(scores)
                total = total + flat.T @ flat
            return (total,)

        return self._gather(run, row_sums, self._n_numbers, lanes=4)[0]

    def of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> list[Array]:
        """Return the scores whose squares `missing_of_all` sums, each (n_rows, n_items x width)."""
        by_nodes = self.needs_node_sums(negligible)

        def row_sums(own: Scores, rows: slice) -> list[Array]:
            blocks = own.weighted_scores(rows, negligible, by_nodes=by_nodes)
            parts = [_side_by_side(scores) for scores in blocks]
            return [array_namespace(parts[0]).concat(parts)]

        return list(self._gather(run, row_sums, self._n_numbers, combine=_append))

    def missing_of_each(self, run: Run) -> Array:
        """Return the missing information of each item with itself, (n_items, width, width).

        If at most one statistic of a response is not 0, it is the mean square of the score over
        the posterior, by category, less the square of its mean.
        """
        width, n_items = int(self.coords.shape[1]), int(self.coords.shape[0])
        pairs = [(i, k) for i in range(width) for k in range(i, width)]
        if not self.exclusive:
            by_nodes = self.needs_node_sums(NEGLIGIBLE)

            def row_sums(own: Scores, rows: slice) -> tuple[Array]:
                total, xp = 0, array_namespace(own.term_gradients)
                for scores in own.weighted_scores(rows, NEGLIGIBLE, by_nodes=by_nodes):
                    squares = [xp.sum(scores[i] * scores[k], axis=0) for i, k in pairs]
                    total = total + xp.stack(squares)
                return (total,)

            return symmetric(list(self._gather(run, row_sums, n_items, lanes=4)[0]))

        def squares_and_counts(own: Scores, rows: slice) -> list[Array]:
            return own.squares_and_counts(rows, pairs)

        outer, asked, *counts = self._gather(run, squares_and_counts, n_items, lanes=4)
        xp, gradients = array_namespace(self.term_gradients), self.term_gradients
        # A category other than the first adds its own gradient to that of the first.
        mass = [asked - sum(counts), *counts]
        of_category = [
            gradients[:, 0],
            *(gradients[:, 0] + gradients[:, c] for c in range(1, gradients.shape[1])),
        ]
        square = [
            sum(
                xp.sum(share.T * gradient[i] * gradient[k], axis=1)
                for share, gradient in zip(mass, of_category, strict=True)
            )
            for i, k in pairs
        ]
        return symmetric([s - o for s, o in zip(square, outer, strict=True)])

    def squares_and_counts(self, rows: slice, pairs: list[tuple[int, int]]) -> list[Array]:
        """Return squares of mean scores, and posterior mass by category, of a block."""
        xp = array_namespace(self.term_gradients)
        block = self.data.block(rows)
        weights = xp.astype(self.data.counted(rows), self.data.dtype, copy=False)
        posterior, _ = self.posterior_of(block)
        scores = self._mean_scores(block, posterior)
        outer = xp.stack([weights @ (scores[i] * scores[k]) for i, k in pairs])
        mass = self.posterior_of.on_coarse(posterior) * weights[:, None]
        counts = [mass.T @ statistic for statistic in block.statistics]
        asked = block.observed
        totals = xp.sum(mass, axis=0)[:, None] if asked is None else mass.T @ asked
        # Sums over blocks are taken in double precision.
        return [xp.asarray(part, dtype=xp.float64) for part in [outer, totals, *counts]]

    def weighted_scores(
        self, rows: slice, negligible: float, *, by_nodes: bool
    ) -> Iterator[list[Array]]:
        """Yield score functions of a block whose squares sum to the missing information.

        They are the scores averaged with one orthonormal polynomial after the other, until only a
        `negligible` share is left, times the root of the rows' weights.
        """
        xp = array_namespace(self.term_gradients)
        block = self.data.block(rows)
        dtype = self.term_gradients.dtype
        root = xp.astype(xp.sqrt(self.data.counted(rows)), dtype, copy=False)[:, None]
        posterior, _ = self.posterior_of(block)
        if by_nodes:
            yield from self._node_by_node(block, posterior, root)
            return
        degree = MAX_DEGREE if negligible <= NEGLIGIBLE else MAX_DEGREE // 2
        total = 0.0
        for polynomial in _orthogonal(posterior, self.posterior_of.abilities, degree):
            scores = [s * root for s in self._mean_scores(block, posterior * polynomial)]
            yield scores
            size = sum(float(xp.sum(s * s)) for s in scores)
            total += size
            if size <= 0.1 * negligible * total:
                return

    def _node_by_node(self, block: Block, posterior: Array, root: Array) -> Iterator[list[Array]]:
        """Yield √p (score - mean score) at nodes that carry mass, several nodes at a time."""
        xp = array_namespace(posterior)
        mean, mass = xp.stack(self._mean_scores(block, posterior)), xp.max(posterior, axis=0)
        occupied = [k for k, most in enumerate(mass.tolist()) if most > LEAST_MASS]
        together = max(1, NODE_CELLS // (int(posterior.shape[0]) * self._n_numbers))
        for begin in range(0, len(occupied), together):
            nodes = occupied[begin : begin + together]
            gradients = self._gradients_by_node[nodes][:, :, :, None, :]
            score = gradients[:, :, 0]  # (n_nodes, width, 1, n_items)
            if block.observed is not None:
                score = score * block.observed
            for c, statistic in enumerate(block.statistics, start=1):
                score = score + statistic * gradients[:, :, c]
            weight = xp.moveaxis(root * xp.sqrt(posterior[:, nodes]), 1, 0)[:, None, :, None]
            scores = xp.moveaxis(weight * (score - mean), 1, 0)
            yield list(xp.reshape(scores, (mean.shape[0], -1, mean.shape[2])))

    def needs_node_sums(self, negligible: float) -> bool:
        """Return True if curves are steps whose scores no few polynomials carry.

        The first rows decide, and only if sums over nodes are no great work.
        """
        if self.data.shape[0] * len(self.nodes.fine) * self._n_numbers**2 > MAX_NODE_WORK:
            return False
        block = self.data.block(slice(0, SAMPLE_ROWS))
        posterior, _ = self.posterior_of(block)
        xp, size, total = array_namespace(self.term_gradients), 0.0, 0.0
        for polynomial in _orthogonal(posterior, self.posterior_of.abilities, MAX_DEGREE):
            scores = self._mean_scores(block, posterior * polynomial)
            size = sum(float(xp.sum(s * s)) for s in scores)
            total += size
            if size <= 0.1 * negligible * total:
                break
        return size > negligible * total

    def _mean_scores(self, block: Block, weights: Array) -> list[Array]:
        """Return scores averaged with `weights` on the fine nodes, one array per coordinate."""
        on_coarse = self.posterior_of.on_coarse(weights)
        return averaged_scores(block, self.term_gradients, on_coarse)


def _side_by_side(scores: list[Array]) -> Array:
    """Return scores of all coordinates as one table, (n_rows, n_items x width)."""
    xp = array_namespace(scores[0])
    return xp.reshape(xp.stack(scores, axis=2), (scores[0].shape[0], -1))


def _append(old: Sequence[Array], new: Sequence[Array]) -> list[Array]:
    return [*old, *new]


def _orthogonal(posterior: Array, points: Array, degree: int) -> Iterator[Array]:
    """Yield polynomials of degree 1, 2, ..., orthonormal under each row of `posterior`."""
    xp = array_namespace(posterior)
    last, current = xp.zeros_like(posterior), xp.ones_like(posterior)
    for _ in range(degree):
        centre = xp.sum(posterior * current * current * points, axis=1, keepdims=True)
        overlap = xp.sum(posterior * current * last * points, axis=1, keepdims=True)
        raw = (points - centre) * current - overlap * last
        length = xp.sqrt(xp.sum(posterior * raw * raw, axis=1, keepdims=True))
        # A posterior on one node has no polynomial: nothing is missing there.
        wide = xp.astype(length > 1e-12, length.dtype)
        last, current = current, wide * raw / xp.clip(length, 1e-12, None)
        yield current
