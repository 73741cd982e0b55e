"""Groups, limits and densities."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.results.plots.marks import (
    by_class,
    class_name,
    format_limit,
    lines_by_name,
    smoothed,
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


def test_a_limit_is_said_with_its_reach_where_that_is_known():
    assert format_limit(-0.5, 0.1) == "−0.50 (−0.70 to −0.30)"
    assert format_limit(0.5, np.nan) == "0.50"


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


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=60), st.floats(0.1, 1.0))
def test_a_density_with_its_tails_has_the_area_one(values, narrowest):
    at, density, se = smoothed(np.array(values), narrowest, tails=4.0)
    assert np.trapezoid(density, at) == pytest.approx(1.0, abs=0.005)
    assert (se >= 0).all()


def test_the_standard_error_is_how_far_densities_of_new_samples_stray():
    rng = np.random.default_rng(0)
    heights, errors = [], []
    for _ in range(300):
        at, density, se = smoothed(rng.normal(size=400), 0.3, tails=3.0)
        heights.append(np.interp(0.5, at, density))
        errors.append(np.interp(0.5, at, se))
    assert np.mean(errors) == pytest.approx(np.std(heights), rel=0.15)
