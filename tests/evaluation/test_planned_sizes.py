"""Sizes of comparisons, against textbook figures, SciPy's noncentral t, and simulated tests."""

import numpy as np
import pytest
from scipy import stats

from ogive.evaluation.power import Spread, detectable, needed

ALONE = np.arange(200)


def power_of(n, variance, difference, alpha=0.05):
    """Chance of a two-sided paired t-test, by the noncentral t."""
    shift = difference / np.sqrt(variance / n)
    limit = stats.t.ppf(1 - alpha / 2, n - 1)
    return stats.nct.sf(limit, n - 1, shift) + stats.nct.cdf(-limit, n - 1, shift)


@pytest.mark.parametrize(
    ("variance", "difference"), [(0.3, 0.03), (0.3, 0.1), (0.05, 0.2), (2.0, 0.5)]
)
def test_the_items_that_are_needed_give_the_power(variance, difference):
    n = needed(variance, difference, power=0.8, alpha=0.05)
    assert power_of(n, variance, difference) >= 0.8 - 2e-3
    assert power_of(n - 2, variance, difference) < 0.8


def test_many_items_follow_the_normal_formula():
    reach = 1.959964 + 0.841621  # 97.5 % and 80 % of a normal distribution
    assert needed(0.25, 0.01, power=0.8, alpha=0.05) == pytest.approx(
        reach**2 * 0.25 / 0.01**2, rel=2e-3
    )


def test_what_is_needed_is_detectable():
    n = needed(0.3, 0.05, power=0.9, alpha=0.01)
    assert detectable(0.3, n, power=0.9, alpha=0.01) <= 0.05
    assert detectable(0.3, n - 1, power=0.9, alpha=0.01) > 0.05


def test_nothing_to_find_needs_more_items_than_there_are():
    assert needed(1.0, 1e-9, power=0.8, alpha=0.05) == np.inf


def test_clusters_of_equal_items_count_once():
    """Two items of a cluster that agree are one: twice the variance per item, half the freedom."""
    values = np.repeat(np.random.default_rng(0).normal(size=100), 2)
    none = np.full(200, np.nan)
    single = Spread.of(values[::2], np.zeros(100), none[::2], np.arange(100))
    double = Spread.of(values, np.zeros(200), none, np.repeat(np.arange(100), 2))
    assert double.variance()[0] == pytest.approx(2 * single.variance()[0])
    assert double.items_per_cluster == 2
    assert single.variance()[0] == pytest.approx(values[::2].var(ddof=1))


def made(random, n_items=200, epochs=4, between=0.04):
    """Mean scores of right and wrong answers, with what single tries leave."""
    chance = np.clip(random.normal(0.6, between**0.5, n_items), 0.0, 1.0)
    mean = random.binomial(epochs, chance) / epochs
    one = mean * (1 - mean) * epochs / (epochs - 1)
    return chance, Spread.of(mean, one * (1 - 1 / epochs), one, np.arange(n_items))


def test_both_parts_of_the_variance_are_recovered_without_bias():
    random = np.random.default_rng(1)
    truth, found = [], []
    for _ in range(200):
        chance, spread = made(random)
        truth.append((chance.var(ddof=1), (chance * (1 - chance)).mean()))
        found.append((spread.variance(10**9)[0], spread.within.sum()))
    off = np.array(found) - np.array(truth)
    np.testing.assert_array_less(np.abs(off.mean(axis=0)), 4 * off.std(axis=0) / np.sqrt(200))


def test_the_standard_error_of_the_variance_is_its_spread_over_pilots():
    random = np.random.default_rng(2)
    values, errors = np.array([made(random)[1].variance(3) for _ in range(300)]).T
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.15)


def test_more_epochs_leave_the_items_own_variance():
    _, spread = made(np.random.default_rng(3))
    once, often, forever = (spread.variance(k)[0] for k in (1, 5, 10**9))
    assert once > often > forever == pytest.approx((spread.single - spread.within).sum())
    assert once - forever == pytest.approx(5 * (often - forever))
    assert spread.within_share()[0] == pytest.approx(spread.within.sum() / once)


def test_without_repetitions_all_is_between_items():
    none = np.full(200, np.nan)
    spread = Spread.of(np.tile([0.0, 1.0], 100), np.zeros(200), none, ALONE)
    assert not spread.repeated
    assert spread.variance(1)[0] == pytest.approx(0.25 * 200 / 199)
    assert np.isnan(spread.within_share()).all()
