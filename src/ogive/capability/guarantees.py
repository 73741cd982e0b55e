"""Acceptance rules: which cases the model may decide, by adaptive tests or at a target accuracy.

A rule accepts a case if its log-odds of being right reach the threshold of its group. Without a
target, the threshold is 0 at the limit that adaptive tests find for each class. With a target,
thresholds are tested on held-out cases, so that the target is missed in any group with probability
`alpha` at most:

1. One group: thresholds from strict to lax, fixed beforehand, until one fails its exact test
   (`accepted` in `selective_risk`).
2. Groups that are known of a new case, a fact or the predicted class: one threshold for each.
   `alpha` is shared among them (Bonferroni); a group that is accepted as a whole needs its share no
   longer and leaves it to the others.
3. True classes, which are not known of a new case. The errors of a class are accepted as cases of
   others, so no class can be tested by itself: one sequence of thresholds serves all, with a shift
   for each predicted class, and a step passes if it passes in every class (an intersection-union
   test, which shares no alpha). A stricter step may be worse for a class than a laxer one, if at
   first only its errors are accepted; so the sequence and its first step are fixed beforehand, on
   training cases out of fold, and the tests are exact without any assumption. If a class has too
   few cases for a test, nothing is accepted: nobody could say how many of its errors would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ogive._validation import as_number
from ogive.capability.selective_risk import (
    Accepted,
    Expected,
    accepted,
    expected_share,
    fewest_cases,
    last_passed,
)
from ogive.capability.trust import Codes, LabelledCases, PredictedCases, Trust
from ogive.errors import InputError
from ogive.stats.array_backend import Bools, Floats
from ogive.stats.intervals import share_tail

ALL, CLASS, PREDICTION, GROUP = "all", "class", "prediction", "group"
BYS = (ALL, CLASS, PREDICTION, GROUP)
EACH = {CLASS: "in each class", PREDICTION: "in each predicted class", GROUP: "in each group"}
CLOSE = 1e-9  # relative; cases at a tested threshold itself are not accepted

STEPS = 40  # number of thresholds in the sequence for true classes
STRICTEST = 0.05  # share of cases that its first step accepts
SAMPLES = 60  # number of simulated samples of held-out cases, at most
MOST_DRAWS = 2_000_000  # number of simulated cases in all samples, at most
SHIFTS = (-3.0, -1.0, 1.0, 3.0)  # log-odds, tried for each predicted class
ROUNDS = 2  # number of rounds over the predicted classes
MIN_SHIFT_GAIN = 0.002  # share of the cases; smaller gains are not worth a shift


@dataclass(frozen=True)
class Guarantee:
    """The accuracy of accepted cases, the probability of missing it, and where it holds."""

    target: float
    alpha: float  # probability that the target is missed in any group
    by: str  # one of BYS

    def fewest(self, n_groups: int = 1) -> int:
        """Return how many cases a group needs, all right, if groups share alpha."""
        return fewest_cases(self.target, self.alpha / n_groups)


class Verdicts(NamedTuple):
    """What a rule says of cases, (n_cases,) each."""

    score: Floats  # log-odds, by which cases are ranked
    threshold: Floats  # score from which they are accepted; inf if none is, -inf if all are
    trust: Floats  # estimated chance that the model is right
    least: Floats  # chance from which such cases are accepted
    limit: Floats  # difficulty up to which they are; NaN if difficulty plays no part
    within: Bools  # whether the model decides


@dataclass(frozen=True, eq=False)
class AcceptanceRule:
    """The model decides a case if its log-odds of being right reach the threshold of its group."""

    trust: Trust
    names: tuple[str, ...]  # of the groups: classes or groups of cases; "all" for one group
    threshold: Floats  # (n_groups,); infinite if no case is accepted, -infinite if all are
    too_few: Bools  # groups with too few held-out cases for a guarantee
    guarantee: Guarantee | None = None  # None: limits by adaptive tests, by predicted class
    limit_se: Floats | None = None  # (n_classes,), of the adaptive tests

    @property
    def by(self) -> str:
        """What divides cases into groups; true classes share one threshold."""
        return PREDICTION if self.guarantee is None else self.guarantee.by

    def group_of(self, cases: PredictedCases) -> Codes:
        """Return the group of each case; -1 if it is in none."""
        return group_of(self.by, cases)

    def thresholds(self, cases: PredictedCases) -> Floats:
        """Return log-odds from which each case is accepted, (n_cases,)."""
        return np.append(self.threshold, np.inf)[self.group_of(cases)]

    def judge(self, cases: PredictedCases) -> Verdicts:
        """Return which cases the model decides, and how far it is trusted with each."""
        odds, threshold = self.trust.log_odds(cases), self.thresholds(cases)
        shift = self.trust.offset[cases.codes]
        return Verdicts(
            score=odds,
            threshold=threshold,
            trust=np.asarray(expit(odds - shift)),
            least=np.asarray(expit(threshold - shift)),
            limit=self.trust.limit(cases, odds, threshold),
            within=odds >= threshold,
        )

    def by_class(self) -> tuple[Floats, Floats, Floats]:
        """Return limit, its standard error and least trust of each class; NaN if they vary."""
        n_classes = len(self.trust.offset)
        unknown = np.full(n_classes, np.nan)
        if self.by == GROUP:
            return unknown, unknown, unknown
        every = PredictedCases(np.arange(n_classes), np.zeros(n_classes), None)
        threshold = self.thresholds(every)
        least = np.asarray(expit(threshold - self.trust.offset))
        if self.trust.needs_confidence:
            return np.where(np.isinf(threshold), -threshold, np.nan), unknown, least
        error = unknown if self.limit_se is None else self.limit_se
        return self.trust.limit(every, threshold, threshold), error, least


def guaranteed_by(by: str | None, target: float | None, *, grouped: bool) -> str:
    """Return where the target should hold; refused if that cannot be."""
    if by == GROUP and not grouped:
        raise InputError(
            'by is "group", but no groups are given. Give the column that holds them, such as '
            "groups='site', or another by."
        )
    if by not in (None, ALL) and target is None:
        raise InputError(
            f'by is "{by}", but there is no target accuracy to hold there. Give one, such as '
            "target_accuracy=0.97."
        )
    if target is None:
        return ALL
    return by or (GROUP if grouped else ALL)


def percent_or(value: object, otherwise: float) -> float:
    """Return the share that a per cent means, or another one: what to suggest instead of 95."""
    number = as_number(value)
    return number / 100 if 1 < number < 100 else otherwise


def group_of(by: str, cases: PredictedCases) -> Codes:
    """Return the group of each case that its own threshold is for; -1 if it is in none."""
    if by == ALL:
        return np.zeros(len(cases.codes), dtype=np.intp)
    if by == GROUP:
        assert cases.groups is not None  # noqa: S101 - a rule by group asks for them
        return cases.groups
    return cases.codes


def expected_acceptance(
    trust: Trust,
    training: LabelledCases,
    names: Sequence[str],
    guarantee: Guarantee,
    held_out_true: Codes,
) -> float:
    """Return the share of cases expected to be accepted, from training cases out of fold.

    Of the held-out cases only the number in each class (`held_out_true`) is used, which the split
    set.
    """
    n_held_out = len(held_out_true)
    if guarantee.by == CLASS:
        return class_sequence(trust, training, held_out_true, guarantee).share
    groups = group_of(guarantee.by, training.cases)
    counts = np.bincount(groups[groups >= 0], minlength=len(names))
    likely = np.round(counts * n_held_out / max(len(groups), 1)).astype(np.intp)
    _, expected = _expected_by_group(trust, training, likely, guarantee)
    total = 0.0
    for group, one in expected.items():
        total += int(likely[group]) * one.share
    return total / n_held_out


def fit_rule(
    trust: Trust,
    training: LabelledCases,
    held_out: LabelledCases,
    names: Sequence[str],
    guarantee: Guarantee,
) -> AcceptanceRule:
    """Test on held-out cases; where tests begin is learned from training cases out of fold."""
    if guarantee.by == CLASS:
        sequence = class_sequence(trust, training, held_out.true, guarantee)
        threshold = class_thresholds(sequence, trust, held_out, guarantee)
        too_few = sequence.too_few
    else:
        threshold, too_few = _test_groups(trust, training, held_out, len(names), guarantee)
    # Thresholds that cases may reach lie just above those that they have to exceed.
    finite = np.isfinite(threshold)
    safe = np.where(finite, threshold, 0.0)
    threshold = np.where(finite, threshold + CLOSE * (1 + np.abs(safe)), threshold)
    return AcceptanceRule(trust, tuple(names), threshold, too_few, guarantee)


# --- Groups that are known of a new case: Bonferroni, with recycled alpha ---


def _test_groups(
    trust: Trust,
    training: LabelledCases,
    held_out: LabelledCases,
    n_groups: int,
    guarantee: Guarantee,
) -> tuple[Floats, Bools]:
    """Return the threshold of each group, and which have too few cases."""
    odds, groups = trust.log_odds(held_out.cases), group_of(guarantee.by, held_out.cases)
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    too_few, expected = _expected_by_group(trust, training, counts, guarantee)
    threshold = np.full(n_groups, np.inf)
    waiting = list(expected)
    while waiting:
        for group in waiting:
            mask = groups == group
            threshold[group] = accepted(
                odds[mask],
                held_out.correct[mask],
                target=guarantee.target,
                alpha=guarantee.alpha / len(waiting),
                sizes=expected[group].sizes,
            ).threshold
        left = [group for group in waiting if threshold[group] > -np.inf]
        if len(left) == len(waiting):
            break
        waiting = left
    return threshold, too_few


def _expected_by_group(
    trust: Trust, training: LabelledCases, counts: Codes, guarantee: Guarantee
) -> tuple[Bools, dict[int, Expected]]:
    """Return which groups have too few cases, and what tests of the others should accept.

    The more groups share alpha, the more cases each needs: as many take part as can.
    """
    largest = np.sort(counts)[::-1]
    n_tested = next(
        (m for m in range(len(counts), 0, -1) if largest[m - 1] >= guarantee.fewest(m)), 0
    )
    if n_tested == 0:
        return np.ones(len(counts), dtype=bool), {}
    too_few = np.asarray(counts < guarantee.fewest(n_tested))
    odds, groups = trust.log_odds(training.cases), group_of(guarantee.by, training.cases)
    expected = {
        group: expected_share(
            odds[groups == group],
            training.correct[groups == group],
            int(counts[group]),
            target=guarantee.target,
            alpha=guarantee.alpha / n_tested,
        )
        for group in np.flatnonzero(~too_few).tolist()
    }
    return too_few, expected


# --- True classes: an intersection-union test ---


@dataclass(frozen=True, eq=False)
class ClassSequence:
    """Thresholds from strict to lax for all classes, and what they are expected to accept."""

    thresholds: Floats  # (n_steps,), from the first to be tested
    share: float
    too_few: Bools  # (n_classes,), too few held-out cases for a guarantee


def with_offsets(trust: Trust, training: LabelledCases, true: Codes, guarantee: Guarantee) -> Trust:
    """Return the trust with a shift for each predicted class that lets most cases be accepted."""
    best = class_sequence(trust, training, true, guarantee).share
    for _ in range(ROUNDS):
        before = best
        for code in range(len(trust.offset)):
            for shift in SHIFTS:
                offset = trust.offset.copy()
                offset[code] += shift
                shifted = replace(trust, offset=offset)
                share = class_sequence(shifted, training, true, guarantee).share
                if share > best + MIN_SHIFT_GAIN:
                    best, trust = share, shifted
        if best == before:
            break
    return trust


def class_sequence(
    trust: Trust, training: LabelledCases, true: Codes, guarantee: Guarantee
) -> ClassSequence:
    """Return the thresholds to test, for held-out cases whose classes are `true`."""
    n_classes = len(trust.offset)
    too_few = np.bincount(true, minlength=n_classes) < guarantee.fewest()
    odds = trust.log_odds(training.cases)
    if too_few.any() or not len(odds):
        return ClassSequence(np.empty(0), 0.0, too_few)
    thresholds = np.unique(np.quantile(odds, np.linspace(0, 1 - STRICTEST, STEPS)))[::-1]
    thresholds = np.append(thresholds[:-1], -np.inf)
    n_steps = len(thresholds)
    step = n_steps - np.searchsorted(thresholds[::-1], odds, side="left")  # from which accepted
    passed, shares = _simulate_class_tests(step, training, n_classes, n_steps, len(true), guarantee)
    expected = np.array([last_passed(passed, shares, k).mean() for k in range(n_steps)])
    best = int(np.argmax(expected))
    return ClassSequence(thresholds[best:], float(expected[best]), too_few)


def _simulate_class_tests(
    step: Codes,
    training: LabelledCases,
    n_classes: int,
    n_steps: int,
    n_held_out: int,
    guarantee: Guarantee,
) -> tuple[Bools, Floats]:
    """Return which steps pass in each simulated sample, and the share that each step accepts.

    In each class, half an error is added to those observed: no observed error does not mean none.
    """
    random = np.random.default_rng(0)
    counts = np.bincount(training.true, minlength=n_classes)
    width = n_steps + 1
    error_chance = (0.5 / (counts + 1.0))[training.true] * training.correct
    wrong = (~training.correct).astype(np.intp)
    cell = (training.true * 2 + wrong) * width + step  # class, right or wrong, step
    samples = int(np.clip(MOST_DRAWS // n_held_out, 10, SAMPLES))
    rows = random.integers(0, len(cell), (samples, n_held_out))
    drawn = cell[rows] + width * (random.random(rows.shape) < error_chance[rows])
    shape = (samples, n_classes, 2, width)
    drawn += (np.arange(samples) * (n_classes * 2 * width))[:, None]
    table = np.bincount(drawn.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    n_right, n_wrong = np.cumsum(table[..., :n_steps], axis=3).transpose(2, 0, 1, 3)
    p = share_tail(n_right + n_wrong, n_right, guarantee.target)
    shares = np.cumsum(np.bincount(step, minlength=width)[:n_steps]) / len(step)
    return np.asarray(np.all(p <= guarantee.alpha, axis=1)), shares


def class_thresholds(
    sequence: ClassSequence, trust: Trust, held_out: LabelledCases, guarantee: Guarantee
) -> Floats:
    """Return the laxest threshold at which all steps pass in every class, (n_classes,)."""
    n_classes, odds = len(sequence.too_few), trust.log_odds(held_out.cases)
    passed = np.inf
    for threshold in sequence.thresholds:
        taken = odds > threshold
        n = np.bincount(held_out.true[taken], minlength=n_classes)
        n_right = np.bincount(held_out.true[taken & held_out.correct], minlength=n_classes)
        if not (share_tail(n, n_right, guarantee.target) <= guarantee.alpha).all():
            break
        passed = threshold
    return np.full(n_classes, passed)


# --- What a guarantee accepts ---


def acceptance_of(rule: AcceptanceRule, guarantee: Guarantee, held_out: LabelledCases) -> Accepted:
    """Return counts over all groups; the threshold is NaN if groups have different ones."""
    taken = rule.judge(held_out.cases).within
    different = np.unique(rule.threshold)
    return Accepted(
        threshold=float(different[0]) if len(different) == 1 else np.nan,
        target=guarantee.target,
        alpha=guarantee.alpha,
        n_cases=len(held_out.true),
        n_accepted=int(taken.sum()),
        n_right=int(held_out.correct[taken].sum()),
    )


def group_notes(rule: AcceptanceRule, guarantee: Guarantee, held_out: LabelledCases) -> list[str]:
    """Return notes on groups without a guarantee, by name."""
    by, target = guarantee.by, guarantee.target
    if by == ALL:
        return []
    codes = held_out.true if by == CLASS else rule.group_of(held_out.cases)
    counts = np.bincount(codes[codes >= 0], minlength=len(rule.names))
    too_few = [f"{rule.names[k]} ({counts[k]:,})" for k in np.flatnonzero(rule.too_few)]
    unproven = np.flatnonzero((rule.threshold == np.inf) & ~rule.too_few)
    notes = []
    if too_few:
        left = "All cases there go to a person."
        if by == CLASS:
            left = (
                "Since their errors would be among the cases accepted as other classes, all cases "
                "go to a person. Give more cases of them, or join them with another class."
            )
        notes.append(
            f"Too few held-out cases to show an accuracy of {target:g} (at least "
            f"{guarantee.fewest():,} are needed, all right): {', '.join(too_few)}. {left}"
        )
    if len(unproven) and by != CLASS:
        notes.append(
            f"Too many of the most certain held-out cases are wrong to show an accuracy of "
            f"{target:g} in {', '.join(rule.names[k] for k in unproven)}: all cases there go to a "
            "person."
        )
    return notes


def unproven_note(guarantee: Guarantee, n_cases: int) -> str:
    """Say that nothing is accepted, and why."""
    least = guarantee.fewest()
    if n_cases < least:
        why = f"{n_cases:,} held-out cases are too few, at least {least:,} are needed"
    elif guarantee.by == ALL:
        why = "too many of the most certain held-out cases are wrong"
    else:
        why = (
            f"it would have to hold {EACH[guarantee.by]}, and the largest parts have too few "
            "held-out cases or too many errors"
        )
    return (
        f"An accuracy of {guarantee.target:g} could not be shown for any share of the cases "
        f"({why}): all cases go to a person. Give more cases, or lower the target."
    )
