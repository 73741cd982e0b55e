"""Errors of replayed predictions, and how often intervals by them hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration.replayed_error import ADAPTIVE
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import conformal_quantile, normal_reach
from ogive.numerics.prediction_error import prediction_error
from ogive.responses.study_tables import Ints

if TYPE_CHECKING:
    import pandas as pd


def summed_up(
    predictions: pd.DataFrame, widened: str, groups: Ints, fold: Ints, confidence: float
) -> tuple[pd.DataFrame, tuple[float, ...], tuple[Floats, ...]]:
    """One row per method and number of items; floors and misses of the method `widened` by size.

    Respondents of one group count as one for standard errors. Coverage of the widened intervals is
    measured on each `fold` with the misses of the others.
    """
    import pandas as pd

    rows, floors, misses, reach = [], [], [], normal_reach(confidence)
    for (method, items), part in predictions.groupby(["method", "n_items"], sort=False):
        found = part.sort_values("row")
        value, se, truth = (found[name].to_numpy() for name in ("accuracy", "accuracy_se", "truth"))
        figures = prediction_error(value, truth, groups, reach * se)
        row = {"method": method, "n_items": items, **figures, "coverage_observed": np.nan}
        if method == widened:
            floors.append(float(se.mean()))
            missed = _missed(value - truth, se + floors[-1])
            misses.append(missed)
            row["coverage_observed"] = _held(missed, fold, confidence)
        rows.append(row)
    return pd.DataFrame(rows), tuple(floors), tuple(misses)


def side_misses(
    side: pd.DataFrame | None, sizes: tuple[int, ...], floors: tuple[float, ...]
) -> tuple[Floats, ...]:
    """Misses of an extreme by size; nothing if it was not replayed."""
    if side is None:
        return ()
    mine = side[side["method"] == ADAPTIVE]
    parts = [mine[mine["n_items"] == size] for size in sizes]
    return tuple(
        _missed(
            (part["accuracy"] - part["truth"]).to_numpy(), part["accuracy_se"].to_numpy() + floor
        )
        for part, floor in zip(parts, floors, strict=True)
    )


def _missed(error: Floats, se: Floats) -> Floats:
    """Error in standard errors; zero for an exact prediction with a standard error of zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.abs(error) > 1e-12, np.abs(error) / se, 0.0)
    return found


def _held(missed: Floats, fold: Ints, confidence: float) -> float:
    """Coverage of intervals by the misses of the other folds.

    NaN if there are too few others for an interval.
    """
    held = np.zeros(missed.size, dtype=bool)
    for k in np.unique(fold):
        reach = conformal_quantile(missed[fold != k], confidence)
        if not np.isfinite(reach):
            return float("nan")
        held[fold == k] = missed[fold == k] <= reach
    return float(held.mean())
