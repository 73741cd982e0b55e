"""How the log-likelihood bends in all coordinates of all items at once, as a product with a vector.

Observed information is that of complete data less what is missing because abilities are not seen
(Louis, 1982): each item's own block less a sum of squares of scores. With few respondents the
scores themselves are kept, with few coordinates their squares; where both would be too many, or
where responses are normal, slopes a little to either side are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.acceleration import Place
from ogive.irt.estimation.m_step import (
    Slopes,
    add_diagonal,
    prior_information,
    scale_step,
    tangents,
)
from ogive.irt.estimation.missing_information import Scores
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Nodes
from ogive.stats.array_backend import Array, Run, array_namespace, as_numpy, like
from ogive.stats.newton import solve_blocks

USUAL_ORDERS = 6  # polynomials that carry the scores of a respondent
MOST_KEPT = 25_000_000  # numbers, 200 MB
MOST_WORK = 3e10  # products to square the scores: about a second
MOST_EXACTLY = 2e9  # products up to which all of the missing information is found
EXACTLY, ROUGHLY = 1e-7, 1e-3  # parts of the missing information that are left out
ASIDE = 1e-4  # of a longest step, to either side of a point

Product = Callable[[Array], Array]


class WholeCurvature:
    """What is climbed, as seen from a place: slope, bend, and a metric to measure steps by."""

    def __init__(
        self,
        data: Encoded,
        model: MeasurementModel,
        place: Place,
        nodes: Nodes,
        gradient_at: Product,
        run: Run,
    ) -> None:
        self._model, self._place = model, place
        self._likelihood = _bend(data, model, place, nodes, gradient_at, run)
        self._directions = tangents(model, place.coords)
        self._priors = self._count_once(place)

    def times(self, vector: Array) -> Array:
        """Return minus the second derivative, times `vector` (n_items, width)."""
        return self._likelihood(vector) + self._priors(vector)

    def preconditioner(self, slopes: Slopes, free: Array) -> Product:
        """Return the inverse of each item's own information, corrected along the scale.

        `slopes` and `free` (n_items, width) say what may move. A longest step counts as much as a
        nat, so that what is hardly determined does not go far.
        """
        model = self._model
        longest = like([c.longest for c in model.coordinates], free)
        information = add_diagonal(slopes.information, free / longest**2 + 1e-12)
        shared = tuple(model.shared)
        if not model.affine:
            return lambda residual: solve_blocks(information, residual, shared)
        directions = self._directions * free
        known = self._place.found.scale + prior_information(
            model, self._directions, self._place.stiffness
        )

        def inverse(residual: Array) -> Array:
            own = solve_blocks(information, residual, shared)
            return own + free * scale_step(directions, residual, information, known)[0]

        return inverse

    def _count_once(self, place: Place) -> Product:
        """Return what priors add; along the scale they count once, as in `once_only`."""
        xp = array_namespace(place.coords)
        stiffness = place.stiffness
        if not bool(xp.any(place.tilt != 0)):
            return lambda vector: stiffness * vector
        metric = add_diagonal(place.found.expected, stiffness)
        ways = xp.reshape(self._directions, (2, -1))
        seen = xp.stack([(metric @ way[..., None])[..., 0] for way in self._directions])
        seen = xp.reshape(seen, (2, -1))
        share = 1 - 1 / stiffness.shape[0]
        inner = like(share * np.linalg.pinv(as_numpy(ways @ seen.T)), stiffness)

        def times(vector: Array) -> Array:
            flat = xp.reshape(vector, (-1,))
            flat = flat - (inner @ (seen @ flat)) @ ways
            flat = xp.reshape(stiffness, (-1,)) * flat
            flat = flat - (inner @ (ways @ flat)) @ seen
            return xp.reshape(flat, vector.shape)

        return times


def _bend(
    data: Encoded,
    model: MeasurementModel,
    place: Place,
    nodes: Nodes,
    gradient_at: Product,
    run: Run,
) -> Product:
    """Return the likelihood's part, in the way that is cheapest."""
    n_rows, n_items = data.shape
    numbers, rows = n_items * model.width, USUAL_ORDERS * n_rows
    few_numbers = numbers <= rows and numbers**2 <= MOST_KEPT and rows * numbers**2 <= MOST_WORK
    if model.normal or not (few_numbers or rows * numbers <= MOST_KEPT):
        return _by_differences(model, place.coords, gradient_at)
    xp = array_namespace(place.coords)
    complete, shape = place.found.observed, place.coords.shape
    # What is neglected looks like information: steps over a flat stretch become too short.
    exact = rows * numbers * min(rows, numbers) <= MOST_EXACTLY
    neglected = EXACTLY if exact else ROUGHLY
    scores = Scores(data if exact else data.in_single(), model, place.coords, nodes)
    if few_numbers:
        missing = like(scores.missing_of_all(run, neglected), complete)

        def lost(flat: Array) -> Array:
            return missing @ flat

    else:
        kept = scores.of_all(run, neglected)
        if isinstance(complete, np.ndarray):
            kept = [as_numpy(part) for part in kept]

        def lost(flat: Array) -> Array:
            flat = xp.astype(flat, kept[0].dtype)
            return sum((part @ flat) @ part for part in kept)

    def times(vector: Array) -> Array:
        own = (complete @ vector[..., None])[..., 0]
        return own - xp.reshape(lost(xp.reshape(vector, (-1,))), shape)

    return times


def _by_differences(model: MeasurementModel, coords: Array, gradient_at: Product) -> Product:
    """Return slopes a little to either side, compared."""
    xp = array_namespace(coords)
    longest = like([min(c.longest, 1.0) for c in model.coordinates], coords)

    def times(vector: Array) -> Array:
        largest = float(xp.max(xp.abs(vector) / longest))
        if largest == 0:
            return 0 * vector
        aside = (ASIDE / largest) * vector
        return (gradient_at(coords - aside) - gradient_at(coords + aside)) * (0.5 * largest / ASIDE)

    return times
