"""The EM engine: marginal maximum likelihood, or its penalised form with priors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from ogive._progress import Progress, silent
from ogive.data.scan import OpenedRows
from ogive.errors import InputError
from ogive.irt.encoded_responses import Encoded, encode, encode_stored
from ogive.irt.estimation.ascent import ascend
from ogive.irt.estimation.cluster import check_client, sent
from ogive.irt.estimation.convergence import (
    bend_along,
    checkable,
    highest_along,
    nested,
    on_own_scale,
    scale_note,
    unfinished,
    upright,
    worth,
)
from ogive.irt.estimation.e_step import expect_generally, with_moments
from ogive.irt.estimation.em_state import MOST_BY_CHANCE, Ascent, Task
from ogive.irt.estimation.empirical_bayes import (
    Density,
    ShapeTest,
    pool,
    poolable,
    widened,
    with_unknown_shape,
)
from ogive.irt.estimation.fit import Fit, check_settings, gathered_base, log_base
from ogive.irt.estimation.latent_scale import Held
from ogive.irt.estimation.multistart import factor_start, start
from ogive.irt.estimation.standard_errors import (
    MOST_ROWS,
    DeferredCovariances,
    Inverse,
    WholeInformation,
    in_unit,
    observed_inverse,
    sandwich,
)
from ogive.irt.item_covariances import KnownCovariances, PooledItems
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import HistogramPopulation, Nodes, NormalPopulation
from ogive.stats.array_backend import Array, Floats, as_numpy, workers
from ogive.stats.newton import Anderson

MOST_ON_HOST = 4_000  # items; on a device, steps of so few wait for it, not for the work
ROUGH = 1.0  # Newton decrement at which a start with priors is good enough to drop them
SETTLED = 1e-3  # nats by which a better shape of the population no longer counts

UPSIDE_DOWN = (
    "Higher ability goes with lower scores: the model fits these responses better that way round. "
    "Read the scale from its other end, or use the continuous model."
)
SHAPED = "The shape of the population was fitted, too: AIC and BIC do not count it as parameters."
ROBUST = (
    "Standard errors are robust (sandwich, by respondent): they also hold where responses of one "
    "respondent depend on each other beyond ability. Estimates are what they would be without, and "
    "no standard error covers their bias: see local_dependence() and respondent_fit()."
)
ERRORS = ("model", "robust")
POPULATIONS = ("normal", "histogram", "auto")


@dataclass(frozen=True)
class EM:
    """Settings of the EM engine; nothing is stored while it runs.

    It stops when the Newton decrement, the log-likelihood still to be gained in nats, is at
    most `tolerance`. `population` is "normal", "histogram" for a distribution of abilities of any
    shape, or "auto" for a histogram where a test refutes the normal shape. `device` is None for
    NumPy, or a torch device such as "cuda". `n_jobs` threads share the rows; the result does not
    depend on their number. `client` is a `distributed.Client`: its workers hold the responses
    and do the E-steps. `se` is "model" for standard errors from the information, which take the
    model as true, or "robust" for the sandwich (White, 1982), which does not.

    Marginal maximum likelihood (Bock and Aitkin, 1981).

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, "2pl", engine=og.EM(tolerance=1e-9)).converged
    True
    """

    name: ClassVar[str] = "em"

    tolerance: float = 1e-6
    max_iterations: int = 200
    population: Literal["normal", "histogram", "auto"] = "normal"
    se: Literal["model", "robust"] = "model"
    device: str | None = None
    n_jobs: int | None = None
    client: Any = None

    def __post_init__(self) -> None:
        check_settings(self.tolerance, self.max_iterations)
        if self.population not in POPULATIONS:
            raise InputError(
                f"population is {self.population!r}; give 'normal', 'histogram' for a "
                "distribution of any shape, or 'auto' for one where the normal does not fit."
            )
        if self.se not in ERRORS:
            raise InputError(
                f"se is {self.se!r}; give 'model' for standard errors that take the model as "
                "true, or 'robust' for ones that do not."
            )

    def fit(
        self,
        cells: np.ndarray | OpenedRows,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        held: Held | None = None,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Encode the responses, climb, and fix sign and unit of the scale.

        Items that are `held` stay where a bank has them and give the scale.
        """
        by_moments = model.normal and self.population != "histogram"
        with workers(self.n_jobs) as run:
            if self.client is not None:
                cells = self._sent(cells, tries)
            if isinstance(cells, OpenedRows):
                complete = cells.seen.n_missing == 0
                data = encode_stored(cells.rows, model, weights, self.device, complete=complete)
                base = gathered_base(data, model, run)
            else:
                data = encode(cells, model, weights, self.device, lazy=by_moments, tries=tries)
                counted = np.ones(len(cells)) if weights is None else weights
                base = log_base(cells, model, counted, run)
            if by_moments:
                data = with_moments(data, run)
            task, said = Task(data, model, run, progress, held=held), ""
            in_full = task.outnumbered
            found = self.climb(replace(task, in_full=in_full))
            if held is not None:
                return self._known(self._on_bank(data, model, found, base, held))
            found = self._upright(task, found)
            if in_full:
                found, said = on_own_scale(task, found), scale_note(data)
            elif self.population != "normal":
                task, found, said = self._shaped(task, found)
            elif model.affine and found.converged and found.expectation.mass is not None:
                said = ShapeTest.of(found.nodes, found.expectation).advice
        return self._known(self._expressed(task.data, model, found, base, said))

    def _known(self, fit: Fit) -> Fit:
        """The fit; of rows on a cluster with its standard errors, since the cluster may go."""
        if self.client is not None:
            _ = fit.uncertainty.covariances, fit.uncertainty.pooled
        return fit

    def _sent(self, cells: np.ndarray | OpenedRows, tries: np.ndarray | None) -> OpenedRows:
        """Return the rows on the workers of the cluster, if they are not there yet."""
        check_client(self.client)
        if isinstance(cells, OpenedRows):
            return cells
        if tries is not None:
            raise InputError(
                "Repeated answers are calibrated on one machine: leave client out of the engine."
            )
        return sent(self.client, cells)

    def _most(self, task: Task) -> int:
        """Return as many iterations as a task is worth."""
        return min(self.max_iterations, MOST_BY_CHANCE) if task.by_chance else self.max_iterations

    def climb(self, task: Task) -> Ascent:
        """Go up from the first principal component, or from the maximum itself where it is known.

        Without priors, a curve with asymptotes has many maxima, most of them worthless. The way
        to a good one leads past the penalised maximum, and on from there with asymptotes at
        their bounds: the nested model, which they then leave only where that pays. Should that
        end lower than it began, or should the table be small, the way from the penalised maximum
        itself is tried as well.
        """
        model = task.model
        begin = factor_start(task.data, model)
        begin = start(task.data, model) if begin is None else begin
        if len(begin) <= MOST_ON_HOST:
            begin = as_numpy(begin)
        if task.held is not None:
            begin = task.held.begin(model, begin)
        regular = model.regularised()
        if model.linear or model.normal or regular == model:
            return self._ascend(task, begin)
        past = self._ascend(replace(task, model=regular), begin, tolerance=ROUGH)
        best, count = replace(past, converged=False), past.iterations
        small = checkable(task.data, model)
        for onward in (nested(model, past.coords), past.coords):
            if count >= self._most(task):
                break
            if task.held is not None:
                onward = task.held.keep(model, past.coords, onward)
            found = self._look_again(task, self._ascend(task, onward, count))
            count = found.iterations
            ended = found.converged or not best.converged
            if ended and worth(found, model) >= worth(best, model):
                best = found
            if best is found and not (small and 2 * count < self._most(task)):
                break
        return replace(best, iterations=count)

    def _look_again(self, task: Task, found: Ascent) -> Ascent:
        """Go on where single items have higher maxima than those at which they came to rest."""
        while task.held is None and found.iterations < self._most(task):
            begin, gain = task.second_look(found)
            if gain < SETTLED:
                break
            found = self._ascend(task, begin, found.iterations, near=found.nodes)
        return found

    def _ascend(
        self,
        task: Task,
        begin: Array,
        before: int = 0,
        tolerance: float | None = None,
        near: Nodes | None = None,
    ) -> Ascent:
        """Return iterations `before` these count, in what is reported and in what is left to do."""
        found = ascend(
            task.after(before),
            begin,
            tolerance=tolerance or self.tolerance,
            most=self._most(task) - before,
            near=near,
        )
        found = replace(found, iterations=before + found.iterations)
        rough = not found.converged or tolerance is not None
        # Saddles come from items that have nothing in common; held ones have their scale.
        if rough or task.held is not None or not checkable(task.data, task.model):
            return found
        return self._off_saddle(task, found)

    def _off_saddle(self, task: Task, found: Ascent) -> Ascent:
        """Go on where the iterations came to rest at a saddle: mixing finds those, too."""
        whole = _whole_information(task, found)
        way = whole.way_up()
        if way is None:
            return replace(found, information=whole)
        begin = highest_along(task, found, way)
        if begin is None or found.iterations >= self._most(task):
            return replace(found, converged=False, at_saddle=begin is None)
        return self._ascend(task, begin, found.iterations, near=found.nodes)

    def _upright(self, task: Task, found: Ascent) -> Ascent:
        """Return the scale the right way up; where turning changes the curves, by another climb."""
        if task.model.affine or found.expectation.alignment >= 0:
            turned = upright(task, found)
            if turned is found or found.information is None:
                return turned
            return replace(turned, information=_whole_information(task, turned))
        if found.iterations >= self._most(task):
            return found
        turned = self._ascend(task, task.model.rescale(found.coords, 0.0, -1.0), found.iterations)
        return turned if turned.expectation.alignment >= 0 else found

    def _shaped(self, task: Task, found: Ascent) -> tuple[Task, Ascent, str]:
        """The fit with a shape of its own, if it is asked for or needed, and why it is needed."""
        general = found
        if found.expectation.mass is None:
            mass = expect_generally(task.data, task.model, found.coords, found.nodes, task.run)
            general = replace(found, expectation=mass)
        test = ShapeTest.of(general.nodes, general.expectation)
        if self.population == "auto" and not test.refutes:
            return task, found, ""
        task = replace(task, data=replace(task.data, moments=None))  # enough for a normal one only
        return task, self._shape(task, general), test.said if self.population == "auto" else ""

    def _shape(self, task: Task, found: Ascent) -> Ascent:
        """Fit the population to the posterior mass and the items to the population, in turn."""
        density = Density.of(task.population, standard=task.model.affine)
        mixing, height = Anderson(), -np.inf
        while found.iterations < self._most(task):
            density = density.fitted(found.nodes, found.expectation, mixing)
            task = replace(task, population=density.population)
            count = found.iterations
            left = self._most(task) - count
            found = ascend(task.after(count), found.coords, tolerance=SETTLED, most=left)
            found = replace(found, iterations=count + found.iterations)
            last, height = height, found.expectation.log_likelihood - density.roughness
            if height < last - SETTLED:
                mixing.forget()
            elif height - last < SETTLED:
                if found.iterations >= self._most(task):
                    break
                return self._ascend(task, found.coords, found.iterations)
        return replace(found, converged=False)

    def _expressed(
        self, data: Encoded, model: MeasurementModel, found: Ascent, base: float, said: str
    ) -> Fit:
        """Return the fit on the scale on which the model reports its items."""
        coords, unit = model.reported(as_numpy(found.coords))

        def covariances() -> KnownCovariances:
            known = self._covariances(data, model, found)
            return known if unit == 1.0 else in_unit(known, model)

        def pooled(known: Callable[[], KnownCovariances]) -> PooledItems | None:
            return pool(task, found) if model.affine else widened(task, found, known())

        task = Task(data, model, population=found.population)
        vague = poolable(task) and self.se != "robust"
        return Fit(
            coords=coords,
            uncertainty=DeferredCovariances(covariances, pooled if vague else None),
            population=found.population.moved(0.0, 1 / unit),
            log_likelihood=found.expectation.log_likelihood + base,
            iterations=found.iterations,
            converged=found.converged,
            undetermined=as_numpy(found.undetermined),
            encoded=None if self.device is None or data.merged else data,
            notes=(
                *([said] if said else []),
                *self._remarks(),
                *([SHAPED] if isinstance(found.population, HistogramPopulation) else []),
                *([] if model.affine or found.expectation.alignment >= 0 else [UPSIDE_DOWN]),
                *([] if found.converged else [unfinished(task, found)]),
            ),
        )

    def _on_bank(
        self, data: Encoded, model: MeasurementModel, found: Ascent, base: float, held: Held
    ) -> Fit:
        """Return the fit on the scale of the items that were held."""
        coords = as_numpy(found.coords)
        mean, sd = held.place(model, coords)

        def covariances() -> KnownCovariances:
            known = self._covariances(data, model, found, held)
            return held.errors_on_bank(model, coords, known, mean, sd)

        return Fit(
            coords=held.on_bank(model, coords, mean, sd),
            uncertainty=DeferredCovariances(covariances),
            population=NormalPopulation(mean, abs(sd)),  # a scale seen from behind is the same
            log_likelihood=found.expectation.log_likelihood + base,
            iterations=found.iterations,
            converged=found.converged,
            undetermined=as_numpy(found.undetermined) & ~held.mask,
            notes=(
                *self._remarks(),
                *([] if found.converged else [unfinished(Task(data, model, held=held), found)]),
            ),
        )

    def _remarks(self) -> tuple[str, ...]:
        """Return what a reader of standard errors should know."""
        return (ROBUST,) if self.se == "robust" else ()

    def _covariances(
        self, data: Encoded, model: MeasurementModel, found: Ascent, held: Held | None = None
    ) -> KnownCovariances:
        """Return covariances on the scale on which the engine worked."""
        coords, nodes, seen = found.coords, found.nodes, found.expectation
        with workers(self.n_jobs) as run:
            if found.information is not None:
                inverse: Inverse = found.information.inverse(model, coords, seen, held)
            else:
                inverse = observed_inverse(
                    data, model, coords, nodes, seen, found.population, held, run
                )
            if self.se == "robust":
                thinned = data.thinned(MOST_ROWS)
                errors = sandwich(inverse, thinned, model, coords, nodes, held, run)
            else:
                errors = inverse.errors()
        if model.affine and isinstance(found.population, HistogramPopulation):
            return with_unknown_shape(errors, data, model, coords, nodes, seen)
        return errors


def _whole_information(task: Task, found: Ascent) -> WholeInformation:
    """Return the information on all items where the iterations came to rest."""
    whole = WholeInformation.at(
        task.data, task.model, found.coords, found.nodes, found.expectation, task.run
    )
    return whole.checked(partial(bend_along, task, found))
