"""A bank reads new responses as the kind that it explains, whatever the numbers look like."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError


@pytest.fixture(scope="module")
def graded():
    return og.calibrate(og.simulate("graded", 80, 6, random_state=3).responses)


@pytest.fixture(scope="module")
def percent():
    scores = og.simulate("continuous", 80, 4, random_state=3).responses.to_frame()
    return og.calibrate(100 * scores, og.Continuous(bounds=(0, 100)))


def test_low_grades_alone_are_still_grades(graded):
    alone = graded.score([[0, 1, 0, 1, 0, 0]])
    beside = graded.score([[0, 1, 0, 1, 0, 0], [3, 2, 3, 4, 2, 3]])
    assert alone["ability"].iloc[0] == pytest.approx(beside["ability"].iloc[0], abs=1e-12)


def test_whole_numbers_are_scores_to_a_bank_of_scores(percent):
    found = percent.score([[3, 4, 5, 7]])
    np.testing.assert_allclose(
        found["ability"], percent.score([[3.0, 4.0, 5.0, 7.0001]])["ability"], atol=1e-3
    )


def test_nothing_asked_is_of_any_kind(graded, percent):
    for cal in (graded, percent):
        empty = pd.DataFrame(np.full((1, len(cal.item_names)), np.nan), columns=cal.item_names)
        assert cal.score(empty)["ability"].iloc[0] == pytest.approx(0, abs=1e-6)


def test_grades_cannot_be_right_or_wrong():
    cal = og.calibrate(og.simulate("2pl", 50, 3, random_state=1).responses)
    grades = og.Responses([[0, 2, 1]], kind="graded", items=cal.item_names)
    with pytest.raises(InputError, match=r"item_2' holds 2, but binary responses are 0 or 1"):
        cal.score(grades)


def test_an_item_of_scores_that_nobody_was_asked_survives_the_bank(tmp_path):
    values = og.simulate("continuous", 60, 4, random_state=2).responses.to_frame()
    values["item_3"] = np.nan
    cal = og.calibrate(values, "continuous")
    assert cal.items.loc["item_3", "discrimination_se"] == pytest.approx(1.0)  # its prior's
    assert np.isnan(cal.items.loc["item_3", "difficulty_se"])
    assert og.load(cal.save(tmp_path / "bank.json")).items.equals(cal.items)


@pytest.mark.parametrize("items", [3, []])
def test_curves_of_what_is_no_item_are_refused(graded, items):
    with pytest.raises(InputError, match="items is"):
        graded.curves(items)


def test_abilities_beyond_everybody_are_refused(graded):
    with pytest.raises(InputError, match="within ±1,000,000"):
        graded.probability([1e308])
