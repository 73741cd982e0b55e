"""Origin and unit of the latent scale: two directions that all items share.

EM learns them slowly, because each item waits for the others. They are also where priors on
hundreds of items would gang up on a few respondents and stretch the scale. So both directions
are treated apart: with an exact Newton step, and with a prior that counts once.
"""

from __future__ import annotations

import numpy as np

from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from itemwise.scoring.population import Population, scale_scores


def tangents(model: MeasurementModel, coords: Array) -> Array:
    """How coordinates change when the origin moves and when the unit grows, (2, n_items, width)."""
    xp = array_namespace(coords)
    moved = [model.rescale(coords, 1.0, 1.0), model.rescale(coords, 0.0, 2.0)]
    return xp.stack([there - coords for there in moved])


def moved_covariances(
    model: MeasurementModel, coords: Floats, covariances: Floats, shift: float, scale: float
) -> Floats:
    """Covariances of coordinates, (n_items, width, width), after `model.rescale`."""
    here = model.rescale(coords, shift, scale)
    ways = [model.rescale(coords + step, shift, scale) - here for step in np.eye(coords.shape[1])]
    found: Floats = np.einsum("ins,nij,jnt->nst", np.stack(ways), covariances, np.stack(ways))
    return found


def once_only(model: MeasurementModel, directions: Array, pull: Array, information: Array) -> Array:
    """The part of the priors' `pull` (n_items, width) to take back, so that it counts once.

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
    """What the priors tell of origin and unit, (2, 2), counted as `once_only` leaves them.

    `stiffness` (n_items, width) is minus the second derivative of the log-priors.
    """
    xp = array_namespace(stiffness)
    share = [1.0 if c.shared else 1 / stiffness.shape[0] for c in model.coordinates]
    weighted = directions * (stiffness * like(share, stiffness))
    return as_numpy(xp.reshape(weighted, (2, -1)) @ xp.reshape(directions, (2, -1)).T)


def scale_step(
    directions: Array, gradient: Array, information: Array, population: Floats
) -> tuple[Array, float]:
    """What the items' own steps miss along the scale, and the gain that it promises.

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
    """Observed information on origin and log-unit of the abilities (Louis, 1982), (2, 2).

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
    """Each item's information times its part of each direction."""
    xp = array_namespace(information)
    return xp.stack([(information @ direction[..., None])[..., 0] for direction in directions])


def _regular(matrix: Floats) -> Floats:
    """`matrix` with a ridge of rounding size: items without slope leave it singular."""
    ridge: Floats = matrix + (1e-9 * np.trace(matrix) + 1e-12) * np.eye(2)
    return ridge
