"""Banks that were not fitted as they are: known items, and two banks on one scale made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ogive.calibration.calibration import Calibration
from ogive.calibration.uncertainty import (
    KnownCovariances,
    PooledItems,
    Uncertainty,
    errors_of_items,
    pooled_items,
)
from ogive.models import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.scoring.posterior import STANDARD


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


def join_banks(first: Calibration, second: Calibration) -> Calibration:
    """The items of `first`, then those of `second` that it lacks; population and fit of `first`.

    Both must stand on one scale already. The bank keeps no responses and has no likelihood.
    """
    known = set(first.item_names)
    added = [k for k, name in enumerate(second.item_names) if name not in known]
    bank = replace(first, log_likelihood=np.nan, responses=None, encoded=None, weights=None)
    if not added:
        return bank
    shape = second.model.of_items(added)
    model = first.model.joined(len(first.item_names), shape, len(added))
    coords = [first.coords, second.coords[added]]
    errors = [first.uncertainty, errors_of_items(second.uncertainty, added)]
    covariances = [model.widened_covariances(part.covariances) for part in errors]
    return replace(
        bank,
        model=model,
        item_names=(*first.item_names, *(second.item_names[k] for k in added)),
        coords=np.concatenate([model.widened(part) for part in coords]),
        uncertainty=KnownCovariances(
            np.concatenate(covariances),
            _beside(*(model.widened_shared(part.shared) for part in errors)),
            _pooled(model, errors, coords),
        ),
        converged=first.converged and second.converged,
        flags=(*first.flags, *(second.flags[k] for k in added)),
    )


def _pooled(
    model: MeasurementModel, errors: Sequence[Uncertainty], coords: Sequence[Floats]
) -> PooledItems | None:
    """What both banks know of their items, given what those of each have in common."""
    if all(part.pooled is None for part in errors):
        return None
    parts = [pooled_items(part, own) for part, own in zip(errors, coords, strict=True)]
    return PooledItems(
        np.concatenate([model.widened(part.coords) for part in parts]),
        np.concatenate([model.widened_covariances(part.covariances) for part in parts]),
        _beside(*(model.widened_shared(part.shared) for part in parts)),
    )


def _beside(first: Floats, second: Floats) -> Floats:
    """Directions of two banks, each of which leaves the items of the other where they are."""
    return np.concatenate(
        [
            np.pad(first, ((0, 0), (0, second.shape[1]), (0, 0))),
            np.pad(second, ((0, 0), (first.shape[1], 0), (0, 0))),
        ]
    )
