"""`calibrate`: responses in, items on a scale out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation.em import EM
from itemwise.estimation.engine import Engine, Fit, Progress
from itemwise.estimation.joint import Joint
from itemwise.models import MeasurementModel, Prior, find_model, with_priors
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

ENGINES: dict[str, type[Any]] = {engine.name: engine for engine in (EM, Joint)}
FEW_RESPONDENTS = 30
NAMES_SHOWN = 3


def calibrate(
    responses: Responses | pd.DataFrame | np.ndarray,
    model: str | MeasurementModel = "2pl",
    *,
    engine: str | Engine = "em",
    priors: Literal["default"] | Mapping[str, Prior | None] | None = "default",
    weights: Any = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Calibration:
    """Put items and respondents on one scale.

    Parameters
    ----------
    responses
        Respondents × items: `Responses`, or a frame or array that makes them.
    model
        "1pl", "2pl", "3pl", "4pl", or a model such as `OnePL(slope=1)`.
    engine
        "em" for marginal maximum likelihood, "joint" for Birnbaum's alternation, or an engine
        with its settings, such as `EM(tolerance=1e-8)`. `settings` go to an engine named here.
    priors
        "default" keeps every item finite: discrimination ~ N(0, 3), intercept ~ N(0, 5), both
        too wide to matter for an ordinary item; guessing ~ Beta(5, 17), slip ~ Beta(2, 20), each
        worth 20 responses, because few responses speak of them. None gives plain maximum
        likelihood. A mapping replaces single ones: {"guessing": Beta(2, 5)}.
    weights
        How many respondents each row stands for; not negative.
    progress
        Called after each iteration with its number, the log-likelihood, and what is left to gain.
    """
    table = as_responses(responses)
    chosen = find_model(model)
    if priors != "default":
        chosen = with_priors(chosen, priors)
    if table.kind != chosen.kind:
        raise InputError(
            f"The responses are {table.kind}, but the {chosen.name} model explains {chosen.kind} "
            f"ones: {_advice(table)}"
        )
    runner = find_engine(engine, settings)
    fit = runner.fit(table.cells, chosen, checked_weights(weights, table), progress)
    flags = item_flags(table, chosen, fit)
    return Calibration(
        model=chosen,
        item_names=table.items,
        coords=fit.coords,
        uncertainty=fit.uncertainty,
        population=fit.population,
        log_likelihood=fit.log_likelihood,
        iterations=fit.iterations,
        converged=fit.converged,
        engine=runner.name,
        notes=(*fit.notes, *table_notes(table), *flag_notes(table, flags)),
        flags=flags,
        responses=table,
    )


def as_responses(responses: Any) -> Responses:
    """Responses as they are, or made from a frame or an array."""
    if isinstance(responses, Responses):
        return responses
    if hasattr(responses, "columns"):
        return Responses.from_frame(responses)
    return Responses(responses)


def find_engine(engine: str | Engine, settings: Mapping[str, Any]) -> Engine:
    """The engine of that name with `settings`, or the engine itself."""
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
        raise InputError(
            f"calibrate has no argument {unknown[0]!r}, and neither has the {engine} engine. "
            f"Its settings are: {', '.join(known)}."
        )
    found: Engine = family(**settings)
    return found


def checked_weights(weights: Any, table: Responses) -> Floats | None:
    """Weights as numbers, one a respondent."""
    if weights is None:
        return None
    try:
        found = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers: {error}.") from error
    if found.shape != (table.n_respondents,):
        raise InputError(
            f"weights has shape {found.shape}, but there are {table.n_respondents} respondents. "
            "Give one weight a respondent."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InputError("weights must be finite, not negative, and not all zero.")
    return found


def item_flags(table: Responses, model: MeasurementModel, fit: Fit) -> tuple[str, ...]:
    """What a reader should know of single items, in words; empty for most."""
    cells = table.cells
    asked, right = (cells >= 0).sum(axis=0), (cells > 0).sum(axis=0)
    parameters = model.parameters(fit.coords)
    masks = {
        "never asked": asked == 0,
        "all right": (asked > 0) & (right == asked),
        "all wrong": (asked > 0) & (right == 0),
    }
    ordinary = ~np.logical_or.reduce(list(masks.values()))
    masks["negative discrimination"] = ordinary & (parameters["discrimination"] < 0)
    for k, coordinate in enumerate(model.coordinates):
        x = fit.coords[:, k]
        masks[f"{coordinate.name} at bound"] = (x <= coordinate.low) | (x >= coordinate.high)
    flags = np.full(table.n_items, "", dtype=object)
    for name, mask in masks.items():
        flags[mask] = [f"{flag}; {name}" if flag else name for flag in flags[mask]]
    return tuple(flags)


def table_notes(table: Responses) -> list[str]:
    """What the table as a whole cannot support."""
    notes = []
    if table.n_respondents < FEW_RESPONDENTS:
        notes.append(
            f"Only {table.n_respondents} respondent{'s' * (table.n_respondents > 1)}: item "
            "parameters rest mostly on their priors. Read them with their standard errors."
        )
    if table.n_items == 1:
        notes.append("Only one item: its discrimination cannot be told from its difficulty.")
    empty = np.flatnonzero((table.cells < 0).all(axis=1))
    if empty.size:
        names = [table.respondents[k] for k in empty]
        notes.append(f"{_named(names, 'respondent')} without any response: placed at the mean.")
    return notes


def flag_notes(table: Responses, flags: tuple[str, ...]) -> list[str]:
    """One sentence for each kind of flag."""
    sentences = {
        "never asked": "no response tells anything of them; they stand at their prior.",
        "all right": "easier than the table can tell; their difficulty is nominal.",
        "all wrong": "harder than the table can tell; their difficulty is nominal.",
        "negative discrimination": "better respondents fail them more often; look at their labels.",
        "at bound": "the estimate went as far as it may; it has no standard error.",
    }
    notes = []
    for key, sentence in sentences.items():
        names = [name for name, flag in zip(table.items, flags, strict=True) if key in flag]
        if names:
            notes.append(f"{_named(names, 'item')} {_words(key)}: {sentence}")
    return notes


def _words(key: str) -> str:
    return {"never asked": "never asked", "at bound": "with a parameter at its bound"}.get(
        key, f"with {key}" if "discrimination" in key else f"answered {key}"
    )


def _named(names: list[str], noun: str) -> str:
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    return f"{len(names):,} {noun}{'s' * (len(names) > 1)} ({shown})"


def _advice(table: Responses) -> str:
    if table.kind == "graded":
        return "give 0 and 1 only, for example with responses.values >= 2."
    return "give 0 and 1 only, for example with responses.values > 0.5."
