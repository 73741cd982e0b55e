"""Forests of selectors: log-rank scores by hand, means in leaves, and pairs weighted by cost."""

import numpy as np
import pytest

from ogive.portfolios.selector_forests import (
    SINGLE,
    Costs,
    LeafForest,
    PairForest,
    Preferences,
    Presolver,
    best_presolver,
    choose_way,
    log_rank_scores,
    relative_costs,
    together,
)

ROWS = np.random.default_rng(0).uniform(-1, 1, (200, 3)).astype(np.float32)


def test_log_rank_scores_by_hand():
    """Times 1, 2, 2, 4+: hazards 1/4, 2/3 and none at the end; an event counts -1."""
    costs = np.array([[1.0], [2.0], [2.0], [40.0]])
    late = np.array([[False], [False], [False], [True]])
    found = log_rank_scores(costs, late)[:, 0]
    jump = 1 / 4 + 2 / 3
    np.testing.assert_allclose(found, [1 / 4 - 1, jump - 1, jump - 1, jump])
    assert found.sum() == pytest.approx(0)


def test_leaves_hold_means_of_costs():
    costs = np.where(ROWS[:, :1] > 0, [[1.0, 100.0]], [[100.0, 1.0]])
    late = costs >= 100
    forest = LeafForest(seed=0).fit(ROWS, log_rank_scores(costs, late), costs)
    said = forest.predict(np.array([[0.8, 0, 0], [-0.8, 0, 0]], dtype=np.float32))
    np.testing.assert_allclose(said.cost, [[1, 100], [100, 1]], atol=3)
    np.testing.assert_array_equal(said.scores.argmin(axis=1), [0, 1])
    assert (said.first.max(axis=1) > 0.95).all()
    np.testing.assert_allclose(said.first.sum(axis=1), 1)


def test_a_timeout_now_and_then_outweighs_being_usually_quick():
    """The mean logarithm prefers 1 second nine times of ten; what is paid prefers 30 always."""
    random = np.random.default_rng(2)
    costs = np.tile([1.0, 30.0], (200, 1))
    costs[random.permutation(200)[:20], 0] = 1000.0
    assert np.log1p(costs).mean(axis=0).argmin() == 0
    said = LeafForest(seed=0).fit(ROWS, relative_costs(costs), costs).predict(ROWS)
    assert (said.scores.argmin(axis=1) == 1).mean() > 0.5
    np.testing.assert_array_equal(said.scores, said.cost)


def test_relative_costs_hold_what_depends_on_the_choice():
    costs = np.array([[1.0, 3.0], [10.0, 21.0]])
    found = relative_costs(costs)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], np.log([2.0, 2.0]))
    assert np.isfinite(relative_costs(-costs)).all()


def test_of_a_pair_the_dear_mistake_counts_more_than_many_cheap_ones():
    """Algorithm 0 is cheaper by 1 on nine problems of ten, and dearer by 1,000 on the tenth."""
    costs = np.tile([1.0, 2.0], (200, 1))
    costs[::10, 0] = 1000.0
    noise = np.random.default_rng(1).uniform(size=(200, 1)).astype(np.float32)
    said = PairForest(seed=0).fit(noise, costs).predict(np.full((5, 1), 2.0, dtype=np.float32))
    assert said.scores.shape == (5, 2)
    close = PairForest(seed=0).fit(ROWS, np.where(ROWS[:, :1] > 0, [[1.0, 9.0]], [[9.0, 1.0]]))
    found = close.predict(np.array([[0.7, 0, 0], [-0.7, 0, 0]], dtype=np.float32))
    np.testing.assert_array_equal(found.scores.argmin(axis=1), [0, 1])


def test_algorithms_that_add_nothing_are_never_paired():
    costs = np.column_stack([ROWS[:, 0] + 2, 4 - ROWS[:, 0], np.full(200, 9.0)])
    forest = PairForest(seed=0).fit(ROWS, costs)
    assert 2 not in forest.kept
    assert (forest.predict(ROWS[:9]).scores.argmin(axis=1) != 2).all()


CUTOFF, LIMIT = 100.0, 1000.0


def costs(runs, features=0.0, presolved=None):
    runs = np.asarray(runs, dtype=float)
    late = runs >= CUTOFF
    before = np.full(len(runs), features)
    return Costs(np.where(late, LIMIT, runs), late, before, CUTOFF, LIMIT, presolved)


def test_features_are_charged_and_may_push_a_run_beyond_the_cut_off():
    table = costs([[10, 50], [95, 100]], features=6.0)
    np.testing.assert_array_equal(table.selection_cost(np.array([0, 0])), [16, LIMIT])
    np.testing.assert_array_equal(table.selection_cost(np.array([0, 0]), features=False), [10, 95])
    np.testing.assert_array_equal(table.selection_cost(np.array([1, 1])), [56, LIMIT])


def test_who_runs_first_is_paid_for_where_it_solves_the_problem_and_where_not():
    table = costs([[3, 50], [95, 20], [8, 92]], features=2.0)
    paid = table.selection_cost(np.array([1, 1, 1]), Presolver(0, 5.0))
    np.testing.assert_array_equal(paid, [3, 5 + 2 + 20, 5 + 2 + 92])


def test_a_problem_that_its_features_solve_costs_no_more_than_these():
    table = costs([[100, 100], [30, 40]], features=7.0, presolved=np.array([True, False]))
    np.testing.assert_array_equal(table.selection_cost(np.array([0, 1])), [7, 47])
    np.testing.assert_array_equal(
        table.selection_cost(np.array([0, 1]), features=False), [LIMIT, 40]
    )


def test_a_first_algorithm_is_taken_only_where_it_pays():
    random = np.random.default_rng(0)
    slow = random.uniform(40, 130, 200)
    lucky = np.where(random.uniform(size=200) < 0.5, 1.0, 130.0)
    found = best_presolver(costs(np.column_stack([slow, lucky])), np.zeros(200, dtype=np.intp))
    assert found is not None
    assert found.algorithm == 1
    assert found.budget < 5
    unlucky = np.full(200, 130.0)
    assert (
        best_presolver(costs(np.column_stack([slow, unlucky])), np.zeros(200, dtype=np.intp))
        is None
    )
    quality = Costs(-slow[:, None], np.zeros((200, 1), dtype=bool), np.zeros(200))
    assert best_presolver(quality, np.zeros(200, dtype=np.intp)) is None


def test_choosing_pays_where_features_tell_and_not_where_they_cost_too_much():
    random = np.random.default_rng(1)
    rows = random.uniform(-1, 1, (150, 2)).astype(np.float32)
    runs = np.where(rows[:, :1] > 0, [[20.0, 60.0]], [[60.0, 20.0]]) + random.uniform(
        0, 1, (150, 2)
    )
    cheap = choose_way(rows, costs(runs), seed=0)
    assert cheap.way != SINGLE
    gain, error = cheap.saved[cheap.way]
    assert abs(gain - 20) < 3
    assert error < 3
    assert choose_way(rows, costs(runs, features=30.0), seed=0).way == SINGLE


def test_together_is_the_mean_of_expected_costs():
    one = Preferences(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), np.array([[1.0, 2.0]]))
    other = Preferences(np.array([[9.0, 1.0]]), np.array([[0.6, 0.4]]), np.array([[9.0, 1.0]]))
    pairs = Preferences(np.array([[0.0, np.inf]]), np.array([[1.0, 0.0]]), np.full((1, 2), np.nan))
    found = together({"survival": one, "cost": other, "pairwise": pairs})
    np.testing.assert_allclose(found.scores, [[5.0, 1.5]])
    np.testing.assert_allclose(found.first, [[0.8, 0.2]])
    np.testing.assert_allclose(found.cost, found.scores)
