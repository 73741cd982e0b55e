import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.results.plots.marks import cluster_limits, padded, robust_limits

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


def test_limits_by_hand():
    values = np.array([-50.0, 0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    # The middle half is 0.5 to 3.5, and three of its widths beyond it are still shown.
    assert robust_limits(values) == (0.5 - 9, 3.5 + 9)
    assert robust_limits(values[1:-1]) == (0.0, 4.0)
    # Without a middle half of any width the middle 80 or 95 % count, or all values.
    for n in (12, 4):
        ends = np.r_[-100.0, np.full(n, -1.0), np.zeros(98 - 2 * n), np.full(n, 1.0), 100.0]
        assert robust_limits(ends) == pytest.approx((-7.0, 7.0))
    assert robust_limits(np.r_[-100.0, np.zeros(98), 100.0]) == (-100.0, 100.0)
    assert robust_limits(np.array([3.0, 3.0])) == (3.0, 3.0)
    assert robust_limits(np.array([np.nan, np.inf])) == (-1.0, 1.0)


def test_four_values_are_too_few_for_groups_and_what_is_near_a_group_is_shown():
    assert cluster_limits(np.array([0.0, 0.0, 9.0, 9.0])) == robust_limits(np.r_[0, 0, 9, 9.0])
    # The third from the end is a group, and so is what lies within 1.3, half of what is shown.
    far = np.r_[np.linspace(0.0, 1.0, 20), 100.0, 101.0, 102.0]
    assert cluster_limits(far) == (0.0, 101.0)
    assert cluster_limits(-far) == (-101.0, 0.0)


def test_of_many_one_in_a_hundred_stays_beyond():
    near = np.linspace(0.0, 1.0, 995)
    assert cluster_limits(np.r_[near, np.full(9, 1e6)])[1] < 3
    assert cluster_limits(np.r_[near, np.full(11, 1e6)])[1] == 1e6
