"""What errors of the items do to many respondents: averaged over the answers they may give.

With many respondents items are known well, and what is not known of them hardly moves an ability.
How far it does depends on the responses of a row only through chance: at a given ability, its
average over the responses that items may get there is as good, and it is a smooth function of
ability. So it is computed on a few abilities and interpolated; respondents who were asked
different items need one matrix product more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.models import Categorical, MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from itemwise.responses.encoding import Encoded
from itemwise.scoring.item_errors import NUDGE, ItemErrors
from itemwise.scoring.sufficient_scores import cubic_weights

MOST_JOINT = 500  # respondents; errors of single items hardly matter where there are more
POINTS = 33


def averages(model: MeasurementModel, n_respondents: int, tries: object) -> bool:
    """Whether there are so many respondents that an average does, and the model knows it."""
    return n_respondents > MOST_JOINT and tries is None and isinstance(model, Categorical)


@dataclass(frozen=True)
class AbilityGrid:
    """Equally spaced abilities, two of them beyond those of all respondents at either end."""

    low: float
    step: float

    @classmethod
    def over(cls, ability: Floats) -> AbilityGrid:
        """The grid of these abilities."""
        low, high = float(ability.min()), float(ability.max())
        step = max(high - low, 1e-3) / (POINTS - 5)
        return cls(low - 2 * step, step)

    @property
    def points(self) -> Floats:
        """The abilities themselves."""
        found: Floats = self.low + self.step * np.arange(POINTS, dtype=float)
        return found

    def sums(self, data: Encoded, ability: Floats, tables: Array) -> Floats:
        """Σ over the items of a row of `tables` (n_tables, n_items, POINTS) at its ability.

        Of all items where all were asked; the result is (n_rows, n_tables).
        """
        xp = array_namespace(tables)
        place = (ability - self.low) / self.step
        index = np.floor(place).astype(np.intp)
        weights = np.stack(cubic_weights(place - index), axis=1)  # (n_rows, 4)
        near = index[:, None] + np.arange(-1, 3)
        if data.complete:
            whole = as_numpy(xp.sum(tables, axis=1))  # (n_tables, POINTS)
            summed: Floats = np.einsum("trk,rk->rt", whole[:, near], weights)
            return summed
        n_items = tables.shape[1]
        flat = xp.reshape(xp.permute_dims(tables, (1, 0, 2)), (n_items, -1))
        found = np.empty((len(ability), tables.shape[0]))
        for rows in data.blocks(flat.shape[1]):
            asked = data.block(rows).asked
            part = xp.reshape(asked @ flat, (-1, tables.shape[0], POINTS))
            close = like(near[rows], tables)[:, None, :]
            close = xp.astype(xp.broadcast_to(close, (*part.shape[:2], 4)), xp.int64)
            picked = xp.take_along_axis(part, close, axis=2)
            found[rows] = as_numpy(xp.sum(picked * like(weights[rows], tables)[:, None, :], axis=2))
        return found


def item_tables(model: Categorical, errors: ItemErrors, grid: AbilityGrid, data: Encoded) -> Array:
    """How far each item moves an ability that is known to a variance of one.

    (1 + n_shared, n_items, POINTS): the mean square through the item's own errors, and the mean
    through each shared one.
    """
    xp = array_namespace(data.cells)
    coords, points = like(errors.coords, data.cells), like(grid.points, data.cells)
    up, down = (model.slopes(coords, points + step) for step in (NUDGE, -NUDGE))
    cross = (up - down) / (2 * NUDGE)  # (width, n_categories, n_items, POINTS)
    prob = model.category_probabilities(coords, points)
    own, shared = like(errors.own, data.cells), like(errors.shared, data.cells)
    alone = 0 * prob[0]
    for k in range(model.width):
        through = sum(cross[w] * own[:, w, k][:, None] for w in range(model.width))
        alone = alone + xp.sum(prob * through**2, axis=0)
    mean = xp.sum(prob * cross, axis=1)  # (width, n_items, POINTS)
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
    grid = AbilityGrid.over(ability)
    sums = grid.sums(data, ability, item_tables(model, errors, grid, data))
    return np.maximum(sums[:, 0], 0.0) * variance**2, sums[:, 1:] * variance[:, None]
