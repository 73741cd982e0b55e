"""Features become grades by rules that people can read and write."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.capability.coding import Coding, Grades, NormalRange, States, quantile_coding
from ogive.capability.coding_rules import parse_rule, read_coding
from ogive.errors import FileError, InputError

NAN = np.nan


def test_rules_for_numbers_say_which_state_a_value_has(subtests):
    cases = [
        ("4-10 = 0", [4, 10, 3.9, 10.1, NAN], [0, 0, 1, 1, NAN]),
        ("4 to 10 = 0", [4, 11], [0, 1]),
        ("-5 to -1 = 0", [-5, -1, 0, -6], [0, 0, 1, 1]),
        ("<= 1.52 = 0", [1.52, 1.6, -3], [0, 1, 0]),
        ("≤ 1.52 = 0", [1.52, 1.6], [0, 1]),
        ("< 5 = 0", [5, 4.99], [1, 0]),
        ("> 65 = 1", [65, 65.1], [0, 1]),
        (">= 65 = 1", [65, 64.9], [1, 0]),
        ("<= 14 = 1", [14, 15], [1, 0]),
        ("<= 65 = 0, > 65 = 1", [65, 66], [0, 1]),
        ("15 = 0, <= 14 = 1", [15, 14, 3], [0, 1, 1]),
        ("<= 5 = 0, <= 9 = 1, > 9 = 2", [5, 6, 9, 10], [0, 1, 1, 2]),
        ("<= 5 = 0, <= 9 = 1, else = 2", [5, 6, 9, 10], [0, 1, 1, 2]),
        ("> 9 = 2, > 5 = 1, <= 5 = 0", [5, 6, 9, 10], [0, 1, 1, 2]),
        ("0-5 = 0, 6-10 = 1, > 10 = 2", [-1, 5, 5.5, 10, 11], [0, 0, 1, 1, 2]),
        ("<= 5 = 1, <= 9 = 0", [5, 6, 9, 10], [1, 0, 0, 1]),
        ("> 65 = 1, else = 0", [65, 66], [0, 1]),
    ]
    for text, values, states in cases:
        with subtests.test(text=text, values=values, states=states):
            found = parse_rule(text).code(np.array(values, dtype=float))
            np.testing.assert_array_equal(found, states)


def test_rules_for_categories_say_which_state_a_label_has(subtests):
    cases = [
        ("Absent = 0, Present = 1", ["Absent", "Present", "?", None], [0, 1, NAN, NAN]),
        ("M=1, F=0", ["M", "F"], [1, 0]),
        ("Emergency = 1, else = 0", ["Emergency", "Planned", NAN], [1, 0, NAN]),
        ("Emergency = 1", ["Emergency", "Planned"], [1, 0]),
        ("mild = 0, bad = 1, worst = 2", ["worst", "mild"], [2, 0]),
        ("Absent = 0, Present = 1", [0.0, 1.0, True], [0, 1, NAN]),
        ("1 = 0, 2 = 1", [1.0, 2.0, 0.0, "0"], [0, 1, NAN, NAN]),
        ("x = 1, else = 0", ["1", "0", 1.0, "x"], [0, 0, 0, 1]),
        ("1234567 = 0, 1234568 = 1", [1234567.0, 1234568.0], [0, 1]),
    ]
    for text, values, states in cases:
        with subtests.test(text=text, values=values, states=states):
            found = parse_rule(text).code(np.array(values, dtype=object))
            np.testing.assert_array_equal(found, states)


def test_a_rule_that_says_nothing_is_refused_with_its_feature(subtests):
    for text in ["", "4-10", "a = 0, 5-6 = 1", "5-6 = 1", "else = 0", "a = 0, b = 2", "9-3 = 0"]:
        with subtests.test(text=text), pytest.raises(InputError, match=r"[Ff]eature|range|states"):
            parse_rule(text, "sodium")


def test_rules_with_overlaps_and_gaps_are_refused_with_feature_and_rule(subtests):
    cases = [
        ("<= 9 = 0, <= 5 = 1", "'<= 9' and '<= 5' have numbers in common"),
        ("4-10 = 0, 8-12 = 1", "'4-10' and '8-12' have numbers in common"),
        ("<= 65 = 0, >= 65 = 1", "numbers in common"),
        ("4-10 = 0, else = 0", "all values are of one state"),
        ("> 65 = 1, else = 1", "one normal range"),
        ("0-5 = 0, 8-10 = 1, > 20 = 2", "no state is given between '0-5' and '8-10'"),
        ("> 10 = 0, 6-10 = 1, 0-5 = 2", "states should ascend"),
        ("0-5 = 0, 6-10 = 1, else = 2", "'else' should be what lies above"),
        ("9-3 = 0", "9 is above 3"),
        ("a = 0, b = 2", r"states of a, b are \[0, 2\]"),
    ]
    for text, why in cases:
        with (
            subtests.test(text=text, why=why),
            pytest.raises(InputError, match=f"of feature 'sodium' cannot be read: .*{why}"),
        ):
            parse_rule(text, "sodium")


def test_the_published_coding_table_is_read(tmp_path):
    """Every rule of table 1 of the capability study, in its words."""
    rules = {
        **dict.fromkeys(
            ["AIDS", "Heme Malignancy", "Metastatic Cancer"], "Absent = 0, Present = 1"
        ),
        "Glasgow coma scale (1-15)": "15 = 0, <= 14 = 1",
        **dict.fromkeys(["WBC Minimum (x10^9 /L)", "WBC Maximum (x10^9 /L)"], "4-10 = 0"),
        **dict.fromkeys(["Na Minimum (mmol/L)", "Na Maximum (mmol/L)"], "135-145 = 0"),
        **dict.fromkeys(["K Minimum (mmol/L)", "K Maximum (mmol/L)"], "3.5-5 = 0"),
        "Bili Maximum (mg/dL)": "<= 1.52 = 0",
        **dict.fromkeys(["HCO 3 Minimum (mmol/L)", "HCO 3 Maximum (mmol/L)"], "24-30 = 0"),
        **dict.fromkeys(["BUN Minimum (mg/dL)", "BUN Maximum (mg/dL)"], "7-22 = 0"),
        "PO 2 (mmHg)": "85-105 = 0",
        "FiO 2 (%)": "21 = 0, <= 21 = 1",
        "Mean heart rate (bpm)": "60-100 = 0",
        "Mean systolic blood pressure (mmHg)": "95-145 = 0",
        "Maximum temperature (°C)": "36.5-37.5 = 0",
        "Urine Output (mL/24h)": "800-2000 = 0",
        "Sex (M/F)": "M=1, F=0",
        "Age (yrs)": "<= 65 = 0, > 65 = 1",
        "Admission type": "Emergency = 1, else = 0",
    }
    table = pd.DataFrame({"feature": [*rules], "coding": [*rules.values()]})
    table.to_csv(tmp_path / "coding.csv", index=False)
    coding = read_coding(tmp_path / "coding.csv")
    rules = dict(zip(coding.names, (item.rule for item in coding.items), strict=True))
    assert len(rules) == 24
    assert rules["Na Minimum (mmol/L)"] == NormalRange(135, 145)
    assert rules["Age (yrs)"] == NormalRange(high=65)
    assert rules["Admission type"] == States((("Emergency", 1),), 0)


def test_a_table_of_normal_ranges_and_risk_states_is_read(tmp_path):
    path = tmp_path / "coding.csv"
    path.write_text(
        "Feature,Normal range,Risk state\nsodium,135-145,\nbun,7-22,high\npulse,60-100,low\n"
        "age,<= 65,> 65\naids,Absent,Present\n"
    )
    found = [str(item.rule) for item in read_coding(path).items]
    assert found == [
        "0 from 135 to 145, 1 outside",
        "0 up to 22, 1 above",
        "0 from 60, 1 below",
        "0 up to 65, 1 above",
        "Absent = 0, Present = 1",
    ]


@pytest.mark.parametrize(
    "source",
    [3, pd.DataFrame({"x": [1]}), pd.DataFrame({"feature": ["a", "a"], "coding": "1-2 = 0"})],
)
def test_what_is_no_coding_table_is_refused(source):
    with pytest.raises(InputError, match="feature"):
        read_coding(source)


def test_a_coding_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv"):
        read_coding(tmp_path / "none.csv")


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.integers(-5, 5), min_size=4, max_size=40).filter(lambda x: len(set(x)) > 1),
    levels=st.integers(2, 6),
)
def test_quantile_grades_ascend_with_the_values_and_are_all_used(values, levels):
    frame = pd.DataFrame({"x": np.array(values) + 0.5})
    coding = quantile_coding(frame, levels)
    grades = coding.code(frame)[:, 0]
    order = np.argsort(values, kind="stable")
    assert (np.diff(grades[order]) >= 0).all()
    assert set(grades) == set(range(coding.items[0].rule.top + 1))
    assert len(set(grades)) <= levels


def test_categories_become_items_and_columns_that_tell_nothing_are_left_out():
    frame = pd.DataFrame(
        {
            "sex": ["m", "f"] * 6,
            "colour": ["red", "green", "blue"] * 4,
            "constant": 1.0,
            "text": [f"sentence {k}" for k in range(12)] * 1,
            "size": np.linspace(0, 1, 12) ** 2,
        }
    )
    frame = pd.concat([frame] * 5, ignore_index=True)
    frame["text"] = [f"sentence {k}" for k in range(60)]
    coding = quantile_coding(frame, 4)
    assert coding.names == ("sex", "colour = blue", "colour = green", "colour = red", "size")
    assert "constant" in coding.notes[0]
    assert "text" in coding.notes[0]


def test_a_category_called_1_is_in_no_item_but_its_own():
    frame = pd.DataFrame({"c": ["1", "2", "x", "0"] * 10})
    grades = quantile_coding(frame, 4).code(frame)
    np.testing.assert_array_equal(grades[:4], np.eye(4)[[1, 2, 3, 0]])


def test_categories_that_no_rule_names_are_told_by_feature_and_case():
    frame = pd.DataFrame({"c": ["a", "b", "c"] * 10, "d": ["y", "n"] * 15})
    new = pd.DataFrame({"c": ["a", "z", None], "d": ["m", "y", "1"]})
    coding = quantile_coding(frame, 4)
    assert coding.unseen(coding.columns(new)) == {"c": {1: "z"}, "d": {0: "m"}}
    np.testing.assert_array_equal(coding.code(new)[:, :3], [[1, 0, 0], [NAN] * 3, [NAN] * 3])
    table = read_coding({"c": "a = 1, else = 0", "d": "y = 1, n = 0"})
    assert table.unseen(table.columns(new)) == {"d": {0: "m"}}


def test_features_are_found_by_name_and_missing_ones_are_named():
    coding = Coding.of({"a": Grades((0.0,)), "b": NormalRange(0, 1)})
    frame = pd.DataFrame({"z": [9.0], "b": [2.0], "a": [-1.0]})
    np.testing.assert_array_equal(coding.code(frame), [[0.0, 1.0]])
    with pytest.raises(InputError, match=r"lack 1 feature \(b\)"):
        coding.code(frame.drop(columns="b"))
    with pytest.raises(InputError, match=r"'a' is coded by numbers, but holds 'high'"):
        coding.code(frame.assign(a="high"))
    with pytest.raises(InputError, match="'b' more than once"):
        coding.code(frame[["a", "b", "b"]])


def test_infinite_numbers_and_unknown_categories_are_missing():
    coding = Coding.of({"a": Grades((0.0,)), "b": States((("x", 0), ("y", 1)))})
    frame = pd.DataFrame({"a": [np.inf, 1.0], "b": ["y", "z"]})
    np.testing.assert_array_equal(coding.code(frame), [[NAN, 1.0], [1.0, NAN]])
    whole = pd.DataFrame({"a": ["2", None], "b": ["x", None]})
    np.testing.assert_array_equal(coding.code(whole), [[1.0, 0.0], [NAN, NAN]])


def test_a_coding_survives_json():
    coding = Coding.of(
        {"a": Grades((0.1, 2.5)), "b": NormalRange(high=3), "c": States((("x", 1),), 0)}
    )
    again = Coding.from_dict(json.loads(json.dumps(coding.to_dict())))
    assert again.items == coding.items
    with pytest.raises(InputError, match="not a coding"):
        Coding.from_dict({"items": [["a", "a", {"grades": ["1"]}]], "notes": []})
