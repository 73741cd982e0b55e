import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ogive.stats.metrics import (
    correlation,
    correlation_interval,
    is_constant,
    kendall,
    pair_signs,
    prediction_figures,
    rank_agreement,
    runs_within,
    spearman,
)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_agreement_is_that_of_scipy_with_ties(pairs):
    x, y = np.array(pairs, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert kendall(x, y) == spearman(x, y) == correlation(x, y) == 0
        return
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert correlation(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_many_rankings_are_compared_at_once():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(4, 3, 7)), random.normal(size=(4, 1, 7))
    found = kendall(x, y)
    assert found.shape == (4, 3)
    assert found[2, 1] == kendall(x[2, 1], y[2, 0])
    assert spearman(x, np.broadcast_to(y, x.shape))[2, 1] == spearman(x[2, 1], y[2, 0])


def test_signs_say_who_of_a_pair_is_above():
    assert pair_signs(np.array([3.0, 1.0, 1.0])).tolist() == [1, 1, 0]


def test_slices_hold_neighbours_that_are_close():
    assert runs_within(np.array([1.0, 1.8, 2.6, 4.0]), 1.0) == [(0, 2), (1, 3)]


def test_what_is_just_as_far_as_the_reach_is_apart():
    assert runs_within(np.array([1.0, 2.0]), 1.0) == []
    assert runs_within(np.array([0.1, 0.3]), 0.3 - 0.1) == []


@given(st.lists(st.integers(0, 40), min_size=1, max_size=15), st.integers(1, 20))
def test_each_close_pair_is_in_a_slice_and_no_slice_in_another(numbers, reach):
    values = np.sort(np.array(numbers, dtype=float))
    runs = runs_within(values, reach)
    for a in range(len(values)):
        for b in range(a + 1, len(values)):
            together = any(start <= a and b < stop for start, stop in runs)
            assert together == (values[b] - values[a] < reach)
    for start, stop in runs:
        assert not any((s, t) != (start, stop) and s <= start and stop <= t for s, t in runs)


def test_the_interval_of_a_correlation_is_that_of_fisher_and_wider_for_ranks():
    drawn = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40)
    theirs = stats.pearsonr(*drawn.T)
    found = correlation_interval(theirs.statistic, 40, ranks=False)
    assert found == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    # Bonett and Wright (2000): variance (1 + r²/2) / (n - 3) on Fisher's scale.
    low, high = correlation_interval(0.6, 40, ranks=True)
    reach = stats.norm.ppf(0.975) * np.sqrt(1.18 / 37)
    assert np.arctanh([low, high]) == pytest.approx(np.arctanh(0.6) + reach * np.array([-1, 1]))


def test_three_pairs_or_a_line_say_nothing_on_how_far_a_correlation_holds():
    for r, n in [(0.5, 3), (1.0, 40), (-1.0, 40), (np.nan, 40)]:
        assert np.isnan(correlation_interval(r, n, ranks=False)).all()
    assert np.isfinite(correlation_interval(0.5, 4, ranks=True)).all()


def test_a_correlation_next_to_one_still_has_an_interval_and_turns_with_its_sign():
    low, high = correlation_interval(1 - 1e-11, 40, ranks=False)
    assert 0.999999 < low < high < 1
    down = correlation_interval(-0.3, 12, ranks=True)
    assert down == pytest.approx(tuple(-x for x in correlation_interval(0.3, 12, ranks=True)[::-1]))


def test_agreement_of_two_rankings_is_unknown_where_one_ranks_nobody():
    x, y = np.array([1.0, 3.0, 2.0, 2.0]), np.array([0.1, 0.2, 0.4, 0.3])
    found = rank_agreement(x, y)
    assert found["kendall"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
    for one, other in ((x, np.ones(4)), (np.ones(4), y)):
        assert np.isnan([*rank_agreement(one, other).values()]).all()


def test_predictions_are_measured_in_deviations_of_the_truth():
    truth, found = np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 4.0])
    figures = prediction_figures(found, truth)
    assert figures["nrmse"] == pytest.approx(np.sqrt(5 / 3) / truth.std())
    assert figures["spearman"] == pytest.approx(stats.spearmanr(found, truth).statistic)
    assert prediction_figures(np.full(3, 3.0), truth) == {
        "nrmse": pytest.approx(1.0),
        "spearman": 0,
    }
    assert np.isnan([*prediction_figures(found, np.full(3, 0.1)).values()]).all()


def test_nothing_is_not_constant_and_one_value_is():
    assert is_constant(np.array([0.1] * 7))
    assert is_constant(np.array([2.0]))
    assert not is_constant(np.empty(0))
    assert not is_constant(np.array([1.0, 1.0, np.nextafter(1.0, 2.0)]))
