"""Simulation: responses of respondents and items whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.errors import InputError
from itemwise.models import MeasurementModel, find_model
from itemwise.numerics.arrays import Floats
from itemwise.numerics.blocks import row_blocks
from itemwise.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

CELLS_AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class Truth:
    """What a simulation was made from."""

    model: MeasurementModel
    items: pd.DataFrame  # public parameters, one row an item
    abilities: pd.DataFrame  # column `ability`, one row a respondent


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
    random_state: int | np.random.Generator | None = None,
) -> Simulation:
    """Draw responses from a model.

    Abilities are standard normal and items what the model calls plausible, unless given:
    `abilities` as numbers, `items` as a frame or mapping with the model's parameters. Of all
    cells, a share `missing` is never asked, at random.
    """
    import pandas as pd

    chosen = find_model(model)
    random = np.random.default_rng(random_state)
    if not 0 <= missing < 1:
        raise InputError(f"missing is {missing}; give a share from 0 up to, not including, 1.")
    ability = _abilities(abilities, n_respondents, random)
    parameters = _parameters(chosen, items, n_items, random)
    coords = chosen.from_parameters(parameters)
    cells = _draw(chosen, coords, ability, missing, random)
    responses = Responses.from_codes(cells, kind=chosen.kind)
    frame = pd.DataFrame(dict(parameters), index=pd.Index(responses.items, name="item"))
    where = pd.Index(responses.respondents, name="respondent")
    truth = Truth(chosen, frame, pd.DataFrame({"ability": ability}, index=where))
    return Simulation(responses, truth)


def _draw(
    model: MeasurementModel,
    coords: Floats,
    ability: Floats,
    missing: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Category codes by inversion, in blocks of rows that bound the memory."""
    cells = np.empty((ability.size, coords.shape[0]), dtype=np.int8)
    for rows in row_blocks(ability.size, max(1, CELLS_AT_A_TIME // coords.shape[0])):
        prob = np.exp(model.log_prob(coords, ability[rows]))
        above = 1 - np.cumsum(prob[:-1], axis=0)
        drawn = random.random(above.shape[1:])
        block = (drawn < above).sum(axis=0).astype(np.int8)
        if missing:
            block[random.random(block.shape) < missing] = -1
        cells[rows] = block.T
    return cells


def _abilities(given: Any, n: int | None, random: np.random.Generator) -> Floats:
    if given is None:
        return random.normal(size=_count(1000 if n is None else n, "n_respondents"))
    ability = np.asarray(given, dtype=float)
    if ability.ndim != 1 or ability.size == 0 or not np.isfinite(ability).all():
        raise InputError(
            f"abilities must be one list of finite numbers; got shape {ability.shape}."
        )
    if n is not None and n != ability.size:
        raise InputError(f"n_respondents is {n}, but {ability.size} abilities are given.")
    return ability


def _parameters(
    model: MeasurementModel, given: Any, n: int | None, random: np.random.Generator
) -> Mapping[str, Floats]:
    if given is None:
        return model.sample(_count(50 if n is None else n, "n_items"), random)
    names = list(model.sample(1, np.random.default_rng(0)))
    fixed = {"guessing", "slip"} - {c.name for c in model.coordinates}
    lacking = [name for name in names if name not in given and name not in fixed]
    if lacking:
        raise InputError(
            f"items lacks {', '.join(lacking)}; the {model.name} model needs {', '.join(names)}."
        )
    size = len(np.atleast_1d(np.asarray(given[names[0]])))
    found = {
        name: np.broadcast_to(np.asarray(given[name], dtype=float), size).copy()
        if name in given and name not in fixed
        else np.zeros(size)
        for name in names
    }
    if not all(np.isfinite(column).all() for column in found.values()):
        raise InputError("items has values that are not finite numbers.")
    if n is not None and n != size:
        raise InputError(f"n_items is {n}, but {size} items are given.")
    return found


def _count(n: Any, name: str) -> int:
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise InputError(f"{name} is {n!r}; give a whole number of at least 1.")
    return int(n)
