"""Where to begin, and whether the end is a maximum: starting values, restarts, saddle points.

`component_start` takes item means and the first principal component of the responses: equal slopes
would end at a saddle if many items discriminate negatively; the component does not depend on the
sign of an item.

`factor_start` is the maximum of the continuous model without priors, a factor analysis with one
factor (Jöreskog, 1967). Given the noise of each item, the best loadings are the first eigenvector
of the covariance in units of the noise, so only the noise is searched: L-BFGS takes some dozen
steps where EM, on items that measure the same, takes thousands. The search begins at the first
principal component, because two groups of items that measure different things have a maximum each,
which may be higher but describes that group only.

`restart_items` tries other starting values of single items. A curve with asymptotes and without
priors has several maxima, and an item keeps to the nearest. Given the E-step's sums, restarts cost
little; one that is higher raises the likelihood of the whole table (Dempster, Laird and Rubin,
1977).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.e_step import Tables, tables_of_items
from ogive.irt.estimation.m_step import bounded_step, item_system, item_values, maximize_items
from ogive.irt.estimation.objective import Problem, Solution, evaluate_objective
from ogive.irt.estimation.standard_errors import MAX_EXACT, WholeInformation
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import plan_nodes
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, by_items, like
from ogive.stats.linked_parts import linked_parts

ROUNDING = 1e-12  # spread of a column, relative to its size, that counts as none
MAX_ROWS = 2_000  # rows of a sample from which the principal component is computed
POWER_ITERATIONS = 30
MAX_FACTOR_ITEMS = 300  # items up to which the eigenvectors of a factor analysis pay
MAX_FACTOR_ITER = 500
LEAST_UNIQUENESS = 0.02  # share of an item's variance that is noise at the start

STRETCHES = (0.4, 2.5, -1.0)  # factors of the discrimination in restarts
ASYMPTOTE_STEPS = (0.0, 1.0, 3.0)  # distance of asymptotes from their bound, in longest steps
CLIMBS = 2  # runs of the M-step from each starting value
LEAST_GAIN = 1e-6  # nats by which another maximum must be higher

MAX_INFORMATION_WORK = 20_000_000  # rows × coordinates² for which the whole information is fast
OFFSET = 0.02  # distance of differenced gradients, in standard errors
SADDLE_STEPS = (4.0, 1.0, 0.5, 0.2, 0.05, 0.01)  # lengths of steps off a saddle, likewise


def component_start(data: Encoded, model: MeasurementModel) -> Array:
    """Return coordinates from item means and loadings on the first principal component."""
    xp = array_namespace(data.weights)
    sample = data.every(data.shape[0] // MAX_ROWS)
    all_rows = slice(None)
    block, weights = sample.block(all_rows), sample.counted(all_rows)
    asked = weights @ block.asked
    count = xp.clip(asked, 1e-300, None)
    means = xp.stack([weights @ table / count for table in block.statistics])
    table = 0 * block.asked
    for weight, statistic in zip(model.direction, block.statistics, strict=True):
        table = table + weight * statistic
    table = centred(table, block.asked, weights)
    return model.start(means, asked, loadings_of_parts(table, block.asked, weights))


def loadings_of_parts(table: Array, asked: Array, weights: Array) -> Array:
    """Return `loadings` of each part of the table that no item links to the rest.

    The first principal component of unlinked parts is that of one of them, and the signs of the
    others in it mean nothing.
    """
    xp = array_namespace(table)
    if bool(xp.all(asked > 0)):
        return loadings(table, weights)
    row_part, item_part = linked_parts(as_numpy(asked) > 0)
    if not item_part.any():
        return loadings(table, weights)
    whole, counts, result = as_numpy(table), as_numpy(weights), np.zeros(item_part.size)
    for part in np.flatnonzero(np.bincount(row_part) > 1):
        rows, items = row_part == part, item_part == part
        result[items] = loadings(whole[np.ix_(rows, items)], counts[rows])
    return like(result, table)


def centred(table: Array, asked: Array, weights: Array) -> Array:
    """Return columns less their means, and exactly 0 for constant ones."""
    xp = array_namespace(table)
    mean = weights @ table / xp.clip(weights @ asked, 1e-300, None)
    diff = table - mean * asked
    constant = weights @ diff**2 <= ROUNDING**2 * (weights @ table**2)
    return xp.where(constant, 0 * diff, diff)


def loadings(table: Array, weights: Array) -> Array:
    """Return the correlation of each centred column with the first principal component."""
    xp = array_namespace(table)
    spread = xp.sqrt(weights @ table**2)
    scale = 1 / xp.where(spread > 0, spread, 0 * spread + 1)
    scaled = table * (xp.sqrt(weights)[:, None] * scale)
    # Start at random: any column, or sum of columns, may be orthogonal to the component.
    direction = like(np.random.default_rng(0).standard_normal(table.shape[1]), table)
    value = 0.0
    for _ in range(POWER_ITERATIONS):
        direction = direction / xp.clip(xp.linalg.vector_norm(direction), 1e-300, None)
        component = scaled @ direction
        last, value = value, float(component @ component)
        direction = component @ scaled
        if abs(value - last) <= 1e-4 * value:
            break
    loading = direction / max(value, 1e-300) ** 0.5
    return loading if float(xp.sum(loading)) >= 0 else -loading


def factor_start(data: Encoded, model: MeasurementModel) -> Array | None:
    """Return the maximum-likelihood factor analysis; None if another start is needed."""
    if not model.normal or data.moments is None or not 3 <= data.shape[1] <= MAX_FACTOR_ITEMS:
        return None
    mean, covariance = (np.array(as_numpy(part), dtype=float) for part in data.moments)
    variance = np.diag(covariance)
    least = float(np.exp(2 * model.coordinates[2].low))
    varied = variance > least
    if varied.sum() < 3:
        return None
    penalty = 0.0 if model.coordinates[0].prior is None else 1 / data.n_respondents
    loading, noise = factor_analysis(covariance[np.ix_(varied, varied)], least, penalty)
    slope = loading / np.sqrt(noise)
    coords = np.zeros((len(mean), 3))
    coords[:, 1] = mean
    coords[varied, 0] = slope if loading.sum() >= 0 else -slope
    coords[:, 2] = 0.5 * np.log(least)
    coords[varied, 2] = 0.5 * np.log(noise)
    start: Array = like(coords, data.weights)
    return start


def factor_analysis(
    covariance: Floats, least: float, penalty: float = 0.0
) -> tuple[Floats, Floats]:
    """Return loadings and noise variances at the maximum nearest to the first component.

    `penalty` is the weight, in rows, of the penalty of Martin and McDonald (1975).
    """
    from scipy.optimize import minimize

    variance = np.diag(covariance).copy()
    size, directions = np.linalg.eigh(covariance / np.sqrt(np.outer(variance, variance)))
    uniqueness = np.clip(1 - size[-1] * directions[:, -1] ** 2, LEAST_UNIQUENESS, None)
    result = minimize(
        _factor_misfit,
        np.log(np.clip(uniqueness * variance, least, variance)),
        args=(covariance, penalty),
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(least), np.log(top)) for top in variance],
        options={"maxiter": MAX_FACTOR_ITER, "ftol": 1e-15, "gtol": 1e-9},
    )
    noise = np.exp(result.x)
    return _best_loading(covariance, noise), noise


def _factor_misfit(
    log_noise: Floats, covariance: Floats, penalty: float = 0.0
) -> tuple[float, Floats]:
    """Return minus twice the penalized log-likelihood of a row, up to a constant; its gradient."""
    noise = np.exp(log_noise)
    loading = _best_loading(covariance, noise)
    scaled = loading / noise
    size = 1 + float(loading @ scaled)
    inverse = np.diag(1 / noise) - np.outer(scaled, scaled) / size
    product = inverse @ covariance
    value = float(log_noise.sum() + np.log(size) + np.trace(product))
    gradient = noise * (np.diag(inverse) - np.einsum("ij,ji->i", product, inverse))
    penalties = penalty * np.diag(covariance) / noise
    return value + float(penalties.sum()), gradient - penalties


def _best_loading(covariance: Floats, noise: Floats) -> Floats:
    """Return the loadings that maximize the likelihood for this noise."""
    from scipy.linalg import eigh

    root = np.sqrt(noise)
    last = len(noise) - 1
    size, vector = eigh(covariance / np.outer(root, root), subset_by_index=[last, last])
    return np.asarray(root * vector[:, 0] * np.sqrt(max(float(size[0]) - 1, 0.0)))


def has_local_maxima(model: MeasurementModel) -> bool:
    """Return True if the model has asymptotes without priors, so that items have local maxima."""
    return bool(_free_asymptotes(model)) and not model.shared.any()


def at_lower_bounds(model: MeasurementModel, coords: Array) -> Array:
    """Return `coords` with asymptotes without priors at 0: the nested model."""
    coords = coords + 0
    for k in _free_asymptotes(model):
        coords[:, k] = 0.0
    return coords


def _free_asymptotes(model: MeasurementModel) -> list[int]:
    """Return coordinates without a prior whose lower bound is 0."""
    return [k for k, c in enumerate(model.coordinates) if c.prior is None and c.low == 0]


def restart_items(
    model: MeasurementModel,
    coords: Array,
    tables: Tables,
    prior_grad_correction: Array,
    run: Run = map,
) -> tuple[Array, float]:
    """Return every item at the best maximum from several starting values, and the total gain."""
    own, correction = like(coords, tables[0]), like(prior_grad_correction, tables[0])

    def restart(items: slice) -> tuple[Array, Array]:
        return _best_of_starts(model, own[items], tables_of_items(tables, items), correction[items])

    best, gains = by_items(run, own, tables[0].shape[0], restart)
    return like(best, coords), float(array_namespace(own).sum(gains))


def _best_of_starts(
    model: MeasurementModel, coords: Array, tables: Tables, correction: Array
) -> tuple[Array, Array]:
    xp = array_namespace(coords)
    best = coords
    first = value = item_values(model, coords, tables, correction)
    for candidate in _starting_values(model, coords):
        for _ in range(CLIMBS):
            system = item_system(model, candidate, tables, correction)
            step, gains = bounded_step(model, candidate, system)
            candidate = maximize_items(model, candidate, step, gains, tables, correction)
        candidate_value = item_values(model, candidate, tables, correction)
        improves = candidate_value > value + LEAST_GAIN
        best = xp.where(improves[:, None], candidate, best)
        value = xp.where(improves, candidate_value, value)
    return best, value - first


def _starting_values(model: MeasurementModel, coords: Array) -> list[Array]:
    """Return flatter, steeper and falling curves, and asymptotes at and off their bound."""
    xp = array_namespace(coords)
    starts = [model.bounded(model.rescale(coords, 0.0, scale)) for scale in STRETCHES]
    for k in _free_asymptotes(model):
        for steps in ASYMPTOTE_STEPS:
            start = coords + 0
            start[:, k] = model.coordinates[k].low + steps * model.coordinates[k].longest
            starts.append(start)
    return [xp.where(model.absent(coords), coords, start) for start in starts]


def small_enough_to_check(data: Encoded, model: MeasurementModel) -> bool:
    """Return True if the table is small enough to compute its whole information.

    Saddles occur in small tables, and if items have next to nothing in common.
    """
    n_rows, n_items = data.shape
    numbers = n_items * model.width
    return numbers <= MAX_EXACT and n_rows * numbers**2 <= MAX_INFORMATION_WORK


def whole_information(problem: Problem, solution: Solution) -> WholeInformation:
    """Return the information on all items, with doubtful directions measured."""
    information = WholeInformation.at(problem, solution)
    return information.checked(lambda way: directional_curvature(problem, solution, way))


def directional_curvature(problem: Problem, solution: Solution, direction: Floats) -> float:
    """Return minus the second derivative of the objective along a direction, by differences."""
    way = like(direction.reshape(solution.coords.shape), solution.coords)
    ahead, behind = (
        problem.evaluate(
            problem.data, problem.model.bounded(solution.coords + step * way), solution.nodes
        )
        for step in (OFFSET, -OFFSET)
    )
    fall = (behind.system.gradient - ahead.system.gradient) * way
    return float(array_namespace(fall).sum(fall)) / (2 * OFFSET)


def best_along(problem: Problem, solution: Solution, direction: Floats) -> Array | None:
    """Return the best of some points along a direction, both ways; None if none is higher."""
    way = like(direction.reshape(solution.coords.shape), solution.coords)
    iterate = evaluate_objective(
        problem.model, solution.coords, solution.expectation, problem.fixed_items
    )
    best, best_gain = None, iterate.rounding(problem.data)
    for length in SADDLE_STEPS:
        for sign in (-1.0, 1.0):
            candidate = problem.model.bounded(solution.coords + sign * length * way)
            gain = iterate.gain(problem.evaluate(problem.data, candidate, solution.nodes))
            if gain > best_gain:
                best, best_gain = candidate, gain
    return best


def fix_sign(problem: Problem, solution: Solution) -> Solution:
    """Reflect the scale so that ability rises with the score.

    The covariance of ability with the response, over all items, decides; no single item does.
    """
    if solution.expectation.alignment >= 0:
        return solution
    coords = problem.model.rescale(solution.coords, 0.0, -1.0)
    low, high = float(solution.nodes.fine[0]), float(solution.nodes.fine[-1])
    nodes = plan_nodes(problem.model, coords, reach=(-high, -low), often=problem.data.often)
    expectation = problem.expect(problem.data, coords, nodes)
    return replace(solution, coords=coords, nodes=nodes, expectation=expectation, information=None)
