"""Products by digits, against those in float64."""

import numpy as np
import pytest

from ogive.stats import array_backend as module
from ogive.stats.array_backend import ZerosAndOnes, halved, in_digits

torch = pytest.importorskip("torch")


@pytest.fixture(params=[(40, 16), (300, 13)], ids=["aligned", "filled up"])
def cells(request):
    return torch.asarray(np.random.default_rng(0).integers(0, 2, request.param).astype(np.int8))


def test_digits_are_whole_numbers_that_make_up_the_vector():
    vector = torch.asarray(np.r_[np.random.default_rng(1).normal(0, 30, 200), 0.0, 1e-12])
    digits, worth = in_digits(vector)
    assert digits.dtype == torch.float16
    assert (digits == digits.round()).all()
    assert digits.abs().max() < 256
    np.testing.assert_allclose(digits.double() @ worth, vector, atol=1e-14)


def test_products_are_exact_to_float64(cells, monkeypatch):
    monkeypatch.setattr(module, "MOST_SUMMED", 128)  # several blocks of rows
    random = np.random.default_rng(2)
    slopes, means = random.normal(1, 0.5, cells.shape[1]), random.normal(0, 1, cells.shape[0])
    table, plain = halved(cells), cells.numpy().astype(float)
    assert table.exact_by_digits
    np.testing.assert_allclose(table.times(torch.asarray(slopes)), plain @ slopes, atol=1e-12)
    np.testing.assert_allclose(table.summed(torch.asarray(means)), means @ plain, atol=1e-12)


def test_a_vector_of_zeros_has_products_of_zero(cells):
    table = halved(cells)
    assert not table.times(torch.zeros(cells.shape[1], dtype=torch.float64)).any()
    assert not table.summed(torch.zeros(cells.shape[0], dtype=torch.float64)).any()


def test_tables_in_float64_are_multiplied_as_they_are():
    plain = np.array([[1.0, 0.0], [1.0, 1.0]])
    table = ZerosAndOnes(plain, 2, 2)
    np.testing.assert_array_equal(table.times(np.array([2.0, 3.0])), [2, 5])
    np.testing.assert_array_equal(table.summed(np.array([2.0, 3.0])), [5, 3])
