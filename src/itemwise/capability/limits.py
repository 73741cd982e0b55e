"""The limit of each class, and what follows for each case: model or person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.class_tests import UNKNOWN, SuccessCurve, learn_curve, run_class_tests
from itemwise.capability.risk import Accepted, accepted, fewest_cases
from itemwise.numerics.arrays import Bools, Floats
from itemwise.numerics.intervals import share_interval
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.intp]
CLOSE = 1e-9  # relative; cases at the threshold itself are not accepted
REPORTED = (
    "limit",
    "limit_se",
    "held_out",
    "accepted",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
)
COUNTS = ("held_out", "accepted")
HALF = 0.5
NEVER = -1e3  # the middle of a class with unknown limit, whose cases are trusted least
MODEL, PERSON = "model", "person"


@dataclass(frozen=True, eq=False)
class Limits:
    """The model decides a case whose difficulty, as its predicted class, is within the limit.

    The estimated chance that the model is right is σ(slope (middle - difficulty)).
    """

    limit: Floats  # (n_classes,), as all; -inf accepts no case of the class, inf all
    limit_se: Floats  # of the adaptive test; NaN if the limit comes from a target
    slope: Floats
    middle: Floats
    notes: tuple[str, ...] = ()

    def trust(self, codes: Codes, difficulty: Floats) -> Floats:
        """Log-odds that the model is right on each case, (n_cases,)."""
        return np.asarray(self.slope[codes] * (self.middle[codes] - difficulty))

    def within(self, codes: Codes, difficulty: Floats) -> Bools:
        """Which cases the model decides."""
        return np.asarray(difficulty <= self.limit[codes])


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


def limits_by_target(
    difficulty: Floats,
    predicted: Codes,
    right: Bools,
    curves: Sequence[SuccessCurve],
    *,
    target: float,
    alpha: float,
) -> tuple[Limits, Accepted]:
    """Find limits at which accepted cases reach the accuracy `target`, on held-out cases.

    `difficulty` is that of each case as a member of its predicted class. The curves make classes
    comparable, so one threshold on the chance of being right gives a limit for each class.
    """
    slope, middle = (
        np.array([getattr(one, name) for one in curves]) for name in ("slope", "middle")
    )
    free = Limits(np.zeros_like(slope), np.full_like(slope, np.nan), slope, middle)
    found = accepted(free.trust(predicted, difficulty), right, target=target, alpha=alpha)
    edge = found.threshold
    if np.isfinite(edge):
        edge += CLOSE * (1 + abs(edge))
    limit = middle - edge / slope
    notes = () if found.n_accepted else (_unproven(found, len(right)),)
    return Limits(limit, free.limit_se, slope, middle, notes), found


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
    limits: Limits, classes: NDArray[Any], predicted: Codes, difficulty: Floats, right: Bools
) -> pd.DataFrame:
    """One row per class: its limit, and the accepted held-out cases predicted as such."""
    import pandas as pd

    n_classes = len(classes)
    within = limits.within(predicted, difficulty)
    cases, taken, good = (
        np.bincount(predicted[part], minlength=n_classes).astype(np.float64)
        for part in (np.ones_like(within), within, within & right)
    )
    low, high = share_interval(good, taken)
    with np.errstate(invalid="ignore"):
        accuracy = good / taken
    columns = {
        "limit": limits.limit,
        "limit_se": limits.limit_se,
        "held_out": cases.astype(np.int64),
        "accepted": taken.astype(np.int64),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
    }
    return pd.DataFrame(columns, index=pd.Index(classes, name="class"))


def acceptance_notes(capability: pd.DataFrame, predicted: Codes, right: Bools) -> list[str]:
    """Notes on classes whose accepted cases are mostly wrong, or no better than the others."""
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
            f"predicted as {', '.join(wrong)}. Set target_accuracy, or leave them to people."
        )
    if equal:
        notes.append(
            f"Held-out cases predicted as {', '.join(equal)} are right no more often within the "
            "limit than overall: difficulty does not show which to trust there."
        )
    return notes


def unknown_notes(n_cases: int) -> list[str]:
    """A note if held-out cases have no known feature: such cases go to a person."""
    said = (
        f"Left out (no known feature): {counted(n_cases, 'held-out case')}. Such cases go to a "
        "person."
    )
    return [said] if n_cases else []


def _unproven(found: Accepted, n_cases: int) -> str:
    least = fewest_cases(found.target, found.alpha)
    why = (
        f"{n_cases:,} held-out cases are too few, at least {least:,} are needed"
        if n_cases < least
        else "too many of the most certain held-out cases are wrong"
    )
    return (
        f"An accuracy of {found.target:g} could not be shown for any share of the cases ({why}): "
        "all cases go to a person. Give more cases, or lower the target."
    )


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions of a gate as arrays, (n_cases,)."""

    codes: Codes  # of the predicted classes
    cdi: Floats  # as a member of the predicted class, as all below
    cdi_se: Floats
    limit: Floats
    within: Bools  # whether the model decides
    known: Bools  # False if all features of the scale are missing
    unseen: Mapping[
        str, Mapping[int, str]
    ]  # feature -> case -> category that was not in the training cases

    @property
    def difficulty(self) -> Floats:
        """A case is hard if it looks like a class other than the predicted one."""
        return -self.cdi


def decision_frame(
    found: Decisions, classes: NDArray[Any], index: Any, target: float | None = None
) -> pd.DataFrame:
    """One row per case: prediction, decision, the figures behind it, and a sentence.

    `target` is the target accuracy, if there is one.
    """
    import pandas as pd

    labels = classes[found.codes]
    figures = (labels, found.difficulty, found.limit, found.within)
    cases = zip(*(values.tolist() for values in figures), strict=True)
    reasons = [_reason(*case, target=target) for case in cases]
    for place in np.flatnonzero(~found.known).tolist():
        reasons[place] = "All features of the scale are missing: a person decides."
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
    """Say why the model decides, or a person."""
    if limit == -np.inf and target is not None:
        return (
            f"An accuracy of {100 * target:g} % could not be shown for any case: a person decides."
        )
    if limit == -np.inf:
        return f"The limit of class {label!r} is unknown: a person decides."
    if limit == np.inf:
        return f"Every case predicted as class {label!r} is accepted: the model decides."
    side, who = ("within", "the model") if within else ("beyond", "a person")
    here, there = f"{difficulty:.2f}", f"{limit:.2f}"
    if here == there:
        return f"Difficulty {there} is just {side} the limit of class {label!r}: {who} decides."
    return f"Difficulty {here} is {side} {there}, the limit of class {label!r}: {who} decides."
