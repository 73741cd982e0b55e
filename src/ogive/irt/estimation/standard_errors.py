"""Observed information, its inverse, the sandwich.

The inverse of an information on all items: which way, and how far, scores move the estimates.

To first order, an estimate errs by the inverse information times the sum of the respondents'
scores. Where the model is right, the variance of that is the inverse itself; where it is not, the
scores' own products stand in the middle (`sandwich`).

Standard errors of items from the observed information (Louis, 1982).

Observed information is what complete data would tell, less what is missing because abilities
are not seen. The missing part is, for each respondent, the covariance of the items' scores over
the posterior.

With few items the whole matrix is built and inverted. With many, items have nothing in common
but the origin and the unit of their scale: each item's own block is exact, and what the scale
adds follows from the information on the population.

Normal responses that are complete need neither posterior nor nodes: their slope follows from the
moments of the table, and differences of slopes are the information.

Standard errors that do not rest on the model: the sandwich, by respondent (White, 1982).

The inverse information says how far a respondent's score moves the estimates; the products of
these moves, summed over respondents, are their variance, whatever made the scores as large as they
are. Responses of one respondent may depend on each other in any way; respondents may not. Estimates
stay as they are: where the model is wrong, they belong to the nearest model of its kind. A prior is
an opinion, not a sample: it counts for as much as it does in the information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.e_step import expect, expect_normally
from ogive.irt.estimation.fit import Expectation
from ogive.irt.estimation.latent_scale import Held, directions_of, priors_once
from ogive.irt.estimation.m_step import add_diagonal, penalty_slopes, prior_information, tangents
from ogive.irt.estimation.missing_information import Scores
from ogive.irt.item_covariances import KnownCovariances, PooledItems
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import STANDARD, Nodes, Population, Posterior
from ogive.irt.score_errors import averaged_scores
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, like
from ogive.stats.newton import positive_inverse, root_of


class Inverse(Protocol):
    """An inverse information, as an operator on scores."""

    @property
    def ways(self) -> Floats:
        """Directions in which all items err together, (n_shared, n_items, width)."""

    def errors(self) -> KnownCovariances:
        """Return covariances of items where the model is right."""

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """How scores (n_rows, n_items, width) move the items, and `ways` of the scale in that."""

    def moved_by(self, variances: Floats) -> Floats:
        """Covariance of each item where coordinates have scores of these variances, apart."""


@dataclass(frozen=True, eq=False)
class WholeInverse:
    """All items together, exactly."""

    matrix: Floats  # (n_free, n_free): the inverse
    spread: Floats  # (n_items x width, n_free): through which scores are heard
    shown: Floats  # the same, through which items move
    ways: Floats
    scale: Floats  # (n_shared, n_shared): covariance of origin and unit
    affine: bool = True  # else no two directions are the scale's, and the matrix shows its own

    def errors(self) -> KnownCovariances:
        """Return blocks of the inverse, and the part of them that is the scale's."""
        n_items, width = self.ways.shape[1:]
        cube = (self.shown @ self.matrix @ self.shown.T).reshape(n_items, width, n_items, width)
        own = symmetrised(np.stack([cube[k, :, k, :] for k in range(n_items)]))
        shared = along(self.scale, self.ways) if self.affine else directions_of(cube)
        return KnownCovariances(own, shared)

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return how scores move the items, and the scale."""
        flat = scores.reshape(len(scores), -1)
        items = flat @ (self.spread @ self.matrix @ self.shown.T)
        scale = flat @ self.ways.reshape(len(self.scale), flat.shape[1]).T @ self.scale
        return items.reshape(scores.shape), scale

    def moved_by(self, variances: Floats) -> Floats:
        """Return covariance of each item, through all items."""
        through = self.spread @ self.matrix @ self.shown.T
        cube = through.reshape(-1, *variances.shape)
        found: Floats = np.einsum("p,pni,pnj->nij", variances.reshape(-1), cube, cube)
        return found


@dataclass(frozen=True, eq=False)
class BlockInverse:
    """Each item by itself, and what origin and unit of the scale add."""

    own: Floats  # (n_items, width, width)
    ways: Floats  # through which the scale moves the items
    heard: Floats  # (n_shared, n_items, width): through which scores speak of the scale
    scale: Floats  # (n_shared, n_shared)

    def errors(self) -> KnownCovariances:
        """Return each item's own inverse, and what all have in common."""
        shift = np.einsum("kni,kl,lnj->nij", self.ways, self.scale, self.ways)
        return KnownCovariances(symmetrised(self.own + shift), along(self.scale, self.ways))

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return how scores move the items, and the scale."""
        scale = np.einsum("rni,kni,kl->rl", scores, self.heard, self.scale, optimize=True)
        alone = np.einsum("nij,rnj->rni", self.own, scores)
        return alone + np.einsum("rk,kni->rni", scale, self.ways), scale

    def moved_by(self, variances: Floats) -> Floats:
        """Return covariance of each item, through itself; along the scale a prior counts once."""
        found: Floats = np.einsum("nij,nj,njk->nik", self.own, variances, self.own)
        return found


def alone(model: MeasurementModel, own: Floats, free: np.ndarray) -> BlockInverse:
    """Return each item's own inverse; `own` is its information, `free` what was free to move."""
    nothing = np.zeros((0, *free.shape))
    return BlockInverse(_inverse(own, free & ~model.shared), nothing, nothing, np.zeros((0, 0)))


def structured(
    model: MeasurementModel, own: Floats, directions: Floats, population: Floats, free: np.ndarray
) -> BlockInverse:
    """Return each item's own inverse, plus what the shared origin and unit of the scale add."""
    kept = free & ~model.shared
    flat = directions.reshape(2, -1)
    own_kept = np.where(kept[:, :, None] & kept[:, None, :], own, 0.0)
    known = flat @ np.einsum("nij,knj->kni", own_kept, directions).reshape(2, -1).T
    extra = np.asarray(np.linalg.inv(population) - np.linalg.pinv(known), dtype=float)
    return BlockInverse(_inverse(own, kept), directions, directions, extra)


def beside(
    own: Floats, directions: Floats, free: np.ndarray, found: np.ndarray, held: np.ndarray
) -> BlockInverse:
    """Return each found item's own inverse, plus what held items leave unknown of the population.

    With the structure of `structured` for all items, and the held ones known, this is exactly
    what is left. Held items alone speak of the population; the found ones move against it.
    """
    kept = free & found
    heard = np.where(held[:, None] & free, directions, 0.0)
    known = np.einsum("kni,nij,lnj->kl", heard, own, heard)
    together: Floats = np.asarray(directions * kept)
    return BlockInverse(_inverse(own, kept), together, -heard, np.linalg.pinv(known))


def _inverse(own: Floats, kept: np.ndarray) -> Floats:
    """Return inverse of each item's information on what is `kept`; zero elsewhere."""
    mask = kept[:, :, None] & kept[:, None, :]
    return symmetrised(positive_inverse(np.where(mask, own, np.eye(own.shape[1]))) * mask)


def along(covariance: Floats, ways: Floats) -> Floats:
    """Return directions of one standard error each, where `ways` err with this covariance."""
    found: Floats = np.einsum("lk,lni->kni", root_of(covariance), ways)
    return found


def symmetrised(matrices: Floats) -> Floats:
    """Return what rounding made unequal, made equal again."""
    both: Floats = 0.5 * (matrices + np.swapaxes(matrices, 1, 2))
    return both


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
    """Return the inverse of the observed information on all items.

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
        """Return the information at `coords`, where the E-step gave `found`."""
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
        """Return the inverse, and the part of it that is the scale's."""
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
        """Return the least eigenvalue of the scaled matrix, its vector, and the scale."""
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(self.matrix)), 1e-12))
        values, vectors = np.linalg.eigh(self.matrix * scale[:, None] * scale)
        return float(values[0]), vectors[:, 0], scale


def _priors(
    model: MeasurementModel, coords: Array, found: Expectation, held: Held | None
) -> Floats:
    """Return what priors tell of all coordinates; along the scale they count once."""
    opinion = stiffness(model, coords, held)
    if held is not None:
        return np.diag(as_numpy(opinion).reshape(-1))
    information = as_numpy(add_diagonal(found.expected, opinion))
    directions = as_numpy(tangents(model, coords))
    return priors_once(directions, information, as_numpy(opinion), model.shared)


def stiffness(model: MeasurementModel, coords: Array, held: Held | None) -> Array:
    """Return what priors tell of each coordinate; nothing of those that are held."""
    found = penalty_slopes(model, coords) if held is None else held.penalty_slopes(model, coords)
    return found[1]


def _by_moments(data: Encoded, model: MeasurementModel) -> bool:
    """Return True if the likelihood is a function of the mean and covariance of the table alone."""
    return model.normal and data.moments is not None


def _of_moments(data: Encoded, model: MeasurementModel, coords: Array) -> Floats:
    """Return observed information of normal responses, as differences of slopes at either side."""
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
    """Return errors after the shared coordinates became the unit of the scale: known exactly."""
    known = model.shared
    return KnownCovariances(
        np.where(known[:, None] | known, 0.0, errors.covariances),
        np.where(known, 0.0, errors.shared),
    )


def _spread_out(model: MeasurementModel, free: np.ndarray) -> Floats:
    """Return map from the numbers that were free, a shared one counted once, to all coordinates."""
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


CELLS = 1 << 20  # scores in one block of rows


def sandwich(
    inverse: Inverse,
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    held: Held | None = None,
    run: Run = map,
) -> KnownCovariances:
    """Return covariances of items from the scores of respondents; `inverse` is the bread."""

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, coarse = like(coords, part.weights), like(nodes.coarse, part.weights)
        posterior_of = Posterior(model.log_terms(own, coarse), nodes)
        slopes = model.term_slopes(own, coarse)
        xp = array_namespace(own)

        def pass_over(rows: slice) -> tuple[Floats, ...]:
            block, weights = part.block(rows), as_numpy(part.counted(rows))
            posterior, _ = posterior_of(block)
            averaged = averaged_scores(block, slopes, posterior_of.on_coarse(posterior))
            items, scale = inverse.moves(as_numpy(xp.stack(averaged, axis=2)))
            return (
                np.einsum("r,rni,rnj->nij", weights, items, items, optimize=True),
                np.einsum("r,rni->ni", weights, items),
                (scale.T * weights) @ scale,
                weights @ scale,
                weights @ as_numpy(block.asked),
            )

        return pass_over

    rows = max(1, CELLS // (coords.shape[0] * model.width))
    square, sums, scale, common, asked = data.gather(run, over, rows=rows, lanes=4)
    n = data.n_respondents
    # Priors leave scores with a mean other than zero, which is no error of sampling.
    square = square - sums[:, :, None] * sums[:, None, :] / n
    scale = scale - np.outer(common, common) / n
    # Estimates follow the responses that they are held against: scores come out too small, by
    # about the share of responses that an item's own parameters take up.
    taken = np.minimum(model.width / np.maximum(asked, 1.0), 0.5)
    opinion = inverse.moved_by(as_numpy(stiffness(model, coords, held)))
    found = symmetrised(square / (1 - taken)[:, None, None] + opinion)
    return KnownCovariances(found, along(scale, inverse.ways))
