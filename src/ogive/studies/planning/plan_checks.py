"""What a plan refuses, and why: amounts that cannot be, arguments that do not apply."""

from __future__ import annotations

import numpy as np

from ogive.arguments import as_number, whole_number
from ogive.errors import InputError
from ogive.numerics.planned_sizes import FEWEST
from ogive.responses import Responses
from ogive.words import shown


def check_amounts(difference: object, cost: object, n_items: object) -> None:
    """Refuse amounts that cannot be."""
    if not 0 < as_number(difference) < np.inf:
        raise InputError(
            f"difference is {shown(difference)}, but it must be above 0, such as 0.03 for three "
            "points."
        )
    if cost is not None and not 0 <= as_number(cost) < np.inf:
        raise InputError(f"cost is {shown(cost)}, but it must be a number of at least 0.")
    if n_items is not None:
        whole_number(n_items, "n_items", FEWEST)


def check_in_range(difference: float, table: Responses | None) -> None:
    """Refuse a difference that no two mean scores can have."""
    widest = 1.0 if table is None else range_of(table)
    if difference < widest:
        return
    share = difference / 100
    near = " Three points of accuracy are 0.03." if widest == 1.0 else " Give a smaller one."
    near = f" Did you mean {share:g}?" if widest == 1.0 and 1 < difference < 100 else near
    what = "scores lie between 0 and 1" if widest == 1.0 else f"scores span {widest:g}"
    raise InputError(
        f"difference is {difference:g}, but {what}, so that no two models differ by so much.{near}"
    )


def range_of(table: Responses) -> float:
    """How far apart mean scores can be: of right and wrong answers 1, of others as observed."""
    if table.kind in ("binary", "nominal") or not table.observed.any():
        return 1.0
    return max(float(np.nanmax(table.values) - np.nanmin(table.values)), np.finfo(float).tiny)


def refuse(why: str, **given: object) -> None:
    """Arguments that do not apply are refused, not ignored."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} does not apply here: {why}.")
