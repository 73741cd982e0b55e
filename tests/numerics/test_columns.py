"""Columns of tables with gaps."""

import numpy as np

from itemwise.numerics.columns import fair_means, means, ranges, worst_where_missing

GAPS = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])


def test_means_and_ranges_of_columns_leave_out_what_is_missing():
    np.testing.assert_array_equal(means(GAPS), [2.0, 5.0, np.nan])
    np.testing.assert_array_equal(ranges(GAPS), [2.0, 0.0, 0.0])


def test_what_is_missing_counts_as_the_worst_of_its_row():
    np.testing.assert_array_equal(worst_where_missing(GAPS), [[1, 1, 1], [3, 5, 3]])
    np.testing.assert_array_equal(fair_means(GAPS), [2.0, 3.0, -np.inf])
