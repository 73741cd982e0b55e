import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from itemwise.numerics.neighbours import runs_within


def test_slices_hold_neighbours_that_are_close():
    assert runs_within(np.array([1.0, 1.8, 2.6, 4.0]), 1.0) == [(0, 2), (1, 3)]


def test_what_is_just_as_far_as_the_reach_is_apart():
    assert runs_within(np.array([1.0, 2.0]), 1.0) == []
    assert runs_within(np.array([0.1, 0.3]), 0.3 - 0.1) == []


@given(st.lists(st.integers(0, 40), min_size=1, max_size=15), st.integers(1, 20))
def test_each_close_pair_is_in_a_slice_and_no_slice_in_another(numbers, reach):
    values = np.sort(np.array(numbers, dtype=float))
    runs = runs_within(values, reach)
    for a in range(len(values)):
        for b in range(a + 1, len(values)):
            together = any(start <= a and b < stop for start, stop in runs)
            assert together == (values[b] - values[a] < reach)
    for start, stop in runs:
        assert not any((s, t) != (start, stop) and s <= start and stop <= t for s, t in runs)
