"""The common odds ratio, against figures computed by hand."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from ogive.irt.differential import common_odds

# By stratum: right and wrong of the reference group, right and wrong of the other one.
TABLES = ((20, 10, 12, 18), (15, 5, 10, 10))


def answers(tables=TABLES):
    right, second, strata = [], [], []
    for stratum, (a, b, c, d) in enumerate(tables):
        right += [1] * a + [0] * b + [1] * c + [0] * d
        second += [False] * (a + b) + [True] * (c + d)
        strata += [stratum] * (a + b + c + d)
    return np.array(right), np.array(second), np.array(strata)


def test_ratio_statistic_and_delta_are_those_computed_by_hand():
    found = common_odds(*answers())
    # sum of a d / n over sum of b c / n: (6 + 3.75) / (2 + 1.25) = 3
    assert found.log_ratio == pytest.approx(log(3))
    assert found.delta == pytest.approx(-2.35 * log(3))
    # a - E(a): 20 - 16 and 15 - 12.5; variances 30·30·32·28 / (60²·59) and 20·20·25·15 / (40²·39)
    variance = 30 * 30 * 32 * 28 / (60**2 * 59) + 20 * 20 * 25 * 15 / (40**2 * 39)
    assert found.statistic == pytest.approx((6.5 - 0.5) ** 2 / variance)
    assert found.p == pytest.approx(chi2(1).sf(found.statistic))
    assert found.delta_se == pytest.approx(2.35 * found.log_ratio_se)


def test_the_error_in_one_stratum_is_that_of_a_log_odds_ratio():
    found = common_odds(*answers(TABLES[:1]))
    assert found.log_ratio_se == pytest.approx(sqrt(1 / 20 + 1 / 10 + 1 / 12 + 1 / 18))


def test_strata_in_which_nobody_can_be_compared_say_nothing():
    more = common_odds(*answers((*TABLES, (7, 3, 0, 0), (4, 0, 5, 0))))
    assert more == common_odds(*answers())


def test_without_a_comparison_everything_is_unknown():
    found = common_odds(*answers(((5, 0, 5, 0),)))
    assert np.isnan([found.log_ratio, found.log_ratio_se, found.statistic, found.p]).all()


def test_errors_are_the_spread_over_samples():
    random, found = np.random.default_rng(0), []
    strata = np.repeat(np.arange(5), 60)
    second = np.tile([False, True], 150)
    for _ in range(300):
        chance = 1 / (1 + np.exp(-(strata / 2 - 1 - 0.8 * second)))
        found.append(common_odds(random.random(300) < chance, second, strata))
    ratios = [each.log_ratio for each in found]
    assert np.mean(ratios) == pytest.approx(0.8, abs=0.05)
    assert np.std(ratios) == pytest.approx(np.mean([f.log_ratio_se for f in found]), rel=0.12)


def test_the_error_over_strata_is_that_of_robins_breslow_and_greenland_by_hand():
    # P = (a + d) / n: 38/60, 25/40; Q = 22/60, 15/40; R = a d / n: 6, 3.75; S = b c / n: 2, 1.25.
    same = (38 / 60 * 6 + 25 / 40 * 3.75) / (2 * 9.75**2)
    mixed = 38 / 60 * 2 + 22 / 60 * 6 + 25 / 40 * 1.25 + 15 / 40 * 3.75
    other = (22 / 60 * 2 + 15 / 40 * 1.25) / (2 * 3.25**2)
    found = common_odds(*answers())
    assert found.log_ratio_se == pytest.approx(sqrt(same + mixed / (2 * 9.75 * 3.25) + other))


def test_a_stratum_counts_where_both_groups_and_both_outcomes_are_there(subtests):
    useless = {"first": (0, 0, 3, 4), "second": (3, 4, 0, 0), "wrong": (0, 3, 0, 4)}
    for absent, table in {**useless, "right": (3, 0, 4, 0)}.items():
        with subtests.test(absent=absent):
            assert common_odds(*answers((TABLES[0], table))) == common_odds(*answers(TABLES[:1]))
    assert common_odds(*answers((TABLES[0], (1, 0, 0, 1)))) != common_odds(*answers(TABLES[:1]))


def test_odds_of_none_or_of_all_are_unknown():
    for table in ((5, 0, 3, 2), (3, 2, 5, 0), (5, 0, 0, 5)):
        assert np.isnan(common_odds(*answers((table,))).log_ratio)
    nobody = np.array([], dtype=int)
    assert np.isnan(common_odds(nobody, nobody.astype(bool), nobody).p)


def test_a_difference_less_than_the_correction_is_none():
    found = common_odds(*answers(((5, 5, 5, 5), (6, 5, 5, 5))))
    assert found.statistic == 0.0
    assert found.p == 1.0
