"""Thresholds keep their promise over many samples, and take as many cases as they can."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom

from ogive.capability.selective_risk import (
    accepted,
    expected_share,
    fewest_cases,
    forgiven_errors,
    last_passed,
    risk_coverage,
    sizes_to_test,
)
from ogive.errors import InputError
from ogive.stats.intervals import share_interval, share_tail


def sample(n, seed, slope=3.0, level=4.0):
    random = np.random.default_rng(seed)
    score = random.normal(size=n)
    return score, random.random(n) < expit(slope * score + level)


def test_the_promise_is_kept_over_many_samples():
    score, _ = sample(200_000, 999)
    chance = expit(3 * np.sort(score)[::-1] + 4)
    truth, ladder = np.cumsum(chance) / np.arange(1, len(chance) + 1), -np.sort(score)[::-1]
    found = [accepted(*sample(500, seed), target=0.95, alpha=0.1) for seed in range(300)]
    taken = [one.threshold for one in found if one.n_accepted]
    places = np.searchsorted(ladder, -np.array(taken)) - 1
    assert np.mean(truth[places] < 0.95) < 0.1
    assert np.mean([one.coverage for one in found]) > 0.7  # of 0.86 that would still do


def test_nothing_is_accepted_where_nothing_could_be_proven():
    score, _ = sample(500, 0)
    random = np.random.default_rng(1).random(500) < 0.9
    none = accepted(score, random, target=0.97)
    assert (none.threshold, none.n_accepted, none.coverage) == (np.inf, 0, 0)
    assert np.isnan(none.accuracy)
    few = fewest_cases(0.97, 0.05) - 1
    assert accepted(score[:few], np.ones(few), target=0.97).threshold == np.inf


def test_everything_is_accepted_where_nothing_is_wrong():
    few = fewest_cases(0.97, 0.05)
    all_of_them = accepted(np.arange(few), np.ones(few), target=0.97)
    assert all_of_them.threshold == -np.inf
    assert all_of_them.coverage == all_of_them.accuracy == 1


def test_equal_scores_are_accepted_together_or_not_at_all():
    score = np.repeat([3.0, 2.0, 1.0], 200)
    right = np.r_[np.ones(200), np.ones(200), np.zeros(200)]
    found = accepted(score, right, target=0.9)
    assert (found.n_accepted, found.threshold) == (400, 1.0)
    assert accepted(np.zeros(600), right, target=0.9).n_accepted == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.6, 0.95), st.floats(0.01, 0.3))
def test_what_is_accepted_is_counted_rightly_and_proven(seed, target, alpha):
    score, right = sample(300, seed)
    found = accepted(score, right, target=target, alpha=alpha)
    above = score > found.threshold
    assert (found.n_accepted, found.n_right) == (above.sum(), right[above].sum())
    if found.n_accepted:
        errors = found.n_accepted - found.n_right
        assert binom.cdf(errors, found.n_accepted, 1 - target) <= alpha + 1e-12
        low, high = found.interval()
        assert low <= found.accuracy <= high


def test_a_higher_target_never_accepts_more_of_the_same_grid():
    score, right = sample(2_000, 3)
    taken = [accepted(score, right, target=target).coverage for target in (0.9, 0.95, 0.99)]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > taken[-1]


def test_the_binomial_tail_and_the_interval_are_those_of_scipy():
    from scipy.stats import binomtest

    n, right = np.array([1.0, 40.0, 500.0, 500.0]), np.array([0.0, 39.0, 480.0, 500.0])
    np.testing.assert_allclose(share_tail(n, right, 0.9), binom.cdf(n - right, n, 0.1))
    low, high = share_interval(right, n)
    for k in range(4):
        exact = binomtest(int(right[k]), int(n[k])).proportion_ci(0.95)
        np.testing.assert_allclose([low[k], high[k]], [exact.low, exact.high])


def test_a_curve_ends_with_all_cases_and_holds_its_accuracy_inside_its_interval():
    score, right = sample(1_000, 5)
    found = risk_coverage(
        {"difficulty": score, "chance": np.random.default_rng(0).random(1_000)}, right
    )
    frame = found.to_frame()
    assert list(frame.columns) == ["method", "coverage", "accuracy", "low", "high"]
    assert (frame["low"] <= frame["accuracy"]).all()
    assert (frame["accuracy"] <= frame["high"]).all()
    ends = frame.groupby("method").last()
    np.testing.assert_allclose(ends["coverage"], 1)
    np.testing.assert_allclose(ends["accuracy"], right.mean())
    assert found.area()["difficulty"] < found.area()["chance"]
    assert "difficulty: right on" in found.meaning


def test_what_is_no_sample_is_refused(subtests):
    cases = [
        (([1.0, 2.0], [1]), r"got shapes \(2,\) and \(1,\)"),
        (([], []), "at least one case"),
        (([1.0, np.nan], [1, 0]), "got 1 of 2 NaN"),
        (([1.0, 2.0], [1, 2]), "0 or 1"),
    ]
    for arguments, told in cases:
        with subtests.test(arguments=arguments, told=told), pytest.raises(InputError, match=told):
            accepted(*arguments, target=0.9)


@pytest.mark.parametrize("name", ["target", "alpha"])
def test_shares_outside_0_and_1_are_refused(name):
    with pytest.raises(InputError, match=f"`{name}` must be .*got 1.5"):
        accepted([1.0], [1], **{"target": 0.9, name: 1.5})


@pytest.mark.parametrize("target", [0.999999, 1 - 1e-12])
def test_a_target_close_to_one_is_answered(target):
    assert accepted(np.arange(100.0), np.ones(100), target=target).n_accepted == 0


def test_the_first_test_forgives_one_error_where_there_is_room():
    need = next(n for n in range(1, 200) if binom.cdf(1, n, 0.05) <= 0.05)
    for n, proven in ((2 * need, True), (need, False)):
        right = np.ones(n)
        right[-1] = 0  # the surest case
        assert bool(accepted(np.arange(n), right, target=0.95).n_accepted) == proven


def test_tests_are_made_where_one_more_error_is_forgiven_errors(subtests):
    for target, alpha, n in ((0.97, 0.05, 800), (0.6, 0.3, 150), (0.99, 0.01, 1_500)):
        with subtests.test(target=target, alpha=alpha):
            sizes = sizes_to_test(n, target, alpha, first=0)[:5]
            for errors, size in enumerate(sizes):
                assert binom.cdf(errors, size, 1 - target) <= alpha
                assert binom.cdf(errors, size - 1, 1 - target) > alpha
            np.testing.assert_array_equal(forgiven_errors(sizes, target, alpha), np.arange(5))
            np.testing.assert_array_equal(
                forgiven_errors(sizes - 1, target, alpha), np.arange(5) - 1
            )


def test_there_are_few_tests_even_for_many_cases_and_the_last_takes_all():
    sizes = sizes_to_test(1_000_000, 0.9, 0.05)
    assert len(sizes) <= 101
    assert sizes[-1] == 1_000_000
    assert (np.diff(sizes) > 0).all()
    assert len(sizes_to_test(98, 0.97, 0.05)) == 0


def drawn(n, seed, chance):
    random = np.random.default_rng(seed)
    score = random.normal(size=n)
    return score, random.random(n) < chance(score)


def good(score):
    return np.where(score > 0, 0.995, 0.8)


def noisy(score):
    """Wrong labels everywhere: 2 % of the most certain cases, more of the others."""
    return np.where(score > -1, 0.98, 0.7)


def test_the_expected_share_is_that_of_new_samples():
    found = expected_share(*drawn(5_000, 0, good), 500, target=0.95, alpha=0.05)
    taken = [
        accepted(*drawn(500, seed, good), target=0.95, sizes=found.sizes).coverage
        for seed in range(1, 101)
    ]
    assert abs(found.share - np.mean(taken)) < 0.05


def test_tests_begin_later_where_the_most_certain_cases_have_errors():
    found = expected_share(*drawn(800, 0, noisy), 400, target=0.95, alpha=0.05)
    usual, learned = [], []
    for seed in range(1, 61):
        held = drawn(400, seed, noisy)
        usual.append(accepted(*held, target=0.95).coverage)
        learned.append(accepted(*held, target=0.95, sizes=found.sizes).coverage)
    assert np.mean(learned) > np.mean(usual) + 0.15


def test_with_few_cases_to_learn_from_tests_begin_as_usual():
    few = expected_share(*drawn(10, 0, good), 500, target=0.95, alpha=0.05)
    held = drawn(500, 1, good)
    assert few.share == 0
    assert accepted(*held, target=0.95, sizes=few.sizes) == accepted(*held, target=0.95)


def test_nothing_is_expected_where_nothing_can_be_shown():
    found = expected_share(*drawn(500, 0, good), 40, target=0.95, alpha=0.05)
    assert (found.share, len(found.sizes)) == (0, 0)


def test_the_last_test_passed_in_a_row_counts():
    passed = np.array([[True, True, False, True], [False, True, True, True]])
    sizes = np.array([1.0, 2.0, 3.0, 4.0])
    assert last_passed(passed, sizes, 0).tolist() == [2, 0]
    assert last_passed(passed, sizes, 1).tolist() == [2, 4]
