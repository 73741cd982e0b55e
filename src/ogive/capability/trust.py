"""How far the model is trusted with a case: by its capability, its own probability, or both.

Each is turned into the chance that the model is right, learned from the training cases out of fold.
Which one ranks cases best is not known beforehand, so it is chosen there too, by the share of cases
that the promise is expected to accept. Held-out cases play no part in it, so the promise that is
tested on them stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.capability.class_tests import SuccessCurve
from ogive.stats.array_backend import Bools, Floats

Codes = NDArray[np.intp]
CAPABILITY, PROBABILITY, MIXTURE, AUTO = "capability", "probability", "mixture", "auto"
KINDS = (MIXTURE, PROBABILITY, CAPABILITY)  # the first that a model allows is preferred
TRUSTS = (AUTO, *KINDS)
BETTER = 0.1  # of the cases; another kind has to be expected to accept so many more
CERTAIN = 1e-12  # probabilities closer to 0 or 1 are the same
FLATTEST = 0.01  # slope of trust in the model's confidence
WORDS = {
    CAPABILITY: "case difficulty",
    PROBABILITY: "the model's own confidence",
    MIXTURE: "case difficulty and the model's own confidence",
}


@dataclass(frozen=True, eq=False)
class Seen:
    """What is known of cases when the model has predicted them, (n_cases,) each."""

    codes: Codes  # of the predicted classes
    difficulty: Floats  # as a member of the predicted class
    sure: Floats | None  # confidence of the model, as log-odds; None if it has none
    groups: Codes | None = None  # -1: a group that was not in the training cases, or none

    def group_codes(self) -> Codes:
        """Return the groups, which have to be known."""
        return _given(self.groups, "groups")


@dataclass(frozen=True, eq=False)
class Judged:
    """Cases whose true class is known too."""

    seen: Seen
    true: Codes

    @property
    def right(self) -> Bools:
        """Whether the model is right on each case."""
        return np.asarray(self.seen.codes == self.true)


@dataclass(frozen=True, eq=False)
class Trust:
    """Log-odds that the model is right: a sum of its confidence and of its capability.

    The part of the capability is slope (middle - difficulty), by predicted class.
    """

    kind: str  # one of KINDS
    slope: Floats  # (n_classes,), as middle and offset
    middle: Floats
    offset: Floats  # shifts of whole predicted classes, which make classes comparable
    intercept: float = 0.0
    on_sure: float = 0.0
    on_capability: float = 1.0

    @classmethod
    def by_capability(cls, curves: Sequence[SuccessCurve]) -> Trust:
        """Return by the learned fall of success with difficulty."""
        slope, middle = (np.array([getattr(one, name) for one in curves]) for name in FIGURES)
        return cls(CAPABILITY, slope, middle, np.zeros_like(slope))

    @property
    def needs_confidence(self) -> bool:
        """Whether the model has to say how sure it is."""
        return self.kind != CAPABILITY

    def log_odds(self, seen: Seen) -> Floats:
        """Return log-odds that the model is right on each case, shifted by class, (n_cases,)."""
        able = self.slope[seen.codes] * (self.middle[seen.codes] - seen.difficulty)
        found = self.intercept + self.on_capability * able + self.offset[seen.codes]
        if self.on_sure:
            found = found + self.on_sure * _given(seen.sure, "confidence")
        return np.asarray(found)

    def limit(self, seen: Seen, odds: Floats, edge: Floats) -> Floats:
        """Difficulty up to which each case is accepted, all else equal; NaN if it plays no part.

        `odds` are its log-odds and `edge` those from which cases are accepted.
        """
        if self.on_capability == 0:
            return np.where(np.isinf(edge), -edge, np.nan)
        slope = self.on_capability * self.slope[seen.codes]
        if self.on_sure:
            return np.asarray(seen.difficulty + (odds - edge) / slope)
        shift = self.intercept + self.offset[seen.codes]  # the limit is that of the class
        return np.asarray(self.middle[seen.codes] + (shift - edge) / slope)


FIGURES = ("slope", "middle")


def candidates(capability: Trust, learning: Judged) -> tuple[Trust, ...]:
    """Every kind of trust that the model allows; `learning` are training cases out of fold."""
    sure = learning.seen.sure
    if sure is None:
        return (capability,)
    able, right = capability.log_odds(learning.seen), learning.right
    flat = replace(capability, kind=PROBABILITY, on_capability=0.0)
    alone = _fitted(sure[:, None], right)
    known = (0.0, 1.0) if alone is None else (alone[0], max(alone[1], FLATTEST))
    own = replace(flat, intercept=known[0], on_sure=known[1])
    both = _fitted(np.column_stack([sure, able]), right)
    if both is None or min(both[1:]) <= 0:  # one of the two adds nothing
        return own, capability
    mixed = replace(
        capability, kind=MIXTURE, intercept=both[0], on_sure=both[1], on_capability=both[2]
    )
    return mixed, own, capability


def choose(
    tried: Sequence[Trust], expected: Callable[[Trust], float]
) -> tuple[Trust, Mapping[str, float]]:
    """Return the trust with which most cases are expected to be accepted, and the shares of all."""
    shares = {one.kind: expected(one) for one in tried}
    best = tried[0]
    for one in tried[1:]:
        if shares[one.kind] > shares[best.kind] + BETTER:
            best = one
    return best, shares


def choice_note(chosen: Trust, shares: Mapping[str, float], n_others: int) -> str:
    """Say what trust rests on, and why."""
    rest = ", ".join(
        f"{100 * share:.0f} % with {WORDS[kind]}"
        for kind, share in shares.items()
        if kind != chosen.kind
    )
    said = f"Trust in a case rests on {WORDS[chosen.kind]}"
    if not rest:
        return f"{said}."
    return (
        f"{said}: from {n_others:,} training cases, predicted out of fold, "
        f"{100 * shares[chosen.kind]:.0f} % of cases were expected to be accepted, and {rest}."
    )


def as_log_odds(probability: Floats) -> Floats:
    """Return probabilities on the scale on which evidence adds up."""
    kept = np.clip(probability, CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def _given(values: NDArray[Any] | None, what: str) -> NDArray[Any]:
    if values is None:
        raise ValueError(f"the {what} of these cases should be known here")
    return values


def _fitted(columns: Floats, right: Bools) -> tuple[float, ...] | None:
    """Intercept and slopes of a logistic regression of being right; None if nothing varies."""
    from sklearn.linear_model import LogisticRegression

    if right.all() or not right.any():
        return None
    spread = columns.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    made = LogisticRegression(max_iter=1_000).fit(columns / unit, right)
    return float(made.intercept_[0]), *(made.coef_[0] / unit).tolist()
