"""E-step: sufficient score, normal closed form, general.

The E-step of normal responses, in closed form (Shojima, 2005).

Given a respondent's log-odds z, ability is normal: its precision is 1 + Σ λ²/ψ over the items that
were asked, its mean a weighted sum of z. Where all were asked, the sums over respondents need
nothing but the mean and the covariance of z, and a step costs the same for ten respondents and for
ten million.

The E-step: what the responses say of the items, averaged over where respondents may stand.

Several ways to the same sums. Where the log-odds are linear in ability and no response is missing,
s = Σ a x is sufficient for ability: the responses enter through two matrix-vector products, the
posterior through s, row by row or, for many rows, by a table in s that is interpolated. Where
responses are normal, posteriors are, too (`normal`). Otherwise matrix products over all nodes do
the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log, pi

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.fit import Expectation, Tables, of_items
from ogive.irt.estimation.m_step import population_information
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

MOST_ITEMS = 2_000  # a covariance of more would be larger than most tables


def with_moments(data: Encoded, run: Run) -> Encoded:
    """`data` with the mean and covariance of its scores, where those are all that is needed."""
    if not data.complete or data.shape[1] > MOST_ITEMS:
        return data
    xp = array_namespace(data.weights)
    centre = xp.mean(data.values(data.blocks(1)[0])[0], axis=0)  # near the mean: nothing cancels

    def over(part: Encoded, run: Run) -> Work:
        del run
        middle = like(centre, part.weights)
        xp = array_namespace(middle)

        def pass_over(rows: slice) -> tuple[Array, Array]:
            apart = part.values(rows)[0] - middle
            if part.unweighted:
                return xp.sum(apart, axis=0), apart.T @ apart
            weighted = apart * part.counted(rows)[:, None]
            return xp.sum(weighted, axis=0), weighted.T @ apart

        return pass_over

    total, products = data.gather(run, over)
    n = data.n_respondents
    shift = total / n
    return replace(data, moments=(centre + shift, products / n - shift[:, None] * shift))


def expect_normally(
    data: Encoded, model: MeasurementModel, coords: Array, run: Run = map
) -> Expectation:
    """Return one E-step at `coords`, for abilities that are standard normal."""
    if data.moments is not None:
        return _expect_by_moments(data, model, coords)
    return _expect_by_rows(data, model, coords, run)


def _expect_by_moments(data: Encoded, model: MeasurementModel, coords: Array) -> Expectation:
    """Return all from the mean and the covariance of z."""
    xp = array_namespace(coords)
    assert data.moments is not None  # noqa: S101 - the caller looked
    mean, covariance = data.moments
    n = data.n_respondents
    loading, apart = model.loadings(coords), mean - coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    left = 1 / (1 + float(weights @ loading))  # variance of ability that responses leave
    pull = covariance @ weights
    level, spread = left * float(weights @ apart), left**2 * float(weights @ pull)
    one = xp.ones_like(loading)
    variance = xp.linalg.diagonal(covariance)
    sums = NormalSums(
        asked=n * one,
        ability=n * level * one,
        ability_square=n * (spread + level**2 + left) * one,
        z=n * mean,
        z_ability=n * (left * pull + mean * level),
        z_square=n * (variance + mean**2),
    )
    distance = float(precision @ (variance + apart**2)) - (spread + level**2) / left
    log_det = 2 * float(xp.sum(coords[:, 2])) - log(left) + loading.shape[0] * log(2 * pi)
    gradient, expected, observed = model.curvature_of_sums(coords, sums)
    return Expectation(
        log_likelihood=-0.5 * n * (log_det + distance),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_scale_information(n, left, level, spread + level**2),
        edges=(0.0, 0.0),
        alignment=n * left * float(xp.sum(pull)),
    )


def _expect_by_rows(data: Encoded, model: MeasurementModel, coords: Array, run: Run) -> Expectation:
    """Return each respondent's own posterior, over the items that were asked."""
    xp = array_namespace(coords)

    def over(part: Encoded, run: Run) -> Work:
        del run
        return _row_sums(part, model, like(coords, part.weights))

    value, whole, sums = data.gather(run, over, width=16)
    parts = NormalSums(*sums)
    gradient, expected, observed = model.curvature_of_sums(coords, parts)
    centred = parts.z_ability - parts.z / xp.clip(parts.asked, 1e-300, None) * parts.ability
    n = data.n_respondents
    left, mean, square = (float(part) / n for part in whole)
    return Expectation(
        log_likelihood=float(value),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=_scale_information(n, left, mean, square),
        edges=(0.0, 0.0),
        alignment=float(xp.sum(centred)),
    )


def _row_sums(data: Encoded, model: MeasurementModel, coords: Array) -> Work:
    """Return sums over a block of rows: log-likelihood, what abilities say, and what items need."""
    xp = array_namespace(coords)
    loading, intercept = model.loadings(coords), coords[:, 1]
    precision = xp.exp(-2 * coords[:, 2])
    weights = loading * precision
    constant = -0.5 * log(2 * pi) - coords[:, 2]

    def pass_over(rows: slice) -> list[Array]:
        z, asked = data.values(rows)
        asked = xp.ones_like(z) if asked is None else asked
        counted = data.counted(rows)
        apart = (z - intercept) * asked
        left = 1 / (1 + asked @ (weights * loading))
        mean = left * (apart @ weights)
        value = asked @ constant - 0.5 * (apart**2 @ precision) + 0.5 * mean**2 / left
        value = value + 0.5 * xp.log(left)
        sums = [
            counted @ asked,
            (counted * mean) @ asked,
            (counted * (mean**2 + left)) @ asked,
            counted @ z,
            (counted * mean) @ z,
            counted @ z**2,
        ]
        whole = xp.stack([counted @ left, counted @ mean, counted @ mean**2])
        return [counted @ value, whole, xp.stack(sums)]

    return pass_over


def _scale_information(n: float, left: float, mean: float, square: float) -> Floats:
    """Information on origin and log-unit of the abilities of `n` respondents (Louis, 1982), (2, 2).

    `left` is their mean posterior variance, `mean` and `square` are mean and mean square of their
    posterior means. Far from the maximum it need not be positive; what is expected of it at the
    maximum then takes its place. It steers steps only, so the mean variance stands for each.
    """
    cross = 2 * mean * (1 - left)
    unit = 2 * (square + left) - 4 * left * square - 2 * left**2
    found = n * np.array([[1 - left, cross], [cross, unit]])
    known = n * np.diag([1 - left, 2 * (1 - left) ** 2]) + 1e-9 * n * np.eye(2)
    return found if np.linalg.eigvalsh(found)[0] > 0 else known


LANE_CELLS = 1 << 25  # numbers that all partial sums together may hold
FEW_BLOCKS = 4  # on a GPU; with more, it has enough to do


def expect(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    run: Run = map,
    population: Population = STANDARD,
) -> Expectation:
    """Return one E-step at `coords`; `run` maps a function over blocks of rows.

    Items may lie in NumPy while responses are on a device; so does then what is said of them.
    """
    here = like(coords, data.weights)
    if model.normal and isinstance(population, NormalPopulation):
        found = expect_normally(data, model, here, run)
    elif not (model.linear and data.complete):
        return expect_generally(data, model, coords, nodes, run, population)
    else:
        grid = ScoreGrid.of(coords[:, 0])
        if grid.pays(data.shape[0], nodes.fine.size):
            found = _expect_by_table(data, here, nodes, run, population, grid)
        else:
            found = _expect_by_row(data, here, nodes, run, population)
    return found.beside(coords)


def _expect_by_row(
    data: Encoded, coords: Array, nodes: Nodes, run: Run, population: Population
) -> Expectation:
    """Return sufficient scores, few respondents: the posterior of each."""
    placed = like(scale_scores(population, nodes.fine)[0], coords)
    curves = LinearCurves.at(coords, nodes)
    known = coords[:, 0], curves.abilities, curves.log_base, placed

    def over(part: Encoded, run: Run) -> Work:
        del run
        slope, abilities, log_base, scores = (like(values, part.weights) for values in known)
        xp = array_namespace(slope)

        def pass_over(rows: slice) -> tuple[Array, ...]:
            rights, weights = part.right_or_wrong(rows), part.counted(rows)
            posterior, log_norm = posterior_of_scores(rights.times(slope), abilities, log_base)
            mean = posterior @ abilities
            ends = xp.stack([xp.max(posterior[:, 0]), xp.max(posterior[:, -1])])
            outer = outer_sums(posterior @ scores, weights)
            products = rights.summed(mean * weights)
            return ends, weights @ log_norm, weights @ posterior, products, outer

        return pass_over

    ends, log_norm, mass, products, outer = data.gather(
        run, over, width=nodes.fine.size, combine=_join
    )
    told = products, mass, log_norm, outer, ends
    return _linear_expectation(data, coords, curves, population, *told)


def _expect_by_table(
    data: Encoded,
    coords: Array,
    nodes: Nodes,
    run: Run,
    population: Population,
    grid: ScoreGrid,
) -> Expectation:
    """Return sufficient scores, many respondents: posteriors on a grid of scores, interpolated."""
    xp, curves = array_namespace(coords), LinearCurves.at(coords, nodes)
    scores = like(scale_scores(population, nodes.fine)[0], coords)
    slope = coords[:, 0]
    posterior, log_norm = curves.posterior(grid.points(slope))
    means = posterior @ curves.abilities

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, table = like(slope, part.weights), like(means, part.weights)
        xp = array_namespace(own)

        def pass_over(rows: slice) -> tuple[Array, Array]:
            rights, weights = part.right_or_wrong(rows), part.counted(rows)
            near, share = grid.near(rights.times(own))
            bins = histogram(near, share * weights, grid.size)
            return bins, rights.summed(xp.sum(share * table[near], axis=0) * weights)

        return pass_over

    bins, products = data.gather(run, over)
    mass = bins @ posterior
    outer = outer_sums(posterior @ scores, bins)
    seen = bins > 1e-6 * xp.max(bins)
    ends = xp.stack([xp.max(xp.where(seen, posterior[:, k], 0 * bins)) for k in (0, -1)])
    told = products, mass, bins @ log_norm, outer, ends
    return _linear_expectation(data, coords, curves, population, *told)


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
    """Finish the step: `products` is Σ E[θ] x, `mass` the posterior mass on the nodes."""
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
    """Matrix products of responses with the items' terms, and of posteriors with responses."""
    width, n_nodes = nodes.fine.size, len(nodes.coarse)
    lanes = min(16, max(2, LANE_CELLS // ((1 + len(model.direction)) * coords.shape[0] * n_nodes)))

    def work(coords: Array, scores: Array) -> tuple[Array, ...]:
        xp = array_namespace(coords)

        def over(part: Encoded, run: Run) -> Work:
            posterior_of = Posterior(_terms(part, model, coords, nodes, run), nodes)
            there = like(scores, part.weights)
            read = array_namespace(there).astype(there, part.dtype, copy=False)
            return lambda rows: _general_sums(part, rows, posterior_of, read)

        ends, value, mass, outer, totals, *counts = data.gather(
            run, over, width=width, lanes=lanes, combine=_join
        )
        totals = totals[None, :] if data.complete else totals.T
        tables = nodes.beside(coords).coarse, xp.stack([count.T for count in counts]), totals
        slopes = by_items(
            run,
            coords,
            n_nodes,
            lambda items: model.curvature(coords[items], *of_items(tables, items)),
        )
        return ends, value, mass, outer, _alignment(model, tables), *slopes, *tables

    given = like(coords, data.weights), like(scale_scores(population, nodes.fine)[0], data.weights)
    if isinstance(given[0], np.ndarray) or len(data.blocks(width)) > FEW_BLOCKS:
        found = work(*given)
    else:
        found = data.recordings(("generally", model, nodes), work, *given)
    ends, value, mass, outer, alignment, gradient, expected, observed, *tables = found
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
    ).beside(coords)


def _terms(data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, run: Run) -> Array:
    """Return what items say on the coarse nodes, where the rows are and in their precision."""
    coords, coarse = like(coords, data.weights), nodes.beside(data.weights).coarse
    xp = array_namespace(coords)

    def item_terms(items: slice) -> tuple[Array]:
        return (xp.permute_dims(model.log_terms(coords[items], coarse), (1, 0, 2)),)

    (terms,) = by_items(run, coords, coarse.shape[0], item_terms)
    return xp.astype(xp.permute_dims(terms, (1, 0, 2)), data.dtype, copy=False)


def _general_sums(
    data: Encoded, rows: slice, posterior_of: Posterior, scores: Array
) -> list[Array]:
    """Masses at both ends, log-likelihood, posterior mass, and what its tables hold of a block."""
    xp = array_namespace(scores)
    block, weights = data.block(rows), xp.astype(data.counted(rows), data.dtype, copy=False)
    posterior, log_norm = posterior_of(block)
    weighted = posterior if data.unweighted else posterior * weights[:, None]
    ends = xp.stack([xp.max(posterior[:, 0]), xp.max(posterior[:, -1])])
    outer = outer_sums(posterior @ scores, weights)
    mass = weights @ posterior
    carried = posterior_of.on_coarse(weighted)
    counts = [carried.T @ statistic for statistic in block.statistics]
    if block.observed is None:
        totals = mass if carried is weighted else xp.sum(carried, axis=0)
    else:
        totals = carried.T @ block.observed
    value = data.counted(rows) @ xp.astype(log_norm, xp.float64, copy=False)
    found = [ends, value, mass, outer, totals, *counts]
    return [xp.asarray(part, dtype=xp.float64) for part in found]  # sums stay exact


def _join(old: Sequence[Array], new: Sequence[Array]) -> list[Array]:
    """Return the larger masses at the ends, and the sum of everything else."""
    xp = array_namespace(old[0])
    return [xp.maximum(old[0], new[0]), *add(old[1:], new[1:])]


def _alignment(model: MeasurementModel, tables: Tables) -> Array:
    """Return covariance of ability with the response among those asked, summed over items."""
    xp = array_namespace(tables[0])
    abilities, counts, totals = tables
    graded, along = 0 * counts[0, :, 0], 0 * counts[0, :, 0]
    for weight, count in zip(model.direction, counts, strict=True):
        graded = graded + weight * xp.sum(count, axis=1)
        along = along + weight * (count @ abilities)
    mean = graded / xp.clip(xp.sum(totals, axis=1), 1e-300, None)
    return xp.sum(along - mean * (totals @ abilities))


def outer_sums(means: Array, weights: Array) -> Array:
    """Σ over respondents of products of their mean scores: origin twice, both, unit twice."""
    xp = array_namespace(means)
    origin, unit = means[:, 0], means[:, 1]
    return xp.stack([origin * origin, origin * unit, unit * unit]) @ weights
