"""Choices among options as codes."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.frames import option_frame
from ogive.errors import InputError

CHOSEN = pd.DataFrame(
    {"q1": ["A", "C", None], "q2": ["B", "B", "D"], "q3": [1.0, 10.0, 2.0]},
    index=["small", "middle", "large"],
)
KEY = {"q1": "C", "q2": "B", "q3": 2}


def test_the_right_option_is_0_and_the_others_follow_in_order():
    found = og.Responses.from_choices(CHOSEN, KEY)
    assert found.kind == "nominal"
    assert found.cells.tolist() == [[1, 0, 1], [0, 0, 2], [-1, 1, 0]]
    facts = found.item_facts
    assert facts["key"].tolist() == ["C", "B", "2"]
    assert facts["option_1"].tolist() == ["A", "D", "1"]
    assert facts["option_2"].tolist()[2] == "10"


def test_given_options_keep_their_order_and_those_that_nobody_chose():
    found = og.Responses.from_choices(CHOSEN[["q1", "q2"]], ["C", "B"], options=list("DCBA"))
    assert found.item_facts.loc["q1"].tolist() == ["C", "D", "B", "A"]
    assert found.cells[0].tolist() == [3, 0]


def test_choices_become_right_or_wrong_and_nothing_else():
    found = og.Responses.from_choices(CHOSEN, KEY)
    right = found.of_kind("binary")
    assert np.nan_to_num(right.values, nan=-1).tolist() == [[0, 1, 0], [1, 1, 0], [-1, 0, 1]]
    assert right.item_facts["key"].tolist() == ["C", "B", "2"]
    for kind in ("graded", "continuous"):
        with pytest.raises(InputError, match="no order"):
            found.of_kind(kind)
    with pytest.raises(InputError, match="from_choices"):
        right.of_kind("nominal")


def test_studies_of_right_and_wrong_take_choices():
    drawn = og.simulate(og.Nominal(categories=3), 40, 12, random_state=0).responses
    board = og.leaderboard(drawn)
    np.testing.assert_allclose(
        board.to_frame()["accuracy"].sort_index(),
        og.leaderboard(drawn.of_kind("binary")).to_frame()["accuracy"].sort_index(),
    )


def test_a_table_of_choices_survives_its_file(tmp_path, subtests):
    found = og.Responses.from_choices(CHOSEN, KEY)
    for name in ("table.csv", "table.parquet"):
        with subtests.test(name):
            assert og.read_responses(found.save(tmp_path / name)) == found


BAD = {
    "no frame": ([["A"]], ["A"], {}, "give a frame"),
    "short key": (CHOSEN, ["C"], {}, "1 entries, but there are 3 items"),
    "key without an item": (CHOSEN, {"q1": "C", "q2": "B"}, {}, "no right option for 1 item"),
    "key that is a word": (CHOSEN, "C", {}, "right option of each item"),
    "unknown option": (CHOSEN[["q1"]], ["C"], {"options": ["C", "B"]}, "not among its options"),
    "options that are a word": (CHOSEN[["q1"]], ["C"], {"options": "ABC"}, r"`options` must be"),
}


def test_what_is_no_choice_is_refused_in_a_sentence(subtests):
    for name, (frame, key, more, sentence) in BAD.items():
        with subtests.test(name), pytest.raises(InputError, match=sentence):
            og.Responses.from_choices(frame, key, **more)


def test_a_key_that_nobody_chose_is_noted():
    found = og.Responses.from_choices(CHOSEN[["q2"]], ["A"])
    assert found.notes == ("Nobody chose the right option of 1 item (q2): check the key.",)


def test_choices_as_text_begin_with_the_key_and_give_the_same_table():
    found = og.Responses.from_choices(CHOSEN, KEY)
    frame = option_frame(found)
    assert frame.loc["key"].tolist() == ["C", "B", "2"]
    again = og.Responses.from_choices(frame.iloc[1:], frame.iloc[0])
    assert again == found
