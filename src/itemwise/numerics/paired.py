"""Two figures of the same cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from itemwise.numerics.arrays import Floats


def paired_difference(
    better: Any, worse: Any, n: Any, level: Any, inflation: Any = 1.0
) -> tuple[Any, Any]:
    """Interval of the difference of two paired shares (Agresti and Min, 2005).

    Of `n` cases, one is right alone in `better`, the other alone in `worse`. Half a case is added
    to each cell of the table, so that the interval has a width even where they never differ. The
    variance is `inflation` times that of independent cases. Numbers, or arrays of them.
    """
    from scipy.special import ndtri

    total = n + 2
    difference = (better - worse) / total
    variance = ((better + worse + 1) - (better - worse) ** 2 / total) / total**2
    reach = ndtri(0.5 + level / 2) * np.sqrt(inflation * variance)
    return np.maximum(-1.0, difference - reach), np.minimum(1.0, difference + reach)


def reach_of_parts(n_parts: int, level: float = 0.95) -> float:
    """How many standard errors a mean over so many parts may be off (Student's t)."""
    from scipy.stats import t as student

    return float(student.ppf(0.5 + level / 2, n_parts - 1))


def mcnemar(better: Floats, worse: Floats) -> Floats:
    """Exact two-sided p-value that two paired shares are the same, from the cases that differ."""
    from scipy.special import betainc

    # Binomial tail up to the smaller count, by the incomplete beta function.
    fewer, more = np.minimum(better, worse), np.maximum(better, worse)
    tail: Floats = betainc(np.maximum(more, 1.0), fewer + 1.0, 0.5)
    return np.where(more > 0, np.minimum(1.0, 2.0 * tail), 1.0)
