"""What is known of items and respondents beside their names."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from itemwise.errors import InputError
from itemwise.responses import Responses, read_responses


@pytest.fixture
def table():
    return Responses([[1, 0, 1], [0, np.nan, 1]], ["gpt", "pythia"], ["q1", "q2", "q3"]).described(
        items={"task": ["sums", "sums", "verbs"], "length": {"q3": 7}},
        respondents=pd.DataFrame({"size": [14.0]}, index=["pythia"]),
        notes=["One line was cut."],
    )


def test_facts_follow_their_names(table):
    assert table.item_facts["task"].tolist() == ["sums", "sums", "verbs"]
    assert table._item_facts["length"] == (None, None, 7)
    assert table._respondent_facts["size"] == (None, 14.0)
    part = table.select(items=["q3", "q1"], respondents=["pythia"])
    assert part._item_facts == {"task": ("verbs", "sums"), "length": (7, None)}
    assert part._respondent_facts == {"size": (14.0,)}
    assert part.notes == ("One line was cut.",)


def test_another_kind_keeps_them(table):
    assert table.of_kind("continuous")._item_facts == table._item_facts


def test_groups_come_from_facts_mappings_and_lists(table):
    assert table.item_groups("task") == ("sums", "sums", "verbs")
    assert table.item_groups({"q1": "a", "q3": "b"}) == ("a", "unknown", "b")
    assert table.item_groups(["x", "y", "x"]) == ("x", "y", "x")
    assert table.item_groups(pd.Series({"q2": 2, "q1": 1, "q3": 1})) == ("1", "2", "1")


@pytest.mark.parametrize("many_items", [False, True])
def test_parquet_keeps_them_whichever_side_is_longer(table, tmp_path, many_items):
    if not many_items:
        table = table.select(items=["q1", "q3"])
    table.save(tmp_path / "r.parquet")
    back = read_responses(tmp_path / "r.parquet")
    assert back == table
    assert back._item_facts == table._item_facts
    assert back._respondent_facts == table._respondent_facts
    assert back.notes == table.notes


def test_facts_of_several_types_are_written_as_text(table, tmp_path):
    table.described(items={"id": [1, "two", None]}).save(tmp_path / "r.parquet")
    assert read_responses(tmp_path / "r.parquet")._item_facts["id"] == ("1", "two", None)


@pytest.mark.parametrize("many_items", [False, True])
def test_numbers_beyond_64_bits_are_kept_as_text(table, tmp_path, many_items):
    if not many_items:
        table = table.select(items=["q1", "q3"])
    table = table.described(respondents={"size": [2**70, -(2**63)]})
    assert table.respondent_facts["size"].tolist() == [str(2**70), -(2**63)]
    table.save(tmp_path / "r.parquet")
    back = read_responses(tmp_path / "r.parquet").respondent_facts["size"]
    assert [str(value) for value in back] == [str(2**70), str(-(2**63))]


BENT = [
    *({"facts": value} for value in (1e999, 1.5, "1", True, None, -1, 10**30)),
    *({"notes": value} for value in ("text", [1], {"a": 1}, None)),
    *({"column_facts": value} for value in ([], "text", {"size": 3}, None)),
]


@pytest.mark.parametrize("bent", BENT)
def test_bent_metadata_are_refused(table, tmp_path, bent):
    path = tmp_path / "r.parquet"
    table.save(path)
    stored = pq.read_table(path)
    about = json.loads(stored.schema.metadata[b"itemwise.about"]) | bent
    metadata = stored.schema.metadata | {b"itemwise.about": json.dumps(about).encode()}
    pq.write_table(stored.replace_schema_metadata(metadata), path)
    with pytest.raises(InputError, match=r"r\.parquet"):
        read_responses(path)


def test_an_item_may_be_called_like_a_fact(tmp_path):
    table = Responses([[1, 0, 1]], items=["task", "respondents", "x"])
    table.described(items={"task": ["a", "b", "c"]}).save(tmp_path / "r.parquet")
    back = read_responses(tmp_path / "r.parquet")
    assert back == table
    assert back.item_groups("task") == ("a", "b", "c")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task": ["a"]}, "has 1 values, but there are 3 items"),
        ({"task": "sums"}, "give one value"),
        ({"task": {"other": 1}}, "tells of no item"),
        (pd.DataFrame({"task": [1]}, index=["other"]), "no item has such a name"),
        (pd.DataFrame({"task": [1, 2]}, index=["q1", "q1"]), "twice"),
    ],
)
def test_facts_that_do_not_fit_are_refused(table, given, said):
    with pytest.raises(InputError, match=said):
        table.described(items=given)


def test_a_fact_that_is_not_there_is_refused_with_those_that_are(table):
    with pytest.raises(InputError, match="the facts known are: task, length"):
        table.item_groups("subject")
