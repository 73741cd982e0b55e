"""Standard errors of items from the observed information (Louis, 1982).

Observed information is what complete data would tell, less what is missing because abilities
are not seen. The missing part is, for each respondent, the covariance of the items' scores over
the posterior.

With few items the whole matrix is built and inverted. With many, items have nothing in common
but the origin and the unit of their scale: each item's own block is exact, and what the scale
adds follows from the information on the population.

Normal responses that are complete need neither posterior nor nodes: their slope follows from the
moments of the table, and differences of slopes are the information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ogive.calibration import KnownCovariances, PooledItems
from ogive.estimation.expectation import expect
from ogive.estimation.fits import Expectation
from ogive.estimation.held_items import Held
from ogive.estimation.inverse_information import (
    Inverse,
    WholeInverse,
    alone,
    beside,
    structured,
)
from ogive.estimation.maximization import (
    add_diagonal,
    penalty_slopes,
    prior_information,
    tangents,
)
from ogive.estimation.missing_information import Scores
from ogive.estimation.normal_responses import expect_normally
from ogive.estimation.shared_errors import priors_once
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import (
    Array,
    Floats,
    Run,
    as_numpy,
    like,
)
from ogive.numerics.newton import positive_inverse
from ogive.responses.encoding import Encoded
from ogive.scoring.posterior import STANDARD, Nodes, Population

MOST_EXACT = 150  # coordinates of all items together, up to which the whole matrix is inverted
MOST_BY_MOMENTS = 600  # the same, where moments are all that is needed
MOST_CURVED = 2_000  # the same, where no two directions are the scale's and only the whole shows it
STEP = 1e-5  # of a coordinate, over which slopes are compared
MOST_ROWS = 20_000  # respondents that settle a standard error to half a percent
BENT_UP = 1e-3  # an eigenvalue of the scaled information that is negative beyond rounding
LEVEL = 1e-2  # one up to which a direction is measured before it is believed
MOST_DOUBTED = 8  # directions


def observed_inverse(
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    found: Expectation,
    population: Population = STANDARD,
    held: Held | None = None,
    run: Run = map,
    *,
    by_item: bool = False,
) -> Inverse:
    """The inverse of the observed information on all items.

    With `by_item`, items have nothing but their scale in common, however few they are.
    `found` is the E-step at `coords`. Where items are `held`, errors of the others include what is
    not known of the population; held ones have none.
    """
    n_numbers = inf if by_item and model.affine else coords.shape[0] * model.width
    if _by_moments(data, model) and n_numbers <= MOST_BY_MOMENTS:
        whole = WholeInformation.at(data, model, coords, nodes, found, held=held)
        return whole.inverse(model, coords, found, held)
    thinned = data.thinned(MOST_ROWS)
    if thinned is not data:
        found = expect(thinned, model, coords, nodes, run, population)
    if n_numbers <= (MOST_EXACT if model.affine else MOST_CURVED):
        whole = WholeInformation.at(thinned, model, coords, nodes, found, run, held)
        return whole.inverse(model, coords, found, held)
    complete = add_diagonal(found.observed, stiffness(model, coords, held))
    scores = Scores(thinned.in_single(), model, coords, nodes)
    own = as_numpy(complete) - as_numpy(scores.missing_of_each(run))
    free = ~as_numpy(model.at_bound(coords))
    if not model.affine:
        return alone(model, own, free)
    directions = as_numpy(tangents(model, coords))
    if held is not None:
        return beside(own, directions, free, held.free(model), held.mask)
    return structured(model, own, directions, found.scale, free)


@dataclass(frozen=True, eq=False)
class WholeInformation:
    """Observed information, priors included, on all numbers that were free to move."""

    matrix: Floats  # (n_free, n_free)
    spread: Floats  # (n_items x width, n_free): from the free numbers to all coordinates
    shown: Floats  # the same, without what moves all items together beside held ones

    @classmethod
    def at(
        cls,
        data: Encoded,
        model: MeasurementModel,
        coords: Array,
        nodes: Nodes,
        found: Expectation,
        run: Run = map,
        held: Held | None = None,
    ) -> WholeInformation:
        """The information at `coords`, where the E-step gave `found`."""
        if _by_moments(data, model):
            matrix = _of_moments(data, model, coords)
        else:
            matrix = -as_numpy(Scores(data, model, coords, nodes).missing_of_all(run))
            width = model.width
            for k, block in enumerate(as_numpy(found.observed)):
                own = slice(k * width, (k + 1) * width)
                matrix[own, own] += block
        matrix = matrix + _priors(model, coords, found, held)
        free = ~as_numpy(model.at_bound(coords))
        if held is None:
            spread = shown = _spread_out(model, free)
        else:
            own_columns = (free & held.free(model)).reshape(-1)
            shown = np.eye(own_columns.size)[:, own_columns]
            together = as_numpy(tangents(model, coords)).reshape(2, -1).T
            spread = np.concatenate([together, shown], axis=1)
            shown = np.concatenate([0 * together, shown], axis=1)
        return cls(spread.T @ matrix @ spread, spread, shown)

    def inverse(
        self, model: MeasurementModel, coords: Array, found: Expectation, held: Held | None = None
    ) -> WholeInverse:
        """The inverse, and the part of it that is the scale's."""
        ways, scale = np.zeros((0, *coords.shape)), np.zeros((0, 0))
        if model.affine and held is None:
            directions = tangents(model, coords)
            prior = prior_information(model, directions, penalty_slopes(model, coords)[1])
            ways, scale = as_numpy(directions), positive_inverse(found.scale + prior)
        matrix = positive_inverse(self.matrix)
        return WholeInverse(matrix, self.spread, self.shown, ways, scale, model.affine)

    def way_up(self) -> Floats | None:
        """A direction (n_items x width,) in which the likelihood bends upwards; None at a top.

        Its length is one standard error, roughly.
        """
        value, vector, scale = self._loosest()
        if value > -BENT_UP:
            return None
        way: Floats = self.spread @ (scale * vector)
        return way

    def checked(self, bend_along: Callable[[Floats], float]) -> WholeInformation:
        """The same with directions that look level or bent upwards measured: `bend_along` a way.

        The priors' part is not exact, since how much of it counts changes with the items. With few
        respondents it is most of the information.
        """
        found = self
        for _ in range(MOST_DOUBTED):
            value, vector, scale = found._loosest()
            if value > LEVEL:
                break
            bend = bend_along(found.spread @ (scale * vector))
            if bend < value + BENT_UP:
                break
            way = vector / scale
            found = replace(found, matrix=found.matrix + (bend - value) * way[:, None] * way)
        return found

    def _loosest(self) -> tuple[float, Floats, Floats]:
        """The least eigenvalue of the scaled matrix, its vector, and the scale."""
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(self.matrix)), 1e-12))
        values, vectors = np.linalg.eigh(self.matrix * scale[:, None] * scale)
        return float(values[0]), vectors[:, 0], scale


def _priors(
    model: MeasurementModel, coords: Array, found: Expectation, held: Held | None
) -> Floats:
    """What priors tell of all coordinates; along the scale they count once."""
    opinion = stiffness(model, coords, held)
    if held is not None:
        return np.diag(as_numpy(opinion).reshape(-1))
    information = as_numpy(add_diagonal(found.expected, opinion))
    directions = as_numpy(tangents(model, coords))
    return priors_once(directions, information, as_numpy(opinion), model.shared)


def stiffness(model: MeasurementModel, coords: Array, held: Held | None) -> Array:
    """What priors tell of each coordinate; nothing of those that are held."""
    found = penalty_slopes(model, coords) if held is None else held.penalty_slopes(model, coords)
    return found[1]


def _by_moments(data: Encoded, model: MeasurementModel) -> bool:
    """Whether the likelihood is a function of the mean and covariance of the table alone."""
    return model.normal and data.moments is not None


def _of_moments(data: Encoded, model: MeasurementModel, coords: Array) -> Floats:
    """Observed information of normal responses, as differences of slopes at either side."""
    here = np.array(as_numpy(coords), dtype=float)
    matrix = np.empty((here.size, here.size))
    for position in range(here.size):
        step = STEP * max(1.0, abs(here.flat[position]))
        slopes = []
        for sign in (1.0, -1.0):
            there = here.copy()
            there.flat[position] += sign * step
            found = expect_normally(data, model, like(there, data.weights))
            slopes.append(as_numpy(found.gradient).reshape(-1))
        matrix[position] = (slopes[1] - slopes[0]) / (2 * step)
    return (matrix + matrix.T) / 2


def in_unit(errors: KnownCovariances, model: MeasurementModel) -> KnownCovariances:
    """Errors after the shared coordinates became the unit of the scale: known exactly."""
    known = model.shared
    return KnownCovariances(
        np.where(known[:, None] | known, 0.0, errors.covariances),
        np.where(known, 0.0, errors.shared),
    )


def _spread_out(model: MeasurementModel, free: np.ndarray) -> Floats:
    """Map from the numbers that were free, a shared one counted once, to all coordinates."""
    n_items, width = free.shape
    columns = []
    for k, coordinate in enumerate(model.coordinates):
        if coordinate.shared:
            column = np.zeros((n_items, width))
            column[:, k] = 1
            columns.append(column.reshape(-1, 1))
    own = free & ~model.shared
    columns.append(np.eye(n_items * width)[:, own.reshape(-1)])
    return np.concatenate(columns, axis=1)


class DeferredCovariances:
    """Covariances computed when first asked for; what they come from is then let go."""

    def __init__(
        self,
        compute: Callable[[], KnownCovariances],
        pool: Callable[[Callable[[], KnownCovariances]], PooledItems | None] | None = None,
    ) -> None:
        self._compute: Callable[[], KnownCovariances] | None = compute
        self._found: KnownCovariances | None = None
        self._pool = pool
        self._pooled: PooledItems | None = None

    @property
    def covariances(self) -> Floats:
        """(n_items, width, width)."""
        return self._known().covariances

    @property
    def shared(self) -> Floats:
        """(n_shared, n_items, width)."""
        return self._known().shared

    @property
    def pooled(self) -> PooledItems | None:
        """Items given what they have in common, where few respondents leave them vague."""
        if self._pool is not None:
            self._pooled, self._pool = self._pool(self._known), None
        return self._pooled

    def _known(self) -> KnownCovariances:
        if self._found is None and self._compute is not None:
            self._found = self._compute()
            self._compute = None
        assert self._found is not None  # noqa: S101 - one of the two is always there
        return self._found
