"""The E-step: what the responses say of the items, averaged over where respondents may stand.

Several ways to the same sums. Where the log-odds are linear in ability and no response is missing,
s = Σ a x is sufficient for ability: the responses enter through two matrix-vector products, the
posterior through s, row by row or, for many rows, by a table in s that is interpolated. Where
responses are normal, posteriors are, too (`normal`). Otherwise matrix products over all nodes do
the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from itemwise.estimation.fits import Expectation, Tables, of_items
from itemwise.estimation.maximization import population_information
from itemwise.estimation.normal_responses import expect_normally
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import (
    Array,
    Run,
    add,
    array_namespace,
    as_numpy,
    by_items,
    histogram,
    like,
)
from itemwise.responses.encoding import Encoded, Work
from itemwise.scoring.posterior import (
    STANDARD,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    scale_scores,
)
from itemwise.scoring.sufficient_scores import LinearCurves, ScoreGrid, posterior_of_scores

LANE_CELLS = 1 << 25  # numbers that all partial sums together may hold


def expect(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    run: Run = map,
    population: Population = STANDARD,
) -> Expectation:
    """One E-step at `coords`; `run` maps a function over blocks of rows.

    Items may lie in NumPy while responses are on a device; so does then what is said of them.
    """
    here = like(coords, data.weights)
    if model.normal and isinstance(population, NormalPopulation):
        found = expect_normally(data, model, here, run)
    elif not (model.linear and data.complete):
        return expect_generally(data, model, coords, nodes, run, population)
    else:
        grid = ScoreGrid.of(here[:, 0])
        if grid.pays(data.shape[0], nodes.fine.size):
            found = _expect_by_table(data, here, nodes, run, population, grid)
        else:
            found = _expect_by_row(data, here, nodes, run, population)
    return found.beside(coords)


def _expect_by_row(
    data: Encoded, coords: Array, nodes: Nodes, run: Run, population: Population
) -> Expectation:
    """Sufficient scores, few respondents: the posterior of each."""
    sums = _LinearSums.at(coords, nodes, population)
    known = coords[:, 0], sums.curves.abilities, sums.curves.log_base, sums.scores

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
    return sums.expectation(data, coords, products, mass, log_norm, outer, ends)


def _expect_by_table(
    data: Encoded,
    coords: Array,
    nodes: Nodes,
    run: Run,
    population: Population,
    grid: ScoreGrid,
) -> Expectation:
    """Sufficient scores, many respondents: posteriors on a grid of scores, interpolated."""
    xp = array_namespace(coords)
    sums = _LinearSums.at(coords, nodes, population)
    slope, curves = coords[:, 0], sums.curves
    posterior, log_norm = curves.posterior(grid.points(slope))
    means = posterior @ curves.abilities

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, table = like(slope, part.weights), like(means, part.weights)
        xp = array_namespace(own)

        def pass_over(rows: slice) -> tuple[Array, Array]:
            rights, weights = part.right_or_wrong(rows), part.counted(rows)
            bins, mean = 0, 0
            for near, weight in grid.near(rights.times(own)):
                bins = bins + histogram(near, weight * weights, grid.size)
                mean = mean + weight * xp.take(table, near)
            return bins, rights.summed(mean * weights)

        return pass_over

    bins, products = data.gather(run, over)
    mass = bins @ posterior
    outer = outer_sums(posterior @ sums.scores, bins)
    seen = posterior[bins > 1e-6 * xp.max(bins)]
    ends = xp.stack([xp.max(seen[:, 0]), xp.max(seen[:, -1])])
    return sums.expectation(data, coords, products, mass, bins @ log_norm, outer, ends)


@dataclass(frozen=True, eq=False)
class _LinearSums:
    """What sums over respondents say, where log-odds are linear in ability."""

    curves: LinearCurves
    scores: Array  # (n_nodes, 2): see `scale_scores`
    population: Population

    @classmethod
    def at(cls, coords: Array, nodes: Nodes, population: Population) -> _LinearSums:
        scores = like(scale_scores(population, nodes.fine)[0], coords)
        return cls(LinearCurves.at(coords, nodes), scores, population)

    def expectation(
        self,
        data: Encoded,
        coords: Array,
        products: Array,
        mass: Array,
        log_norm: Array,
        outer: Array,
        ends: Array,
    ) -> Expectation:
        """Finish the step: `products` is Σ E[θ] x, `mass` the posterior mass on the nodes."""
        xp, curves = array_namespace(coords), self.curves
        moments = xp.stack([mass * curves.abilities**2, mass * curves.abilities, mass], axis=1)
        expected = curves.rise @ moments[:, 1:]
        gradient = xp.stack([products - expected[:, 0], data.right_counts - expected[:, 1]], axis=1)
        weighted = (curves.rise * curves.fall) @ moments
        information = xp.stack([weighted[:, :2], weighted[:, 1:]], axis=1)
        value = float(log_norm + coords[:, 1] @ data.right_counts)
        chance = data.right_counts / data.n_respondents
        return Expectation(
            log_likelihood=value,
            gradient=gradient,
            expected=information,
            observed=information,
            scale=population_information(
                self.population, as_numpy(curves.abilities), as_numpy(mass), as_numpy(outer)
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
    here = like(coords, data.weights)
    xp = array_namespace(here)
    scores_on_nodes = scale_scores(population, nodes.fine)[0]
    n_nodes = len(nodes.coarse)

    def over(part: Encoded, run: Run) -> Work:
        posterior_of = Posterior(_terms(part, model, coords, nodes, run), nodes)
        scores = array_namespace(posterior_of.abilities).astype(
            like(scores_on_nodes, part.weights), part.dtype, copy=False
        )
        return lambda rows: _general_sums(part, rows, posterior_of, scores)

    lanes = min(16, max(2, LANE_CELLS // ((1 + len(model.direction)) * coords.shape[0] * n_nodes)))
    ends, value, mass, outer, totals, *counts = data.gather(
        run, over, width=nodes.fine.size, lanes=lanes, combine=_join
    )
    totals = totals[None, :] if data.complete else totals.T
    tables = like(nodes.coarse, here), xp.stack([count.T for count in counts]), totals
    gradient, expected, observed = by_items(
        run, here, n_nodes, lambda items: model.curvature(here[items], *of_items(tables, items))
    )
    return Expectation(
        log_likelihood=float(value),
        gradient=gradient,
        expected=expected,
        observed=observed,
        scale=population_information(population, nodes.fine, as_numpy(mass), as_numpy(outer)),
        edges=(float(ends[0]), float(ends[1])),
        alignment=_alignment(model, tables),
        mass=as_numpy(mass),
        tables=tables,
    ).beside(coords)


def _terms(data: Encoded, model: MeasurementModel, coords: Array, nodes: Nodes, run: Run) -> Array:
    """What items say on the coarse nodes, where the rows are and in their precision."""
    coords, coarse = like(coords, data.weights), like(nodes.coarse, data.weights)
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
    """The larger masses at the ends, and the sum of everything else."""
    xp = array_namespace(old[0])
    return [xp.maximum(old[0], new[0]), *add(old[1:], new[1:])]


def _alignment(model: MeasurementModel, tables: Tables) -> float:
    """Covariance of ability with the response among those asked, summed over items."""
    xp = array_namespace(tables[0])
    abilities, counts, totals = tables
    graded, along = 0 * counts[0, :, 0], 0 * counts[0, :, 0]
    for weight, count in zip(model.direction, counts, strict=True):
        graded = graded + weight * xp.sum(count, axis=1)
        along = along + weight * (count @ abilities)
    mean = graded / xp.clip(xp.sum(totals, axis=1), 1e-300, None)
    return float(xp.sum(along - mean * (totals @ abilities)))


def outer_sums(means: Array, weights: Array) -> Array:
    """Σ over respondents of products of their mean scores: origin twice, both, unit twice."""
    xp = array_namespace(means)
    origin, unit = means[:, 0], means[:, 1]
    return xp.stack([origin * origin, origin * unit, unit * unit]) @ weights
