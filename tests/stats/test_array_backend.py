"""Products by digits, against those in float64."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.errors import InputError, MissingExtraError
from ogive.stats import array_backend as arrays
from ogive.stats import array_backend as module
from ogive.stats.array_backend import (
    MOST_KEPT,
    Recordings,
    ZerosAndOnes,
    array_namespace,
    as_array,
    as_numpy,
    available_cores,
    by_items,
    checked_device,
    evenly_spaced,
    fold,
    halved,
    histogram,
    in_digits,
    like,
    row_blocks,
    workers,
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
    with pytest.raises(MissingExtraError, match=r"pip install '\S*\[torch\]'"):
        as_array(WEIGHTS, "cpu")
    arrays._torch_namespace.cache_clear()


@given(n_rows=st.integers(1, 500), rows=st.integers(1, 600))
def test_blocks_cover_every_row_once_and_in_order(n_rows, rows):
    covered = [k for block in row_blocks(n_rows, rows) for k in range(n_rows)[block]]
    assert covered == list(range(n_rows))


def test_sums_do_not_depend_on_the_number_of_workers(subtests):
    # Values of very different size: any other order of addition gives other bytes.
    values = np.random.default_rng(0).lognormal(0, 12, 5000)
    blocks = row_blocks(values.size, 37)

    def sums(jobs):
        with workers(jobs) as run:
            return fold(run, blocks, lambda rows: (values[rows].sum(), np.sqrt(values[rows]).sum()))

    for n_jobs in [1, 2, 3, 7]:
        with subtests.test(n_jobs=n_jobs):
            assert sums(n_jobs) == sums(1)
            np.testing.assert_allclose(sums(n_jobs), [values.sum(), np.sqrt(values).sum()])


def test_a_fold_sums_every_block_once(subtests):
    for n_blocks in [1, 2, 15, 16, 17, 40]:
        with subtests.test(n_blocks=n_blocks):
            (total,) = fold(map, row_blocks(n_blocks, 1), lambda rows: (10.0 ** (rows.start % 15),))
            assert total == sum(10.0 ** (k % 15) for k in range(n_blocks))


def test_a_fold_combines_in_the_way_asked(subtests):
    def larger_and_sum(old, new):
        return max(old[0], new[0]), old[1] + new[1]

    numbers = np.random.default_rng(1).normal(size=40)
    for n_blocks in [1, 2, 17, 40]:
        with subtests.test(n_blocks=n_blocks):
            values = numbers[:n_blocks]
            largest, total = fold(
                map, row_blocks(n_blocks, 1), lambda r: (numbers[r][0],) * 2, combine=larger_and_sum
            )
            assert largest == values.max()
            assert total == pytest.approx(values.sum())


def test_a_number_of_workers_that_cannot_be_is_refused(subtests):
    for n_jobs in [0, -2, "2", 1.5]:
        with (
            subtests.test(n_jobs=n_jobs),
            pytest.raises(InputError, match="`n_jobs` must be 1 or more"),
            workers(n_jobs),
        ):
            pass


def test_work_inside_a_pool_ends_when_nobody_waits_for_it_any_more():
    """Ctrl-C during cross-validation waited minutes for the fits of the folds."""
    begun, ended = threading.Event(), []

    def fit(_):
        with workers(1) as inner:
            for _ in range(10**7):
                begun.set()
                list(inner(str, [1]))
        ended.append(1)

    def cross_validate():
        with workers(2) as run:
            run(fit, [1, 2])
            begun.wait()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate()
    assert not ended


def test_workers_keep_the_order_of_results():
    with workers(3) as run:
        assert list(run(lambda k: k * k, range(50))) == [k * k for k in range(50)]


def test_an_error_in_a_worker_reaches_the_caller():
    with pytest.raises(ZeroDivisionError), workers(2) as run:
        fold(run, row_blocks(4, 1), lambda rows: (1 // 0,))


def test_there_is_at_least_one_core():
    assert available_cores() >= 1


def test_positions_are_all_of_few_and_evenly_spaced_ones_of_many():
    assert evenly_spaced(5, 5).tolist() == [0, 1, 2, 3, 4]
    assert evenly_spaced(6, 5).tolist() == [0, 1, 2, 4, 5]
    assert evenly_spaced(101, 3).tolist() == [0, 50, 100]


def test_blocks_of_items_are_joined_in_order_and_no_smaller_than_need_be():
    coords = np.arange(100.0)[:, None]
    seen = []

    def work(items):
        seen.append(items)
        return coords[items] * 2, coords[items, 0] + 1

    doubled, next_one = by_items(map, coords, 10**6, work)
    np.testing.assert_array_equal(doubled, coords * 2)
    np.testing.assert_array_equal(next_one, coords[:, 0] + 1)
    assert len(seen) > 1
    seen.clear()
    by_items(map, coords, 1, work)
    assert seen == [slice(0, 100)]


def test_none_and_minus_one_stand_for_all_cores(monkeypatch):
    asked = []
    monkeypatch.setattr(arrays, "available_cores", lambda: asked.append(1) or 1)
    for n_jobs in (None, -1):
        with workers(n_jobs) as run:
            assert isinstance(run(abs, [-1, -2]), map)  # no threads
    assert len(asked) == 2


def test_blas_of_scipy_is_held_to_one_thread_even_if_it_is_imported_later():
    """Its threads wait in a spin for each other: on a busy machine a Cholesky took 0.3 s."""
    code = (
        "from ogive.stats.array_backend import workers\n"
        "with workers(1):\n"
        "    import scipy.linalg\n"
        "    from threadpoolctl import ThreadpoolController\n"
        "    known = ThreadpoolController().info()\n"
        "    print(len(known), *[each['num_threads'] for each in known])\n"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    count, *threads = map(int, done.stdout.split())
    assert threads == [1] * count


class Doubling:
    """Doubles an array, and counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, array):
        self.asked += 1
        return (2 * array,)


def test_work_in_memory_is_done_each_time(subtests):
    torch = pytest.importorskip("torch")
    for array in (np.arange(3.0), torch.arange(3.0)):
        with subtests.test(type(array).__name__):
            recordings, work = Recordings(), Doubling()
            for k in range(3):
                (found,) = recordings("doubling", work, array + k)
                assert found.tolist() == (2 * (array + k)).tolist()
            assert work.asked == 3


@pytest.fixture
def cuda():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return torch


def test_a_gpu_is_asked_twice_and_then_replays_with_the_arrays_of_each_call(cuda):
    recordings, work = Recordings(), Doubling()
    given = [cuda.full((3,), float(k), device="cuda") for k in range(6)]
    found = [recordings("doubling", work, array)[0] for array in given]
    assert [array.tolist() for array in found] == [[2.0 * k] * 3 for k in range(6)]
    assert work.asked == 2


def test_another_shape_or_name_is_another_recording(cuda):
    recordings, work = Recordings(), Doubling()
    for size in (3, 4):
        for name in ("one", "other"):
            for _ in range(3):
                (found,) = recordings(name, work, cuda.ones(size, device="cuda"))
                assert found.tolist() == [2.0] * size
    assert work.asked == 8


def test_work_that_looks_at_its_numbers_is_done_each_time(cuda):
    def looking(array):
        return (array * float(array.sum()),)

    recordings = Recordings()
    for k in range(4):
        (found,) = recordings("looking", looking, cuda.full((2,), float(k), device="cuda"))
        assert found.tolist() == [2.0 * k * k] * 2


def test_the_oldest_recordings_make_room(cuda):
    recordings, work = Recordings(), Doubling()
    for name in [*range(MOST_KEPT + 1), 0]:
        recordings(name, work, cuda.ones(2, device="cuda"))
        recordings(name, work, cuda.ones(2, device="cuda"))
    assert work.asked == 2 * (MOST_KEPT + 2)


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
