"""The limit of each class by adaptive tests, and what is accepted of those predicted as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.capability.class_tests import UNKNOWN, SuccessCurve, learn_curve, run_class_tests
from ogive.capability.decisions import Verdicts, chance
from ogive.capability.promises import ALL
from ogive.capability.risk import known_shares
from ogive.capability.trust import Codes, Seen
from ogive.numerics.arrays import Bools, Floats
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

REPORTED = (
    "limit",
    "limit_se",
    "least_trust",
    "held_out",
    "accepted",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
)
HALF = 0.5
NEVER = -1e3  # the middle of a class with unknown limit, whose cases are trusted least


@dataclass(frozen=True, eq=False)
class Limits:
    """The model decides a case whose difficulty, as its predicted class, is within the limit.

    The estimated chance that the model is right is σ(slope (middle - difficulty)).
    """

    limit: Floats  # (n_classes,), as all; -inf accepts no case of the class, inf all
    limit_se: Floats  # of the adaptive test
    slope: Floats
    middle: Floats
    notes: tuple[str, ...] = ()

    def judge(self, seen: Seen) -> Verdicts:
        """Which cases the model decides, and how far it is trusted with each."""
        codes = seen.codes
        odds = self.slope[codes] * (self.middle[codes] - seen.difficulty)
        edge = np.where(np.isinf(self.limit), -self.limit, 0.0)[codes]
        limit = self.limit[codes]
        return Verdicts(odds, edge, chance(odds), chance(edge), limit, seen.difficulty <= limit)

    def by_class(self) -> tuple[Floats, Floats, Floats]:
        """Limit, its standard error and the least trust that is accepted, of each class."""
        return self.limit, self.limit_se, np.where(np.isinf(self.limit), chance(-self.limit), HALF)


def limits_by_test(
    difficulty: Floats,
    true: Codes,
    right: Bools,
    curves: Sequence[SuccessCurve],
    classes: Sequence[Any],
    *,
    rule: str,
    seed: int,
) -> Limits:
    """Find the capability of each class by adaptive tests on its held-out cases.

    `difficulty` (n_cases,) is that of each case as a member of its true class.
    """
    limit, error = np.full(len(classes), -np.inf), np.full(len(classes), np.nan)
    notes = []
    for code, label in enumerate(classes):
        own = true == code
        if not own.any():
            notes.append(
                f"No case of class {label!r} was held out, so its limit is unknown: cases "
                "predicted as such go to a person."
            )
            continue
        tests = run_class_tests(
            difficulty[own], right[own], rule=rule, curve=curves[code], random_state=seed
        )
        limit[code], error[code] = tests.mlc, tests.mlc_se
    slope = np.array([curve.slope for curve in curves])
    return Limits(limit, error, slope, np.where(np.isinf(limit), NEVER, limit), tuple(notes))


def curves_by_prediction(
    cdi: Floats, predicted: Codes | None, true: Codes
) -> tuple[SuccessCurve, ...]:
    """Learn how success falls with difficulty, by cross-validated predicted class.

    `cdi` is (n_cases, n_classes).
    """
    if predicted is None:
        return (UNKNOWN,) * len(cdi.T)
    difficulty: Floats = -cdi[np.arange(len(true)), predicted]
    right: Bools = predicted == true
    members = [predicted == code for code in range(len(cdi.T))]
    return tuple(learn_curve(difficulty[own], right[own]) for own in members)


def capability_frame(
    by_class: tuple[Floats, Floats, Floats],
    classes: NDArray[Any],
    predicted: Codes,
    within: Bools,
    right: Bools,
) -> pd.DataFrame:
    """One row per class: its limit, and the accepted held-out cases predicted as such."""
    import pandas as pd

    n_classes = len(classes)
    cases, taken, good = (
        np.bincount(predicted[part], minlength=n_classes).astype(np.float64)
        for part in (np.ones_like(within), within, within & right)
    )
    accuracy, low, high = known_shares(good, taken)
    values = (
        *by_class,
        cases.astype(np.int64),
        taken.astype(np.int64),
        accuracy,
        low,
        high,
    )
    columns = dict(zip(REPORTED, values, strict=True))
    return pd.DataFrame(columns, index=pd.Index(classes, name="class"))


def acceptance_notes(
    capability: pd.DataFrame, predicted: Codes, right: Bools, by: str | None
) -> list[str]:
    """Notes on classes whose accepted cases are mostly wrong, or no better than the others.

    A target holds `by` parts of the cases; None: there is no target.
    """
    wrong, equal = [], []
    for code, (label, row) in enumerate(capability.iterrows()):
        n, accuracy = int(row["accepted"]), row["accuracy"]
        if n and accuracy < HALF:
            wrong.append(f"{label} (right on {accuracy:.0%} of {counted(n, 'case')})")
        elif 0 < n < row["held_out"] and accuracy <= right[predicted == code].mean():
            equal.append(str(label))
    notes = []
    if wrong:
        notes.append(
            "The model is wrong on most of the held-out cases that the gate accepts among those "
            f"predicted as {', '.join(wrong)}. {_remedy(by)}"
        )
    if equal:
        notes.append(
            f"Held-out cases predicted as {', '.join(equal)} are right no more often within the "
            "limit than overall: difficulty does not show which to trust there."
        )
    return notes


def _remedy(by: str | None) -> str:
    """What to do about cases that are predicted as a class and mostly wrong."""
    if by is None:
        return "Set target_accuracy=0.97, for example, or leave them to people."
    if by == ALL:
        return "Set by='prediction' for a target that holds there too, or leave them to people."
    return "Leave them to people."


def unknown_notes(n_cases: int) -> list[str]:
    """A note if held-out cases have no known feature: such cases go to a person."""
    said = (
        f"Left out (no known feature): {counted(n_cases, 'held-out case')}. Such cases go to a "
        "person."
    )
    return [said] if n_cases else []
