"""Responses as the engines read them."""

import numpy as np
import pytest

from itemwise import simulate
from itemwise.responses.encoding import encode


@pytest.fixture(scope="module")
def cells():
    return simulate("2pl", 1000, 25, missing=0.1, random_state=1).responses.cells


def test_thinned_rows_are_evenly_spaced_and_stand_for_all(cells):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    thinned = encode(cells, 2, weights).thinned(250)
    np.testing.assert_array_equal(thinned.cells, cells[::4])
    assert thinned.weights.sum() == pytest.approx(weights.sum())
    np.testing.assert_allclose(thinned.weights / thinned.weights[0], weights[::4] / weights[0])


@pytest.mark.parametrize("most", [501, 1000, 5000])
def test_rows_that_are_not_twice_too_many_stay_as_they_are(cells, most):
    data = encode(cells, 2)
    assert data.thinned(most) is data


def test_rows_of_few_items_stay_as_they_are(cells):
    data = encode(cells[:, :20], 2)
    assert data.thinned(10) is data


def test_some_items_keep_their_rows_and_weights(cells):
    data = encode(cells, 2)
    part = data.of_items(np.array([3, 1]))
    np.testing.assert_array_equal(part.cells, cells[:, [3, 1]])
    assert part.weights is data.weights
    assert not part.complete


def test_equal_rows_of_few_items_are_collapsed():
    data = encode(np.array([[1, 0], [0, 1], [1, 0]], dtype=np.int8), 2, np.array([1.0, 2.0, 4.0]))
    assert data.cells.tolist() == [[0, 1], [1, 0]]
    assert data.weights.tolist() == [2.0, 5.0]
