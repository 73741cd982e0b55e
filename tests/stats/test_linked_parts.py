"""Parts of a table that nothing links."""

import numpy as np
import pytest

from ogive.stats.linked_parts import linked_parts


def blocks(*shapes):
    """A table of blocks that share neither rows nor columns."""
    whole = np.zeros(np.sum(shapes, axis=0), dtype=bool)
    row = column = 0
    for n, m in shapes:
        whole[row : row + n, column : column + m] = True
        row, column = row + n, column + m
    return whole


def test_the_part_of_most_rows_comes_first():
    rows, columns = linked_parts(blocks((2, 5), (4, 1), (1, 3)))
    assert rows.tolist() == [1, 1, 0, 0, 0, 0, 2]
    assert columns.tolist() == [1, 1, 1, 1, 1, 0, 2, 2, 2]


def test_one_cell_links_two_parts():
    table = blocks((3, 3), (3, 3))
    table[0, 5] = True
    assert not linked_parts(table)[0].any()


def test_a_long_chain_is_one_part():
    chain = np.eye(40, dtype=bool) | np.eye(40, k=1, dtype=bool)
    assert not linked_parts(chain)[0].any()
    chain[20, 20] = False  # two links are left on each side of the gap
    assert linked_parts(chain)[0].max() == 1


def test_empty_rows_and_columns_are_no_parts():
    table = np.zeros((4, 5), dtype=bool)
    table[1:3, 2:4] = True
    assert not any(each.any() for each in linked_parts(table))
    assert not any(each.any() for each in linked_parts(np.zeros((3, 3), dtype=bool)))


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_agree_with_a_search_by_hand(seed):
    table = np.random.default_rng(seed).random((30, 25)) < 0.05
    found = linked_parts(table)[0]
    for row in np.flatnonzero(table.any(axis=1)):
        reached = np.zeros(30, dtype=bool)
        reached[row], size = True, 0
        while reached.sum() > size:
            size = reached.sum()
            reached |= table[:, table[reached].any(axis=0)].any(axis=1)
        here = (found == found[row]) & table.any(axis=1)
        np.testing.assert_array_equal(here, reached)
