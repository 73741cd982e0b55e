"""Model or person: what a gate says of each case, as arrays and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.limits import Codes
from itemwise.numerics.arrays import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

MODEL, PERSON = "model", "person"


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a gate says of cases, an entry a case."""

    codes: Codes  # of the predicted classes
    cdi: Floats  # as predicted class, and so below
    cdi_se: Floats
    limit: Floats
    within: Bools  # whether the case is the model's
    known: Bools  # False where no feature of the scale is
    unseen: Mapping[str, Mapping[int, str]]  # feature -> case -> a category not seen in training

    @property
    def difficulty(self) -> Floats:
        """A case is hard where it looks like another class than the predicted one."""
        return -self.cdi


def decision_frame(
    found: Decisions, classes: NDArray[Any], index: Any, target: float | None = None
) -> pd.DataFrame:
    """One row a case: prediction, decision, the figures behind it, and a sentence.

    `target` is the accuracy that was asked for, where one was.
    """
    import pandas as pd

    labels = classes[found.codes]
    figures = (labels, found.difficulty, found.limit, found.within)
    cases = zip(*(values.tolist() for values in figures), strict=True)
    reasons = [_reason(*case, target=target) for case in cases]
    for place in np.flatnonzero(~found.known).tolist():
        reasons[place] = "No feature of the scale is known: a person decides."
    for feature, categories in found.unseen.items():
        for place, category in categories.items():
            reasons[place] += f" Its {feature} {category[:60]!r} was not seen in training."
    columns = {
        "prediction": labels,
        "decision": np.where(found.within, MODEL, PERSON),
        "cdi": found.cdi,
        "cdi_se": found.cdi_se,
        "difficulty": found.difficulty,
        "limit": found.limit,
        "reason": reasons,
    }
    return pd.DataFrame(columns, index=index)


def _reason(
    label: Any,
    difficulty: float,
    limit: float,
    within: bool,  # noqa: FBT001
    *,
    target: float | None,
) -> str:
    """Why the model decides, or a person."""
    if limit == -np.inf and target is not None:
        return f"An accuracy of {100 * target:g} % was not proven for any case: a person decides."
    if limit == -np.inf:
        return f"No limit is known up to which class {label!r} can be trusted: a person decides."
    if limit == np.inf:
        return f"Every case predicted as class {label!r} may be trusted: the model decides."
    side, who = ("within", "the model") if within else ("beyond", "a person")
    here, there = f"{difficulty:.2f}", f"{limit:.2f}"
    if here == there:
        return f"Difficulty {there} is just {side} the limit of class {label!r}: {who} decides."
    return f"Difficulty {here} is {side} {there}, the limit of class {label!r}: {who} decides."
