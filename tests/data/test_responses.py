import pickle
import tracemalloc
from datetime import datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.numbers import shown

NAN = float("nan")


@pytest.fixture
def responses():
    return Responses([[1, 0, NAN], [0, 1, 1]], respondents=["a", "b"], items=["x", "y", "z"])


# Kinds and storage


def test_the_kind_is_inferred_from_what_was_observed(subtests):
    for values, kind, dtype in [
        ([[0, 1]], "binary", np.int8),
        ([[True, False]], "binary", np.int8),
        ([[0.0, NAN]], "binary", np.int8),
        ([[NAN, NAN]], "binary", np.int8),
        ([["1", None]], "binary", np.int8),
        ([[0, 1, 2]], "graded", np.int8),
        ([[1, 20]], "graded", np.int8),
        ([[0, 21]], "continuous", np.float64),
        ([[0, 0.5]], "continuous", np.float64),
        ([[-0.5, 1]], "continuous", np.float64),
        ([[-3, 100]], "continuous", np.float64),
    ]:
        with subtests.test(values=values, kind=kind, dtype=dtype):
            responses = Responses(values)
            assert responses.kind == kind
            assert responses.cells.dtype == dtype
            assert responses.cells.flags.c_contiguous


def test_never_asked_is_minus_one_or_nan():
    values = [[1, NAN], [NAN, 0]]
    assert Responses(values).cells.tolist() == [[1, -1], [-1, 0]]
    assert Responses(values, kind="graded").cells.tolist() == [[1, -1], [-1, 0]]
    assert np.isnan(Responses(values, kind="continuous").cells).sum() == 2


def test_many_grades_take_two_bytes():
    responses = Responses([[0, 1000, NAN]], kind="graded")
    assert responses.cells.dtype == np.int16
    assert responses.cells.tolist() == [[0, 1000, -1]]


def test_every_numeric_type_gives_the_same_table(subtests):
    for dtype, order in product(
        [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.longdouble],
        ["C", "F"],
    ):
        with subtests.test(order, dtype=dtype):
            values = np.asarray([[0, 1, 1], [1, 0, 0]], dtype=dtype, order=order)
            assert Responses(values) == Responses([[0, 1, 1], [1, 0, 0]])


def test_objects_and_masked_cells_are_understood():
    values = np.array([[1, None, Decimal(0)], [pd.NA, np.nan, True]], dtype=object)
    assert Responses(values).cells.tolist() == [[1, -1, 0], [-1, -1, 1]]
    masked = np.ma.array([[1, 0], [1, 1]], mask=[[0, 1], [0, 0]])
    assert Responses(masked).cells.tolist() == [[1, -1], [1, 1]]


@given(
    st.lists(
        st.lists(st.none() | st.floats(-5, 30) | st.integers(0, 25), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_values_come_back_as_they_were_given(rows):
    values = np.array(rows, dtype=float)
    responses = Responses(values.copy(), kind="continuous")
    np.testing.assert_array_equal(responses.values, values)
    np.testing.assert_array_equal(responses.observed, ~np.isnan(values))
    assert responses.n_missing == np.isnan(values).sum()
    assert responses.complete == (responses.n_missing == 0)


def test_a_large_table_needs_little_beside_its_cells(subtests):
    for dtype in [np.int8, bool, np.float64]:
        with subtests.test(dtype=dtype):
            values = np.zeros((500, 20_000), dtype=dtype)
            names = [f"q{item}" for item in range(20_000)]
            tracemalloc.start()
            try:
                responses = Responses(values, items=names)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert responses.cells.nbytes == 10_000_000
            assert peak < 60_000_000  # as float64, the table alone would take 80 MB


def test_continuous_float64_is_shared_but_cannot_be_written_through_the_table():
    values = np.random.default_rng(0).random((3, 4))
    responses = Responses(values)
    assert np.shares_memory(responses.cells, values)
    with pytest.raises(ValueError, match="read-only"):
        responses.cells[0, 0] = 1
    assert values.flags.writeable


def test_nothing_can_be_changed(responses):
    with pytest.raises(AttributeError):
        responses.kind = "graded"
    with pytest.raises(ValueError, match="read-only"):
        responses.cells[0, 0] = 0
    np.copyto(responses.values, 7)  # of a copy
    assert responses.cells[0, 0] == 1


# Names


def test_names_are_made_up_where_none_are_given():
    responses = Responses([[0, 1], [1, 0]])
    assert responses.respondents == ("respondent_1", "respondent_2")
    assert responses.items == ("item_1", "item_2")


def test_names_become_text():
    responses = Responses([[0, 1]], respondents=[7], items=np.array([1.5, 2]))
    assert responses.respondents == ("7",)
    assert responses.items == ("1.5", "2.0")
    assert all(type(name) is str for name in responses.items)


def test_repeated_names_are_named_with_their_positions():
    with pytest.raises(InputError, match=r"item names must differ, but 'q' is at positions 1, 3"):
        Responses([[0, 1, 0]], items=["q", "r", "q"])
    with pytest.raises(InputError, match="respondent names must differ"):
        Responses([[0], [1]], respondents=[1, "1"])


def test_a_wrong_count_of_names_states_both_numbers():
    with pytest.raises(InputError, match="There are 3 item names, but the table has 2 items"):
        Responses([[0, 1]], items=["a", "b", "c"])
    with pytest.raises(InputError, match="respondents is the text 'ab'"):
        Responses([[0], [1]], respondents="ab")


# Bad input


BAD = {
    "scalar": (5, {}, "0-dimensional"),
    "one dimension": ([0, 1], {}, r"shape \(2,\).*two dimensions"),
    "three dimensions": ([[[0]]], {}, "3-dimensional"),
    "ragged": ([[0, 1], [1]], {}, "differ in length"),
    "no rows": (np.empty((0, 3)), {}, "empty: 0 respondents × 3 items"),
    "no columns": ([[], []], {}, "empty: 2 respondents × 0 items"),
    "text": ([[1, 0], [1, "yes"]], {}, "'respondent_2' and item 'item_2' holds 'yes'"),
    "blank": ([["1", ""]], {}, "item 'item_2' holds ''"),
    "several texts": ([["a", "b", 1]], {}, r"holds 'a', which is not a number \(and 1 more cell\)"),
    "dates": (np.array([["2020-01-01"]], "M8[D]"), {}, "should be numbers"),
    "complex": ([[1j]], {}, "should be numbers"),
    "infinite": ([[1, np.inf]], {}, "item 'item_2' is infinite"),
    "minus infinite": ([[-np.inf, 0.5]], {"kind": "continuous"}, "'item_1' is infinite"),
    "immense": ([[0.5, 1e200]], {}, r"item 'item_2' holds 1e\+200, but .* below 1e\+70"),
    "huge": ([[10**400]], {}, "not a number"),
    "negative": ([[1, -1]], {}, "holds -1, but grades are not negative"),
    "negative grade": ([[3, -1.0]], {"kind": "graded"}, "holds -1, but grades are whole numbers"),
    "half a grade": ([[0.5]], {"kind": "graded"}, r"holds 0\.5.*kind='continuous'"),
    "high grade": ([[40_000]], {"kind": "graded"}, "from 0 to 32,767"),
    "not binary": ([[0, 2]], {"kind": "binary"}, "holds 2, but binary.*kind='graded'"),
    "half": ([[0.5, 0.25]], {"kind": "binary"}, r"and 1 more cell\).*kind='continuous'"),
    "unknown kind": ([[0]], {"kind": "ordinal"}, r"`kind` must be .*got 'ordinal'"),
    "a frame": (pd.DataFrame([[0]]), {}, r"Responses\.from_frame"),
}


def test_bad_input_is_explained(subtests):
    for case, (values, options, message) in BAD.items():
        with subtests.test(case), pytest.raises(InputError, match=message):
            Responses(values, **options)


def test_the_bad_cell_is_found_in_a_later_block():
    values = np.zeros((300, 10_000), dtype=np.float32)
    values[250, 7] = np.inf
    with pytest.raises(InputError, match="'respondent_251' and item 'item_8'"):
        Responses(values)


def test_hostile_text_is_shown_harmless_and_short():
    with pytest.raises(InputError) as caught:
        Responses([["\x1b[31m" + "x" * 10_000]])
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_degenerate_tables_are_allowed(subtests):
    for values in [[[1]], [[1, 0, 1]], [[1], [0]], [[NAN, 1], [NAN, 0]], [[NAN, NAN], [1, 1]]]:
        with subtests.test(values=values):
            np.testing.assert_array_equal(Responses(values).values, values)


# Codes


def test_codes_are_taken_as_they_are():
    cells = np.array([[1, -1], [0, 2]], dtype=np.int8)
    responses = Responses.from_codes(cells)
    assert responses.kind == "graded"
    assert responses == Responses([[1, NAN], [0, 2]])
    assert np.shares_memory(cells, responses.cells)
    assert Responses.from_codes(cells, kind="continuous").cells[1, 1] == 2.0


def test_bad_codes_are_explained(subtests):
    for cells, options, message in [
        (np.array([[-2]], np.int8), {}, "holds -2"),
        (np.array([[0.5]]), {}, "of type float64"),
        (np.array([1], np.int8), {}, "1-dimensional"),
        (np.array([[-1, 2]], np.int8), {"kind": "binary"}, "'item_2' holds 2, but binary"),
    ]:
        with subtests.test(message), pytest.raises(InputError, match=message):
            Responses.from_codes(cells, **options)


# Frames


def test_a_frame_gives_its_names():
    frame = pd.DataFrame({"x": [1, 0], "y": [True, False]}, index=["a", "b"])
    assert Responses.from_frame(frame) == Responses([[1, 1], [0, 0]], ["a", "b"], ["x", "y"])


def test_every_way_pandas_stores_numbers_is_understood(subtests):
    for column, others in product(
        [
            pd.Series([1, 0, None], dtype="Int64"),
            pd.Series([True, False, None], dtype="boolean"),
            pd.Series([1.0, 0.0, None]),
            pd.Series([1, 0, None], dtype=object),
            pd.Series([True, False, None], dtype=object),
            pd.Series(["1", "0", None]),
            pd.Series(["1", "0", None], dtype="category"),
            pd.Series([1, 0, None], dtype="category"),
            pd.Series([1, 0, None], dtype="Int8"),
            pd.Series([1, 0, None], dtype="int64[pyarrow]"),
            pd.Series([True, False, None], dtype="bool[pyarrow]"),
            pd.Series(pd.arrays.SparseArray([1.0, 0.0, NAN])),
        ],
        [0, 1],
    ):
        with subtests.test(column=column, others=others):
            frame = pd.DataFrame(
                {"x": column, **{f"y{other}": [1, 1, 1] for other in range(others)}}
            )
            assert Responses.from_frame(frame).cells[:, 0].tolist() == [1, 0, -1]


def test_bad_frames_are_explained(subtests):
    for frame, message in [
        (pd.DataFrame({"x": [1, 0], "y": ["1", "maybe"]}), "respondent '1' and item 'y'.*'maybe'"),
        (pd.DataFrame({"model": ["m"], "y": [1]}), r"frame\.set_index\('model'\)"),
        (pd.DataFrame({"x": [1], "y": [datetime(2020, 1, 1)]}), "item 'y' holds"),
        (pd.DataFrame([[0, 1]], columns=["q", "q"]), "'q' is at positions 1, 2"),
        (pd.DataFrame([[0], [1]], index=["a", "a"]), "'a' is at positions"),
        (pd.DataFrame([[0, -1]], dtype="int8"), "holds -1, but grades are not negative"),
        (pd.DataFrame({"x": [1], "y": [-1.0]}), "holds -1, but grades are not negative"),
        (pd.DataFrame(), "empty"),
        (pd.DataFrame({"x": []}), "empty"),
        ([[0, 1]], "frame is of type list"),
    ]:
        with subtests.test(frame=frame), pytest.raises(InputError, match=message):
            Responses.from_frame(frame)


def test_a_table_does_not_change_with_its_frame():
    frame = pd.DataFrame({"x": [0.5, 0.25]})
    responses = Responses.from_frame(frame)
    frame.iloc[0, 0] = 0.75
    assert responses.cells[0, 0] == 0.5


def test_frames_go_out_and_come_back(responses):
    frame = responses.to_frame()
    assert frame.index.name == "respondent"
    assert frame.columns.name == "item"
    assert np.isnan(frame.loc["a", "z"])
    assert Responses.from_frame(frame) == responses
    long = responses.to_long()
    assert list(long.columns) == ["respondent", "item", "response"]
    assert len(long) == 5
    assert Responses.from_long(long) == responses


# Long tables


def test_long_tables_keep_the_order_of_first_appearance():
    frame = pd.DataFrame({"m": ["b", "a", "b"], "q": [9, 9, 3], "s": [0.5, 1, 0]})
    responses = Responses.from_long(frame, respondent="m", item="q", response="s")
    expected = Responses([[0.5, 0], [1, NAN]], respondents=["b", "a"], items=["9", "3"])
    assert responses == expected


def test_a_missing_response_in_a_row_was_never_asked():
    frame = pd.DataFrame({"respondent": ["a", "b"], "item": ["x", "x"], "response": [1, None]})
    assert Responses.from_long(frame).cells.tolist() == [[1], [-1]]


def long_frame(**changes):
    columns = {"respondent": ["a", "b", "a"], "item": ["x", "x", "x"], "response": [1, 0, 1]}
    return pd.DataFrame({**columns, **changes})


def test_bad_long_tables_are_explained(subtests):
    for frame, message in [
        (long_frame(item=["x", "y", None]), "Row 2 .* nothing in column 'item'"),
        (long_frame(item=["x", "y", "z"], response=["1", "b", "0"]), "'b' and item 'y' holds 'b'"),
        (long_frame(item=["x", "y", "z"], response=[1, -1, 0]), "'b' and item 'y' holds -1"),
        (pd.DataFrame({"model": [1]}), "no column 'respondent'; it has 'model'"),
        (long_frame().iloc[:0], "empty"),
    ]:
        with subtests.test(message), pytest.raises(InputError, match=message):
            Responses.from_long(frame)


def test_a_long_table_is_placed_without_a_float_table():
    rows, columns = (part.ravel() for part in np.indices((200, 10_000), dtype=np.int32))
    frame = pd.DataFrame({"respondent": rows, "item": columns, "response": np.int8(1)})
    tracemalloc.start()
    try:
        responses = Responses.from_long(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert responses.complete
    assert peak < 70_000_000  # two int64 codes per row, and a byte or two per cell


# Predictions


def test_predictions_are_right_wrong_or_missing():
    responses = Responses.from_predictions(
        ["cat", "dog", "cat"],
        {"m": ["cat", "cat", None], "n": np.array(["dog", "dog", "cat"])},
        items=["x", "y", "z"],
    )
    assert responses == Responses(
        [[1, 0, NAN], [0, 1, 1]], respondents=["m", "n"], items=["x", "y", "z"], kind="binary"
    )


def test_labels_of_any_type_are_compared(subtests):
    for truth, predicted in [
        ([1, 0, 1], [1, 1, NAN]),
        (np.array([1, 0, 1]), np.array([1.0, 1.0, np.nan])),
        (pd.Series([1, 0, 1]), pd.Series([1, 1, None], dtype="Int64")),
        (pd.Series(["a", "b", "a"]), pd.Series(["a", "a", None])),
        (np.array(["a", "b", "a"]), ["a", "a", np.nan]),
        ([True, False, True], [1, 1, None]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "a", pd.NA]),
    ]:
        with subtests.test(truth=truth, predicted=predicted):
            assert Responses.from_predictions(truth, {"m": predicted}).cells.tolist() == [
                [1, 0, -1]
            ]


def test_a_frame_of_predictions_may_have_any_shape(subtests):
    for n_models, n_items in product([1, 2, 3, 7], [1, 2, 5]):
        with subtests.test(n_models=n_models, n_items=n_items):
            random = np.random.default_rng(n_models + 10 * n_items)
            truth = np.array(["a", "b", "a", "b", "a"][:n_items])
            predicted = random.choice(["a", "b"], (n_items, n_models))
            predicted[:, 0] = truth
            frame = pd.DataFrame(predicted, columns=[f"m{k}" for k in range(n_models)])
            responses = Responses.from_predictions(truth, frame)
            assert responses.shape == (n_models, n_items)
            assert responses.respondents == tuple(frame.columns)
            assert responses == Responses.from_predictions(truth, frame.to_dict("list"))
            assert responses.cells.tolist() == (truth == predicted.T).astype(int).tolist()


def test_a_set_of_names_is_refused_because_it_has_no_order(subtests):
    for make, what in product([set, frozenset], ["respondents", "items"]):
        with (
            subtests.test(what, make=make),
            pytest.raises(InputError, match=rf"{what} is a set, which has no order. Give a list"),
        ):
            Responses([[1, 0], [0, 1]], **{what: make(["a", "b"])})


def test_a_model_may_predict_nothing_but_nonsense():
    responses = Responses.from_predictions(["a", "b"], {"m": ["a", "a"], "n": ["?", "!"]})
    assert responses.cells.tolist() == [[1, 0], [0, 0]]
    silent = Responses.from_predictions(["a"], {"m": [None]})
    assert silent.n_missing == 1


def test_bad_predictions_are_explained(subtests):
    for truth, predictions, message in [
        ([1, 2], {"m": ["1", "2"]}, "'m' predicts no label .* like '[12]'"),
        ([1, 2], {"ok": [1, 2], "m": ["1", "2"]}, "'m' predicts no label"),
        (["a", "b"], {"m": ["A", "B"]}, "Every model predicts no label"),
        ([1, 2, 3], {"m": [1, 2]}, "'m' has 2 predictions, but there are 3 true labels"),
        ([1, None], {"m": [1, 2]}, "y_true has no label at position 1"),
        ([[1], [2]], {"m": [1, 2]}, "y_true has 2 dimensions"),
        ([1, 2], {"m": [[1], [2]]}, "the prediction of 'm' has 2 dimensions"),
        ([1, 2], {}, "empty"),
        ([], {"m": []}, "empty"),
        ([1, 2], [1, 2], "predictions is of type list"),
        ([1, 2], {"m": [{}, {}]}, "cannot be compared"),
    ]:
        with subtests.test(message), pytest.raises(InputError, match=message):
            Responses.from_predictions(truth, predictions)


# Selecting, comparing, showing


def test_parts_are_selected_in_the_order_given(responses, subtests):
    for items in [["z", "x"], [2, 0], [-1, 0], np.array(["z", "x"]), pd.Index(["z", "x"])]:
        with subtests.test(items=items):
            part = responses.select(items=items)
            assert part.items == ("z", "x")
            assert part.cells.tolist() == [[-1, 1], [1, 0]]
            assert part.cells.flags.c_contiguous


def test_masks_names_and_slices_select(responses):
    part = responses.select(respondents="b", items=np.array([True, False, True]))
    assert (part.respondents, part.items) == (("b",), ("x", "z"))
    assert responses.select(items=slice(1, None)).items == ("y", "z")
    assert responses.select() == responses


def test_bad_selections_are_explained(responses, subtests):
    for wanted, message in [
        (["xx"], "no item named 'xx'.*Did you mean 'x'"),
        (["p", "q"], r"no item named 'p' \(and 1 more\)"),
        ([3], "no item at position 3: there are 3"),
        ([True], "has 1 entries, but there are 3 items"),
        ([[0]], "2 dimensions"),
        ([], "empty"),
        ([0, 0], "'x' is at positions 1, 2"),
    ]:
        with subtests.test(message), pytest.raises(InputError, match=message):
            responses.select(items=wanted)


def test_tables_are_equal_by_value(responses):
    same = Responses([[1, 0, NAN], [0, 1, 1]], ["a", "b"], ["x", "y", "z"])
    assert responses == same
    assert responses != Responses(responses.values, ["a", "c"], ["x", "y", "z"])
    assert responses != Responses(responses.values, ["a", "b"], ["x", "y", "z"], kind="graded")
    assert responses != Responses([[1, 0, 1], [0, 1, 1]], ["a", "b"], ["x", "y", "z"])
    assert responses != "text"
    continuous = Responses([[0.5, NAN]])
    assert continuous == Responses([[0.5, NAN]])


def test_a_table_travels_between_processes(responses):
    assert pickle.loads(pickle.dumps(responses)) == responses  # noqa: S301 (our own bytes)


def test_the_repr_is_one_line(responses):
    assert repr(responses) == "Responses: 2 respondents × 3 items, binary, 1 cell never asked"
    assert repr(Responses([[0.5]])) == "Responses: 1 respondent × 1 item, continuous, complete"
    large = Responses(np.zeros((2000, 3)))
    assert repr(large) == "Responses: 2,000 respondents × 3 items, binary, complete"


def test_the_html_is_short_and_harmless():
    page = Responses(np.zeros((50, 50)), items=["<script>", *range(49)])._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.count("</tr>") == 9
    assert "first 8 × 10" in page


def test_a_long_name_is_cut_inside_its_quotes(subtests):
    for value in ["a" * 90, "it's \"" + "a" * 90, "it's" + "a" * 90]:
        with subtests.test(value=value):
            text = shown(value)
            assert len(text) == 60
            assert text.endswith(f"...{text[0]}")
            assert shown([value]).endswith("a...")
