"""The M-step: every item climbs its own expected log-likelihood, all items at once.

Origin and unit of the scale are two directions that all items share. EM learns them slowly,
because each item waits for the others, and there the priors of hundreds of items would together
outweigh a few respondents. So both are treated apart: with an exact Newton step, and with a prior
that counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ogive.irt.estimation.fit import Tables, of_items
from ogive.irt.models.base import Coordinate, MeasurementModel
from ogive.irt.quadrature import Population, scale_scores
from ogive.stats.array_backend import (
    Array,
    Floats,
    Recordings,
    array_namespace,
    as_numpy,
    like,
    numbers,
)
from ogive.stats.newton import safe_information, solve_blocks

MOST_TURNS = 8  # Newton converges quadratically; more only chases items that run away
AT_BOUND = 1e-5  # nearer than this part of its range to a bound is at the bound
ENOUGH = 1e-3  # an item is done when its next gain is this small a part of its first
TAIL = 1e-4  # all items are done when what they gain next is this small a part of all
NO_WAY = 1e-200  # a step that is none: no bound is near enough to be reached by it


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradient of a penalised item problem, and a positive information to divide it by."""

    gradient: Array  # (n_items, width)
    information: Array  # (n_items, width, width)


def log_penalty(model: MeasurementModel, coords: Array) -> Array:
    """Return log-prior of every item, (n_items,); a shared coordinate is split among the items."""
    total = 0 * coords[:, 0]
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.prior is not None:
            share = _share(coordinate, coords[:, k])
            total = total + share * coordinate.prior.log_density(coords[:, k])
    return total


def penalty_slopes(model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
    """Return first derivative and minus the second of `log_penalty`, both (n_items, width)."""
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
    """Return how much of a prior belongs to each item; an absent number has none."""
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
    """Return the unit matrix, row by row."""
    return tuple(np.eye(width).ravel().tolist())


def penalised_information(observed: Array, expected: Array, stiffness: Array) -> Array:
    """Return information of responses and priors: the observed one where it is safely positive.

    `stiffness` (n_items, width) is that of the priors; with it, most of what few responses leave
    open is positive.
    """
    if observed is expected:
        return add_diagonal(expected, stiffness)
    return safe_information(add_diagonal(observed, stiffness), add_diagonal(expected, stiffness))


def hold(model: MeasurementModel, coords: Array, slopes: Slopes) -> Slopes:
    """Take coordinates that press against a bound, or are absent, out of the problem."""
    return take_out(slopes, stuck(model, coords, slopes.gradient))


def stuck(model: MeasurementModel, coords: Array, gradient: Array) -> Array:
    """Return which coordinates press against a bound or are absent, (n_items, width).

    What all items share goes where they drive it together.
    """
    xp = array_namespace(coords)
    low = numbers([c.low for c in model.coordinates], coords)
    high = numbers([c.high for c in model.coordinates], coords)
    if model.shared.any():
        common = like(model.shared, coords) > 0
        gradient = xp.where(common, xp.sum(gradient, axis=0) + 0 * gradient, gradient)
    pressing = ((coords <= low) & (gradient < 0)) | ((coords >= high) & (gradient > 0))
    return pressing | model.absent(coords)


def take_out(slopes: Slopes, held: Array) -> Slopes:
    """Return the problem without the coordinates that are `held` (n_items, width)."""
    xp = array_namespace(slopes.gradient)
    if isinstance(held, np.ndarray) and not held.any():
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


def bounded_step(model: MeasurementModel, coords: Array, slopes: Slopes) -> tuple[Array, Array]:
    """Return Newton's step within the bounds, and what each item gains by it, (n_items,).

    It goes as far as the first bound; what lies there stays, and the item's other coordinates
    move on. A gain behind the bound counts for nothing.
    """
    xp = array_namespace(coords)
    low = numbers([c.low for c in model.coordinates], coords) - coords
    high = numbers([c.high for c in model.coordinates], coords) - coords
    step = newton_step(model, slopes)
    if bool(xp.any((step < low) | (step > high))) and not model.shared.any():
        step = _up_to_bounds(model, slopes, step, low, high)
    bend = (slopes.information @ step[..., None])[..., 0]
    return step, xp.sum(step * (slopes.gradient - 0.5 * bend), axis=1)


def _up_to_bounds(
    model: MeasurementModel, slopes: Slopes, way: Array, low: Array, high: Array
) -> Array:
    """Along `way` to the first bound, on from there without what lies at it, and so forth."""
    xp = array_namespace(way)
    step, fixed = 0 * way, xp.zeros_like(way, dtype=bool)
    for _ in range(model.width):
        room = xp.where(way < 0, low - step, high - step)
        moves = xp.abs(way) > NO_WAY
        part = xp.where(moves, room / xp.where(moves, way, 1 + 0 * way), 2 + 0 * way)
        length = xp.clip(xp.min(part, axis=1, keepdims=True), 0.0, 1.0)
        step = xp.where(part <= length, xp.where(way < 0, low, high), step + length * way)
        fixed = fixed | (part <= length)
        pull = slopes.gradient - (slopes.information @ step[..., None])[..., 0]
        way = newton_step(model, take_out(Slopes(pull, slopes.information), fixed))
    return step


def shorten(model: MeasurementModel, step: Array) -> Array:
    """Return scale steps down to the longest that the model allows."""
    xp = array_namespace(step)
    excess = xp.abs(step) / numbers([c.longest for c in model.coordinates], step)
    excess = xp.max(excess) if model.shared.any() else xp.max(excess, axis=1, keepdims=True)
    return step / xp.clip(excess, 1.0, None)


def keep_inside(model: MeasurementModel, old: Array, new: Array) -> Array:
    """Bound `new`, and let no bounded coordinate come nearer to a bound than by a third at a time.

    Going to zero at once would strand an item that belongs elsewhere. What is nearly at a bound
    comes to lie there, unless a prior keeps it off the lower one.
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


def climb_items(
    model: MeasurementModel,
    coords: Array,
    first: Array,
    gain: Array,
    tables: Tables,
    tilt: Array,
    recordings: Recordings | None = None,
) -> Array:
    """Newton on each item with the E-step's `tables` held, until the items have nothing to gain.

    `first` is the step to begin with and `gain` (n_items,) what it promises; `tilt` is a
    constant part of the gradient. An item that would fall is damped and tries again. A few items
    that creep on, with next to nothing to gain, do not hold up the others.

    Items that are done are left alone, except on a GPU, which does the same work again sooner
    than less of it: turns are replayed from `recordings`.
    """
    xp = array_namespace(coords)
    on_host = isinstance(coords, np.ndarray)
    ask = recordings or Recordings()
    found = coords + 0
    items = xp.arange(coords.shape[0], device=coords.device)
    here, step, damping = coords, first, 0 * gain
    (value,) = ask(("values", model), partial(_valued, model), coords, tilt, *tables)
    whole, own, tilts, begun = float(xp.sum(gain)), tables, tilt, coords
    for _ in range(MOST_TURNS):
        here, value, damping, step, open_gain = ask(
            ("turn", model), partial(_turn, model), begun, here, step, damping, value, tilts, *own
        )
        found[items] = here
        go = (open_gain > ENOUGH * gain[items]) & (open_gain > 1e-11)
        if not float(xp.sum(xp.where(go, open_gain, 0 * open_gain))) > TAIL * whole:
            break
        if on_host:
            items, here, step, damping, value = (
                items[go],
                here[go],
                step[go],
                damping[go],
                value[go],
            )
            own, tilts, begun = of_items(tables, items), tilt[items], coords[items]
    return found


def _turn(
    model: MeasurementModel,
    begun: Array,
    here: Array,
    step: Array,
    damping: Array,
    value: Array,
    tilt: Array,
    *tables: Array,
) -> tuple[Array, ...]:
    """Take the step where it leads up, and propose the next; last, what that one promises."""
    xp, own = array_namespace(here), (tables[0], tables[1], tables[2])
    ahead = keep_inside(model, begun, here + shorten(model, step))
    reached = item_values(model, ahead, own, tilt)
    up = reached >= value
    here, value = xp.where(up[:, None], ahead, here), xp.where(up, reached, value)
    damping = xp.where(up, damping / 4, 4 * damping + 1)
    slopes = item_slopes(model, here, own, tilt)
    step = newton_step(model, slopes, damping[:, None])
    return here, value, damping, step, 0.5 * xp.sum(slopes.gradient * step, axis=1)


def _valued(model: MeasurementModel, coords: Array, tilt: Array, *tables: Array) -> tuple[Array]:
    return (item_values(model, coords, (tables[0], tables[1], tables[2]), tilt),)


def item_values(model: MeasurementModel, coords: Array, tables: Tables, tilt: Array) -> Array:
    """Return what an item climbs: expected log-likelihood, log-prior and tilt, (n_items,)."""
    xp = array_namespace(coords)
    abilities, counts, totals = tables
    terms = model.log_terms(coords, abilities)
    likelihood = xp.sum(totals * terms[0] + xp.sum(counts * terms[1:], axis=0), axis=1)
    return likelihood + log_penalty(model, coords) + xp.sum(tilt * coords, axis=1)


def item_slopes(model: MeasurementModel, coords: Array, tables: Tables, tilt: Array) -> Slopes:
    """Return gradient and information of what an item climbs, coordinates at a bound taken out."""
    gradient, expected, observed = model.curvature(coords, *tables)
    pull, stiffness = penalty_slopes(model, coords)
    information = penalised_information(observed, expected, stiffness)
    return hold(model, coords, Slopes(gradient + pull + tilt, information))


def tangents(model: MeasurementModel, coords: Array) -> Array:
    """How coordinates change when the origin moves and when the unit grows, (2, n_items, width)."""
    return model.scale_directions(coords)


def moved_covariances(
    model: MeasurementModel, coords: Floats, covariances: Floats, shift: float, scale: float
) -> Floats:
    """Return covariances of coordinates, (n_items, width, width), after `model.rescale`."""
    ways = _moved_ways(model, coords, shift, scale)
    found: Floats = np.einsum("ins,nij,jnt->nst", ways, covariances, ways)
    return found


def moved_directions(
    model: MeasurementModel, coords: Floats, directions: Floats, shift: float, scale: float
) -> Floats:
    """Return directions in which coordinates change, (n, n_items, width), after `model.rescale`."""
    found: Floats = np.einsum("kni,ins->kns", directions, _moved_ways(model, coords, shift, scale))
    return found


def _moved_ways(model: MeasurementModel, coords: Floats, shift: float, scale: float) -> Floats:
    """Return derivatives of rescaled coordinates in the old ones, (width, n_items, width)."""
    here = model.rescale(coords, shift, scale)
    steps = np.eye(coords.shape[1])
    return np.stack([model.rescale(coords + step, shift, scale) - here for step in steps])


def once_only(model: MeasurementModel, directions: Array, pull: Array, information: Array) -> Array:
    """Return the part of the priors' `pull` (n_items, width) to take back, so that it counts once.

    Projects on the scale's two `directions` in the metric of `information`; of n items' pull
    along the scale, 1/n is left. A shared coordinate has one prior, which counts once already.
    """
    xp = array_namespace(pull)
    n_items = pull.shape[0]
    pull = pull * like([float(not c.shared) for c in model.coordinates], pull)
    flat = xp.reshape(directions, (2, -1))
    metric = xp.reshape(_times(information, directions), (2, -1))
    inner = as_numpy(flat @ metric.T)
    if np.trace(inner) < 1e-6 * n_items:  # items that tell nothing have no scale
        return 0 * pull
    inner = _regular(inner)
    along = as_numpy(flat @ xp.reshape(pull, (-1,)))
    share = (1 - 1 / n_items) * np.linalg.solve(inner, along)
    return xp.reshape(like(share, pull) @ metric, pull.shape)


def prior_information(model: MeasurementModel, directions: Array, stiffness: Array) -> Floats:
    """Return what the priors tell of origin and unit, (2, 2), counted as `once_only` leaves them.

    `stiffness` (n_items, width) is minus the second derivative of the log-priors.
    """
    xp = array_namespace(stiffness)
    share = [1.0 if c.shared else 1 / stiffness.shape[0] for c in model.coordinates]
    weighted = directions * (stiffness * like(share, stiffness))
    return as_numpy(xp.reshape(weighted, (2, -1)) @ xp.reshape(directions, (2, -1)).T)


def scale_step(
    directions: Array, gradient: Array, information: Array, population: Floats
) -> tuple[Array, float]:
    """Return what the items' own steps miss along the scale, and the gain that it promises.

    Information on the origin and unit of the `population` (2, 2) takes the place of the items'
    complete-data information in these two directions.
    """
    xp = array_namespace(gradient)
    flat = xp.reshape(directions, (2, -1))
    along = as_numpy(flat @ xp.reshape(gradient, (-1,)))
    known = _regular(as_numpy(flat @ xp.reshape(_times(information, directions), (2, -1)).T))
    if np.trace(known) < 1e-3 * np.trace(population):  # items that tell nothing have no scale
        return 0 * gradient, 0.0
    missed = np.linalg.solve(population, along) - np.linalg.solve(known, along)
    step = xp.reshape(like(missed, gradient) @ flat, gradient.shape)
    return step, max(0.0, 0.5 * float(along @ missed))


def population_information(
    population: Population, points: Floats, mass: Floats, outer: Floats
) -> Floats:
    """Return observed information on origin and log-unit of the abilities (Louis, 1982), (2, 2).

    `mass` is the posterior mass of all respondents on `points`, `outer` the sum over them of the
    products of their mean scores: origin twice, both, unit twice. Far from the maximum the
    information need not be positive; the outer product, which always is, then takes its place.
    """
    scores, curvature = scale_scores(population, points)
    square = np.stack([scores[:, 0] ** 2, scores[:, 0] * scores[:, 1], scores[:, 1] ** 2], axis=1)
    found = _matrix(mass @ (curvature - square) + outer)
    known = _matrix(outer)
    if np.linalg.eigvalsh(found)[0] > 0.1 * np.linalg.eigvalsh(known)[0]:
        return _regular(found)
    return known + 1e-3 * float(mass.sum()) * np.eye(2)


def _matrix(upper: Floats) -> Floats:
    return np.array([[upper[0], upper[1]], [upper[1], upper[2]]])


def _times(information: Array, directions: Array) -> Array:
    """Return each item's information times its part of each direction."""
    xp = array_namespace(information)
    return xp.stack([(information @ direction[..., None])[..., 0] for direction in directions])


def _regular(matrix: Floats) -> Floats:
    """Return `matrix` with a ridge of rounding size: items without slope leave it singular."""
    ridge: Floats = matrix + (1e-9 * np.trace(matrix) + 1e-12) * np.eye(2)
    return ridge
