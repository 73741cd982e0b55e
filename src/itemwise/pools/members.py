"""Members of a pool, and the split of a data set that they see."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itemwise.datasets import Split
from itemwise.errors import InputError

MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
SET_OF_TEXTS = re.compile(r"\{([^{}:]*)\}")


class Predictor(Protocol):
    """Learns from the training part and predicts the test part."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from instances and their codes."""

    def predict(self, X: Any) -> ArrayLike:
        """Return one code per instance."""


@dataclass(frozen=True, eq=False)
class Part:
    """A split as plain arrays: the whole one, or one fold of its training part."""

    name: str
    test: NDArray[np.int64]
    X_train: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, split: Split | Part) -> Part:
        """Copy the arrays of any split, and check that they fit together."""
        part = cls(
            name=str(split.name),
            test=np.array(split.test, dtype=np.int64),
            X_train=np.array(split.X_train, dtype=np.float64),
            X_test=np.array(split.X_test, dtype=np.float64),
            y_train=np.array(split.y_train, dtype=np.int64),
            y_test=np.array(split.y_test, dtype=np.int64),
            classes=tuple(map(str, split.classes)),
        )
        part.check()
        return part

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        for kind, X, y in (
            ("training", self.X_train, self.y_train),
            ("test", self.X_test, self.y_test),
        ):
            if X.ndim != 2 or y.shape != (len(X),) or not len(y):
                raise InputError(
                    f"The {kind} part of '{self.name}' has features of shape {X.shape} and labels "
                    f"of shape {y.shape}. Give at least one row, and one label per row."
                )
            if y.min() < 0 or y.max() >= len(self.classes):
                raise InputError(
                    f"The {kind} part of '{self.name}' has the codes {y.min()} to {y.max()}, but "
                    f"its {len(self.classes)} classes have the codes 0 to "
                    f"{len(self.classes) - 1}. Code the labels again."
                )
        if self.X_train.shape[1] != self.X_test.shape[1] or self.test.shape != self.y_test.shape:
            raise InputError(
                f"The two parts of '{self.name}' differ in their columns, or its test positions "
                "do not match its test part. Split the data set again."
            )

    def fold(self, learn: NDArray[Any], hold: NDArray[Any]) -> Part:
        """A split of the training part: rows `learn` to learn from, rows `hold` to predict."""
        X, y = self.X_train, self.y_train
        return Part(self.name, hold, X[learn], X[hold], y[learn], y[hold], self.classes)

    def copy(self) -> Part:
        """Arrays that a member may change without affecting the others."""
        return Part.of(self)


@dataclass(frozen=True)
class Member:
    """A name, and a function that makes the predictor for a split and a seed.

    An artificial member may use the test labels of the split. `settings` identifies the predictor,
    so that a stored answer is never mistaken for that of another one.
    """

    name: str
    make: Callable[[Any, int], Predictor]
    settings: str = ""


@dataclass(frozen=True)
class FromEstimator:
    """Makes unfitted copies of a scikit-learn classifier, seeded where it takes a seed."""

    estimator: Any

    def __call__(self, _split: Part, seed: int) -> Predictor:
        """Make a copy; a `random_state` that is a whole number stays as it is."""
        from sklearn.base import clone

        copy: Any = clone(self.estimator)
        seeded = {
            name: seed
            for name, value in copy.get_params(deep=True).items()
            if name.rpartition("__")[2] == "random_state" and not isinstance(value, Integral)
        }
        copy.set_params(**seeded)
        predictor: Predictor = copy
        return predictor


def member_of(name: str, estimator: Any) -> Member:
    """Make a member from a scikit-learn classifier."""
    _check_classifier(name, estimator)
    return Member(name, FromEstimator(estimator), _settings(estimator))


def _check_classifier(name: str, estimator: Any) -> None:
    from sklearn.base import BaseEstimator, is_classifier

    if isinstance(estimator, type):
        raise InputError(
            f"'{name}' in the pool is the class {estimator.__name__}, not a classifier made from "
            f"it. Write {estimator.__name__}() with parentheses."
        )
    if not isinstance(estimator, BaseEstimator) or not is_classifier(estimator):
        raise InputError(
            f"'{name:.60}' in the pool is of type {type(estimator).__name__}, which is not a "
            "scikit-learn classifier. Give one, or an itemwise.pools.Member that makes one."
        )


def same_everywhere(text: str) -> str:
    """A repr without what differs between processes: addresses, and the order of sets."""
    ordered = SET_OF_TEXTS.sub(
        lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}",
        MEMORY_ADDRESS.sub("", text),
    )
    return " ".join(ordered.split())


def _settings(estimator: Any) -> str:
    """Class and parameters as one line, the same in every process."""
    kind = type(estimator)
    given = estimator.get_params(deep=True)
    pairs = ", ".join(f"{name}={given[name]!r}" for name in sorted(given))
    return same_everywhere(f"{kind.__module__}.{kind.__qualname__}({pairs})")
