"""`calibrate`: responses in, items on a scale out; and which model and engine do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from ogive.calibration import HELD, Calibration
from ogive.errors import InputError
from ogive.estimation.chosen_models import pick_model
from ogive.estimation.dependent_answers import NEGLIGIBLE, dependence, said_of_dependence
from ogive.estimation.em import EM
from ogive.estimation.fits import Engine, Fit, flag_notes, item_flags, table_notes
from ogive.estimation.given_responses import given_responses, rows_of, seen_of
from ogive.estimation.held_items import check_engine, held_note, items_held
from ogive.estimation.joint import Joint
from ogive.estimation.part_scales import at_own_origins
from ogive.estimation.shojima import Shojima
from ogive.models import AUTO, Continuous, MeasurementModel, Prior, with_priors
from ogive.numerics.arrays import Floats
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table
from ogive.responses.encoding import effective_tries
from ogive.responses.scanned_responses import ScannedResponses

OTHER_DOORS = {
    "groups": "group_scale(responses, groups) gives each group a population of its own.",
    "dimensions": "dimension_scale(responses, dimensions) fits several abilities.",
}


@dataclass(frozen=True)
class Preset:
    """A model and an engine that belong together."""

    model: MeasurementModel
    engine: Engine


PRESETS: dict[str, Callable[[], Preset]] = {
    # The continuous model as the airt package for R fits it: bounds from the table, responses at
    # a bound moved inside by 0.01, and an EM that stops early.
    "airt": lambda: Preset(Continuous(bounds="table", at_bounds=0.01), Shojima()),
}

ENGINES: dict[str, type[EM] | type[Joint] | type[Shojima]] = {
    engine.name: engine for engine in (EM, Joint, Shojima)
}

LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e15


def calibrate(
    responses: Table | ScannedResponses,
    model: str | MeasurementModel = AUTO,
    *,
    preset: str | None = None,
    engine: str | Engine = "em",
    priors: Literal["default"] | Mapping[str, Prior | None] | None = "default",
    weights: Any = None,
    fixed: Calibration | None = None,
    progress: Progress | bool = True,
    **settings: Any,
) -> Calibration:
    """Put items and respondents on one scale.

    `items` of the calibration has one row per item: the model's parameters, <name>_se of each, and
    flag; `abilities()` has one row per respondent: ability, se, at_bound. The default is marginal
    maximum likelihood (Bock and Aitkin, 1981).

    Parameters
    ----------
    responses
        Respondents × items: `Responses`, or a frame or array that makes them; or what
        `scan_responses` found in files that are larger than memory.
    model
        "auto" picks one by the kind of responses and says which; for right or wrong it is "1pl"
        below 100 respondents, who say little about the discrimination of single items, else "2pl".
        Right or wrong: "1pl", "2pl", "3pl", "4pl". Grades: "graded", "gpcm". Choices among options:
        "nominal". Scores in an interval: "continuous", "beta". Or a model with its options, such
        as `OnePL(discrimination=1)` or `Continuous(bounds=(0, 100))`.
    preset
        A model and an engine that reproduce published work: "airt" for the continuous model of
        the AIRT paper. It takes the place of `model` and `engine`.
    engine
        "em" for marginal maximum likelihood, "joint" for Birnbaum's alternation, "shojima" for
        the published EM of the continuous model, or an engine with its settings, such as
        `EM(tolerance=1e-8)`. `settings` go to an engine named here: population="auto" for abilities
        that may not be normal, se="robust" for standard errors that do not take the model as true.
    priors
        "default" keeps every item finite: discrimination ~ N(0, 3), intercept ~ N(0, 5), both
        too wide to matter for an ordinary item; guessing ~ Beta(5, 17), slip ~ Beta(2, 20), each
        worth 20 responses, because few responses determine them. The continuous model has
        discrimination ~ N(0, 1), which keeps noise in every item.
        None gives plain maximum likelihood. A mapping replaces single ones, as in
        {"guessing": Beta(2, 5)}.
    weights
        How many respondents each row stands for; not negative.
    fixed
        An item bank. Its items, matched by name, keep their parameters and define the scale; the
        other items are estimated, and so are the mean and standard deviation of these respondents
        on that scale. The model is the bank's.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message) after each iteration.

    Examples
    --------
    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 500, 20, random_state=0)
    >>> found = og.calibrate(drawn.responses, "2pl")
    >>> found.items.shape, found.abilities().shape
    ((20, 9), (500, 3))
    >>> bool(found.items["difficulty"].corr(drawn.truth.items["difficulty"]) > 0.95)
    True
    """
    table = given_responses(responses, engine, settings)
    if preset is not None:
        model, engine = _of_preset(preset, model, engine, settings)
        settings = {}
    if fixed is not None:
        runner = find_engine(engine, settings)
        with telling(progress, "Calibrating") as told:
            return _beside(fixed, table, model, runner, priors, weights, told)
    runner, counts = find_engine(engine, settings), checked_weights(weights, table)
    chosen, picked = pick_model(model, table, counts, sharing=not isinstance(runner, Joint))
    table = table.of_kind(chosen.kind)
    if priors != "default":
        chosen = with_priors(chosen, priors)
    with telling(progress, "Calibrating") as told:

        def fit(**repeats: Any) -> Fit:
            return runner.fit(rows_of(table, runner), chosen, counts, told, **repeats)

        found, alike = _fitted(fit, table, chosen, counts)
    return at_own_origins(_calibration(table, chosen, found, counts, runner, picked, alike))


def _fitted(
    fit: Callable[..., Fit],
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    counts: Floats | None,
) -> tuple[Fit, float]:
    """A fit, and the correlation of repeated answers, with which they are fitted again.

    Engines are told of tries only where there are some.
    """
    if isinstance(table, ScannedResponses) or table.tries is None or model.kind != "binary":
        return fit(), 0.0
    first = fit(tries=table.tries)
    alike = dependence(table.cells, table.tries, model, first.coords, first.population, counts)
    if alike < NEGLIGIBLE:
        return first, 0.0
    return fit(tries=effective_tries(table.tries, alike)), alike


def _beside(
    bank: Calibration,
    table: Responses | ScannedResponses,
    model: str | MeasurementModel,
    engine: Engine,
    priors: Literal["default"] | Mapping[str, Prior | None] | None,
    weights: Any,
    progress: Progress,
) -> Calibration:
    """New items beside those of a bank, on its scale."""
    check_engine(engine)
    table = table.of_kind(bank.model.kind)
    chosen, held = items_held(bank, seen_of(table), model)
    if priors != "default":
        chosen = with_priors(chosen, priors)
    assert isinstance(engine, EM)  # noqa: S101 - no other engine holds items
    counts = checked_weights(weights, table)

    def fit(**repeats: Any) -> Fit:
        return engine.fit(rows_of(table, engine), chosen, counts, progress, held, **repeats)

    fitted, alike = _fitted(fit, table, chosen, counts)
    note = held_note(held, fitted.population.mean, fitted.population.sd)
    found = _calibration(table, chosen, fitted, counts, engine, [note], alike, held.mask)
    flags = tuple(
        (*words, HELD) if known else words
        for words, known in zip(found.flags, held.mask, strict=True)
    )
    return replace(found, flags=flags)


def _calibration(
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    fit: Fit,
    counts: Floats | None,
    engine: Engine,
    first: list[str],
    alike: float = 0.0,
    held: np.ndarray | None = None,
) -> Calibration:
    """What an engine found, with all that a reader should know; notes begin with `first`."""
    seen = seen_of(table)
    flags = item_flags(seen, model, fit, None if seen is not table else counts)
    return Calibration(
        model=model,
        item_names=table.items,
        coords=fit.coords,
        uncertainty=fit.uncertainty,
        population=fit.population,
        log_likelihood=fit.log_likelihood,
        n_respondents=float(table.n_respondents if counts is None else counts.sum()),
        iterations=fit.iterations,
        converged=fit.converged,
        engine=engine.name,
        fit_notes=(
            *first,
            *fit.notes,
            *_repeat_notes(table, model, alike),
            *table_notes(table, model, counts, held),
            *flag_notes(seen, flags),
        ),
        flags=flags,
        responses=table if isinstance(table, Responses) else None,
        scanned=table if isinstance(table, ScannedResponses) else None,
        encoded=fit.encoded,
        weights=counts,
        fitted_by=engine,
        dependence=alike,
    )


def _repeat_notes(
    table: Responses | ScannedResponses, model: MeasurementModel, alike: float
) -> list[str]:
    """How repeated answers count."""
    if isinstance(table, ScannedResponses) or table.tries is None:
        return []
    if model.kind != "binary":
        return [f"The {model.name} model takes the mean of repeated answers as one response."]
    return [said_of_dependence(alike, table.tries)] if alike else []


def calibrate_again(
    calibration: Calibration, responses: Responses, weights: Floats | None = None
) -> Calibration:
    """Fit other responses to the same items as `calibration` was: model, priors, engine, bank."""
    held = [
        name
        for name, words in zip(calibration.item_names, calibration.flags, strict=True)
        if HELD in words
    ]
    return calibrate(
        responses,
        AUTO if held else calibration.model,
        engine=calibration.fitted_by,
        weights=weights,
        fixed=calibration.of_items(held) if held else None,
        progress=False,
    )


def _of_preset(
    name: str,
    model: str | MeasurementModel,
    engine: str | Engine,
    settings: Mapping[str, Any],
) -> tuple[MeasurementModel, Engine]:
    """Model and engine of a preset, which leaves no other choice of them but settings."""
    preset = find_preset(name)
    if model != AUTO or engine != "em":
        raise InputError(f"preset={name!r} has a model and an engine of its own; give no other.")
    return preset.model, find_engine(preset.engine.name, settings) if settings else preset.engine


def find_engine(engine: str | Engine, settings: Mapping[str, Any]) -> Engine:
    """The engine of that name with `settings`, or the engine itself."""
    if isinstance(engine, type) or not (isinstance(engine, str) or hasattr(engine, "fit")):
        raise InputError(
            f"engine is {engine!r}; give a name ({', '.join(ENGINES)}) or an engine such as EM()."
        )
    if not isinstance(engine, str):
        if settings:
            raise InputError(
                f"{', '.join(settings)}: give settings inside the engine, as in "
                f"{type(engine).__name__}({next(iter(settings))}=...), or name the engine as text."
            )
        return engine
    if engine.lower() not in ENGINES:
        raise InputError(f"There is no engine {engine!r}. Engines are: {', '.join(ENGINES)}.")
    family = ENGINES[engine.lower()]
    known = [field.name for field in fields(family)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        instead = OTHER_DOORS.get(unknown[0], f"Its settings are: {', '.join(known)}.")
        raise InputError(
            f"calibrate has no argument {unknown[0]!r}, and neither has the {engine} engine. "
            f"{instead}"
        )
    return family(**settings)


def checked_weights(weights: Any, table: Responses | ScannedResponses) -> Floats | None:
    """Weights as numbers, one a respondent."""
    if weights is None:
        return None
    names = [str(name) for name in getattr(weights, "index", [])] if _has_names(weights) else None
    if names is not None and names != list(table.respondents):
        raise InputError(
            "weights has an index that differs from the respondents. Bring it into their order, "
            "weights.reindex(responses.respondents), or give plain numbers."
        )
    try:
        found = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers: {error}.") from error
    if found.shape != (table.n_respondents,):
        raise InputError(
            f"weights has shape {found.shape}, but there are {table.n_respondents} respondents. "
            "Give one weight per respondent."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InputError("weights must be finite, not negative, and not all zero.")
    if not LEAST_WEIGHT < found.sum() < MOST_WEIGHT:
        raise InputError(
            f"weights sum to {found.sum():.3g}; they say how many respondents each row stands for. "
            "Scale them to a plausible number."
        )
    return found


def _has_names(weights: Any) -> bool:
    """Whether weights carry names of their own, as a series with an index of text does."""
    index = getattr(weights, "index", None)
    return hasattr(index, "dtype") and type(index).__name__ != "RangeIndex"


def find_preset(name: str) -> Preset:
    """The preset of that name."""
    if not isinstance(name, str) or name.lower() not in PRESETS:
        raise InputError(f"There is no preset {name!r}. Presets are: {', '.join(PRESETS)}.")
    return PRESETS[name.lower()]()
