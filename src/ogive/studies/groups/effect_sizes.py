"""How large a difference between two curves is, in several measures with standard errors.

The differences are in the expected response: its mean, and the mean of its size, over the abilities
that both groups have (Dorans and Kulick, 1986; Meade, 2010). The areas between the curves are in
units of ability (Raju, 1988), over the abilities of 99 % of the respondents: what lies beyond is
extrapolated. The difference of difficulty is the shift of the curve at the ability where both
groups are; for 2PL curves with one discrimination it is the signed area.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.diagnostics.group_curves import GroupCurves
from ogive.numerics.arrays import Floats

MEASURES = (
    "difference",
    "unsigned_difference",
    "difficulty_difference",
    "signed_area",
    "unsigned_area",
)
BEYOND = 0.005  # share of the respondents at either end that the areas leave out
STEP = 1e-4  # of a coefficient, for differences
FLATTEST = 0.05  # log-odds per unit; a flatter curve has no difficulty


def effect_sizes(curves: GroupCurves, group: int) -> dict[str, Floats]:
    """Each measure and its standard error (delta method), by item: a group against the first."""
    value = _measures(curves, group)
    slopes = []
    for p in range(curves.coefs.shape[1]):
        step = np.zeros(curves.coefs.shape[1])
        step[p] = STEP
        ends = [
            _measures(replace(curves, coefs=curves.coefs + sign * step), group) for sign in (1, -1)
        ]
        slopes.append((ends[0] - ends[1]) / (2 * STEP))
    jacobian = np.stack(slopes, axis=2)  # (n_measures, n_items, n_coefs)
    variance = np.einsum("mnp,npq,mnq->mn", jacobian, curves.covariances, jacobian)
    error = np.sqrt(np.maximum(variance, 0.0))
    found: dict[str, Floats] = {}
    for name, values, errors in zip(MEASURES, value, error, strict=True):
        found |= {name: values, f"{name}_se": errors}
    return found


def _measures(curves: GroupCurves, group: int) -> Floats:
    """All measures, (n_measures, n_items)."""
    matching = curves.matching
    shared = matching.shared(group)
    gap = curves.expected(group) - curves.expected(0)
    wide = _range(matching.weights.mean(axis=0)) * (matching.nodes[1] - matching.nodes[0])
    return np.stack(
        [
            gap @ shared,
            np.abs(gap) @ shared,
            _shift(curves, group, shared),
            -gap @ wide,
            np.abs(gap) @ wide,
        ]
    )


def _range(density: Floats) -> Floats:
    """1 at the nodes between which all but the outermost respondents are."""
    below = density.cumsum()
    return ((below >= BEYOND) & (below <= 1 - BEYOND)).astype(float)


def _shift(curves: GroupCurves, group: int, shared: Floats) -> Floats:
    """How much more ability the group needs for the same log-odds, where both groups are."""
    first, other = curves.log_odds(0), curves.log_odds(group)
    rise = np.gradient((first + other) / 2, curves.matching.nodes, axis=1) @ shared
    steep = np.where(np.abs(rise) < FLATTEST, np.nan, rise)
    return np.asarray(-((other - first) @ shared) / steep)
