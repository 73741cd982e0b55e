"""Simulation: responses of respondents and items whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._validation import whole_number
from ogive.errors import InputError
from ogive.irt.models import find_model
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import NormalPopulation, Population
from ogive.irt.repeated_responses import tries_or_one
from ogive.irt.response_matrix import new_responses
from ogive.results.base import table
from ogive.stats.array_backend import Floats, row_blocks

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration

CELLS_AT_A_TIME = 1 << 22
POINTS = 4001  # number of points at which a population is inverted


@dataclass(frozen=True, eq=False)
class Truth:
    """Parameters from which a simulation was drawn."""

    model: MeasurementModel
    items: pd.DataFrame  # public parameters, one row per item
    abilities: pd.DataFrame  # column `ability`, one row per respondent


class Simulation(NamedTuple):
    """Responses, and the truth behind them."""

    responses: Responses
    truth: Truth


def simulate(
    model: str | MeasurementModel = "2pl",
    n_respondents: int | None = None,
    n_items: int | None = None,
    *,
    abilities: Any = None,
    items: Mapping[str, Any] | pd.DataFrame | None = None,
    missing: float = 0.0,
    random_state: int | np.random.Generator = 0,
) -> Simulation:
    """Draw responses from a model.

    Abilities are standard normal and items what the model calls plausible, unless given:
    `abilities` as numbers, `items` as a frame or mapping with the model's parameters. Of all
    cells, a share `missing` is never asked, at random.

    The table has `n_respondents` rows and `n_items` columns, or as many as are given; `truth` of
    the result holds the items and abilities that it was drawn from. Same `random_state`, same
    responses.

    >>> import ogive as og
    >>> drawn = og.simulate("3pl", 100, 5, missing=0.2, random_state=0)
    >>> drawn.responses.shape, drawn.responses.n_missing
    ((100, 5), 102)
    """
    chosen = find_model(model)
    try:
        random = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_state is {random_state!r}: {error}.") from error
    if isinstance(missing, str) or missing is None or not 0 <= missing < 1:
        raise InputError(
            f"`missing` must be a share from 0 up to, not including, 1, got {missing!r}."
        )
    if items is not None:
        chosen = chosen.shaped(items)
    ability = _abilities(abilities, n_respondents, random)
    if items is None:
        n = whole_number(50 if n_items is None else n_items, "n_items", 1)
        parameters: Mapping[str, Floats] = chosen.sample(n, random)
    else:
        parameters = _given_parameters(chosen, items, n_items)
    chosen = chosen.shaped(parameters)
    coords = chosen.from_parameters(parameters)
    if not np.array_equal(chosen.bounded(coords), coords):
        outside = ", ".join(f"{c.name} in [{c.low:g}, {c.high:g}]" for c in chosen.coordinates)
        raise InputError(f"items lie outside the bounds of the {chosen.name} model: {outside}.")
    cells = _draw(chosen, coords, ability, missing, random)
    responses = new_responses(cells, _names(abilities), _names(items), chosen.kind)
    columns = {**chosen.parameters(coords), **parameters}
    frame = table(columns, responses.items, "item")
    truth = Truth(chosen, frame, table({"ability": ability}, responses.respondent_index))
    return Simulation(responses, truth)


def simulate_again(
    calibration: Calibration, random: np.random.Generator
) -> tuple[Responses, Floats | None]:
    """Draw responses of new respondents from a calibration; return them and weights of rows.

    Abilities come from its population; the cells that its own responses lack stay empty. A row that
    stands for several respondents becomes as many rows, because each would have answered by itself;
    weights that are no whole numbers stay as they are.
    """
    own, weights, model = calibration.responses, calibration.weights, calibration.model
    if own is None:
        raise InputError(
            "This calibration holds items, not responses: it was loaded from a file. Calibrate "
            "the responses, so that it is known who was asked what."
        )
    rows = np.arange(own.n_respondents)
    if weights is not None and weights.max() > 1 and (weights == np.round(weights)).all():
        rows, weights = np.repeat(rows, weights.astype(int)), None
    ability = _of_population(calibration.population, rows.size, random)
    whole = rows.size == own.n_respondents
    names = own.respondents if whole else [f"respondent_{k}" for k in range(1, rows.size + 1)]
    if own.tries is not None and model.kind == "binary":
        # As many tries as there were, with the same correlation: beta-binomial.
        tries = tries_or_one(own.tries, own.observed)[rows]
        chance = model.expected(calibration.coords, ability).T
        if calibration.dependence:
            worth = (1.0 - calibration.dependence) / calibration.dependence
            sides = (np.maximum(worth * share, 1e-9) for share in (chance, 1.0 - chance))
            chance = random.beta(*sides)
        right = random.binomial(tries, np.clip(chance, 0.0, 1.0))
        values = np.where(tries > 0, right / np.maximum(tries, 1), np.nan)
        return new_responses(values, names, own.items, "binary", tries=tries), weights
    cells = _draw(model, calibration.coords, ability, 0.0, random)
    if own.n_missing:
        cells[~own.observed[rows]] = -1 if cells.dtype.kind == "i" else np.nan
    return new_responses(cells, names, own.items, own.kind), weights


def _of_population(population: Population, n: int, random: np.random.Generator) -> Floats:
    """Draw abilities of a population of any shape, by inversion."""
    if isinstance(population, NormalPopulation):
        return population.mean + population.sd * random.standard_normal(n)
    points = np.linspace(*population.reach(), POINTS)
    density = np.exp(population.log_density(points))
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(random.random(n), below / below[-1], points)


def _draw(
    model: MeasurementModel,
    coords: Floats,
    ability: Floats,
    missing: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Draw responses as they are stored, in blocks of rows that bound the memory."""
    parts = []
    for rows in row_blocks(ability.size, max(1, CELLS_AT_A_TIME // coords.shape[0])):
        block = model.draw(coords, ability[rows], random)
        if missing:
            never = -1 if block.dtype.kind == "i" else np.nan
            block[random.random(block.shape) < missing] = never
        parts.append(np.ascontiguousarray(block.T))
    return np.concatenate(parts)


def _names(given: Any) -> Any:
    """Return the index of a frame or series if it holds names, else None."""
    index = getattr(given, "index", None)
    return index if hasattr(index, "dtype") and type(index).__name__ != "RangeIndex" else None


def _abilities(given: Any, n: int | None, random: np.random.Generator) -> Floats:
    if given is None:
        return random.normal(size=whole_number(1000 if n is None else n, "n_respondents", 1))
    given = given["ability"] if hasattr(given, "columns") else given
    try:
        ability = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"abilities must be numbers: {error}.") from error
    if ability.ndim != 1 or ability.size == 0 or not np.isfinite(ability).all():
        raise InputError(
            f"abilities must be one list of finite numbers; got shape {ability.shape}."
        )
    if n is not None and n != ability.size:
        raise InputError(f"n_respondents is {n}, but {ability.size} abilities are given.")
    return ability


def _given_parameters(model: MeasurementModel, given: Any, n: int | None) -> Mapping[str, Floats]:
    """Return columns of numbers of one length; zero for a fixed parameter that is not given."""
    names, fixed = list(model.inputs), model.fixed
    needed = [name for name in names if name not in fixed]
    lacking = [name for name in needed if name not in given]
    if lacking:
        raise InputError(
            f"items lacks {', '.join(lacking)}; the {model.name} model needs {', '.join(needed)}."
        )
    try:
        columns = {
            name: np.atleast_1d(np.asarray(given[name], dtype=float))
            for name in names
            if name in given
        }
        size = max(column.size for column in columns.values())
        numbers = {
            name: np.broadcast_to(columns.get(name, np.zeros(1)), size).copy() for name in names
        }
    except (TypeError, ValueError) as error:
        raise InputError(f"items must be columns of numbers of one length: {error}.") from error
    if not np.isfinite(model.from_parameters(numbers)).all():
        raise InputError("items has values that are not finite numbers.")
    for name in fixed:
        if numbers[name].any():
            raise InputError(f"items has {name}, which the {model.name} model does not know.")
    if model.coordinates[0].shared and np.ptp(numbers[needed[0]]) > 0:
        raise InputError(f"The {model.name} model has one {needed[0]} for all items; give one.")
    if n is not None and n != size:
        raise InputError(f"n_items is {n}, but {size} items are given.")
    return numbers
