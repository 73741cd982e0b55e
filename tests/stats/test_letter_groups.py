import numpy as np

from ogive.stats.pairwise_tests import letters_of


def pairs(n, *different):
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
    assert letters_of(pairs(4, (0, 2), (0, 3), (1, 3))) == ["a", "ab", "bc", "c"]
    assert letters_of(pairs(3)) == ["a", "a", "a"]
    assert letters_of(pairs(1)) == ["a"]


def test_too_many_groups_are_not_lettered():
    twins = pairs(40, *((k, k + 1) for k in range(0, 40, 2)))  # 2 ** 20 groups
    assert letters_of(twins) is None
