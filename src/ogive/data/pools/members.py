"""Members of a pool, the split of a data set that they see, and their class probabilities.

Probabilities are kept in half precision: 2 bytes per item and class, with three significant digits
down to 0.0001, which is more than classifiers know. As text, they travel through pipes and JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive.errors import InputError
from ogive.results.numbers import listed

CLASSIFIER, REGRESSOR = "classifier", "regressor"
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
    """A split as one member sees it: the whole one, or one fold of its training part.

    Features are a frame with the columns as they are, or an array of numbers for the members that
    the package prepares them for.
    """

    name: str
    test: NDArray[np.int64]
    X_train: Any  # (n_train, n_features)
    X_test: Any
    y_train: NDArray[Any]  # codes, or numbers to predict
    y_test: NDArray[Any]
    classes: tuple[str, ...]  # none if there are numbers to predict

    @classmethod
    def of(cls, split: Any, *, prepared: bool = False) -> Part:
        """Copy any split, and check that its parts fit together."""
        train, test = (
            (np.array(split.X_train, dtype=np.float64), np.array(split.X_test, dtype=np.float64))
            if prepared
            else (split.features_train.copy(), split.features_test.copy())
        )
        kind = np.int64 if split.classes else np.float64
        part = cls(
            name=str(split.name),
            test=np.array(split.test, dtype=np.int64),
            X_train=train,
            X_test=test,
            y_train=np.array(split.y_train, dtype=kind),
            y_test=np.array(split.y_test, dtype=kind),
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
            if self.classes and (y.min() < 0 or y.max() >= len(self.classes)):
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
        """Split the training part: rows `learn` to learn from, rows `hold` to predict."""
        X, y = self.X_train, self.y_train
        return Part(
            self.name, hold, _rows(X, learn), _rows(X, hold), y[learn], y[hold], self.classes
        )

    def copy(self) -> Part:
        """Return features and codes that a member may change without affecting the others."""
        parts = ("X_train", "X_test", "y_train", "y_test")
        return replace(self, **{name: getattr(self, name).copy() for name in parts})

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that a member could see."""
        found = hashlib.sha256(json.dumps([self.name, self.classes]).encode())
        for table in (self.test, self.X_train, self.X_test, self.y_train, self.y_test):
            for content in _contents(table):
                found.update(content)
        return found.hexdigest()

    @property
    def untidy(self) -> bool:
        """True if columns hold text, categories or missing values."""
        from pandas.api.types import is_numeric_dtype

        if not hasattr(self.X_train, "dtypes"):
            return False
        tables = (self.X_train, self.X_test)
        numeric = all(is_numeric_dtype(kind) for table in tables for kind in table.dtypes)
        return not numeric or any(table.isna().to_numpy().any() for table in tables)


def _contents(table: Any) -> Iterator[bytes]:
    """Yield the bytes of an array; of a frame, the name, the type and the cells of each column."""
    from pandas import CategoricalDtype
    from pandas.util import hash_pandas_object

    if not hasattr(table, "dtypes"):
        yield f"{table.shape} {table.dtype.str}".encode()
        yield np.ascontiguousarray(table).tobytes()
        return
    yield f"{table.shape}".encode()
    for name, column in table.items():
        yield f"{name!r} {column.dtype}".encode()
        if isinstance(column.dtype, CategoricalDtype):
            yield repr(column.cat.categories.tolist()).encode()
        try:
            cells = hash_pandas_object(column, index=False)
        except TypeError:  # lists and other cells that cannot be hashed
            cells = hash_pandas_object(column.map(repr), index=False)
        yield cells.to_numpy().tobytes()


def _rows(X: Any, places: NDArray[Any]) -> Any:
    """Return some rows of a frame or an array."""
    return X.iloc[places].reset_index(drop=True) if hasattr(X, "iloc") else X[places]


@dataclass(frozen=True)
class Member:
    """A name, and a function that makes the predictor for a split and a seed.

    An artificial member may use the test labels of the split. `settings` identifies the predictor,
    so that a stored answer is never mistaken for that of another one. A member gets the columns as
    they are, or numbers if it is `prepared`: missing values filled, numbers scaled, categories
    encoded.
    """

    name: str
    make: Callable[[Any, int], Predictor]
    settings: str = ""
    prepared: bool = False
    kind: str = ""  # "classifier" or "regressor"; by default it may be either


@dataclass(frozen=True)
class FromEstimator:
    """Makes unfitted copies of a scikit-learn classifier, seeded if it takes a seed."""

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


def member_of(name: str, estimator: Any, *, prepared: bool = False) -> Member:
    """Make a member from an estimator of scikit-learn; one of the package's own is `prepared`."""
    kind = _checked_kind(name, estimator)
    return Member(name, FromEstimator(estimator), _settings(estimator), prepared, kind)


def _checked_kind(name: str, estimator: Any) -> str:
    """Return whether an estimator is a classifier or a regressor; anything else is refused."""
    from sklearn.base import BaseEstimator, is_classifier, is_regressor

    if isinstance(estimator, type):
        raise InputError(
            f"'{name}' in the pool is the class {estimator.__name__}, not an estimator made from "
            f"it. Write {estimator.__name__}() with parentheses."
        )
    if isinstance(estimator, BaseEstimator):
        if is_classifier(estimator):
            return CLASSIFIER
        if is_regressor(estimator):
            return REGRESSOR
    raise InputError(
        f"'{name:.60}' in the pool is of type {type(estimator).__name__}, which is neither a "
        "scikit-learn classifier nor a regressor. Give one, or an ogive.data.pools.members.Member "
        "that makes one."
    )


def check_kinds(members: Iterable[Member], part: Part) -> None:
    """Refuse classifiers if numbers are to be predicted, and regressors if classes are."""
    wanted, target = (CLASSIFIER, "classes") if part.classes else (REGRESSOR, "numbers")
    if wrong := [one.name for one in members if one.kind not in ("", wanted)]:
        other = REGRESSOR if part.classes else CLASSIFIER
        study = "decode_benchmark" if part.classes else "decode_regression"
        are = f"is a {other}" if len(wrong) == 1 else f"are {other}s"
        raise InputError(
            f"'{part.name}' has {target} to predict, but {listed(wrong, 'member')} of the pool "
            f"{are}. Give {wanted}s, as for {study}, or load the data set with another kind."
        )


def same_everywhere(text: str) -> str:
    """Return a repr without what differs between processes: addresses, and the order of sets."""
    ordered = SET_OF_TEXTS.sub(
        lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}",
        MEMORY_ADDRESS.sub("", text),
    )
    return " ".join(ordered.split())


def _settings(estimator: Any) -> str:
    """Return class and parameters as one line, the same in every process."""
    kind = type(estimator)
    given = estimator.get_params(deep=True)
    pairs = ", ".join(f"{name}={given[name]!r}" for name in sorted(given))
    return same_everywhere(f"{kind.__module__}.{kind.__qualname__}({pairs})")


FAR_FROM_ONE = 0.01  # a sum of probabilities

HalfFloats = NDArray[np.float16]


def class_scores(predictor: Any, part: Part) -> HalfFloats:
    """Return probabilities of every class, (n_items, n_classes); 0 for one that it never saw."""
    given = np.asarray(predictor.predict_proba(part.X_test), dtype=float)
    codes = np.asarray(getattr(predictor, "classes_", range(len(part.classes))))
    shape = (len(part.test), len(codes))
    if given.shape != shape or not np.isin(codes, np.arange(len(part.classes))).all():
        raise InputError(f"predict_proba has shape {given.shape}, where {shape} was expected")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise InputError("predict_proba holds a number that is no probability")
    if (abs(given.sum(axis=1) - 1) > FAR_FROM_ONE).any():
        raise InputError("probabilities of an item do not sum to one")
    found = np.zeros((len(part.test), len(part.classes)), dtype=np.float16)
    found[:, codes.astype(np.int64)] = given
    return found


def pack_scores(scores: HalfFloats) -> str:
    """Return probabilities as text."""
    return base64.b64encode(scores.astype("<f2").tobytes()).decode("ascii")


def unpack_scores(text: str, n_items: int, n_classes: int) -> HalfFloats | None:
    """Return probabilities from text; None without text, `ValueError` if it does not fit."""
    if not text:
        return None
    content = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f2")
    return content.reshape(n_items, n_classes).astype(np.float16)
