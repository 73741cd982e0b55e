"""M-step: every item maximizes its own expected log-likelihood plus log-prior.

All items at once, by Newton's method with damping, and with an active set for coordinates at
their bounds. `prior_grad_correction` is a constant added to an item's gradient (see `objective`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ogive.irt.estimation.e_step import Tables, tables_of_items
from ogive.irt.models.base import Coordinate, MeasurementModel
from ogive.stats.array_backend import Array, Recordings, array_namespace, like, numbers
from ogive.stats.newton import safe_information, solve_blocks

MAX_ITER = 8  # Newton converges quadratically; more steps only follow items without a maximum
AT_BOUND = 1e-5  # distance from a bound, as a share of the range, that counts as at the bound
ITEM_TOLERANCE = 1e-3  # share of an item's first gain below which the item has converged
TOTAL_TOLERANCE = 1e-4  # share of all items' first gain below which all have converged
NO_MOVE = 1e-200  # length of a step that cannot reach any bound


@dataclass(frozen=True, eq=False)
class NewtonSystem:
    """Gradient of a penalized item problem, and a positive definite information to divide it by."""

    gradient: Array  # (n_items, width)
    information: Array  # (n_items, width, width)


def log_prior(model: MeasurementModel, coords: Array) -> Array:
    """Return the log-prior of every item, (n_items,); items split that of a shared coordinate."""
    total = 0 * coords[:, 0]
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.prior is not None:
            share = _share(coordinate, coords[:, k])
            total = total + share * coordinate.prior.log_density(coords[:, k])
    return total


def prior_derivatives(model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
    """Return first derivative and minus the second of `log_prior`, both (n_items, width)."""
    xp = array_namespace(coords)
    gradient, curvature = [], []
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.prior is None:
            gradient.append(0 * coords[:, 0])
            curvature.append(0 * coords[:, 0])
            continue
        share = _share(coordinate, coords[:, k])
        gradient.append(share * coordinate.prior.slope(coords[:, k]))
        curvature.append(share * coordinate.prior.curvature(coords[:, k]))
    return xp.stack(gradient, axis=1), xp.stack(curvature, axis=1)


def _share(coordinate: Coordinate, column: Array) -> Array | float:
    """Return the share of a prior that belongs to each item; an absent coordinate has none."""
    if coordinate.shared:
        return 1 / column.shape[0]
    if coordinate.absent is None:
        return 1.0
    return array_namespace(column).astype(column != coordinate.absent, column.dtype)


def add_diagonal(matrices: Array, diagonal: Array) -> Array:
    """Return `matrices` (n, width, width) with `diagonal` (n, width) added."""
    width = diagonal.shape[1]
    eye = array_namespace(diagonal).reshape(numbers(_eye(width), diagonal), (width, width))
    return matrices + diagonal[:, :, None] * eye


@cache
def _eye(width: int) -> tuple[float, ...]:
    return tuple(np.eye(width).ravel().tolist())


def penalized_information(observed: Array, expected: Array, prior_curvature: Array) -> Array:
    """Return the information of responses and priors: the observed one if safely positive."""
    if observed is expected:
        return add_diagonal(expected, prior_curvature)
    return safe_information(
        add_diagonal(observed, prior_curvature), add_diagonal(expected, prior_curvature)
    )


def active_bounds(model: MeasurementModel, coords: Array, gradient: Array) -> Array:
    """Flag coordinates that press against a bound or are absent, (n_items, width).

    For a shared coordinate, the sum of the items' gradients decides.
    """
    xp = array_namespace(coords)
    low = numbers([c.low for c in model.coordinates], coords)
    high = numbers([c.high for c in model.coordinates], coords)
    if model.shared.any():
        common = like(model.shared, coords) > 0
        gradient = xp.where(common, xp.sum(gradient, axis=0) + 0 * gradient, gradient)
    pressing = ((coords <= low) & (gradient < 0)) | ((coords >= high) & (gradient > 0))
    return pressing | model.absent(coords)


def drop_coordinates(system: NewtonSystem, dropped: Array) -> NewtonSystem:
    """Return the problem without the coordinates that are `dropped` (n_items, width)."""
    xp = array_namespace(system.gradient)
    if isinstance(dropped, np.ndarray) and not dropped.any():
        return system
    free = xp.astype(~dropped, system.gradient.dtype)
    information = system.information * free[:, :, None] * free[:, None, :]
    return NewtonSystem(system.gradient * free, add_diagonal(information, 1 - free))


def solve_items(
    model: MeasurementModel, system: NewtonSystem, damping: Array | float = 0.0
) -> Array:
    """Return the Newton step information⁻¹ gradient; `damping` is per item."""
    xp = array_namespace(system.gradient)
    # A ridge keeps rounding errors of a flat item from becoming an infinite step.
    diagonal = xp.linalg.diagonal(system.information) * (1e-9 + damping) + 1e-12
    information = add_diagonal(system.information, diagonal)
    return solve_blocks(information, system.gradient, tuple(model.shared))


def bounded_step(
    model: MeasurementModel, coords: Array, system: NewtonSystem
) -> tuple[Array, Array]:
    """Return the Newton step within the bounds, and the gain of each item by it, (n_items,)."""
    xp = array_namespace(coords)
    low = numbers([c.low for c in model.coordinates], coords) - coords
    high = numbers([c.high for c in model.coordinates], coords) - coords
    step = solve_items(model, system)
    if bool(xp.any((step < low) | (step > high))) and not model.shared.any():
        step = _step_along_bounds(model, system, step, low, high)
    curvature = (system.information @ step[..., None])[..., 0]
    return step, xp.sum(step * (system.gradient - 0.5 * curvature), axis=1)


def _step_along_bounds(
    model: MeasurementModel, system: NewtonSystem, direction: Array, low: Array, high: Array
) -> Array:
    """Step to the first bound, then on without the coordinates that reached it, and so forth."""
    xp = array_namespace(direction)
    step, fixed = 0 * direction, xp.zeros_like(direction, dtype=bool)
    for _ in range(model.width):
        room = xp.where(direction < 0, low - step, high - step)
        moves = xp.abs(direction) > NO_MOVE
        part = xp.where(
            moves, room / xp.where(moves, direction, 1 + 0 * direction), 2 + 0 * direction
        )
        length = xp.clip(xp.min(part, axis=1, keepdims=True), 0.0, 1.0)
        step = xp.where(
            part <= length, xp.where(direction < 0, low, high), step + length * direction
        )
        fixed = fixed | (part <= length)
        gradient = system.gradient - (system.information @ step[..., None])[..., 0]
        rest = drop_coordinates(NewtonSystem(gradient, system.information), fixed)
        direction = solve_items(model, rest)
    return step


def shorten(model: MeasurementModel, step: Array) -> Array:
    """Scale steps down to the longest that the model allows."""
    xp = array_namespace(step)
    excess = xp.abs(step) / numbers([c.longest for c in model.coordinates], step)
    excess = xp.max(excess) if model.shared.any() else xp.max(excess, axis=1, keepdims=True)
    return step / xp.clip(excess, 1.0, None)


def keep_inside(model: MeasurementModel, old: Array, new: Array) -> Array:
    """Bound `new`; a bounded coordinate keeps at least 0.3 of its distance to a bound.

    Moving to zero at once would strand an item whose maximum lies elsewhere. A coordinate that is
    nearly at a bound is set to it, unless a prior keeps it off the lower one.
    """
    xp = array_namespace(new)
    columns = []
    for k, c in enumerate(model.coordinates):
        x, before = new[:, k], old[:, k]
        if np.isfinite(c.low) and np.isfinite(c.high):
            x = xp.maximum(x, c.low + 0.3 * (before - c.low))
            x = xp.minimum(x, c.high - 0.3 * (c.high - before))
            near = AT_BOUND * (c.high - c.low)
            x = xp.where(c.high - x < near, 0 * x + c.high, x)
            if not kept_off(c):
                x = xp.where(x - c.low < near, 0 * x + c.low, x)
        columns.append(x)
    return xp.stack(columns, axis=1)


def kept_off(coordinate: Coordinate) -> bool:
    """Return True if a prior keeps a coordinate off its lower bound."""
    return coordinate.prior is not None and coordinate.prior.keeps_off


def maximize_items(
    model: MeasurementModel,
    coords: Array,
    first_step: Array,
    gain: Array,
    tables: Tables,
    prior_grad_correction: Array,
    recordings: Recordings | None = None,
) -> Array:
    """Maximize every item by damped Newton steps, with the E-step's `tables` held constant.

    `gain` (n_items,) is what `first_step` promises. An item whose value would fall is damped and
    tries again. On a CPU, items that have converged are dropped; a GPU repeats the work for all
    items sooner than it selects some, and replays iterations from `recordings`.
    """
    xp = array_namespace(coords)
    on_host = isinstance(coords, np.ndarray)
    record = recordings or Recordings()
    result = coords + 0
    items = xp.arange(coords.shape[0], device=coords.device)
    start, current, step, damping = coords, coords, first_step, 0 * gain
    own, correction = tables, prior_grad_correction
    (value,) = record(("values", model), partial(_values, model), coords, correction, *tables)
    total_gain = float(xp.sum(gain))
    for _ in range(MAX_ITER):
        current, value, damping, step, next_gain = record(
            ("turn", model),
            partial(_newton_iteration, model),
            *(start, current, step, damping, value, correction, *own),
        )
        result[items] = current
        open_items = (next_gain > ITEM_TOLERANCE * gain[items]) & (next_gain > 1e-11)
        left = float(xp.sum(xp.where(open_items, next_gain, 0 * next_gain)))
        if not left > TOTAL_TOLERANCE * total_gain:
            break
        if on_host:
            items = items[open_items]
            current, step = current[open_items], step[open_items]
            damping, value = damping[open_items], value[open_items]
            own, start = tables_of_items(tables, items), coords[items]
            correction = prior_grad_correction[items]
    return result


def _newton_iteration(
    model: MeasurementModel,
    start: Array,
    current: Array,
    step: Array,
    damping: Array,
    value: Array,
    correction: Array,
    *tables: Array,
) -> tuple[Array, ...]:
    """Take the step where it improves; return the next step and the gain that it promises."""
    xp, own = array_namespace(current), (tables[0], tables[1], tables[2])
    candidate = keep_inside(model, start, current + shorten(model, step))
    candidate_value = item_values(model, candidate, own, correction)
    improves = candidate_value >= value
    current = xp.where(improves[:, None], candidate, current)
    value = xp.where(improves, candidate_value, value)
    damping = xp.where(improves, damping / 4, 4 * damping + 1)
    system = item_system(model, current, own, correction)
    step = solve_items(model, system, damping[:, None])
    return current, value, damping, step, 0.5 * xp.sum(system.gradient * step, axis=1)


def _values(
    model: MeasurementModel, coords: Array, correction: Array, *tables: Array
) -> tuple[Array]:
    return (item_values(model, coords, (tables[0], tables[1], tables[2]), correction),)


def item_values(model: MeasurementModel, coords: Array, tables: Tables, correction: Array) -> Array:
    """Return expected log-likelihood + log-prior + correction · coords of each item, (n_items,)."""
    xp = array_namespace(coords)
    abilities, counts, totals = tables
    terms = model.log_terms(coords, abilities)
    likelihood = xp.sum(totals * terms[0] + xp.sum(counts * terms[1:], axis=0), axis=1)
    return likelihood + log_prior(model, coords) + xp.sum(correction * coords, axis=1)


def item_system(
    model: MeasurementModel, coords: Array, tables: Tables, correction: Array
) -> NewtonSystem:
    """Return gradient and information of `item_values`, without coordinates at active bounds."""
    gradient, expected, observed = model.curvature(coords, *tables)
    prior_grad, prior_curvature = prior_derivatives(model, coords)
    gradient = gradient + prior_grad + correction
    information = penalized_information(observed, expected, prior_curvature)
    active = active_bounds(model, coords, gradient)
    return drop_coordinates(NewtonSystem(gradient, information), active)
