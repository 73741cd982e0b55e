"""Error, agreement and coverage of predictions whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats
from itemwise.studies.evaluation.intervals import miss_quantile

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]


def summed_up(
    predictions: pd.DataFrame,
    widened: str,
    groups: Ints,
    fold: Ints,
    reach: float,
    confidence: float,
) -> tuple[pd.DataFrame, tuple[Floats, ...]]:
    """One row a method and number of items, and the misses of the method `widened` by size.

    Respondents of one of the `groups` count as one for standard errors. Whether the real error
    would make honest intervals is seen on each `fold` with the misses of the others.
    """
    import pandas as pd

    rows, misses = [], []
    for (method, items), part in predictions.groupby(["method", "items"], sort=False):
        found = part.sort_values("row")
        error = (found["score"] - found["truth"]).to_numpy()
        missed = _missed(error, found["se"].to_numpy())
        row = {"method": method, "items": items, **_errors(error, groups)}
        truth, score = found["truth"].to_numpy(), found["score"].to_numpy()
        row["rank_correlation"] = _rank_correlation(truth, score)
        row |= _share("coverage", missed <= reach, groups)
        row["coverage_widened"] = np.nan
        if method == widened:
            misses.append(missed)
            row["coverage_widened"] = _held(missed, fold, confidence).mean()
        rows.append(row)
    return pd.DataFrame(rows), tuple(misses)


def _missed(error: Floats, se: Floats) -> Floats:
    """Error in standard errors; what was foretold exactly and surely was not missed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.abs(error) > 1e-12, np.abs(error) / se, 0.0)
    return found


def _held(missed: Floats, fold: Ints, confidence: float) -> NDArray[np.bool_]:
    """Whether intervals by the misses of the other folds hold the truth, (n,)."""
    held = np.zeros(missed.size, dtype=bool)
    for k in np.unique(fold):
        others = missed[fold != k]
        held[fold == k] = missed[fold == k] <= miss_quantile(others, confidence)
    return held


def _errors(error: Floats, groups: Ints) -> dict[str, float]:
    rmse = float(np.sqrt((error**2).mean()))
    return {
        "mae": float(np.abs(error).mean()),
        "mae_se": _mean_se(np.abs(error), groups),
        "rmse": rmse,
        "rmse_se": _mean_se(error**2, groups) / (2 * max(rmse, 1e-300)),
        "bias": float(error.mean()),
        "bias_se": _mean_se(error, groups),
    }


def _share(name: str, held: NDArray[np.bool_], groups: Ints) -> dict[str, float]:
    return {name: float(held.mean()), f"{name}_se": _mean_se(held.astype(float), groups)}


def _mean_se(values: Floats, groups: Ints) -> float:
    """Standard error of a mean whose values come in groups that are not independent."""
    sums = np.bincount(groups, values - values.mean())[np.bincount(groups) > 0]
    count = sums.size
    if count < 2:
        return float("nan")
    return float(np.sqrt((sums**2).sum() * count / (count - 1)) / values.size)


def _rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's; NaN where one of them does not vary."""
    import pandas as pd

    if one.size < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(pd.Series(one).rank().corr(pd.Series(other).rank()))
