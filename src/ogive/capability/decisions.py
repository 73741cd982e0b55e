"""Model or person: the decision on each case, its reason, and what is accepted of each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.capability.guarantees import (
    ALL,
    CLASS,
    GROUP,
    PREDICTION,
    AcceptanceRule,
    Guarantee,
    Verdicts,
)
from ogive.capability.selective_risk import known_shares
from ogive.capability.trust import CAPABILITY, WORDS, Codes, LabelledCases, PredictedCases
from ogive.results.numbers import counted
from ogive.stats.array_backend import Bools, Floats

MODEL, PERSON = "model", "person"
COUNTS = ("held_out", "accepted")
SHARES = ("share", "share_low", "share_high")
ACCURACIES = ("accuracy", "accuracy_low", "accuracy_high")
REPORTED = ("limit", "limit_se", "least_trust", *COUNTS, *ACCURACIES)
HALF = 0.5
RARELY = 0.5  # share of what is accepted overall; below it, a group is accepted rarely
SHOWN = 5  # groups that a note names


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions of a gate as arrays, (n_cases,)."""

    cases: PredictedCases
    cdi: Floats  # as a member of the predicted class
    cdi_se: Floats
    verdicts: Verdicts
    within: Bools  # whether the model decides: within the limit, and known
    known: Bools  # False if all features of the scale are missing
    unseen: Mapping[str, Mapping[int, str]]  # feature -> case -> category not seen in training
    groups: tuple[str | None, ...] | None = None  # as given, if the gate uses them

    @property
    def codes(self) -> Codes:
        """The predicted classes."""
        return self.cases.codes

    @property
    def difficulty(self) -> Floats:
        """A case is hard if it looks like a class other than the predicted one."""
        return -self.cdi


class Case(NamedTuple):
    """The figures behind one decision."""

    label: Any
    difficulty: float
    limit: float
    within: bool
    trust: float
    least: float
    threshold: float
    group: int  # in the order of the rule; -1 if it is in none
    group_name: str | None


def decision_frame(
    decisions: Decisions, classes: NDArray[Any], index: Any, rule: AcceptanceRule, fact: str
) -> pd.DataFrame:
    """Return one row per case: prediction, decision, the figures behind it, and a sentence.

    `fact` is what groups are called.
    """
    labels, verdicts = classes[decisions.codes], decisions.verdicts
    columns = (
        *(labels, decisions.difficulty, verdicts.limit, decisions.within, verdicts.trust),
        *(verdicts.least, verdicts.threshold, rule.group_of(decisions.cases)),
    )
    names = decisions.groups or (None,) * len(labels)
    cases = zip(*(column.tolist() for column in columns), names, strict=True)
    reasons = [_reason(Case(*case), rule, fact) for case in cases]
    for row in np.flatnonzero(~decisions.known).tolist():
        reasons[row] = "All features of the scale are missing: a person decides."
    for feature, categories in decisions.unseen.items():
        for row, category in categories.items():
            reasons[row] += f" Its {feature} {category[:60]!r} was not seen in training."
    frame = {
        "prediction": labels,
        "decision": np.where(decisions.within, MODEL, PERSON),
        "trust": verdicts.trust,
        "least_trust": verdicts.least,
        "cdi": decisions.cdi,
        "cdi_se": decisions.cdi_se,
        "difficulty": decisions.difficulty,
        "limit": verdicts.limit,
        "reason": reasons,
    }
    return pd.DataFrame(frame, index=index)


def _reason(case: Case, rule: AcceptanceRule, fact: str) -> str:
    """Say why the model decides, or a person."""
    guarantee, kind = rule.guarantee, rule.trust.kind
    if guarantee is None:
        return _reason_by_limit(case)
    where = ""
    if guarantee.by == GROUP:
        if case.group < 0 and case.group_name is None:
            return f"Its {fact} is missing: a person decides."
        if case.group < 0:
            return (
                f"Its {fact} {str(case.group_name)[:60]!r} was not among those of the training "
                "cases: a person decides."
            )
        where = f" of {fact} {case.group_name!r:.60}"
    elif guarantee.by in (CLASS, PREDICTION):
        where = f" predicted as class {case.label!r}"
    if case.threshold == np.inf:
        return _reason_unproven(case, rule, guarantee, where)
    if case.threshold == -np.inf:
        return f"Every case{where} is accepted: the model decides."
    if kind == CAPABILITY:
        return _reason_by_limit(case)
    side, who = ("is at least", "the model") if case.within else ("is below", "a person")
    trust, least = f"{100 * case.trust:.2f} %", f"{100 * case.least:.2f} %"
    if trust == least:
        side = "is just at" if case.within else "is just below"
    return (
        f"The estimated chance of being right, {trust} by {WORDS[kind]}, {side} {least}, the "
        f"least that is accepted{where}: {who} decides."
    )


def _reason_unproven(case: Case, rule: AcceptanceRule, guarantee: Guarantee, where: str) -> str:
    share = f"{100 * guarantee.target:g} %"
    if (rule.threshold == np.inf).all():
        return f"An accuracy of {share} could not be shown for any case: a person decides."
    why = "there were too few" if rule.too_few[case.group] else "it could not be shown"
    return f"An accuracy of {share} is not promised for cases{where}, {why}: a person decides."


def _reason_by_limit(case: Case) -> str:
    if case.limit == -np.inf:
        return f"The limit of class {case.label!r} is unknown: a person decides."
    if case.limit == np.inf:
        return f"Every case predicted as class {case.label!r} is accepted: the model decides."
    side, who = ("within", "the model") if case.within else ("beyond", "a person")
    difficulty, limit = f"{case.difficulty:.2f}", f"{case.limit:.2f}"
    if difficulty == limit:
        return (
            f"Difficulty {limit} is just {side} the limit of class {case.label!r}: {who} decides."
        )
    return (
        f"Difficulty {difficulty} is {side} {limit}, the limit of class {case.label!r}: {who} "
        "decides."
    )


# --- What is accepted of the held-out cases ---


def parts_frame(
    held_out: LabelledCases,
    within: Bools,
    classes: Sequence[Any],
    groups: Sequence[str],
    rule: AcceptanceRule,
) -> pd.DataFrame:
    """Return one row for all held-out cases, and one per true class, predicted class and group.

    `promised` says whether the target was shown for the part; shares and accuracies of accepted
    cases have exact 95 % intervals.
    """
    divisions: list[tuple[str, Codes, Sequence[Any]]] = [
        (ALL, np.zeros(len(held_out.true), dtype=np.intp), ["all"]),
        (CLASS, held_out.true, classes),
        (PREDICTION, held_out.cases.codes, classes),
    ]
    if held_out.cases.groups is not None and len(groups):
        divisions.append((GROUP, held_out.cases.groups, groups))
    frames = []
    for by, codes, names in divisions:
        n, taken, n_right = _counts(codes, len(names), within, held_out.correct)
        columns = {
            "by": by,
            "part": [str(name) for name in names],
            "held_out": n.astype(np.int64),
            "accepted": taken.astype(np.int64),
            **dict(zip(SHARES, known_shares(taken, n), strict=True)),
            **dict(zip(ACCURACIES, known_shares(n_right, taken), strict=True)),
            "promised": _promised(by, taken, rule),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def _counts(codes: Codes, n_parts: int, within: Bools, correct: Bools) -> list[Floats]:
    """Return the number of cases, of accepted and of rightly accepted ones, of each part."""
    known = codes >= 0
    return [
        np.bincount(codes[known & mask], minlength=n_parts).astype(np.float64)
        for mask in (np.ones_like(within), within, within & correct)
    ]


def _promised(by: str, taken: Floats, rule: AcceptanceRule) -> Bools:
    if rule.guarantee is not None and rule.guarantee.by == by:
        return np.asarray((rule.threshold < np.inf) & ~rule.too_few)
    # What holds in each of some parts holds in all of them together.
    proven = rule.guarantee is not None and by == ALL and bool(taken.sum())
    return np.full(len(taken), proven)


def capability_frame(
    by_class: tuple[Floats, Floats, Floats],
    classes: NDArray[Any],
    predicted: Codes,
    within: Bools,
    correct: Bools,
) -> pd.DataFrame:
    """Return one row per class: its limit, and the accepted held-out cases predicted as such."""
    n, taken, n_right = _counts(predicted, len(classes), within, correct)
    accuracies = known_shares(n_right, taken)
    values = (*by_class, n.astype(np.int64), taken.astype(np.int64), *accuracies)
    columns = dict(zip(REPORTED, values, strict=True))
    return pd.DataFrame(columns, index=pd.Index(classes, name="class"))


def parts_notes(frame: pd.DataFrame, target: float | None, fact: str) -> list[str]:
    """Say which classes and groups are accepted rarely, and which accepted ones are wrong."""
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
                f"some, by {noun}: {_listed(rare, _rarely_accepted)}."
            )
        # Of true classes: one that is never predicted has no row among the predicted ones.
        failing = rows[(rows["accepted"] > 0) & (rows["accuracy"] < HALF)]
        if target is not None:
            missed = (rows["accuracy_high"] < target) & ~rows["promised"] & (rows["accepted"] > 0)
            failing = failing[~missed[failing.index]]
            if missed.any():
                other = (
                    "" if rows["promised"].any() else f" Set by='{by}' for one that holds in each."
                )
                notes.append(
                    f"The target holds for all accepted cases together, but not by {noun}: "
                    f"{_listed(rows[missed], _wrong)}.{other}"
                )
        if len(failing):
            which = "that are" if by == CLASS else f"of {noun}"
            named = _listed(failing, partial(_failing, which))
            named = named.replace("of those", "Of the held-out cases", 1)
            setting = (
                f"by='{by}'" if target is not None else f"target_accuracy=0.9, say, and by='{by}'"
            )
            notes.append(f"{named}. For a promise in each {noun}, set {setting}.")
    return notes


def _listed(rows: pd.DataFrame, say: Callable[[Any], str]) -> str:
    named = [say(row) for _, row in rows.head(SHOWN).iterrows()]
    more = len(rows) - SHOWN
    return "; ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])


def _rarely_accepted(row: Any) -> str:
    share = f"{row['part']} {_range(row, SHARES)}"
    if not row["accepted"]:
        return share
    return f"{share}, and the model is right on {_range(row, ACCURACIES)} of these"


def _wrong(row: Any) -> str:
    return f"{row['part']}, right on {_range(row, ACCURACIES)} of {row['accepted']:,} accepted"


def _failing(which: str, row: Any) -> str:
    taken, right = int(row["accepted"]), round(row["accuracy"] * row["accepted"])
    were = "was" if taken == 1 else "were"
    result = "none was right" if not right else f"only {right:,} of them right"
    return f"of those {which} {row['part']}, {taken:,} {were} accepted and {result}"


def _range(row: Any, columns: tuple[str, str, str]) -> str:
    value, low, high = (100 * row[name] for name in columns)
    return f"{value:.0f} % ({low:.0f} to {high:.0f} %)"


def acceptance_notes(
    capability: pd.DataFrame, predicted: Codes, correct: Bools, by: str | None
) -> list[str]:
    """Return notes on classes whose accepted cases are mostly wrong, or no better than the others.

    `by` says where a target holds; None: there is no target.
    """
    wrong, equal = [], []
    for code, (label, row) in enumerate(capability.iterrows()):
        n, accuracy = int(row["accepted"]), row["accuracy"]
        if n and accuracy < HALF:
            wrong.append(f"{label} (right on {accuracy:.0%} of {counted(n, 'case')})")
        elif 0 < n < row["held_out"] and accuracy <= correct[predicted == code].mean():
            equal.append(str(label))
    notes = []
    if wrong:
        remedy = "Leave them to people."
        if by is None:
            remedy = "Set target_accuracy=0.97, for example, or leave them to people."
        elif by == ALL:
            remedy = (
                "Set by='prediction' for a target that holds there too, or leave them to people."
            )
        notes.append(
            "The model is wrong on most of the held-out cases that the gate accepts among those "
            f"predicted as {', '.join(wrong)}. {remedy}"
        )
    if equal:
        notes.append(
            f"Held-out cases predicted as {', '.join(equal)} are right no more often within the "
            "limit than overall: difficulty does not show which to trust there."
        )
    return notes
