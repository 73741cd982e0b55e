"""Where log-odds are linear in ability and no response is missing: one number says all of a row.

s = Σ a x, the number right weighted with the slopes, is sufficient for ability. Responses enter
through one matrix-vector product; the posterior is that of s. With many rows it is computed on a
grid of scores, and what is needed of it is interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

from ogive.numerics.arrays import Array, array_namespace
from ogive.numerics.special import log_fall, sigmoid_pair
from ogive.scoring.posterior import SMOOTHEST_STEP, Nodes, normalised

TABLE_CELLS = 1 << 25  # largest table of posteriors
TABLE_STEP = 0.0625  # in s; cubic interpolation between is then exact to 1e-9 a respondent


@dataclass(frozen=True, eq=False)
class LinearCurves:
    """Items on the coarse nodes, and the posterior of whoever has a given score on the fine ones.

    Where curves are too steep for the coarse nodes, items are on the fine ones, too.
    """

    abilities: Array  # (n_fine,)
    rise: Array  # (n_items, n_nodes): chance to be right
    fall: Array
    log_base: Array  # (n_fine,): population weight and the chance to get everything wrong
    interpolation: Array | None  # (n_nodes, n_fine)

    @classmethod
    def at(cls, coords: Array, nodes: Nodes) -> LinearCurves:
        """The curves of items at `coords`."""
        xp = array_namespace(coords)
        placed = nodes.beside(coords)
        refine = placed.interpolation
        if refine is not None:
            step = float(nodes.coarse[1] - nodes.coarse[0])
            if step * float(xp.max(xp.abs(coords[:, 0]))) > SMOOTHEST_STEP:
                refine = None
        points = placed.fine if refine is None else placed.coarse
        z = coords[:, :1] * points + coords[:, 1:2]
        rise, fall = sigmoid_pair(z)
        base = xp.sum(log_fall(z, rise), axis=0)
        log_base = placed.log_weights + (base if refine is None else base @ refine)
        return cls(placed.fine, rise, fall, log_base, refine)

    def where_items_are(self, on_fine: Array) -> Array:
        """Numbers on the fine nodes, (n_fine, n), as the nodes of the items carry them."""
        return on_fine if self.interpolation is None else self.interpolation @ on_fine

    def posterior(self, scores: Array) -> tuple[Array, Array]:
        """Posterior weights of each score, (n_scores, n_nodes), and its log-likelihood.

        The latter lacks the intercepts of what was right, which do not depend on ability.
        """
        return posterior_of_scores(scores, self.abilities, self.log_base)


def posterior_of_scores(scores: Array, abilities: Array, log_base: Array) -> tuple[Array, Array]:
    """The same from what it takes of the curves."""
    return normalised(scores[:, None] * abilities + log_base)


@dataclass(frozen=True)
class ScoreGrid:
    """Equally spaced scores that reach beyond all that these items can give."""

    low: float
    size: int

    @classmethod
    def of(cls, slopes: Array) -> ScoreGrid:
        """The grid of items with these slopes, (n_items,)."""
        xp = array_namespace(slopes)
        low = float(xp.sum(xp.where(slopes < 0, slopes, 0 * slopes))) - 2 * TABLE_STEP
        return cls(low, int(float(xp.sum(xp.abs(slopes))) / TABLE_STEP) + 6)

    def pays(self, n_rows: int, n_nodes: int) -> bool:
        """Whether posteriors on the grid are less work than those of so many rows."""
        return n_rows > 2 * self.size and self.size * n_nodes < TABLE_CELLS

    def points(self, other: Array) -> Array:
        """The scores themselves, where `other` lies."""
        xp = array_namespace(other)
        return self.low + TABLE_STEP * xp.arange(self.size, dtype=other.dtype, device=other.device)

    def near(self, scores: Array) -> tuple[Array, Array]:
        """The four points about each score, by position, and their shares; both (4, n_scores)."""
        xp = array_namespace(scores)
        place = (scores - self.low) / TABLE_STEP
        index = xp.astype(place, xp.int64)
        around = xp.arange(-1, 3, device=index.device)
        shares = cubic_weights(place - xp.astype(index, scores.dtype))
        return index + around[:, None], xp.stack(shares)


def cubic_weights(u: Array) -> tuple[Array, Array, Array, Array]:
    """Lagrange weights of the points -1, 0, 1, 2 for a place `u` in [0, 1)."""
    v, w = u - 1, u - 2
    outer = u * v / 6
    inner = (u + 1) * w / 2
    return -outer * w, inner * v, -inner * u, outer * (u + 1)
