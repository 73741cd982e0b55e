"""What errors of the items do to many respondents: averaged over the answers they may give.

With many respondents items are known well, and what is not known of them hardly moves an ability.
How far it does depends on the responses of a row only through chance: at a given ability, its
average over the responses that items may get there is as good, and it is a smooth function of
ability. So it is computed on a few abilities and interpolated; respondents who were asked
different items need one matrix product more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.models import Categorical, MeasurementModel
from ogive.numerics.arrays import Array, Floats, array_namespace, as_numpy, like, workers
from ogive.responses.encoding import Encoded
from ogive.scoring.item_errors import NUDGE, ItemErrors
from ogive.scoring.posterior import interpolation_matrix

MOST_JOINT = 500  # respondents; errors of single items hardly matter where there are more
POINTS = 33
FINE = 4_097  # abilities to which those are interpolated


def averages(model: MeasurementModel, n_respondents: int, tries: object) -> bool:
    """Whether there are so many respondents that an average does, and the model knows it."""
    return n_respondents > MOST_JOINT and tries is None and isinstance(model, Categorical)


def points_among(ability: Floats) -> Floats:
    """Equally spaced abilities from the lowest of these to the highest."""
    low, high = float(ability.min()), float(ability.max())
    return np.linspace(low, max(high, low + 1e-3), POINTS)


def sums_at(data: Encoded, ability: Floats, points: Floats, tables: Array) -> Floats:
    """Σ over the items that a row was asked of `tables` at its ability, (n_rows, n_tables).

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
    """The same over all items."""
    refine, nearest = _refined(ability, points)
    whole: Floats = as_numpy(array_namespace(tables).sum(tables, axis=1)) @ refine
    taken: Floats = np.take(whole.T, nearest, axis=0)
    return taken


def _refined(ability: Floats, points: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """From `points` to many abilities between them, and which of those is nearest to each row's."""
    fine = np.linspace(points[0], points[-1], FINE)
    nearest = np.rint((ability - fine[0]) / (fine[1] - fine[0])).astype(np.intp)
    return interpolation_matrix(points, fine), nearest


def item_tables(model: Categorical, errors: ItemErrors, points: Floats, data: Encoded) -> Array:
    """How far each item moves an ability that is known to a variance of one.

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
    """How far errors of an item move the response that is expected at a given ability.

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
    """Derivatives of log P in ability and coordinates, and P, for each category.

    (width, n_categories, n_items, n_points), and without the first axis.
    """
    coords, abilities = like(errors.coords, data.cells), like(points, data.cells)
    up, down = (model.slopes(coords, abilities + step) for step in (NUDGE, -NUDGE))
    return (up - down) / (2 * NUDGE), model.category_probabilities(coords, abilities)


def _along(slopes: Array, direction: Array) -> Array:
    """Derivatives (width, ..., n_items, n_points) along (n_items, width) of each item."""
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
