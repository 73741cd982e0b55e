import json

import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError

TABLE = og.simulate("2pl", 200, 15, random_state=1).responses


@pytest.fixture
def known():
    table = og.Responses([[1, 0, 1, 0]], items=["q1", "q2", "q3", "q4"])
    return table.described(
        items={"task": ["arc", "arc", "boolq", None], "id": [10, 2, 7, 1], "hash": list("abcd")}
    )


def test_documents_of_lm_eval_are_numbers_by_task(known, tmp_path):
    path = tmp_path / "samples.json"
    found = og.lm_eval_samples(["q3", "q1", "q2", "q1"], known, path)
    assert found == {"boolq": [7], "arc": [2, 10]}
    assert json.loads(path.read_text()) == found


def test_a_frame_of_facts_serves_as_well(known):
    frame = pd.DataFrame({"task": ["arc", "arc"], "doc": [4.0, 3.0]}, index=["q1", "q2"])
    found = og.lm_eval_samples(["q1", "q2"], frame, id="doc")
    assert found == {"arc": [3, 4]}
    assert all(type(number) is int for number in found["arc"])


def test_sample_ids_of_inspect_stay_what_they_are(known, tmp_path):
    assert og.inspect_sample_ids(["q1", "q3"], known, id="hash") == {"arc": ["a"], "boolq": ["c"]}
    path = tmp_path / "ids.json"
    assert og.inspect_sample_ids(["q1", "q2"], known, path) == {"arc": [10, 2]}
    assert json.loads(path.read_text()) == {"arc": [10, 2]}


@pytest.mark.parametrize("chosen", [og.lm_eval_samples, og.inspect_sample_ids])
def test_what_is_not_known_of_items_is_named(known, chosen):
    with pytest.raises(InputError, match="no fact 'subject'"):
        chosen(["q1"], known, task="subject")
    with pytest.raises(InputError, match="q9"):
        chosen(["q1", "q9"], known)
    with pytest.raises(InputError, match="q4"):
        chosen(["q4"], known)
    with pytest.raises(InputError, match="empty"):
        chosen([], known)
    with pytest.raises(InputError, match=r"`facts` must be .*got dict"):
        chosen(["q1"], {})


def test_documents_without_a_number_are_refused(known):
    with pytest.raises(InputError, match="identifies documents by number"):
        og.lm_eval_samples(["q1"], known, id="hash")


def test_what_an_adaptive_test_asks_first_becomes_a_selection(known):
    bank = og.calibrate(og.simulate("2pl", 100, 6, random_state=0).responses)
    facts = pd.DataFrame({"task": "arc", "id": range(6)}, index=bank.item_names)
    first = og.AdaptiveTest(bank, selector="score").start().next_items(3)
    assert len(og.lm_eval_samples(first, facts)["arc"]) == 3


def test_items_are_different_items_of_the_bank():
    bank = og.calibrate(TABLE)
    found = og.first_items(bank, 6)
    assert len(set(found)) == 6
    assert set(found) <= set(bank.item_names)
    assert found == og.first_items(bank, 6)


def test_responses_serve_as_well_as_the_bank_made_of_them():
    assert og.first_items(TABLE, 4, model="2pl") == og.first_items(og.calibrate(TABLE, "2pl"), 4)


def test_chance_is_that_of_the_seed():
    bank = og.calibrate(TABLE)
    drawn = [og.first_items(bank, 5, selector="random", random_state=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("size", [0, 2.5, "all"])
def test_a_size_that_is_no_number_of_items_is_refused(size):
    with pytest.raises(InputError, match="size"):
        og.first_items(TABLE, size)
