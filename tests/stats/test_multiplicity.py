"""Effects are judged by their errors and by each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2, f, false_discovery_control, norm, t

from ogive.stats.multiplicity import (
    CORRECTIONS,
    _inverse,
    _scatter,
    _tested,
    benjamini_hochberg,
    benjamini_yekutieli,
    holm,
    stand_out,
)

SOME = np.array([0.2, 0.001, 0.04, 0.04, 1.0, 0.013])


def test_false_discoveries_are_controlled_as_scipy_does_it():
    np.testing.assert_allclose(benjamini_hochberg(SOME), false_discovery_control(SOME))
    found = benjamini_yekutieli(SOME)
    np.testing.assert_allclose(found, false_discovery_control(SOME, method="by"))


def test_holm_steps_down_from_bonferroni():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])


@pytest.mark.parametrize("name", CORRECTIONS)
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_no_correction_makes_a_p_value_smaller_or_changes_the_order(name, values):
    p = np.array(values)
    found = CORRECTIONS[name](p)
    assert (found >= p).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_a_test_that_was_not_made_counts_for_nothing(subtests):
    for name in CORRECTIONS:
        with subtests.test(name=name):
            with_gap = CORRECTIONS[name](np.r_[SOME[:3], np.nan, SOME[3:]])
            assert np.isnan(with_gap[3])
            np.testing.assert_array_equal(np.delete(with_gap, 3), CORRECTIONS[name](SOME))
            assert CORRECTIONS[name](np.empty(0)).size == 0


NO_WAYS = 0


def drawn(n, scatter=0.0, seed=0, size=1.0):
    """Effects of two contrasts whose errors are known, with more scatter than that on request."""
    random = np.random.default_rng(seed)
    sd = random.uniform(0.5, 2.0, n) * size
    covariances = (sd**2)[:, None, None] * np.array([[1.0, 0.3], [0.3, 1.0]])
    root = np.linalg.cholesky(covariances)
    effects = np.einsum("nij,nj->ni", root, random.normal(size=(n, 2)))
    return effects + scatter * random.normal(size=(n, 2)), covariances


def ways(n, width=NO_WAYS):
    return np.ones((n, 2, width))


@pytest.mark.slow
def test_p_values_are_uniform_where_only_errors_scatter():
    found = [stand_out(*drawn(60, seed=k), ways(60)).p for k in range(60)]
    assert (np.concatenate(found) < 0.05).mean() == pytest.approx(0.05, abs=0.015)


def test_a_scatter_that_all_effects_have_is_no_finding():
    shares, scatters = [], []
    for k in range(15):
        found = stand_out(*drawn(100, scatter=3.0, seed=k), ways(100))
        shares.append((found.p < 0.05).mean())
        scatters.append(found.scatter)
    assert np.mean(shares) < 0.05
    assert np.mean(scatters) == pytest.approx(3.0, rel=0.12)  # a little large: the larger of two


def test_what_stands_out_from_the_scatter_is_found():
    effects, covariances = drawn(100, scatter=1.0, seed=1, size=0.5)
    effects[:5, 0] += 12.0
    found = stand_out(effects, covariances, ways(100))
    assert (found.p[:5] < 1e-4).all()
    assert (found.p[5:] < 1e-3).sum() == 0


def test_what_all_items_share_is_taken_out():
    effects, covariances = drawn(80, seed=2)
    effects[:6] += 30.0  # and what differs does not count for it
    found = stand_out(effects + 5.0, covariances, ways(80, 1))
    assert found.common[0] == pytest.approx(5.0, abs=0.4)
    assert set(np.argsort(found.p)[:6]) == set(range(6))


def test_with_known_errors_alone_the_statistic_is_that_of_wald():
    effects, covariances = drawn(9, seed=3)
    found = stand_out(effects, covariances, ways(9))
    assert found.scatter.tolist() == [0.0, 0.0]
    by_hand = [e @ np.linalg.inv(v) @ e for e, v in zip(effects, covariances, strict=True)]
    np.testing.assert_allclose(found.statistic, by_hand)


def test_rows_without_an_effect_stay_unknown():
    effects, covariances = drawn(10, seed=4)
    effects[3] = np.nan
    found = stand_out(effects, covariances, ways(10))
    assert np.isnan(found.p[3])
    assert np.isfinite(np.delete(found.p, 3)).all()
    assert np.isnan(stand_out(effects * np.nan, covariances, ways(10)).p).all()


def test_effects_without_any_error_call_nothing_different():
    found = stand_out(np.zeros((6, 2)), np.zeros((6, 2, 2)), ways(6))
    assert (found.p == 1).all()


def test_the_scatter_brings_the_quantiles_of_squared_effects_where_chance_has_them():
    """With errors all alike that is arithmetic; the larger of two quantiles counts."""
    effects = np.array([0.5, -8.0, 3.0, -5.0, 9.0, 1.0, 4.0, -6.0, 12.0, 2.0, 7.0])
    squares = np.sort(effects**2)
    chance = chi2(1)
    each = [squares[k] / chance.ppf(q) - 1.5 for k, q in ((5, 0.5), (8, 0.75))]
    assert _scatter(effects, np.full(11, 1.5)) == pytest.approx(np.sqrt(max(each)))
    wide = effects * np.where(np.abs(effects) > 5, 10.0, 1.0)
    upper = np.sort(wide**2)[8] / chance.ppf(0.75) - 1.5
    assert _scatter(wide, np.full(11, 1.5)) == pytest.approx(np.sqrt(upper))


def test_a_scatter_of_all_items_must_gain_more_than_it_costs(subtests):
    """Akaike's criterion: one nat for one parameter, which effects all alike gain as computed."""
    for n in (16, 101):
        with subtests.test(n=n):
            border = brentq(lambda z, n=n: n / 2 * (z**2 - 1 - 2 * np.log(z)) - 1, 1.001, 10.0)
            assert _scatter(np.full(n, 0.97 * border), np.ones(n)) == 0.0
            assert _scatter(np.full(n, 1.5 * border), np.ones(n)) > 0.3
    assert _scatter(np.array([1.2, -1.2]), np.ones(2)) == 0.0  # two are too few to tell
    assert _scatter(np.array([3.0, -3.0]), np.zeros(2)) > 0.0


def test_p_values_know_that_the_scatter_is_an_estimate(subtests):
    effects, errors = np.array([2.0, -1.0, 0.5, 4.0]), np.array([1.0, 2.0, 0.5, 1.5])
    for n, parts in ((4, 0.37 * 4), (2, 1.0), (40, 8.0)):
        with subtests.test(n=n):
            many = np.resize(effects, n), np.resize(errors, n)
            statistic, p = _tested(many[0][:, None], many[1][:, None, None], np.array([0.7]))
            whole = many[1] + 0.49
            np.testing.assert_allclose(statistic, many[0] ** 2 / whole)
            freedom = parts / (0.49 / whole) ** 2
            np.testing.assert_allclose(p, f(1, freedom).sf(statistic))
    _, sure = _tested(effects[:, None], errors[:, None, None], np.zeros(1))
    np.testing.assert_allclose(sure, chi2(1).sf(effects**2 / errors), rtol=1e-4)


def test_the_clearest_of_two_contrasts_counts_and_both_know_the_scatter():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    scatter, effect = np.array([0.6, 0.3]), np.array([2.0, -1.0])
    statistic, p = _tested(effect[None], covariance[None], scatter)
    whole = covariance + np.diag(scatter**2)
    assert statistic[0] == pytest.approx(effect @ np.linalg.inv(whole) @ effect)
    share = whole[0, 1] / whole[0, 0]
    rest = (effect[1] - share * effect[0]) / np.sqrt(whole[1, 1] - share * whole[0, 1])
    each = [
        2 * t(1 / (1 - covariance[c, c] / whole[c, c]) ** 2).sf(abs(z))
        for c, z in enumerate((effect[0] / np.sqrt(whole[0, 0]), rest))
    ]
    assert p[0] == pytest.approx(min(1.0, 2 * min(each)))


def test_a_direction_without_variance_says_nothing():
    sizes = np.array([[4.0, 4e-8], [4.0, 4e-10], [0.0, 0.0]])
    found = _inverse(np.array([np.diag(row) for row in sizes]), np.zeros(2))
    np.testing.assert_allclose(found[0], np.diag([0.25, 1 / 4e-8]), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.diag([0.25, 0.0]))
    np.testing.assert_array_equal(found[2], np.zeros((2, 2)))


def test_what_is_common_weighs_by_errors_and_far_effects_have_no_say():
    variances = np.array([1.0, 2.0, 0.5, 1.0, 4.0, 2.0])
    effects = 3.0 + np.array([0.2, -0.4, 0.1, -0.3, 0.8, 0.3])
    ways = np.ones((6, 1, 1))
    plain = stand_out(effects[:, None], variances[:, None, None], ways)
    wanted = np.average(effects, weights=1 / variances)
    assert plain.common == pytest.approx([wanted])
    assert plain.scatter.tolist() == [0.0]
    np.testing.assert_allclose(plain.effects[:, 0], effects - wanted)
    effects[5] = 30.0
    found = stand_out(effects[:, None], variances[:, None, None], ways)
    assert found.common == pytest.approx([np.average(effects[:5], weights=1 / variances[:5])])


def test_effects_beyond_the_mild_ones_weigh_less():
    """At rest, pulls cancel: each is cut at the 80 % quantile of chance (Huber, 1964)."""
    variances, effects = np.full(9, 1.0), np.r_[np.linspace(-0.4, 0.4, 8), 2.5]
    common = stand_out(effects[:, None], variances[:, None, None], np.ones((9, 1, 1))).common[0]
    most = np.sqrt(chi2(1).ppf(0.8))
    assert np.clip(effects - common, -most, most).sum() == pytest.approx(0.0, abs=1e-4)
    assert effects[8] - common > most


def test_a_few_items_that_differ_are_no_scatter_of_all_and_are_found():
    scatters, found = [], []
    for k in range(12):
        effects, covariances = drawn(40, seed=100 + k)
        effects[:4, 0] += 3.8 * np.sqrt(covariances[:4, 0, 0])
        each = stand_out(effects, covariances, ways(40, 0))
        scatters.append(each.scatter[0] > 0)
        found.append((each.p[:4] < 0.005).mean())
    assert np.mean(scatters) <= 0.1
    assert np.mean(found) > 0.7


def test_each_contrast_is_tested_given_those_before():
    effects, covariances = drawn(9, seed=3)
    found = stand_out(effects, covariances, ways(9))
    for e, v, p in zip(effects, covariances, found.p, strict=True):
        rest = (e[1] - v[0, 1] / v[0, 0] * e[0]) / np.sqrt(v[1, 1] - v[0, 1] ** 2 / v[0, 0])
        apart = max(abs(e[0]) / np.sqrt(v[0, 0]), abs(rest))
        assert p == pytest.approx(min(1.0, 4 * norm.sf(apart)), rel=1e-4)
