"""Dataset: instances with features and a class each, checked once, when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.datasets.labels import check_labels
from itemwise.errors import InputError
from itemwise.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and a class for each instance; a test part, if the user gave one.

    `features` has a row an instance, `target` its class; `test` holds positions of the test part.
    `source` says where it comes from, `task` the number of its OpenML task.

    >>> import itemwise as iw
    >>> import pandas as pd
    >>> features = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0]})
    >>> iw.Dataset("toy", features, pd.Series(["no", "no", "yes", "yes"]), "made by hand")
    Dataset 'toy': 4 instances, 1 feature, 2 classes; made by hand
    """

    name: str
    features: pd.DataFrame  # numbers, categories or text; NaN where a value is missing
    target: pd.Series[Any]  # labels as given
    source: str  # where it comes from, in words
    test: NDArray[np.intp] | None = None  # positions of a test part that the user gave
    task: int | None = None  # on OpenML

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"The name of a data set is {shown(self.name)}. Give it a text.")
        _check_features(self)
        for part in ("features", "target"):  # rows are known by their place
            object.__setattr__(self, part, getattr(self, part).reset_index(drop=True))
        check_labels(self.target, f"The target {shown(self.target.name)} of '{self.name}'")
        if self.test is not None:
            object.__setattr__(self, "test", _checked_positions(self))

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        given = "" if self.test is None else f", {len(self.test):,} of them given as test part"
        return (
            f"Dataset '{self.name}': {counted(len(self), 'instance')}{given}, "
            f"{counted(self.features.shape[1], 'feature')}, "
            f"{self.target.nunique():,} classes; {self.source}"
        )


def _check_features(dataset: Dataset) -> None:
    features, name = dataset.features, dataset.name
    if features.shape[1] == 0:
        raise InputError(
            f"'{name}' has no column beside its target. Give at least one column of features."
        )
    if len(features) != len(dataset.target):
        raise InputError(
            f"'{name}' has {len(features):,} rows of features and {len(dataset.target):,} labels, "
            "but each row needs one label."
        )
    names = [str(column) for column in features.columns]
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise InputError(f"'{name}' has {listed(twice, 'column')} more than once. Rename them.")


def _checked_positions(dataset: Dataset) -> NDArray[np.intp]:
    """The test part as positions, if it is a real part of the data set."""
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
