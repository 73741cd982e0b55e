"""One row per data set: how hard and how discriminating its instances are, with shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import alike, informative
from ogive.responses.stored_cells import as_floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.numerics.arrays import Floats
    from ogive.studies.benchmarks.decoding import Limits

FARTHEST = 6.0  # population standard deviations; difficulties beyond belong to flat curves
PARAMETERS = ("difficulty", "discrimination", "guessing")


def described(calibration: Calibration, limits: Limits, items: pd.DataFrame) -> dict[str, Any]:
    """One row of `datasets`."""
    solved, unsolved = alike(calibration)
    told = informative(calibration)
    row: dict[str, Any] = {
        "items": len(items),
        "respondents": round(calibration.n_respondents),
        **_over_instances("chance", _chances(calibration)),
        **_over_instances("share_right", _shares_right(calibration)),
        "share_solved": float(solved.mean()),
        "share_unsolved": float(unsolved.mean()),
    }
    values = {name: items[name].to_numpy(dtype=float)[told] for name in PARAMETERS}
    values["difficulty"] = values["difficulty"].clip(-FARTHEST, FARTHEST)
    for name, value in values.items():
        row |= _summed_up(name, value)
    hard = (values["difficulty"] > limits.difficulty).sum() + unsolved.sum()
    row["share_hard"] = float(hard / len(items))
    for share, name in (("discriminating", "discrimination"), ("guessable", "guessing")):
        over = values[name] > getattr(limits, name)
        row[f"share_{share}"] = float(over.sum() / len(items))
    row["share_negative"] = float((values["discrimination"] < 0).sum() / len(items))
    row["log_likelihood"] = calibration.log_likelihood
    row["converged"] = calibration.converged
    return row


def _chances(calibration: Calibration) -> Floats:
    """How likely a respondent of average ability is right on each instance."""
    average = np.array([calibration.population.mean])
    expected = calibration.model.expected(calibration.coords, average)[:, 0]
    found: Floats = np.where(informative(calibration), expected, alike(calibration)[0])
    return found


def _shares_right(calibration: Calibration) -> Floats:
    """Which share of the pool got each instance right; NaN if its responses are not known."""
    table = calibration.responses
    if table is None:
        return np.full(len(calibration.item_names), np.nan)
    cells = as_floats(calibration.placed(table))
    weights = np.ones(len(cells)) if calibration.weights is None else calibration.weights
    asked = weights @ ~np.isnan(cells)
    right = weights @ np.nan_to_num(cells)
    found: Floats = np.divide(right, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    return found


def _over_instances(name: str, values: Floats) -> dict[str, float]:
    """A mean over instances, and its standard error: that over other instances of their kind."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {name: np.nan, f"{name}_se": np.nan}
    error = known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else np.nan
    return {name: float(known.mean()), f"{name}_se": float(error)}


def _summed_up(name: str, value: Floats) -> dict[str, float]:
    deviation = float(value.std(ddof=1)) if value.size > 1 else np.nan
    return {
        f"{name}_mean": float(value.mean()) if value.size else np.nan,
        f"{name}_mean_se": deviation / np.sqrt(max(value.size, 1)),
        f"{name}_median": float(np.median(value)) if value.size else np.nan,
        f"{name}_sd": deviation,
    }
