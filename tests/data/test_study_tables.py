"""Tasks whose scores are in different units."""

import numpy as np
import pytest

import ogive as og
from ogive.data.responses import Responses
from ogive.data.study_tables import on_one_scale, said_of_raw_units

TASKS = ["quiz", "quiz", "judge", "judge"]


def test_a_score_from_0_to_10_does_not_count_ten_times():
    table = Responses([[1, 0, 8, 9], [0, 1, 2, 10]]).described(items={"task": TASKS})
    scaled, (note,) = on_one_scale(table, TASKS)
    assert scaled.values.tolist() == [[1, 0, 0.8, 0.9], [0, 1, 0.2, 1]]
    assert "judge: 0 to 10" in note
    board = og.leaderboard(table)
    assert board.to_frame()["accuracy"].tolist() == pytest.approx([0.675, 0.55])
    assert note in board.notes


def test_tasks_in_one_unit_stay_as_they_are():
    for values in ([[1, 0, 1, 0]], [[3.0, 8.5, 7.0, 9.0]]):
        table = Responses(values)
        assert on_one_scale(table, TASKS) == (table, [])
    assert on_one_scale(Responses([[3, 8, 1, 0]]), None)[1] == []


def test_stated_bounds_are_used():
    told = {"lowest": [0, 0, 1, 1], "highest": [1, 1, 5, 5]}
    table = Responses([[1, 0, 2, 4.5]]).described(items=told)
    scaled, (note,) = on_one_scale(table, TASKS)
    assert scaled.values.tolist() == [[1, 0, 0.25, 0.875]]
    assert "judge: 1 to 5" in note


def test_scores_below_zero_have_the_bounds_of_the_data():
    scaled, _ = on_one_scale(Responses([[1, 0, -4.5, -0.5]], kind="continuous"), TASKS)
    assert scaled.values.tolist() == [[1, 0, 0, 1]]


def test_missing_and_constant_tasks_stay_finite():
    nan = float("nan")
    scaled, _ = on_one_scale(Responses([[1, nan, 7, 7], [nan, nan, nan, 7]]), TASKS)
    assert np.nanmax(scaled.values) <= 1
    scaled, _ = on_one_scale(Responses([[nan, nan, 30.5, 40]]), TASKS)
    assert scaled.values[0, 2:].tolist() == [0.305, 0.4]


def test_tries_and_spread_go_with_the_scores():
    table = Responses([[0.5, 1, 4, 8]], tries=[[2, 2, 3, 3]], spread=[[0.7, 0, 2, 1]])
    scaled, _ = on_one_scale(table, TASKS)
    assert scaled.tries.tolist() == [[2, 2, 3, 3]]
    assert scaled.spread.tolist() == [[0.7, 0, 0.2, 0.1]]


def test_a_mean_of_raw_scores_says_which_tasks_count_more():
    table = Responses([[1, 0, 8, 9], [0, 1, 2, 10]])
    (note,) = said_of_raw_units(table, TASKS)
    assert "longer ranges count more (judge: 0 to 10; quiz: 0 to 1)" in note
    assert "divide by the length of its range" in note
    assert said_of_raw_units(table, None) == []
    assert said_of_raw_units(Responses([[1, 0, 1, 0]]), TASKS) == []
