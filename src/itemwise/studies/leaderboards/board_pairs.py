"""Ranks of the respondents of a leaderboard, from tests of pairs or from intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.numerics.compared_rows import Pairs
from itemwise.numerics.differing import Differences


def rank_limits(
    pairs: Pairs, n: int, confidence: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent, from who is significantly better or worse."""
    return Differences(n, pairs.difference, pairs.p, pairs.p_family).rank_limits(confidence)


def rank_limits_apart(low: Floats, high: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lowest and highest rank of each respondent from simultaneous intervals, without paired tests.

    Respondents whose interval lies wholly above rank higher, those wholly below rank lower. This is
    wider than by pairs, but time and memory do not grow with the number of pairs.
    """
    n = low.size
    ahead = n - np.searchsorted(np.sort(low), high, side="right")
    behind = np.searchsorted(np.sort(high), low, side="left")
    return 1 + ahead, n - behind
