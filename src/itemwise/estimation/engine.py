"""What every engine takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from itemwise.calibration import Uncertainty
from itemwise.errors import InputError
from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats
from itemwise.numerics.blocks import Run, fold, row_blocks
from itemwise.progress import hushed, silent, watched
from itemwise.scoring import Population

BASE_CELLS = 1 << 17  # what lies in a core's cache

Progress = Callable[[int, float, float], None]  # iteration, log-likelihood, Newton decrement
Wanted = Progress | bool  # one's own; a bar where a person watches; nothing


@contextmanager
def iterations_told(progress: Wanted) -> Iterator[Progress | None]:
    """What an engine calls after each iteration, if anything."""
    if callable(progress) or not progress:
        with hushed():
            yield progress if callable(progress) else None
        return
    with watched("Calibrating") as report:
        if report is silent:
            yield None
        else:
            yield lambda i, value, _left: report(i, f"iteration {i}, log-likelihood {value:,.1f}")


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
        progress: Progress | None = None,
    ) -> Fit:
        """Find the items of a table of responses as they are stored."""
