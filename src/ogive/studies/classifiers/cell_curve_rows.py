"""The curve of each item, and the cell of a confusion matrix in which the item lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import informative
from ogive.studies.classifiers.predictions import Predictions

if TYPE_CHECKING:
    import pandas as pd

CURVE_POINTS = 61
CURVE_REACH = 4.0  # population standard deviations


def curve_frame(
    calibration: Calibration, given: Predictions, positive: int | None, model: int
) -> pd.DataFrame:
    """One row per item and ability; classes are in the order of the figure, the positive first."""
    import pandas as pd

    bank, coords = calibration.model, calibration.coords
    axis = np.linspace(*calibration.population.reach(CURVE_REACH), CURVE_POINTS)
    each = np.repeat(np.arange(len(given.items)), CURVE_POINTS)
    codes = np.arange(len(given.classes))
    order = np.argsort(codes != (-1 if positive is None else positive), kind="stable")
    place, names = np.argsort(order), pd.Index([given.classes[code] for code in order])
    label = {"true": given.true, "predicted": given.predicted[model]}
    slope = bank.parameters(coords)["discrimination"]
    slope = np.where(informative(calibration), slope, np.nan)  # meaningless for the others
    return pd.DataFrame(
        {
            **{
                name: pd.Categorical.from_codes(place[codes][each], names)
                for name, codes in label.items()
            },
            "item": pd.Categorical.from_codes(each, pd.Index(given.items)),
            "ability": np.tile(axis, len(given.items)),
            "expected": bank.expected(coords, axis).ravel(),
            "discrimination": slope[each],
        }
    )
