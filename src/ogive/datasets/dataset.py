"""Dataset: instances with features and a class each, checked once, when it is made."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import one_of
from ogive.errors import InputError
from ogive.tables.foreign_frames import as_pandas
from ogive.tables.table_files import as_name
from ogive.tables.text_tables import number
from ogive.words import counted, listed, repeated, shown

if TYPE_CHECKING:
    import pandas as pd


CLASSES, NUMBERS = "classes", "numbers"
KINDS = (CLASSES, NUMBERS)


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
    features: pd.DataFrame  # numbers, categories or text; NaN where a value is missing
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
        _check_features(self)
        for part in ("features", "target"):  # rows are identified by position
            object.__setattr__(self, part, getattr(self, part).reset_index(drop=True))
        one_of(self.kind, "kind", KINDS)
        check = check_labels if self.kind == CLASSES else check_numbers
        check(self.target, f"The target {shown(self.target.name)} of '{self.name}'")
        if self.test is not None:
            object.__setattr__(self, "test", _checked_positions(self))

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        given = "" if self.test is None else f", {len(self.test):,} of them given as test part"
        return (
            f"Dataset '{self.name}': {counted(len(self), 'instance')}{given}, "
            f"{counted(self.features.shape[1], 'feature')}, "
            + (
                "a number to predict"
                if self.kind != CLASSES
                else f"{self.target.nunique():,} classes"
            )
            + f"; {self.source}"
        )


def _check_features(dataset: Dataset) -> None:
    features, name = dataset.features, dataset.name
    if features.shape[1] == 0:
        raise InputError(
            f"'{name}' has no column besides its target. Give at least one column of features."
        )
    if len(features) != len(dataset.target):
        raise InputError(
            f"'{name}' has {len(features):,} rows of features and {len(dataset.target):,} labels, "
            "but each row needs one label."
        )
    names = [str(column) for column in features.columns]
    if twice := sorted(repeated(names)):
        raise InputError(f"'{name}' has {listed(twice, 'column')} more than once. Rename them.")


def _checked_positions(dataset: Dataset) -> NDArray[np.intp]:
    """The test part as positions, after checking that it is a part of the data set."""
    test = np.asarray(dataset.test)
    n = len(dataset)
    if test.ndim != 1 or test.dtype.kind not in "iu":
        raise InputError(
            f"The test part of '{dataset.name}' should be a list of positions (whole numbers)."
        )
    outside = test[(test < 0) | (test >= n)]
    if len(outside):
        raise InputError(
            f"The test part of '{dataset.name}' names position {outside[0]}, but positions run "
            f"from 0 to {n - 1:,}."
        )
    if len(np.unique(test)) != len(test):
        raise InputError(f"The test part of '{dataset.name}' names a position more than once.")
    if not 0 < len(test) < n:
        raise InputError(
            f"The test part of '{dataset.name}' holds {len(test):,} of {n:,} instances. "
            "Leave at least one in each part."
        )
    return test.astype(np.intp)


USUAL_TARGETS = ("class", "target", "label")
MOST_FRACTIONS = 20  # distinct values, some not whole; more of them are a measurement
MOST_NUMBERS = 200  # distinct whole numbers


def target_column(columns: Sequence[object], target: str | None, what: str) -> object:
    """The column that `target` names; by default the one called class, target or label."""
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
    """Refuse numbers to predict where a study needs classes."""
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
    """Codes from 0, and their classes in numeric order, or else in alphabetical order."""
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
    """The distinct labels in numeric order, or alphabetically if not all are numbers."""
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
    """Compute eight of OpenML's qualities, under the names that OpenML uses.

    As OpenML does, the target counts as a feature, entropy is in bits, and percentages run
    from 0 to 100.
    """
    if dataset.kind != CLASSES:
        return _metadata_of_numbers(dataset)
    codes, classes = coded(dataset.target)
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    n_features = dataset.features.shape[1] + 1
    incomplete = dataset.features.isna().to_numpy().any(axis=1)
    return {
        "NumberOfClasses": float(len(classes)),
        "NumberOfInstances": float(len(dataset)),
        "NumberOfFeatures": float(n_features),
        "ClassEntropy": float(-(shares * np.log2(shares)).sum()),
        "Dimensionality": n_features / len(dataset),
        "PercentageOfInstancesWithMissingValues": float(100 * incomplete.mean()),
        "MajorityClassPercentage": float(100 * shares.max()),
        "MinorityClassPercentage": float(100 * shares.min()),
    }


def _metadata_of_numbers(dataset: Dataset) -> dict[str, float]:
    """The qualities that a target of numbers has."""
    n_features = dataset.features.shape[1] + 1
    incomplete = dataset.features.isna().to_numpy().any(axis=1)
    return {
        "NumberOfClasses": 0.0,
        "NumberOfInstances": float(len(dataset)),
        "NumberOfFeatures": float(n_features),
        "Dimensionality": n_features / len(dataset),
        "PercentageOfInstancesWithMissingValues": float(100 * incomplete.mean()),
    }
