"""S-X²: responses observed and expected in groups of equal summed score.

Orlando and Thissen (2000); for items of more than two categories, Kang and Chen (2008).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ogive.diagnostics.diagnosis import population_nodes
from ogive.diagnostics.score_groups import by_score, compared, joined, of_two_cells
from ogive.models.categorical import Categorical
from ogive.numerics.arrays import Floats, row_blocks, workers
from ogive.numerics.rest_scores import joint_with_number_right
from ogive.numerics.summed_scores import joint_with_score
from ogive.scoring import Population

LEAST_PROBABILITY = 1e-12  # a category that nobody can reach is none
MANY_ITEMS = 500  # beyond, one item is divided out of the distribution of all
ITEMS_AT_A_TIME = 512


def s_x2(
    model: Categorical, coords: Floats, population: Population, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats]:
    """Statistic and degrees of freedom of each item, from complete rows; NaN without freedom.

    A coordinate that items share counts for each of them; one at its bound does not count.
    """
    n_items = coords.shape[0]
    if n_items < 2 or len(cells) == 0:
        return np.full(n_items, np.nan), np.full(n_items, np.nan)
    nodes, shares = population_nodes(model, coords, population)
    work = _of_two_categories if model.n_categories == 2 else _of_many_categories
    with workers(1):  # products of matrices that small only wait for each other
        statistic, free = work(model, coords, nodes.fine, shares, cells, weights)
    estimated = (~np.asarray(model.at_bound(coords))).sum(axis=1)
    enough = free > estimated
    return np.where(enough, statistic, np.nan), np.where(enough, free - estimated, np.nan)


def _of_many_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    shares: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Statistic and free cells of each item, one item after the other."""
    prob = np.exp(model.log_prob(coords, nodes))
    widths = _widths(prob)
    scores, place = np.unique(cells.sum(axis=1, dtype=np.intp), return_inverse=True)
    sizes = np.bincount(place, weights).astype(np.float64)
    highest = int((widths - 1).sum())
    statistic, free = np.full(len(coords), np.nan), np.zeros(len(coords))
    for item, joint in joint_with_score(prob, shares, scores):
        expected = _expected(joint, sizes)
        counted = _observed(cells[:, item], place, weights, expected.shape)
        groups = by_score(scores, counted, expected, int(widths[item]), highest)
        statistic[item], free[item] = compared(joined(groups))
    return statistic, free


def _of_two_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    shares: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Statistic and free cells of each item, many items together."""
    n_items = len(coords)
    statistic, free = np.full(n_items, np.nan), np.zeros(n_items)
    number = cells.sum(axis=1, dtype=np.intp)
    rows = np.flatnonzero((number > 0) & (number < n_items))  # all others had no choice
    rows = rows[np.argsort(number[rows], kind="stable")]
    if not rows.size:
        return statistic, free
    scores, starts = np.unique(number[rows], return_index=True)
    sizes = np.add.reduceat(weights[rows], starts)
    for items, joint in _joint(model, coords, nodes, shares, scores):
        total = joint.sum(axis=0)
        known = total.any(axis=1)
        share = np.divide(sizes[:, None], total, out=np.zeros_like(total), where=total > 0)
        right = np.add.reduceat(weights[rows, None] * cells[rows, items], starts, axis=0)
        observed = np.stack([sizes[:, None] - right, right])[:, known]
        expected = (joint * share)[:, known]
        statistic[items], free[items] = of_two_cells(sizes[known], observed, expected)
        for k in np.flatnonzero((expected == 0).any(axis=(0, 1))):  # a response that is impossible
            pairs = observed[:, :, k].T, expected[:, :, k].T
            groups = by_score(scores[known], *pairs, 2, n_items)
            at = items.start + int(k)
            statistic[at], free[at] = compared(joined(groups))
    return statistic, free


def _joint(
    model: Categorical, coords: Floats, nodes: Floats, shares: Floats, scores: np.ndarray
) -> Iterator[tuple[slice, Floats]]:
    """Of blocks of items, the chance of scores with a wrong and with a right response."""
    if len(coords) <= MANY_ITEMS:
        prob = np.exp(model.log_prob(coords, nodes))
        joint = np.stack([each for _, each in joint_with_score(prob, shares, scores)])
        yield slice(0, len(coords)), np.moveaxis(joint, (0, 1, 2), (2, 1, 0))
        return
    right = np.empty((len(coords), len(nodes)))
    for items in row_blocks(len(coords), ITEMS_AT_A_TIME):
        part = model.of_items(np.arange(items.start, items.stop))
        right[items] = np.exp(part.log_prob(coords[items], nodes)[1])
    yield from joint_with_number_right(right, shares, scores)


def _widths(prob: Floats) -> np.ndarray:
    """How many categories each item has: those above its last reachable one are absent."""
    reachable = prob.max(axis=2) > LEAST_PROBABILITY
    last = len(prob) - np.argmax(reachable[::-1], axis=0)
    widths: np.ndarray = np.maximum(last, 2)
    return widths


def _expected(joint: Floats, sizes: Floats) -> Floats:
    """Expected counts of the categories at each score that was seen."""
    total = joint.sum(axis=1)
    share = np.divide(sizes, total, out=np.zeros_like(total), where=total > 0)
    counts: Floats = joint * share[:, None]
    return counts


def _observed(
    codes: np.ndarray, place: np.ndarray, weights: Floats, shape: tuple[int, ...]
) -> Floats:
    """Counts of the categories at each score that was seen."""
    where = place * shape[1] + codes
    counts = np.bincount(where, weights, shape[0] * shape[1]).astype(np.float64)
    return counts.reshape(shape)
