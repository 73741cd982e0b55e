"""Intervals of mean grades keep to the grades, and still cover the mean."""

import numpy as np
import pytest

import ogive as og
from ogive.irt.predicted_accuracy import ends_of, reached
from ogive.stats.intervals import Grouping


@pytest.mark.parametrize("chances", [(0, 0.01, 0.04, 0.95), (0.9, 0.08, 0.02, 0)])
@pytest.mark.parametrize("n_items", [20, 60])
def test_intervals_of_grades_keep_to_the_grades_and_cover_the_mean(chances, n_items):
    random, grades = np.random.default_rng(0), np.arange(4.0)
    values = random.choice(grades, (1500, n_items), p=chances)
    values[0, :4] = grades
    own = np.arange(n_items)
    found = reached(
        values,
        None,
        Grouping.of(np.zeros_like(own), own),
        np.ones(n_items),
        0.95,
        bounded=False,
        ends=ends_of(og.Responses(values, kind="graded")),
    )
    truth = float(grades @ chances)
    assert found.low.min() >= 0
    assert found.high.max() <= 3
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.93


def test_a_board_of_grades_has_no_interval_beyond_the_highest():
    random = np.random.default_rng(1)
    values = random.choice([1.0, 2, 3], (4, 30), p=[0.02, 0.06, 0.92])
    board = og.leaderboard(og.Responses(values, kind="graded")).to_frame()
    assert board["accuracy_high"].max() <= 3
    assert (board["accuracy_high"] > board["accuracy"]).all()
