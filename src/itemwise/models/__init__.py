"""What an item is: one file a family, one registry entry a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from itemwise.errors import InputError
from itemwise.models.base import Coordinate, MeasurementModel
from itemwise.models.logistic import FourPL, OnePL, ThreePL, TwoPL
from itemwise.models.priors import Beta, Normal, Prior

MODELS: dict[str, type[MeasurementModel]] = {
    model.name: model for model in (OnePL, TwoPL, ThreePL, FourPL)
}

__all__ = [
    "MODELS",
    "Beta",
    "Coordinate",
    "FourPL",
    "MeasurementModel",
    "Normal",
    "OnePL",
    "Prior",
    "ThreePL",
    "TwoPL",
    "find_model",
    "with_priors",
]


def find_model(model: str | MeasurementModel) -> MeasurementModel:
    """The model of that name, or the model itself."""
    if isinstance(model, MeasurementModel):
        return model
    if isinstance(model, str) and model.lower() in MODELS:
        return MODELS[model.lower()]()
    raise InputError(f"There is no model {model!r}. Models are: {', '.join(MODELS)}.")


def with_priors(
    model: MeasurementModel, priors: Mapping[str, Prior | None] | None
) -> MeasurementModel:
    """`model` with other priors: None for none at all, a mapping to replace single ones."""
    names = [coordinate.name for coordinate in model.coordinates]
    if priors is None:
        priors = dict.fromkeys(names)
    unknown = sorted(set(priors) - set(names))
    if unknown:
        raise InputError(
            f"priors names {', '.join(map(repr, unknown))}, which the {model.name} model does not "
            f"have. Its parameters with a prior are: {', '.join(names)}."
        )
    moved = tuple(
        replace(c, prior=priors[c.name]) if c.name in priors else c for c in model.coordinates
    )
    return model.with_coordinates(moved)
