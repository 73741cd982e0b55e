"""Number right without one item, against the plain recursion over all others."""

import numpy as np
import pytest

from ogive.irt.summed_scores import (
    joint_with_number_right,
    joint_with_score,
    number_right,
    without_one,
)


def curves(n_items, nodes, random, *, turned=0.03, slope=0.1):
    """Chances to be right: half of the items can be guessed, some have a reversed key."""
    steepness = np.exp(random.normal(slope, 0.5, (n_items, 1)))
    steepness[random.random(n_items) < turned] *= -1
    guess = random.uniform(0, 0.3, (n_items, 1)) * (random.random((n_items, 1)) < 0.5)
    away = nodes - random.normal(0, 1.5, (n_items, 1))
    return guess + (1 - guess) / (1 + np.exp(-steepness * away))


def plain(right):
    """The recursion of Lord and Wingersky, item by item."""
    chance = np.zeros((len(right) + 1, right.shape[1]))
    chance[0] = 1.0
    for each in right:
        chance[1:] = chance[1:] * (1 - each) + chance[:-1] * each
        chance[0] *= 1 - each
    return chance


@pytest.mark.parametrize("n_items", [1, 63, 64, 65, 200])
def test_the_number_right_equals_the_plain_recursion(n_items):
    right = curves(n_items, np.linspace(-5, 5, 7), np.random.default_rng(n_items))
    np.testing.assert_allclose(number_right(right), plain(right), rtol=1e-11, atol=1e-300)


def test_long_tests_lose_only_what_is_all_but_impossible():
    right = curves(1100, np.linspace(-4, 4, 5), np.random.default_rng(3))
    found, expected = number_right(right), plain(right)
    likely = expected > 1e-40
    np.testing.assert_allclose(found[likely], expected[likely], rtol=1e-10)
    assert found[~likely].max() < 1e-39


def test_dividing_an_item_out_is_exact_in_both_tails(subtests):
    random = np.random.default_rng(5)
    right = curves(80, np.linspace(-5, 5, 9), random)
    right[7], right[8] = 0.0, 1.0  # never and always right
    right[9] = 0.5
    whole = plain(right)
    found = without_one(whole, right, np.arange(80))
    for item in (0, 7, 8, 9, 41):
        with subtests.test(item=item):
            expected = plain(np.delete(right, item, axis=0))
            np.testing.assert_allclose(found[:, item], expected, rtol=1e-10, atol=1e-300)


def test_only_the_scores_that_are_asked_are_divided():
    right = curves(30, np.linspace(-3, 3, 4), np.random.default_rng(6))
    whole = plain(right)
    every = without_one(whole, right, np.arange(30))
    for asked in ([0], [29], [3, 11, 12]):
        some = without_one(whole, right, np.array(asked))
        np.testing.assert_allclose(some, every[asked], rtol=1e-12)


@pytest.mark.parametrize(("n_items", "slope"), [(30, 0.1), (150, 0.1), (150, 1.5), (520, 0.1)])
def test_scores_joint_with_each_item_equal_the_tree_of_plain_recursions(n_items, slope):
    random = np.random.default_rng(n_items)
    nodes = np.linspace(-5, 5, 15)
    right = curves(n_items, nodes, random, slope=slope)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    expected = np.stack(
        [each for _, each in joint_with_score(np.stack([1 - right, right]), weights)], axis=2
    )
    likely = np.flatnonzero(expected[:, :, 0].sum(axis=1) > 1e-12)[::5]
    scores = np.union1d(likely[(likely > 0) & (likely < n_items)], [n_items - 3])
    for items, joint in joint_with_number_right(right, weights, scores):
        there = np.moveaxis(expected[scores][:, :, items], 1, 0)
        assert (np.abs(joint - there) / there.sum(axis=0)).max() < 1e-10


def test_chances_that_items_share_have_a_range_of_no_width():
    right = np.full((60, 3), 0.3)
    ((_, joint),) = joint_with_number_right(right, np.ones(3) / 3, np.array([10, 20]))
    whole = plain(right)[[10, 20], 0]
    np.testing.assert_allclose(joint.sum(axis=0), np.repeat(whole[:, None], 60, axis=1), rtol=1e-10)
    np.testing.assert_allclose(joint[1, 0], whole[0] * 10 / 60, rtol=1e-10)
