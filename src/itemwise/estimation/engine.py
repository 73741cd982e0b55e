"""What every engine takes and gives, and what its E-step leaves for the M-step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from itemwise.calibration import Uncertainty
from itemwise.errors import InputError
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, Run, fold, row_blocks
from itemwise.progress import Progress, silent
from itemwise.scoring import Population

BASE_CELLS = 1 << 17  # what lies in a core's cache

Tables = tuple[Array, Array, Array]  # abilities, counts, totals: see MeasurementModel.curvature


def tell_iteration(progress: Progress, iteration: int, value: float, change: float) -> None:
    """Report an iteration: the log-likelihood, and by how much it still changes."""
    message = f"iteration {iteration}, log-likelihood {value:,.2f}, change {change:.2g}"
    progress(iteration, None, message)


@dataclass(frozen=True, eq=False)
class Fit:
    """Items as an engine found them."""

    coords: Floats  # (n_items, width)
    uncertainty: Uncertainty
    population: Population
    log_likelihood: float
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()


def check_settings(tolerance: float, max_iterations: int) -> None:
    """Refuse settings with which no engine ends well."""
    if isinstance(tolerance, str) or not tolerance > 0:
        raise InputError(f"tolerance is {tolerance!r}; give a number above 0.")
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise InputError(f"max_iterations is {max_iterations!r}; give a whole number from 1.")


def log_base(cells: Array, model: MeasurementModel, weights: Array, run: Run = map) -> float:
    """The part of the log-likelihood that no item changes."""
    blocks = row_blocks(cells.shape[0], max(1, BASE_CELLS // cells.shape[1]))
    (total,) = fold(run, blocks, lambda rows: (model.log_base(cells[rows], weights[rows]),))
    return float(total)


class Engine(Protocol):
    """How item parameters are found; an engine knows no model by name."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
    ) -> Fit:
        """Find the items of a table of responses as they are stored."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Log-likelihood, its gradient, complete-data information, and what abilities say together."""

    log_likelihood: float
    gradient: Array  # (n_items, width)
    expected: Array  # (n_items, width, width), Fisher information
    observed: Array  # (n_items, width, width), minus the second derivatives
    scale: Floats  # (2, 2), information on origin and log-unit of the population
    edges: tuple[float, float]  # largest posterior mass at the first and the last node
    alignment: float  # covariance of ability with the response, summed over items
    mass: Floats | None = None  # posterior mass of all respondents on the fine nodes
    tables: Tables | None = None  # of the general way only


def of_items(tables: Tables, items: slice | Array) -> Tables:
    """The tables of some items; totals that all items share stay as they are."""
    abilities, counts, totals = tables
    return abilities, counts[:, items], totals if totals.shape[0] == 1 else totals[items]
