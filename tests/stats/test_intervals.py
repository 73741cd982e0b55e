import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, t, ttest_1samp, ttest_rel

from ogive.stats.intervals import (
    Grouping,
    Means,
    clustered_means,
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
    t_test,
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


RANDOM = np.random.default_rng(4)
VALUES = RANDOM.normal(0.3, 1.0, size=(3, 24))


def grouping(clusters=None, tasks=None, n=24):
    tasks = np.zeros(n, dtype=int) if tasks is None else np.asarray(tasks)
    return Grouping.of(tasks, np.arange(n) if clusters is None else np.asarray(clusters))


def test_unrelated_items_give_the_ordinary_t_test():
    found = clustered_means(VALUES, grouping())
    np.testing.assert_allclose(found.se, VALUES.std(axis=1, ddof=1) / np.sqrt(24))
    np.testing.assert_allclose(found.freedom, 23)
    np.testing.assert_allclose(t_test(found), ttest_1samp(VALUES, 0.0, axis=1).pvalue)


def test_a_difference_of_rows_is_the_paired_t_test():
    found = clustered_means(VALUES[:1] - VALUES[1:], grouping())
    wanted = [ttest_rel(VALUES[0], other).pvalue for other in VALUES[1:]]
    np.testing.assert_allclose(t_test(found), wanted)


def test_clusters_of_one_size_count_as_single_items_of_their_mean():
    clusters = np.arange(24) % 6
    found = clustered_means(VALUES, grouping(clusters))
    means = np.stack([VALUES[:, clusters == k].mean(axis=1) for k in range(6)], axis=1)
    np.testing.assert_allclose(found.se, means.std(axis=1, ddof=1) / np.sqrt(6))
    np.testing.assert_allclose(found.freedom, 5)


def test_clusters_of_any_size_are_the_jackknife_that_leaves_out_each():
    clusters = np.repeat([3, 1, 7, 2], [2, 9, 6, 7])
    found = clustered_means(VALUES, grouping(clusters))
    left = np.array([VALUES[:, clusters != k].mean(axis=1) for k in (3, 1, 7, 2)])
    wanted = np.sqrt(3 / 4 * ((left - VALUES.mean(axis=1)) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.se, wanted)
    assert (found.freedom < 3).all()


def test_tasks_are_weighed_alike_whatever_their_size():
    tasks = np.repeat([0, 1], [4, 20])
    found = clustered_means(VALUES, grouping(tasks=tasks))
    parts = VALUES[:, :4], VALUES[:, 4:]
    np.testing.assert_allclose(found.mean, sum(part.mean(axis=1) for part in parts) / 2)
    variance = sum(part.var(axis=1, ddof=1) / part.shape[1] for part in parts) / 4
    np.testing.assert_allclose(found.se, np.sqrt(variance))
    assert ((found.freedom > 3) & (found.freedom < 22)).all()


def test_what_was_not_asked_plays_no_part():
    gaps = VALUES.copy()
    gaps[:, 5:] = np.nan
    gaps[2] = np.nan
    found = clustered_means(gaps, grouping())
    wanted = clustered_means(VALUES[:2, :5], grouping(n=5))
    np.testing.assert_allclose(found.se[:2], wanted.se)
    np.testing.assert_allclose(found.freedom[:2], 4)
    assert np.isnan(found.mean[2])
    assert np.isnan(t_test(found)[2])


def test_a_single_cluster_tells_nothing_and_equal_ones_are_a_sign_test():
    alone = clustered_means(VALUES, grouping(np.zeros(24, dtype=int)))
    assert np.isnan(alone.se).all()
    np.testing.assert_array_equal(t_test(alone), 1.0)
    same = clustered_means(np.array([[0.5] * 6, [0.0] * 6]), grouping(n=6))
    np.testing.assert_allclose(t_test(same), [2 * 0.5**6, 1.0])


def test_the_reach_is_that_of_student():
    assert t_reach(np.array([4.0]), 0.95)[0] == pytest.approx(2.776, abs=1e-3)


def test_degrees_of_freedom_are_those_of_satterthwaite_by_hand():
    """Two tasks of 4 and 20 items: shares 1/8 and 1/40 each, so that parts weigh 1/16 and 1/80."""
    found = clustered_means(VALUES, grouping(tasks=np.repeat([0, 1], [4, 20])))
    squares = np.array([4 / 64, 20 / 1600])
    wanted = squares.sum() ** 2 / (squares**2 / [3, 19]).sum()
    np.testing.assert_allclose(found.freedom, wanted)


def test_a_large_cluster_among_small_ones_is_nearly_alone():
    clusters = np.repeat([0, 1, 2, 3], [2, 9, 6, 7])
    shares = np.array([2, 9, 6, 7]) / 24
    effective = (shares**2).sum() ** 2 / (shares**4).sum()
    found = clustered_means(VALUES, grouping(clusters))
    np.testing.assert_allclose(found.freedom, effective - 1)
    lopsided = clustered_means(VALUES, grouping(np.repeat([0, 1], [23, 1])))
    np.testing.assert_array_equal(lopsided.freedom, 1.0)
    assert lopsided.clusters.tolist() == [2, 2, 2]


def test_a_task_of_one_cluster_differs_by_how_tasks_differ():
    values = np.array([[1.0, 2.0, 4.0, 10.0, 12.0]])
    found = clustered_means(
        values, Grouping.of(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 3]))
    )
    middle, mean = 7 / 3, (7 / 3 + 11) / 2
    # Left out one by one: 3 - m, 2.5 - m, 1.5 - m, each by the jackknife's 2/3, and half a task.
    within = 2 / 3 * sum((other - middle) ** 2 for other in (3.0, 2.5, 1.5)) / 4
    assert found.mean[0] == pytest.approx(mean)
    assert found.se[0] == pytest.approx(np.sqrt(within + ((11 - mean) / 2) ** 2))


def test_a_cluster_that_several_tasks_share_pulls_them_together():
    values = np.array([[1.0, 2.0, 5.0, 9.0]])
    found = clustered_means(values, Grouping.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
    # Each task has the pulls -1/2 and 1/2 of its own difference, by 1/sqrt(2) and half a task.
    pull = (0.5 * 1 + 0.5 * 4) / np.sqrt(2) / 2
    assert found.se[0] == pytest.approx(np.sqrt(2) * pull)


def test_the_sign_test_is_only_for_clusters_that_agree_to_the_digit():
    means = Means(
        mean=np.array([1.0, 1.0, 0.0, 2.0, np.nan]),
        se=np.array([1e-12, 1e-11, 0.5, np.nan, np.nan]),
        freedom=np.full(5, 3.0),
        clusters=np.array([4.0, 4.0, 4.0, 1.0, 0.0]),
    )
    p = t_test(means)
    assert p[0] == 2 * 0.5**4
    assert 0 < p[1] < 1e-20
    assert p[2:4].tolist() == [1.0, 1.0]
    assert np.isnan(p[4])
