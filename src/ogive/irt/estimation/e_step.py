"""E-step: sums over respondents, with abilities averaged over their posteriors.

Four ways to the same sums:

- normal responses: posteriors are normal, with precision 1 + Σ λ²/ψ over the observed items
  (Shojima, 2005); complete tables need only the mean and the covariance of z;
- log-odds linear in ability and no missing response: s = Σ a x is sufficient for ability, so the
  responses enter by two matrix-vector products, and the posterior by s, row by row;
- the same with many rows: posteriors on a grid of s, interpolated;
- otherwise: matrix products of responses with the items' terms on nodes of ability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, pi

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.models.base import MeasurementModel, NormalSums
from ogive.irt.quadrature import (
    STANDARD,
    LinearCurves,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    ScoreGrid,
    posterior_of_scores,
    scale_scores,
)
from ogive.stats.array_backend import (
    Array,
    Floats,
    Run,
    add,
    array_namespace,
    as_numpy,
    by_items,
    histogram,
    like,
)

MAX_ITEMS_OF_MOMENTS = 2_000  # items whose covariance matrix is still smaller than most tables
LANE_CELLS = 1 << 25  # numbers that all partial sums together may hold
FEW_BLOCKS = 4  # most blocks of rows for which a GPU replays recorded work

Tables = tuple[Array, Array, Array]  # abilities, counts, totals: see MeasurementModel.curvature


@dataclass(frozen=True, eq=False)
class Expectation:
    """Log-likelihood, its gradient and information, and sums over the posteriors."""

    log_likelihood: float
    gradient: Array  # (n_items, width)
    expected: Array  # (n_items, width, width), Fisher information of complete data
    observed: Array  # (n_items, width, width), minus the second derivatives of complete data
    scale: Floats  # (2, 2), information on origin and log-unit of the population
    edges: tuple[float, float]  # largest posterior mass at the first and the last node
    alignment: float  # covariance of ability with the response, summed over items
    mass: Floats | None = None  # posterior mass of all respondents on the fine nodes
    tables: Tables | None = None  # sums on the nodes, of the general E-step only

    def on_host_like(self, coords: Array) -> Expectation:
        """Return the expectation with its arrays in NumPy, if `coords` are there."""
        if not isinstance(coords, np.ndarray) or isinstance(self.gradient, np.ndarray):
            return self
        gradient, expected = as_numpy(self.gradient), as_numpy(self.expected)
        observed = expected if self.observed is self.expected else as_numpy(self.observed)
        return replace(self, gradient=gradient, expected=expected, observed=observed)


def tables_of_items(tables: Tables, items: slice | Array) -> Tables:
    """Return the tables of some items; totals that all items share stay as they are."""
    abilities, counts, totals = tables
    if isinstance(items, np.ndarray) and not isinstance(counts, np.ndarray):
        items = counts.new_tensor(items, dtype=int)
    return abilities, counts[:, items], totals if totals.shape[0] == 1 else totals[items]


def expect(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    run: Run = map,
    population: Population = STANDARD,
) -> Expectation:
    """Return one E-step at `coords`; `run` maps a function over blocks of rows.

    Items may lie in NumPy while responses are on a device; the result is where the items are.
    """
    on_device = like(coords, data.weights)
    if model.normal and isinstance(population, NormalPopulation):
        expectation = expect_normal(data, model, on_device, run)
    elif not (model.linear and data.complete):
        return expect_generally(data, model, coords, nodes, run, population)
    else:
        grid = ScoreGrid.of(coords[:, 0])
        if grid.pays(data.shape[0], nodes.fine.size):
            expectation = _expect_by_table(data, on_device, nodes, run, population, grid)
        else:
            expectation = _expect_by_row(data, on_device, nodes, run, population)
    return expectation.on_host_like(coords)


def with_moments(data: Encoded, run: Run) -> Encoded:
    """Return `data` with the mean and covariance of its scores, if those are sufficient."""
    if not data.complete or data.shape[1] > MAX_ITEMS_OF_MOMENTS:
        return data
    xp = array_namespace(data.weights)
    # A centre near the mean avoids cancellation.
    centre = xp.mean(data.values(data.blocks(1)[0])[0], axis=0)

    def over(part: Encoded, run: Run) -> Work:
        del run
        middle = like(centre, part.weights)
        xp = array_namespace(middle)

        def sum_block(rows: slice) -> tuple[Array, Array]:
            diff = part.values(rows)[0] - middle
            if part.unweighted:
                return xp.sum(diff, axis=0), diff.T @ diff
            weighted = diff * part.counted(rows)[:, None]
            return xp.sum(weighted, axis=0), weighted.T @ diff

        return sum_block

    total, products = data.gather(run, over)
    n = data.n_respondents
    shift = total / n
    return replace(data, moments=(centre + shift, products / n - shift[:, None] * shift))


def expect_normal(
    data: Encoded, model: MeasurementModel, coords: Array, run: Run = map
) -> Expectation:
    """Return the E-step of normal responses, for abilities that are standard normal."""
    if data.moments is not None:
        return _expect_by_moments(data, model, coords)
    return _expect_normal_by_rows(data, model, coords, run)


def _expect_by_moments(data: Encoded, model: MeasurementModel, coords: Array) -> Expectation:
    """Return the E-step from the mean and the covariance of z."""
    xp = array_namespace(coords)
    assert data.moments is not None  # noqa: S101 - checked by the caller
    mean, covariance = data.moments
    n = data.n_respondents
    loading, diff = model.loadings(coords), mean - coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    posterior_var = 1 / (1 + float(weights @ loading))
    carried = covariance @ weights
    level = posterior_var * float(weights @ diff)
    spread = posterior_var**2 * float(weights @ carried)
    one = xp.ones_like(loading)
    variance = xp.linalg.diagonal(covariance)
    sums = NormalSums(
        asked=n * one,
        ability=n * level * one,
        ability_square=n * (spread + level**2 + posterior_var) * one,
        z=n * mean,
        z_ability=n * (posterior_var * carried + mean * level),
        z_square=n * (variance + mean**2),
    )
    distance = float(precision @ (variance + diff**2)) - (spread + level**2) / posterior_var
    log_det = 2 * float(xp.sum(coords[:, 2])) - log(posterior_var) + loading.shape[0] * log(2 * pi)
    gradient, expected, observed = model.curvature_of_sums(coords, sums)
    return Expectation(
        log_likelihood=-0.5 * n * (log_det + distance),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_normal_scale_information(n, posterior_var, level, spread + level**2),
        edges=(0.0, 0.0),
        alignment=n * posterior_var * float(xp.sum(carried)),
    )


def _expect_normal_by_rows(
    data: Encoded, model: MeasurementModel, coords: Array, run: Run
) -> Expectation:
    """Return the E-step from each respondent's own posterior, over the observed items."""
    xp = array_namespace(coords)

    def over(part: Encoded, run: Run) -> Work:
        del run
        return _normal_row_sums(part, model, like(coords, part.weights))

    value, whole, sums = data.gather(run, over, width=16)
    parts = NormalSums(*sums)
    gradient, expected, observed = model.curvature_of_sums(coords, parts)
    centred = parts.z_ability - parts.z / xp.clip(parts.asked, 1e-300, None) * parts.ability
    n = data.n_respondents
    posterior_var, mean, square = (float(part) / n for part in whole)
    return Expectation(
        log_likelihood=float(value),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_normal_scale_information(n, posterior_var, mean, square),
        edges=(0.0, 0.0),
        alignment=float(xp.sum(centred)),
    )


def _normal_row_sums(data: Encoded, model: MeasurementModel, coords: Array) -> Work:
    """Return a function that sums a block: log-likelihood, moments of abilities, `NormalSums`."""
    xp = array_namespace(coords)
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    constant = -0.5 * log(2 * pi) - coords[:, 2]

    def sum_block(rows: slice) -> list[Array]:
        z, asked = data.values(rows)
        asked = xp.ones_like(z) if asked is None else asked
        counted = data.counted(rows)
        diff = (z - intercept) * asked
        posterior_var = 1 / (1 + asked @ (weights * loading))
        mean = posterior_var * (diff @ weights)
        value = asked @ constant - 0.5 * (diff**2 @ precision) + 0.5 * mean**2 / posterior_var
        value = value + 0.5 * xp.log(posterior_var)
        sums = [
            counted @ asked,
            (counted * mean) @ asked,
            (counted * (mean**2 + posterior_var)) @ asked,
            counted @ z,
            (counted * mean) @ z,
            counted @ z**2,
        ]
        whole = xp.stack([counted @ posterior_var, counted @ mean, counted @ mean**2])
        return [counted @ value, whole, xp.stack(sums)]

    return sum_block


def _normal_scale_information(n: float, posterior_var: float, mean: float, square: float) -> Floats:
    """Return information on origin and log-unit of `n` abilities (Louis, 1982), (2, 2).

    `mean` and `square` are mean and mean square of the posterior means. Far from the maximum the
    information need not be positive; what is expected at the maximum then replaces it. It is used
    for steps only, so the mean posterior variance stands for each.
    """
    cross = 2 * mean * (1 - posterior_var)
    unit = 2 * (square + posterior_var) - 4 * posterior_var * square - 2 * posterior_var**2
    observed = n * np.array([[1 - posterior_var, cross], [cross, unit]])
    expected = n * np.diag([1 - posterior_var, 2 * (1 - posterior_var) ** 2])
    return observed if np.linalg.eigvalsh(observed)[0] > 0 else expected + 1e-9 * n * np.eye(2)


def _expect_by_row(
    data: Encoded, coords: Array, nodes: Nodes, run: Run, population: Population
) -> Expectation:
    """Return the E-step from sufficient scores, with the posterior of each respondent."""
    node_scores = like(scale_scores(population, nodes.fine)[0], coords)
    curves = LinearCurves.at(coords, nodes)
    known = coords[:, 0], curves.abilities, curves.log_base, node_scores

    def over(part: Encoded, run: Run) -> Work:
        del run
        slope, abilities, log_base, scores = (like(values, part.weights) for values in known)
        xp = array_namespace(slope)

        def sum_block(rows: slice) -> tuple[Array, ...]:
            rights, weights = part.right_or_wrong(rows), part.counted(rows)
            posterior, log_norm = posterior_of_scores(rights.times(slope), abilities, log_base)
            mean = posterior @ abilities
            ends = xp.stack([xp.max(posterior[:, 0]), xp.max(posterior[:, -1])])
            outer = outer_sums(posterior @ scores, weights)
            products = rights.summed(mean * weights)
            return ends, weights @ log_norm, weights @ posterior, products, outer

        return sum_block

    ends, log_norm, mass, products, outer = data.gather(
        run, over, width=nodes.fine.size, combine=_combine
    )
    return _linear_expectation(
        data, coords, curves, population, products, mass, log_norm, outer, ends
    )


def _expect_by_table(
    data: Encoded,
    coords: Array,
    nodes: Nodes,
    run: Run,
    population: Population,
    grid: ScoreGrid,
) -> Expectation:
    """Return the E-step from sufficient scores, with posteriors on a grid, interpolated."""
    xp, curves = array_namespace(coords), LinearCurves.at(coords, nodes)
    scores = like(scale_scores(population, nodes.fine)[0], coords)
    slope = coords[:, 0]
    posterior, log_norm = curves.posterior(grid.points(slope))
    means = posterior @ curves.abilities

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, table = like(slope, part.weights), like(means, part.weights)
        xp = array_namespace(own)

        def sum_block(rows: slice) -> tuple[Array, Array]:
            rights, weights = part.right_or_wrong(rows), part.counted(rows)
            near, share = grid.near(rights.times(own))
            bins = histogram(near, share * weights, grid.size)
            return bins, rights.summed(xp.sum(share * table[near], axis=0) * weights)

        return sum_block

    bins, products = data.gather(run, over)
    mass = bins @ posterior
    outer = outer_sums(posterior @ scores, bins)
    occupied = bins > 1e-6 * xp.max(bins)
    ends = xp.stack([xp.max(xp.where(occupied, posterior[:, k], 0 * bins)) for k in (0, -1)])
    return _linear_expectation(
        data, coords, curves, population, products, mass, bins @ log_norm, outer, ends
    )


def _linear_expectation(
    data: Encoded,
    coords: Array,
    curves: LinearCurves,
    population: Population,
    products: Array,
    mass: Array,
    log_norm: Array,
    outer: Array,
    ends: Array,
) -> Expectation:
    """Return the E-step; `products` is Σ E[θ] x, `mass` the posterior mass on the nodes."""
    xp = array_namespace(coords)
    moments = xp.stack([mass * curves.abilities**2, mass * curves.abilities, mass], axis=1)
    moments = curves.where_items_are(moments)
    expected = curves.rise @ moments[:, 1:]
    gradient = xp.stack([products - expected[:, 0], data.right_counts - expected[:, 1]], axis=1)
    weighted = (curves.rise * curves.fall) @ moments
    information = xp.stack([weighted[:, :2], weighted[:, 1:]], axis=1)
    chance = data.right_counts / data.n_respondents
    return Expectation(
        log_likelihood=float(log_norm + coords[:, 1] @ data.right_counts),
        gradient=gradient,
        expected=information,
        observed=information,
        scale=population_information(
            population, as_numpy(curves.abilities), as_numpy(mass), as_numpy(outer)
        ),
        edges=(float(ends[0]), float(ends[1])),
        alignment=float(xp.sum(products - chance * (mass @ curves.abilities))),
        mass=as_numpy(mass),
    )


def expect_generally(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    run: Run = map,
    population: Population = STANDARD,
) -> Expectation:
    """Return the E-step by matrix products: responses × terms, and posteriors × responses."""
    width, n_nodes = nodes.fine.size, len(nodes.coarse)
    lanes = min(16, max(2, LANE_CELLS // ((1 + len(model.direction)) * coords.shape[0] * n_nodes)))

    def work(coords: Array, scores: Array) -> tuple[Array, ...]:
        xp = array_namespace(coords)

        def over(part: Encoded, run: Run) -> Work:
            posterior_of = Posterior(_terms(part, model, coords, nodes, run), nodes)
            own = like(scores, part.weights)
            own = array_namespace(own).astype(own, part.dtype, copy=False)
            return lambda rows: _general_sums(part, rows, posterior_of, own)

        ends, value, mass, outer, totals, *counts = data.gather(
            run, over, width=width, lanes=lanes, combine=_combine
        )
        totals = totals[None, :] if data.complete else totals.T
        tables = nodes.beside(coords).coarse, xp.stack([count.T for count in counts]), totals
        derivatives = by_items(
            run,
            coords,
            n_nodes,
            lambda items: model.curvature(coords[items], *tables_of_items(tables, items)),
        )
        return ends, value, mass, outer, _alignment(model, tables), *derivatives, *tables

    given = like(coords, data.weights), like(scale_scores(population, nodes.fine)[0], data.weights)
    if isinstance(given[0], np.ndarray) or len(data.blocks(width)) > FEW_BLOCKS:
        results = work(*given)
    else:
        results = data.recordings(("generally", model, nodes), work, *given)
    ends, value, mass, outer, alignment, gradient, expected, observed, *tables = results
    mass = as_numpy(mass)
    return Expectation(
        log_likelihood=float(value),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=population_information(population, nodes.fine, mass, as_numpy(outer)),
        edges=(float(ends[0]), float(ends[1])),
        alignment=float(alignment),
        mass=mass,
        tables=(tables[0], tables[1], tables[2]),
    ).on_host_like(coords)


def _terms(data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, run: Run) -> Array:
    """Return the items' terms on the coarse nodes, where the rows are and in their precision."""
    coords, coarse = like(coords, data.weights), nodes.beside(data.weights).coarse
    xp = array_namespace(coords)

    def item_terms(items: slice) -> tuple[Array]:
        return (xp.permute_dims(model.log_terms(coords[items], coarse), (1, 0, 2)),)

    (terms,) = by_items(run, coords, coarse.shape[0], item_terms)
    return xp.astype(xp.permute_dims(terms, (1, 0, 2)), data.dtype, copy=False)


def _general_sums(
    data: Encoded, rows: slice, posterior_of: Posterior, scores: Array
) -> list[Array]:
    """Return masses at both ends, log-likelihood, posterior mass and tables of a block of rows."""
    xp = array_namespace(scores)
    block, weights = data.block(rows), xp.astype(data.counted(rows), data.dtype, copy=False)
    posterior, log_norm = posterior_of(block)
    weighted = posterior if data.unweighted else posterior * weights[:, None]
    ends = xp.stack([xp.max(posterior[:, 0]), xp.max(posterior[:, -1])])
    outer = outer_sums(posterior @ scores, weights)
    mass = weights @ posterior
    coarse = posterior_of.on_coarse(weighted)
    counts = [coarse.T @ statistic for statistic in block.statistics]
    if block.observed is None:
        totals = mass if coarse is weighted else xp.sum(coarse, axis=0)
    else:
        totals = coarse.T @ block.observed
    value = data.counted(rows) @ xp.astype(log_norm, xp.float64, copy=False)
    # Sums over blocks are taken in double precision.
    sums = [ends, value, mass, outer, totals, *counts]
    return [xp.asarray(part, dtype=xp.float64) for part in sums]


def _combine(old: Sequence[Array], new: Sequence[Array]) -> list[Array]:
    """Return the larger masses at the ends, and the sum of everything else."""
    xp = array_namespace(old[0])
    return [xp.maximum(old[0], new[0]), *add(old[1:], new[1:])]


def _alignment(model: MeasurementModel, tables: Tables) -> Array:
    """Return the covariance of ability with the observed responses, summed over items."""
    xp = array_namespace(tables[0])
    abilities, counts, totals = tables
    score, score_ability = 0 * counts[0, :, 0], 0 * counts[0, :, 0]
    for weight, count in zip(model.direction, counts, strict=True):
        score = score + weight * xp.sum(count, axis=1)
        score_ability = score_ability + weight * (count @ abilities)
    mean = score / xp.clip(xp.sum(totals, axis=1), 1e-300, None)
    return xp.sum(score_ability - mean * (totals @ abilities))


def outer_sums(means: Array, weights: Array) -> Array:
    """Sum over respondents the products of their mean scores: origin², origin × unit, unit²."""
    xp = array_namespace(means)
    origin, unit = means[:, 0], means[:, 1]
    return xp.stack([origin * origin, origin * unit, unit * unit]) @ weights


def population_information(
    population: Population, points: Floats, mass: Floats, outer: Floats
) -> Floats:
    """Return observed information on origin and log-unit of the abilities (Louis, 1982), (2, 2).

    `mass` is the posterior mass of all respondents on `points`, `outer` comes from `outer_sums`.
    Far from the maximum the information need not be positive; the outer product, which always is,
    then replaces it.
    """
    scores, curvature = scale_scores(population, points)
    square = np.stack([scores[:, 0] ** 2, scores[:, 0] * scores[:, 1], scores[:, 1] ** 2], axis=1)
    observed, product = (
        np.array([[upper[0], upper[1]], [upper[1], upper[2]]])
        for upper in (mass @ (curvature - square) + outer, outer)
    )
    if np.linalg.eigvalsh(observed)[0] > 0.1 * np.linalg.eigvalsh(product)[0]:
        return np.asarray(observed + (1e-9 * np.trace(observed) + 1e-12) * np.eye(2))
    return product + 1e-3 * float(mass.sum()) * np.eye(2)
