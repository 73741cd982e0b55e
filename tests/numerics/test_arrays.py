import numpy as np
import pytest

from itemwise.errors import InputError, MissingExtraError
from itemwise.numerics import arrays
from itemwise.numerics.arrays import (
    array_namespace,
    as_array,
    as_numpy,
    checked_device,
    histogram,
    like,
)

INDEX = np.array([0, 3, 3, 1, 0])
WEIGHTS = np.array([1.0, 0.5, 0.25, 2.0, 4.0])
SUMS = [5.0, 2.0, 0.0, 0.75, 0.0]


def test_a_histogram_sums_the_weights_of_equal_places():
    np.testing.assert_array_equal(histogram(INDEX, WEIGHTS, 5), SUMS)


def test_a_histogram_on_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    found = histogram(torch.asarray(INDEX), torch.asarray(WEIGHTS), 5)
    np.testing.assert_array_equal(as_numpy(found), SUMS)


def test_numpy_stays_numpy_without_a_device():
    assert as_array(WEIGHTS, None) is WEIGHTS
    assert as_numpy(WEIGHTS) is WEIGHTS
    assert array_namespace(WEIGHTS) is np


def test_torch_arrays_come_back_unchanged():
    torch = pytest.importorskip("torch")
    there = as_array(WEIGHTS, "cpu")
    assert isinstance(there, torch.Tensor)
    np.testing.assert_array_equal(as_numpy(there), WEIGHTS)
    assert like([1, 2], there).dtype == torch.float64


def test_like_makes_float64_beside_numpy():
    assert like([1, 2], INDEX).dtype == np.float64


def test_a_device_that_is_not_there_is_named():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(
        InputError, match=r"device is 'cuda:3', which cannot be used here.*Use 'cpu' or 'cuda'"
    ):
        checked_device("cuda:3")


def test_a_device_without_double_precision_is_named():
    torch = pytest.importorskip("torch")
    if torch.backends.mps.is_available():
        pytest.skip("there is an MPS device here")
    with pytest.raises(InputError, match=r"device is 'mps', which cannot be used here"):
        checked_device("mps")


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat.torch", None)
    arrays._torch_namespace.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'itemwise\[torch\]'"):
        as_array(WEIGHTS, "cpu")
    arrays._torch_namespace.cache_clear()
