"""Which rows of a table can be compared: those that columns link, directly or through others.

Two respondents who share no item, and whom no third links, have nothing in common: on one scale
their places would come from the prior alone. Whoever ranks or calibrates asks here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Parts = NDArray[np.intp]


def linked_parts(observed: NDArray[np.bool_]) -> tuple[Parts, Parts]:
    """Return the connected part that each row and each column belongs to; that of most rows is 0.

    Rows and columns without any entry belong to no part of their own: they count to the first.

    >>> linked_parts(np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool))[0].tolist()
    [1, 0, 0]
    """
    n, m = observed.shape
    rows, columns = np.zeros(n, dtype=np.intp), np.zeros(m, dtype=np.intp)
    if _all_linked(observed):
        return rows, columns
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    row, column = np.nonzero(observed)
    links = coo_array((np.ones(row.size, dtype=np.int8), (row, column + n)), shape=(n + m, n + m))
    label = connected_components(links, directed=False)[1]
    some = np.concatenate([observed.any(axis=1), observed.any(axis=0)])
    size = np.bincount(label[:n][some[:n]], minlength=int(label.max()) + 1)
    place = np.empty(size.size, dtype=np.intp)
    place[np.argsort(-size, kind="stable")] = np.arange(size.size)
    found = np.where(some, place[label], 0)
    return found[:n], found[n:]


def _all_linked(observed: NDArray[np.bool_]) -> bool:
    """Return True if a walk from the fullest row reaches every row: cheap, and nearly always so."""
    some = observed.any(axis=1)
    if not some.any():
        return True
    start = int(np.argmax(observed.sum(axis=1)))
    columns = observed[start]
    if columns.all():
        return True
    reached = np.zeros(len(observed), dtype=bool)
    reached[start], new = True, columns
    while new.any():
        found = observed[:, new].any(axis=1) & ~reached
        reached |= found
        if reached[some].all():
            return True
        new = observed[found].any(axis=0) & ~columns
        columns = columns | new
    return False
