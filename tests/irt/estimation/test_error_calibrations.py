"""Grades of errors by hand, and what regressors with known errors get."""

import numpy as np
import pytest

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.constrained_scales import ERROR_MODELS, error_grades


def simulated(n_regressors=20, n_instances=30, seed=0):
    """Log-odds of scores: how good a regressor is, less how hard an instance is, and noise."""
    random = np.random.default_rng(seed)
    good, hard = random.normal(size=n_regressors), random.normal(size=n_instances)
    odds = 0.5 * good[:, None] - hard + random.normal(size=(n_regressors, n_instances))
    return Responses(1 / (1 + np.exp(-odds)), kind="continuous"), good, hard


@pytest.mark.parametrize(
    "name",
    [pytest.param(m, marks=pytest.mark.slow) if m == "beta" else m for m in ERROR_MODELS],
)
def test_every_model_recovers_who_is_good_and_what_is_hard(name):
    scores, good, hard = simulated()
    found = ERROR_MODELS[name](scores)
    # 30 scores with a noise of 1 give 0.94 for 20 regressors, and 0.85 three standard errors below;
    # 20 of them give 0.98 for instances. Grades tell a little less.
    assert np.corrcoef(found.abilities()["ability"], good)[0, 1] > 0.82
    assert np.corrcoef(found.items["difficulty"], hard)[0, 1] > 0.88


def test_grades_are_fifths_of_all_scores_and_gaps_stay():
    values = np.arange(50.0).reshape(5, 10) / 50
    values[0, 0] = np.nan
    grades = error_grades(Responses(values, kind="continuous")).values
    assert np.isnan(grades[0, 0])
    np.testing.assert_allclose(np.bincount(grades[~np.isnan(grades)].astype(int)), 10, atol=1)


def test_many_equal_scores_give_fewer_grades_and_one_score_none():
    values = np.where(np.arange(40).reshape(4, 10) % 4, 0.9, 0.2)
    grades = error_grades(Responses(values, kind="continuous")).values
    assert set(np.unique(grades)) == {0.0, 1.0}
    with pytest.raises(InputError, match="All scores of errors are equal"):
        error_grades(Responses(np.full((3, 3), 0.5), kind="continuous"))
