"""Promises in parts share the probability of a miss, and leave it to each other."""

import numpy as np
import pytest

from ogive.capability.guarantees import GROUP, PREDICTION, Spec, make_promise, promised_by
from ogive.capability.selective_risk import accepted, fewest_cases
from ogive.capability.trust import CAPABILITY, Judged, Seen, Trust
from ogive.errors import InputError

TRUST = Trust(CAPABILITY, np.ones(2), np.zeros(2), np.zeros(2))
SPEC = Spec(0.9, 0.05)


def judged(n, seed, groups, wrong):
    """Cases of some groups, each with its own chance of an error where the score is low."""
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, n)
    score = random.normal(size=n)
    bad = random.random(n) < np.array(wrong)[group] * (score < 0)
    codes = random.integers(0, 2, n)
    return Judged(Seen(codes, -score, None, group), np.where(bad, 1 - codes, codes))


def none(held):
    """No training cases to learn from: tests begin as usual."""
    seen = Seen(held.seen.codes[:0], held.seen.difficulty[:0], None, held.seen.groups[:0])
    return Judged(seen, held.true[:0])


def test_two_groups_are_tested_at_half_the_level_each():
    held = judged(1_000, 0, 2, [0.4, 0.3])
    found = make_promise(TRUST, none(held), held, GROUP, ["a", "b"], SPEC)
    for part in range(2):
        own = held.seen.groups == part
        score, right = -held.seen.difficulty[own], held.right[own]
        alone = accepted(score, right, target=0.9, alpha=0.025)
        assert found.edge[part] == pytest.approx(alone.threshold)
        assert np.isfinite(alone.threshold)


def test_a_group_that_is_accepted_as_a_whole_leaves_its_share_to_the_other():
    held = judged(600, 1, 2, [0.0, 0.35])
    found = make_promise(TRUST, none(held), held, GROUP, ["a", "b"], SPEC)
    assert found.edge[0] == -np.inf
    own = held.seen.groups == 1
    from ogive.capability.selective_risk import sizes_to_test

    sizes = sizes_to_test(int(own.sum()), 0.9, 0.025)
    score, right = -held.seen.difficulty[own], held.right[own]
    with_all = accepted(score, right, target=0.9, alpha=0.05, sizes=sizes)
    assert found.edge[1] == pytest.approx(with_all.threshold)


def test_groups_too_small_do_not_take_a_share():
    held = judged(400, 2, 2, [0.2, 0.2])
    few = np.r_[held.seen.groups, np.full(5, 2)]
    seen = Seen(
        np.r_[held.seen.codes, np.zeros(5, int)],
        np.r_[held.seen.difficulty, np.zeros(5)],
        None,
        few,
    )
    more = Judged(seen, np.r_[held.true, np.zeros(5, int)])
    found = make_promise(TRUST, none(more), more, GROUP, ["a", "b", "c"], SPEC)
    alone = make_promise(TRUST, none(held), held, GROUP, ["a", "b"], SPEC)
    np.testing.assert_array_equal(found.edge, [*alone.edge, np.inf])
    assert found.few.tolist() == [False, False, True]
    assert f"at least {fewest_cases(0.9, 0.05)}" in found.notes([200, 200, 5])[0]
    assert "c (5)" in found.notes([200, 200, 5])[0]


def test_unknown_groups_have_no_threshold_to_pass():
    held = judged(400, 2, 2, [0.0, 0.0])
    found = make_promise(TRUST, none(held), held, GROUP, ["a", "b"], SPEC)
    new = Seen(np.zeros(3, int), np.full(3, -9.0), None, np.array([0, -1, 1]))
    assert found.edges(new).tolist() == [-np.inf, np.inf, -np.inf]


def test_predicted_classes_are_parts_of_their_own():
    held = judged(800, 3, 1, [0.3])
    found = make_promise(TRUST, none(held), held, PREDICTION, ["x", "y"], SPEC)
    for part in range(2):
        own = held.seen.codes == part
        alone = accepted(-held.seen.difficulty[own], held.right[own], target=0.9, alpha=0.025)
        assert found.edge[part] == pytest.approx(alone.threshold)


def test_for_whom_a_promise_is_made_follows_from_what_is_given():
    assert promised_by(None, 0.9, grouped=True) == "group"
    assert promised_by(None, 0.9, grouped=False) == "all"
    assert promised_by("all", 0.9, grouped=True) == "all"
    assert promised_by(None, None, grouped=True) == "all"
    with pytest.raises(InputError, match="no groups are given"):
        promised_by("group", 0.9, grouped=False)
