"""Grouped rows: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.errors import InputError
from ogive.results.plots.marks import (
    by_class,
    class_name,
    limits_by_class,
    lines_by_name,
    said_limit,
)

FRAME = pd.DataFrame({"class": ["b", "a", "b"], "limit": [np.nan, 0.5, 1.5]})


def test_classes_stand_in_their_order_whatever_their_size():
    found = by_class(pd.Series([2, 10, 10, 1, 10]))
    assert [name for name, _ in found] == [1, 2, 10]
    np.testing.assert_array_equal(found[2][1], [1, 2, 4])


def test_of_many_classes_the_largest_stay_and_the_rest_is_last():
    found = by_class(pd.Series(list("zzzyyyaab")), most=2)
    assert [name for name, _ in found] == ["y", "z", "2 others"]
    assert len(found[-1][1]) == 3


def test_a_number_is_called_a_class():
    assert class_name(np.int64(1), 10) == "class 1"
    assert class_name("alive", 10) == "alive"


def test_limits_are_a_mapping_a_frame_or_a_column():
    capability = pd.DataFrame({"mlc": [0.5, np.inf], "mlc_se": [0.1, 0.1]}, index=["a", "b"])
    assert limits_by_class("It", FRAME, capability) == {"a": (0.5, 0.1)}
    assert limits_by_class("It", FRAME, {"a": 2})["a"][0] == 2.0
    assert limits_by_class("It", FRAME, pd.Series({"b": 3.0}))["b"][0] == 3.0
    found = limits_by_class("It", FRAME, None)
    assert {name: limit for name, (limit, _) in found.items()} == {"a": 0.5, "b": 1.5}
    assert limits_by_class("It", FRAME[["class"]], None) == {}


def test_limits_of_another_kind_or_of_other_classes_are_refused():
    with pytest.raises(InputError, match="limits of type list"):
        limits_by_class("It", FRAME, [0.5])
    with pytest.raises(InputError, match="limits for none of its classes"):
        limits_by_class("It", FRAME, {"c": 0.5})
    with pytest.raises(InputError, match="limit 'high', but a limit is a number"):
        limits_by_class("It", FRAME, {"a": "high"})


def test_a_limit_is_said_with_its_reach_where_that_is_known():
    assert said_limit(-0.5, 0.1) == "−0.50 (−0.70 to −0.30)"
    assert said_limit(0.5, np.nan) == "0.50"


ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(0, 5)), max_size=12)


@given(ROWS.filter(len))
def test_every_row_comes_back_once_under_its_name_in_ascending_order(rows):
    frame = pd.DataFrame(rows, columns=["name", "x"]).assign(y=np.arange(float(len(rows))))
    names, lines = lines_by_name(frame, "name", ("x", "y"))
    assert len(names) == len(lines) == frame["name"].nunique(dropna=False)
    assert all((np.diff(line[:, 0]) >= 0).all() for line in lines)
    found = {
        y: "none" if pd.isna(name) else name
        for name, line in zip(names, lines, strict=True)
        for _, y in line
    }
    assert found == dict(zip(frame["y"], frame["name"].fillna("none"), strict=True))
