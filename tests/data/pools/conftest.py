"""Splits small enough to train on in milliseconds, and members that misbehave."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ogive.data.pools.members import Member
from ogive.data.pools.runner import run_pool


@dataclass(frozen=True, eq=False)
class SmallSplit:
    """The fields of a split of a data set."""

    name: str
    train: NDArray
    test: NDArray
    X_train: NDArray
    X_test: NDArray
    y_train: NDArray
    y_test: NDArray
    classes: tuple[str, ...]
    preprocessing: str = "none"
    notes: tuple[str, ...] = ()

    @property
    def features_train(self):
        return self.X_train

    @property
    def features_test(self):
        return self.X_test


def make_split(n=90, n_test=30, n_classes=3, seed=0, name="blobs"):
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, 4)) + 1.5 * y[:, None]
    order = random.permutation(n)
    test, train = order[:n_test], order[n_test:]
    classes = tuple(f"class {code}" for code in range(n_classes))
    return SmallSplit(name, train, test, X[train], X[test], y[train], y[test], classes)


def run_gated(folder, n_jobs=1):
    """Three members answer at once; three wait until a file called open lies in the folder."""

    def gated(depth):
        def make(split, seed):
            while depth > 3 and not (Path(folder) / "open").exists():
                time.sleep(0.01)
            return DecisionTreeClassifier(max_depth=depth, random_state=seed)

        return Member(f"tree {depth}", make, str(depth))

    pool = [gated(depth) for depth in range(1, 7)]
    return run_pool(make_split(), pool, folder=folder, cv=0, n_jobs=n_jobs)


@pytest.fixture(scope="session")
def gated():
    return run_gated


@pytest.fixture
def split():
    return make_split()


@pytest.fixture
def splits():
    return make_split


@pytest.fixture
def same():
    """Whether two sets of answers are the same to the last bit."""

    def agree(one, other):
        assert (one.members, one.items) == (other.members, other.items)
        assert one.predictions.tobytes() == other.predictions.tobytes()
        assert one.cv_accuracy.tobytes() == other.cv_accuracy.tobytes()
        assert one.cv_accuracy_se.tobytes() == other.cv_accuracy_se.tobytes()
        assert (one.failures, one.remarks) == (other.failures, other.remarks)
        return True

    return agree
