import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_rel

from itemwise.numerics.clustered import Grouping, clustered_means, t_test
from itemwise.numerics.intervals import t_reach

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
