import numpy as np
import pytest

from ogive.stats.array_backend import MOST_KEPT, Recordings


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
