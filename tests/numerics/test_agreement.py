import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from itemwise.numerics.agreement import correlation, kendall, pair_signs, spearman


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
