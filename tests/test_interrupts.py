"""Ctrl-C ends the work, whoever catches it."""

import signal
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

import itemwise as iw
from itemwise import interrupts
from itemwise.files import write_bytes


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
    split = iw.split_dataset(iw.load_dataset("sklearn:iris"))
    with pytest.raises(KeyboardInterrupt):
        iw.run_pool(split, {"net": member}, cv=0, folder=tmp_path / "a", n_jobs=1, progress=False)
    assert not list(tmp_path.rglob("*"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_gate_whose_model_swallows_ctrl_c_is_not_fitted():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    with pytest.raises(KeyboardInterrupt):
        iw.CapabilityGate(Swallower()).fit(X, X[:, 0] > 0)


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


def test_other_threads_are_left_alone():
    done = []

    @interrupts.heeded()
    def work():
        done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]
