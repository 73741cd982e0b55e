"""What the errors of all items have in common: priors that count once, and directions of error."""

from __future__ import annotations

import numpy as np

from ogive.numerics.arrays import Floats
from ogive.numerics.newton import root_of

MOST_DIRECTIONS = 16
WORTH = 1.0  # variance beside that of single items' own errors from which a direction counts


def priors_once(
    directions: Floats, information: Floats, stiffness: Floats, shared: np.ndarray
) -> Floats:
    """What priors tell of all coordinates, as a matrix, (n_items x width, n_items x width).

    Along the two `directions` (2, n_items, width) of the scale, the priors of n items count as one,
    in the metric of `information` (n_items, width, width), as they do in the iterations. A shared
    coordinate has one prior, which counts once already.
    """
    alone = np.where(shared, 0.0, stiffness).reshape(-1)
    whole = np.diag(stiffness.reshape(-1))
    flat = directions.reshape(2, -1)
    metric = np.einsum("nij,knj->kni", information, directions).reshape(2, -1)
    inner = flat @ metric.T
    if np.trace(inner) < 1e-6 * len(stiffness):  # items that tell nothing have no scale
        return whole
    inner = inner + (1e-9 * np.trace(inner) + 1e-12) * np.eye(2)
    part = 1 - len(stiffness) ** -0.5
    back = part * np.linalg.solve(inner, metric).T  # (numbers, 2)
    cross = back @ (flat * alone)
    found: Floats = whole - cross - cross.T + back @ ((flat * alone) @ flat.T) @ back.T
    return found


def directions_of(cube: Floats) -> Floats:
    """Directions in which all items err together, one standard error each, (n, n_items, width).

    They are the first components of what is left of the whole covariance (n_items, width, n_items,
    width) when every item is measured in its own errors.
    """
    n_items, width = cube.shape[:2]
    own = root_of(np.stack([cube[k, :, k, :] for k in range(n_items)]))
    inverse = np.linalg.pinv(own)
    scaled = np.einsum("iab,ibjc,jdc->iajd", inverse, cube, inverse).reshape(n_items * width, -1)
    sizes, vectors = np.linalg.eigh(scaled)
    kept = [k for k in range(len(sizes)) if sizes[k] - 1 > WORTH][-MOST_DIRECTIONS:]
    ways = (vectors[:, kept] * np.sqrt(sizes[kept] - 1)).T.reshape(-1, n_items, width)
    found: Floats = np.einsum("nij,knj->kni", own, ways)
    return found
