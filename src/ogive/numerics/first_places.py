"""Who stands first: all that share the highest value, since a tie is won by nobody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

FINEST = 9  # decimals that are compared; the rest is rounding
LEAST_ASKED = 5  # items, below which a respondent does not stand before others who answered more


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


def answered_few(asked: NDArray[np.intp], part: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Who answered too few items to be first: one lucky answer would lead every table.

    Where nobody of a part answered enough, nobody has to stand back.

    >>> answered_few(np.array([1, 10, 2]), np.array([0, 0, 1])).tolist()
    [True, False, False]
    """
    most = np.zeros(int(part.max(initial=0)) + 1, dtype=np.intp)
    np.maximum.at(most, part, asked)
    found: NDArray[np.bool_] = (asked < LEAST_ASKED) & (most[part] >= LEAST_ASKED)
    return found
