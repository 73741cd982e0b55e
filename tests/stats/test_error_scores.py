import numpy as np
import pytest

from ogive.errors import InputError
from ogive.stats.metrics import error_scores, error_unit


def test_the_unit_is_the_median_error_of_the_median():
    target = np.array([3.0, 9.0, 1.0, 2.0, 50.0])  # the median is 3; errors 0, 6, 2, 1, 47
    assert error_unit(target) == 2.0
    assert error_unit(np.array([0.0, 0.0, 0.0, 0.0, 10.0])) == 2.0  # the mean error
    with pytest.raises(InputError, match="the same value in every row"):
        error_unit(np.full(5, 3.0))


def test_a_score_falls_with_the_error_and_its_log_odds_are_minus_its_logarithm():
    errors = np.array([-8.0, 1.0, 2.0, 4.0, np.nan])
    scores = error_scores(errors, 2.0)
    np.testing.assert_allclose(scores[:4], [1 / 5, 2 / 3, 1 / 2, 1 / 3])
    assert np.isnan(scores[4])
    np.testing.assert_allclose(np.log(scores / (1 - scores))[:4], -np.log(np.abs(errors[:4]) / 2))


def test_scores_stay_inside_and_depend_on_nothing_else():
    far = error_scores(np.array([0.0, 1e300, 1e-300]), 1.0)
    np.testing.assert_allclose(far, [1 / 1.05, 1 / 21, 1 / 1.05])
    errors = np.random.default_rng(0).normal(size=50)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(
        error_scores(errors[order], 0.7), error_scores(errors, 0.7)[order]
    )
