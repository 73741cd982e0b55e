"""Registry of measurement models: one file per family, one entry per model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ogive.errors import InputError
from ogive.irt.models.base import Beta, MeasurementModel, Prior
from ogive.irt.models.beta import BetaResponse
from ogive.irt.models.censored import Censored
from ogive.irt.models.continuous import Continuous
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import FourPL, OnePL, ThreePL, TwoPL
from ogive.irt.models.nominal import Nominal, PartialCredit

AUTO = "auto"  # name that selects the model by the kind of responses

MODELS: dict[str, type[MeasurementModel]] = {
    model.name: model
    for model in (
        OnePL,
        TwoPL,
        ThreePL,
        FourPL,
        Graded,
        PartialCredit,
        Nominal,
        Continuous,
        Censored,
        BetaResponse,
    )
}


def find_model(model: str | MeasurementModel) -> MeasurementModel:
    """Return the model of that name, or the model itself."""
    if isinstance(model, MeasurementModel):
        return model
    if isinstance(model, str) and model.lower() in MODELS:
        return MODELS[model.lower()]()
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}; call it: {model.__name__}().")
    raise InputError(f"There is no model {model!r}. Models are: {', '.join(MODELS)}.")


def with_priors(
    model: MeasurementModel, priors: Mapping[str, Prior | None] | None
) -> MeasurementModel:
    """Return `model` with other priors: none for None, single ones from a mapping."""
    names = [coordinate.name for coordinate in model.coordinates]
    if priors is None:
        priors = dict.fromkeys(names)
    if not isinstance(priors, Mapping):
        raise InputError(
            f"`priors` must be None for none, or a mapping such as {{{names[0]!r}: ogive.Normal(0, "
            f"2)}}, got {priors!r}."
        )
    unknown = sorted(set(priors) - set(names))
    if unknown:
        raise InputError(
            f"priors names {', '.join(map(repr, unknown))}, which the {model.name} model does not "
            f"have. Its parameters with a prior are: {', '.join(names)}."
        )
    for name, prior in priors.items():
        if not (prior is None or isinstance(prior, Prior)) or isinstance(prior, type):
            raise InputError(
                f"The prior of {name} is {prior!r}; give ogive.Normal(mean, sd), "
                "ogive.Beta(a, b) or None."
            )
        is_share = any(c.name == name and c.low >= 0 and c.high <= 1 for c in model.coordinates)
        if isinstance(prior, Beta) and not is_share:
            raise InputError(
                f"The prior of {name} is {prior!r}, a density on [0, 1], but {name} may lie "
                "outside. Use ogive.Normal(mean, sd)."
            )
    return model.with_coordinates(
        tuple(replace(c, prior=priors.get(c.name, c.prior)) for c in model.coordinates)
    )
