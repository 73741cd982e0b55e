"""Items that behave differently in groups of respondents, found with purified anchors.

Items that differ distort the ability by which respondents are matched. So they are taken out of the
anchors, and everything is repeated until the same items are found again (Candell and Drasgow,
1988).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.group_curves import GroupCurves, fit_curves, group_effects, match
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import CORRECTIONS
from ogive.numerics.standing_out import StandingOut, stand_out

MOST_ROUNDS = 6
LEAST_ANCHORS = 2


@dataclass(frozen=True, eq=False)
class GroupDifferences:
    """Curves by group, how far each item stands out in each group, and which items differ."""

    curves: GroupCurves
    found: tuple[StandingOut, ...]  # one for each group besides the first
    p_adjusted: Floats  # (n_groups - 1, n_items), for all tests together
    differs: np.ndarray  # (n_groups - 1, n_items)
    anchors: np.ndarray  # (n_items,): what respondents were matched by
    rounds: int

    @property
    def scatter(self) -> float:
        """The largest scatter of mean differences beyond their errors, of any group."""
        return max(float(each.scatter[0]) for each in self.found)


def group_differences(
    values: Floats,
    groups: np.ndarray,
    calibration: Calibration,
    *,
    alpha: float,
    correction: str = "bh",
    anchors: np.ndarray | None = None,
    told: Callable[[int, int], None] = lambda *_: None,
) -> GroupDifferences:
    """Compare every group, numbered from 0, with group 0 on every item.

    `values` are the responses of the calibration. If `anchors` are given, they are trusted: no item
    is taken out of them.
    """
    trusted = anchors is not None
    used = np.ones(values.shape[1], dtype=bool) if anchors is None else anchors
    highest = np.fmax(np.fmax.reduce(values, axis=0), 1.0)
    seen: set[bytes] = set()
    for k in range(MOST_ROUNDS):
        seen.add(used.tobytes())
        curves = fit_curves(
            match(values, groups, calibration, used),
            values,
            highest,
            lambda done, k=k: told(k, done),  # type: ignore[misc]
        )
        effects = [group_effects(curves, g) for g in range(1, curves.matching.n_groups)]
        found = tuple(stand_out(e.effects, e.covariances, e.ways) for e in effects)
        p = np.stack([each.p for each in found])
        p_adjusted = CORRECTIONS[correction](p.ravel()).reshape(p.shape)
        differs = np.nan_to_num(p_adjusted, nan=1.0) < alpha
        ahead = np.asarray(~differs.any(axis=0))
        if trusted or ahead.tobytes() in seen or ahead.sum() < LEAST_ANCHORS:
            break
        used = ahead
    return GroupDifferences(curves, found, p_adjusted, differs, used, k + 1)
