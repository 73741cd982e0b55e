import numpy as np
import pandas as pd
import pytest

from itemwise.errors import InputError
from itemwise.responses.naming import aligned

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
