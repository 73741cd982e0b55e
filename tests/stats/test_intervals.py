import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, t

from ogive.stats.intervals import (
    conformal_quantile,
    conformal_rank,
    exact_difference,
    mcnemar,
    normal_reach,
    paired_difference,
    reach_of_parts,
    share_interval,
    share_tail,
    t_reach,
    wilson,
)


def test_reaches_are_those_of_the_distributions(subtests):
    for confidence in [0.5, 0.9, 0.95, 0.999]:
        with subtests.test(confidence=confidence):
            assert normal_reach(confidence) == pytest.approx(norm.ppf(0.5 + confidence / 2))
            assert t_reach(np.array([4.0]), confidence)[0] == pytest.approx(
                t.ppf(0.5 + confidence / 2, 4)
            )


@given(st.integers(1, 60), st.floats(0.05, 0.99))
def test_one_value_further_is_held_as_often_as_promised(n, confidence):
    values = np.arange(n) + 0.5
    bound = conformal_quantile(values, confidence)
    held = (np.arange(n + 1) <= bound).mean()  # a further value is as likely in any of the gaps
    assert held >= confidence - 1e-9
    assert np.isinf(bound) == (conformal_rank(n, confidence) > n)


def test_the_p_value_is_that_of_an_exact_sign_test():
    pairs = [(0, 0), (1, 0), (7, 2), (2, 7), (5, 5), (40, 10)]
    wanted = [binomtest(a, a + b).pvalue if a + b else 1.0 for a, b in pairs]
    better, worse = np.array(pairs, dtype=float).T
    np.testing.assert_allclose(mcnemar(better, worse), wanted)


def test_an_interval_by_hand():
    # 10 and 4 of 98 with half a case in each cell: difference 0.06, variance (15 - 0.36) / 10000.
    low, high = paired_difference(10, 4, 98, 0.95)
    reach = 1.959964 * np.sqrt((15 - 36 / 100) / 100**2)
    assert (low, high) == pytest.approx((0.06 - reach, 0.06 + reach), abs=1e-6)


def test_an_inflated_variance_widens_the_interval_by_its_root():
    low, high = paired_difference(10, 4, 98, 0.95)
    wider = paired_difference(10, 4, 98, 0.95, inflation=4.0)
    assert wider[1] - wider[0] == pytest.approx(2 * (high - low))


def test_intervals_cover_as_often_as_the_level_says():
    random = np.random.default_rng(0)
    hits = []
    for _ in range(2000):
        better, worse, _ = random.multinomial(60, [0.15, 0.05, 0.8])
        low, high = paired_difference(int(better), int(worse), 60, 0.9)
        hits.append(low <= 0.1 <= high)
    assert np.mean(hits) == pytest.approx(0.9, abs=0.025)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_the_interval_holds_the_difference_and_turns_with_its_sides(better, worse, same):
    n = better + worse + same
    if n == 0:
        return
    low, high = paired_difference(better, worse, n, 0.95)
    assert low < high
    assert low <= (better - worse) / n <= high
    assert paired_difference(worse, better, n, 0.95) == pytest.approx((-high, -low))


def test_fewer_parts_reach_farther():
    """Quantiles of Student's t from its printed table."""
    reaches = [reach_of_parts(n) for n in (3, 10, 61)]
    np.testing.assert_allclose(reaches, [4.303, 2.262, 2.000], atol=0.0006)


def test_wilson_is_that_of_scipy(subtests):
    for level in [0.8, 0.95, 0.999]:
        with subtests.test(level=level):
            n = np.repeat(np.arange(1, 12), 12)
            right = np.minimum(np.tile(np.arange(12), 11), n)
            low, high = wilson(right.astype(float), n.astype(float), level)
            for k, (count, total) in enumerate(zip(right, n, strict=True)):
                wanted = binomtest(count, total).proportion_ci(level, method="wilson")
                assert (low[k], high[k]) == pytest.approx((wanted.low, wanted.high), abs=1e-14)


def test_wilson_covers_the_truth_as_often_as_it_says_over_truths(subtests):
    """For a single truth coverage swings around the level, since counts are whole."""
    for n in [5, 40, 300]:
        with subtests.test(n=n):
            random = np.random.default_rng(0)
            truth = random.uniform(size=40_000)
            right = random.binomial(n, truth).astype(float)
            low, high = wilson(right, np.full(right.shape, float(n)), 0.95)
            assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.01)


def test_of_nothing_no_share_is_known():
    assert np.isnan(wilson(np.zeros(1), np.zeros(1), 0.95)).all()


def test_the_rank_that_holds_one_further_is_the_smallest_that_is_large_enough(subtests):
    """Of n + 1 exchangeable values, the last is at most the k-th with chance k / (n + 1)."""
    cases = {
        (9, 0.7): 7,
        (10, 0.9): 10,
        (19, 0.95): 19,
        (18, 0.95): 19,
        (100, 0.5): 51,
        (4, 0.2): 1,
    }
    for (n, confidence), rank in cases.items():
        with subtests.test(n=n, confidence=confidence):
            assert conformal_rank(n, confidence) == rank


def test_exact_intervals_of_shares_are_those_of_scipy(subtests):
    for right, n in [(0, 5), (5, 5), (1, 5), (3, 10), (99, 100)]:
        with subtests.test(right=right, n=n):
            theirs = binomtest(right, n).proportion_ci(method="exact")
            low, high = share_interval(np.array([right]), np.array([n]))
            assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    low, high = share_interval(np.array([0]), np.array([0]))
    assert (low[0], high[0]) == (0.0, 1.0)


def test_the_tail_of_a_share_is_that_of_the_binomial_distribution():
    right, n = np.array([0, 1, 7, 10]), np.full(4, 10)
    np.testing.assert_allclose(share_tail(n, right, 0.8), binom(10, 0.8).sf(right - 1))


def test_intervals_of_any_confidence_are_cut_at_one(subtests):
    for confidence in (0.5, 0.99):
        with subtests.test(confidence=confidence):
            low, high = share_interval(np.array([3]), np.array([10]), confidence)
            wanted = binomtest(3, 10).proportion_ci(confidence, method="exact")
            assert (low[0], high[0]) == pytest.approx((wanted.low, wanted.high))
    assert paired_difference(1, 0, 1, 0.999)[1] == 1.0
    assert paired_difference(0, 1, 1, 0.999)[0] == -1.0


def test_a_p_value_of_one_case_and_of_none():
    np.testing.assert_allclose(mcnemar(np.array([1.0, 0.0, 3.0]), np.zeros(3)), [1.0, 1.0, 0.25])


def test_a_part_of_confidence_is_half_on_each_side():
    assert reach_of_parts(5, 0.5) == pytest.approx(t.ppf(0.75, 4))
    assert conformal_quantile(np.array([3.0, 1.0, 2.0]), 0.5) == 2.0


@given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 200))
def test_the_exact_interval_of_a_difference_holds_0_where_the_exact_test_does_not_reject_it(
    better, worse, same
):
    n = np.array([max(better + worse + same, 1.0)])
    pair = np.array([float(better)]), np.array([float(worse)])
    for confidence in (0.9, 0.95, 0.99):
        (low,), (high,) = exact_difference(*pair, n, confidence)
        assert (low <= 0 <= high) == (mcnemar(*pair)[0] > 1 - confidence)
        assert low <= (better - worse) / n[0] <= high
