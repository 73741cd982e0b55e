"""What every estimation engine takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ogive._progress import Progress, silent
from ogive.errors import InputError
from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.item_covariances import KnownCovariances, PooledItems, Uncertainty
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Population
from ogive.stats.array_backend import Array, Floats, Run, fold, row_blocks

BASE_CELLS = 1 << 17  # cells of a block of rows, which fit in a core's cache


class Engine(Protocol):
    """An estimator of item parameters; it knows no model by name."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Estimate the items of a table of responses as they are stored.

        `tries` are the numbers of answers behind each cell of repeated answers; see `Responses`.
        """


@dataclass(frozen=True, eq=False)
class Fit:
    """Items as an engine estimated them."""

    coords: Floats  # (n_items, width)
    uncertainty: Uncertainty
    population: Population
    log_likelihood: float
    iterations: int
    converged: bool
    undetermined: np.ndarray | None = None  # (n_items,): the responses leave a parameter open
    notes: tuple[str, ...] = ()
    encoded: Encoded | None = None  # row by row, if the responses lie on a device


class DeferredCovariances:
    """Covariances computed when first asked for; their inputs are released afterwards."""

    def __init__(
        self,
        compute: Callable[[], KnownCovariances],
        pool: Callable[[Callable[[], KnownCovariances]], PooledItems | None] | None = None,
    ) -> None:
        self._compute: Callable[[], KnownCovariances] | None = compute
        self._computed: KnownCovariances | None = None
        self._pool = pool
        self._pooled: PooledItems | None = None

    @property
    def covariances(self) -> Floats:
        """(n_items, width, width)."""
        return self._known().covariances

    @property
    def shared(self) -> Floats:
        """(n_shared, n_items, width)."""
        return self._known().shared

    @property
    def pooled(self) -> PooledItems | None:
        """Items under a common prior, if few respondents leave single items vague."""
        if self._pool is not None:
            self._pooled, self._pool = self._pool(self._known), None
        return self._pooled

    def _known(self) -> KnownCovariances:
        if self._computed is None and self._compute is not None:
            self._computed = self._compute()
            self._compute = None
        assert self._computed is not None  # noqa: S101 - one of the two is always set
        return self._computed


def check_settings(tolerance: float, max_iterations: int) -> None:
    """Refuse settings with which no engine converges."""
    if isinstance(tolerance, str) or not tolerance > 0:
        raise InputError(f"`tolerance` must be greater than 0, got {tolerance!r}.")
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise InputError(f"`max_iterations` must be a whole number from 1, got {max_iterations!r}.")


def report_iteration(progress: Progress, iteration: int, value: float, change: float) -> None:
    """Report an iteration: the log-likelihood, and by how much it still changes."""
    message = f"iteration {iteration}, log-likelihood {value:,.2f}, change {change:.2g}"
    progress(iteration, None, message)


def log_base(cells: Array, model: MeasurementModel, weights: Array, run: Run = map) -> float:
    """Return the part of the log-likelihood that does not depend on the items."""
    if not _has_base(model):
        return 0.0
    blocks = row_blocks(cells.shape[0], max(1, BASE_CELLS // cells.shape[1]))
    (total,) = fold(run, blocks, lambda rows: (model.log_base(cells[rows], weights[rows]),))
    return float(total)


def gathered_base(data: Encoded, model: MeasurementModel, run: Run = map) -> float:
    """Return `log_base` for rows that are decoded block by block (`Encoded.read`)."""
    if not _has_base(model) or data.read is None:
        return 0.0

    def over(part: Encoded, run: Run) -> Work:
        del run
        return lambda rows: (model.log_base(part.cells[rows], part.counted(rows)),)

    return float(data.gather(run, over)[0])


def _has_base(model: MeasurementModel) -> bool:
    """Return True if the log-likelihood has such a part; that of categories has none."""
    return type(model).log_base is not MeasurementModel.log_base
