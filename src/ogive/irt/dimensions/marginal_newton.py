"""Maximum likelihood in several dimensions: starting values, penalty, and Newton's method.

Quadrature nodes move with the posteriors. A run begins on coarse nodes with guiding priors,
because a likelihood without priors has poor maxima where coarse nodes miss steep curves, and goes
on without them on finer nodes until the integral is exact enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ogive._progress import at_stage
from ogive.irt.dimensions.adaptive_quadrature import (
    MAX_GRID_DIMENSIONS,
    PosteriorMoments,
    Rule,
    grid_rule,
    sobol_rule,
)
from ogive.irt.dimensions.loading_pattern import ABSENT, Parameters, Pattern
from ogive.irt.dimensions.marginal_likelihood import (
    LikelihoodDerivatives,
    Missing,
    ResponseTable,
    cell_terms,
    likelihood_derivatives,
    log_likelihood,
)
from ogive.irt.dimensions.missing_information import (
    linear_missing_information,
    whole_missing_information,
)
from ogive.stats.array_backend import Floats, Run, evenly_spaced

LEAST_UNIT = 0.3  # smallest mean loading that is a unit of the scatter of loadings
CORRELATION_POWER = 1e-3  # power of |R| in the prior: keeps it regular, costs under 0.01 nats
MAX_STEP, MAX_CORRELATION_STEP = 1.0, 0.2
COARSE_TOLERANCE, TOLERANCE = 0.1, 1e-4  # nats left to gain, on coarse and on fine nodes
QUICK_TOLERANCE = 0.02  # nats left to gain in a fit that only predicts
MAX_ITER = 60
NODE_ERROR = 0.1  # nats by which a value may fall because its nodes have moved
INTEGRAL_TOLERANCE = 0.02  # nats
LARGE_ERROR = 0.5  # nats of an integral at which steps on too coarse nodes are taken back
ITER_PER_GRID = 4  # Newton steps between checks of the integral
FEW_ITEMS = 10  # items of a dimension below which posteriors are far from normal
ROWS_TO_CHECK = 200
MAX_WORK = 3e9  # products up to which all missing information is computed at every step
COARSE_POINTS = {1: 7, 2: 5, 3: 3, 4: 3}  # by number of dimensions
FINE_POINTS = {1: 15, 2: 9, 3: 5, 4: 5}
MAX_POINTS = {1: 61, 2: 31, 3: 13, 4: 5}
SOBOL_POINTS, MANY_SOBOL_POINTS = 256, 1024

LEAST_LOADING, MOST_LOADING = 0.2, 2.5  # sizes of loadings at the start
FIRST_CORRELATION = 0.5
SPECIFIC_SHARE = 0.5  # share of a loading on the specific dimension at the start
MAX_MODE_STEP = 2.0


@dataclass(frozen=True)
class Penalty:
    """Standard deviations of the priors; infinity for none.

    That of loadings is in units of the mean loading of their dimension, so that it does not inform
    on the unit of the scale: many priors would outweigh few respondents.
    """

    loading: float = np.inf  # about the mean of the dimension
    threshold: float = np.inf  # about 0
    correlation: float = CORRELATION_POWER  # power of the determinant

    def at_most(self, other: Penalty) -> Penalty:
        """Return the stronger of two in each part."""
        return Penalty(
            min(self.loading, other.loading),
            min(self.threshold, other.threshold),
            max(self.correlation, other.correlation),
        )


GUIDE = Penalty(1.0, 5.0, 0.5)  # priors of the first steps


@dataclass(frozen=True, eq=False)
class DimensionFit:
    """The end of a run."""

    table: ResponseTable
    params: Parameters
    penalty: Penalty
    derivatives: LikelihoodDerivatives
    rule: Rule
    log_likelihood: float
    integral_error: float  # nats by which a finer rule differs
    converged: bool

    @property
    def pattern(self) -> Pattern:
        """The pattern that was fitted."""
        return self.table.pattern


def maximize(
    codes: NDArray[np.int16],
    pattern: Pattern,
    penalty: Penalty,
    run: Run,
    start: tuple[Parameters, PosteriorMoments],
    *,
    quickly: bool = False,
    rule: Rule | None = None,
) -> DimensionFit:
    """Maximize on coarse nodes, then on finer ones until the integral is exact enough.

    `quickly` ends on the first nodes; with a `rule`, only these nodes are used.
    """
    table, (params, moments) = ResponseTable(codes, pattern), start
    width = pattern.n_dimensions if pattern.correlated else 2
    scattered = pattern.correlated and width > MAX_GRID_DIMENSIONS

    def first_rule(points: int) -> Rule:
        return sobol_rule(width, SOBOL_POINTS) if scattered else _grid(pattern, points)

    if quickly or rule is not None:
        few = pattern.free.sum() < FEW_ITEMS * pattern.n_dimensions
        own = rule or first_rule((FINE_POINTS if few else COARSE_POINTS).get(width, 0))
        newton = _Newton(table, penalty, run, own, params, moments)
        newton.maximize(QUICK_TOLERANCE if quickly else TOLERANCE)
        return newton.fit(0.0)
    coarse = first_rule(COARSE_POINTS.get(width, 0))
    newton = _Newton(table, penalty.at_most(GUIDE), run, coarse, params, moments)
    newton.maximize(COARSE_TOLERANCE)
    newton.penalty = penalty
    if not scattered:
        return _refine_grid(newton, FINE_POINTS[width], MAX_POINTS[width])
    newton.rule = sobol_rule(width, MANY_SOBOL_POINTS)
    newton.maximize(TOLERANCE)
    other = sobol_rule(width, MANY_SOBOL_POINTS, seed=1)
    value = log_likelihood(table, newton.params, newton.moments, other, run)
    return newton.fit(abs(value - newton.derivatives.value))


def _refine_grid(newton: _Newton, points: int, most: int) -> DimensionFit:
    """Take a few steps at a time, on more nodes whenever a finer grid gives another value."""
    pattern = newton.table.pattern
    while True:
        last, newton.rule = (newton.params, newton.moments), _grid(pattern, points)
        newton.maximize(TOLERANCE, ITER_PER_GRID)
        error = _integral_error(newton, _grid(pattern, points + 2))
        exact = newton.converged and error < INTEGRAL_TOLERANCE
        if points >= most or exact or newton.iterations > MAX_ITER:
            return newton.fit(error)
        if error >= INTEGRAL_TOLERANCE:
            points += max(2, points // 3)
        if error >= LARGE_ERROR:
            newton.params, newton.moments = last


def _integral_error(newton: _Newton, finer: Rule) -> float:
    """Return by how much a finer rule would change the log-likelihood, from some of the rows."""
    codes, moments = newton.table.codes, newton.moments
    rows = evenly_spaced(len(codes), ROWS_TO_CHECK)
    sample = ResponseTable(codes[rows], newton.table.pattern)
    own = PosteriorMoments(moments.mean[rows], moments.covariance[rows])
    values = [
        log_likelihood(sample, newton.params, own, rule, newton.run)
        for rule in (finer, newton.rule)
    ]
    return abs(values[0] - values[1]) * len(codes) / rows.size


def _grid(pattern: Pattern, points: int) -> Rule:
    return grid_rule(pattern.n_dimensions if pattern.correlated else 1, points)


class _Newton:
    """The parameters, posteriors, penalty and nodes of a run of Newton's method."""

    def __init__(
        self,
        table: ResponseTable,
        penalty: Penalty,
        run: Run,
        rule: Rule,
        params: Parameters,
        moments: PosteriorMoments,
    ) -> None:
        self.table, self.penalty, self.run, self.rule = table, penalty, run, rule
        self.params, self.moments, self.iterations, self.converged = params, moments, 0, False
        self.derivatives: LikelihoodDerivatives

    def evaluate(
        self, params: Parameters, moments: PosteriorMoments
    ) -> tuple[LikelihoodDerivatives, float]:
        """Return the derivatives and the penalized log-likelihood."""
        table, pattern = self.table, self.table.pattern
        n_nodes = table.n_nodes(self.rule)
        at_stage(
            f"several dimensions: step {self.iterations + 1}, {n_nodes:,} nodes per respondent"
        )
        work = 2.0 * len(table.codes) * n_nodes * pattern.size**2
        missing: Missing = (
            whole_missing_information if work < MAX_WORK else linear_missing_information
        )
        derivatives = likelihood_derivatives(table, params, moments, self.rule, self.run, missing)
        return derivatives, derivatives.value + log_prior(params, pattern, self.penalty)[0]

    def maximize(self, tolerance: float, max_iter: int = MAX_ITER) -> None:
        """Iterate until the next step promises less than `tolerance`."""
        pattern = self.table.pattern
        self.derivatives, value = self.evaluate(self.params, self.moments)
        self.moments, self.converged = self.derivatives.moments, False
        for _ in range(max_iter):
            prior_grad = log_prior(self.params, pattern, self.penalty)[1]
            gradient = self.derivatives.gradient + prior_grad
            known = information(self.derivatives, self.params, pattern, self.penalty)
            step = _newton_step(known, gradient)
            gain = 0.5 * float(step @ gradient)
            if gain < tolerance:
                self.converged = True
                return
            length = _step_length(step, pattern)
            for _ in range(12):
                candidate = Parameters.of(self.params.flat(pattern) + length * step, pattern)
                if candidate.valid(pattern):
                    derivatives, candidate_value = self.evaluate(candidate, self.moments)
                    if candidate_value > value - max(NODE_ERROR, 0.1 * gain):
                        break
                length /= 2
            else:
                return
            self.params, self.derivatives, value = candidate, derivatives, candidate_value
            self.moments = derivatives.moments
            self.iterations += 1

    def fit(self, integral_error: float) -> DimensionFit:
        """Return the current parameters as a fit."""
        return DimensionFit(
            self.table,
            self.params,
            self.penalty,
            self.derivatives,
            self.rule,
            self.derivatives.value,
            integral_error,
            self.converged,
        )


def with_exact_information(fit: DimensionFit, run: Run) -> DimensionFit:
    """Return the fit with all of the missing information, for standard errors."""
    derivatives = likelihood_derivatives(
        fit.table, fit.params, fit.derivatives.moments, fit.rule, run, whole_missing_information
    )
    return replace(fit, derivatives=derivatives)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Loadings about the mean of their dimension, in units of that mean."""

    diff: Floats  # (n_items, n_dimensions), 0 if there is no loading
    mean: Floats  # (n_dimensions,)
    count: Floats
    floored: NDArray[np.bool_]  # flags means too small to be a unit

    @classmethod
    def of(cls, params: Parameters, pattern: Pattern) -> _Scatter:
        count = np.maximum(pattern.free.sum(axis=0), 1).astype(float)
        mean = params.loadings.sum(axis=0) / count
        floored = np.abs(mean) < LEAST_UNIT
        diff = np.where(pattern.free, params.loadings - mean, 0.0)
        return cls(diff, np.where(floored, LEAST_UNIT, mean), count, floored)

    def value(self) -> Floats:
        """Return half the sum of squares of each dimension."""
        return np.asarray(0.5 * (self.diff**2).sum(axis=0) / self.mean**2)

    def gradient(self) -> Floats:
        """Return derivatives of the value, (n_items, n_dimensions)."""
        by_mean = np.where(self.floored, 0.0, 2 * self.value() / (self.count * self.mean))
        return self.diff / self.mean**2 - by_mean

    def hessian(self, k: int, items: NDArray[np.bool_]) -> Floats:
        """Return second derivatives in the loadings of one dimension."""
        count, mean, diff = self.count[k], self.mean[k], self.diff[items, k]
        hessian: Floats = (np.eye(diff.size) - 1 / count) / mean**2
        if not self.floored[k]:
            hessian = hessian - 2 * (diff[:, None] + diff) / (count * mean**3)
            hessian = hessian + 6 * self.value()[k] / (count * mean) ** 2
        return hessian


def log_prior(params: Parameters, pattern: Pattern, penalty: Penalty) -> tuple[float, Floats]:
    """Return log-density of the priors, and its gradient."""
    gradient = np.zeros(pattern.size)
    present = pattern.of_thresholds != ABSENT
    scatter = _Scatter.of(params, pattern)
    value = -float(scatter.value().sum()) / penalty.loading**2
    value -= 0.5 * float((params.thresholds[present] ** 2).sum()) / penalty.threshold**2
    of_loadings = -scatter.gradient() / penalty.loading**2
    gradient[pattern.of_loadings[pattern.free]] = of_loadings[pattern.free]
    of_thresholds = -params.thresholds[present] / penalty.threshold**2
    gradient[pattern.of_thresholds[present]] = of_thresholds
    if pattern.pairs[0].size:
        value += penalty.correlation * float(np.linalg.slogdet(params.correlation)[1])
        inverse = np.linalg.inv(params.correlation)
        gradient[pattern.n_of_items :] = 2 * penalty.correlation * inverse[pattern.pairs]
    return value, gradient


def information(
    derivatives: LikelihoodDerivatives, params: Parameters, pattern: Pattern, penalty: Penalty
) -> tuple[Floats, Floats]:
    """Return complete-data information with that of the priors, and the missing part."""
    whole = np.zeros((pattern.size + 1, pattern.size + 1))
    position = np.concatenate([pattern.of_loadings, pattern.of_thresholds], axis=1)
    position = np.where(position == ABSENT, pattern.size, position)
    whole[position[:, :, None], position[:, None, :]] = derivatives.complete
    whole = whole[:-1, :-1]
    first, scatter = pattern.n_of_items, _Scatter.of(params, pattern)
    for k in range(pattern.n_dimensions):
        own = pattern.of_loadings[pattern.free[:, k], k]
        whole[np.ix_(own, own)] += scatter.hessian(k, pattern.free[:, k]) / penalty.loading**2
    own = pattern.of_thresholds[pattern.of_thresholds != ABSENT]
    whole[own, own] += 1 / penalty.threshold**2
    if pattern.pairs[0].size:
        inverse = np.linalg.inv(params.correlation)
        left, right = pattern.pairs
        i, j = left[:, None], right[:, None]
        product = inverse[i, left] * inverse[j, right] + inverse[i, right] * inverse[j, left]
        whole[first:, first:] += derivatives.of_correlations + 2 * penalty.correlation * product
    return whole, derivatives.missing


def _newton_step(known: tuple[Floats, Floats], gradient: Floats) -> Floats:
    """Return a Newton step; if the information is not positive, as much of EM's as is needed."""
    from scipy.linalg import cho_factor, cho_solve

    whole, missing = known
    for share in (1.0, 0.95, 0.8, 0.5, 0.0):
        matrix = whole - share * missing
        matrix[np.diag_indices_from(matrix)] += 1e-9 + (1 - share) * 1e-3
        try:
            step = cho_solve(cho_factor(matrix, lower=True, check_finite=False), gradient)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(step).all():
            return np.asarray(step)
    return gradient / np.maximum(np.abs(np.diag(whole)), 1.0)


def _step_length(step: Floats, pattern: Pattern) -> float:
    """Return the share of a step that is not too long."""
    items, correlations = np.abs(step[: pattern.n_of_items]), np.abs(step[pattern.n_of_items :])
    worst = items.max(initial=0.0) / MAX_STEP
    worst = max(worst, correlations.max(initial=0.0) / MAX_CORRELATION_STEP)
    return 1.0 if worst <= 1 else 1 / worst


def starting_parameters(codes: NDArray[np.int16], pattern: Pattern) -> Parameters:
    """Return loadings on first principal components, and thresholds from frequencies."""
    missing = codes < 0
    observed = np.where(missing, np.nan, codes)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.nansum(observed, axis=0) / count
    diff = np.where(missing, 0.0, codes - mean)
    sd = np.sqrt((diff**2).sum(axis=0) / count)
    diff = diff / np.where(sd > 0, sd, 1.0)
    loadings = np.zeros(pattern.free.shape)
    for k in range(pattern.n_dimensions):
        own = pattern.free[:, k]
        loadings[own, k] = _component_slopes(diff[:, own])
    if pattern.correlated:
        loadings /= np.maximum(pattern.free.sum(axis=1), 1)[:, None]
    else:
        loadings[:, 1:] *= SPECIFIC_SHARE
    n_thresholds = pattern.n_thresholds
    thresholds = np.zeros((len(n_thresholds), int(n_thresholds.max())))
    unit = np.sqrt(1 + (loadings**2).sum(axis=1) / 3)
    for k in range(int(n_thresholds.max())):
        above = ((codes > k).sum(axis=0) + 0.5) / (count + 1)
        thresholds[:, k] = unit * np.log(above / (1 - above)) - 1e-3 * k
    thresholds[np.arange(int(n_thresholds.max())) >= n_thresholds[:, None]] = 0.0
    correlation = np.eye(pattern.n_dimensions)
    correlation[pattern.pairs] = correlation.T[pattern.pairs] = FIRST_CORRELATION
    return Parameters(loadings, thresholds, correlation)


def _component_slopes(z: Floats) -> Floats:
    """Return loadings on the first principal component as logistic slopes, mostly positive."""
    n_rows, n_items = z.shape
    if n_items <= n_rows:
        values, vectors = np.linalg.eigh(z.T @ z / n_rows)
        loading = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    else:
        values, vectors = np.linalg.eigh(z @ z.T / n_rows)
        loading = z.T @ vectors[:, -1] / np.sqrt(n_rows)
    loading = np.clip(loading if loading.sum() >= 0 else -loading, -0.95, 0.95)
    slope = 1.7 * loading / np.sqrt(1 - loading**2)
    sign = np.where(slope < -LEAST_LOADING, -1.0, 1.0)
    return np.asarray(sign * np.clip(np.abs(slope), LEAST_LOADING, MOST_LOADING))


def posterior_modes(
    codes: NDArray[np.int16], pattern: Pattern, params: Parameters
) -> PosteriorMoments:
    """Return the mode of every posterior, and its inverse curvature there."""
    terms = cell_terms(codes, params.thresholds, pattern.n_thresholds)
    inverse = np.linalg.inv(params.correlation)
    n, size = len(codes), pattern.n_dimensions
    squares = (params.loadings[:, :, None] * params.loadings[:, None, :]).reshape(-1, size**2)
    mode = np.zeros((n, size))
    for _ in range(30):
        gradient, hessian = -mode @ inverse, np.zeros((n, size, size)) + inverse
        logits = mode @ params.loadings.T
        for term in terms:
            t = np.clip((logits + term.threshold) * term.sign, -500, 500)
            tail = 1 / (1 + np.exp(t))
            gradient += (tail * term.sign) @ params.loadings
            hessian += ((tail * (1 - tail)) @ squares).reshape(n, size, size)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        length = np.sqrt((step**2).sum(axis=1, keepdims=True))
        mode = mode + step * np.minimum(1.0, MAX_MODE_STEP / np.maximum(length, 1e-12))
        if length.max() < 1e-4:
            break
    return PosteriorMoments(mode, np.linalg.inv(hessian))
