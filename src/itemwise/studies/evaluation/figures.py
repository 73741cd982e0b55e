"""Error, agreement and coverage of predictions whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.numerics.prediction_error import prediction_error
from itemwise.numerics.reach import conformal_quantile, normal_reach
from itemwise.responses.copies import Ints

if TYPE_CHECKING:
    import pandas as pd


def summed_up(
    predictions: pd.DataFrame, widened: str, groups: Ints, fold: Ints, confidence: float
) -> tuple[pd.DataFrame, tuple[Floats, ...]]:
    """One row a method and number of items, and the misses of the method `widened` by size.

    Respondents of one of the `groups` count as one for standard errors. Whether the real error
    would make honest intervals is seen on each `fold` with the misses of the others.
    """
    import pandas as pd

    rows, misses, reach = [], [], normal_reach(confidence)
    for (method, items), part in predictions.groupby(["method", "n_items"], sort=False):
        found = part.sort_values("row")
        value, se, truth = (found[name].to_numpy() for name in ("accuracy", "accuracy_se", "truth"))
        figures = prediction_error(value, truth, groups, reach * se)
        row = {"method": method, "n_items": items, **figures, "coverage_widened": np.nan}
        if method == widened:
            missed = _missed(value - truth, se)
            misses.append(missed)
            row["coverage_widened"] = _held(missed, fold, confidence)
        rows.append(row)
    return pd.DataFrame(rows), tuple(misses)


def _missed(error: Floats, se: Floats) -> Floats:
    """Error in standard errors; what was foretold exactly and surely was not missed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.abs(error) > 1e-12, np.abs(error) / se, 0.0)
    return found


def _held(missed: Floats, fold: Ints, confidence: float) -> float:
    """Share of intervals by the misses of the other folds that hold the truth.

    NaN where the others are too few for an interval.
    """
    held: NDArray[np.bool_] = np.zeros(missed.size, dtype=bool)
    for k in np.unique(fold):
        reach = conformal_quantile(missed[fold != k], confidence)
        if not np.isfinite(reach):
            return float("nan")
        held[fold == k] = missed[fold == k] <= reach
    return float(held.mean())
