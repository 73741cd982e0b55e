"""Distribution of a summed score, together with each item's response (Lord and Wingersky, 1984).

For long binary tests, the distribution of the number right is made once for all items; dividing its
polynomial by that of one item gives the distribution without it. A division from the lowest score
upwards multiplies its error by p / (1 - p) × f(s - 1) / f(s) at each step, one downwards by the
inverse. Since f is log-concave, the first is at most 1 up to some score and the second beyond it,
so that each direction is used where it is stable.

The quotient depends on the item only through p, and for all but the rarest scores smoothly: it is
computed at a few Chebyshev points of p, and items are interpolated by one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ogive.stats.array_backend import Floats, row_blocks

LEAF = 32  # number of items whose scores are joined to the rest by matrix products
RECURSION_LEAF = 64  # number of items whose scores come from the recursion, before convolutions
NODES_AT_A_TIME = 64
LONG = 1000  # number of items beyond which chances below LEAST of the highest are left out
LEAST = 1e-60
FARTHEST = 17.0  # standard deviations from the mean beyond which chances are below LEAST
N_POINTS = (12, 24, 48, 96)  # numbers of Chebyshev points that are tried
PRECISE = 1e-12  # largest last terms of a series, relative to the chance of its score
NEGLIGIBLE = 1e-18  # share of a score's chance below which nodes are left out
SCORES_AT_A_TIME = 32
ITEMS_AT_A_TIME = 512
CELLS_AT_A_TIME = 1 << 22


def joint_with_score(
    prob: Floats, weights: Floats, scores: np.ndarray | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield the position of each item, and the probability of score and category together.

    `prob` is (n_categories, n_items, n_nodes), `weights` (n_nodes,); an array of the result is
    (n_scores, n_categories), where the score counts the item itself. `scores` selects some.
    """
    n_categories, n_items, n_nodes = prob.shape
    if scores is None:
        scores = np.arange(n_items * (n_categories - 1) + 1)
    alone = np.ones((1, n_nodes))
    for leaf, outside in _outside(prob, range(n_items), alone, LEAF):
        sums = np.zeros((len(leaf), n_categories, len(scores)))
        part = prob[:, leaf.start : leaf.stop]
        inside = [rest for _, rest in _outside(part, range(len(leaf)), alone, 1)]
        weighted = np.stack(inside) * weights  # items, scores within the leaf, nodes
        by_category = np.moveaxis(part, 0, 1)[:, :, None] * weighted[:, None]
        _add_outside(sums, by_category, outside, scores)
        for k, item in enumerate(leaf):
            yield item, sums[k].T


def _add_outside(sums: Floats, inside: Floats, outside: Floats, scores: np.ndarray) -> None:
    """Join scores within a leaf, (n_items, n_categories, n_inside, n_nodes), to those outside."""
    _, n_categories, n_inside, _ = inside.shape
    for score in range(n_inside):
        for category in range(n_categories):
            rest = scores - score - category
            valid = np.flatnonzero((rest >= 0) & (rest < len(outside)))
            if valid.size:
                sums[:, category, valid] += inside[:, category, score] @ outside[rest[valid]].T


def _outside(
    prob: Floats, items: range, outside: Floats, smallest: int
) -> Iterator[tuple[range, Floats]]:
    """Halve `items` until they are `smallest`; give each part the scores of all other items."""
    if len(items) <= smallest:
        yield items, outside
        return
    middle = len(items) // 2
    halves = items[:middle], items[middle:]
    for half, other in (halves, halves[::-1]):
        yield from _outside(prob, half, convolved(outside, _inside(prob, other)), smallest)


def _inside(prob: Floats, items: range) -> Floats:
    """Return distribution of the summed score of some items, (n_scores, n_nodes)."""
    if len(items) == 1:
        return prob[:, items.start]
    middle = len(items) // 2
    return convolved(_inside(prob, items[:middle]), _inside(prob, items[middle:]))


def convolved(left: Floats, right: Floats) -> Floats:
    """Return distribution of the sum of two independent scores, node by node."""
    if len(left) < len(right):
        left, right = right, left
    total = np.zeros((len(left) + len(right) - 1, left.shape[1]))
    product = np.empty_like(left)
    for score, chance in enumerate(right):
        np.multiply(left, chance, out=product)
        total[score : score + len(left)] += product
    return total


def number_right(right: Floats) -> Floats:
    """Return the distribution of the number right, (n_items + 1, n_nodes), from chances."""
    n_items, n_nodes = right.shape
    least = LEAST if n_items > LONG else 0.0
    whole = np.zeros((n_items + 1, n_nodes))
    for nodes in row_blocks(n_nodes, NODES_AT_A_TIME):
        leaves = _leaves(right[:, nodes])
        for k in range(leaves.shape[2]):
            first, chance = _convolved(list(leaves[:, :, k]), least)
            kept = chance[: n_items + 1 - first]
            whole[first : first + len(kept), nodes.start + k] = kept
    return whole


def _leaves(right: Floats) -> Floats:
    """Return distributions of leaves of items, (n_leaves, n + 1, n_nodes), by the recursion."""
    n_items, n_nodes = right.shape
    n_leaves = -(-n_items // RECURSION_LEAF)
    padded = np.zeros((n_leaves * RECURSION_LEAF, n_nodes))  # unsolved items add nothing
    padded[:n_items] = right
    chances = padded.reshape(n_leaves, RECURSION_LEAF, n_nodes)
    found = np.zeros((n_leaves, RECURSION_LEAF + 1, n_nodes))
    found[:, 0] = 1.0
    for k in range(RECURSION_LEAF):
        chance = chances[:, k, None]
        step = found[:, : k + 1] * chance
        found[:, : k + 1] *= 1 - chance
        found[:, 1 : k + 2] += step
    return found


def _convolved(parts: list[Floats], least: float) -> tuple[int, Floats]:
    """Return the distribution of a sum of scores: its first score, and chances from there."""
    found = [_trimmed(0, part, least) for part in parts]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        joined = [_trimmed(a + b, np.convolve(one, two), least) for (a, one), (b, two) in pairs]
        found = joined + ([found[-1]] if len(found) % 2 else [])
    return found[0]


def _trimmed(first: int, chance: Floats, least: float) -> tuple[int, Floats]:
    kept = np.flatnonzero(chance > least * chance.max())
    return first + int(kept[0]), chance[kept[0] : kept[-1] + 1]


def without_one(whole: Floats, right: Floats, scores: np.ndarray) -> Floats:
    """Return chance of some scores without an item, from the distribution with it.

    `whole` is (n_items + 1, n_nodes), `right` (n_kinds, n_nodes): one kind of item per row.
    `scores` rise, from 0 to n_items - 1; the result is (n_scores, n_kinds, n_nodes).
    """
    wrong = 1 - right
    found = np.zeros((len(scores), *right.shape))
    place = {int(score): k for k, score in enumerate(scores)}
    upwards, rest = right < 1, np.zeros_like(right)
    done = np.zeros(right.shape, dtype=np.intp)  # number of scores divided upwards
    divisor = np.where(upwards, wrong, 1.0)
    for score in range(len(whole) - 1):
        if score:
            upwards &= right * whole[score - 1] <= wrong * whole[score]
        if not upwards.any() or score > scores[-1]:
            break
        done += upwards
        rest = np.where(upwards, (whole[score] - right * rest) / divisor, 0.0)
        if score in place:
            found[place[score]] = rest
    rest = np.zeros_like(right)
    divisor = np.where(right > 0, right, 1.0)
    last = int(done.min())
    with np.errstate(over="ignore"):  # in results that are not used
        for score in range(len(whole) - 2, max(last, int(scores[0])) - 1, -1):
            downwards = done <= score
            rest = np.where(downwards, (whole[score + 1] - wrong * rest) / divisor, 0.0)
            if score in place:
                found[place[score]] += rest
    return found


def joint_with_number_right(
    right: Floats, weights: Floats, scores: np.ndarray
) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of items, and the chance of a number right together with each response.

    `right` is (n_items, n_nodes), `weights` (n_nodes,), and `scores` rise, from 1 to n_items - 1.
    The arrays are (2, n_scores, items in the block): first the item is wrong, then it is right.
    """
    if len(right) > LONG:  # leave out nodes at which no such score can be expected
        mean, sd = right.sum(axis=0), np.sqrt((right * (1 - right)).sum(axis=0))
        near = np.abs(scores[:, None] - mean).min(axis=0) <= FARTHEST * sd + 1
        if near.any():
            right, weights = right[:, near], weights[near]
    whole = number_right(right)
    chance = whole[scores] * weights
    series, left = _series(whole, right, weights, scores, chance)
    divided = _parts(chance, left)
    for items in row_blocks(len(right), ITEMS_AT_A_TIME):
        joint = np.zeros((2, len(scores), items.stop - items.start))
        for each in series:
            each.fill(joint, right[items], weights, chance)
        for rows, nodes in divided:
            joint[:, rows] = _divided(
                whole[:, nodes], right[items, nodes], weights[nodes], scores[rows]
            )
        yield items, np.maximum(joint, 0.0)


def _divided(whole: Floats, right: Floats, weights: Floats, scores: np.ndarray) -> Floats:
    """Return the chance of scores together with each response, by division item by item."""
    asked = np.union1d(scores, scores - 1)
    at, before = np.searchsorted(asked, scores), np.searchsorted(asked, scores - 1)
    joint = np.empty((2, len(scores), len(right)))
    cells = len(asked) * right.shape[1]
    for items in row_blocks(len(right), max(1, CELLS_AT_A_TIME // cells)):
        rest = without_one(whole, right[items], asked)
        wrongly, rightly = weights * (1 - right[items]), weights * right[items]
        joint[0, :, items] = np.einsum("skq,kq->sk", rest[at], wrongly)
        joint[1, :, items] = np.einsum("skq,kq->sk", rest[before], rightly)
    return joint


@dataclass(frozen=True, eq=False)
class _Series:
    """Chebyshev series in p of the chances of some scores without an item."""

    rows: np.ndarray  # which of the scores
    nodes: slice  # those that are relevant to them
    at: Floats  # terms of the scores, (n_points, n_rows, n_nodes)
    before: Floats  # and of the scores that are lower by one
    low: Floats  # lowest chance at each node
    width: Floats  # the highest less the lowest

    def fill(self, joint: Floats, right: Floats, weights: Floats, chance: Floats) -> None:
        """Write the chances of the scores, together with each response of some items."""
        right, weights = right[:, self.nodes], weights[self.nodes]
        inside = self.width > 0
        x = 2 * (right - self.low) / np.where(inside, self.width, 1.0) - inside
        basis = _polynomials(x, len(self.at))
        parts = _parts(chance[self.rows, self.nodes], np.arange(len(self.rows)))
        for k, (share, terms) in enumerate(((1 - right, self.at), (right, self.before))):
            known = basis * (weights * share)
            for rows, nodes in parts:
                block = slice(rows[0], rows[-1] + 1)
                products = terms[:, block, nodes] @ known[:, :, nodes].transpose(0, 2, 1)
                joint[k, self.rows[rows]] = products.sum(axis=0)


def _series(
    whole: Floats, right: Floats, weights: Floats, scores: np.ndarray, chance: Floats
) -> tuple[list[_Series], np.ndarray]:
    """Return series of scores, with more points if needed; and scores without a series."""
    found: list[_Series] = []
    left = np.flatnonzero(chance.sum(axis=1) > 0)
    for n_points in N_POINTS:
        if not left.size or 2 * n_points > len(right):
            break
        nodes = _relevant_nodes(chance[left])
        low = right[:, nodes].min(axis=0)
        width = right[:, nodes].max(axis=0) - low
        asked = np.union1d(scores[left], scores[left] - 1)
        terms = _terms(whole[:, nodes], low, width, asked, n_points)
        rest = np.abs(terms[-2:]).sum(axis=0) @ weights[nodes]
        settled = rest <= PRECISE * (np.abs(terms[0]) @ weights[nodes])
        at, before = (np.searchsorted(asked, scores[left] - k) for k in (0, 1))
        good = settled[at] & settled[before]
        if good.any():
            parts = terms[:, at[good]], terms[:, before[good]]
            found.append(_Series(left[good], nodes, *parts, low, width))
        left = left[~good]
    return found, left


def _terms(whole: Floats, low: Floats, width: Floats, asked: np.ndarray, n_points: int) -> Floats:
    """Return coefficients of the series of each score and node."""
    angle = (np.arange(n_points) + 0.5) * np.pi / n_points
    points = np.clip(low + width * (1 + np.cos(angle))[:, None] / 2, 0.0, 1.0)
    found = without_one(whole, points, asked)
    change = np.cos(np.arange(n_points)[:, None] * angle) * (2 / n_points)
    change[0] /= 2
    return np.tensordot(change, found, (1, 1))


def _relevant_nodes(chance: Floats) -> slice:
    """Return the nodes that are relevant to scores, from their chances (n_scores, n_nodes)."""
    share = chance / chance.sum(axis=1, keepdims=True)
    nodes = np.flatnonzero(share.max(axis=0) > NEGLIGIBLE)
    return slice(int(nodes[0]), int(nodes[-1]) + 1)


def _parts(chance: Floats, rows: np.ndarray) -> list[tuple[np.ndarray, slice]]:
    """Return blocks of scores, and the nodes that are relevant to each block."""
    blocks = [rows[block] for block in row_blocks(len(rows), SCORES_AT_A_TIME)]
    return [(block, _relevant_nodes(chance[block])) for block in blocks if len(block)]


def _polynomials(x: Floats, count: int) -> Floats:
    """Return Chebyshev polynomials of x, (count, ...)."""
    basis = np.empty((count, *x.shape))
    basis[0], basis[1] = 1.0, x
    for k in range(2, count):
        np.multiply(2 * x, basis[k - 1], out=basis[k])
        basis[k] -= basis[k - 2]
    return basis
