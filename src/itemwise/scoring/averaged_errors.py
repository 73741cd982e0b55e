"""What errors of the items do to many respondents: averaged over the answers they may give.

With many respondents items are known well, and what is not known of them hardly moves an ability.
How far it does depends on the responses of a row only through chance: at a given ability, its
average over the responses that items may get there is as good, and it is a smooth function of
ability. So it is computed on a few abilities and interpolated; respondents who were asked
different items need one matrix product more.
"""

from __future__ import annotations

import numpy as np

from itemwise.models import Categorical, MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from itemwise.responses.encoding import Encoded
from itemwise.scoring.item_errors import NUDGE, ItemErrors
from itemwise.scoring.posterior import interpolation_matrix

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
    xp = array_namespace(tables)
    fine = np.linspace(points[0], points[-1], FINE)
    refine = interpolation_matrix(points, fine)
    nearest = np.rint((ability - fine[0]) / (fine[1] - fine[0])).astype(np.intp)
    if data.complete:
        whole: Floats = as_numpy(xp.sum(tables, axis=1)) @ refine
        taken: Floats = np.take(whole.T, nearest, axis=0)
        return taken
    n_tables, n_items, n_points = tables.shape
    flat = xp.reshape(xp.permute_dims(tables, (1, 0, 2)), (n_items, -1))
    found = np.empty((len(ability), n_tables))
    for rows in data.blocks(flat.shape[1]):
        part = xp.reshape(data.block(rows).asked @ flat, (-1, n_tables, n_points))
        weights = like(refine.T[nearest[rows]], tables)  # (n_rows, n_points)
        found[rows] = as_numpy(xp.sum(part * weights[:, None, :], axis=2))
    return found


def item_tables(model: Categorical, errors: ItemErrors, points: Floats, data: Encoded) -> Array:
    """How far each item moves an ability that is known to a variance of one.

    (1 + n_shared, n_items, n_points): the mean square through the item's own errors, and the mean
    through each shared one.
    """
    xp = array_namespace(data.cells)
    coords, abilities = like(errors.coords, data.cells), like(points, data.cells)
    up, down = (model.slopes(coords, abilities + step) for step in (NUDGE, -NUDGE))
    cross = (up - down) / (2 * NUDGE)  # (width, n_categories, n_items, n_points)
    prob = model.category_probabilities(coords, abilities)
    own, shared = like(errors.own, data.cells), like(errors.shared, data.cells)
    alone = 0 * prob[0]
    for k in range(model.width):
        through = sum(cross[w] * own[:, w, k][:, None] for w in range(model.width))
        alone = alone + xp.sum(prob * through**2, axis=0)
    mean = xp.sum(prob * cross, axis=1)  # (width, n_items, n_points)
    together = [
        sum(mean[w] * direction[:, w][:, None] for w in range(model.width)) for direction in shared
    ]
    return xp.stack([alone, *together])


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
