"""Groups share alpha and leave it to each other; true classes are tested together."""

import numpy as np
import pytest

from ogive.capability.guarantees import (
    CLASS,
    GROUP,
    PREDICTION,
    ClassSequence,
    Guarantee,
    class_sequence,
    class_thresholds,
    fit_rule,
    group_notes,
    guaranteed_by,
    with_offsets,
)
from ogive.capability.selective_risk import accepted, fewest_cases, sizes_to_test
from ogive.capability.trust import CAPABILITY, LabelledCases, PredictedCases, Trust
from ogive.errors import InputError
from ogive.stats.intervals import share_tail

TRUST = Trust(CAPABILITY, np.ones(2), np.zeros(2), np.zeros(2))
BY_GROUP, BY_PREDICTION = Guarantee(0.9, 0.05, GROUP), Guarantee(0.9, 0.05, PREDICTION)
BY_CLASS = Guarantee(0.9, 0.05, CLASS)
NONE = np.zeros(2, dtype=bool)


def judged(n, seed, groups, wrong):
    """Cases of some groups, each with its own chance of an error where the score is low."""
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    score = random.normal(size=n)
    bad = random.random(n) < np.array(wrong)[group] * (score < 0)
    codes = random.integers(0, 2, n)
    return LabelledCases(
        PredictedCases(codes, -score, None, group), np.where(bad, 1 - codes, codes)
    )


def none(held):
    """No training cases to learn from: tests begin as usual."""
    seen = PredictedCases(
        held.cases.codes[:0], held.cases.difficulty[:0], None, held.cases.groups[:0]
    )
    return LabelledCases(seen, held.true[:0])


def test_two_groups_are_tested_at_half_the_level_each():
    held = judged(1_000, 0, 2, [0.4, 0.3])
    found = fit_rule(TRUST, none(held), held, ["a", "b"], BY_GROUP)
    for part in range(2):
        own = held.cases.groups == part
        score, right = -held.cases.difficulty[own], held.correct[own]
        alone = accepted(score, right, target=0.9, alpha=0.025)
        assert found.threshold[part] == pytest.approx(alone.threshold)
        assert np.isfinite(alone.threshold)


def test_a_group_that_is_accepted_as_a_whole_leaves_its_share_to_the_other():
    held = judged(600, 1, 2, [0.0, 0.35])
    found = fit_rule(TRUST, none(held), held, ["a", "b"], BY_GROUP)
    assert found.threshold[0] == -np.inf
    own = held.cases.groups == 1
    sizes = sizes_to_test(int(own.sum()), 0.9, 0.025)
    score, right = -held.cases.difficulty[own], held.correct[own]
    with_all = accepted(score, right, target=0.9, alpha=0.05, sizes=sizes)
    assert found.threshold[1] == pytest.approx(with_all.threshold)


def test_groups_too_small_do_not_take_a_share():
    held = judged(400, 2, 2, [0.2, 0.2])
    few = np.r_[held.cases.groups, np.full(5, 2)]
    seen = PredictedCases(
        np.r_[held.cases.codes, np.zeros(5, int)],
        np.r_[held.cases.difficulty, np.zeros(5)],
        None,
        few,
    )
    more = LabelledCases(seen, np.r_[held.true, np.zeros(5, int)])
    found = fit_rule(TRUST, none(more), more, ["a", "b", "c"], BY_GROUP)
    alone = fit_rule(TRUST, none(held), held, ["a", "b"], BY_GROUP)
    np.testing.assert_array_equal(found.threshold, [*alone.threshold, np.inf])
    assert found.too_few.tolist() == [False, False, True]
    (note,) = group_notes(found, BY_GROUP, more)
    assert f"at least {fewest_cases(0.9, 0.05)}" in note
    assert "c (5)" in note


def test_unknown_groups_have_no_threshold_to_pass():
    held = judged(400, 2, 2, [0.0, 0.0])
    found = fit_rule(TRUST, none(held), held, ["a", "b"], BY_GROUP)
    new = PredictedCases(np.zeros(3, int), np.full(3, -9.0), None, np.array([0, -1, 1]))
    assert found.thresholds(new).tolist() == [-np.inf, np.inf, -np.inf]


def test_predicted_classes_are_parts_of_their_own():
    held = judged(800, 3, 1, [0.3])
    found = fit_rule(TRUST, none(held), held, ["x", "y"], BY_PREDICTION)
    for part in range(2):
        own = held.cases.codes == part
        alone = accepted(-held.cases.difficulty[own], held.correct[own], target=0.9, alpha=0.025)
        assert found.threshold[part] == pytest.approx(alone.threshold)


def test_for_whom_a_promise_is_made_follows_from_what_is_given():
    assert guaranteed_by(None, 0.9, grouped=True) == "group"
    assert guaranteed_by(None, 0.9, grouped=False) == "all"
    assert guaranteed_by("all", 0.9, grouped=True) == "all"
    assert guaranteed_by(None, None, grouped=True) == "all"
    with pytest.raises(InputError, match="no groups are given"):
        guaranteed_by("group", 0.9, grouped=False)


def by_class(n, seed, share=0.5, rate=(0.0, 0.5)):
    """Errors in the worse half of the scores, at a rate for each true class."""
    random = np.random.default_rng(seed)
    true = (random.random(n) < share).astype(int)
    score = random.normal(size=n)
    bad = random.random(n) < np.array(rate)[true] * (score < 0)
    return LabelledCases(PredictedCases(np.where(bad, 1 - true, true), -score, None), true)


def test_a_step_passes_only_if_it_passes_in_every_class():
    held = by_class(1_000, 0)
    odds = TRUST.log_odds(held.cases)
    ladder = np.array([0.5, 0.0, -0.1, -0.3, -0.6, -np.inf])
    edge = class_thresholds(ClassSequence(ladder, 1.0, NONE), TRUST, held, BY_CLASS)
    passed = []
    for threshold in ladder:
        p = [
            share_tail(np.array([own.sum()]), np.array([held.correct[own].sum()]), 0.9)[0]
            for own in ((odds > threshold) & (held.true == code) for code in range(2))
        ]
        passed.append(max(p) <= 0.05)
    assert not all(passed)
    last = passed.index(False) - 1
    assert edge.tolist() == [ladder[last]] * 2


def test_the_ladder_begins_where_it_is_expected_to_accept_most():
    learning = by_class(2_000, 1)
    path = class_sequence(TRUST, learning, by_class(1_000, 2).true, BY_CLASS)
    assert 0.5 < path.share < 0.7  # the better half, and a little more
    assert path.thresholds[0] > path.thresholds[-1] == -np.inf


def test_a_class_with_too_few_cases_leaves_nothing_to_test():
    held = by_class(200, 3, share=0.05)
    path = class_sequence(TRUST, by_class(200, 4), held.true, BY_CLASS)
    assert path.too_few.tolist() == [False, True]
    assert (path.share, len(path.thresholds)) == (0.0, 0)
    edge = class_thresholds(path, TRUST, held, BY_CLASS)
    assert (edge == np.inf).all()


def test_shifts_make_classes_comparable():
    """Cases predicted as the first class are wrong unless their score is high."""
    random = np.random.default_rng(0)
    n = 3_000
    codes, score = random.integers(0, 2, n), random.normal(size=n)
    bad = (codes == 0) & (score < 1.0) & (random.random(n) < 0.3)
    learning = LabelledCases(PredictedCases(codes, -score, None), np.where(bad, 1 - codes, codes))
    before = class_sequence(TRUST, learning, learning.true[:1_500], BY_CLASS).share
    shifted = with_offsets(TRUST, learning, learning.true[:1_500], BY_CLASS)
    assert shifted.offset[0] < shifted.offset[1]
    assert class_sequence(shifted, learning, learning.true[:1_500], BY_CLASS).share > before + 0.1


@pytest.mark.slow
def test_the_promise_is_kept_in_both_classes_over_many_samples():
    """At most 5 % may fail; 27 or more failures of 300 have a chance below 1 % then."""
    truth = by_class(400_000, 999)
    odds = TRUST.log_odds(truth.cases)
    failed, shares = 0, []
    for seed in range(300):
        learning, held = by_class(400, 2 * seed), by_class(400, 2 * seed + 1)
        path = class_sequence(TRUST, learning, held.true, BY_CLASS)
        edge = class_thresholds(path, TRUST, held, BY_CLASS)
        taken = odds > edge[0]
        shares.append(taken.mean())
        failed += any(
            truth.correct[taken & (truth.true == code)].mean() < 0.9
            for code in range(2)
            if taken.any()
        )
    assert failed <= 26
    assert np.mean(shares) > 0.4
