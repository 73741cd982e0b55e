"""The EM engine: its settings, and the stages of a fit around the EM loop (`em`).

Encode the responses; start; run EM, restart single items and leave saddle points; fix the sign of
the scale; if asked, fit the shape of the population; report items with their standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ogive._progress import Progress, silent
from ogive.errors import InputError
from ogive.irt.encoded_responses import Encoded, encode, encode_stored
from ogive.irt.estimation.cluster import check_client, sent
from ogive.irt.estimation.e_step import expect_generally, with_moments
from ogive.irt.estimation.em import maximize
from ogive.irt.estimation.empirical_bayes import (
    Density,
    ShapeTest,
    can_pool,
    pool,
    widened,
    with_unknown_shape,
)
from ogive.irt.estimation.engine import (
    DeferredCovariances,
    Fit,
    check_settings,
    gathered_base,
    log_base,
)
from ogive.irt.estimation.identifiability import LEAST_RESPONDENTS
from ogive.irt.estimation.latent_scale import FixedItems
from ogive.irt.estimation.multistart import (
    at_lower_bounds,
    best_along,
    component_start,
    factor_start,
    fix_sign,
    has_local_maxima,
    restart_items,
    small_enough_to_check,
    whole_information,
)
from ogive.irt.estimation.objective import (
    MAX_ITER_BY_CHANCE,
    Problem,
    Solution,
    evaluate_objective,
)
from ogive.irt.estimation.standard_errors import Inverse, in_unit, observed_inverse, sandwich
from ogive.irt.item_covariances import KnownCovariances, PooledItems
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import HistogramPopulation, Nodes, NormalPopulation
from ogive.irt.response_matrix import is_opened
from ogive.stats.array_backend import Array, Floats, as_numpy, workers
from ogive.stats.newton import Anderson

if TYPE_CHECKING:
    from ogive.data.scan import OpenedRows

# Keep the parameters of up to this many items on the CPU: GPU launch overhead would dominate.
MAX_ITEMS_ON_HOST = 4_000
ROUGH_TOLERANCE = 1.0  # Newton decrement at which a start with priors is good enough to drop them
MIN_GAIN = 1e-3  # nats by which a better population shape, or other maxima, must be higher
LEAST_UNIT = 0.1  # smallest standard deviation of respondents that defines the unit

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
                "`population` must be 'normal', 'histogram' (a distribution of any shape) or "
                f"'auto' (a histogram if the normal does not fit), got {self.population!r}."
            )
        if self.se not in ERRORS:
            raise InputError(
                "`se` must be 'model' (standard errors that take the model as true) or 'robust' "
                f"(ones that do not), got {self.se!r}."
            )

    def fit(
        self,
        cells: np.ndarray | OpenedRows,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        held: FixedItems | None = None,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Encode the responses, maximize, and fix sign and unit of the scale.

        Items that are `held` stay where a bank has them and define the scale.
        """
        by_moments = model.normal and self.population != "histogram"
        with workers(self.n_jobs) as run:
            if self.client is not None:
                cells = self._sent(cells, tries)
            if is_opened(cells):
                complete = cells.seen.n_missing == 0
                data = encode_stored(cells.rows, model, weights, self.device, complete=complete)
                base = gathered_base(data, model, run)
            else:
                data = encode(cells, model, weights, self.device, lazy=by_moments, tries=tries)
                row_weights = np.ones(len(cells)) if weights is None else weights
                base = log_base(cells, model, row_weights, run)
            if by_moments:
                data = with_moments(data, run)
            problem, note = Problem(data, model, run, progress, fixed_items=held), ""
            in_full = problem.outnumbered
            solution = self.maximize(replace(problem, priors_in_full=in_full))
            if held is not None:
                fit = self._fit(problem, solution, base)
                return self._with_errors_if_remote(fit)
            solution = self._fix_sign(problem, solution)
            if in_full:
                solution, note = standardize_respondents(problem, solution), scale_note(data)
            elif self.population != "normal":
                problem, solution, note = self._fit_shape_if_needed(problem, solution)
            elif model.affine and solution.converged and solution.expectation.mass is not None:
                note = ShapeTest.of(solution.nodes, solution.expectation).advice
        return self._with_errors_if_remote(self._fit(problem, solution, base, note))

    def _with_errors_if_remote(self, fit: Fit) -> Fit:
        """Compute standard errors now if rows are on a cluster, which may be closed later."""
        if self.client is not None:
            _ = fit.uncertainty.covariances, fit.uncertainty.pooled
        return fit

    def _sent(self, cells: np.ndarray | OpenedRows, tries: np.ndarray | None) -> OpenedRows:
        """Return the rows on the workers of the cluster."""
        check_client(self.client)
        if is_opened(cells):
            return cells
        if tries is not None:
            raise InputError(
                "Repeated answers are calibrated on one machine: leave client out of the engine."
            )
        return sent(self.client, cells)

    def _max_iter(self, problem: Problem) -> int:
        if problem.by_chance:
            return min(self.max_iterations, MAX_ITER_BY_CHANCE)
        return self.max_iterations

    def maximize(self, problem: Problem) -> Solution:
        """Maximize from the first principal component, or from a known maximum nearby.

        Without priors, a curve with asymptotes has many maxima, most of them worthless. The way to
        a good one goes by the penalized maximum, and from there with asymptotes at their bounds,
        the nested model, which they then leave only if that pays. If that ends lower than it
        began, or the table is small, the penalized maximum itself is tried as a start as well.
        """
        model = problem.model
        start = factor_start(problem.data, model)
        start = component_start(problem.data, model) if start is None else start
        if len(start) <= MAX_ITEMS_ON_HOST:
            start = as_numpy(start)
        if problem.fixed_items is not None:
            start = problem.fixed_items.start(model, start)
        with_priors = model.regularised()
        if model.linear or model.normal or with_priors == model:
            return self._run(problem, start)
        penalized = self._run(replace(problem, model=with_priors), start, tolerance=ROUGH_TOLERANCE)
        best, iterations = replace(penalized, converged=False), penalized.iterations
        small = small_enough_to_check(problem.data, model)
        for start in (at_lower_bounds(model, penalized.coords), penalized.coords):
            if iterations >= self._max_iter(problem):
                break
            if problem.fixed_items is not None:
                start = problem.fixed_items.keep(model, penalized.coords, start)
            solution = self._run_with_restarts(problem, start, iterations)
            iterations = solution.iterations
            acceptable = solution.converged or not best.converged
            if acceptable and solution.objective(model) >= best.objective(model):
                best = solution
            if best is solution and not (small and 2 * iterations < self._max_iter(problem)):
                break
        return replace(best, iterations=iterations)

    def _run_with_restarts(self, problem: Problem, start: Array, iterations: int) -> Solution:
        """Run EM, and again while single items have higher maxima than those they converged to."""
        model = problem.model
        solution = self._run(problem, start, iterations)
        while problem.fixed_items is None and solution.iterations < self._max_iter(problem):
            expectation = solution.expectation
            if expectation.tables is None or not has_local_maxima(model):
                break
            iterate = evaluate_objective(model, solution.coords, expectation)
            correction = iterate.prior_grad_correction
            start, gain = restart_items(
                model, solution.coords, expectation.tables, correction, problem.run
            )
            if gain < MIN_GAIN:
                break
            solution = self._run(problem, start, solution.iterations, near=solution.nodes)
        return solution

    def _run(
        self,
        problem: Problem,
        start: Array,
        iterations: int = 0,
        tolerance: float | None = None,
        near: Nodes | None = None,
    ) -> Solution:
        """Run EM after `iterations` earlier ones, and again from saddle points."""
        solution = maximize(
            replace(problem, before=iterations),
            start,
            tolerance=tolerance or self.tolerance,
            max_iter=self._max_iter(problem) - iterations,
            near=near,
        )
        solution = replace(solution, iterations=iterations + solution.iterations)
        rough = not solution.converged or tolerance is not None
        # Saddles come from items that have nothing in common; fixed items have their scale.
        checkable = small_enough_to_check(problem.data, problem.model)
        if rough or problem.fixed_items is not None or not checkable:
            return solution
        information = whole_information(problem, solution)
        direction = information.ascent_direction()
        if direction is None:
            return replace(solution, information=information)
        start_off_saddle = best_along(problem, solution, direction)
        if start_off_saddle is None or solution.iterations >= self._max_iter(problem):
            return replace(solution, converged=False, at_saddle=start_off_saddle is None)
        return self._run(problem, start_off_saddle, solution.iterations, near=solution.nodes)

    def _fix_sign(self, problem: Problem, solution: Solution) -> Solution:
        """Return the scale with the right sign; if curves change with it, by another run."""
        if problem.model.affine or solution.expectation.alignment >= 0:
            reflected = fix_sign(problem, solution)
            if reflected is solution or solution.information is None:
                return reflected
            return replace(reflected, information=whole_information(problem, reflected))
        if solution.iterations >= self._max_iter(problem):
            return solution
        start = problem.model.rescale(solution.coords, 0.0, -1.0)
        reflected = self._run(problem, start, solution.iterations)
        return reflected if reflected.expectation.alignment >= 0 else solution

    def _fit_shape_if_needed(
        self, problem: Problem, solution: Solution
    ) -> tuple[Problem, Solution, str]:
        """Fit the shape of the population if it is asked for, or needed; say why it is needed."""
        general = solution
        if solution.expectation.mass is None:
            expectation = expect_generally(
                problem.data, problem.model, solution.coords, solution.nodes, problem.run
            )
            general = replace(solution, expectation=expectation)
        test = ShapeTest.of(general.nodes, general.expectation)
        if self.population == "auto" and not test.refutes:
            return problem, solution, ""
        # Moments are sufficient for a normal population only.
        problem = replace(problem, data=replace(problem.data, moments=None))
        note = test.note if self.population == "auto" else ""
        return problem, self._fit_shape(problem, general), note

    def _fit_shape(self, problem: Problem, solution: Solution) -> Solution:
        """Fit the population to the posterior mass and the items to the population, in turn."""
        density = Density.of(problem.population, standard=problem.model.affine)
        anderson, value = Anderson(), -np.inf
        max_iter = self._max_iter(problem)
        while solution.iterations < max_iter:
            density = density.fitted(solution.nodes, solution.expectation, anderson)
            problem = replace(problem, population=density.population)
            count = solution.iterations
            solution = maximize(
                replace(problem, before=count),
                solution.coords,
                tolerance=MIN_GAIN,
                max_iter=max_iter - count,
            )
            solution = replace(solution, iterations=count + solution.iterations)
            last, value = value, solution.expectation.log_likelihood - density.roughness
            if value < last - MIN_GAIN:
                anderson.forget()
            elif value - last < MIN_GAIN:
                if solution.iterations >= max_iter:
                    break
                return self._run(problem, solution.coords, solution.iterations)
        return replace(solution, converged=False)

    def _fit(self, problem: Problem, solution: Solution, base: float, note: str = "") -> Fit:
        """Return the fit on the scale on which items are reported."""
        model, data, fixed_items = problem.model, problem.data, problem.fixed_items
        coords, alignment = as_numpy(solution.coords), solution.expectation.alignment
        undetermined = as_numpy(solution.undetermined)
        problem = Problem(data, model, population=solution.population, fixed_items=fixed_items)
        if fixed_items is None:
            reported, unit = model.reported(coords)
            population = solution.population.moved(0.0, 1 / unit)
        else:
            mean, sd = fixed_items.population_place(model, coords)
            reported = fixed_items.to_bank_scale(model, coords, mean, sd)
            population = NormalPopulation(mean, abs(sd))  # a reflected scale has the same sd
            undetermined = undetermined & ~fixed_items.mask

        def covariances() -> KnownCovariances:
            errors = self._covariances(problem, solution)
            if fixed_items is not None:
                return fixed_items.errors_on_bank(model, coords, errors, mean, sd)
            return errors if unit == 1.0 else in_unit(errors, model)

        def pooled(errors: Callable[[], KnownCovariances]) -> PooledItems | None:
            if model.affine:
                return pool(problem, solution)
            return widened(problem, solution, errors())

        upside_down = not model.affine and alignment < 0
        is_histogram = isinstance(solution.population, HistogramPopulation)
        notes = {
            note: bool(note),
            ROBUST: self.se == "robust",
            SHAPED: is_histogram,
            UPSIDE_DOWN: upside_down and fixed_items is None,
            not_converged_note(problem, solution): not solution.converged,
        }
        vague = can_pool(problem) and self.se != "robust"
        on_device = self.device is not None and not data.merged and fixed_items is None
        return Fit(
            coords=reported,
            uncertainty=DeferredCovariances(covariances, pooled if vague else None),
            population=population,
            log_likelihood=solution.expectation.log_likelihood + base,
            iterations=solution.iterations,
            converged=solution.converged,
            undetermined=undetermined,
            notes=tuple(text for text, applies in notes.items() if applies),
            encoded=data if on_device else None,
        )

    def _covariances(self, problem: Problem, solution: Solution) -> KnownCovariances:
        """Return covariances on the scale on which the engine worked."""
        with workers(self.n_jobs) as run:
            problem = replace(problem, run=run)
            if solution.information is not None:
                inverse: Inverse = solution.information.inverse(problem, solution)
            else:
                inverse = observed_inverse(problem, solution)
            if self.se == "robust":
                errors = sandwich(inverse, problem, solution)
            else:
                errors = inverse.errors()
        if problem.model.affine and isinstance(problem.population, HistogramPopulation):
            return with_unknown_shape(errors, problem, solution)
        return errors


def standardize_respondents(problem: Problem, solution: Solution) -> Solution:
    """Return the solution on the scale on which the respondents have mean 0 and sd 1.

    For a few respondents and many times as many items. Priors that count in full stretch the scale
    by as much as there are items. The population moves along, so that the fit is the same.
    """
    mass, points = solution.expectation.mass, solution.nodes.fine
    if mass is None:
        return solution
    mean = float(mass @ points / mass.sum())
    unit = max(float(np.sqrt(mass @ (points - mean) ** 2 / mass.sum())), LEAST_UNIT)
    coords = problem.model.rescale(solution.coords, mean, unit)
    population = solution.population.moved(mean, unit)
    problem = replace(problem, population=population)
    nodes = problem.plan(coords, tuple((solution.nodes.fine[[0, -1]] - mean) / unit))
    return replace(
        solution,
        coords=coords,
        nodes=nodes,
        expectation=problem.expect(problem.data, coords, nodes),
        information=None,
        population=population,
    )


def scale_note(data: Encoded) -> str:
    """Return the sentence that says where the scale of a few respondents comes from."""
    return (
        f"{data.shape[1]:,} items for {data.n_respondents:g} respondents: too few to tell how "
        "abilities are spread. The scale is theirs (mean 0, standard deviation 1), and what "
        "the items' priors leave open of it is held by them."
    )


def not_converged_note(problem: Problem, solution: Solution) -> str:
    """Return the note on a fit that did not converge."""
    begin = f"Not converged after {solution.iterations} iterations: "
    if problem.saturated and problem.by_chance:
        return begin + (
            f"each item has {problem.model.width} parameters for "
            f"{problem.data.n_respondents:g} respondents, and no priors, so a longer climb would "
            "fit chance. Use priors or a model with fewer parameters."
        )
    if problem.by_chance:
        return begin + (
            f"with fewer than {LEAST_RESPONDENTS} respondents, a longer climb would fit chance. "
            "Only more respondents will do."
        )
    if solution.at_saddle:
        return begin + (
            "it came to rest where the likelihood still bends upwards, and no way up was found. "
            "Items have too little in common; only more respondents or a model with fewer "
            "parameters will do."
        )
    no_priors = any(c.prior is None for c in problem.model.coordinates)
    advice = "priors" if no_priors else "more respondents"
    return begin + (
        f"about {solution.decrement:.1g} of log-likelihood is still to be gained. Allow more with "
        "max_iterations; where some items are nearly undetermined, only "
        f"{advice} or a model with fewer parameters will do."
    )
