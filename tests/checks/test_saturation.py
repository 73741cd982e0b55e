"""Saturation: a verdict that rests on the best two, and none where there is too little."""

import numpy as np
import pytest

import ogive as og
from ogive.checks.saturation import ALL_ITEMS, best_of


def test_saturation_of_a_table_done_by_hand(bank):
    easy, hard = [-3.0] * 6, [2.0] * 2
    cal = bank(discrimination=[1.0] * 8, difficulty=easy + hard)
    rows = [[1] * 8, [1] * 7 + [0], [1] * 6 + [0, 0], [1] * 5 + [0, 0, 0], [0] * 8]
    found = og.item_health(og.Responses(rows), cal).saturation.loc[ALL_ITEMS]
    assert found["best"] == 2
    assert (found["first"], found["second"]) == ("respondent_1", "respondent_2")
    assert (found["solved_by_best"], found["separate_two"], found["separate_best"]) == (7, 1, 1)
    assert found["solved_share"] == 7 / 8
    at = 1 / (1 + np.exp(-(found["ability_top"] - np.array(easy + hard))))
    assert found["information_top"] == pytest.approx((at * (1 - at)).sum())
    assert found["se_top"] == pytest.approx((at * (1 - at)).sum() ** -0.5)


def test_a_benchmark_that_all_of_the_best_solve_is_saturated():
    items = {"discrimination": np.full(60, 1.5), "difficulty": np.linspace(-4, -1, 60)}
    found = og.item_health(og.simulate("2pl", 80, items=items, random_state=0).responses)
    assert found.saturation.loc[ALL_ITEMS, "state"] == "saturated"
    assert found.said_of_saturation.startswith("Saturated: ")
    items["difficulty"] = np.linspace(-2, 3, 60)
    found = og.item_health(og.simulate("2pl", 80, items=items, random_state=0).responses)
    assert found.saturation.loc[ALL_ITEMS, "state"] == "open"


def test_saturation_does_not_change_with_those_below(subtests):
    """Reruns of two middling models made an open board of a saturated one."""
    values = og.simulate("2pl", 10, 300, random_state=5).responses.to_frame().to_numpy()
    order = np.argsort(-values.mean(axis=1))
    more = np.vstack([values, values[order[4:6]]])
    rows = []
    for each in (values, more):
        table = og.Responses(each)
        rows.append(og.item_health(table, og.calibrate(table, "1pl")).saturation.loc[ALL_ITEMS])
    for name in ("state", "first", "second", "top_share", "top_low", "top_high", "lead", "lead_p"):
        with subtests.test(name):
            assert rows[0][name] == rows[1][name]


def test_a_board_whose_best_misses_a_sixth_is_open_and_named():
    values = np.zeros((8, 300), dtype=int)
    for row in range(8):
        values[row, : 250 - 5 * row] = 1  # nobody solves the last fifty
    found = og.item_health(og.Responses(values), og.calibrate(og.Responses(values), "1pl"))
    assert found.saturation.loc[ALL_ITEMS, "state"] == "open"
    said = found.said_of_saturation
    assert said.startswith("Open: the best respondent, respondent_1, reaches 83% (95 % interval ")
    assert "The best two, respondent_1 and respondent_2, differ by 0.017 (95 % interval " in said


def test_items_that_allow_different_grades_have_no_verdict_that_one_range_alone_gives():
    """Full marks on 15 items of 0 or 1 and 15 of 0 to 4 were 62 % of what they allow, and open."""
    values = og.simulate("2pl", 30, 30, random_state=0).responses.to_frame().to_numpy()
    values = values * np.repeat([1, 4], 15)
    values[0] = np.repeat([1, 4], 15)
    found = og.item_health(og.Responses(values, kind="graded"))
    assert found.saturation.loc[ALL_ITEMS, "state"] == "unknown"
    assert (
        "the items seem to allow different grades: the best respondent, respondent_1, reaches 62% "
        "of what 30 items allow if each allows the highest grade of all, and 100% if each"
        in found.said_of_saturation
    )
    divided = og.item_health(og.Responses(values / np.repeat([1, 4], 15)))
    assert divided.saturation.loc[ALL_ITEMS, "top_share"] == 1


@pytest.mark.parametrize("shape", [(1, 450), (2, 60), (30, 1), (30, 19)])
def test_too_few_models_or_items_have_no_verdict_and_no_infinite_errors(shape):
    values = np.random.default_rng(0).integers(0, 2, shape)
    found = og.item_health(og.Responses(values))
    assert found.saturation.loc[ALL_ITEMS, "state"] == "unknown"
    assert found.said_of_saturation == (
        "Saturation is not judged: it takes at least 3 respondents that items link and 20 items; "
        f"there are {shape[0]} and {shape[1]}."
    )
    assert not np.isinf(found.saturation.select_dtypes("number").to_numpy(float)).any()
    assert not np.isinf(found.information.to_numpy()).any()


def test_the_best_are_one_in_four_of_those_who_were_asked():
    ability = np.array([0.0, 3.0, 1.0, 2.0])
    asked = np.array([True, False, True, True])
    assert best_of(ability, asked).tolist() == [3, 2]
    assert len(best_of(np.arange(100.0), np.ones(100, bool))) == 5
