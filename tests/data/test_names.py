"""What is known of items and respondents beside their names."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ogive.data.names import aligned, name_index, numbered
from ogive.data.response_files import read_responses
from ogive.data.responses import Responses, as_responses
from ogive.errors import FileError, InputError

VALUES = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])


def test_values_follow_the_names():
    found = aligned(VALUES, pd.Index(["c", "a", "b"]), "difficulty")
    assert found.tolist() == [3.0, 1.0, 2.0]


def test_a_name_without_a_value_has_none():
    found = aligned(VALUES, pd.Index(["d", "b", "a", "c"]), "difficulty")
    np.testing.assert_array_equal(found, [np.nan, 2.0, 1.0, 3.0])


def test_numbered_rows_are_those_that_pools_name():
    values = pd.Series([5.0, 6.0], index=["row_2", "row_0"])
    found = aligned(values, pd.RangeIndex(3), "difficulty")
    np.testing.assert_array_equal(found, [6.0, np.nan, 5.0])
    assert list(found.index) == [0, 1, 2]


def test_shuffled_numbers_are_no_places():
    values = pd.Series([5.0, 6.0], index=["row_1", "row_0"])
    with pytest.raises(InputError, match="names the item 'row_1', but the rows are"):
        aligned(values, pd.Index([1, 0]), "difficulty")


def test_a_name_given_twice_is_refused():
    with pytest.raises(InputError, match="more than one value"):
        aligned(VALUES.set_axis(["a", "a", "b"]), pd.Index(["a", "b"]), "difficulty")


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


DAMAGED = [
    *({"facts": value} for value in (1e999, 1.5, "1", True, None, -1, 10**30)),
    *({"notes": value} for value in ("text", [1], {"a": 1}, None)),
    *({"column_facts": value} for value in ([], "text", {"size": 3}, None)),
]


def test_damaged_metadata_are_refused(table, tmp_path, subtests):
    for damage in DAMAGED:
        with subtests.test(damage=damage):
            path = tmp_path / "r.parquet"
            table.save(path)
            stored = pq.read_table(path)
            about = json.loads(stored.schema.metadata[b"ogive.about"]) | damage
            metadata = stored.schema.metadata | {b"ogive.about": json.dumps(about).encode()}
            pq.write_table(stored.replace_schema_metadata(metadata), path)
            with pytest.raises(FileError, match=r"r\.parquet"):
                read_responses(path)


def test_an_item_may_be_called_like_a_fact(tmp_path):
    table = Responses([[1, 0, 1]], items=["task", "respondents", "x"])
    table.described(items={"task": ["a", "b", "c"]}).save(tmp_path / "r.parquet")
    back = read_responses(tmp_path / "r.parquet")
    assert back == table
    assert back.item_groups("task") == ("a", "b", "c")


def test_facts_that_do_not_fit_are_refused(table, subtests):
    for given, said in [
        ({"task": ["a"]}, "has 1 values, but there are 3 items"),
        ({"task": "sums"}, "give one value"),
        ({"task": {"other": 1}}, "names no item"),
        (pd.DataFrame({"task": [1]}, index=["other"]), "no item has such a name"),
        (pd.DataFrame({"task": [1, 2]}, index=["q1", "q1"]), "twice"),
    ]:
        with subtests.test(said), pytest.raises(InputError, match=said):
            table.described(items=given)


def test_a_fact_that_is_not_there_is_refused_with_those_that_are(table):
    with pytest.raises(InputError, match="there are: task, length"):
        table.item_groups("subject")


def test_a_function_may_group_items(table):
    assert table.item_groups(lambda name: name[-1]) == ("1", "2", "3")


LONG = pd.DataFrame(
    {
        "respondent": ["gpt", "gpt", "pythia", "pythia"],
        "item": ["q1", "q2", "q1", "q2"],
        "response": [1, 0, 1, 1],
        "task": ["sums", "verbs", "sums", None],
        "id": [7, 12, 7, 12],
        "size": [1.5, 1.5, 70.0, 70.0],
        "suite": ["all"] * 4,
        "answer": ["a", "b", "c", "d"],
        "nothing": [None] * 4,
    }
)


def test_columns_of_a_long_frame_that_do_not_vary_are_facts():
    found = Responses.from_long(LONG)
    assert found._item_facts == {"task": ("sums", "verbs"), "id": (7, 12), "suite": ("all",) * 2}
    assert found._respondent_facts == {"size": (1.5, 70.0)}
    assert Responses.from_long(LONG, facts=False)._item_facts == {}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_tell_the_same_facts_as_frames(tmp_path, ending):
    path = tmp_path / f"long.{ending}"
    LONG.to_csv(path, index=False) if ending == "csv" else LONG.to_parquet(path, index=False)
    found, wanted = read_responses(path), Responses.from_long(LONG)
    assert found == wanted
    assert found._item_facts == wanted._item_facts
    assert found._respondent_facts == wanted._respondent_facts


def test_a_column_beyond_the_bound_is_no_fact(tmp_path):
    long = LONG.assign(text=[f"{item}{'x' * 50_000}" for item in LONG["item"]])
    long.to_parquet(tmp_path / "long.parquet", index=False, compression=None)
    found = read_responses(tmp_path / "long.parquet")
    assert "text" in found.item_facts
    long.to_parquet(tmp_path / "long.parquet", index=False, compression="gzip")
    assert "text" not in read_responses(tmp_path / "long.parquet", max_bytes=60_000).item_facts


def test_numbers_with_leading_zeros_stay_text(tmp_path):
    (tmp_path / "long.csv").write_text("model,item,score,code\na,q1,1,007\na,q2,0,12\n")
    assert read_responses(tmp_path / "long.csv")._item_facts["code"] == ("007", "12")


def test_levels_above_the_names_of_columns_are_facts():
    levels = [("sums", "1"), ("sums", "2"), ("verbs", "1")]
    columns = pd.MultiIndex.from_tuples(levels, names=["task", "item"])
    found = Responses.from_frame(pd.DataFrame([[1, 0, 1]], columns=columns))
    assert found.items == ("sums/1", "sums/2", "verbs/1")
    assert found.item_groups("task") == ("sums", "sums", "verbs")
    assert Responses.from_frame(pd.DataFrame([[1, 0]], columns=columns[1:])).items == ("2", "1")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_before_the_respondents_tell_of_items(tmp_path, ending):
    frame = pd.DataFrame({"scenario": ["gsm", "gsm", "med"], "item": [0, 1, 0], "gpt": [1, 0, 1]})
    path = tmp_path / f"items.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    found = read_responses(path, layout="items")
    assert found.respondents == ("gpt",)
    assert found.items == ("gsm/0", "gsm/1", "med/0")
    assert found._item_facts == {"scenario": ("gsm", "gsm", "med"), "id": (0, 1, 0)}


def test_items_that_differ_by_name_keep_it(tmp_path):
    (tmp_path / "items.csv").write_text("question,topic,gpt\nq1,sums,1\nq2,verbs,0\n")
    found = read_responses(tmp_path / "items.csv", layout="items")
    assert found.items == ("q1", "q2")
    assert found._item_facts == {"topic": ("sums", "verbs")}


def test_repeated_respondents_lead_to_the_other_layout(tmp_path):
    (tmp_path / "items.csv").write_text("topic,item,gpt\nsums,1,1\nsums,2,0\n")
    with pytest.raises(InputError, match="If rows are items, pass layout='items'"):
        read_responses(tmp_path / "items.csv")


def test_a_long_frame_is_no_table():
    with pytest.raises(InputError, match=r"Responses\.from_long"):
        as_responses(LONG)


def test_numbered_names_are_the_same_index_however_many_there_are(subtests):
    for count in (1, 9, 10, 99, 100, 12_345):
        with subtests.test(count):
            names = [f"respondent_{k}" for k in range(1, count + 1)]
            expected = pd.Index(names, name="respondent")
            for given in (None, tuple(names)):
                assert name_index(given, count, "respondent").identical(expected)
            assert numbered("respondent", count).to_pylist() == names


def test_names_are_made_when_they_are_asked_for():
    table = Responses(np.zeros((20_000, 2), dtype=np.int8))
    frame = pd.DataFrame(index=table.respondent_index)
    assert "respondents" not in vars(table)
    assert list(frame.index[-2:]) == ["respondent_19999", "respondent_20000"]
    assert table.respondents[-1] == "respondent_20000"


def test_who_renames_an_index_renames_no_other():
    table = Responses([[1, 0], [0, 1]])
    table.respondent_index.name = "model"
    assert table.respondent_index.name == "respondent"


HALF = "\ud800"


@pytest.mark.parametrize(
    ("what", "make"),
    {
        "respondent": lambda: Responses([[1]], [HALF]),
        "item": lambda: Responses([[1]], items=[HALF]),
        "codes": lambda: Responses.from_codes(np.array([[1]], np.int8), items=[HALF]),
        "frame": lambda: Responses.from_frame(
            pd.DataFrame([[1]], columns=pd.Index([HALF], dtype=object))
        ),
        "long": lambda: Responses.from_long(
            pd.DataFrame(
                {"respondent": ["a"], "item": pd.Series([HALF], dtype=object), "response": [1]}
            )
        ),
        "prediction": lambda: Responses.from_predictions([1, 0], {HALF: [1, 1]}),
        "fact": lambda: Responses([[1]]).described(items={"task": [HALF]}),
        "name of a fact": lambda: Responses([[1]]).described(items={HALF: ["a"]}),
        "groups": lambda: Responses([[1]]).item_groups([HALF]),
        "mapped groups": lambda: Responses([[1]]).item_groups({"item_1": HALF}),
    }.items(),
)
def test_half_a_character_is_refused_when_it_is_given(what, make):
    with pytest.raises(InputError, match=r"'\\ud800'.* holds half a character"):
        make()


def test_a_note_may_name_a_file_whose_name_is_no_text(tmp_path):
    table = Responses([[1, 0]]).described(notes=["from 'a\udcff.csv'"])
    assert read_responses(table.save(tmp_path / "a.parquet")).notes == table.notes
    assert table.notes == ("from 'a\\udcff.csv'",)
