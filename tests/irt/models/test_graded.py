"""The graded response model: its formula, its order, its tails."""

import numpy as np
import pytest
from scipy.special import expit

from ogive.errors import InputError
from ogive.irt.models.graded import Graded

ABILITIES = np.linspace(-5.0, 5.0, 21)


def test_the_chance_to_reach_a_grade_is_a_logistic_curve():
    a, b = 1.3, [-1.0, 0.2, 0.9]
    model = Graded(categories=4)
    coords = model.from_parameters(
        {"discrimination": [a], **{f"difficulty_{k + 1}": [x] for k, x in enumerate(b)}}
    )
    prob = np.exp(model.log_prob(coords, ABILITIES))[:, 0]
    for k, difficulty in enumerate(b, start=1):
        np.testing.assert_allclose(prob[k:].sum(axis=0), expit(a * (ABILITIES - difficulty)))
    np.testing.assert_allclose(
        model.expected(coords, ABILITIES)[0], sum(expit(a * (ABILITIES - x)) for x in b)
    )


def test_coordinates_are_slope_intercept_and_logarithms_of_the_gaps():
    model = Graded(categories=3)
    coords = model.from_parameters(
        {"discrimination": [2.0], "difficulty_1": [0.5], "difficulty_2": [1.0]}
    )
    np.testing.assert_allclose(coords, [[2.0, -1.0, 0.0]], atol=1e-15)


def test_probabilities_far_out_are_exact_to_the_last_grade():
    """At 300, the second grade of five needs σ(-z) of 1e-130: a subtraction would give zero."""
    model = Graded(categories=3)
    found = model.log_prob(np.array([[1.0, 0.0, np.log(2.0)]]), np.array([-300.0, 300.0]))[:, 0]
    inside = np.log1p(-np.exp(-2.0))
    np.testing.assert_allclose(found[:, 1], [-300.0, -298.0 + inside, 0.0], atol=1e-12)
    np.testing.assert_allclose(found[:, 0], [0.0, -300.0 + inside, -302.0], atol=1e-12)


def test_two_grades_very_near_to_each_other_stay_apart():
    model = Graded(categories=3)
    coords = np.array([[1.0, 0.0, -12.0]])
    middle = model.log_prob(coords, np.zeros(1))[1, 0, 0]
    assert middle == pytest.approx(np.log(0.25) - 12.0, abs=1e-5)
    assert np.isfinite(model.slopes(coords, ABILITIES)).all()


def test_difficulties_out_of_order_are_refused(subtests):
    for slope, steps in [
        (1.0, (0.5, 0.2)),
        (1.0, (0.5, 0.5)),
        (-1.0, (0.2, 0.5)),
        (0.0, (0.2, 0.5)),
    ]:
        with subtests.test(slope=slope, steps=steps):
            items = {
                "discrimination": [slope],
                "difficulty_1": [steps[0]],
                "difficulty_2": [steps[1]],
            }
            with pytest.raises(InputError, match=r"must ascend .*or descend .*negative"):
                Graded(categories=3).from_parameters(items)


def test_descending_difficulties_are_those_of_a_negative_item():
    model = Graded(categories=3)
    items = {"discrimination": [-1.0], "difficulty_1": [0.5], "difficulty_2": [0.2]}
    expected = model.expected(model.from_parameters(items), ABILITIES)[0]
    assert (np.diff(expected) < 0).all()
