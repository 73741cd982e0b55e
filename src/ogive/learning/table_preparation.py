"""TablePreparation: columns of any kind as numbers, for classifiers that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ogive.learning.feature_columns import (
    Plan,
    checked_kinds,
    coder_of,
    in_sentences,
    is_frame,
    known_columns,
    plain_rows,
    plan_of,
)
from ogive.numerics.arrays import Floats
from ogive.tables.foreign_frames import as_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ARRAY: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fills missing values, scales numbers, and gives each category a 0/1 column.

    The pools of the package prepare columns in this way for their own members. Classifiers of your
    own get columns as they are; put this before one that needs numbers. Missing numbers become the
    median, missing categories the most frequent one; the rarest categories of a column share a 0/1
    column; dates become days since 1970. Columns that are constant, free text or row numbers are
    left out (`notes_`). In an array, every column is a number.

    Attributes
    ----------
    notes_ : remarks on columns that were left out or changed

    Examples
    --------
    >>> import ogive as og
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"size": [1.0, None, 3.0, 5.0], "kind": ["a", "b", "a", "b"]})
    >>> prepared = og.TablePreparation().fit(rows)
    >>> prepared.transform(rows).shape, prepared.get_feature_names_out().tolist()
    ((4, 3), ['size', 'kind_a', 'kind_b'])
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Learn medians, scales and categories from the rows of `X`; `y` is not used."""
        X = as_pandas(X)
        self.numbers_, self.categories_, self.notes_ = None, None, []
        plan: Plan | None = None
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            rows = plain_rows(X)
            plan = plan_of(rows)
            self.numbers_, self.categories_ = list(plan.numbers), list(plan.categories)
            remarks = (*rows.remarks, *((plan.losses,) if plan.left_out else ()))
            self.notes_ = in_sentences(remarks)
            cells: Any = rows.frame
        else:
            cells = validate_data(self, X, **_ARRAY)
        self.coder_ = coder_of(plan).fit(cells)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows of `X` as numbers, (n_rows, n_columns)."""
        check_is_fitted(self)
        return np.ascontiguousarray(self.coder_.transform(self._new_rows(X)), dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name each column: numbers by their column, categories as column_category."""
        check_is_fitted(self)
        if self.numbers_ is None:
            from sklearn.utils.validation import _check_feature_names_in

            found: NDArray[Any] = _check_feature_names_in(self, input_features)
            return found
        made = list(map(str, self.numbers_))
        if self.categories_:
            encoder = self.coder_.named_transformers_["categories"][-1]
            made += encoder.get_feature_names_out(self.categories_).tolist()
        return np.array(made, dtype=object)

    def _new_rows(self, X: Any) -> Any:
        X = as_pandas(X)
        if self.numbers_ is None:
            return validate_data(self, X, **_ARRAY, reset=False)
        if is_frame(X):
            named = getattr(self, "feature_names_in_", None)
            X = known_columns(X, self._plan().used if named is None else named)
        else:
            import pandas as pd

            cells = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
            names = getattr(self, "feature_names_in_", range(cells.shape[1]))
            X = pd.DataFrame(cells, columns=list(map(str, names))).infer_objects()
        return checked_kinds(plain_rows(X, self.categories_ or ()).frame, self._plan())

    def _plan(self) -> Plan:
        return Plan(tuple(self.numbers_ or ()), tuple(self.categories_ or ()), {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
