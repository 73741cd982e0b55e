"""Rank intervals of many respondents: the same as by all p-values, and right often enough."""

import numpy as np
import pytest
from scipy.stats import binomtest

from ogive.stats import all_pairs_tests as many_pairs
from ogive.stats.all_pairs_tests import (
    ClusteredPairs,
    ExactPairs,
    GappyPairs,
    critical_counts,
    rank_limits_of_many,
)
from ogive.stats.intervals import Grouping
from ogive.stats.pairwise_tests import compare_pairs, rank_limits

ITEMS = 120


def drawn(n=60, seed=0, missing=0.0, scores=False):
    random = np.random.default_rng(seed)
    chance = np.linspace(0.2, 0.9, n)[:, None] + 0 * random.random((n, ITEMS))
    values = (random.random((n, ITEMS)) < chance).astype(float)
    if scores:
        values = np.clip(0.7 * values + 0.3 * random.random((n, ITEMS)), 0, 1)
    values[random.random((n, ITEMS)) < missing] = np.nan
    return values


def by_p_values(values, grouping, *, exact):
    tests = compare_pairs(
        values,
        grouping,
        once=np.full(len(values), exact),
        bounded=True,
        confidence=0.95,
        correction="holm",
    )
    return rank_limits(tests, len(values), 0.95)


def plain():
    return Grouping.of(np.zeros(ITEMS, dtype=np.intp), np.arange(ITEMS))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_counted_ranks_are_those_of_holms_method_over_all_p_values(monkeypatch, missing):
    monkeypatch.setattr(many_pairs, "ROWS", 7)
    monkeypatch.setattr(many_pairs, "PASSES", 50)
    values = drawn(missing=missing)
    found = rank_limits_of_many(ExactPairs(values), len(values), 0.05)
    wanted = by_p_values(values, plain(), exact=True)
    np.testing.assert_array_equal(found, wanted)
    assert (found[1] - found[0]).max() < len(values) - 1


def test_counted_ranks_of_clusters_and_tasks_are_those_over_all_p_values(monkeypatch, subtests):
    monkeypatch.setattr(many_pairs, "ROWS", 16)
    monkeypatch.setattr(many_pairs, "PASSES", 50)
    values = drawn(scores=True)
    tasks, clusters = np.arange(ITEMS) // 40, np.arange(ITEMS) // 3
    for name, grouping in {
        "items": plain(),
        "clusters": Grouping.of(np.zeros(ITEMS, dtype=np.intp), clusters),
        "tasks": Grouping.of(tasks, np.arange(ITEMS)),
    }.items():
        with subtests.test(name):
            found = rank_limits_of_many(ClusteredPairs(values, grouping), len(values), 0.05)
            np.testing.assert_array_equal(found, by_p_values(values, grouping, exact=False))


def test_differences_that_do_not_vary_are_judged_by_their_signs():
    values = np.tile(np.linspace(0, 0.5, 30), (3, 1)) + np.array([[0.3], [0.1], [0.1]])
    grouping = Grouping.of(np.zeros(30, dtype=np.intp), np.arange(30))
    low, high = rank_limits_of_many(ClusteredPairs(values, grouping), 3, 0.05)
    assert low.tolist() == [1, 2, 2]
    assert high.tolist() == [1, 3, 3]


def test_pairs_without_shared_items_are_not_counted():
    values = drawn(6)
    values[:3, :60], values[3:, 60:] = np.nan, np.nan
    assert ExactPairs(values).n_tested == 6


def test_critical_counts_are_the_first_that_a_binomial_test_rejects():
    limit = 0.003
    for total, least in enumerate(critical_counts(60, limit)):
        below = np.arange(np.ceil(total / 2), min(least, total + 1)).astype(int)
        assert all(binomtest(int(k), max(total, 1)).pvalue > limit for k in below if total)
        if np.isfinite(least):
            assert binomtest(int(least), total).pvalue <= limit


@pytest.mark.slow
def test_any_wrong_rank_interval_is_as_rare_as_promised():
    """Groups of equally good respondents; the true rank of each is any within its group."""
    wrong = []
    for seed in range(400):
        random = np.random.default_rng(seed)
        skill = np.repeat([0.8, 0.7, 0.7, 0.5], 10)
        hard = random.normal(0, 0.15, 150)
        values = (random.random((40, 150)) < np.clip(skill[:, None] + hard, 0, 1)).astype(float)
        low, high = rank_limits_of_many(ExactPairs(values), 40, 0.05)
        best = np.array([(skill > each).sum() + 1 for each in skill])
        last = np.array([(skill >= each).sum() for each in skill])
        wrong.append(((low > best) | (high < last)).any())
    assert np.mean(wrong) <= 0.05


def test_counted_ranks_with_gaps_are_those_over_all_p_values(monkeypatch, subtests):
    """Scores, and documents of one to seven items; many items were not asked."""
    monkeypatch.setattr(many_pairs, "ROWS", 16)
    monkeypatch.setattr(many_pairs, "PASSES", 50)
    documents = np.repeat(np.arange(30), np.arange(30) % 7 + 1)[:ITEMS]
    documents = np.r_[documents, np.arange(40, 40 + ITEMS - documents.size)]
    for name, clusters, scores in (
        ("scores", np.arange(ITEMS), True),
        ("documents", np.random.default_rng(1).permutation(documents), False),
        ("two documents", np.arange(ITEMS) % 2, True),
    ):
        with subtests.test(name):
            values = drawn(missing=0.4, scores=scores)
            values[3] = values[4]  # equal in all they share
            values[5], values[6] = np.nan, np.nan  # these share nothing
            values[5, :9], values[6, 9:30] = 1.0, 0.5
            grouping = Grouping.of(np.zeros(ITEMS, dtype=np.intp), clusters)
            found = rank_limits_of_many(GappyPairs(values, clusters), len(values), 0.05)
            np.testing.assert_array_equal(found, by_p_values(values, grouping, exact=False))
            if name != "two documents":
                assert (found[1] - found[0]).mean() < len(values) - 2


def test_p_values_with_gaps_are_those_of_the_pairs(subtests):
    clusters = np.random.default_rng(2).integers(0, 25, ITEMS)
    values = drawn(n=20, missing=0.5, scores=True)
    for name, codes in (("items", np.arange(ITEMS)), ("clusters", clusters)):
        with subtests.test(name):
            tests = compare_pairs(
                values,
                Grouping.of(np.zeros(ITEMS, dtype=np.intp), codes),
                once=np.zeros(20, dtype=bool), bounded=True, confidence=0.95, correction="holm",
            )  # fmt: skip
            ((_, better, p),) = GappyPairs(values, codes)._tested
            upper = np.triu_indices(20, 1)
            np.testing.assert_allclose(p[upper], tests.p, rtol=1e-5)
            np.testing.assert_array_equal(better[upper], tests.difference > 0)
