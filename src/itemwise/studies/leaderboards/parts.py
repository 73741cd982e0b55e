"""Which respondents can be compared at all: those linked by items that both answered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]


def linked_parts(observed: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The part, the largest is 0, that each respondent and each item belongs to.

    Two respondents are of one part if they share an item, or if others link them. Everybody and
    every item has at least one response.

    >>> linked_parts(np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool))[0].tolist()
    [1, 0, 0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, m = observed.shape
    if observed.all(axis=1).any() or observed.all(axis=0).any():
        return np.zeros(n, dtype=np.intp), np.zeros(m, dtype=np.intp)
    row, column = np.nonzero(observed)
    links = coo_array((np.ones(row.size, dtype=np.int8), (row, column + n)), shape=(n + m, n + m))
    label = connected_components(links, directed=False)[1]
    size = np.bincount(label[:n], minlength=int(label.max()) + 1)
    place = np.empty(size.size, dtype=np.intp)
    place[np.argsort(-size, kind="stable")] = np.arange(size.size)
    return place[label[:n]], place[label[n:]]
