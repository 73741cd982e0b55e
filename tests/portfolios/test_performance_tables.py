"""Columns of tables with gaps."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ogive.portfolios.performances import (
    fair_means,
    means,
    ranges,
    shapley_shares,
    virtual_best_shapley,
    worst_where_missing,
)

GAPS = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])


def test_means_and_ranges_of_columns_leave_out_what_is_missing():
    np.testing.assert_array_equal(means(GAPS), [2.0, 5.0, np.nan])
    np.testing.assert_array_equal(ranges(GAPS), [2.0, 0.0, 0.0])


def test_what_is_missing_counts_as_the_worst_of_its_row():
    np.testing.assert_array_equal(worst_where_missing(GAPS), [[1, 1, 1], [3, 5, 3]])
    np.testing.assert_array_equal(fair_means(GAPS), [2.0, 3.0, -np.inf])


SCORES = st.one_of(st.floats(0, 1, width=16), st.sampled_from([0.0, 0.5, 1.0, np.nan]))
TABLES = st.tuples(st.integers(1, 4), st.integers(1, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=SCORES)
)


def by_enumeration(table, worst):
    """What each adds on joining, averaged over all orders."""
    n_problems, n = table.shape
    filled = np.where(np.isnan(table), worst, table)
    total, orders = np.zeros((n_problems, n)), list(permutations(range(n)))
    for order in orders:
        best = np.full(n_problems, worst)
        for member in order:
            better = np.maximum(best, filled[:, member])
            total[:, member] += better - best
            best = better
    return total / len(orders)


@settings(max_examples=25, deadline=None)
@given(TABLES, st.sampled_from([0.0, -1.0]))
def test_values_are_those_of_all_orders_of_joining(table, worst):
    expected = by_enumeration(table, worst)
    np.testing.assert_allclose(shapley_shares(table, worst), expected, atol=1e-12)
    np.testing.assert_allclose(
        virtual_best_shapley(table, worst), expected.mean(axis=0), atol=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_values_add_up_to_the_virtual_best_above_the_worst(table):
    best = np.where(np.isnan(table), -1.0, table).max(axis=1)
    assert virtual_best_shapley(table, -1.0).sum() == pytest.approx((best + 1.0).mean())


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_algorithms_that_are_alike_have_equal_values(table):
    twice = np.column_stack([table, table[:, 0]])
    values = virtual_best_shapley(twice, 0.0)
    assert values[0] == pytest.approx(values[-1], abs=1e-12)


def test_who_never_beats_nothing_has_no_value():
    table = np.array([[0.0, 0.4, np.nan], [0.0, 0.9, np.nan]])
    np.testing.assert_allclose(virtual_best_shapley(table, 0.0), [0.0, 0.65, 0.0])


def test_a_table_done_by_hand():
    """The first 0.2 is shared by three, the next 0.3 by two, the last 0.5 is of one."""
    table = np.array([[1.0, 0.2, 0.5]])
    thirds, halves = 0.2 / 3, 0.3 / 2
    np.testing.assert_allclose(
        virtual_best_shapley(table, 0.0), [thirds + halves + 0.5, thirds, thirds + halves]
    )


def test_the_order_of_algorithms_does_not_matter():
    table = np.random.default_rng(0).random((20, 8))
    turned = virtual_best_shapley(table[:, ::-1], 0.0)[::-1]
    np.testing.assert_allclose(turned, virtual_best_shapley(table, 0.0))
