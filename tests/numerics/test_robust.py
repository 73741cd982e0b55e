import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemwise.numerics.robust import cluster_limits, padded, robust_limits

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array)


@given(numbers)
def test_few_values_at_each_end_stay_beyond(values):
    low, high = cluster_limits(values)
    assert (values < low).sum() <= 2 or len(values) <= 4
    assert (values > high).sum() <= 2 or len(values) <= 4
    narrow = robust_limits(values)
    assert low <= narrow[0] <= narrow[1] <= high
    assert values.min() <= low <= high <= values.max()


def test_one_or_two_far_values_stretch_nothing_and_a_group_does():
    near = np.linspace(0, 1, 100)
    for far in (1, 2):
        values = np.concatenate([near, np.full(far, 1e9)])
        # Three widths of the middle half beyond it, wherever the far values lie.
        first, third = np.percentile(values, [25, 75])
        assert cluster_limits(values) == pytest.approx((0.0, third + 3 * (third - first)))
        assert cluster_limits(values)[1] < 2.4
        assert cluster_limits(-values)[0] > -2.4
    values = np.concatenate([near, np.full(3, 1e9)])
    assert cluster_limits(values) == (0.0, 1e9)
    assert cluster_limits(-values) == (-1e9, 0.0)


def test_limits_get_a_twenty_fifth_of_room_at_both_ends_and_a_point_gets_some_too():
    assert padded((10.0, 20.0)) == pytest.approx((9.6, 20.4))
    assert padded((10.0, 20.0), share=0.5) == pytest.approx((5.0, 25.0))
    assert padded((0.0, 0.0)) == (-1.0, 1.0)
    assert padded((-50.0, -50.0)) == (-55.0, -45.0)
