"""Wrong options that attract the strong."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError


def choices(n_respondents=250, n_items=10, seed=0, missing=0.0):
    """Letters, of which A is right."""
    model = og.Nominal(categories=4)
    drawn = og.simulate(model, n_respondents, n_items, missing=missing, random_state=seed)
    letters = np.array([None, *"ABCD"], dtype=object)
    cells = letters[drawn.responses.cells + 1]
    return pd.DataFrame(cells, drawn.responses.respondents, drawn.responses.items)


@pytest.fixture(scope="module")
def found():
    frame = choices()
    key = dict.fromkeys(frame.columns, "A") | {"item_2": "D"}
    return og.distractors(frame, key, progress=False)


def test_an_item_with_a_wrong_key_is_named_and_no_other(found):
    assert found.suspects == ("item_2",)
    assert "item_2: log-odds of A against D rise by" in found.meaning
    assert "Check these keys" in found.meaning
    assert found.meaning.startswith("In 1 of 10 items")


def test_the_frame_has_one_row_per_option_with_its_error(found):
    frame = found.to_frame()
    assert len(frame) == 40
    np.testing.assert_allclose(frame.groupby("item")["share"].sum(), 1.0)
    wrong = frame[~frame["right"]]
    assert (wrong["slope_se"] > 0).all()
    assert frame[frame["right"]]["p"].isna().all()
    bank = found.calibration.items
    row = wrong[(wrong["item"] == "item_5") & (wrong["option"] == "C")].iloc[0]
    assert row["slope"] == bank.loc["item_5", "slope_2"]


def test_where_all_keys_are_right_nothing_is_found():
    frame = choices(150, 8, seed=3, missing=0.2)
    found = og.distractors(frame, ["A"] * 8, progress=False)
    assert found.suspects == ()
    assert found.meaning.startswith("In none of 8 items")


def test_the_key_may_be_a_row_of_the_frame():
    frame = choices(60, 6, seed=4)
    keyed = pd.concat([pd.DataFrame([["A"] * 6], ["key"], frame.columns), frame])
    by_row = og.distractors(keyed.rename_axis("respondent").reset_index(), progress=False)
    by_list = og.distractors(frame, ["A"] * 6, progress=False)
    pd.testing.assert_frame_equal(by_row.to_frame(), by_list.to_frame())


def test_an_option_that_nobody_chose_is_said_and_not_judged():
    frame = choices(60, 6, seed=5)
    table = og.Responses.from_choices(frame, ["A"] * 6, options=list("ABCDE"))
    found = og.distractors(table, progress=False)
    never = found.options[found.options["option"] == "E"]
    assert never["p"].isna().all()
    assert any("Nobody chose 6 options" in note for note in found.notes)


def test_what_tells_no_choice_is_refused(subtests):
    right = og.simulate("2pl", 50, 5, random_state=0).responses
    frame = choices(60, 6)
    cases = {
        "right or wrong": ((right,), "which option was chosen"),
        "no row called key": ((frame,), "no rows have that name"),
        "few": ((frame.iloc[:5], ["A"] * 6), "takes 10 or more"),
    }
    for name, (arguments, sentence) in cases.items():
        with subtests.test(name), pytest.raises(InputError, match=sentence):
            og.distractors(*arguments, progress=False)
