"""Work on several workers, which whoever stops early leaves to nobody."""

import gc
import threading

import pytest
from joblib import delayed, parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

import ogive as og
from ogive._processes import one_by_one


class InRounds(ThreadingBackend):
    """A backend that returns whole lists only, like ray's."""

    supports_return_generator = False


def calls(n):
    return [delayed(int)(k) for k in range(n)]


@pytest.mark.parametrize("ordered", [True, False])
def test_all_results_come(ordered):
    with parallel_config(backend="threading"):
        found = list(one_by_one(calls(7), 2, ordered=ordered))
    assert sorted(found) == list(range(7))
    assert not ordered or found == sorted(found)


def test_a_backend_without_single_results_works_in_rounds():
    register_parallel_backend("in_rounds", InRounds)
    with parallel_config(backend="in_rounds"):
        assert list(one_by_one(calls(5), 2)) == list(range(5))


def test_who_stops_early_stops_the_others_and_hears_no_warning():
    go_on, done = threading.Event(), []

    def work(k):
        assert k == 0 or go_on.wait(60)
        done.append(k)
        return k

    with parallel_config(backend="threading"):
        results = one_by_one([delayed(work)(k) for k in range(50)], 2, batch_size=1)
        assert next(results) == 0
        threading.Timer(0.1, go_on.set).start()
        results.close()
    gc.collect()  # what is left to it would warn
    assert len(done) < 50


def test_a_study_that_is_stopped_leaves_no_work(grade):
    def stop(done, *_):
        raise KeyboardInterrupt

    with parallel_config(backend="threading"), pytest.raises(KeyboardInterrupt):
        og.resample(grade, lambda c: c.coords[0, 1], n_resamples=40, n_jobs=2, progress=stop)
    gc.collect()


@pytest.fixture(scope="module")
def grade():
    """A calibration that takes a moment to be made again."""
    return og.calibrate(og.simulate("1pl", 40, 6, random_state=1).responses, "1pl")
