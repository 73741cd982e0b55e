"""What tests will accept is foreseen from other cases, and they begin where that pays."""

import numpy as np

from ogive.capability.selective_risk import accepted, expected_share, reached


def sample(n, seed, chance):
    random = np.random.default_rng(seed)
    score = random.normal(size=n)
    return score, random.random(n) < chance(score)


def good(score):
    return np.where(score > 0, 0.995, 0.8)


def noisy(score):
    """Wrong labels everywhere: 2 % of the most certain cases, more of the others."""
    return np.where(score > -1, 0.98, 0.7)


def test_the_expected_share_is_that_of_new_samples():
    found = expected_share(*sample(5_000, 0, good), 500, target=0.95, alpha=0.05)
    taken = [
        accepted(*sample(500, seed, good), target=0.95, sizes=found.sizes).coverage
        for seed in range(1, 101)
    ]
    assert abs(found.share - np.mean(taken)) < 0.05


def test_tests_begin_later_where_the_most_certain_cases_have_errors():
    found = expected_share(*sample(800, 0, noisy), 400, target=0.95, alpha=0.05)
    usual, learned = [], []
    for seed in range(1, 61):
        held = sample(400, seed, noisy)
        usual.append(accepted(*held, target=0.95).coverage)
        learned.append(accepted(*held, target=0.95, sizes=found.sizes).coverage)
    assert np.mean(learned) > np.mean(usual) + 0.15


def test_with_few_cases_to_learn_from_tests_begin_as_usual():
    few = expected_share(*sample(10, 0, good), 500, target=0.95, alpha=0.05)
    held = sample(500, 1, good)
    assert few.share == 0
    assert accepted(*held, target=0.95, sizes=few.sizes) == accepted(*held, target=0.95)


def test_nothing_is_expected_where_nothing_can_be_shown():
    found = expected_share(*sample(500, 0, good), 40, target=0.95, alpha=0.05)
    assert (found.share, len(found.sizes)) == (0, 0)


def test_the_last_test_passed_in_a_row_counts():
    passed = np.array([[True, True, False, True], [False, True, True, True]])
    sizes = np.array([1.0, 2.0, 3.0, 4.0])
    assert reached(passed, sizes, 0).tolist() == [2, 0]
    assert reached(passed, sizes, 1).tolist() == [2, 4]
