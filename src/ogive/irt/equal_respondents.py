"""Whether responses show an ability at all: without one, there is no unit to say differences in."""

from __future__ import annotations

import numpy as np

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import significantly_negative
from ogive.stats.array_backend import Floats

ALPHA = 0.05
TURNS, REST = 200, 1e-10


def check_shared_ability(bank: Calibration, table: Responses) -> None:
    """Refuse responses whose respondents differ no more than chance makes equal ones differ."""
    # Only sure signs are turned: chance gives half of the items either sign, which would add up.
    p = p_of_equal(table.values * np.where(significantly_negative(bank.items), -1.0, 1.0))
    if not p > ALPHA:
        return
    raise InputError(
        f"Respondents differ no more over the items than chance alone makes equal ones differ (p = "
        f"{p:.2g}), so these responses show no ability, and no unit to say differences in. Give "
        "more items or respondents that differ more, or compare mean scores: leaderboard."
    )


def p_of_equal(values: Floats) -> float:
    """F test of equal respondents, given that items differ; NaN where nothing is left to test by.

    `values` are (n_respondents, n_items), NaN where there is no response. Each item counts in units
    of its own spread, whatever it is measured in.
    """
    from scipy.special import fdtrc

    if np.isfinite(values).any(axis=1).sum() < 2:
        return float("nan")
    off, seen = _standardised(values)
    n, m = (int(seen.any(axis=axis).sum()) for axis in (1, 0))
    if not m:
        return 1.0  # items alone explain every response
    left = int(seen.sum()) - n - m + 1
    if n < 2 or left < 1:
        return float("nan")
    alone = float((off**2).sum())
    for _ in range(TURNS):  # both means at once; one turn is enough if no response is missing
        before = float((off**2).sum())
        off = _centred(_centred(off, seen, axis=1), seen, axis=0)
        after = float((off**2).sum())
        if before - after <= REST * alone:
            break
    ratio = (alone - after) / (n - 1) / max(after / left, 1e-300)
    return float(fdtrc(n - 1, left, ratio))


def _standardised(values: Floats) -> tuple[Floats, np.ndarray]:
    """How far responses are from the mean of their item, in its standard deviations, and which.

    Items to which all responses are the same say nothing of respondents, and are left out.
    """
    known = np.isfinite(values)
    high = np.where(known, values, -np.inf).max(axis=0)
    seen = known & (high > np.where(known, values, np.inf).min(axis=0))
    top = np.where(seen, np.abs(values), 0.0).max(axis=0)
    off = _centred(np.where(seen, values, 0.0) / np.where(top > 0, top, 1.0), seen, axis=0)
    spread = np.sqrt((off**2).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    return off / np.where(spread > 0, spread, 1.0), seen


def _centred(values: Floats, seen: np.ndarray, axis: int) -> Floats:
    """Without the mean of each column (axis 0) or row; 0 stays where there is no response."""
    mean = values.sum(axis=axis, keepdims=True) / np.maximum(seen.sum(axis=axis, keepdims=True), 1)
    found: Floats = np.where(seen, values - mean, 0.0)
    return found
