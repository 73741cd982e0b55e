"""What is missing because abilities are not seen (Louis, 1982): the spread of scores.

For each respondent, the missing information is the covariance of the items' scores over the
posterior. A score is a smooth function of ability, and a few polynomials carry its covariance,
unless curves are steps beside the posteriors; then each node counts by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Run, array_namespace, fold, like, row_blocks
from itemwise.numerics.newton import symmetric
from itemwise.responses.encoding import Block, Encoded
from itemwise.scoring.item_errors import averaged_scores
from itemwise.scoring.posterior import Nodes, Posterior

MOST_ORDERS = 24  # more would no longer be orthogonal under a posterior as narrow as a step
MOST_BY_NODES = 5e8  # products of scores up to which steep curves are followed node by node
FIRST_ROWS = 16  # by which is judged whether they are steep
NOBODY = 1e-14  # posterior mass at a node that is none
NEGLIGIBLE = 1e-5  # part of the missing information that may be left out
BLOCK_CELLS = 1 << 17


class Scores:
    """The derivatives of each respondent's log-likelihood in the items' coordinates."""

    def __init__(self, data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes) -> None:
        xp = array_namespace(coords)
        coarse = like(nodes.coarse, coords)
        self.data = data
        terms = xp.astype(model.log_terms(coords, coarse), data.dtype, copy=False)
        self.posterior_of = Posterior(terms, nodes)
        self.exclusive = model.exclusive and data.exclusive
        slopes = model.term_slopes(coords, coarse)  # (width, n_terms, n_items, n_nodes)
        self.slopes = xp.astype(slopes, data.dtype, copy=False)
        self._known_steep: dict[float, bool] = {}

    def missing_of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> Array:
        """Missing information of all coordinates together, item by item.

        A score is a smooth function of ability: a few polynomials, orthogonal under the
        posterior, carry its covariance, and each adds one product.
        """
        xp = array_namespace(self.slopes)
        width, _, n_items, _ = self.slopes.shape

        def pass_over(rows: slice) -> tuple[Array]:
            total = 0
            for scores in self._of_block(rows, negligible):
                flat = xp.reshape(xp.stack(scores, axis=2), (scores[0].shape[0], -1))
                total = total + flat.T @ flat
            return (total,)

        return fold(run, self._blocks(width * n_items), pass_over, lanes=4)[0]

    def of_all(self, run: Run, negligible: float = NEGLIGIBLE) -> list[Array]:
        """The scores whose squares `missing_of_all` sums, each (n_rows, n_items x width)."""
        xp = array_namespace(self.slopes)
        width, _, n_items, _ = self.slopes.shape

        def pass_over(rows: slice) -> Array:
            parts = [
                xp.reshape(xp.stack(scores, axis=2), (scores[0].shape[0], -1))
                for scores in self._of_block(rows, negligible)
            ]
            return xp.concat(parts)

        return list(run(pass_over, self._blocks(width * n_items)))

    def missing_of_each(self, run: Run) -> Array:
        """Missing information of each item with itself, (n_items, width, width).

        The mean square of the score over the posterior, less the square of its mean.
        """
        xp = array_namespace(self.slopes)
        width, n_terms, n_items, _ = self.slopes.shape
        pairs = [(i, k) for i in range(width) for k in range(i, width)]
        if not self.exclusive:
            return self._missing_by_orders(run, pairs)

        def pass_over(rows: slice) -> list[Array]:
            block = self.data.block(rows)
            weights = xp.astype(self.data.weights[rows], self.data.dtype, copy=False)
            posterior, _ = self.posterior_of(block)
            scores = self._scores(block, posterior)
            outer = xp.stack([weights @ (scores[i] * scores[k]) for i, k in pairs])
            mass = self.posterior_of.on_coarse(posterior) * weights[:, None]
            counts = [mass.T @ statistic for statistic in block.statistics]
            asked = block.observed
            totals = xp.sum(mass, axis=0)[:, None] if asked is None else mass.T @ asked
            found = [outer, totals, *counts]
            return [xp.asarray(part, dtype=xp.float64) for part in found]  # sums stay exact

        outer, asked, *counts = fold(run, self._blocks(n_items), pass_over, lanes=4)
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
        """The same through orthogonal polynomials, for statistics of any kind."""
        xp = array_namespace(self.slopes)

        def pass_over(rows: slice) -> tuple[Array]:
            total = 0
            for scores in self._of_block(rows, NEGLIGIBLE):
                total = total + xp.stack([xp.sum(scores[i] * scores[k], axis=0) for i, k in pairs])
            return (total,)

        blocks = self._blocks(self.slopes.shape[2])
        return symmetric(list(fold(run, blocks, pass_over, lanes=4)[0]))

    def _blocks(self, width: int) -> list[slice]:
        return row_blocks(self.data.shape[0], max(64, BLOCK_CELLS // width))

    def _of_block(self, rows: slice, negligible: float) -> Iterator[list[Array]]:
        """Scores averaged with one function of ability after the other, orthonormal ones.

        Their squares sum to the covariance over the posterior, but for a `negligible` part of it.
        They are weighted by the roots of the rows' weights.
        """
        xp = array_namespace(self.slopes)
        block = self.data.block(rows)
        root = xp.astype(xp.sqrt(self.data.weights[rows]), self.slopes.dtype, copy=False)[:, None]
        posterior, _ = self.posterior_of(block)
        if self._steep(negligible):
            for weights in _node_by_node(posterior):
                yield [s * root for s in self._scores(block, weights)]
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

    def _steep(self, negligible: float) -> bool:
        """Whether curves are steps beside the posteriors: no few polynomials carry their scores.

        Judged by the first rows, and only where going node by node is no great work.
        """
        width, _, n_items, _ = self.slopes.shape
        fine = self.posterior_of.abilities.shape[0]
        if self.data.shape[0] * fine * (width * n_items) ** 2 > MOST_BY_NODES:
            return False
        if negligible not in self._known_steep:
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


def _node_by_node(posterior: Array) -> Iterator[Array]:
    """Weights √p (1 - p) at one node and -√p p at all others, for each that anybody may be at."""
    xp = array_namespace(posterior)
    mass = xp.max(posterior, axis=0)
    for k in range(posterior.shape[1]):
        if float(mass[k]) > NOBODY:
            root = xp.sqrt(posterior[:, k : k + 1])
            weights = -root * posterior
            weights[:, k : k + 1] += root
            yield weights


def _orthogonal(posterior: Array, points: Array, orders: int) -> Iterator[Array]:
    """Polynomials of degree 1..orders, orthonormal under each row of `posterior`."""
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
