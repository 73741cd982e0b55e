"""How far the model is trusted with a case: by its capability, its own probability, or both.

Each is turned into the chance that the model is right, learned from the training cases out of fold.
Which one ranks cases best is not known beforehand, so it is chosen there too, by the share of cases
that is expected to be accepted. Held-out cases play no part in it, so a guarantee that is tested on
them stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ogive.capability.class_tests import SuccessCurve
from ogive.stats.array_backend import Bools, Floats

Codes = NDArray[np.intp]
CAPABILITY, PROBABILITY, MIXTURE, AUTO = "capability", "probability", "mixture", "auto"
KINDS = (MIXTURE, PROBABILITY, CAPABILITY)  # the first that a model allows is preferred
TRUSTS = (AUTO, *KINDS)
MIN_GAIN = 0.1  # share of the cases that another kind must be expected to accept in addition
CERTAIN = 1e-12  # probabilities closer to 0 or 1 than this count as equal
FLATTEST = 0.01  # smallest slope of trust in the model's confidence
WORDS = {
    CAPABILITY: "case difficulty",
    PROBABILITY: "the model's own confidence",
    MIXTURE: "case difficulty and the model's own confidence",
}


@dataclass(frozen=True, eq=False)
class PredictedCases:
    """What is known of cases when the model has predicted them, (n_cases,) each."""

    codes: Codes  # predicted classes
    difficulty: Floats  # as a member of the predicted class
    confidence: Floats | None  # of the model, as log-odds; None if it has none
    groups: Codes | None = None  # -1: a group that was not in the training cases, or none


@dataclass(frozen=True, eq=False)
class LabelledCases:
    """Predicted cases whose true class is known too."""

    cases: PredictedCases
    true: Codes

    @property
    def correct(self) -> Bools:
        """Whether the model is right on each case."""
        return np.asarray(self.cases.codes == self.true)


@dataclass(frozen=True, eq=False)
class Trust:
    """Log-odds that the model is right: a sum of its confidence and of its capability.

    The part of the capability is slope (middle - difficulty), by predicted class.
    """

    kind: str  # one of KINDS
    slope: Floats  # (n_classes,), like `middle` and `offset`
    middle: Floats
    offset: Floats  # shifts of whole predicted classes, which make classes comparable
    intercept: float = 0.0
    on_confidence: float = 0.0
    on_capability: float = 1.0

    @classmethod
    def by_capability(cls, curves: Sequence[SuccessCurve]) -> Trust:
        """Return trust by the learned fall of success with difficulty."""
        slope = np.array([curve.slope for curve in curves])
        middle = np.array([curve.middle for curve in curves])
        return cls(CAPABILITY, slope, middle, np.zeros_like(slope))

    @property
    def needs_confidence(self) -> bool:
        """True if the model has to say how confident it is."""
        return self.kind != CAPABILITY

    def log_odds(self, cases: PredictedCases) -> Floats:
        """Return log-odds that the model is right on each case, shifted by class, (n_cases,)."""
        capability = self.slope[cases.codes] * (self.middle[cases.codes] - cases.difficulty)
        odds = self.intercept + self.on_capability * capability + self.offset[cases.codes]
        if self.on_confidence:
            assert cases.confidence is not None  # noqa: S101 - it was asked for
            odds = odds + self.on_confidence * cases.confidence
        return np.asarray(odds)

    def limit(self, cases: PredictedCases, odds: Floats, threshold: Floats) -> Floats:
        """Return the difficulty up to which each case is accepted; NaN if it plays no part.

        `odds` are the log-odds of the cases, `threshold` those from which they are accepted.
        """
        if self.on_capability == 0:
            return np.where(np.isinf(threshold), -threshold, np.nan)
        slope = self.on_capability * self.slope[cases.codes]
        if self.on_confidence:
            return np.asarray(cases.difficulty + (odds - threshold) / slope)
        shift = self.intercept + self.offset[cases.codes]  # the limit is that of the class
        return np.asarray(self.middle[cases.codes] + (shift - threshold) / slope)


def candidates(capability: Trust, training: LabelledCases) -> tuple[Trust, ...]:
    """Return every kind of trust that the model allows, from training cases out of fold."""
    confidence, correct = training.cases.confidence, training.correct
    if confidence is None:
        return (capability,)
    own_fit = _logistic_fit(confidence[:, None], correct)
    intercept, slope = (0.0, 1.0) if own_fit is None else (own_fit[0], max(own_fit[1], FLATTEST))
    own = replace(
        capability, kind=PROBABILITY, intercept=intercept, on_confidence=slope, on_capability=0.0
    )
    both = _logistic_fit(
        np.column_stack([confidence, capability.log_odds(training.cases)]), correct
    )
    if both is None or min(both[1:]) <= 0:  # one of the two adds nothing
        return own, capability
    mixture = replace(
        capability, kind=MIXTURE, intercept=both[0], on_confidence=both[1], on_capability=both[2]
    )
    return mixture, own, capability


def _logistic_fit(columns: Floats, correct: Bools) -> tuple[float, ...] | None:
    """Return intercept and slopes of a logistic regression; None if nothing varies."""
    from sklearn.linear_model import LogisticRegression

    if correct.all() or not correct.any():
        return None
    spread = columns.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    model = LogisticRegression(max_iter=1_000).fit(columns / unit, correct)
    return float(model.intercept_[0]), *(model.coef_[0] / unit).tolist()


def choose(
    tried: Sequence[Trust], expected: Callable[[Trust], float]
) -> tuple[Trust, Mapping[str, float]]:
    """Return the trust with which most cases are expected to be accepted, and the shares of all."""
    shares = {one.kind: expected(one) for one in tried}
    best = tried[0]
    for one in tried[1:]:
        if shares[one.kind] > shares[best.kind] + MIN_GAIN:
            best = one
    return best, shares


def choice_note(chosen: Trust, shares: Mapping[str, float], n_training: int) -> str:
    """Say what trust rests on, and why."""
    rest = ", ".join(
        f"{100 * share:.0f} % with {WORDS[kind]}"
        for kind, share in shares.items()
        if kind != chosen.kind
    )
    basis = f"Trust in a case rests on {WORDS[chosen.kind]}"
    if not rest:
        return f"{basis}."
    return (
        f"{basis}: from {n_training:,} training cases, predicted out of fold, "
        f"{100 * shares[chosen.kind]:.0f} % of cases were expected to be accepted, and {rest}."
    )


def as_log_odds(probability: Floats) -> Floats:
    """Return probabilities on the scale on which evidence adds up."""
    kept = np.clip(probability, CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(kept) - np.log1p(-kept))
