"""The generalised partial credit model: its own formulas."""

import numpy as np
import pytest
from scipy.special import softmax

from ogive.irt.models.nominal import PartialCredit

ABILITIES = np.linspace(-5.0, 5.0, 21)
ITEM = {
    "discrimination": [1.3],
    "difficulty_1": [0.4],
    "difficulty_2": [-0.6],  # easier than the step before it: the grade between is seldom seen
    "difficulty_3": [0.9],
}


def test_log_odds_of_neighbouring_grades_are_straight_lines():
    model = PartialCredit(categories=4)
    log_prob = model.log_prob(model.from_parameters(ITEM), ABILITIES)[:, 0]
    for k in (1, 2, 3):
        expected = 1.3 * (ABILITIES - ITEM[f"difficulty_{k}"][0])
        np.testing.assert_allclose(log_prob[k] - log_prob[k - 1], expected, atol=1e-13)


def test_probabilities_are_a_softmax_of_the_summed_steps():
    model = PartialCredit(categories=4)
    coords = model.from_parameters(ITEM)
    np.testing.assert_allclose(coords, [[1.3, -0.52, 0.26, -0.91]], atol=1e-15)
    odds = np.array([0 * ABILITIES, *(k * 1.3 * ABILITIES + coords[0, k] for k in (1, 2, 3))])
    np.testing.assert_allclose(
        model.category_probabilities(coords, ABILITIES)[:, 0], softmax(odds, axis=0)
    )


def test_steps_may_come_in_any_order_and_come_back():
    model = PartialCredit(categories=4)
    found = model.parameters(model.from_parameters(ITEM))
    for name, column in ITEM.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-14)


def test_tails_are_exact():
    log_prob = PartialCredit(categories=3).log_prob(
        np.array([[1.0, 0.5, -1.0]]), np.array([-300.0, 300.0])
    )[:, 0]
    np.testing.assert_allclose(log_prob[:, 0], [0.0, -299.5, -601.0], atol=1e-12)
    np.testing.assert_allclose(log_prob[:, 1], [-599.0, -298.5, 0.0], atol=1e-12)


def test_information_is_the_squared_slope_times_the_variance_of_the_grade():
    model = PartialCredit(categories=4)
    coords = model.from_parameters(ITEM)
    expected = 1.3**2 * model.variance(coords, ABILITIES)
    np.testing.assert_allclose(model.information(coords, ABILITIES), expected, rtol=1e-10)


def test_the_prior_of_an_intercept_is_weaker_the_higher_the_grade():
    deviations = [c.prior.sd for c in PartialCredit(categories=4).coordinates[1:]]
    assert deviations == pytest.approx([5.0, 10.0, 15.0])
