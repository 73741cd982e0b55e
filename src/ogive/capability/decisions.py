"""Model or person, case by case, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.capability.promises import CLASS, GROUP, PREDICTION, Promise
from ogive.capability.trust import CAPABILITY, WORDS, Codes, Seen, Trust
from ogive.numerics.arrays import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

MODEL, PERSON = "model", "person"


class Verdicts(NamedTuple):
    """What a limit says of cases, (n_cases,) each."""

    score: Floats  # by which cases are ranked
    edge: Floats  # score from which they are accepted; infinite if none is, -infinite if all are
    trust: Floats  # estimated chance that the model is right
    least: Floats  # chance from which such cases are accepted
    limit: Floats  # difficulty up to which they are; NaN if difficulty plays no part
    within: Bools  # whether the model decides


@dataclass(frozen=True, eq=False)
class PromisedLimits:
    """The model decides a case if it is trusted enough for the promise that was tested."""

    trust: Trust
    promise: Promise

    def judge(self, seen: Seen) -> Verdicts:
        """Which cases the model decides, and how far it is trusted with each."""
        odds, edge = self.trust.log_odds(seen), self.promise.edges(seen)
        shift = self.trust.offset[seen.codes]
        limit = self.trust.limit(seen, odds, edge)
        trust, least = chance(odds - shift), chance(edge - shift)
        return Verdicts(odds, edge, trust, least, limit, odds >= edge)

    def by_class(self) -> tuple[Floats, Floats, Floats]:
        """Limit, its standard error and the least trust of each class; NaN if it differs."""
        n_classes = len(self.trust.offset)
        unknown = np.full(n_classes, np.nan)
        if self.promise.by == GROUP:
            return unknown, unknown, unknown
        every = Seen(np.arange(n_classes), np.zeros(n_classes), None)
        edge = self.promise.edges(every)
        least = chance(edge - self.trust.offset)
        if self.trust.needs_confidence:
            return np.where(np.isinf(edge), -edge, np.nan), unknown, least
        return self.trust.limit(every, edge, edge), unknown, least


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions of a gate as arrays, (n_cases,)."""

    seen: Seen
    cdi: Floats  # as a member of the predicted class
    cdi_se: Floats
    verdicts: Verdicts
    within: Bools  # whether the model decides: within the limit, and known
    known: Bools  # False if all features of the scale are missing
    unseen: Mapping[
        str, Mapping[int, str]
    ]  # feature -> case -> category that was not in the training cases
    groups: tuple[str | None, ...] | None = None  # as given, if the gate uses them

    @property
    def codes(self) -> Codes:
        """The predicted classes."""
        return self.seen.codes

    @property
    def difficulty(self) -> Floats:
        """A case is hard if it looks like a class other than the predicted one."""
        return -self.cdi


@dataclass(frozen=True)
class Wording:
    """What sentences need to know of a gate: its promise, if it makes one, and what groups are."""

    promised: PromisedLimits | None = None
    fact: str = "group"

    def reason(self, case: Case) -> str:
        """Say why the model decides, or a person."""
        if self.promised is None:
            return _by_limit(case)
        promise, kind = self.promised.promise, self.promised.trust.kind
        if promise.by == GROUP and case.place < 0:
            if case.group is None:
                return f"Its {self.fact} is missing: a person decides."
            return (
                f"Its {self.fact} {case.group[:60]!r} was not among those of the training cases: a "
                "person decides."
            )
        where = self._where(case, promise)
        if case.edge == np.inf:
            return _unproven(case, promise, where)
        if case.edge == -np.inf:
            return f"Every case{where} is accepted: the model decides."
        if kind == CAPABILITY:
            return _by_limit(case)
        side, who = ("is at least", "the model") if case.within else ("is below", "a person")
        here, there = f"{100 * case.trust:.2f} %", f"{100 * case.least:.2f} %"
        if here == there:
            side = "is just at" if case.within else "is just below"
        return (
            f"The estimated chance of being right, {here} by {WORDS[kind]}, {side} {there}, the "
            f"least that is accepted{where}: {who} decides."
        )

    def _where(self, case: Case, promise: Promise) -> str:
        """The part of the cases that a threshold is for."""
        if promise.by == GROUP:
            return f" of {self.fact} {case.group!r:.60}"
        return f" predicted as class {case.label!r}" if promise.by in (CLASS, PREDICTION) else ""


class Case(NamedTuple):
    """The figures behind one decision."""

    label: Any
    difficulty: float
    limit: float
    within: bool
    trust: float
    least: float
    edge: float
    place: int  # of its part of the promise; -1 if it is in none
    group: str | None


def decision_frame(
    found: Decisions, classes: NDArray[Any], index: Any, wording: Wording
) -> pd.DataFrame:
    """One row per case: prediction, decision, the figures behind it, and a sentence."""
    import pandas as pd

    labels = classes[found.codes]
    made, n = found.verdicts, len(found.codes)
    promised = wording.promised
    places = np.zeros(n, int) if promised is None else promised.promise.places(found.seen)
    groups = (None,) * n if found.groups is None else found.groups
    figures = (labels, found.difficulty, made.limit, found.within)
    chances = (made.trust, made.least, made.edge, places)
    cases = zip(*(values.tolist() for values in (*figures, *chances)), groups, strict=True)
    reasons = [wording.reason(Case(*case)) for case in cases]
    for place in np.flatnonzero(~found.known).tolist():
        reasons[place] = "All features of the scale are missing: a person decides."
    for feature, categories in found.unseen.items():
        for place, category in categories.items():
            reasons[place] += f" Its {feature} {category[:60]!r} was not seen in training."
    columns = {
        "prediction": labels,
        "decision": np.where(found.within, MODEL, PERSON),
        "trust": made.trust,
        "least_trust": made.least,
        "cdi": found.cdi,
        "cdi_se": found.cdi_se,
        "difficulty": found.difficulty,
        "limit": made.limit,
        "reason": reasons,
    }
    return pd.DataFrame(columns, index=index)


def chance(odds: Floats) -> Floats:
    """Log-odds as a chance."""
    from scipy.special import expit

    return np.asarray(expit(odds))


def _unproven(case: Case, promise: Promise, where: str) -> str:
    share = f"{100 * promise.target:g} %"
    if (promise.edge == np.inf).all():
        return f"An accuracy of {share} could not be shown for any case: a person decides."
    few = "there were too few" if promise.few[case.place] else "it could not be shown"
    return f"An accuracy of {share} is not promised for cases{where}, {few}: a person decides."


def _by_limit(case: Case) -> str:
    if case.limit == -np.inf:
        return f"The limit of class {case.label!r} is unknown: a person decides."
    if case.limit == np.inf:
        return f"Every case predicted as class {case.label!r} is accepted: the model decides."
    side, who = ("within", "the model") if case.within else ("beyond", "a person")
    here, there = f"{case.difficulty:.2f}", f"{case.limit:.2f}"
    if here == there:
        return (
            f"Difficulty {there} is just {side} the limit of class {case.label!r}: {who} decides."
        )
    return f"Difficulty {here} is {side} {there}, the limit of class {case.label!r}: {who} decides."
