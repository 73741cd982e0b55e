"""Item errors propagated to scores, exactly or averaged over the answers.

A score that is computed from estimated items moves when they move. To first order its error is its
derivative in the items' coordinates times theirs (the delta method), beside the error if the items
were known. The derivative of a posterior mean is the posterior covariance of ability with the
derivative of the log-likelihood, so that one more pass over the responses gives all of them. Items
err alone, and all together where origin and unit of the scale are not known exactly.

With many respondents, the effect of item errors on an ability is averaged over the responses that
items may get at that ability. The average is a smooth function of ability, so it is computed for a
few abilities and interpolated.
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

CELLS = 1 << 20  # number of derivatives in one block of rows
NUDGE = 1e-4
EMPTY = 1e-17  # weight of a node, relative to the largest, below which it is left out
MOST_JOINT = 500  # number of respondents beyond which errors of items are averaged
POINTS = 33  # number of abilities at which averages are computed
FINE = 4_097  # number of abilities to which they are interpolated


@dataclass(frozen=True, eq=False)
class ItemErrors:
    """Errors of coordinates: each item's own, and directions that move all of them together."""

    coords: Floats  # (n_items, width): expected coordinates, which need not be the estimates
    own: Floats  # (n_items, width, width): roots of each item's own covariance
    shared: Floats  # (n_shared, n_items, width): one standard error each, independent

    @classmethod
    def of(cls, coords: Floats, covariances: Floats, shared: Floats) -> ItemErrors:
        """Split the whole covariance of each item into its own part and `shared` directions."""
        own = covariances - np.einsum("kni,knj->nij", shared, shared)
        # One memory order, whether computed or read from a file, so that sums stay the same.
        return cls(coords, root_of(own), np.ascontiguousarray(shared))

    def alone(self, derivatives: Floats) -> Floats:
        """Return errors through single items, (n_rows, width x n_items), each of variance one."""
        n_rows, n_items, width = derivatives.shape
        errors = np.empty((n_rows, width, n_items))
        for k in range(width):  # faster than einsum, since width is small
            np.multiply(derivatives[..., 0], self.own[:, 0, k], out=errors[:, k])
            for w in range(1, width):
                errors[:, k] += derivatives[..., w] * self.own[:, w, k]
        return errors.reshape(n_rows, -1)

    def together(self, derivatives: Floats) -> Floats:
        """Return errors through the scale, (n_rows, n_shared)."""
        errors = np.zeros((len(derivatives), len(self.shared)))
        for w in range(derivatives.shape[2]):
            errors += derivatives[..., w] @ self.shared[..., w].T
        return errors

    def variance(self, derivatives: Floats) -> Floats:
        """Return variance of scores with `derivatives` (n_rows, n_items, width), (n_rows,)."""
        alone, together = self.alone(derivatives), self.together(derivatives)
        return np.asarray((alone**2).sum(axis=1) + (together**2).sum(axis=1))


def ability_derivatives(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    found: Abilities,
) -> Iterator[tuple[slice, Floats]]:
    """Yield derivatives of abilities in the items by blocks of rows, (n_rows, n_items, width).

    `found` are the abilities that `method` gave at `coords`; those at a bound do not move.
    """
    blocks = row_blocks(data.shape[0], max(1, CELLS // coords.size))
    if method.lower() == "eap" and not (model.normal and isinstance(population, NormalPopulation)):
        seen, reach = found.seen, population.reach(FARTHEST)
        if seen is None:
            nodes = plan_nodes(model, coords, population, reach, often=data.often)
        else:
            nodes = seen.nodes
        slopes = PosteriorSlopes(model, coords, nodes)
        for rows in blocks:
            block = data.block(rows)
            posterior = slopes.posterior(block)[0] if seen is None else seen.weights[rows]
            centred = slopes.abilities - found.ability[rows, None]
            yield rows, slopes.covariances(block, posterior * centred)
        return
    for rows in blocks:
        block, ability = data.block(rows), found.ability[rows]
        up, down = (model.term_slopes(coords, ability + step) for step in (NUDGE, -NUDGE))
        terms = (up - down) / (2 * NUDGE)  # (width, n_terms, n_items, n_rows)
        cross = block.asked.T * terms[:, 0]  # second derivatives in ability and item
        for k, statistic in enumerate(block.statistics, start=1):
            cross = cross + statistic.T * terms[:, k]
        moved = np.where(found.at_bound, 0.0, found.se**2)[rows, None, None]
        yield rows, np.transpose(cross, (2, 1, 0)) * moved


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
        self._extend(coarse)
        shape = len(self._slopes), len(coarse), len(self._coords)
        scores = np.empty(shape)  # one coordinate after the other in memory
        averaged_scores(block, self._slopes, coarse[:, self._span], scores)
        return np.moveaxis(scores, 0, 2)

    def _extend(self, weights: Floats) -> None:
        """Compute slopes at nodes that carry weight; most nodes are for extreme respondents."""
        mass = np.abs(weights).max(axis=0)
        used = np.flatnonzero(mass > EMPTY * mass.max())
        if not used.size:
            used = np.array([0])
        first, last, span = int(used[0]), int(used[-1]) + 1, self._span
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

    `slopes` are `model.term_slopes` at the nodes. The result has one (n_rows, n_items) for each
    coordinate, written to `out` if given: allocating large arrays would cost more than the work.
    """
    scores = []
    for k, slope in enumerate(slopes):
        score = weights @ slope[0].T if out is None else np.matmul(weights, slope[0].T, out=out[k])
        if block.observed is not None:
            score *= block.observed
        for statistic, own in zip(block.statistics, slope[1:], strict=True):
            # In linear log-odds, a response adds the ability to a slope, whatever the item.
            alike = bool((own == own[:1]).all())
            score += statistic * (weights @ (own[:1] if alike else own).T)
        scores.append(score)
    return scores


def averages(model: MeasurementModel, n_respondents: int, tries: object) -> bool:
    """Return True if there are enough respondents for averages, and the model is categorical."""
    return n_respondents > MOST_JOINT and tries is None and isinstance(model, Categorical)


def points_among(ability: Floats) -> Floats:
    """Return equally spaced abilities from the lowest of these to the highest."""
    low, high = float(ability.min()), float(ability.max())
    return np.linspace(low, max(high, low + 1e-3), POINTS)


def sums_at(data: Encoded, ability: Floats, points: Floats, tables: Array) -> Floats:
    """Sum `tables` over the items that a row was asked, at its ability, (n_rows, n_tables).

    `tables` (n_tables, n_items, n_points) are known at `points`.
    """
    if data.complete:
        return whole_at(ability, points, tables)
    xp = array_namespace(tables)
    refine, nearest = _refined(ability, points)
    n_tables, n_items, n_points = tables.shape
    flat = xp.reshape(xp.permute_dims(tables, (1, 0, 2)), (n_items, -1))
    sums = np.empty((len(ability), n_tables))

    def fill(rows: slice) -> None:
        part = xp.reshape(data.values(rows)[1] @ flat, (-1, n_tables, n_points))
        weights = like(refine.T[nearest[rows]], tables)  # (n_rows, n_points)
        sums[rows] = as_numpy(xp.sum(part * weights[:, None, :], axis=2))

    with workers() as run:
        list(run(fill, data.blocks(flat.shape[1])))
    return sums


def whole_at(ability: Floats, points: Floats, tables: Array) -> Floats:
    """Sum `tables` over all items, at each ability, (n_rows, n_tables)."""
    refine, nearest = _refined(ability, points)
    whole: Floats = as_numpy(array_namespace(tables).sum(tables, axis=1)) @ refine
    return np.take(whole.T, nearest, axis=0)


def _refined(ability: Floats, points: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return interpolation from `points` to many abilities, and the one nearest to each row."""
    fine = np.linspace(points[0], points[-1], FINE)
    nearest = np.rint((ability - fine[0]) / (fine[1] - fine[0])).astype(np.intp)
    return interpolation_matrix(points, fine), nearest


def item_tables(model: Categorical, errors: ItemErrors, points: Floats, data: Encoded) -> Array:
    """Return the movement of an ability of variance one by each item.

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
    """Return the movement of the expected response at an ability by errors of the item.

    (2 + n_shared, n_items, n_points): the square through the item's own errors, their product
    with the movement of an ability of variance one, and the movement by each shared one.
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
    """Return variance of abilities through single items, (n_rows,), and errors through all.

    The latter are (n_rows, n_shared). `variance` is that of each ability if items were known; it
    is 0 for an ability that does not move.
    """
    assert isinstance(model, Categorical)  # noqa: S101 - see `averages`
    points = points_among(ability)
    sums = sums_at(data, ability, points, item_tables(model, errors, points, data))
    return np.maximum(sums[:, 0], 0.0) * variance**2, sums[:, 1:] * variance[:, None]
