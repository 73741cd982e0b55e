"""Rows of a frame by group: the largest apart, the rest together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.numerics.arrays import Array

MOST_GROUPS = 5  # that colours can tell apart without effort


def largest_groups(column: pd.Series, most: int = MOST_GROUPS) -> list[tuple[object, Array]]:
    """Name and rows (as places) of each group, largest first; beyond `most`, the rest as one."""
    import pandas as pd

    codes, names = pd.factorize(column.astype(object), use_na_sentinel=False)
    sizes = np.bincount(codes, minlength=len(names))
    order = np.argsort(-sizes, kind="stable")
    found = [(names[k], np.flatnonzero(codes == k)) for k in order[:most]]
    if len(rest := order[most:]):
        found.append((counted(len(rest), "other"), np.flatnonzero(np.isin(codes, rest))))
    return found
