"""A calibration of items that are known already, from a publication or another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from itemwise.calibration.calibration import Calibration
from itemwise.calibration.uncertainty import KnownCovariances
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.scoring.population import STANDARD


def known_items(
    model: MeasurementModel, coords: Floats, items: Sequence[str] | None = None, **settings: Any
) -> Calibration:
    """Items at `coords` (see `model.from_parameters`), known exactly; standard normal population.

    `settings` replace other fields of the calibration, such as `population` and `responses`.
    """
    n_items, width = coords.shape
    names = [f"item_{k + 1}" for k in range(n_items)] if items is None else items
    return Calibration(
        **{
            "model": model,
            "item_names": tuple(names),
            "coords": coords,
            "uncertainty": KnownCovariances(np.zeros((n_items, width, width))),
            "population": STANDARD,
            "log_likelihood": np.nan,  # nothing was fitted
            "n_respondents": 0.0,
            "iterations": 0,
            "converged": True,
            "engine": "em",
            **settings,
        }
    )
