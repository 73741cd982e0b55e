import numpy as np
import pandas as pd
import pytest

from ogive.capability.cases import case_table, new_cases
from ogive.errors import InputError


def test_columns_that_tell_nothing_are_left_out_and_named():
    frame = pd.DataFrame({"patient_id": [7, 3, 9, 4], "age": [1, 2, 2, np.inf], "unit": "kg"})
    table = case_table(frame)
    assert list(table.features) == ["age"]
    assert np.isnan(table.features["age"].iloc[-1])
    assert any("patient_id: an identifier" in note for note in table.notes)
    assert any("unit: constant" in note for note in table.notes)


def test_truth_values_are_numbers_and_words_are_texts():
    frame = pd.DataFrame({"smoker": [True, False] * 4, "ward": ["1", "x"] * 4})
    table = case_table(frame)
    assert table.plan.numbers == ("smoker",)
    assert table.plan.categories == ("ward",)
    assert table.features["smoker"].tolist() == [1.0, 0.0] * 4


def test_a_table_that_tells_no_case_from_another_is_refused():
    with pytest.raises(InputError, match="No column distinguishes cases"):
        case_table(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))


def test_categories_read_as_numbers_are_texts_again_and_gaps_stay_gaps():
    table = pd.DataFrame({"ward": [1.0, np.nan, 12.0], "smoker": [True, False, True], "more": 1})
    found = new_cases(table, {"ward": "text", "smoker": "number", "absent": "text"})
    assert found["ward"].tolist()[::2] == ["1", "12"]
    assert found["ward"].isna().tolist() == [False, True, False]
    assert found["smoker"].dtype == float
    assert list(found) == ["ward", "smoker", "more"]
