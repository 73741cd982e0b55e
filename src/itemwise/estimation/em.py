"""The EM engine: marginal maximum likelihood, or its penalised form with priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.estimation.ascent import Ascent, ascend
from itemwise.estimation.engine import Fit, Progress
from itemwise.estimation.expectation import Run
from itemwise.estimation.information import InUnit, ObservedInformation
from itemwise.estimation.start import start
from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Floats, array_namespace, as_numpy
from itemwise.numerics.blocks import workers
from itemwise.responses.encoding import Encoded, encode
from itemwise.scoring.likelihood import Population, plan_nodes

ROUGH = 1.0  # Newton decrement at which a start with priors is good enough to drop them


@dataclass(frozen=True)
class EM:
    """Settings of the EM engine; nothing is stored while it runs.

    It stops when the Newton decrement, the log-likelihood still to be gained in nats, is at
    most `tolerance`. `device` is None for NumPy, or a torch device such as "cuda". `n_jobs`
    threads share the rows; the result does not depend on their number.
    """

    name: ClassVar[str] = "em"

    tolerance: float = 1e-6
    max_iterations: int = 200
    device: str | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise InputError(f"tolerance is {self.tolerance}; give a number above 0.")
        if self.max_iterations < 1:
            raise InputError(f"max_iterations is {self.max_iterations}; give 1 or more.")

    def fit(
        self,
        cells: NDArray[np.signedinteger],
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Encode the responses, climb, and fix sign and unit of the scale."""
        data = encode(cells, model.n_categories, weights, self.device)
        with workers(self.n_jobs) as run:
            found = upright(model, self.climb(data, model, run, progress))
        return self._expressed(data, model, found)

    def climb(
        self, data: Encoded, model: MeasurementModel, run: Run, progress: Progress | None = None
    ) -> Ascent:
        """Go up from the first principal component.

        Without priors, a curve with asymptotes has many maxima, most of them worthless; those
        near the penalised maximum are good, so the way leads past it.
        """
        begin = start(data, model)
        before = 0
        regular = model.regularised()
        if not model.linear and regular != model:
            past = ascend(
                data,
                regular,
                begin,
                tolerance=ROUGH,
                most=self.max_iterations,
                run=run,
                progress=progress,
            )
            begin, before = past.coords, past.iterations
        found = ascend(
            data,
            model,
            begin,
            tolerance=self.tolerance,
            most=self.max_iterations,
            run=run,
            progress=progress,
        )
        return replace(found, iterations=before + found.iterations)

    def _expressed(self, data: Encoded, model: MeasurementModel, found: Ascent) -> Fit:
        """The fit on the scale on which the model reports its items."""
        coords = as_numpy(found.coords)
        information = ObservedInformation(data, model, found.coords, found.nodes, self.n_jobs)
        unit = model.unit(coords)
        if unit != 1.0:
            coords = model.rescale(coords, 0.0, 1 / unit)
        return Fit(
            coords=coords,
            uncertainty=information if unit == 1.0 else InUnit(information, model),
            population=Population(0.0, unit),
            log_likelihood=found.expectation.log_likelihood,
            iterations=found.iterations,
            converged=found.converged,
            notes=() if found.converged else (_unfinished(found),),
        )


def upright(model: MeasurementModel, found: Ascent) -> Ascent:
    """Turn the scale so that higher ability goes with more right responses.

    The responses as a whole decide; no single item does.
    """
    xp = array_namespace(found.coords)
    if float(xp.sum(found.expectation.products)) >= 0:
        return found
    coords = model.rescale(found.coords, 0.0, -1.0)
    low, high = float(found.nodes.fine[0]), float(found.nodes.fine[-1])
    return replace(found, coords=coords, nodes=plan_nodes(model, coords, reach=(-high, -low)))


def _unfinished(found: Ascent) -> str:
    return (
        f"Not converged: after {found.iterations} iterations about {found.decrement:.1g} of "
        "log-likelihood is still to be gained. Some items are nearly undetermined; use priors, "
        "a model with fewer parameters, or more respondents. Raising max_iterations seldom helps."
    )
