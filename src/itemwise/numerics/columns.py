"""Figures of the columns of a table with gaps (NaN), without a warning where one is empty."""

from __future__ import annotations

import numpy as np

from itemwise.numerics.arrays import Floats


def ranges(cells: Floats) -> Floats:
    """From the least to the greatest number of each column; 0 where it has none."""
    seen = ~np.isnan(cells)
    most = np.where(seen, cells, -np.inf).max(axis=0)
    least = np.where(seen, cells, np.inf).min(axis=0)
    found: Floats = np.where(seen.any(axis=0), most - least, 0.0)
    return found


def means(cells: Floats) -> Floats:
    """Of each column over its numbers; NaN where it has none."""
    seen = ~np.isnan(cells)
    count = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    found: Floats = np.where(seen, cells, 0.0).sum(axis=0) / count
    return found


def worst_where_missing(cells: Floats) -> Floats:
    """Gaps at the least number of their row, which is the worst where higher is better."""
    worst = np.fmin.reduce(cells, axis=1)[:, None]
    filled: Floats = np.where(np.isnan(cells), worst, cells)
    return filled


def fair_means(cells: Floats) -> Floats:
    """Mean of each column with gaps at the worst of their rows; -inf where it is empty.

    A mean over its own numbers would prefer a column that is known in good rows only.
    """
    found: Floats = np.where(
        np.isnan(cells).all(axis=0), -np.inf, worst_where_missing(cells).mean(axis=0)
    )
    return found
