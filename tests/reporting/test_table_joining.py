"""Tables that share items stand beside each other as one."""

import numpy as np

from ogive import Responses
from ogive.reporting.sources import joined, linked

NAN = np.nan
ONE = Responses([[1, 0], [0, 1]], ["ann", "bob"], ["q1", "q2"]).described(
    items={"task": ["sums", "sums"]}
)


def test_a_further_model_becomes_a_row_and_a_further_item_a_column():
    other = Responses([[1, 1]], ["eve"], ["q2", "q3"]).described(items={"task": ["sums", "maps"]})
    (table,) = joined({"a": ONE, "b": other}).values()
    assert table.respondents == ("ann", "bob", "eve")
    assert table.items == ("q1", "q2", "q3")
    np.testing.assert_array_equal(table.values, [[1, 0, NAN], [0, 1, NAN], [NAN, 1, 1]])
    assert table.item_groups("task") == ("sums", "sums", "maps")


def test_the_same_model_with_new_items_stays_one_row():
    (table,) = joined({"a": ONE, "b": Responses([[1, NAN]], ["ann"], ["q3", "q1"])}).values()
    assert table.respondents == ("ann", "bob")
    np.testing.assert_array_equal(table.values[0], [1, 0, 1])


def test_the_same_model_asked_again_is_named_after_its_file():
    (table,) = joined({"a": ONE, "b": Responses([[1, 1]], ["ann"], ["q1", "q2"])}).values()
    assert table.respondents == ("ann", "bob", "ann (b)")


def test_tables_without_a_common_item_or_of_another_kind_stay_apart():
    strange = Responses([[1, 0]], ["ann"], ["z1", "z2"])
    graded = Responses([[0, 3], [2, 1]], ["x", "y"], ["q1", "q2"], kind="graded")
    assert list(joined({"a": ONE, "b": strange, "c": graded})) == ["a", "b", "c"]


def test_scores_and_tries_are_kept():
    score = Responses([[0.25, 0.5]], ["ann"], ["q1", "q2"])
    (table,) = joined({"a": score, "b": Responses([[0.75, 1]], ["bob"], ["q1", "q2"])}).values()
    assert table.values.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    many = Responses([[0.5, 1.0]], ["eve"], ["q1", "q2"], kind="binary", tries=[[2, 2]])
    (table,) = joined({"a": ONE, "b": many}).values()
    assert table.values[2].tolist() == [0.5, 1.0]
    assert table.tries[:, 0].tolist() == [1, 1, 2]


def test_parts_that_no_item_links_are_never_on_one_scale():
    table = Responses(
        [[1, 0, NAN], [0, 1, NAN], [NAN, NAN, 1]], ["ann", "bob", "eve"], ["q1", "q2", "q3"]
    )
    found = linked({"logs": table, "one": ONE})
    assert list(found.tables) == ["logs: ann and 1 more", "logs: eve", "one"]
    assert found.tables["logs: eve"].items == ("q3",)
    assert found.whole == {"logs: ann and 1 more": (table, 0), "logs: eve": (table, 1)}
    assert found.notes == ["logs: no item links its 2 parts, so each has a scale of its own."]
