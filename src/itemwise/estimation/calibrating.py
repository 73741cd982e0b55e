"""`calibrate`: responses in, items on a scale out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation.em import EM
from itemwise.estimation.engine import Engine, Fit, Progress
from itemwise.estimation.joint import Joint
from itemwise.models import MeasurementModel, Prior, find_model, with_priors
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses, Table, as_responses
from itemwise.words import counted, listed

ENGINES: dict[str, type[EM] | type[Joint]] = {engine.name: engine for engine in (EM, Joint)}
FEW_RESPONDENTS = 30

NEVER_ASKED, ALL_RIGHT, ALL_WRONG = "never asked", "all right", "all wrong"
NEGATIVE, AT_BOUND = "negative discrimination", "at bound"
MEANINGS = {
    NEVER_ASKED: ("never asked", "no response tells anything of them; they stand at their prior."),
    ALL_RIGHT: (
        "answered all right",
        "easier than the table can tell; their difficulty is nominal.",
    ),
    ALL_WRONG: (
        "answered all wrong",
        "harder than the table can tell; their difficulty is nominal.",
    ),
    NEGATIVE: (
        "with negative discrimination",
        "better respondents fail them more often; look at their labels.",
    ),
    AT_BOUND: (
        "with a parameter at its bound",
        "the estimate went as far as it may; it has no standard error.",
    ),
}


def calibrate(
    responses: Table,
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
        "1pl", "2pl", "3pl", "4pl", or a model such as `OnePL(discrimination=1)`.
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
    counts = checked_weights(weights, table)
    fit = runner.fit(table.cells, chosen, counts, progress)
    flags = item_flags(table, chosen, fit, counts)
    return Calibration(
        model=chosen,
        item_names=table.items,
        coords=fit.coords,
        uncertainty=fit.uncertainty,
        population=fit.population,
        log_likelihood=fit.log_likelihood,
        n_respondents=float(table.n_respondents if counts is None else counts.sum()),
        iterations=fit.iterations,
        converged=fit.converged,
        engine=runner.name,
        notes=(*fit.notes, *table_notes(table, counts), *flag_notes(table, flags)),
        flags=flags,
        responses=table,
    )


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
        raise InputError(
            f"calibrate has no argument {unknown[0]!r}, and neither has the {engine} engine. "
            f"Its settings are: {', '.join(known)}."
        )
    return family(**settings)


def checked_weights(weights: Any, table: Responses) -> Floats | None:
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
            "Give one weight a respondent."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InputError("weights must be finite, not negative, and not all zero.")
    return found


def _has_names(weights: Any) -> bool:
    """Whether weights carry names of their own, as a series with an index of text does."""
    index = getattr(weights, "index", None)
    return hasattr(index, "dtype") and type(index).__name__ != "RangeIndex"


def item_flags(
    table: Responses, model: MeasurementModel, fit: Fit, weights: Floats | None
) -> tuple[tuple[str, ...], ...]:
    """What a reader should know of single items, in words; nothing for most."""
    cells = table.cells if weights is None else table.cells[weights > 0]
    asked, right = (cells >= 0).sum(axis=0), (cells > 0).sum(axis=0)
    masks = {
        NEVER_ASKED: asked == 0,
        ALL_RIGHT: (asked > 0) & (right == asked),
        ALL_WRONG: (asked > 0) & (right == 0),
    }
    ordinary = ~np.logical_or.reduce(list(masks.values()))
    masks[NEGATIVE] = ordinary & (model.parameters(fit.coords)["discrimination"] < 0)
    for coordinate, held in zip(model.coordinates, model.at_bound(fit.coords).T, strict=True):
        masks[f"{coordinate.name} {AT_BOUND}"] = held & (not coordinate.shared)
    flags: list[tuple[str, ...]] = [()] * table.n_items
    for name, mask in masks.items():
        for k in np.flatnonzero(mask):
            flags[k] = (*flags[k], name)
    return tuple(flags)


def table_notes(table: Responses, weights: Floats | None) -> list[str]:
    """What the table as a whole cannot support."""
    notes = []
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < FEW_RESPONDENTS:
        who = counted(table.n_respondents, "respondent")
        worth = "" if weights is None else f", by their weights worth {total:g}"
        notes.append(
            f"Only {who}{worth}: item parameters rest mostly on their priors. "
            "Read them with their standard errors."
        )
    if table.n_items == 1:
        notes.append("Only one item: its discrimination cannot be told from its difficulty.")
    empty = np.flatnonzero((table.cells < 0).all(axis=1))
    if empty.size:
        names = [table.respondents[k] for k in empty]
        notes.append(f"{listed(names, 'respondent')} without any response: placed at the mean.")
    return notes


def flag_notes(table: Responses, flags: tuple[tuple[str, ...], ...]) -> list[str]:
    """One sentence for each kind of flag."""
    flagged = [(name, said) for name, said in zip(table.items, flags, strict=True) if said]
    notes = []
    for key, (words, meaning) in MEANINGS.items():
        names = [name for name, said in flagged if any(flag.endswith(key) for flag in said)]
        if names:
            notes.append(f"{listed(names, 'item')} {words}: {meaning}")
    return notes


def _advice(table: Responses) -> str:
    if table.kind == "graded":
        return "give 0 and 1 only, for example with responses.values >= 2."
    return "give 0 and 1 only, for example with responses.values > 0.5."
