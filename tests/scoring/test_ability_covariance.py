"""The joint covariance of abilities: dense or not, it is one and the same."""

import numpy as np
import pytest

from itemwise import calibrate, simulate
from itemwise.errors import InputError
from itemwise.scoring import ability_covariance as module


@pytest.fixture(scope="module")
def cal():
    return calibrate(simulate("2pl", 30, 40, random_state=1).responses, "2pl", progress=False)


@pytest.fixture(scope="module")
def covariance(cal):
    return cal.ability_covariance()


def test_differences_are_those_of_the_whole_matrix(covariance):
    whole = covariance.dense()
    first, second = np.triu_indices(30, 1)
    expected = whole[first, first] + whole[second, second] - 2 * whole[first, second]
    np.testing.assert_allclose(covariance.difference_se(first, second) ** 2, expected)
    few = covariance.difference_se(first[:3], second[:3])  # too few for a whole matrix
    np.testing.assert_allclose(few**2, expected[:3])
    np.testing.assert_allclose(covariance.se**2, np.diag(whole))


def test_nobody_differs_from_oneself(covariance):
    same = np.array([4, 4])
    assert covariance.difference_se(same, same).tolist() == [0.0, 0.0]


def test_some_respondents_have_their_part_of_the_matrix(covariance):
    some = np.array([5, 0, 7])
    part = covariance.of(some)
    np.testing.assert_allclose(part.dense(), covariance.dense()[np.ix_(some, some)])
    assert part.respondents == ("respondent_6", "respondent_1", "respondent_8")


def test_known_items_leave_every_respondent_alone(cal):
    known = cal.ability_covariance(items_known=True)
    scored = cal.abilities(items_known=True)
    np.testing.assert_allclose(known.dense(), np.diag(scored["se"] ** 2))


def test_draws_spread_as_the_matrix_says_about_where_the_truth_is_expected(covariance):
    drawn = covariance.draw(20_000, np.random.default_rng(0))
    centre = covariance.ability + covariance.offset
    np.testing.assert_allclose(drawn.mean(axis=1), centre, atol=0.02)
    expected = covariance.dense() - np.outer(covariance.offset, covariance.offset)
    np.testing.assert_allclose(np.cov(drawn), expected, atol=0.02)


def test_many_respondents_keep_a_few_directions_only(cal, covariance, monkeypatch):
    monkeypatch.setattr(module, "MOST_JOINT", 10)
    found = module.ability_covariance(
        cal._encode(cal.responses), cal.model, cal.coords, cal.population, "eap",
        cal._own_eap, cal._item_errors, cal.responses.respondents,
    )  # fmt: skip
    assert found.shared.shape[1] == 3
    np.testing.assert_allclose(found.se, covariance.se)


def test_a_matrix_that_does_not_fit_is_refused(covariance, monkeypatch):
    monkeypatch.setattr(module, "MOST_DENSE", 29)
    with pytest.raises(InputError, match="30 abilities does not fit"):
        covariance.dense()
