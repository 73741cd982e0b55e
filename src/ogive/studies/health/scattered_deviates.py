"""Deviates among those of all others: where respondents vary more than the model allows.

One ability seldom explains all answers of real models, so their deviates scatter more than a
standard normal. Each is then judged by the scatter observed: of many respondents by the median and
its spread, of few by the root mean square of the others, with Student's t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach, t_reach

ENOUGH_TO_SCATTER = 20  # respondents whose median and spread are used
NORMAL_MAD = 1.4826
SMALLEST = 1e-300  # probability, so that a deviate is finite
CONFIDENCE = 0.95


class Among(NamedTuple):
    """Deviates as they are judged, and the middle and spread by which; one each."""

    z: Floats
    middle: Floats
    scatter: Floats


def among_others(z: Floats) -> Among:
    """Deviates by the scatter of all, if it exceeds the model's; NaN stays."""
    seen = z[np.isfinite(z)]
    if len(seen) < ENOUGH_TO_SCATTER:
        return _of_few(z)
    middle = float(np.median(seen))
    scatter = max(NORMAL_MAD * float(np.median(np.abs(seen - middle))), 1.0)
    return Among((z - middle) / scatter, np.full_like(z, middle), np.full_like(z, scatter))


def _of_few(z: Floats) -> Among:
    """By the model or by the spread of the others around 0, whichever is less surprised."""
    from scipy.special import ndtri, stdtr

    finite = np.isfinite(z)
    others = int(finite.sum()) - 1
    if others < 1:
        return Among(z, np.zeros_like(z), np.ones_like(z))
    squares = np.where(finite, z, 0.0) ** 2
    spread = np.sqrt((squares.sum() - squares) / others)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = stdtr(others, -np.abs(z) / spread)
    far = -ndtri(np.clip(below, SMALLEST, 0.5))
    judged = np.sign(z) * np.minimum(np.abs(z), far)
    longer = float(t_reach(np.array(float(others)), CONFIDENCE)) / normal_reach(CONFIDENCE)
    return Among(judged, np.zeros_like(z), np.maximum(spread * longer, 1.0))
