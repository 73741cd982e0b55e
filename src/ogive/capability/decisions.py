"""Model or person, per case and per group.

Model or person, case by case, and a sentence that says why.

What a gate accepts of each class and group, and how often the model is right there.

The limit of each class by adaptive tests, and what is accepted of those predicted as such.

The limits of a gate: by adaptive tests of the capability, or by a promise that was tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.capability.class_tests import (
    UNKNOWN,
    Cases,
    SuccessCurve,
    curve_notes,
    learn_curve,
    run_class_tests,
    success_curves,
)
from ogive.capability.classifier import Classifier, OutOfFold
from ogive.capability.guarantees import (
    ALL,
    CLASS,
    GROUP,
    PREDICTION,
    Promise,
    Spec,
    expected_acceptance,
    make_promise,
    total_acceptance,
    unproven_note,
    with_shifts,
)
from ogive.capability.selective_risk import Accepted, known_shares
from ogive.capability.trust import (
    AUTO,
    CAPABILITY,
    MIXTURE,
    PROBABILITY,
    WORDS,
    Codes,
    Judged,
    Seen,
    Trust,
    as_log_odds,
    candidates,
    choice_note,
    choose,
)
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.stats.array_backend import Bools, Floats

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
        """Return which cases the model decides, and how far it is trusted with each."""
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
        """Return the part of the cases that a threshold is for."""
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
    """Return one row per case: prediction, decision, the figures behind it, and a sentence."""
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
    """Return log-odds as a chance."""
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


COUNTS = ("held_out", "accepted")
SHARES = ("share", "share_low", "share_high")
ACCURACIES = ("accuracy", "accuracy_low", "accuracy_high")
HALF = 0.5
RARELY = 0.5  # of the share accepted overall; below it, a part is accepted rarely
SHOWN = 5  # parts that a note names


class Parts(NamedTuple):
    """A way to divide cases."""

    by: str
    codes: Codes
    names: Sequence[Any]


def parts_frame(
    held: Judged, within: Bools, classes: Sequence[Any], groups: Sequence[str], promise: Any
) -> pd.DataFrame:
    """Return one row for all held-out cases, and one per true class, predicted class and group.

    `promised` says whether the target was shown for the part; shares and accuracies of accepted
    cases have exact 95 % intervals.
    """
    import pandas as pd

    rows = [
        row
        for division in divisions(held, classes, groups)
        for row in _rows(division, held.right, within, promise)
    ]
    return pd.DataFrame(rows)


def divisions(held: Judged, classes: Sequence[Any], groups: Sequence[str]) -> list[Parts]:
    """Return all cases, true classes, predicted classes and, if there are any, groups."""
    found = [
        Parts(ALL, np.zeros(len(held.true), dtype=np.intp), ["all"]),
        Parts(CLASS, held.true, classes),
        Parts(PREDICTION, held.seen.codes, classes),
    ]
    if held.seen.groups is not None and len(groups):
        found.append(Parts(GROUP, held.seen.groups, groups))
    return found


def parts_notes(frame: pd.DataFrame, target: float | None, fact: str) -> list[str]:
    """Say which classes and groups are accepted rarely, and where those accepted are wrong."""
    whole = frame[frame["by"] == ALL].iloc[0]
    notes = []
    for by, noun in ((CLASS, "class"), (GROUP, fact)):
        rows = frame[frame["by"] == by]
        rare = rows[
            (rows["share"] < RARELY * whole["share"]) & (rows["share_high"] < whole["share_low"])
        ]
        if len(rare):
            notes.append(
                f"{100 * whole['share']:.0f} % of the held-out cases are accepted, but fewer of "
                f"some, by {noun}: {_named(rare, _rare)}."
            )
        # Of true classes: one that is never predicted has no row among the predicted ones.
        failing = rows[(rows["accepted"] > 0) & (rows["accuracy"] < HALF)]
        if target is not None:
            missed = (rows["accuracy_high"] < target) & ~rows["promised"] & (rows["accepted"] > 0)
            failing = failing[~missed[failing.index]]
            notes += _missed_notes(rows[missed], by, noun, promised=bool(rows["promised"].any()))
        if len(failing):
            notes.append(_failing_note(failing, by, noun, target))
    return notes


def _missed_notes(rows: pd.DataFrame, by: str, noun: str, *, promised: bool) -> list[str]:
    """Say in which parts the target clearly fails, if in any."""
    if rows.empty:
        return []
    other = "" if promised else f" Set by='{by}' for one that holds in each."
    said = (
        f"The target holds for all accepted cases together, but not by {noun}: "
        f"{_named(rows, _wrong)}.{other}"
    )
    return [said]


def _failing_note(rows: pd.DataFrame, by: str, noun: str, target: float | None) -> str:
    """Say of which parts the model gets most of what it is left to decide wrong."""
    which = "that are" if by == CLASS else f"of {noun}"
    said = _named(rows, partial(_failing, which)).replace("of those", "Of the held-out cases", 1)
    settings = f"by='{by}'" if target is not None else f"target_accuracy=0.9, say, and by='{by}'"
    return f"{said}. For a promise in each {noun}, set {settings}."


def _rows(division: Parts, right: Bools, within: Bools, promise: Any) -> list[dict[str, Any]]:
    n_parts = len(division.names)
    known = division.codes >= 0
    n, taken, good = (
        np.bincount(division.codes[known & part], minlength=n_parts).astype(np.float64)
        for part in (np.ones_like(within), within, within & right)
    )
    shares, accuracies = known_shares(taken, n), known_shares(good, taken)
    promised = _promised(division, taken, promise)
    return [
        {
            "by": division.by,
            "part": str(name),
            "held_out": int(n[k]),
            "accepted": int(taken[k]),
            **{column: float(values[k]) for column, values in zip(SHARES, shares, strict=True)},
            **{c: float(values[k]) for c, values in zip(ACCURACIES, accuracies, strict=True)},
            "promised": bool(promised[k]),
        }
        for k, name in enumerate(division.names)
    ]


def _promised(division: Parts, taken: Any, promise: Promise | None) -> Bools:
    none = np.zeros(len(division.names), dtype=bool)
    if promise is None:
        return none
    if promise.by == division.by:
        return np.asarray((promise.edge < np.inf) & ~promise.few)
    # What holds in each of some parts holds in all of them together.
    return np.asarray(none | (division.by == ALL and bool(taken.sum())))


def _named(rows: pd.DataFrame, say: Any) -> str:
    named = [say(row) for _, row in rows.head(SHOWN).iterrows()]
    more = len(rows) - SHOWN
    return "; ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])


def _rare(row: Any) -> str:
    said = f"{row['part']} {_range(row, SHARES)}"
    if not row["accepted"]:
        return said
    return f"{said}, and the model is right on {_range(row, ACCURACIES)} of these"


def _wrong(row: Any) -> str:
    return f"{row['part']}, right on {_range(row, ACCURACIES)} of {row['accepted']:,} accepted"


def _failing(which: str, row: Any) -> str:
    taken, right = int(row["accepted"]), round(row["accuracy"] * row["accepted"])
    were = "was" if taken == 1 else "were"
    said = "none was right" if not right else f"only {right:,} of them right"
    return f"of those {which} {row['part']}, {taken:,} {were} accepted and {said}"


def _range(row: Any, columns: tuple[str, str, str]) -> str:
    value, low, high = (100 * row[name] for name in columns)
    return f"{value:.0f} % ({low:.0f} to {high:.0f} %)"


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
        """Return which cases the model decides, and how far it is trusted with each."""
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
    """Return one row per class: its limit, and the accepted held-out cases predicted as such."""
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
    """Return notes on classes whose accepted cases are mostly wrong, or no better than the others.

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
    """Return what to do about cases that are predicted as a class and mostly wrong."""
    if by is None:
        return "Set target_accuracy=0.97, for example, or leave them to people."
    if by == ALL:
        return "Set by='prediction' for a target that holds there too, or leave them to people."
    return "Leave them to people."


def unknown_notes(n_cases: int) -> list[str]:
    """Return a note if held-out cases have no known feature: such cases go to a person."""
    said = (
        f"Left out (no known feature): {counted(n_cases, 'held-out case')}. Such cases go to a "
        "person."
    )
    return [said] if n_cases else []


FOLDS = 5  # to learn how success falls with difficulty


@dataclass(frozen=True, eq=False)
class Material:
    """What limits are found from: training cases on the scale, and held-out cases as judged."""

    learning: Cases
    held: Judged
    cdi: Floats  # of the held-out cases, (n_cases, n_classes)
    classes: NDArray[Any]
    groups: Codes | None  # of the training cases
    group_names: tuple[str, ...] = ()
    fact: str = "group"


@dataclass(frozen=True, eq=False)
class FoundLimits:
    """The limits, and what describes them."""

    limits: Limits | PromisedLimits
    capability: pd.DataFrame
    parts: pd.DataFrame
    acceptance: Accepted | None
    trust_shares: Mapping[str, float]
    notes: list[str]


def find_by_test(material: Material, model: Classifier, *, rule: str, seed: int) -> FoundLimits:
    """Find the capability of each class."""
    learning, held = material.learning, material.held
    curved = rule == "information"
    predicted = (
        model.out_of_fold(learning.X, learning.y, learning.codes, FOLDS, seed) if curved else None
    )
    curves = success_curves(learning, predicted, len(material.classes))
    own: Floats = -material.cdi[np.arange(len(held.true)), held.true]
    labels = material.classes.tolist()
    limits = limits_by_test(own, held.true, held.right, curves, labels, rule=rule, seed=seed)
    notes = curve_notes(curves, material.classes) if curved else []
    return _described(material, limits, None, {}, [*notes, *limits.notes])


def find_by_target(
    material: Material, model: Classifier, spec: Spec, *, kind: str, by: str, seed: int
) -> FoundLimits:
    """Choose what trust rests on and how it is tested, on training cases; then test it."""
    learning, held = material.learning, material.held
    said = model.judged_out_of_fold(
        learning.X, learning.y, learning.codes, FOLDS, seed, sure=kind != CAPABILITY
    )
    every = len(said.places) == len(learning.codes)
    curves = curves_by_prediction(learning.cdi, said.codes if every else None, learning.codes)
    known = _judged(learning, said, material.groups, model)
    names = _names(by, material)
    tried = _tried(kind, candidates(Trust.by_capability(curves), known), model)
    if by == CLASS:
        tried = tuple(with_shifts(one, known, held.true, spec.target, spec.alpha) for one in tried)
    chosen, shares = choose(
        tried, lambda one: expected_acceptance(one, known, by, names, spec, held.true)
    )
    promise = make_promise(chosen, known, held, by, names, spec)
    limits = PromisedLimits(chosen, promise)
    odds = chosen.log_odds(held.seen)
    total = total_acceptance(promise, held.seen, odds, held.right)
    counts = _counts(by, held, len(names))
    notes = [
        *(curve_notes(curves, material.classes) if chosen.on_capability else []),
        choice_note(chosen, shares, len(known.true)),
        *promise.notes(counts),
        *([] if total.n_accepted else [unproven_note(promise, len(held.true))]),
    ]
    return _described(material, limits, total, shares, notes)


def evidence(model: Classifier, confidence: Floats | None) -> Floats | None:
    """Return confidence on a scale on which evidence adds up: probabilities as log-odds."""
    if confidence is None or not hasattr(model.model, "predict_proba"):
        return confidence
    return as_log_odds(confidence)


def _judged(learning: Cases, said: OutOfFold, groups: Codes | None, model: Classifier) -> Judged:
    """Return training cases as they are seen out of fold."""
    at = said.places
    difficulty: Floats = -learning.cdi[at, said.codes]
    own = None if groups is None else groups[at]
    seen = Seen(said.codes, difficulty, evidence(model, said.confidence), own)
    return Judged(seen, learning.codes[at])


def _tried(kind: str, offered: tuple[Trust, ...], model: Classifier) -> tuple[Trust, ...]:
    """Return the kinds of trust to choose from."""
    if kind == AUTO:
        return offered
    found = {one.kind: one for one in offered}
    if kind != CAPABILITY and PROBABILITY not in found:
        raise InputError(
            f'trust is "{kind}", but {model.name} has neither predict_proba nor '
            'decision_function. Set trust="capability", or "auto".'
        )
    if kind == MIXTURE and MIXTURE not in found:
        return (replace(found[PROBABILITY], kind=PROBABILITY),)
    return (found[kind],)


def _names(by: str, material: Material) -> Sequence[str]:
    if by == ALL:
        return ["all"]
    return material.group_names if by == GROUP else [str(one) for one in material.classes.tolist()]


def _counts(by: str, held: Judged, n_parts: int) -> list[int]:
    """Return held-out cases of each part of a promise."""
    if by == ALL:
        return [len(held.true)]
    codes = held.seen.codes
    if by in (GROUP, CLASS):
        codes = held.seen.group_codes() if by == GROUP else held.true
    counts: list[int] = np.bincount(codes[codes >= 0], minlength=n_parts).tolist()
    return counts


def _described(
    material: Material,
    limits: Limits | PromisedLimits,
    total: Accepted | None,
    shares: Mapping[str, float],
    notes: list[str],
) -> FoundLimits:
    """Return limits with the tables and the notes on what they accept of the held-out cases."""
    held, classes = material.held, material.classes
    within, codes = limits.judge(held.seen).within, held.seen.codes
    capability = capability_frame(limits.by_class(), classes, codes, within, held.right)
    promise = limits.promise if isinstance(limits, PromisedLimits) else None
    parts = parts_frame(held, within, classes.tolist(), material.group_names, promise)
    target = None if total is None else total.target
    notes = [
        *notes,
        *acceptance_notes(capability, codes, held.right, None if promise is None else promise.by),
        *parts_notes(parts, target, material.fact),
    ]
    return FoundLimits(limits, capability, parts, total, shares, notes)
