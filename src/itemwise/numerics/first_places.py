"""Who stands first: all that share the highest value, since a tie is won by nobody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats

FINEST = 9  # decimals that are compared; the rest is rounding


def first_places(value: Floats, within: float = 0.0) -> NDArray[np.intp]:
    """Positions of all that share the highest value; NaN has none.

    Values that a search has found are equal if they differ by no more than `within`.

    >>> first_places(np.array([0.5, 0.7, np.nan, 0.7 + 1e-12])).tolist()
    [1, 3]
    """
    rounded = np.round(np.asarray(value, dtype=float), FINEST)
    if np.isnan(rounded).all():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(rounded >= np.nanmax(rounded) - within)
