"""What is missing because abilities are not seen (Louis, 1982): the spread of scores.

For each respondent, the missing information is the covariance of the items' scores over the
posterior. A score is a smooth function of ability, and a few polynomials carry its covariance,
unless curves are steps beside the posteriors; then each node counts by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ogive.irt.encoded_responses import Block, Encoded, Work
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes, Posterior
from ogive.irt.score_errors import averaged_scores
from ogive.stats.array_backend import Array, Run, array_namespace, like
from ogive.stats.newton import symmetric

MOST_ORDERS = 24  # more would no longer be orthogonal under a posterior as narrow as a step
MOST_BY_NODES = 5e8  # products of scores up to which steep curves are followed node by node
FIRST_ROWS = 16  # by which is judged whether they are steep
NOBODY = 1e-14  # posterior mass at a node that is none
NODE_CELLS = 1 << 17  # scores of nodes that are taken together
NEGLIGIBLE = 1e-5  # part of the missing information that may be left out
BLOCK_CELLS = 1 << 17
DEVICE_CELLS = 1 << 24  # the same on a device


class Scores:
    """The derivatives of each respondent's log-likelihood in the items' coordinates."""

    def __init__(self, data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes) -> None:
        self.data, self.model, self.nodes = data, model, nodes
        self.coords = like(coords, data.weights)  # where the rows are
        self.exclusive = model.exclusive and data.exclusive
        self._known_steep: dict[float, bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return without rows, and without what is quickly computed again beside other rows."""
        kept = ("model", "coords", "nodes", "exclusive", "_known_steep")
        return {name: vars(self)[name] for name in kept}

    def _on(self, data: Encoded) -> Scores:
        """Return the same scores of other rows, such as a part of all."""
        if data is vars(self).get("data"):
            return self
        found = Scores(data, self.model, self.coords, self.nodes)
        found._known_steep.update(self._known_steep)
        return found

    @cached_property
    def posterior_of(self) -> Posterior:
        """Where respondents may stand."""
        terms = self.model.log_terms(self.coords, like(self.nodes.coarse, self.coords))
        xp = array_namespace(self.coords)
        return Posterior(xp.astype(terms, self.data.dtype, copy=False), self.nodes)

    @cached_property
    def slopes(self) -> Array:
        """Derivatives of the terms, (width, n_terms, n_items, n_nodes)."""
        slopes = self.model.term_slopes(self.coords, like(self.nodes.coarse, self.coords))
        return array_namespace(self.coords).astype(slopes, self.data.dtype, copy=False)

    def missing_of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> Array:
        """Return missing information of all coordinates together, item by item.

        A score is a smooth function of ability: a few polynomials, orthogonal under the
        posterior, carry its covariance, and each adds one product.
        """
        self._steep(negligible)  # known before parts are looked at, each by itself

        def over(part: Encoded, run: Run) -> Work:
            del run
            own = self._on(part)

            def pass_over(rows: slice) -> tuple[Array]:
                total = 0
                for scores in own.of_block(rows, negligible):
                    flat = _side_by_side(scores)
                    total = total + flat.T @ flat
                return (total,)

            return pass_over

        rows = self._rows(self._numbers)
        return self.data.gather(run, over, rows=rows, lanes=4)[0]

    def of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> list[Array]:
        """Return the scores whose squares `missing_of_all` sums, each (n_rows, n_items x width)."""
        self._steep(negligible)

        def over(part: Encoded, run: Run) -> Work:
            del run
            own = self._on(part)

            def pass_over(rows: slice) -> list[Array]:
                parts = [_side_by_side(scores) for scores in own.of_block(rows, negligible)]
                return [array_namespace(parts[0]).concat(parts)]

            return pass_over

        rows = self._rows(self._numbers)
        return list(self.data.gather(run, over, rows=rows, combine=_one_after_the_other))

    def missing_of_each(self, run: Run) -> Array:
        """Return missing information of each item with itself, (n_items, width, width).

        The mean square of the score over the posterior, less the square of its mean.
        """
        xp = array_namespace(self.slopes)
        width, n_terms, n_items, _ = self.slopes.shape
        pairs = [(i, k) for i in range(width) for k in range(i, width)]
        if not self.exclusive:
            return self._missing_by_orders(run, pairs)

        def over(part: Encoded, run: Run) -> Work:
            del run
            own = self._on(part)
            return lambda rows: own.squares_and_counts(rows, pairs)

        rows = self._rows(n_items)
        outer, asked, *counts = self.data.gather(run, over, rows=rows, lanes=4)
        # A category other than the first adds its own slope to that of the first.
        mass = [asked - sum(counts), *counts]
        full = [
            self.slopes[:, 0],
            *(self.slopes[:, 0] + self.slopes[:, c] for c in range(1, n_terms)),
        ]
        square = [
            sum(
                xp.sum(share.T * slope[i] * slope[k], axis=1)
                for share, slope in zip(mass, full, strict=True)
            )
            for i, k in pairs
        ]
        return symmetric([s - o for s, o in zip(square, outer, strict=True)])

    def _missing_by_orders(self, run: Run, pairs: list[tuple[int, int]]) -> Array:
        """Return the same through orthogonal polynomials, for statistics of any kind."""
        self._steep(NEGLIGIBLE)

        def over(part: Encoded, run: Run) -> Work:
            del run
            own = self._on(part)

            def pass_over(rows: slice) -> tuple[Array]:
                total, xp = 0, array_namespace(own.slopes)
                for scores in own.of_block(rows, NEGLIGIBLE):
                    squares = [xp.sum(scores[i] * scores[k], axis=0) for i, k in pairs]
                    total = total + xp.stack(squares)
                return (total,)

            return pass_over

        rows = self._rows(self.coords.shape[0])
        return symmetric(list(self.data.gather(run, over, rows=rows, lanes=4)[0]))

    def squares_and_counts(self, rows: slice, pairs: list[tuple[int, int]]) -> list[Array]:
        """Return squares of mean scores, and posterior mass by category, of a block."""
        xp = array_namespace(self.slopes)
        block = self.data.block(rows)
        weights = xp.astype(self.data.counted(rows), self.data.dtype, copy=False)
        posterior, _ = self.posterior_of(block)
        scores = self._scores(block, posterior)
        outer = xp.stack([weights @ (scores[i] * scores[k]) for i, k in pairs])
        mass = self.posterior_of.on_coarse(posterior) * weights[:, None]
        counts = [mass.T @ statistic for statistic in block.statistics]
        asked = block.observed
        totals = xp.sum(mass, axis=0)[:, None] if asked is None else mass.T @ asked
        found = [outer, totals, *counts]
        return [xp.asarray(part, dtype=xp.float64) for part in found]  # sums stay exact

    @property
    def _numbers(self) -> int:
        return int(self.coords.shape[0]) * int(self.coords.shape[1])

    def _rows(self, width: int) -> int:
        cells = BLOCK_CELLS if isinstance(self.data.weights, np.ndarray) else DEVICE_CELLS
        return max(64, cells // width)

    def of_block(self, rows: slice, negligible: float) -> Iterator[list[Array]]:
        """Yield scores averaged with one function of ability after the other, orthonormal ones.

        Their squares sum to the covariance over the posterior, but for a `negligible` part of it.
        They are weighted by the roots of the rows' weights.
        """
        xp = array_namespace(self.slopes)
        block = self.data.block(rows)
        root = xp.astype(xp.sqrt(self.data.counted(rows)), self.slopes.dtype, copy=False)[:, None]
        posterior, _ = self.posterior_of(block)
        if self._steep(negligible):
            yield from self._node_by_node(block, posterior, root)
            return
        orders = MOST_ORDERS if negligible <= NEGLIGIBLE else MOST_ORDERS // 2
        total = 0.0
        for polynomial in _orthogonal(posterior, self.posterior_of.abilities, orders):
            scores = [s * root for s in self._scores(block, posterior * polynomial)]
            yield scores
            size = sum(float(xp.sum(s * s)) for s in scores)
            total += size
            if size <= 0.1 * negligible * total:
                return

    def _node_by_node(self, block: Block, posterior: Array, root: Array) -> Iterator[list[Array]]:
        """√p times how far scores at nodes are from their mean, for those where anybody may be.

        Several nodes at a time, one below the other: of small tables, a node is little work.
        """
        xp = array_namespace(posterior)
        mean, mass = xp.stack(self._scores(block, posterior)), xp.max(posterior, axis=0)
        there = [k for k, most in enumerate(mass.tolist()) if most > NOBODY]
        together = max(1, NODE_CELLS // (int(posterior.shape[0]) * self._numbers))
        for begin in range(0, len(there), together):
            nodes = there[begin : begin + together]
            slopes = self._slopes_by_node[nodes][:, :, :, None, :]
            score = slopes[:, :, 0]  # (n_nodes, width, 1, n_items)
            if block.observed is not None:
                score = score * block.observed
            for c, statistic in enumerate(block.statistics, start=1):
                score = score + statistic * slopes[:, :, c]
            weight = xp.moveaxis(root * xp.sqrt(posterior[:, nodes]), 1, 0)[:, None, :, None]
            found = xp.moveaxis(weight * (score - mean), 1, 0)
            yield list(xp.reshape(found, (mean.shape[0], -1, mean.shape[2])))

    @cached_property
    def _slopes_by_node(self) -> Array:
        """The slopes at each fine node, (n_fine, width, n_terms, n_items)."""
        xp = array_namespace(self.slopes)
        return xp.moveaxis(self.posterior_of.on_fine(self.slopes), -1, 0)

    def _steep(self, negligible: float) -> bool:
        """Whether curves are steps beside the posteriors: no few polynomials carry their scores.

        Judged by the first rows, and only where going node by node is no great work.
        """
        if negligible in self._known_steep:
            return self._known_steep[negligible]
        if self.data.shape[0] * len(self.nodes.fine) * self._numbers**2 > MOST_BY_NODES:
            self._known_steep[negligible] = False
        else:
            block = self.data.block(slice(0, FIRST_ROWS))
            posterior, _ = self.posterior_of(block)
            xp, size, total = array_namespace(self.slopes), 0.0, 0.0
            for polynomial in _orthogonal(posterior, self.posterior_of.abilities, MOST_ORDERS):
                scores = self._scores(block, posterior * polynomial)
                size = sum(float(xp.sum(s * s)) for s in scores)
                total += size
                if size <= 0.1 * negligible * total:
                    break
            self._known_steep[negligible] = size > negligible * total
        return self._known_steep[negligible]

    def _scores(self, block: Block, weights: Array) -> list[Array]:
        """Scores averaged with `weights` on the fine nodes, one (n_rows, n_items) a coordinate."""
        return averaged_scores(block, self.slopes, self.posterior_of.on_coarse(weights))


def _side_by_side(scores: list[Array]) -> Array:
    """Return scores of all coordinates as one table, (n_rows, n_items x width)."""
    xp = array_namespace(scores[0])
    return xp.reshape(xp.stack(scores, axis=2), (scores[0].shape[0], -1))


def _one_after_the_other(old: Sequence[Array], new: Sequence[Array]) -> list[Array]:
    return [*old, *new]


def _orthogonal(posterior: Array, points: Array, orders: int) -> Iterator[Array]:
    """Yield polynomials of degree 1..orders, orthonormal under each row of `posterior`."""
    xp = array_namespace(posterior)
    before, now = xp.zeros_like(posterior), xp.ones_like(posterior)
    for _ in range(orders):
        centre = xp.sum(posterior * now * now * points, axis=1, keepdims=True)
        overlap = xp.sum(posterior * now * before * points, axis=1, keepdims=True)
        ahead = (points - centre) * now - overlap * before
        length = xp.sqrt(xp.sum(posterior * ahead * ahead, axis=1, keepdims=True))
        # A posterior that lies on one node has no polynomial: nothing is missing there.
        wide = xp.astype(length > 1e-12, length.dtype)
        before, now = now, wide * ahead / xp.clip(length, 1e-12, None)
        yield now
