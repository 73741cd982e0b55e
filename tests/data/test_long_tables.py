"""Long tables: when two equal names are two things."""

import pandas as pd
import pytest

from ogive.data.response_files import read_responses
from ogive.data.responses import Responses
from ogive.errors import InputError


@pytest.fixture(params=["frame", "csv", "parquet", "jsonl"])
def read(request, tmp_path):
    """Make a table from rows, by way of every kind of long table."""

    def made(rows, *columns):
        frame = pd.DataFrame(rows, columns=["model", "item", "score", *columns])
        if request.param == "frame":
            return Responses.from_long(frame, "model", "item", "score")
        path = tmp_path / f"long.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
        elif request.param == "parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_json(path, orient="records", lines=True)
        return read_responses(path)

    return made


def test_an_item_of_two_tasks_is_two_items(read):
    rows = [("a", "1", 1, "sums"), ("a", "1", 0, "verbs"), ("b", "1", 1, "sums")]
    found = read(rows, "task")
    assert found.items == ("sums/1", "verbs/1")
    assert found.tries is None
    assert found.item_groups("task") == ("sums", "verbs")
    assert found.item_groups("id") == ("1", "1")
    assert "Items are named by task and item" in found.notes[-1]


def test_tasks_with_names_of_their_own_change_nothing(read):
    rows = [("a", "s1", 1, "sums"), ("a", "v1", 0, "verbs")]
    found = read(rows, "task")
    assert found.items == ("s1", "v1")
    assert found.notes == ()


def test_other_conditions_are_other_respondents(read):
    rows = [("a", "x", 1, 0, 9), ("a", "x", 0, 5, 9), ("b", "x", 1, 5, 8), ("a", "y", 1, 5, 9)]
    found = read(rows, "shots", "size")
    assert found.respondents == ("a (shots=0)", "a (shots=5)", "b (shots=5)")
    assert found.respondent_facts["shots"].tolist() == [0, 5, 5]
    assert found.respondent_facts["model"].tolist() == ["a", "a", "b"]
    assert found.respondent_facts["size"].tolist() == [9, 9, 8]
    assert "under different shots" in found.notes[-1]


def test_conditions_that_never_meet_on_an_item_are_facts(read):
    rows = [("a", "x", 1, 0.0), ("b", "x", 0, 0.7)]
    found = read(rows, "temperature")
    assert found.respondents == ("a", "b")


def test_epochs_are_repeated_answers_within_a_condition(read):
    rows = [
        ("a", "x", score, shots, epoch) for epoch, score in ((1, 1), (2, 0)) for shots in (0, 5)
    ]
    found = read(rows, "shots", "epoch")
    assert found.shape == (2, 1)
    assert found.tries.tolist() == [[2], [2]]


def test_an_item_with_two_questions_is_refused_with_both(read):
    rows = [("a", "1", 1, "two and two"), ("b", "1", 0, "deux et deux")]
    with pytest.raises(InputError, match=r"Item '1' has two values .*'two and two' and 'deux et"):
        read(rows, "input")


def test_without_facts_other_columns_say_nothing():
    frame = pd.DataFrame(
        {"model": ["a", "a"], "item": ["1", "1"], "score": [1, 0], "task": ["s", "v"]}
    )
    found = Responses.from_long(frame, "model", "item", "score", facts=False)
    assert found.tries.tolist() == [[2]]
