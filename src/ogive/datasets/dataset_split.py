"""The training and test part of a data set: the columns as they are, and as numbers.

Every pool member answers the same test instances, so the split is made once. A classifier of your
own gets the columns as they are; those of the package get numbers, which are made when they are
first asked for. Medians, scales and categories are learned from the training part only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import as_number
from ogive.datasets.dataset import NUMBERS, Dataset, coded
from ogive.errors import InputError
from ogive.learning.feature_columns import (
    MOST_CATEGORIES,
    Plan,
    column_transformer,
    plain,
    plan_columns,
)
from ogive.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

Positions = NDArray[np.intp]


Floats = NDArray[np.float64]


class Prepared(NamedTuple):
    """Both parts as numbers, and how the columns were turned into them."""

    X_train: Floats
    X_test: Floats
    words: str


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """The two parts of a data set; `classes` are the labels of the codes in y.

    `features_train` and `features_test` hold the columns as they are. `X_train` and `X_test` hold
    them as numbers: filled, scaled and encoded, as `preprocessing` says.
    """

    name: str
    train: Positions  # positions in the data set
    test: Positions
    features: pd.DataFrame  # of the whole data set
    y_train: NDArray[Any]  # codes from 0, or numbers to predict
    y_test: NDArray[Any]
    classes: tuple[str, ...]  # none if there are numbers to predict
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Split of '{self.name}': {len(self.train):,} training and {len(self.test):,} test "
            f"instances, {counted(self.features.shape[1], 'feature')}, "
            + (f"{len(self.classes):,} classes" if self.classes else "a number to predict")
        )

    @cached_property
    def features_train(self) -> pd.DataFrame:
        """The columns of the training part, as they are."""
        return self.features.iloc[self.train].reset_index(drop=True)

    @cached_property
    def features_test(self) -> pd.DataFrame:
        """The columns of the test part, as they are."""
        return self.features.iloc[self.test].reset_index(drop=True)

    @property
    def X_train(self) -> Floats:  # noqa: N802 - a table of features
        """The training part as numbers."""
        return self._prepared.X_train

    @property
    def X_test(self) -> Floats:  # noqa: N802
        """The test part as numbers."""
        return self._prepared.X_test

    @property
    def preprocessing(self) -> str:
        """How the columns were turned into numbers."""
        return self._prepared.words

    @cached_property
    def _prepared(self) -> Prepared:
        return prepared(self.name, self.features, self.train, self.test)


def split_dataset(
    dataset: Dataset,
    *,
    test_size: float = 0.3,
    max_test_size: int | None = 500,
    random_state: int = 0,
) -> Split:
    """Split a `dataset` into a training and a test part, stratified by class.

    A test part that the user gave is kept as it is. Otherwise `test_size` is the share of the
    instances to hold out, at most `max_test_size` of them (None: no limit), or their number. Every
    class is in both parts, in proportion as far as whole instances allow. A class with one member
    can only be in one part: it stays in the training part, and a note says so.

    The split has `features_train` and `features_test` with the columns as they are, `X_train` and
    `X_test` with the same rows as numbers, `y_train` and `y_test` with codes of `classes`, and
    their positions in the data set (`train`, `test`). The same `random_state` gives the same split.

    >>> import ogive as og
    >>> og.split_dataset(og.load_dataset("sklearn:iris"), test_size=0.2)
    Split of 'iris': 120 training and 30 test instances, 4 features, 3 classes
    """
    _check_arguments(test_size, max_test_size)
    notes: list[str] = []
    classes: tuple[str, ...] = ()
    if dataset.kind == NUMBERS:
        y: NDArray[Any] = dataset.target.to_numpy(dtype=np.float64)
        train, test = _parts_of_numbers(dataset, test_size, max_test_size, random_state)
    else:
        y, classes = coded(dataset.target)
        train, test = (
            _drawn(dataset.name, y, classes, test_size, max_test_size, random_state, notes)
            if dataset.test is None
            else _given(dataset, y, classes, notes)
        )
    return Split(
        name=dataset.name,
        train=train,
        test=test,
        features=dataset.features,
        y_train=y[train],
        y_test=y[test],
        classes=classes,
        notes=tuple(notes),
    )


def _parts_of_numbers(
    dataset: Dataset, test_size: float, max_test_size: int | None, random_state: int
) -> tuple[Positions, Positions]:
    """The user's test part and the rest, or rows drawn at random: numbers have no classes."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(dataset))
    if dataset.test is not None:
        return np.setdiff1d(rows, dataset.test), np.asarray(dataset.test)
    if len(rows) < 4:
        raise InputError(
            f"'{dataset.name}' has {counted(len(rows), 'instance')}, too few to split. Give more."
        )
    size = _n_test(dataset.name, len(rows), 2, test_size, max_test_size)
    train, test = train_test_split(rows, test_size=size, random_state=random_state)
    return train, test


def _check_arguments(test_size: float, max_test_size: int | None) -> None:
    if not (_is_count(test_size) or 0 < as_number(test_size) < 1):
        raise InputError(
            f"test_size is {shown(test_size)}, but it should be a share between 0 and 1, like 0.3, "
            "or a whole number of instances."
        )
    if max_test_size is not None and max_test_size < 2:
        raise InputError(
            f"max_test_size is {shown(max_test_size)}, but it should be 2 or more, or None."
        )


def _is_count(test_size: object) -> bool:
    whole = isinstance(test_size, Integral) and not isinstance(test_size, bool)
    return whole and as_number(test_size) >= 2


def _drawn(
    name: str,
    codes: NDArray[np.int64],
    classes: tuple[str, ...],
    test_size: float,
    max_test_size: int | None,
    random_state: int,
    notes: list[str],
) -> tuple[Positions, Positions]:
    """Draw from classes with two or more members; the others stay in the training part."""
    counts = np.bincount(codes, minlength=len(classes))
    single = counts == 1
    if single.any():
        lonely = [classes[code] for code in np.flatnonzero(single)]
        notes.append(f"{listed(lonely, 'label')} with one member: in the training part only")
    divided = np.flatnonzero(~single[codes])
    n_classes = int((~single).sum())
    if n_classes < 2:
        raise InputError(
            f"'{name}' is too small to split: {counted(len(codes), 'instance')} in "
            f"{len(classes):,} classes, but at least two classes need two members each, one for "
            "either part. Give more instances, or merge rare classes."
        )
    size = _n_test(name, len(divided), n_classes, test_size, max_test_size)
    train, test = _stratified(codes[divided], size, random_state)
    rest = np.flatnonzero(single[codes])
    return np.concatenate([divided[train], rest]), divided[test]


def _n_test(name: str, n: int, n_classes: int, test_size: float, max_test_size: int | None) -> int:
    """The number of test instances: as asked for, with room for each class in both parts."""
    if _is_count(test_size):
        wanted = int(test_size)
        if not n_classes <= wanted <= n - n_classes:
            raise InputError(
                f"test_size is {wanted:,}, but '{name}' has {n:,} instances to split and "
                f"{n_classes:,} classes, and each class needs one instance in either part. Give a "
                f"number from {n_classes:,} to {n - n_classes:,}."
            )
        return wanted
    if max_test_size is not None and n_classes > max_test_size:
        raise InputError(
            f"'{name}' has {n_classes:,} classes, but max_test_size allows {max_test_size:,} test "
            f"instances, and each class needs one. Set max_test_size to {n_classes:,} or more."
        )
    wanted = math.ceil(test_size * n)
    if max_test_size is not None:
        wanted = min(wanted, max_test_size)
    return min(max(wanted, n_classes), n - n_classes)


def _stratified(
    codes: NDArray[np.int64], size: int, random_state: int
) -> tuple[Positions, Positions]:
    """Split as scikit-learn does, then move classes that are in one part only into both."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(codes)), test_size=size, stratify=codes, random_state=random_state
    )
    for code in np.unique(codes):
        _exchange(codes, train, test, code)
        _exchange(codes, test, train, code)
    return train, test


def _exchange(codes: NDArray[np.int64], source: Positions, lacking: Positions, code: int) -> None:
    """Give `lacking` a member of a class that only `source` has, in exchange for another."""
    if (codes[lacking] == code).any():
        return
    counts = np.bincount(codes[lacking])
    spared = np.flatnonzero(codes[lacking] == counts.argmax())[-1]
    member = np.flatnonzero(codes[source] == code)[0]
    source[member], lacking[spared] = lacking[spared], source[member]


def _given(
    dataset: Dataset, codes: NDArray[np.int64], classes: tuple[str, ...], notes: list[str]
) -> tuple[Positions, Positions]:
    """The user's test part and everything else, if its classes can be learned from the rest."""
    test = np.asarray(dataset.test)
    train = np.setdiff1d(np.arange(len(codes)), test)
    unseen = sorted(set(codes[test].tolist()) - set(codes[train].tolist()))
    if unseen:
        names = [classes[code] for code in unseen]
        raise InputError(
            f"The test part of '{dataset.name}' has {listed(names, 'label')} that the training "
            "part lacks, so they cannot be learned. Move instances of each to the training "
            "part, or remove them."
        )
    present = set(codes[test].tolist())
    if absent := [name for code, name in enumerate(classes) if code not in present]:
        notes.append(f"{listed(absent, 'label')} not in the test part: never asked")
    return train, test


def prepared(name: str, features: pd.DataFrame, train: Positions, test: Positions) -> Prepared:
    """Both parts as numbers: missing values filled, numbers scaled, categories encoded."""
    frame, dates, remarks = plain(features)
    plan = plan_columns(frame, frame.iloc[train], dates)
    if not plan.numbers and not plan.categories:
        raise InputError(
            f"'{name}' has no column that a classifier could use: {plan.losses}. Give columns of "
            "numbers or of few categories, turn free text into numbers first, or give classifiers "
            "of your own that take the columns as they are."
        )
    transformer = column_transformer(plan)
    X_train = np.ascontiguousarray(transformer.fit_transform(frame.iloc[train]), dtype=np.float64)
    X_test = np.ascontiguousarray(transformer.transform(frame.iloc[test]), dtype=np.float64)
    return Prepared(X_train, X_test, "; ".join((_in_words(plan, frame), *remarks)))


def _in_words(plan: Plan, frame: pd.DataFrame) -> str:
    """Describe the preprocessing, one clause per group of columns."""
    clauses = []
    if plan.numbers:
        missing = frame[list(plan.numbers)].isna().to_numpy().any()
        filled = "missing values replaced by the median, " if missing else ""
        clauses.append(
            f"{counted(len(plan.numbers), 'numeric column')}: {filled}scaled to mean 0 and "
            "standard deviation 1"
        )
    if plan.categories:
        missing = frame[list(plan.categories)].isna().to_numpy().any()
        filled = "missing values replaced by the most frequent one, " if missing else ""
        clauses.append(
            f"{counted(len(plan.categories), 'categorical column')}: {filled}one 0/1 column per "
            f"category, at most {MOST_CATEGORIES} each"
        )
    if plan.left_out:
        clauses.append(plan.losses)
    return "; ".join(clauses)
