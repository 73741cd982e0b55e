"""Ctrl-C ends the work, whoever catches it."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

import ogive as og
from ogive import _processes as interrupts
from ogive._files import write_bytes

SIGNAL = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture(autouse=True)
def interruptible():
    """A shell lets what it starts in the background ignore Ctrl-C, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Swallower(ClassifierMixin, BaseEstimator):
    """Is interrupted while it learns, and goes on as scikit-learn's networks do."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            self.half_ = True
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class InterruptedNetwork(MLPClassifier):
    """A network of scikit-learn, interrupted in its first epoch."""

    def _backprop(self, *args, **more):
        signal.raise_signal(signal.SIGINT)
        return super()._backprop(*args, **more)


@pytest.mark.parametrize("member", [Swallower(), InterruptedNetwork(max_iter=5)])
def test_a_member_that_swallows_ctrl_c_is_neither_finished_nor_stored(tmp_path, member):
    split = og.split_dataset(og.load_dataset("sklearn:iris"))
    with pytest.raises(KeyboardInterrupt):
        og.run_pool(split, {"net": member}, cv=0, folder=tmp_path / "a", n_jobs=1, progress=False)
    assert not list(tmp_path.rglob("*"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_gate_whose_model_swallows_ctrl_c_is_not_fitted():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    with pytest.raises(KeyboardInterrupt):
        og.CapabilityGate(Swallower()).fit(X, X[:, 0] > 0)


def test_nothing_is_written_after_an_interrupt_that_was_swallowed(tmp_path):
    def work():
        with interrupts.heeded(), interrupts.heeded():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                write_bytes(tmp_path / "result", b"half")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not list(tmp_path.iterdir())
    write_bytes(tmp_path / "result", b"the next work is another")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_an_object_is_deleted_ends_the_work_without_a_word_of_python():
    code = f"""import signal, time
{SIGNAL}
from ogive import _processes as interrupts

class Odd:
    def __del__(self):
        signal.raise_signal(2)

interrupts.end_at_once()
try:
    with interrupts.begins():
        odd = Odd()
        del odd
        for _ in range(1000):
            time.sleep(0.01)
        print("went on")
except KeyboardInterrupt:
    print("ended")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ended\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_does_not_reach_the_workers_of_joblib():
    """Each would show a traceback: a terminal sends it to all."""
    code = """import signal
from joblib import Parallel, delayed
from ogive._processes import unheard_by_workers

parallel = Parallel(n_jobs=2, return_as="generator")
with unheard_by_workers():
    found = parallel(delayed(signal.pthread_sigmask)(signal.SIG_BLOCK, []) for _ in range(4))
print(all(signal.SIGINT in blocked for blocked in found))
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_before_and_after_the_work_is_one_line_without_a_traceback(subtests):
    """As packages are imported, and as Python ends."""
    before = "import ogive.cli as c; c.lazily; o = c.end_at_once\n"
    before += "def end(): o(); signal.raise_signal(2)\nc.end_at_once = end\n"
    after = "import atexit, ogive.cli as c\natexit.register(signal.raise_signal, 2)\n"
    for moment, code in {"before": before, "after": after}.items():
        with subtests.test(moment=moment):
            words = [sys.executable, "-c", f"import signal\n{SIGNAL}{code}c.main()", "--version"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert done.returncode == interrupts.INTERRUPTED
            assert done.stderr == "Interrupted.\n"


def test_an_interrupt_that_compiled_code_turns_into_an_error_is_still_one():
    def work():
        with interrupts.heeded():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt as met:
                raise ValueError("Invalid bounding box") from met

    with pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_children_do_not_hear_of_ctrl_c_and_this_process_does_afterwards():
    words = [sys.executable, "-S", "-c", "import signal; signal.raise_signal(2); print('lives')"]
    done = None

    def work():
        nonlocal done
        with interrupts.unheard_by_children():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (done.stdout, done.stderr) == ("lives\n", "")


def test_a_second_ctrl_c_does_not_wait_for_the_first(monkeypatch, capfd):
    monkeypatch.setattr(os, "_exit", sys.exit)
    interrupts.end_at_once()
    with interrupts.begins(), interrupts.heeded():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(SystemExit, match="130"):
            signal.raise_signal(signal.SIGINT)
        interrupts._met.clear()
    assert capfd.readouterr().err == "Interrupted.\n"


def test_other_threads_are_left_alone():
    done = []

    @interrupts.heeded()
    def work():
        done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]
