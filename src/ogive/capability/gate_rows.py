"""Cases as a gate takes them: frames known by their names, or arrays by their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ogive.capability.case_features import Features, as_array
from ogive.errors import InputError
from ogive.tables.foreign_frames import as_pandas

if TYPE_CHECKING:
    from ogive.capability.gate import CapabilityGate


def training_rows(gate: CapabilityGate, X: Any, y: Any) -> tuple[Any, NDArray[Any], Features]:
    """Training cases and classes in one form, and the features."""
    import pandas as pd

    X, y = as_pandas(X), as_pandas(y)
    if isinstance(X, pd.DataFrame):
        features = Features.of(X)
        X = features.rows(X)
        validate_data(gate, X, skip_check_array=True)
        if y is None:
            raise InputError("y is None, but it should be the class of each case.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if pd.isna(y).any():
            raise InputError(
                f"The class of {int(pd.isna(y).sum()):,} of {len(y):,} cases is missing. "
                "Leave these cases out."
            )
    else:
        X, y = validate_data(gate, X, y, dtype=np.float64, ensure_all_finite=_finite(gate))
        features = Features.of(X)
    check_classification_targets(y)
    return X, np.asarray(y), features


def new_rows(gate: CapabilityGate, X: Any) -> Any:
    """New cases in the form of the training cases: a frame with its columns, or an array."""
    import pandas as pd

    X, features = as_pandas(X), gate.features_
    if isinstance(X, pd.DataFrame) and (features.named or features.knows(X)):
        rows = features.rows(X)
        return rows if features.named else as_array(rows)
    dtype = None if features.named else np.float64
    finite = False if features.named else _finite(gate)
    cells = validate_data(
        gate, X, dtype=dtype, ensure_all_finite=finite, ensure_min_samples=0, reset=False
    )
    if not features.named:
        return cells
    frame = pd.DataFrame(cells, columns=list(features.kinds)).infer_objects()
    return features.rows(frame)


def _finite(gate: CapabilityGate) -> Any:
    return "allow-nan" if gate.__sklearn_tags__().input_tags.allow_nan else True
