"""How scores of errors are calibrated: by the continuous, the beta or the graded model.

All instances have the same slope, or almost: with free slopes, the scale of regressors measures how
far predictions are drawn towards the middle (`ogive.estimation.equal_slopes`). The continuous
model has a closed form; the other two are held together by a narrow prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.estimation.calibrating import calibrate
from ogive.estimation.equal_slopes import calibrate_equal_slopes
from ogive.models import Normal
from ogive.responses import Responses
from ogive.words import counted

GRADES = 5
NARROW = 0.02  # of slopes around a common one; origin and unit of the scale are left free
BETA_SLOPE, GRADED_SLOPE = 0.5, 1.0


def calibrate_beta(scores: Responses) -> Calibration:
    """Scores as draws from beta distributions."""
    return _held_together(scores, "beta", BETA_SLOPE)


def calibrate_grades(scores: Responses) -> Calibration:
    """Scores as grades from 0 to 4: fifths of all errors of the table, the largest first."""
    return _held_together(error_grades(scores), "graded", GRADED_SLOPE)


def error_grades(scores: Responses) -> Responses:
    """Grades of scores, cut at quantiles of the whole table; fewer grades if many are equal.

    >>> table = Responses(np.array([[0.1, 0.3, 0.5], [0.7, 0.9, 0.2]]), kind="continuous")
    >>> error_grades(table).values.tolist()
    [[0.0, 2.0, 3.0], [4.0, 4.0, 1.0]]
    """
    values = scores.values
    cuts = np.unique(np.nanquantile(values, np.arange(1, GRADES) / GRADES))
    cuts = cuts[cuts > np.nanmin(values)]
    if not cuts.size:
        raise InputError("All scores of errors are equal, so there are no grades of them.")
    grades = np.searchsorted(cuts, values, side="right").astype(float)
    grades[np.isnan(values)] = np.nan
    return Responses(grades, list(scores.respondents), list(scores.items), "graded")


ERROR_MODELS: dict[str, Callable[[Responses], Calibration]] = {
    "continuous": calibrate_equal_slopes,
    "beta": calibrate_beta,
    "graded": calibrate_grades,
}


def find_error_model(model: str) -> Callable[[Responses], Calibration]:
    """How errors are calibrated by the model of this name."""
    if not isinstance(model, str) or model not in ERROR_MODELS:
        names = ", ".join(f"'{name}'" for name in ERROR_MODELS)
        raise InputError(
            f"model is {model!r}, but scores of errors are calibrated by one of: {names}."
        )
    return ERROR_MODELS[model]


def _held_together(table: Responses, model: str, slope: float) -> Calibration:
    found = calibrate(table, model, priors={"discrimination": Normal(slope, NARROW)})
    slopes = found.items["discrimination"].to_numpy(dtype=float)
    away = int((np.abs(slopes - np.median(slopes)) > 0.5 * abs(np.median(slopes))).sum())
    notes = tuple(note for note in found.notes if "negative discrimination" not in note)
    if away:
        said = (
            f"{counted(away, 'instance')} do not follow the common slope of the {model} model, so "
            "their difficulty means little."
        )
        notes = (*notes, said)
    return replace(found, fit_notes=notes)
