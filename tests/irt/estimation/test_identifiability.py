"""Whether scores have anything in common: a test that keeps its level, and finds what is there."""

import re

import numpy as np
import pytest

from ogive import Continuous, Responses, calibrate, simulate
from ogive.irt.estimation import identifiability as module
from ogive.irt.estimation.identifiability import (
    _largest_eigenvalue,
    _shuffled,
    _standardized,
    common_factor,
    parallel_analysis,
)

NOISE = {
    "few respondents": lambda random: random.normal(size=(10, 8)),
    "many items": lambda random: random.normal(size=(12, 60)),
    "heavy tails": lambda random: random.standard_t(2, size=(30, 8)),
    "missing cells": lambda random: np.where(
        random.random((30, 8)) < 0.3, np.nan, random.normal(size=(30, 8))
    ),
}


def chance(z):
    return parallel_analysis(*_standardized(z))


@pytest.mark.slow
def test_of_independent_items_five_in_a_hundred_tables_are_called_common(subtests):
    for case, draw in NOISE.items():
        with subtests.test(case):
            random = np.random.default_rng(0)
            found = np.array([chance(draw(random)) for _ in range(25)])
            assert (found <= 0.05).sum() <= 4  # more happens once in 140 times
            assert 0.35 < found.mean() < 0.65


def test_a_common_ability_is_found(subtests):
    for seed in range(5):
        with subtests.test(seed=seed):
            drawn = simulate("continuous", 12, 8, random_state=seed).responses
            model = Continuous().fitted_to(drawn.cells, drawn.items)
            assert common_factor(drawn, model).found
            assert not any("not identified" in note for note in calibrate(drawn).notes)


def test_noise_and_few_respondents_are_said(subtests):
    noise = Responses(np.random.default_rng(0).random((10, 8)).round(3), kind="continuous")
    few = simulate("continuous", 9, 8, random_state=0).responses
    for case, table, words in [
        ("noise", noise, r"no more in common than chance would give \(p = 0\.\d+"),
        ("few", few, "fewer than 10 respondents cannot"),
    ]:
        with subtests.test(case):
            notes = " ".join(calibrate(table).notes)
            assert re.search(f"Ability is not identified: .*{words}", notes)


def test_a_row_may_stand_for_many_respondents():
    drawn = simulate("continuous", 6, 8, random_state=0).responses
    said = [note for note in calibrate(drawn, weights=[5] * 6).notes if "fewer than 10" in note]
    assert said == []


def test_constant_columns_and_single_items_have_nothing_to_share():
    values = np.column_stack([np.full(12, 0.5), np.linspace(0.1, 0.9, 12)])
    assert not any("not identified" in note for note in calibrate(values).notes)


def test_the_largest_eigenvalue_is_that_of_the_correlations():
    random = np.random.default_rng(0)
    table = random.normal(size=(40, 5)) + random.normal(size=(40, 1))
    apart, asked = _standardized(table)
    wanted = np.linalg.eigvalsh(np.corrcoef(table.T))[-1]
    assert _largest_eigenvalue(apart) == pytest.approx(wanted, rel=1e-3)
    assert asked.all()


def test_columns_are_standardised_over_what_was_asked_and_constant_ones_left_out():
    z = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, np.nan], [5.0, 5.0, 4.0]])
    apart, asked = _standardized(z)
    root = np.sqrt(1.5)
    np.testing.assert_allclose(apart, [[-root, -1.0], [0.0, 0.0], [root, 1.0]])
    assert asked.tolist() == [[True, True], [True, False], [True, True]]
    assert _standardized(1e9 + np.array([[0.0], [0.5]]))[0].shape == (2, 0)


def test_shuffled_columns_keep_their_values_and_their_gaps():
    random = np.random.default_rng(0)
    table = np.arange(40.0).reshape(10, 4)
    asked = np.ones((10, 4), dtype=bool)
    whole = _shuffled(table, asked, random)
    np.testing.assert_array_equal(np.sort(whole, axis=0), table)
    assert (whole != table).any(axis=0).all()
    asked[:5, 1] = False
    holed = _shuffled(np.where(asked, table, 0.0), asked, random)
    assert not holed[:5, 1].any()
    np.testing.assert_array_equal(np.sort(holed[5:, 1]), table[5:, 1])


def test_the_share_counts_the_table_itself_and_ends_after_ten_as_large(monkeypatch):
    apart, asked = _standardized(np.random.default_rng(3).normal(size=(30, 4)))
    sizes = iter([3.0, 3.0, *[2.9, 3.0] * 300])  # every second shuffle has as much in common
    monkeypatch.setattr(module, "_largest_eigenvalue", lambda table: next(sizes))
    assert parallel_analysis(apart, asked) == 11 / 21
    sizes = iter([3.0, 3.0, *[3.0] * 9, *[2.0] * 300])
    assert parallel_analysis(apart, asked) == 10 / 200
    sizes = iter([3.0, 3.0, *[2.0] * 300])
    assert parallel_analysis(apart, asked) == 1 / 200
    border = 2 * (1 + np.sqrt(4 / 30)) ** 2
    sizes = iter([border * 1.001])
    assert parallel_analysis(apart, asked) == 0.0
    sizes = iter([border * 0.999, 3.0, *[2.0] * 300])
    assert parallel_analysis(apart, asked) == 1 / 200


def test_ten_respondents_are_enough_and_rows_of_no_weight_are_none():
    drawn = simulate("continuous", 12, 8, random_state=0).responses
    model = Continuous().fitted_to(drawn.cells, drawn.items)
    assert common_factor(drawn, model, np.r_[np.ones(10), 0, 0]).found
    assert "fewer than 10" in common_factor(drawn, model, np.r_[np.ones(9), 0, 0, 0]).note
