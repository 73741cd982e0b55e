"""Responses as the engines read them."""

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.encoded_responses import collapse, encode
from ogive.irt.models import MODELS
from ogive.irt.models.continuous import Continuous
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import TwoPL


@pytest.fixture(scope="module")
def cells():
    return simulate("2pl", 1000, 25, missing=0.1, random_state=1).responses.cells


@pytest.fixture(scope="module")
def tables():
    """Responses with gaps of every kind, and the model fitted to them."""
    drawn = [simulate(name, 300, 7, missing=0.2, random_state=2) for name in MODELS]
    return [
        (responses.cells, truth.model.fitted_to(responses.cells, responses.items))
        for responses, truth in drawn
    ]


def test_thinned_rows_are_evenly_spaced_and_stand_for_all(cells):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    thinned = encode(cells, TwoPL(), weights).thinned(250)
    np.testing.assert_array_equal(thinned.cells, cells[::4])
    assert thinned.weights.sum() == pytest.approx(weights.sum())
    np.testing.assert_allclose(thinned.weights / thinned.weights[0], weights[::4] / weights[0])


def test_rows_that_are_not_twice_too_many_stay_as_they_are(cells, subtests):
    for most in [501, 1000, 5000]:
        with subtests.test(most=most):
            data = encode(cells, TwoPL())
            assert data.thinned(most) is data


def test_rows_of_few_items_stay_as_they_are(cells):
    data = encode(cells[:, :20], TwoPL())
    assert data.thinned(10) is data


def test_rows_of_few_items_with_scores_are_thinned():
    scores = np.random.default_rng(0).uniform(size=(1000, 3))
    assert encode(scores, Continuous()).thinned(250).shape == (250, 3)


def test_every_third_row_stands_for_all(cells):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    data = encode(cells, TwoPL(), weights)
    some = data.every(3)
    np.testing.assert_array_equal(some.cells, cells[::3])
    np.testing.assert_allclose(some.weights / weights[::3], weights.sum() / weights[::3].sum())
    assert data.every(1) is data


def test_equal_rows_of_few_items_are_collapsed():
    data = encode(
        np.array([[1, 0], [0, 1], [1, 0]], dtype=np.int8), TwoPL(), np.array([1.0, 2.0, 4.0])
    )
    assert data.cells.tolist() == [[0, 1], [1, 0]]
    assert data.weights.tolist() == [2.0, 5.0]


def test_equal_rows_of_grades_are_collapsed_and_scores_are_not():
    grades = np.array([[2, 0], [0, 1], [2, 0]], dtype=np.int8)
    data = encode(grades, Graded(categories=3))
    assert data.cells.tolist() == [[0, 1], [2, 0]]
    assert data.weights.tolist() == [1.0, 2.0]
    scores = np.array([[0.2, 0.4], [0.2, 0.4]])
    assert encode(scores, Continuous()).shape == (2, 2)
    assert encode(grades, Graded(categories=3), collapsing=False).shape == (3, 2)


def test_collapsed_rows_are_distinct_and_keep_the_weight_of_all():
    cells = np.random.default_rng(0).integers(-1, 2, (500, 3)).astype(np.int8)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 500)
    distinct, total = collapse(cells, weights)
    assert len({tuple(row) for row in distinct.tolist()}) == len(distinct) == 27
    for row, weight in zip(distinct, total, strict=True):
        assert weight == pytest.approx(weights[(cells == row).all(axis=1)].sum())


def test_a_block_holds_the_statistics_and_zero_where_nothing_was_asked(tables, subtests):
    for cells, model in tables:
        with subtests.test(model.name):
            data = encode(cells, model, collapsing=False)
            assert not data.complete
            block = data.block(slice(10, 60))
            asked = cells[10:60] >= 0 if data.graded else ~np.isnan(cells[10:60])
            np.testing.assert_array_equal(block.observed, asked)
            np.testing.assert_array_equal(block.asked, asked)
            filled = np.where(asked, model.read(cells[10:60]), 0)
            expected = model.statistics(filled, np.float64)
            assert len(block.statistics) == len(expected)
            for found, table_of in zip(block.statistics, expected, strict=True):
                np.testing.assert_array_equal(found, np.where(asked, table_of, 0.0))
                assert found.dtype == np.float64


def test_a_complete_block_has_no_mask(tables, subtests):
    for cells, model in tables:
        with subtests.test(model.name):
            full = cells[(cells >= 0).all(axis=1)] if cells.dtype.kind == "i" else cells
            full = full[~np.isnan(full).any(axis=1)]
            data = encode(full, model, collapsing=False)
            assert data.complete
            assert data.binary == (model.kind == "binary")
            block = data.block(slice(0, 20))
            assert block.observed is None
            assert (block.asked == 1).all()
            expected = model.statistics(model.read(full[:20]), np.float64)
            np.testing.assert_array_equal(block.statistics, expected)


def test_scores_read_late_are_those_read_at_once(tables, subtests):
    for cells, model in tables:
        with subtests.test(model.name):
            for part in (cells, cells[~((cells < 0) | np.isnan(cells)).any(axis=1)]):
                late, now = (
                    encode(part, model, collapsing=False, lazy=lazy) for lazy in (True, False)
                )
                assert (late.read is None) == (not late.complete)
                one, other = (data.block(slice(3, 40)) for data in (late, now))
                np.testing.assert_array_equal(one.statistics, other.statistics)
                np.testing.assert_array_equal(one.asked, other.asked)


def test_grades_are_read_from_the_lowest():
    cells = np.array([[1, 3], [2, -1], [3, 1]], dtype=np.int8)
    model = Graded().fitted_to(cells, ["a", "b"])
    data = encode(cells, model, collapsing=False)
    np.testing.assert_array_equal(data.cells, [[0, 2], [1, -1], [2, 0]])
    second, third = data.block(slice(0, 3)).statistics
    np.testing.assert_array_equal(second, [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(third, [[0, 1], [0, 0], [1, 0]])


def test_blocks_cover_every_row_once(tables, subtests):
    for cells, model in tables:
        with subtests.test(model.name):
            data = encode(np.repeat(cells, 20, axis=0), model, collapsing=False)
            for width in (1, 61, 161):
                covered = [k for rows in data.blocks(width) for k in range(*rows.indices(6000))]
                assert covered == list(range(6000))


def test_categories_may_be_read_in_single_precision_and_scores_may_not(tables, subtests):
    for cells, model in tables:
        with subtests.test(model.name):
            data = encode(cells, model, collapsing=False).in_single()
            expected = np.float32 if data.graded else np.float64
            assert {t.dtype.type for t in data.block(slice(0, 9)).statistics} == {expected}


def test_right_responses_are_counted_with_their_weights(cells):
    full = np.maximum(cells, 0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    np.testing.assert_allclose(encode(full, TwoPL(), weights).right_counts, weights @ full)


def test_torch_holds_the_same_tables(tables, subtests):
    torch = pytest.importorskip("torch")
    for cells, model in tables:
        with subtests.test(model.name):
            here, there = (
                encode(cells, model, device=device, collapsing=False) for device in (None, "cpu")
            )
            assert isinstance(there.cells, torch.Tensor)
            one, other = here.block(slice(0, 50)), there.block(slice(0, 50))
            for found, expected in zip(other.statistics, one.statistics, strict=True):
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-13, atol=1e-15)
            np.testing.assert_array_equal(np.asarray(other.observed), one.observed)
