"""The M-step: every item climbs its own expected log-likelihood, all items at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.estimation.engine import Tables, of_items
from itemwise.models.measurement import Coordinate, MeasurementModel
from itemwise.numerics.arrays import Array, array_namespace, like
from itemwise.numerics.newton import safe_information, solve_blocks

MOST_TURNS = 8  # Newton converges quadratically; more only chases items that run away
AT_BOUND = 1e-5  # nearer than this part of its range to a bound is at the bound
ENOUGH = 1e-3  # an item is done when its next gain is this small a part of its first


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradient of a penalised item problem, and a positive information to divide it by."""

    gradient: Array  # (n_items, width)
    information: Array  # (n_items, width, width)


def log_penalty(model: MeasurementModel, coords: Array) -> Array:
    """Log-prior of every item, (n_items,); a shared coordinate is split among the items."""
    total = 0 * coords[:, 0]
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.prior is not None:
            share = _share(coordinate, coords[:, k])
            total = total + share * coordinate.prior.log_density(coords[:, k])
    return total


def penalty_slopes(model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
    """First derivative and minus the second of `log_penalty`, both (n_items, width)."""
    xp = array_namespace(coords)
    nothing = 0 * coords[:, 0]
    pull, stiffness = [], []
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.prior is None:
            pull.append(nothing)
            stiffness.append(nothing)
            continue
        share = _share(coordinate, coords[:, k])
        pull.append(share * coordinate.prior.slope(coords[:, k]))
        stiffness.append(share * coordinate.prior.curvature(coords[:, k]))
    return xp.stack(pull, axis=1), xp.stack(stiffness, axis=1)


def _share(coordinate: Coordinate, column: Array) -> Array | float:
    """How much of a prior belongs to each item; an absent number has none."""
    if coordinate.shared:
        return 1 / column.shape[0]
    if coordinate.absent is None:
        return 1.0
    return array_namespace(column).astype(column != coordinate.absent, column.dtype)


def add_diagonal(matrices: Array, diagonal: Array) -> Array:
    """`matrices` (n, width, width) with `diagonal` (n, width) added."""
    return matrices + diagonal[:, :, None] * like(np.eye(diagonal.shape[1]), diagonal)


def hold(model: MeasurementModel, coords: Array, slopes: Slopes) -> Slopes:
    """Take coordinates that press against a bound, or are absent, out of the problem."""
    low = like([c.low for c in model.coordinates], coords)
    high = like([c.high for c in model.coordinates], coords)
    pressing = ((coords <= low) & (slopes.gradient < 0)) | (
        (coords >= high) & (slopes.gradient > 0)
    )
    pressing = pressing | model.absent(coords)
    return take_out(slopes, pressing)


def take_out(slopes: Slopes, held: Array) -> Slopes:
    """The problem without the coordinates that are `held` (n_items, width)."""
    xp = array_namespace(slopes.gradient)
    if not bool(xp.any(held)):
        return slopes
    free = xp.astype(~held, slopes.gradient.dtype)
    information = slopes.information * free[:, :, None] * free[:, None, :]
    return Slopes(slopes.gradient * free, add_diagonal(information, 1 - free))


def newton_step(model: MeasurementModel, slopes: Slopes, damping: Array | float = 0.0) -> Array:
    """The step information⁻¹ gradient; `damping` (per item) leans it towards the gradient."""
    xp = array_namespace(slopes.gradient)
    # What rounding leaves of a flat item must not become an infinite step.
    diagonal = xp.linalg.diagonal(slopes.information) * (1e-9 + damping) + 1e-12
    information = add_diagonal(slopes.information, diagonal)
    return solve_blocks(information, slopes.gradient, tuple(model.shared))


def shorten(model: MeasurementModel, step: Array) -> Array:
    """Scale steps down to the longest that the model allows."""
    xp = array_namespace(step)
    excess = xp.abs(step) / like([c.longest for c in model.coordinates], step)
    excess = xp.max(excess) if model.shared.any() else xp.max(excess, axis=1, keepdims=True)
    return step / xp.clip(excess, 1.0, None)


def keep_inside(model: MeasurementModel, old: Array, new: Array) -> Array:
    """Bound `new`, and let no bounded coordinate come nearer to a bound than by a third at a time.

    Going to zero at once would strand an item that belongs elsewhere; where no prior keeps it
    off, what is nearly at a bound may come to lie there.
    """
    xp = array_namespace(new)
    columns = []
    for k, c in enumerate(model.coordinates):
        x, before = new[:, k], old[:, k]
        if np.isfinite(c.low) and np.isfinite(c.high):
            x = xp.maximum(x, c.low + 0.3 * (before - c.low))
            x = xp.minimum(x, c.high - 0.3 * (c.high - before))
            if c.prior is None or not c.prior.keeps_off:
                near = AT_BOUND * (c.high - c.low)
                x = xp.where(x - c.low < near, 0 * x + c.low, x)
                x = xp.where(c.high - x < near, 0 * x + c.high, x)
        columns.append(x)
    return xp.stack(columns, axis=1)


def climb_items(
    model: MeasurementModel, coords: Array, first: Array, gain: Array, tables: Tables, tilt: Array
) -> Array:
    """Newton on each item with the E-step's `tables` held, until the items have nothing to gain.

    `first` is the step to begin with and `gain` (n_items,) what it promises; `tilt` is a
    constant part of the gradient. An item that would fall is damped and tries again.
    """
    xp = array_namespace(coords)
    found = coords + 0
    items = xp.arange(coords.shape[0], device=coords.device)
    here, step, damping = coords, first, 0 * gain
    value = _value(model, coords, tables, tilt)
    for _ in range(MOST_TURNS):
        ahead = keep_inside(model, coords[items], here + shorten(model, step))
        own = of_items(tables, items)
        reached = _value(model, ahead, own, tilt[items])
        up = reached >= value
        here, value = xp.where(up[:, None], ahead, here), xp.where(up, reached, value)
        damping = xp.where(up, damping / 4, 4 * damping + 1)
        found[items] = here
        slopes = item_slopes(model, here, own, tilt[items])
        step = newton_step(model, slopes, damping[:, None])
        open_gain = 0.5 * xp.sum(slopes.gradient * step, axis=1)
        go = (open_gain > ENOUGH * gain[items]) & (open_gain > 1e-11)
        if not bool(xp.any(go)):
            break
        items, here, step, damping, value = items[go], here[go], step[go], damping[go], value[go]
    return found


def _value(model: MeasurementModel, coords: Array, tables: Tables, tilt: Array) -> Array:
    """What an item climbs: expected log-likelihood, log-prior and tilt, (n_items,)."""
    xp = array_namespace(coords)
    abilities, counts, totals = tables
    terms = model.log_terms(coords, abilities)
    likelihood = xp.sum(totals * terms[0] + xp.sum(counts * terms[1:], axis=0), axis=1)
    return likelihood + log_penalty(model, coords) + xp.sum(tilt * coords, axis=1)


def item_slopes(model: MeasurementModel, coords: Array, tables: Tables, tilt: Array) -> Slopes:
    """Gradient and information of what an item climbs, coordinates at a bound taken out."""
    gradient, expected, observed = model.curvature(coords, *tables)
    pull, stiffness = penalty_slopes(model, coords)
    information = add_diagonal(safe_information(observed, expected), stiffness)
    return hold(model, coords, Slopes(gradient + pull + tilt, information))
