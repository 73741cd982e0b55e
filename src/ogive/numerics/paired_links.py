"""Which rivals the comparisons in pairs link, and whose strength they leave open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.paired_comparisons import Cells, Ints

WIDEST = 3.0  # standard deviation, in logits, of the prior where data leave a strength open


def always_ahead(cells: Cells) -> tuple[Ints, Ints]:
    """The connected part of each rival, and its strongly connected one.

    Strengths are finite and their differences identified only within one of the latter, where
    nobody wins all comparisons with the rest (Ford, 1957).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = cells.n_rivals
    wins, losses = cells.won + cells.tied > 0, cells.lost + cells.tied > 0
    rows = np.r_[cells.first[wins], cells.second[losses]]
    columns = np.r_[cells.second[wins], cells.first[losses]]
    graph = coo_array((np.ones(rows.size), (rows, columns)), shape=(m, m)).tocsr()
    part = by_size(connected_components(graph, directed=False)[1])
    return part, by_size(connected_components(graph, connection="strong")[1])


def ties_explain_all(cells: Cells) -> bool:
    """Whether strengths and ties may grow together without end.

    So it is if strengths exist by which every winner is ahead by one or more, and no two that tie
    are further apart than one: differences without a negative cycle (Bellman and Ford).
    """
    m = cells.n_rivals
    won, lost, tied = (x > 0 for x in (cells.won, cells.lost, cells.tied))
    if not tied.any():
        return False
    above = np.r_[cells.first[won], cells.second[lost]]
    below = np.r_[cells.second[won], cells.first[lost]]
    sides = (cells.first[tied], cells.second[tied])
    begin, end = np.r_[above, sides[0], sides[1]], np.r_[below, sides[1], sides[0]]
    length = np.r_[np.full(above.size, -1.0), np.ones(2 * int(tied.sum()))]
    reached = np.zeros(m)
    for _ in range(m + 1):
        new = reached.copy()
        np.minimum.at(new, end, reached[begin] + length)
        if (new == reached).all():
            return True
        reached = new
    return False


def by_size(label: NDArray[np.int32]) -> Ints:
    """Labels numbered by size, the largest 0."""
    size = np.bincount(label)
    place = np.empty(size.size, dtype=np.intp)
    place[np.argsort(-size, kind="stable")] = np.arange(size.size)
    found: Ints = place[label]
    return found


def prior_of(part: Ints, strong: Ints, *, whole: bool = False) -> tuple[Floats, NDArray[np.bool_]]:
    """Precision of the prior that open strengths need, and which strengths are open.

    They are drawn to the mean of the largest set of rivals that beat each other, or where there is
    none, or with `whole`, all to the mean of all.
    """
    n = part.size
    penalty, open_ = np.zeros((n, n)), np.zeros(n, dtype=bool)
    strong = np.arange(n) if whole else strong
    for k in range(int(part.max()) + 1):
        mine = np.flatnonzero(part == k)
        kinds, size = np.unique(strong[mine], return_counts=True)
        if kinds.size == 1:
            continue
        main = strong[mine] == kinds[np.argmax(size)]
        if size.max() == 1:
            main = np.ones(mine.size, dtype=bool)
            drawn = main
        else:
            drawn = ~main
        away = (np.eye(mine.size) - main / main.sum())[drawn]
        penalty[np.ix_(mine, mine)] += away.T @ away / WIDEST**2
        open_[mine[drawn]] = True
    return penalty, open_
