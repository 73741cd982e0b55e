"""The rule for "differs": by hand, beside SciPy, and over rivals that are truly equal."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, ttest_ind, ttest_rel
from scipy.stats import t as student

from ogive.stats.multiplicity import holm
from ogive.stats.pairwise_tests import (
    Differences,
    differences_by_errors,
    differences_of_answers,
    differences_of_estimates,
    differences_of_games,
    differences_over_units,
    letters_of,
)


@pytest.fixture
def random():
    return np.random.default_rng(0)


def pairs(n):
    return list(zip(*np.triu_indices(n, 1), strict=True))


def test_over_units_it_is_the_paired_t_test_adjusted_for_all_pairs(random):
    values = random.normal(size=(5, 9))
    values[0, :2] = np.nan
    found = differences_over_units(values)
    theirs = [ttest_rel(values[i], values[j], nan_policy="omit") for i, j in pairs(5)]
    np.testing.assert_allclose(found.p, [test.pvalue for test in theirs])
    expected = [np.nanmean(values[i] - values[j]) for i, j in pairs(5)]
    np.testing.assert_allclose(found.difference, expected)
    np.testing.assert_array_equal(found.p_adjusted, holm(found.p))


def test_over_answers_it_is_the_exact_sign_test_of_who_is_right_alone(random):
    right = (random.random((4, 30)) < 0.6).astype(float)
    right[1, :4] = np.nan
    found = differences_of_answers(right)
    for p, (i, j) in zip(found.p, pairs(4), strict=True):
        better, worse = int((right[i] > right[j]).sum()), int((right[i] < right[j]).sum())
        assert p == pytest.approx(binomtest(better, better + worse).pvalue)


def test_over_games_it_is_the_sign_test_and_draws_say_nothing(random):
    scores = random.integers(0, 4, size=(3, 15)).astype(float)
    scores[2, 0] = np.nan
    found = differences_of_games(scores, tolerance=1.0)
    for p, (i, j) in zip(found.p, pairs(3), strict=True):
        won, lost = ((side > 1).sum() for side in (scores[i] - scores[j], scores[j] - scores[i]))
        assert p == pytest.approx(binomtest(int(won), int(won + lost)).pvalue)
    never = differences_of_games(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    assert np.isnan(never.p).all()


@pytest.mark.parametrize("rivals", [3, 10])
def test_few_equal_rivals_are_not_separated_by_few_games(rivals, random):
    """Student's t of points separates three equal ones in a quarter of tables of four games."""
    for n_games in (2, 4, 7, 20):
        wrong = 0
        for _ in range(100):
            scores = random.random((rivals, n_games))
            best = int(np.argmax(scores.mean(axis=1)))
            wrong += differences_of_games(scores).behind(best).any()
        assert wrong <= 11  # 5 and 2.6 standard deviations


def test_estimates_that_share_their_error_differ_by_what_they_do_not_share():
    shared = np.full((2, 2), 4.0) + 0.01 * np.eye(2)
    estimate = np.array([0.0, 1.0])
    assert differences_of_estimates(estimate, shared).behind(1)[0]
    assert not differences_of_estimates(estimate, np.diag(shared)).behind(1)[0]


def test_few_degrees_of_freedom_ask_for_more():
    estimate, variance = np.array([0.0, 1.0]), np.full(2, 0.08)
    assert differences_of_estimates(estimate, variance).behind(1)[0]
    assert not differences_of_estimates(estimate, variance, freedom=2).behind(1)[0]


def test_means_of_samples_of_any_size_are_tested_as_by_welch():
    """A sample of 12 took the degrees of freedom of all pairs, also of those without it."""
    random = np.random.default_rng(0)
    drawn = [random.normal(k / 3, 1 + k, n) for k, n in enumerate((12, 40, 200))]
    mean = np.array([x.mean() for x in drawn])
    variance = np.array([x.var(ddof=1) / x.size for x in drawn])
    found = differences_of_estimates(mean, variance, np.array([x.size - 1.0 for x in drawn]))
    wanted = [ttest_ind(drawn[i], drawn[k], equal_var=False).pvalue for i, k in pairs(3)]
    np.testing.assert_allclose(found.p, wanted)
    freedom = np.array([5.0, 1.0])
    exact = differences_of_estimates(np.array([1.0, 0.0]), np.array([0.1, 0.0]), freedom)
    np.testing.assert_allclose(exact.p, 2 * student.sf(1 / np.sqrt(0.1), 5))


def test_only_who_is_lower_is_behind():
    tests = Differences.of_tests(3, np.array([1.0, -1.0, -2.0]), np.array([0.001, 0.001, 0.001]))
    assert tests.behind(0).tolist() == [False, True, False]
    assert tests.level_with(0).tolist() == [False, False, True]
    assert tests.behind(2).tolist() == [True, True, False]


def test_what_cannot_be_compared_is_not_claimed_to_differ(subtests):
    once = np.array([[0.9], [0.1]])
    apart = np.array([[0.9, 0.8, np.nan, np.nan], [np.nan, np.nan, 0.1, 0.2]])
    constant = np.array([[0.9, 0.9], [0.1, 0.1]])
    same = np.array([[0.9, 0.9], [0.9, 0.9]])
    for name, values in {"one unit": once, "none shared": apart, "no spread": constant}.items():
        with subtests.test(name):
            assert differences_over_units(values).level_with(0).tolist() == [False, True]
    assert differences_over_units(same).p.tolist() == [1.0]
    assert np.isnan(differences_over_units(apart).p).all()
    unknown = differences_of_estimates(np.array([1.0, 0.0]), np.array([0.1, np.nan]))
    assert unknown.level_with(0).tolist() == [False, True]
    assert differences_over_units(np.ones((1, 4))).level_with(0).tolist() == [False]


def test_units_that_agree_to_the_digit_count_by_a_sign_test():
    values = np.array([np.full(12, 0.5), np.full(12, 0.25)])
    assert differences_over_units(values).p[0] == pytest.approx(2.0**-11)


def test_units_that_are_not_independent_can_count_as_fewer(random):
    values = np.repeat(random.normal(size=(2, 5)), 10, axis=1)
    found = differences_over_units(values, n_units=5)
    away = values[0] - values[1]
    t = away.mean() / (away.std(ddof=1) / np.sqrt(5))
    assert found.p[0] == pytest.approx(2 * student.sf(abs(t), df=4))


@pytest.mark.parametrize("n_units", [2, 4, 7, 20, 60])
def test_ten_equal_rivals_are_separated_in_at_most_one_of_twenty_tables(n_units, random):
    """1.96 standard errors of the difference from the best separate some of them in most tables."""
    wrong = 0
    for _ in range(200):
        sizes, chance = random.integers(30, 500, n_units), random.beta(8, 2, n_units)
        values = random.binomial(sizes, chance, size=(10, n_units)) / sizes
        best = int(np.argmax(values.mean(axis=1)))
        wrong += differences_over_units(values).behind(best).any()
    assert wrong <= 18  # 200 tables at 5 %: 10, and 2.6 standard deviations


def test_rivals_that_differ_are_separated(random):
    values = np.linspace(0.5, 0.9, 5)[:, None] + 0.03 * random.normal(size=(5, 20))
    assert differences_over_units(values).behind(4).tolist() == [True, True, True, True, False]


def test_differences_of_answers_and_games_are_shares_of_what_was_met():
    right = np.array([[1.0, 1.0, 0.0, 1.0, np.nan], [0.0, 1.0, 1.0, 0.0, 1.0]])
    answers = differences_of_answers(right)
    assert answers.difference.tolist() == [(2 - 1) / 4]
    games = differences_of_games(np.array([[3.0, 2.0, 1.0, 5.0], [1.0, 1.0, 3.0, 4.9]]), 0.5)
    assert games.difference.tolist() == [pytest.approx((2 - 1) / 3)]
    drawn = differences_of_games(np.ones((2, 3)))
    assert (drawn.difference[0], drawn.p[0]) == (0.0, 1.0)
    just = differences_of_games(np.array([[1.0], [0.5]]), 0.5)  # at most the tolerance: a draw
    assert just.difference.tolist() == [0.0]


def test_answers_that_were_never_shared_are_unknown():
    found = differences_of_answers(np.array([[1.0, np.nan], [np.nan, 0.0], [1.0, 1.0]]))
    assert np.isnan(found.p).tolist() == [True, False, False]
    assert np.isnan(found.difference[0])


def test_estimates_are_tested_by_their_joint_covariance_by_hand():
    covariance = np.array([[0.5, 0.2, 0.0], [0.2, 0.4, 0.1], [0.0, 0.1, 0.3]])
    estimate = np.array([1.0, 0.2, 0.2])
    found = differences_of_estimates(estimate, covariance, freedom=7)
    variances = np.array([0.5 + 0.4 - 0.4, 0.5 + 0.3, 0.4 + 0.3 - 0.2])
    np.testing.assert_allclose(found.difference, [0.8, 0.8, 0.0])
    np.testing.assert_allclose(found.p, 2 * student.sf([0.8, 0.8, 0.0] / np.sqrt(variances), 7))
    alone = differences_of_estimates(estimate, np.diag(covariance))
    np.testing.assert_allclose(alone.p, 2 * norm.sf([0.8, 0.8, 0.0] / np.sqrt([0.9, 0.8, 0.7])))


def test_a_difference_of_nothing_without_error_is_no_difference_and_unknown_stays_unknown():
    same = differences_by_errors(3, np.array([0.0, 0.0, 1.0]), np.array([0.0, np.nan, 0.0]))
    assert same.p[0] == 1.0
    assert np.isnan(same.p[1])
    assert same.p[2] == 0.0
    singular = differences_of_estimates(np.array([0.0, 0.0]), np.full((2, 2), 0.1 + 0.2))
    assert singular.p.tolist() == [1.0]


def test_the_border_of_alpha_is_significant():
    tests = Differences.of_tests(2, np.array([1.0]), np.array([0.05]))
    assert tests.behind(0).tolist() == [False, True]
    assert tests.behind(0, alpha=0.049).tolist() == [False, False]
    assert tests.behind(1).tolist() == [False, False]


def test_two_units_have_one_degree_of_freedom_and_one_unit_says_nothing():
    found = differences_over_units(np.array([[1.0, 3.0], [0.0, 1.0]]))
    assert found.p[0] == pytest.approx(2 * student.sf(1.5 / (np.sqrt(0.5) / np.sqrt(2)), 1))
    fewer = differences_over_units(np.array([[1.0, 3.0], [0.0, 1.0]]), n_units=1)
    assert fewer.p.tolist() == [1.0]


def tables_of_pairs(n, *different):
    found = np.zeros((n, n), dtype=bool)
    for first, second in different:
        found[first, second] = found[second, first] = True
    return found


def test_two_share_a_letter_if_and_only_if_they_do_not_differ():
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = np.triu(rng.random((7, 7)) < 0.4, 1)
        different = drawn | drawn.T
        letters = letters_of(different)
        for one in range(7):
            for other in range(7):
                if one != other:
                    assert bool(set(letters[one]) & set(letters[other])) != different[one, other]


def test_letters_follow_the_order_of_the_rows():
    assert letters_of(tables_of_pairs(4, (0, 2), (0, 3), (1, 3))) == ["a", "ab", "bc", "c"]
    assert letters_of(tables_of_pairs(3)) == ["a", "a", "a"]
    assert letters_of(tables_of_pairs(1)) == ["a"]


def test_too_many_groups_are_not_lettered():
    twins = tables_of_pairs(40, *((k, k + 1) for k in range(0, 40, 2)))  # 2 ** 20 groups
    assert letters_of(twins) is None
