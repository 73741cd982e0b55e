"""Drift judged by the responses to the anchors themselves, old and new, at the same ability.

Better respondents meet another part of each curve. If curves do not follow the model, as those of
real benchmarks do not, parameters from two groups of different ability differ although no item
changed. The responses of both groups together show whether the curve itself changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.group_differences import GroupDifferences, group_differences
from ogive.estimation import calibrate
from ogive.models import Nominal, TwoPL
from ogive.models.categorical import Categorical
from ogive.responses import Responses, as_responses

FEWEST_ANCHORS = 5  # respondents are matched by the others
FEWEST_RESPONDENTS = 20  # of either calibration
MOST_RESPONDENTS = 5_000  # of either; more are sampled evenly


def drift_in_responses(
    old: Calibration, new: Calibration, names: Sequence[str], alpha: float
) -> GroupDifferences | None:
    """Compare old and new respondents on the anchors; None where this cannot be done."""
    if not isinstance(old.model, Categorical) or len(names) < FEWEST_ANCHORS:
        return None
    parts = [_values(bank, names) for bank in (old, new)]
    if any(part is None or len(part) < FEWEST_RESPONDENTS for part in parts):
        return None
    values = np.concatenate([part for part in parts if part is not None])
    groups = np.repeat([0, 1], [len(part) for part in parts if part is not None])
    model = TwoPL() if isinstance(old.model, Nominal) else old.model.unfitted()
    bank = calibrate(Responses(values, items=names), model, progress=False)
    return group_differences(values, groups, bank, alpha=alpha)


def _values(bank: Calibration, names: Sequence[str]) -> np.ndarray | None:
    """Responses to the anchors by those who answered any; None if they are not at hand.

    Chosen options become right and wrong, since one curve of each group is compared. Repeated
    answers are shares, of which no response function of single answers can be fitted.
    """
    if bank.responses is None or bank.weights is not None or bank.responses.tries is not None:
        return None
    values: np.ndarray = as_responses(bank.responses.select(items=list(names))).values
    values = values[np.isfinite(values).any(axis=1)]
    step = -(-len(values) // MOST_RESPONDENTS)
    return values[::step] if step else values
