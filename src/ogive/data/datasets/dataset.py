"""Data sets with a class or a number to predict, and their training and test part.

Every pool member answers the same test instances, so the split is made once. A classifier of your
own gets the columns as they are; those of the package get numbers, which are made when they are
first asked for. Medians, scales and categories are learned from the training part only.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import as_number, one_of
from ogive.data.feature_columns import (
    MOST_CATEGORIES,
    Plan,
    column_transformer,
    plain,
    plan_columns,
)
from ogive.data.foreign_frames import as_pandas
from ogive.data.table_files import as_name
from ogive.errors import InputError
from ogive.irt.response_codes import number
from ogive.results.numbers import counted, listed, repeated, shown

CLASSES, NUMBERS = "classes", "numbers"
KINDS = (CLASSES, NUMBERS)
USUAL_TARGETS = ("class", "target", "label")
MOST_FRACTIONS = 20  # distinct values, some not whole; more of them are a measurement
MOST_NUMBERS = 200  # distinct whole numbers

Positions = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and a class or a number for each instance, and a test part if the user gave one.

    `features` has one row per instance, `target` its class, or with `kind="numbers"` the number to
    predict (regression); `test` holds the positions of the test part. `source` says where the data
    come from, `task` is the number of the OpenML task.

    >>> import ogive as og
    >>> import pandas as pd
    >>> features = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0]})
    >>> og.Dataset("toy", features, pd.Series(["no", "no", "yes", "yes"]), "made by hand")
    Dataset 'toy': 4 instances, 1 feature, 2 classes; made by hand
    """

    name: str
    features: pd.DataFrame  # numbers, categories or text; NaN if a value is missing
    target: pd.Series[Any]  # labels as given
    source: str  # where the data come from, in words
    test: NDArray[np.intp] | None = None  # positions of a test part that the user gave
    task: int | None = None  # on OpenML
    kind: str = CLASSES  # of the target: "classes" or "numbers"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"The name of a data set is {shown(self.name)}. Give some text.")
        for part in ("features", "target"):
            object.__setattr__(self, part, as_pandas(getattr(self, part)))
        self._check_features()
        for part in ("features", "target"):  # rows are identified by position
            object.__setattr__(self, part, getattr(self, part).reset_index(drop=True))
        one_of(self.kind, "kind", KINDS)
        check = check_labels if self.kind == CLASSES else check_numbers
        check(self.target, f"The target {shown(self.target.name)} of '{self.name}'")
        if self.test is not None:
            object.__setattr__(self, "test", self._checked_positions())

    def _check_features(self) -> None:
        features, n_labels = self.features, len(self.target)
        if features.shape[1] == 0:
            raise InputError(
                f"'{self.name}' has no column besides its target. Give at least one column of "
                "features."
            )
        if len(features) != n_labels:
            raise InputError(
                f"'{self.name}' has {len(features):,} rows of features and {n_labels:,} labels, "
                "but each row needs one label."
            )
        if twice := sorted(repeated(map(str, features.columns))):
            raise InputError(
                f"'{self.name}' has {listed(twice, 'column')} more than once. Rename them."
            )

    def _checked_positions(self) -> Positions:
        """Return the test part as positions, after checking that it is a part of the data set."""
        test, n = np.asarray(self.test), len(self)
        fault = ""
        if test.ndim != 1 or test.dtype.kind not in "iu":
            fault = "should be a list of positions (whole numbers)."
        elif len(outside := test[(test < 0) | (test >= n)]):
            fault = f"names position {outside[0]}, but positions run from 0 to {n - 1:,}."
        elif len(np.unique(test)) != len(test):
            fault = "names a position more than once."
        elif not 0 < len(test) < n:
            fault = f"holds {len(test):,} of {n:,} instances. Leave at least one in each part."
        if fault:
            raise InputError(f"The test part of '{self.name}' {fault}")
        return test.astype(np.intp)

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        given = "" if self.test is None else f", {len(self.test):,} of them given as test part"
        target = (
            f"{self.target.nunique():,} classes" if self.kind == CLASSES else "a number to predict"
        )
        return (
            f"Dataset '{self.name}': {counted(len(self), 'instance')}{given}, "
            f"{counted(self.features.shape[1], 'feature')}, {target}; {self.source}"
        )


def target_column(columns: Sequence[object], target: str | None, what: str) -> object:
    """Return the column that `target` names; by default the one called class, target or label."""
    names = {str(column): column for column in columns}
    if target is None:
        usual = [name for name in names if name.strip().lower() in USUAL_TARGETS]
        if len(usual) == 1:
            return names[usual[0]]
        raise InputError(
            f"Which column of {what} holds the class? {_columns_in_words(list(names))} "
            f"Name one, for example target={shown(list(names)[-1])}."
        )
    if str(target) in names:
        return names[str(target)]
    raise InputError(
        f"There is no column {shown(target)} in {what}. {_suggestion(str(target), list(names))}"
    )


def check_labels(target: pd.Series[Any], what: str) -> None:
    """Refuse a target with missing or constant values, or a measurement instead of a class."""
    check_complete(target, what)
    n_values = target.nunique()
    if n_values < 2:
        only = f"is {shown(target.iloc[0])} in every row" if len(target) else "has no rows"
        raise InputError(f"{what} {only}, but at least two classes are needed.")
    if len({as_name(label) for label in target.unique()}) < n_values:
        raise InputError(
            f"{what} holds labels that read the same, such as 1 and '1'. Give all of them in one "
            "type."
        )
    if _is_measurement(target, n_values):
        raise InputError(
            f"{what} holds {n_values:,} distinct numbers: it looks like a measurement "
            "(regression), but classes are needed. Name another target, cut it into classes "
            "(pandas.qcut), or turn it into text if these numbers are classes. For regressors, use "
            "decode_regression, with a Dataset of kind='numbers'; a confusion matrix needs classes."
        )


def require_classes(dataset: Dataset, study: str) -> None:
    """Refuse numbers to predict if a study needs classes."""
    if dataset.kind != CLASSES:
        raise InputError(
            f"'{dataset.name}' has numbers to predict, but {study} needs classes. Cut them into "
            "classes (pandas.qcut); for regressors, use decode_regression."
        )


def check_numbers(target: pd.Series[Any], what: str) -> None:
    """Refuse a target to predict that is missing, constant, or not a finite number."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    check_complete(target, what)
    if not is_numeric_dtype(target) or is_bool_dtype(target):
        first = shown(target.iloc[0]) if len(target) else "nothing"
        raise InputError(
            f"{what} holds {first}, but regressors predict numbers. Name a column of numbers; for "
            "classes, use decode_benchmark."
        )
    numbers = target.to_numpy(dtype=float)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1
        raise InputError(f"{what} is infinite in row {row:,}. Remove such rows.")
    if len(numbers) < 2 or (numbers == numbers[0]).all():
        raise InputError(f"{what} is the same in every row, so there is nothing to predict.")


def check_complete(target: pd.Series[Any], what: str) -> None:
    """Refuse a target with missing values."""
    missing = np.flatnonzero(target.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"{what} is missing in {counted(len(missing), 'row')}, first in row "
            f"{missing[0] + 1:,} (an empty cell, ?, NA, NaN and null are read as missing). "
            "Remove these rows, or fill them in."
        )


def coded(target: pd.Series[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return codes from 0, and their classes in numeric order, or else in alphabetical order."""
    texts = [as_name(label) for label in target]
    classes = tuple(in_order(texts))
    place = {text: code for code, text in enumerate(classes)}
    return np.array([place[text] for text in texts], dtype=np.int64), classes


def _is_measurement(target: pd.Series[Any], n_values: int) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(target) or is_bool_dtype(target):
        return False
    numbers = target.to_numpy(dtype=float)
    limit = MOST_NUMBERS if (numbers == np.round(numbers)).all() else MOST_FRACTIONS
    return n_values > limit


def in_order(labels: Iterable[str]) -> list[str]:
    """Return the distinct labels in numeric order, or alphabetically if not all are numbers."""
    different = sorted(set(labels))
    try:
        return sorted(different, key=float)
    except ValueError:
        return different


def _suggestion(target: str, names: list[str]) -> str:
    folded = {name.strip().lower(): name for name in names}
    near = difflib.get_close_matches(target.strip().lower(), folded, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(shown(folded[name]) for name in near)}?"
    return _columns_in_words(names)


def _columns_in_words(names: list[str]) -> str:
    hint = ""
    if any(number(name) is not None for name in names):
        hint = " Some of these are numbers: if the first line holds data, add a line of names."
    return f"It has {listed([shown(name) for name in names], 'column', shown=8)}.{hint}"


def metadata(dataset: Dataset) -> dict[str, float]:
    """Compute eight of OpenML's qualities, under the names that OpenML uses; fewer of numbers.

    As OpenML does, the target counts as a feature, entropy is in bits, and percentages run
    from 0 to 100.
    """
    n_features = dataset.features.shape[1] + 1
    incomplete = dataset.features.isna().to_numpy().any(axis=1)
    codes, classes = coded(dataset.target) if dataset.kind == CLASSES else (np.zeros(0, int), ())
    sizes = {
        "NumberOfClasses": float(len(classes)),
        "NumberOfInstances": float(len(dataset)),
        "NumberOfFeatures": float(n_features),
    }
    density = {
        "Dimensionality": n_features / len(dataset),
        "PercentageOfInstancesWithMissingValues": float(100 * incomplete.mean()),
    }
    if not classes:
        return sizes | density
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    return {
        **sizes,
        "ClassEntropy": float(-(shares * np.log2(shares)).sum()),
        **density,
        "MajorityClassPercentage": float(100 * shares.max()),
        "MinorityClassPercentage": float(100 * shares.min()),
    }


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
        """The steps by which the columns were turned into numbers."""
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
    if not (_is_count(test_size) or 0 < as_number(test_size) < 1):
        raise InputError(
            "`test_size` must be a share between 0 and 1, like 0.3, or a whole number of "
            f"instances, got {shown(test_size)}."
        )
    if max_test_size is not None and max_test_size < 2:
        raise InputError(f"`max_test_size` must be 2 or more, or None, got {shown(max_test_size)}.")
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
    """Return the user's test part and the rest, or draw rows: numbers have no classes."""
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
    """Return the number of test instances: as asked for, with room for each class in both parts."""
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
    """Return the user's test part and the rest, if its classes can be learned from the rest."""
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
    """Return both parts as numbers: missing values filled, numbers scaled, categories encoded."""
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
