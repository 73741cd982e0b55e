"""Distribution of a summed score, together with each item's response (Lord and Wingersky, 1984)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ogive.numerics.arrays import Floats

LEAF = 32  # items whose scores are joined to the rest by matrix products


def joint_with_score(
    prob: Floats, weights: Floats, scores: np.ndarray | None = None
) -> Iterator[tuple[int, Floats]]:
    """Of each item, its position and the probability of score and category together.

    `prob` is (n_categories, n_items, n_nodes), `weights` (n_nodes,); an array of the result is
    (n_scores, n_categories), where the score counts the item itself. With `scores`, only these:
    a few respondents have few of them.
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
            there = np.flatnonzero((rest >= 0) & (rest < len(outside)))
            if there.size:
                sums[:, category, there] += inside[:, category, score] @ outside[rest[there]].T


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
    """Distribution of the summed score of some items, (n_scores, n_nodes)."""
    if len(items) == 1:
        return prob[:, items.start]
    middle = len(items) // 2
    return convolved(_inside(prob, items[:middle]), _inside(prob, items[middle:]))


def convolved(left: Floats, right: Floats) -> Floats:
    """Distribution of the sum of two independent scores, node by node."""
    if len(left) < len(right):
        left, right = right, left
    total = np.zeros((len(left) + len(right) - 1, left.shape[1]))
    product = np.empty_like(left)
    for score, chance in enumerate(right):
        np.multiply(left, chance, out=product)
        total[score : score + len(left)] += product
    return total
