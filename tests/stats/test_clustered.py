import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_rel

from ogive.stats.intervals import Grouping, Means, clustered_means, t_reach, t_test

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


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3))
def test_the_order_of_items_does_not_matter(seed, n_clusters, n_tasks):
    random = np.random.default_rng(seed)
    clusters, tasks = random.integers(n_clusters, size=24), random.integers(n_tasks, size=24)
    mixed = random.permutation(24)
    one = clustered_means(VALUES, grouping(clusters, tasks))
    other = clustered_means(VALUES[:, mixed], grouping(clusters[mixed], tasks[mixed]))
    np.testing.assert_allclose(one.mean, other.mean)
    np.testing.assert_allclose(one.se, other.se)
    np.testing.assert_allclose(one.freedom, other.freedom)


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
