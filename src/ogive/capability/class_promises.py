"""A target accuracy that holds in each true class, though only the predicted one is known.

Of the accepted cases that truly belong to a class, at most a given share is wrong, and so for every
class. The errors of a class are accepted under the names of others, so no class can be tested by
itself: one ladder of thresholds serves all, with a shift for each predicted class. A step counts as
shown if it is shown in every class (an intersection-union test, so that no share of the
probability of a miss is lost to the number of classes). A stricter step may be worse for a class
than a laxer one, if at first only its errors are accepted; so the ladder and its first step are
fixed beforehand, on training cases out of fold, and the tests are exact without any assumption.
If a class has too few cases for a test, nothing is accepted: its errors would be under the names
of the others, and nobody could say how many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ogive.capability.expected_shares import reached
from ogive.capability.risk import fewest_cases
from ogive.capability.trust import Codes, Judged, Trust
from ogive.numerics.arrays import Bools, Floats
from ogive.numerics.intervals import share_tail

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
    """The trust with a shift for each predicted class that lets most cases be accepted."""
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
    """The threshold of each predicted class that the held-out cases allow."""
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
