"""How success falls with difficulty: one logistic curve a class, learnt on cases set aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.success_curves import curves_of, points

FEWEST = 10  # cases of a class from which a curve is learnt
LEAST_SLOPE, MOST_SLOPE = 0.25, 20.0
LEAST_CHANCE = 0.05  # of falling at all, below which success is taken not to fall
FARTHEST = 6.0  # deviations from the mean of the index, beyond which no middle is believed
OTHERWISE = 0.25  # deviation by which the middle of another classifier, on other cases, may differ


@dataclass(frozen=True)
class SuccessCurve:
    """P(right) = σ(slope (middle - difficulty)), and how far the true middle may lie from it.

    As a prior of a test, `middle` and `deviation` say where the capability is expected.
    """

    slope: float = 1.0
    middle: float = 0.0
    deviation: float = 1.0
    n_cases: int = 0  # from which it was learnt

    def __post_init__(self) -> None:
        numbers = np.array([self.slope, self.middle, self.deviation], dtype=np.float64)
        if not (np.isfinite(numbers).all() and self.slope > 0 and self.deviation > 0):
            raise InputError(
                f"A success curve has slope {self.slope}, middle {self.middle} and deviation "
                f"{self.deviation}; give finite numbers, slope and deviation above 0."
            )


UNKNOWN = SuccessCurve()  # the slope that the step rule takes for granted, and a wide prior


def learn_curve(difficulty: Floats, right: NDArray[np.bool_]) -> SuccessCurve:
    """The curve of cases (n_cases,) that the classifier did not learn from; else `UNKNOWN`.

    Middle and slope are means over the falling curves that the cases leave possible; the deviation
    is theirs and that of another classifier. Where hardly any of them falls, the slope is the
    least, so that single cases tell little.
    """
    if len(difficulty) < FEWEST or np.ptp(difficulty) == 0:
        return UNKNOWN
    found = curves_of(points(difficulty, right.astype(np.float64)), 0.0)
    falls = found.slope > LEAST_SLOPE
    if found.weight[falls].sum() < LEAST_CHANCE:
        return SuccessCurve(LEAST_SLOPE, 0.0, FARTHEST / 3, len(difficulty))
    weight = found.weight[falls] / found.weight[falls].sum()
    slope = np.minimum(found.slope[falls], MOST_SLOPE)
    middles = np.clip(found.intercept[falls] / found.slope[falls], -FARTHEST, FARTHEST)
    middle = float(weight @ middles)
    spread = float(np.sqrt(weight @ (middles - middle) ** 2))
    return SuccessCurve(
        float(weight @ slope), middle, float(np.hypot(spread, OTHERWISE)), len(difficulty)
    )
