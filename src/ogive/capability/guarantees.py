"""Acceptance rules: by test; by target, per group or class.

A target accuracy that holds in each true class, though only the predicted one is known.

Of the accepted cases that truly belong to a class, at most a given share is wrong, and so for every
class. The errors of a class are accepted under the names of others, so no class can be tested by
itself: one ladder of thresholds serves all, with a shift for each predicted class. A step counts as
shown if it is shown in every class (an intersection-union test, so that no share of the
probability of a miss is lost to the number of classes). A stricter step may be worse for a class
than a laxer one, if at first only its errors are accepted; so the ladder and its first step are
fixed beforehand, on training cases out of fold, and the tests are exact without any assumption.
If a class has too few cases for a test, nothing is accepted: its errors would be under the names
of the others, and nobody could say how many.

For whom a target accuracy holds: all accepted cases together, or each part of them.

Groups and predicted classes are known of a new case, so each has its own threshold, and the
probability of a miss is shared among them (Bonferroni); a part that is accepted as a whole needs
its share no longer and leaves it to the others. True classes are not known: see `class_promises`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ogive._validation import as_number
from ogive.capability.selective_risk import (
    Accepted,
    accepted,
    expected_share,
    fewest_cases,
    reached,
)
from ogive.capability.trust import Codes, Judged, Seen, Trust
from ogive.errors import InputError
from ogive.stats.array_backend import Bools, Floats
from ogive.stats.intervals import share_tail

STEPS = 40  # of the ladder
STRICTEST = 0.05  # share of cases that the first step accepts
SAMPLES = 60  # of held-out cases, imagined
MOST_DRAWS = 2_000_000  # in all samples
SHIFTS = (-3.0, -1.0, 1.0, 3.0)  # log-odds, tried for each predicted class
ROUNDS = 2
FINEST = 0.002  # of the cases; smaller gains are not worth a shift


@dataclass(frozen=True, eq=False)
class ClassPath:
    """Thresholds from strict to lax, and what they are expected to accept."""

    thresholds: Floats  # (n_steps,), from the first to be tested
    share: float
    few: Bools  # (n_classes,), too few held-out cases for a promise


def with_shifts(trust: Trust, learning: Judged, true: Codes, target: float, alpha: float) -> Trust:
    """Return the trust with a shift for each predicted class that lets most cases be accepted."""
    best = class_path(trust, learning, true, target, alpha).share
    for _ in range(ROUNDS):
        before = best
        for code in range(len(trust.offset)):
            for shift in SHIFTS:
                offset = trust.offset.copy()
                offset[code] += shift
                moved = replace(trust, offset=offset)
                share = class_path(moved, learning, true, target, alpha).share
                if share > best + FINEST:
                    best, trust = share, moved
        if best == before:
            break
    return trust


def class_path(
    trust: Trust, learning: Judged, true: Codes, target: float, alpha: float
) -> ClassPath:
    """The ladder to test; `true` are the classes of the held-out cases, whose numbers are set."""
    n_classes = len(trust.offset)
    few = np.bincount(true, minlength=n_classes) < fewest_cases(target, alpha)
    odds = trust.log_odds(learning.seen)
    if few.any() or not len(odds):
        return ClassPath(np.empty(0), 0.0, few)
    ladder = np.unique(np.quantile(odds, np.linspace(0, 1 - STRICTEST, STEPS)))[::-1]
    ladder = np.append(ladder[:-1], -np.inf)
    step = len(ladder) - np.searchsorted(ladder[::-1], odds, side="left")  # from which accepted
    passed, shares = _imagined(step, learning, n_classes, len(ladder), len(true), target, alpha)
    worth = np.array([reached(passed, shares, k).mean() for k in range(len(ladder))])
    best = int(np.argmax(worth))
    return ClassPath(ladder[best:], float(worth[best]), few)


def class_edges(
    path: ClassPath, odds: Floats, held: Judged, target: float, alpha: float
) -> tuple[Floats, Bools]:
    """Return the threshold of each predicted class that the held-out cases allow."""
    edge = np.full(len(path.few), np.inf)
    for threshold in path.thresholds:
        taken = odds > threshold
        n, good = (
            np.bincount(held.true[part], minlength=len(edge))
            for part in (taken, taken & held.right)
        )
        if not (share_tail(n, good, target) <= alpha).all():
            break
        edge[:] = threshold
    return edge, path.few


def _imagined(
    step: Codes,
    learning: Judged,
    n_classes: int,
    n_steps: int,
    n_held: int,
    target: float,
    alpha: float,
) -> tuple[Bools, Floats]:
    """Which steps pass in each imagined sample, and the share of cases that each step accepts.

    In each class, half an error is added to those seen: none that were seen are not none.
    """
    random = np.random.default_rng(0)
    counts = np.bincount(learning.true, minlength=n_classes)
    width = n_steps + 1
    slip = (0.5 / (counts + 1.0))[learning.true] * learning.right
    wrong = (~learning.right).astype(np.intp)
    cell = (learning.true * 2 + wrong) * width + step
    samples = int(np.clip(MOST_DRAWS // n_held, 10, SAMPLES))
    at = random.integers(0, len(cell), (samples, n_held))
    drawn = cell[at] + width * (random.random(at.shape) < slip[at])
    shape = (samples, n_classes, 2, width)
    drawn += (np.arange(samples) * (n_classes * 2 * width))[:, None]
    table = np.bincount(drawn.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    good, bad = np.cumsum(table[..., :n_steps], axis=3).transpose(2, 0, 1, 3)
    passed = np.all(share_tail(good + bad, good, target) <= alpha, axis=1)
    shares = np.cumsum(np.bincount(step, minlength=width)[:n_steps]) / len(step)
    return np.asarray(passed), shares


ALL, CLASS, PREDICTION, GROUP = "all", "class", "prediction", "group"
BYS = (ALL, CLASS, PREDICTION, GROUP)
CLOSE = 1e-9  # relative; cases at the threshold itself are not accepted
EACH = {CLASS: "in each class", PREDICTION: "in each predicted class", GROUP: "in each group"}


@dataclass(frozen=True, eq=False)
class Promise:
    """From which log-odds of being right a case is accepted, by part."""

    by: str  # one of BYS
    target: float
    alpha: float  # probability that the target is missed in any part
    names: tuple[str, ...]  # of the parts: classes or groups; one for all cases
    edge: Floats  # (n_parts,), as few; infinite if no case is accepted, -infinite if all are
    few: Bools  # too few held-out cases for a promise

    def places(self, seen: Seen) -> Codes:
        """Return the part of each case; -1 if it is in none."""
        return _places(self.by, seen)

    def edges(self, seen: Seen) -> Floats:
        """Return log-odds from which each case is accepted, (n_cases,)."""
        return np.append(self.edge, np.inf)[self.places(seen)]

    def notes(self, counts: Sequence[int]) -> list[str]:
        """What could not be promised, by name; `counts` are the held-out cases of each part."""
        least = fewest_cases(self.target, self.alpha)
        few = [
            f"{name} ({counts[k]:,})"
            for k, name in enumerate(self.names)
            if self.few[k] and self.by != ALL
        ]
        none = [
            name
            for k, name in enumerate(self.names)
            if self.edge[k] == np.inf and not self.few[k] and self.by in (PREDICTION, GROUP)
        ]
        notes = []
        if few:
            notes.append(
                f"Too few held-out cases to show an accuracy of {self.target:g} (at least "
                f"{least:,} are needed, all right): {', '.join(few)}. {_left(self.by)}"
            )
        if none:
            notes.append(
                f"Too many of the most certain held-out cases are wrong to show an accuracy of "
                f"{self.target:g} in {', '.join(none)}: all cases there go to a person."
            )
        return notes


def promised_by(by: str | None, target: float | None, *, grouped: bool) -> str:
    """Return for whom the target should hold; refused if that cannot be."""
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


def make_promise(
    trust: Trust, learning: Judged, held: Judged, by: str, names: Sequence[str], spec: Spec
) -> Promise:
    """Test on held-out cases; where tests begin is learned from training cases out of fold."""
    odds = trust.log_odds(held.seen)
    if by == CLASS:
        path = class_path(trust, learning, held.true, spec.target, spec.alpha)
        edge, few = class_edges(path, odds, held, spec.target, spec.alpha)
        return Promise(by, spec.target, spec.alpha, tuple(names), _beyond(edge), few)
    learned = trust.log_odds(learning.seen)
    places, theirs = _places(by, held.seen), _places(by, learning.seen)
    counts = np.bincount(places[places >= 0], minlength=len(names))
    few, level = _shared(counts, spec)
    sizes = {
        part: expected_share(
            learned[theirs == part],
            learning.right[theirs == part],
            int(counts[part]),
            target=spec.target,
            alpha=level,
        ).sizes
        for part in np.flatnonzero(~few).tolist()
    }
    found: dict[int, Accepted] = {}
    waiting = list(sizes)
    while waiting:
        share = spec.alpha / len(waiting)
        for part in waiting:
            own = places == part
            found[part] = accepted(
                odds[own], held.right[own], target=spec.target, alpha=share, sizes=sizes[part]
            )
        left = [part for part in waiting if found[part].threshold > -np.inf]
        if len(left) == len(waiting):
            break
        waiting = left
    edge = np.full(len(names), np.inf)
    for part, one in found.items():
        edge[part] = one.threshold
    return Promise(by, spec.target, spec.alpha, tuple(names), _beyond(edge), few)


@dataclass(frozen=True)
class Spec:
    """The target accuracy, and the probability of missing it."""

    target: float
    alpha: float


def expected_acceptance(
    trust: Trust, learning: Judged, by: str, names: Sequence[str], spec: Spec, true: Codes
) -> float:
    """Return share of cases expected to be accepted, from training cases out of fold.

    Of the held-out cases only the number in each class (`true`) is used, which the split set.
    """
    n_held = len(true)
    if by == CLASS:
        return class_path(trust, learning, true, spec.target, spec.alpha).share
    odds, places = trust.log_odds(learning.seen), _places(by, learning.seen)
    counts = np.bincount(places[places >= 0], minlength=len(names))
    likely = np.round(counts * n_held / max(len(places), 1)).astype(np.intp)
    few, level = _shared(likely, spec)
    total = 0.0
    for part in np.flatnonzero(~few).tolist():
        own, n = places == part, int(likely[part])
        right = learning.right[own]
        total += n * expected_share(odds[own], right, n, target=spec.target, alpha=level).share
    return total / n_held


def unproven_note(promise: Promise, n_cases: int) -> str:
    """Say that nothing is accepted, and why."""
    least = fewest_cases(promise.target, promise.alpha)
    why = (
        f"{n_cases:,} held-out cases are too few, at least {least:,} are needed"
        if n_cases < least
        else "too many of the most certain held-out cases are wrong"
        if promise.by == ALL
        else f"it would have to hold {EACH[promise.by]}, and the largest parts have too few "
        "held-out cases or too many errors"
    )
    return (
        f"An accuracy of {promise.target:g} could not be shown for any share of the cases ({why}): "
        "all cases go to a person. Give more cases, or lower the target."
    )


def total_acceptance(promise: Promise, seen: Seen, odds: Floats, right: Bools) -> Accepted:
    """Return counts over all parts; the threshold is NaN if parts have different ones."""
    edges = promise.edges(seen)
    taken = odds >= edges
    own = np.unique(promise.edge)
    return Accepted(
        float(own[0]) if len(own) == 1 else np.nan,
        promise.target,
        promise.alpha,
        len(right),
        int(taken.sum()),
        int(right[taken].sum()),
    )


def _places(by: str, seen: Seen) -> Codes:
    if by == ALL:
        return np.zeros(len(seen.codes), dtype=np.intp)
    if by == GROUP:
        return seen.group_codes()
    return seen.codes


def _shared(counts: Codes, spec: Spec) -> tuple[Bools, float]:
    """Which parts have too few cases, and the probability of a miss that is left to each other.

    The more parts share it, the more cases each needs: as many take part as can.
    """
    largest = np.sort(counts)[::-1]
    m = next(
        (m for m in range(len(counts), 0, -1) if largest[m - 1] >= _least(spec, m)),
        0,
    )
    if m == 0:
        return np.ones(len(counts), dtype=bool), spec.alpha
    return np.asarray(counts < _least(spec, m)), spec.alpha / m


def _least(spec: Spec, n_parts: int) -> int:
    return fewest_cases(spec.target, spec.alpha / n_parts)


def _beyond(edge: Floats) -> Floats:
    """Return thresholds that cases may reach, just above those that they have to exceed."""
    safe = np.where(np.isfinite(edge), edge, 0.0)
    return np.where(np.isfinite(edge), edge + CLOSE * (1 + np.abs(safe)), edge)


def _left(by: str) -> str:
    if by == CLASS:
        return (
            "Since their errors would be among the cases accepted as other classes, all cases go "
            "to a person. Give more cases of them, or join them with another class."
        )
    return "All cases there go to a person."
