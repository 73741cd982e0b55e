import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ogive.results.plots.marks import robust_limits
from ogive.stats.metrics import edges_by_quantile, edges_by_width, places, sums_by_bin

numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=40).map(np.array)


@given(numbers, st.integers(1, 12), st.sampled_from([edges_by_quantile, edges_by_width]))
def test_every_value_lies_in_a_bin_and_equal_values_in_the_same(values, n_bins, edges_of):
    edges = edges_of(values, n_bins)
    place = places(values, edges)
    assert place.min() >= 0
    assert place.max() < n_bins
    order = np.argsort(values, kind="stable")
    assert (np.diff(place[order]) >= 0).all()
    assert all(len(set(place[values == value])) == 1 for value in values)


def test_bins_by_quantile_hold_equally_many():
    values = np.random.default_rng(0).normal(size=100)
    assert np.bincount(places(values, edges_by_quantile(values, 10))).tolist() == [10] * 10


def test_bins_by_width_are_equally_wide_but_for_what_lies_far_out():
    values = np.append(np.linspace(0, 10, 101), [1e6, -1e6])
    edges = edges_by_width(values, 5)
    assert (edges[0], edges[-1]) == (-1e6, 1e6)
    assert np.ptp(np.diff(edges[1:-1])) < 1e-9
    np.testing.assert_allclose(edges_by_width(values[:101], 5), [0, 2, 4, 6, 8, 10])


def test_values_outside_and_missing_ones_lie_in_no_bin():
    found = places(np.array([-1.0, 0.0, 1.0, 2.0, 3.0, np.nan]), np.array([0.0, 1.0, 2.0]))
    assert found.tolist() == [-1, 0, 1, 1, -1, -1]


def test_sums_by_hand():
    cells = np.array([[1.0, 0.0, np.nan, 1.0], [1.0, 1.0, 1.0, 1.0]])
    n, right = sums_by_bin(cells, np.array([0, 0, 1, -1]), 2)
    assert n.tolist() == [[2, 0], [2, 1]]
    assert right.tolist() == [[1, 0], [2, 1]]


@given(numbers)
def test_robust_limits_lie_within_the_values_and_hold_their_middle(values):
    low, high = robust_limits(values)
    assert values.min() <= low <= np.median(values) <= high <= values.max()


def test_robust_limits_leave_far_values_out():
    values = np.append(np.random.default_rng(0).normal(size=200), [1e6, np.inf, np.nan])
    assert robust_limits(values)[1] < 10
    mostly_equal = np.append(np.zeros(90), [*np.linspace(0, 1, 15), 1e6])
    assert robust_limits(mostly_equal)[1] < 10
