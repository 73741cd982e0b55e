"""Whether scores have anything in common: a test that keeps its level, and finds what is there."""

import re

import numpy as np

from itemwise import Continuous, Responses, calibrate, simulate
from itemwise.estimation.common_factor import _standardised, chance_of_common, common_factor

NOISE = {
    "few respondents": lambda random: random.normal(size=(10, 8)),
    "many items": lambda random: random.normal(size=(12, 60)),
    "heavy tails": lambda random: random.standard_t(2, size=(30, 8)),
    "missing cells": lambda random: np.where(
        random.random((30, 8)) < 0.3, np.nan, random.normal(size=(30, 8))
    ),
}


def chance(z):
    return chance_of_common(*_standardised(z))


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
