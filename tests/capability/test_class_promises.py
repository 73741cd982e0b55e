"""A promise in each true class is tested in every class at once, on a ladder set beforehand."""

import numpy as np
import pytest

from ogive.capability.guarantees import ClassPath, class_edges, class_path, with_shifts
from ogive.capability.trust import CAPABILITY, Judged, Seen, Trust
from ogive.stats.intervals import share_tail

TRUST = Trust(CAPABILITY, np.ones(2), np.zeros(2), np.zeros(2))
NONE = np.zeros(2, dtype=bool)


def judged(n, seed, share=0.5, rate=(0.0, 0.5)):
    """Errors in the worse half of the scores, at a rate for each true class."""
    random = np.random.default_rng(seed)
    true = (random.random(n) < share).astype(int)
    score = random.normal(size=n)
    bad = random.random(n) < np.array(rate)[true] * (score < 0)
    return Judged(Seen(np.where(bad, 1 - true, true), -score, None), true)


def test_a_step_passes_only_if_it_passes_in_every_class():
    held = judged(1_000, 0)
    odds = TRUST.log_odds(held.seen)
    ladder = np.array([0.5, 0.0, -0.1, -0.3, -0.6, -np.inf])
    edge, _ = class_edges(ClassPath(ladder, 1.0, NONE), odds, held, 0.9, 0.05)
    passed = []
    for threshold in ladder:
        p = [
            share_tail(np.array([own.sum()]), np.array([held.right[own].sum()]), 0.9)[0]
            for own in ((odds > threshold) & (held.true == code) for code in range(2))
        ]
        passed.append(max(p) <= 0.05)
    assert not all(passed)
    last = passed.index(False) - 1
    assert edge.tolist() == [ladder[last]] * 2


def test_the_ladder_begins_where_it_is_expected_to_accept_most():
    learning = judged(2_000, 1)
    path = class_path(TRUST, learning, judged(1_000, 2).true, 0.9, 0.05)
    assert 0.5 < path.share < 0.7  # the better half, and a little more
    assert path.thresholds[0] > path.thresholds[-1] == -np.inf


def test_a_class_with_too_few_cases_leaves_nothing_to_test():
    held = judged(200, 3, share=0.05)
    path = class_path(TRUST, judged(200, 4), held.true, 0.9, 0.05)
    assert path.few.tolist() == [False, True]
    assert (path.share, len(path.thresholds)) == (0.0, 0)
    edge, _ = class_edges(path, TRUST.log_odds(held.seen), held, 0.9, 0.05)
    assert (edge == np.inf).all()


def test_shifts_make_classes_comparable():
    """Cases predicted as the first class are wrong unless their score is high."""
    random = np.random.default_rng(0)
    n = 3_000
    codes, score = random.integers(0, 2, n), random.normal(size=n)
    bad = (codes == 0) & (score < 1.0) & (random.random(n) < 0.3)
    learning = Judged(Seen(codes, -score, None), np.where(bad, 1 - codes, codes))
    before = class_path(TRUST, learning, learning.true[:1_500], 0.9, 0.05).share
    shifted = with_shifts(TRUST, learning, learning.true[:1_500], 0.9, 0.05)
    assert shifted.offset[0] < shifted.offset[1]
    assert class_path(shifted, learning, learning.true[:1_500], 0.9, 0.05).share > before + 0.1


@pytest.mark.slow
def test_the_promise_is_kept_in_both_classes_over_many_samples():
    """At most 5 % may fail; 27 or more failures of 300 have a chance below 1 % then."""
    truth = judged(400_000, 999)
    odds = TRUST.log_odds(truth.seen)
    failed, shares = 0, []
    for seed in range(300):
        learning, held = judged(400, 2 * seed), judged(400, 2 * seed + 1)
        path = class_path(TRUST, learning, held.true, 0.9, 0.05)
        edge, _ = class_edges(path, TRUST.log_odds(held.seen), held, 0.9, 0.05)
        taken = odds > edge[0]
        shares.append(taken.mean())
        failed += any(
            truth.right[taken & (truth.true == code)].mean() < 0.9
            for code in range(2)
            if taken.any()
        )
    assert failed <= 26
    assert np.mean(shares) > 0.4
