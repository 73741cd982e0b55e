"""The EM engine: marginal maximum likelihood, or its penalised form with priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import DeferredCovariances
from itemwise.estimation.ascent import Ascent, ascend
from itemwise.estimation.engine import Fit, Progress, check_settings
from itemwise.estimation.expectation import expect
from itemwise.estimation.information import (
    MOST_EXACT,
    WholeInformation,
    in_unit,
    observed_covariances,
)
from itemwise.estimation.maximization import keep_inside, log_penalty
from itemwise.estimation.start import start
from itemwise.models.base import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from itemwise.numerics.blocks import Run, workers
from itemwise.responses.encoding import Encoded, encode
from itemwise.scoring.likelihood import Population, plan_nodes

MOST_CHECKED = 20_000_000  # rows x numbers²: a check this large takes some hundredths of a second
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
        check_settings(self.tolerance, self.max_iterations)

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
            found = upright(data, model, self.climb(data, model, run, progress), run)
        return self._expressed(data, model, found)

    def climb(
        self, data: Encoded, model: MeasurementModel, run: Run, progress: Progress | None = None
    ) -> Ascent:
        """Go up from the first principal component.

        Without priors, a curve with asymptotes has many maxima, most of them worthless. The way
        to a good one leads past the penalised maximum, and on from there with asymptotes at
        their bounds: the nested model, which they then leave only where that pays. Should that
        end lower than it began, the way goes on from the penalised maximum itself.
        """
        begin = start(data, model)
        regular = model.regularised()
        if model.linear or regular == model:
            return self._ascend(data, model, begin, run, progress)
        past = self._ascend(data, regular, begin, run, progress, tolerance=ROUGH)
        best = replace(past, converged=False)
        for onward in (nested(model, past.coords), past.coords):
            if best.iterations >= self.max_iterations:
                break
            found = self._ascend(data, model, onward, run, progress, best.iterations)
            if found.expectation.log_likelihood >= past.expectation.log_likelihood:
                return found
            best = replace(best, iterations=found.iterations)
        return best

    def _ascend(
        self,
        data: Encoded,
        model: MeasurementModel,
        begin: Array,
        run: Run,
        progress: Progress | None,
        before: int = 0,
        tolerance: float | None = None,
    ) -> Ascent:
        """Iterations `before` these count, in what is reported and in what is left to do."""

        def tell(iteration: int, log_likelihood: float, decrement: float) -> None:
            if progress is not None:
                progress(before + iteration, log_likelihood, decrement)

        found = ascend(
            data,
            model,
            begin,
            tolerance=tolerance or self.tolerance,
            most=self.max_iterations - before,
            run=run,
            progress=tell,
        )
        found = replace(found, iterations=before + found.iterations)
        if not found.converged or tolerance is not None or not checkable(data, model):
            return found
        return self._off_saddle(data, model, found, run, progress)

    def _off_saddle(
        self,
        data: Encoded,
        model: MeasurementModel,
        found: Ascent,
        run: Run,
        progress: Progress | None,
    ) -> Ascent:
        """Go on where the iterations came to rest at a saddle: mixing finds those, too."""
        whole = WholeInformation.at(data, model, found.coords, found.nodes, found.expectation, run)
        way = whole.way_up()
        if way is None:
            return replace(found, information=whole)
        begin = highest_along(data, model, found, way, run)
        if begin is None or found.iterations >= self.max_iterations:
            return replace(found, converged=False)
        return self._ascend(data, model, begin, run, progress, found.iterations)

    def _expressed(self, data: Encoded, model: MeasurementModel, found: Ascent) -> Fit:
        """The fit on the scale on which the model reports its items."""
        coords = as_numpy(found.coords)
        unit = model.unit(coords)

        def covariances() -> Floats:
            if found.information is not None:
                known = found.information.covariances(coords.shape[0])
            else:
                known = observed_covariances(
                    data, model, found.coords, found.nodes, self.n_jobs, found.expectation
                )
            return known if unit == 1.0 else in_unit(known, model)

        return Fit(
            coords=coords if unit == 1.0 else model.rescale(coords, 0.0, 1 / unit),
            uncertainty=DeferredCovariances(covariances),
            population=Population(0.0, unit),
            log_likelihood=found.expectation.log_likelihood,
            iterations=found.iterations,
            converged=found.converged,
            notes=() if found.converged else (_unfinished(model, found),),
        )


def checkable(data: Encoded, model: MeasurementModel) -> bool:
    """Whether the table is small enough to look at its whole information.

    Saddles are a matter of small tables, and of items that have next to nothing in common.
    """
    n_rows, n_items = data.shape
    numbers = n_items * model.width
    return numbers <= MOST_EXACT and n_rows * numbers**2 <= MOST_CHECKED


def highest_along(
    data: Encoded, model: MeasurementModel, found: Ascent, way: Floats, run: Run
) -> Array | None:
    """The best of some points along `way`, both ways; None where none is higher."""
    xp = array_namespace(found.coords)
    direction = like(way.reshape(found.coords.shape), found.coords)

    def height(coords: Array) -> float:
        value = expect(data, model, coords, found.nodes, run).log_likelihood
        return value + float(xp.sum(log_penalty(model, coords)))

    points = [
        keep_inside(model, found.coords, found.coords + length * direction)
        for length in (-4.0, -1.0, -0.5, -0.2, -0.05, 0.05, 0.2, 0.5, 1.0, 4.0)
    ]
    heights = [height(point) for point in points]
    best = int(np.argmax(heights))
    return points[best] if heights[best] > height(found.coords) else None


def nested(model: MeasurementModel, coords: Array) -> Array:
    """`coords` with every bounded coordinate that has no prior at its lower bound, if that is 0."""
    xp = array_namespace(coords)
    columns = [
        xp.zeros_like(coords[:, k]) if c.prior is None and c.low == 0 else coords[:, k]
        for k, c in enumerate(model.coordinates)
    ]
    return xp.stack(columns, axis=1)


def upright(data: Encoded, model: MeasurementModel, found: Ascent, run: Run) -> Ascent:
    """Turn the scale so that higher ability goes with more right responses.

    The responses as a whole decide, by the covariance of ability with the response among those
    who were asked; no single item does.
    """
    if found.expectation.alignment >= 0:
        return found
    coords = model.rescale(found.coords, 0.0, -1.0)
    low, high = float(found.nodes.fine[0]), float(found.nodes.fine[-1])
    nodes = plan_nodes(model, coords, reach=(-high, -low))
    turned = expect(data, model, coords, nodes, run)
    return replace(found, coords=coords, nodes=nodes, expectation=turned, information=None)


def _unfinished(model: MeasurementModel, found: Ascent) -> str:
    bare = any(c.prior is None for c in model.coordinates)
    advice = "priors" if bare else "more respondents"
    return (
        f"Not converged after {found.iterations} iterations: about {found.decrement:.1g} of "
        "log-likelihood is still to be gained. Allow more with max_iterations; where some items "
        f"are nearly undetermined, only {advice} or a model with fewer parameters will do."
    )
