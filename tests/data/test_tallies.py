"""Counts of responses, against those that NumPy gives in the plainest way."""

import numpy as np
import pytest

from ogive.irt import response_codes as tallies
from ogive.irt.response_codes import Tally


@pytest.mark.parametrize("n_codes", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (127, 3), (700, 9)])
def test_codes_are_counted_by_item(n_codes, shape, monkeypatch):
    monkeypatch.setattr(tallies, "BLOCK_CELLS", 600)  # several blocks, which threads share
    cells = np.random.default_rng(n_codes).integers(-1, n_codes, shape).astype(np.int8)
    found = Tally.of(cells)
    codes = range(found.counts.shape[1])
    expected = np.stack([(cells == k).sum(axis=0) for k in codes], axis=1)
    np.testing.assert_array_equal(found.counts, expected)
    np.testing.assert_array_equal(found.asked, (cells >= 0).sum(axis=0))
    np.testing.assert_array_equal(found.unasked, np.flatnonzero((cells < 0).all(axis=1)))
    assert found.n_missing == (cells < 0).sum()


def test_scores_and_their_codes_have_the_same_extent():
    cells = np.random.default_rng(0).integers(-1, 4, (300, 6)).astype(np.int16)
    cells[:, 2], cells[5] = -1, -1
    scores = np.where(cells < 0, np.nan, cells)
    codes, found = Tally.of(cells), Tally.of(scores)
    for name in ("asked", "lowest", "highest", "unasked", "n_missing"):
        np.testing.assert_array_equal(getattr(found, name), getattr(codes, name), err_msg=name)
    assert (found.lowest[2], found.highest[2]) == (np.inf, -np.inf)
    assert found.counts is None
