"""Item errors propagated to scores, exactly or averaged.

What errors of the items, and of the scale they stand on, make of a respondent's score.

A score that is computed from estimated items moves when they move. To first order its error is
its derivative in the items' coordinates times theirs (the delta method), beside what would be
unknown if the items were known. The derivative of a posterior mean is the posterior covariance
of ability with the derivative of the log-likelihood, so that one more pass over the responses
gives all of them. Items err alone, and all together where origin and unit of the scale are not
known exactly.

What errors of the items do to many respondents: averaged over the answers they may give.

With many respondents items are known well, and what is not known of them hardly moves an ability.
How far it does depends on the responses of a row only through chance: at a given ability, its
average over the responses that items may get there is as good, and it is a smooth function of
ability. So it is computed on a few abilities and interpolated; respondents who were asked
different items need one matrix product more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ogive.irt.abilities import Abilities
from ogive.irt.encoded_responses import Block, Encoded
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import (
    FARTHEST,
    Nodes,
    NormalPopulation,
    Population,
    Posterior,
    interpolation_matrix,
    plan_nodes,
)
from ogive.stats.array_backend import (
    Array,
    Floats,
    array_namespace,
    as_numpy,
    like,
    row_blocks,
    workers,
)
from ogive.stats.newton import root_of

CELLS = 1 << 20  # derivatives in one block of rows
NUDGE = 1e-4
NOBODY = 1e-17  # part of the largest weight on a node, below which nobody is there


@dataclass(frozen=True, eq=False)
class ItemErrors:
    """Errors of coordinates: each item's own, and what moves all of them together."""

    coords: Floats  # (n_items, width): where items are expected, which need not be their estimate
    own: Floats  # (n_items, width, width): roots of each item's own covariance
    shared: Floats  # (n_shared, n_items, width): one standard error each, independent

    @classmethod
    def of(cls, coords: Floats, covariances: Floats, shared: Floats) -> ItemErrors:
        """From the whole covariance of each item, of which `shared` directions are a part."""
        own = covariances - np.einsum("kni,knj->nij", shared, shared)
        # In one order, whether they were just computed or read from a file: sums stay the same.
        return cls(coords, root_of(own), np.ascontiguousarray(shared))

    def alone(self, derivatives: Floats) -> Floats:
        """Return errors through single items, (n_rows, width x n_items), each of variance one."""
        n_rows, n_items, width = derivatives.shape
        found = np.empty((n_rows, width, n_items))
        for k in range(width):  # faster than einsum, since it is never wide
            np.multiply(derivatives[..., 0], self.own[:, 0, k], out=found[:, k])
            for w in range(1, width):
                found[:, k] += derivatives[..., w] * self.own[:, w, k]
        return found.reshape(n_rows, -1)

    def together(self, derivatives: Floats) -> Floats:
        """Return errors through the scale, (n_rows, n_shared)."""
        found = np.zeros((len(derivatives), len(self.shared)))
        for w in range(derivatives.shape[2]):
            found += derivatives[..., w] @ self.shared[..., w].T
        return found

    def variance(self, derivatives: Floats) -> Floats:
        """Variance of scores with these `derivatives` (n_rows, n_items, width), (n_rows,)."""
        alone, together = self.alone(derivatives), self.together(derivatives)
        found: Floats = (alone**2).sum(axis=1) + (together**2).sum(axis=1)
        return found


def ability_derivatives(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    found: Abilities,
) -> Iterator[tuple[slice, Floats]]:
    """Yield how abilities change with the items, block by block: (n_rows, n_items, width).

    `found` are the abilities that `method` gave at `coords`; those at a bound do not move.
    """
    blocks = row_blocks(data.shape[0], max(1, CELLS // coords.size))
    if method.lower() == "eap" and not (model.normal and isinstance(population, NormalPopulation)):
        seen, reach = found.seen, population.reach(FARTHEST)
        nodes = (
            plan_nodes(model, coords, population, reach, often=data.often)
            if seen is None
            else seen.nodes
        )
        slopes = PosteriorSlopes(model, coords, nodes)
        for rows in blocks:
            block = data.block(rows)
            posterior = slopes.posterior(block)[0] if seen is None else seen.weights[rows]
            apart = slopes.abilities - found.ability[rows, None]
            yield rows, slopes.covariances(block, posterior * apart)
        return
    for rows in blocks:
        cross = _cross_slopes(data.block(rows), model, coords, found.ability[rows])
        yield rows, cross * np.where(found.at_bound, 0.0, found.se**2)[rows, None, None]


class PosteriorSlopes:
    """Posteriors of ability, and their covariances with derivatives in the items."""

    def __init__(self, model: MeasurementModel, coords: Floats, nodes: Nodes) -> None:
        self.abilities = nodes.fine
        self._model, self._coords, self._nodes = model, coords, nodes
        self._span, self._slopes = slice(0, 0), np.empty(0)

    @cached_property
    def posterior(self) -> Posterior:
        """Posteriors of ability."""
        return Posterior(self._model.log_terms(self._coords, self._nodes.coarse), self._nodes)

    def covariances(self, block: Block, weights: Floats) -> Floats:
        """Return derivatives of the log-likelihood averaged with `weights` on the nodes."""
        refine = self._nodes.interpolation
        coarse = weights if refine is None else weights @ refine.T
        self._reach(coarse)
        shape = len(self._slopes), len(coarse), len(self._coords)
        found = np.empty(shape)  # one coordinate after the other in memory
        averaged_scores(block, self._slopes, coarse[:, self._span], found)
        return np.moveaxis(found, 0, 2)

    def _reach(self, weights: Floats) -> None:
        """Slopes wherever somebody may be; most nodes are there in case anyone stands far out."""
        mass = np.abs(weights).max(axis=0)
        somebody = np.flatnonzero(mass > NOBODY * mass.max())
        if not somebody.size:
            somebody = np.array([0])
        first, last, span = int(somebody[0]), int(somebody[-1]) + 1, self._span
        if span.start <= first and last <= span.stop:
            return
        if span.stop > span.start:
            first, last = min(first, span.start), max(last, span.stop)
        self._span = slice(first, last)
        self._slopes = self._model.term_slopes(self._coords, self._nodes.coarse[self._span])


def averaged_scores(
    block: Block, slopes: Array, weights: Array, out: Floats | None = None
) -> list[Array]:
    """Return derivatives of each response's log-likelihood, averaged over nodes with `weights`.

    `slopes` are `model.term_slopes` at the nodes; one (n_rows, n_items) for each coordinate, in
    `out` if there is one: large arrays that come and go cost more than what is done with them.
    """
    found = []
    for k, slope in enumerate(slopes):
        score = weights @ slope[0].T if out is None else np.matmul(weights, slope[0].T, out=out[k])
        if block.observed is not None:
            score *= block.observed
        for statistic, own in zip(block.statistics, slope[1:], strict=True):
            score += statistic * _averaged(weights, own)
        found.append(score)
    return found


def _averaged(weights: Array, slope: Array) -> Array:
    """`slope` (n_items, n_nodes) averaged with `weights`; in one column where items are alike.

    In linear log-odds, what a response adds to a slope is the ability, whatever the item.
    """
    if bool((slope == slope[:1]).all()):
        return weights @ slope[:1].T
    return weights @ slope.T


def _cross_slopes(block: Block, model: MeasurementModel, coords: Floats, ability: Floats) -> Floats:
    """Derivative of each response's log-likelihood in ability and in the item, at the ability."""
    up, down = (model.term_slopes(coords, ability + step) for step in (NUDGE, -NUDGE))
    slopes = (up - down) / (2 * NUDGE)  # (width, n_terms, n_items, n_rows)
    asked = block.asked.T
    found = asked * slopes[:, 0]
    for k, statistic in enumerate(block.statistics, start=1):
        found = found + statistic.T * slopes[:, k]
    return np.transpose(found, (2, 1, 0))


MOST_JOINT = 500  # respondents; errors of single items hardly matter where there are more
POINTS = 33
FINE = 4_097  # abilities to which those are interpolated


def averages(model: MeasurementModel, n_respondents: int, tries: object) -> bool:
    """Return True if there are so many respondents that an average does, and the model knows it."""
    return n_respondents > MOST_JOINT and tries is None and isinstance(model, Categorical)


def points_among(ability: Floats) -> Floats:
    """Return equally spaced abilities from the lowest of these to the highest."""
    low, high = float(ability.min()), float(ability.max())
    return np.linspace(low, max(high, low + 1e-3), POINTS)


def sums_at(data: Encoded, ability: Floats, points: Floats, tables: Array) -> Floats:
    """Return σ over the items that a row was asked of `tables` at its ability, (n_rows, n_tables).

    `tables` (n_tables, n_items, n_points) are known at `points`.
    """
    if data.complete:
        return whole_at(ability, points, tables)
    xp = array_namespace(tables)
    refine, nearest = _refined(ability, points)
    n_tables, n_items, n_points = tables.shape
    flat = xp.reshape(xp.permute_dims(tables, (1, 0, 2)), (n_items, -1))
    found = np.empty((len(ability), n_tables))

    def fill(rows: slice) -> None:
        part = xp.reshape(data.values(rows)[1] @ flat, (-1, n_tables, n_points))
        weights = like(refine.T[nearest[rows]], tables)  # (n_rows, n_points)
        found[rows] = as_numpy(xp.sum(part * weights[:, None, :], axis=2))

    with workers() as run:
        list(run(fill, data.blocks(flat.shape[1])))
    return found


def whole_at(ability: Floats, points: Floats, tables: Array) -> Floats:
    """Return the same over all items."""
    refine, nearest = _refined(ability, points)
    whole: Floats = as_numpy(array_namespace(tables).sum(tables, axis=1)) @ refine
    return np.take(whole.T, nearest, axis=0)


def _refined(ability: Floats, points: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """From `points` to many abilities between them, and which of those is nearest to each row's."""
    fine = np.linspace(points[0], points[-1], FINE)
    nearest = np.rint((ability - fine[0]) / (fine[1] - fine[0])).astype(np.intp)
    return interpolation_matrix(points, fine), nearest


def item_tables(model: Categorical, errors: ItemErrors, points: Floats, data: Encoded) -> Array:
    """Return how far each item moves an ability that is known to a variance of one.

    (1 + n_shared, n_items, n_points): the mean square through the item's own errors, and the mean
    through each shared one.
    """
    xp = array_namespace(data.cells)
    cross, prob = _crossed(model, errors, points, data)
    own = like(errors.own, data.cells)
    alone = 0 * prob[0]
    for k in range(model.width):
        alone = alone + xp.sum(prob * _along(cross, own[:, :, k]) ** 2, axis=0)
    mean = xp.sum(prob * cross, axis=1)  # (width, n_items, n_points)
    shared = like(errors.shared, data.cells)
    return xp.stack([alone, *(_along(mean, direction) for direction in shared)])


def curve_tables(model: Categorical, errors: ItemErrors, points: Floats, data: Encoded) -> Array:
    """Return how far errors of an item move the response that is expected at a given ability.

    (2 + n_shared, n_items, n_points): the square through the item's own errors, their product
    with what they do to an ability that is known to a variance of one, and what each shared one
    does.
    """
    xp = array_namespace(data.cells)
    cross, prob = _crossed(model, errors, points, data)
    mean = xp.sum(prob * cross, axis=1)
    direct = model.expected_slopes(like(errors.coords, data.cells), like(points, data.cells))
    own, shared = like(errors.own, data.cells), like(errors.shared, data.cells)
    square, product = 0 * prob[0], 0 * prob[0]
    for k in range(model.width):
        through = _along(direct, own[:, :, k])
        square = square + through**2
        product = product + through * _along(mean, own[:, :, k])
    return xp.stack([square, product, *(_along(direct, direction) for direction in shared)])


def _crossed(
    model: Categorical, errors: ItemErrors, points: Floats, data: Encoded
) -> tuple[Array, Array]:
    """Return derivatives of log P in ability and coordinates, and P, for each category.

    (width, n_categories, n_items, n_points), and without the first axis.
    """
    coords, abilities = like(errors.coords, data.cells), like(points, data.cells)
    up, down = (model.slopes(coords, abilities + step) for step in (NUDGE, -NUDGE))
    return (up - down) / (2 * NUDGE), model.category_probabilities(coords, abilities)


def _along(slopes: Array, direction: Array) -> Array:
    """Return derivatives (width, ..., n_items, n_points) along (n_items, width) of each item."""
    total = slopes[0] * direction[:, 0][:, None]
    for w in range(1, slopes.shape[0]):
        total = total + slopes[w] * direction[:, w][:, None]
    return total


def averaged_errors(
    data: Encoded,
    model: MeasurementModel,
    errors: ItemErrors,
    ability: Floats,
    variance: Floats,
) -> tuple[Floats, Floats]:
    """Variance of abilities through single items, (n_rows,), and errors through all together.

    The latter are (n_rows, n_shared). `variance` is that of each ability if items were known; it
    is 0 where an ability does not move.
    """
    assert isinstance(model, Categorical)  # noqa: S101 - see `averages`
    points = points_among(ability)
    sums = sums_at(data, ability, points, item_tables(model, errors, points, data))
    return np.maximum(sums[:, 0], 0.0) * variance**2, sums[:, 1:] * variance[:, None]
