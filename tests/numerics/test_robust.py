import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemwise.numerics.robust import cluster_limits, robust_limits

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array)


@given(numbers)
def test_few_values_at_each_end_stay_beyond(values):
    low, high = cluster_limits(values)
    assert (values < low).sum() <= 2 or len(values) <= 4
    assert (values > high).sum() <= 2 or len(values) <= 4
    narrow = robust_limits(values)
    assert low <= narrow[0] <= narrow[1] <= high
    assert values.min() <= low <= high <= values.max()


@pytest.mark.parametrize(("far", "end"), [(2, 1.0), (3, 1e9)])
def test_one_or_two_far_values_stretch_nothing_and_a_group_does(far, end):
    values = np.concatenate([np.linspace(0, 1, 100), np.full(far, 1e9)])
    assert cluster_limits(values)[1] == pytest.approx(end, rel=4)
