"""How many items of a calibrated bank a comparison needs: chosen at random, or by information."""

from __future__ import annotations

from math import nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.numerics.intervals import normal_reach

if TYPE_CHECKING:
    from ogive.calibration import Calibration

RANDOM, BEST = "scale, random items", "scale, best items"
NORMAL = float(np.sqrt(np.pi / 2))  # standard deviation by mean absolute error
AXIS = np.linspace(-4.0, 4.0, 321)


def items_on_scale(
    bank: Calibration, accuracy: float, difference: float, *, power: float, alpha: float
) -> tuple[float, float]:
    """Items needed at random, and those of most information; NaN where the bank is too short.

    Two respondents near `accuracy` on the whole bank differ by `difference` there. The slope of
    the expected score turns it into a difference of ability, on which each respondent's items give
    information.
    """
    expected = bank.model.expected(bank.coords, AXIS).mean(axis=0)
    place = int(np.argmin(np.abs(expected - accuracy)))
    slope = float(np.gradient(expected, AXIS)[place])
    each = np.sort(bank.model.information(bank.coords, AXIS[place : place + 1])[:, 0])[::-1]
    reach = normal_reach(1 - alpha) + normal_reach(2 * power - 1)
    wanted = 2.0 * (reach * slope / difference) ** 2  # information that one respondent must give
    sums = np.cumsum(each)
    if wanted > sums[-1]:
        return nan, nan
    return float(np.ceil(wanted / each.mean())), float(np.searchsorted(sums, wanted) + 1)


def bank_needs(
    bank: Calibration, accuracy: float, difference: float, *, power: float, alpha: float
) -> list[dict[str, Any]]:
    """Designs with items of a bank, and how many they need; NaN where none is enough."""
    found = items_on_scale(bank, accuracy, difference, power=power, alpha=alpha)
    rows: list[dict[str, Any]] = [
        {"design": design, "items": items}
        for design, items in zip((RANDOM, BEST), found, strict=True)
    ]
    if bank.replayed is not None:
        reach = normal_reach(1 - alpha) + normal_reach(2 * power - 1)
        for way, errors in bank.replayed.compared.items():
            # Errors of two models are independent, since each is asked by itself.
            enough = [
                size
                for size, (error, _) in zip(bank.replayed.sizes, errors, strict=True)
                if reach * sqrt(2) * NORMAL * error <= difference
            ]
            items = float(enough[0]) if enough else nan
            rows.append({"design": f"{way}, as replayed", "items": items})
    return rows
