import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from itemwise import Graded, TwoPL
from itemwise.errors import InputError
from itemwise.scoring import staged_abilities

MODEL = TwoPL()
DIFFICULTY = np.linspace(-2, 2, 43)  # ten groups of four; the three hardest fill no group
COORDS = MODEL.from_parameters({"discrimination": np.full(43, 1.5), "difficulty": DIFFICULTY})


def staged(cells):
    return staged_abilities(np.atleast_2d(np.asarray(cells, dtype=np.int8)), MODEL, COORDS)


def row(last_group, rest=1):
    cells = np.full(43, rest)
    cells[36:40] = last_group
    return cells


def test_the_hardest_group_has_the_last_word():
    found = staged([row([1, 0, 1, 0], rest=1), row([1, 0, 1, 0], rest=0)])
    right, b = np.array([1, 0, 1, 0]), DIFFICULTY[36:40]

    def minus_log_likelihood(ability):
        chance = expit(1.5 * (ability - b))
        return -np.where(right == 1, np.log(chance), np.log(1 - chance)).sum()

    best = minimize_scalar(minus_log_likelihood, bounds=(-5, 5), options={"xatol": 1e-9}).x
    np.testing.assert_allclose(found.ability, best, atol=1e-6)
    chance = expit(1.5 * (best - b))
    information = (1.5**2 * chance * (1 - chance)).sum()
    np.testing.assert_allclose(found.se, 1 / np.sqrt(information), rtol=1e-6)
    assert not found.at_bound.any()


def test_who_gets_all_right_goes_half_the_way_to_the_hardest_item_in_each_group():
    ability = 1.0  # the share of right responses, where the search begins
    for _ in range(10):
        ability += (2 - ability) / 2
    found = staged(np.ones(43))
    assert found.ability[0] == pytest.approx(ability)
    assert found.at_bound.all()


def test_who_gets_all_wrong_goes_half_the_way_to_the_easiest_item_in_each_group():
    ability = 0.0
    for _ in range(10):
        ability -= (ability + 2) / 2
    assert staged(np.zeros(43)).ability[0] == pytest.approx(ability)


def test_a_group_that_was_never_asked_moves_nobody():
    cells = row([1, 0, 1, 0])
    unasked = cells.copy()
    unasked[20:24] = -1
    assert staged(unasked).ability[0] == pytest.approx(staged(cells).ability[0], abs=1e-9)


def test_fewer_items_than_groups_are_refused():
    with pytest.raises(InputError, match="needs 10 items or more, but there are 9"):
        staged_abilities(np.ones((1, 9), dtype=np.int8), MODEL, COORDS[:9])


def test_grades_are_refused():
    with pytest.raises(InputError, match="right and wrong responses, but the model is graded"):
        staged_abilities(np.ones((1, 43), dtype=np.int8), Graded(), COORDS)
