"""Other maxima of single items: where an item would stand had it begun elsewhere.

Without a prior, a curve with asymptotes has several maxima, and an item keeps to the one that was
nearest when it came by. With the E-step's sums at hand, other beginnings cost little; where one
leads higher, so does the likelihood of the whole table (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

from ogive.estimation.fits import Tables, of_items
from ogive.estimation.maximization import bounded_step, climb_items, item_slopes, item_values
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Array, Run, array_namespace, by_items, like

STRETCHES = (0.4, 2.5, -1.0)  # flatter, steeper, and the other way round
STRIDES = (0.0, 1.0, 3.0)  # longest steps from the bound at which an asymptote begins again
ROUNDS = 2  # climbs of each item from each beginning
WORTH = 1e-6  # nats by which another maximum must be higher


def is_loose(model: MeasurementModel) -> bool:
    """Whether items of this model may have several maxima: it has asymptotes without priors."""
    return bool(_loose(model)) and not model.shared.any()


def look_around(
    model: MeasurementModel, coords: Array, tables: Tables, tilt: Array, run: Run = map
) -> tuple[Array, float]:
    """Every item at the highest maximum that other beginnings lead to, and what is gained."""
    here, pull = like(coords, tables[0]), like(tilt, tables[0])

    def look(items: slice) -> tuple[Array, Array]:
        return _look(model, here[items], of_items(tables, items), pull[items])

    found, gains = by_items(run, here, tables[0].shape[0], look)
    return like(found, coords), float(array_namespace(here).sum(gains))


def _look(
    model: MeasurementModel, coords: Array, tables: Tables, tilt: Array
) -> tuple[Array, Array]:
    xp = array_namespace(coords)
    best = coords
    first = value = item_values(model, coords, tables, tilt)
    for there in _beginnings(model, coords):
        for _ in range(ROUNDS):
            step, gains = bounded_step(model, there, item_slopes(model, there, tables, tilt))
            there = climb_items(model, there, step, gains, tables, tilt)
        reached = item_values(model, there, tables, tilt)
        better = reached > value + WORTH
        best = xp.where(better[:, None], there, best)
        value = xp.where(better, reached, value)
    return best, value - first


def _beginnings(model: MeasurementModel, coords: Array) -> list[Array]:
    """Flatter, steeper and falling curves, and asymptotes at and off their bound."""
    xp = array_namespace(coords)
    found = [model.bounded(model.rescale(coords, 0.0, scale)) for scale in STRETCHES]
    for k in _loose(model):
        for stride in STRIDES:
            other = coords + 0
            other[:, k] = model.coordinates[k].low + stride * model.coordinates[k].longest
            found.append(other)
    return [xp.where(model.absent(coords), coords, other) for other in found]


def _loose(model: MeasurementModel) -> list[int]:
    """Coordinates without a prior that begin at zero."""
    return [k for k, c in enumerate(model.coordinates) if c.prior is None and c.low == 0]
