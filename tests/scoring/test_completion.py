"""The mean over all items from some of them, against sums over a grid and over simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import itemwise as iw
from itemwise.calibration import known_items
from itemwise.models import TwoPL
from itemwise.responses import Responses

A, B = np.array([1.0, 1.5, 0.7, 2.0]), np.array([-1.0, 0.0, 0.5, 1.0])


@pytest.fixture(scope="module")
def four():
    model = TwoPL()
    return known_items(model, model.from_parameters({"discrimination": A, "difficulty": B}))


def brute_force(row):
    """Mean and deviation of the mean response by a sum over a fine grid."""
    grid = np.linspace(-9, 9, 6001)
    p = expit(A * (grid[:, None] - B))
    weight = np.exp(-(grid**2) / 2)
    for k, response in enumerate(row):
        if not np.isnan(response):
            weight = weight * (p[:, k] if response else 1 - p[:, k])
    weight /= weight.sum()
    left = np.isnan(row)
    total = p[:, left].sum(axis=1)
    mean = weight @ total
    variance = weight @ (total - mean) ** 2 + weight @ (p * (1 - p))[:, left].sum(axis=1)
    return (np.nansum(row) + mean) / 4, np.sqrt(variance) / 4


def test_the_completed_score_is_the_sum_over_the_posterior(four):
    rows = np.array([[1, np.nan, 0, np.nan], [np.nan, np.nan, np.nan, 1], [0, 0, np.nan, 0]])
    found = four.completed_scores(Responses(rows, items=four.item_names, kind="binary"))
    expected = np.array([brute_force(row) for row in rows])
    np.testing.assert_allclose(found[["score", "score_se"]], expected, atol=1e-6)
    assert found["asked"].tolist() == [2, 1, 3]


def test_who_was_asked_everything_is_known_without_error(four):
    found = four.completed_scores(Responses([[1, 0, 1, 1]], items=four.item_names))
    assert found["score"].iloc[0] == 0.75
    assert found["score_se"].iloc[0] == 0


def test_intervals_hold_the_full_score_as_often_as_they_say():
    made = iw.simulate("2pl", 2000, 60, random_state=3)
    bank = iw.calibrate(made.responses)
    values = made.responses.values
    full = values.mean(axis=1)
    values[:, 12:] = np.nan
    found = bank.completed_scores(Responses(values, items=bank.item_names, kind="binary"))
    z = (full - found["score"].to_numpy()) / found["score_se"].to_numpy()
    assert abs((np.abs(z) < 1.96).mean() - 0.95) < 0.015
    assert abs(z.mean()) < 0.07


def test_grades_are_completed_too():
    made = iw.simulate("graded", 300, 8, random_state=0)
    bank = iw.calibrate(made.responses, model="graded")
    values = made.responses.values
    full = values.mean(axis=1)
    values[:, 4:] = np.nan
    found = bank.completed_scores(Responses(values, items=bank.item_names, kind="graded"))
    assert np.corrcoef(found["score"], full)[0, 1] > 0.8
