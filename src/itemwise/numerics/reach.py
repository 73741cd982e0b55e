"""How far intervals reach: by the normal distribution, by Student's, or by errors seen."""

from __future__ import annotations

from math import ceil, inf
from statistics import NormalDist

import numpy as np

from itemwise.numerics.arrays import Floats


def normal_reach(confidence: float) -> float:
    """Standard errors each way of an interval of a normal error.

    >>> round(normal_reach(0.95), 2)
    1.96
    """
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_reach(freedom: Floats, confidence: float) -> Floats:
    """Standard errors each way where the standard error itself was estimated (Student's t)."""
    from scipy.special import stdtrit

    found: Floats = stdtrit(freedom, 0.5 + confidence / 2)
    return found


def conformal_rank(n: int, confidence: float) -> int:
    """Which of n sorted values holds one further with this confidence; n + 1 where none does."""
    return ceil(confidence * (n + 1) - 1e-9)  # 0.7 * 10 is above 7 by rounding alone


def conformal_quantile(values: Floats, confidence: float) -> float:
    """The value that one further like `values` exceeds with at most the rest of the confidence.

    Infinite where they are too few to promise that: 19 are needed for 0.95.

    >>> conformal_quantile(np.arange(1.0, 20.0), 0.9)
    18.0
    >>> conformal_quantile(np.arange(1.0, 5.0), 0.9)
    inf
    """
    rank = conformal_rank(values.size, confidence)
    return float(np.sort(values)[rank - 1]) if rank <= values.size else inf
