"""Connected parts: which rows of a table can be compared, directly or through others.

Two respondents who share no item, and whom no third links, have nothing in common: on one scale
their abilities would come from the prior alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Parts = NDArray[np.intp]


def linked_parts(observed: NDArray[np.bool_]) -> tuple[Parts, Parts]:
    """Return the connected part of each row and each column; the part with most rows is 0.

    Rows and columns without any entry belong to no part of their own: they count to the first.

    >>> linked_parts(np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool))[0].tolist()
    [1, 0, 0]
    """
    n, m = observed.shape
    if _all_linked(observed):
        return np.zeros(n, dtype=np.intp), np.zeros(m, dtype=np.intp)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    row, column = np.nonzero(observed)
    links = coo_array((np.ones(row.size, dtype=np.int8), (row, column + n)), shape=(n + m, n + m))
    label = connected_components(links, directed=False)[1]
    has_entry = np.concatenate([observed.any(axis=1), observed.any(axis=0)])
    size = np.bincount(label[:n][has_entry[:n]], minlength=int(label.max()) + 1)
    parts = np.where(has_entry, numbered_by_size(label, size), 0)
    return parts[:n], parts[n:]


def numbered_by_size(label: NDArray[np.int32], size: NDArray[np.intp]) -> Parts:
    """Return labels renumbered by `size`, one per label, the largest 0."""
    number = np.empty(size.size, dtype=np.intp)
    number[np.argsort(-size, kind="stable")] = np.arange(size.size)
    return np.asarray(number[label])


def _all_linked(observed: NDArray[np.bool_]) -> bool:
    """Return True if a walk from the fullest row reaches every row: cheap, and nearly always so."""
    has_entry = observed.any(axis=1)
    if not has_entry.any():
        return True
    start = int(np.argmax(observed.sum(axis=1)))
    columns = observed[start]
    if columns.all():
        return True
    reached = np.zeros(len(observed), dtype=bool)
    reached[start], new = True, columns
    while new.any():
        rows = observed[:, new].any(axis=1) & ~reached
        reached |= rows
        if reached[has_entry].all():
            return True
        new = observed[rows].any(axis=0) & ~columns
        columns = columns | new
    return False
