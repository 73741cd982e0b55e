"""Standard errors of items: the observed information, its inverse, and the sandwich.

To first order, estimates err by the inverse information times the sum of the respondents' scores.
If the model is right, the variance of that is the inverse itself. The sandwich (White, 1982) puts
the products of the scores in its place: it stays valid if the model is wrong or responses of one
respondent depend on each other. A prior counts in it for as much as in the information.

The observed information is that of complete data less the missing information (Louis, 1982). With
few items the whole matrix is inverted. With many, items have only the origin and the unit of
their scale in common: each item's own block is exact, and what the scale adds follows from the
information on the population. For complete normal responses the gradient follows from the moments
of the table, and its differences are the information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

import numpy as np

from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.e_step import Expectation, expect_normal
from ogive.irt.estimation.latent_scale import (
    common_directions,
    prior_information,
    prior_matrix_once,
)
from ogive.irt.estimation.m_step import add_diagonal, prior_derivatives
from ogive.irt.estimation.missing_information import Scores
from ogive.irt.estimation.objective import Problem, Solution
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Posterior
from ogive.irt.score_errors import averaged_scores
from ogive.stats.array_backend import Array, Floats, Run, array_namespace, as_numpy, like
from ogive.stats.newton import positive_inverse, root_of

MAX_EXACT = 150  # coordinates of all items together up to which the whole matrix is inverted
MAX_EXACT_MOMENTS = 600  # the same limit, if moments are sufficient
MAX_EXACT_CURVED = 2_000  # the same limit for models that are not affine
DIFFERENCE = 1e-5  # step of a coordinate over which gradients are differenced
MAX_ROWS = 20_000  # respondents that determine a standard error to half a percent
NEGATIVE = 1e-3  # size of a negative eigenvalue of the scaled information beyond rounding
DOUBTFUL = 1e-2  # eigenvalue up to which the curvature along a direction is measured
MAX_DOUBTFUL = 8  # directions that are measured
SANDWICH_CELLS = 1 << 20  # scores in one block of rows


class Inverse(Protocol):
    """An inverse information, as an operator on scores."""

    @property
    def directions(self) -> Floats:
        """Directions in which all items err together, (n_shared, n_items, width)."""

    def errors(self) -> KnownCovariances:
        """Return covariances of items for a model that is right."""

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return how scores (n_rows, n_items, width) move the items, and the scale in that."""

    def covariance_of(self, variances: Floats) -> Floats:
        """Return the covariance of each item that independent scores of these variances make."""


@dataclass(frozen=True, eq=False)
class WholeInverse:
    """The inverse information of all items together."""

    matrix: Floats  # (n_free, n_free)
    inputs: Floats  # (n_items x width, n_free): maps scores to free numbers
    outputs: Floats  # (n_items x width, n_free): maps free numbers to moves of the items
    directions: Floats
    scale: Floats  # (n_shared, n_shared): covariance of origin and unit
    affine: bool = True  # if not, the directions of common error come from the matrix

    def errors(self) -> KnownCovariances:
        """Return blocks of the inverse, and the part of them that is the scale's."""
        n_items, width = self.directions.shape[1:]
        whole = (self.outputs @ self.matrix @ self.outputs.T).reshape(n_items, width, n_items, -1)
        own = symmetrized(np.stack([whole[k, :, k, :] for k in range(n_items)]))
        if not self.affine:
            return KnownCovariances(own, common_directions(whole))
        return KnownCovariances(own, error_directions(self.scale, self.directions))

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return how scores move the items, and the scale."""
        flat = scores.reshape(len(scores), -1)
        items = flat @ (self.inputs @ self.matrix @ self.outputs.T)
        scale = flat @ self.directions.reshape(len(self.scale), flat.shape[1]).T @ self.scale
        return items.reshape(scores.shape), scale

    def covariance_of(self, variances: Floats) -> Floats:
        """Return the covariance of each item, through all items."""
        through = self.inputs @ self.matrix @ self.outputs.T
        cube = through.reshape(-1, *variances.shape)
        return np.asarray(np.einsum("p,pni,pnj->nij", variances.reshape(-1), cube, cube))


@dataclass(frozen=True, eq=False)
class BlockInverse:
    """The inverse information of each item by itself, and what the scale adds."""

    own: Floats  # (n_items, width, width)
    directions: Floats  # moves of the items with origin and unit
    inputs: Floats  # (n_shared, n_items, width): maps scores to origin and unit
    scale: Floats  # (n_shared, n_shared)

    def errors(self) -> KnownCovariances:
        """Return each item's own inverse, and what all have in common."""
        shift = np.einsum("kni,kl,lnj->nij", self.directions, self.scale, self.directions)
        shared = error_directions(self.scale, self.directions)
        return KnownCovariances(symmetrized(self.own + shift), shared)

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return how scores move the items, and the scale."""
        scale = np.einsum("rni,kni,kl->rl", scores, self.inputs, self.scale, optimize=True)
        own = np.einsum("nij,rnj->rni", self.own, scores)
        return own + np.einsum("rk,kni->rni", scale, self.directions), scale

    def covariance_of(self, variances: Floats) -> Floats:
        """Return the covariance of each item through itself; along the scale priors count once."""
        return np.asarray(np.einsum("nij,nj,njk->nik", self.own, variances, self.own))


def items_alone(model: MeasurementModel, own: Floats, free: np.ndarray) -> BlockInverse:
    """Return each item's own inverse; `own` is its information, `free` flags free coordinates."""
    nothing = np.zeros((0, *free.shape))
    return BlockInverse(_inverse(own, free & ~model.shared), nothing, nothing, np.zeros((0, 0)))


def items_and_scale(
    model: MeasurementModel, own: Floats, directions: Floats, population: Floats, free: np.ndarray
) -> BlockInverse:
    """Return each item's own inverse, plus what the shared origin and unit of the scale add."""
    kept = free & ~model.shared
    flat = directions.reshape(2, -1)
    own_kept = np.where(kept[:, :, None] & kept[:, None, :], own, 0.0)
    known = flat @ np.einsum("nij,knj->kni", own_kept, directions).reshape(2, -1).T
    extra = np.asarray(np.linalg.inv(population) - np.linalg.pinv(known), dtype=float)
    return BlockInverse(_inverse(own, kept), directions, directions, extra)


def items_beside_fixed(
    own: Floats, directions: Floats, free: np.ndarray, estimated: np.ndarray, fixed: np.ndarray
) -> BlockInverse:
    """Return each estimated item's own inverse, plus the uncertainty of the population.

    This is exactly `items_and_scale` of all items, given the fixed ones. Fixed items alone inform
    on the population; the estimated ones move against it.
    """
    kept = free & estimated
    inputs = np.where(fixed[:, None] & free, directions, 0.0)
    known = np.einsum("kni,nij,lnj->kl", inputs, own, inputs)
    return BlockInverse(
        _inverse(own, kept), np.asarray(directions * kept), -inputs, np.linalg.pinv(known)
    )


def _inverse(own: Floats, kept: np.ndarray) -> Floats:
    """Return the inverse of each item's information on `kept` coordinates; zero elsewhere."""
    mask = kept[:, :, None] & kept[:, None, :]
    return symmetrized(positive_inverse(np.where(mask, own, np.eye(own.shape[1]))) * mask)


def error_directions(covariance: Floats, directions: Floats) -> Floats:
    """Return directions of one standard error each, of a scale with this covariance."""
    return np.asarray(np.einsum("lk,lni->kni", root_of(covariance), directions))


def symmetrized(matrices: Floats) -> Floats:
    """Return matrices made exactly symmetric."""
    return np.asarray(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))


def observed_inverse(problem: Problem, solution: Solution, *, by_item: bool = False) -> Inverse:
    """Return the inverse of the observed information on all items.

    With `by_item`, items have only their scale in common, however few they are. Errors of items
    beside fixed ones include the uncertainty of the population; fixed ones have none.
    """
    model, fixed_items, coords = problem.model, problem.fixed_items, solution.coords
    n_numbers = inf if by_item and model.affine else coords.shape[0] * model.width
    if _by_moments(problem) and n_numbers <= MAX_EXACT_MOMENTS:
        return WholeInformation.at(problem, solution).inverse(problem, solution)
    thinned = problem.data.thinned(MAX_ROWS)
    if thinned is not problem.data:
        problem = replace(problem, data=thinned)
        expectation = problem.expect(thinned, coords, solution.nodes)
        solution = replace(solution, expectation=expectation)
    if n_numbers <= (MAX_EXACT if model.affine else MAX_EXACT_CURVED):
        return WholeInformation.at(problem, solution).inverse(problem, solution)
    expectation = solution.expectation
    complete = add_diagonal(expectation.observed, prior_curvature(problem, coords))
    scores = Scores(thinned.in_single(), model, coords, solution.nodes)
    own = as_numpy(complete) - as_numpy(scores.missing_of_each(problem.run))
    free = ~as_numpy(model.at_bound(coords))
    if not model.affine:
        return items_alone(model, own, free)
    directions = as_numpy(model.scale_directions(coords))
    if fixed_items is not None:
        return items_beside_fixed(own, directions, free, fixed_items.free(model), fixed_items.mask)
    return items_and_scale(model, own, directions, expectation.scale, free)


@dataclass(frozen=True, eq=False)
class WholeInformation:
    """Observed information, priors included, on all numbers that are free to move."""

    matrix: Floats  # (n_free, n_free)
    inputs: Floats  # (n_items x width, n_free): from the free numbers to all coordinates
    outputs: Floats  # the same without the moves of all items together beside fixed ones

    @classmethod
    def at(cls, problem: Problem, solution: Solution) -> WholeInformation:
        """Return the information at a solution."""
        model, coords, fixed_items = problem.model, solution.coords, problem.fixed_items
        expectation = solution.expectation
        if _by_moments(problem):
            matrix = _information_of_moments(problem, coords)
        else:
            scores = Scores(problem.data, model, coords, solution.nodes)
            matrix = -as_numpy(scores.missing_of_all(problem.run))
            width = model.width
            for k, block in enumerate(as_numpy(expectation.observed)):
                own = slice(k * width, (k + 1) * width)
                matrix[own, own] += block
        matrix = matrix + _prior_matrix(problem, coords, expectation)
        free = ~as_numpy(model.at_bound(coords))
        if fixed_items is None:
            inputs = outputs = _free_columns(model, free)
        else:
            own_columns = (free & fixed_items.free(model)).reshape(-1)
            outputs = np.eye(own_columns.size)[:, own_columns]
            together = as_numpy(model.scale_directions(coords)).reshape(2, -1).T
            inputs = np.concatenate([together, outputs], axis=1)
            outputs = np.concatenate([0 * together, outputs], axis=1)
        return cls(inputs.T @ matrix @ inputs, inputs, outputs)

    def inverse(self, problem: Problem, solution: Solution) -> WholeInverse:
        """Return the inverse, and the part of it that is the scale's."""
        model, coords = problem.model, solution.coords
        directions, scale = np.zeros((0, *coords.shape)), np.zeros((0, 0))
        if model.affine and problem.fixed_items is None:
            moves = model.scale_directions(coords)
            prior = prior_information(model, moves, prior_derivatives(model, coords)[1])
            directions = as_numpy(moves)
            scale = positive_inverse(solution.expectation.scale + prior)
        matrix = positive_inverse(self.matrix)
        return WholeInverse(matrix, self.inputs, self.outputs, directions, scale, model.affine)

    def ascent_direction(self) -> Floats | None:
        """Return a direction (n_items x width,) of negative curvature; None at a maximum.

        Its length is one standard error, roughly.
        """
        value, vector, scale = self._loosest()
        return None if value > -NEGATIVE else np.asarray(self.inputs @ (scale * vector))

    def checked(self, directional_curvature: Callable[[Floats], float]) -> WholeInformation:
        """Return the information with doubtful curvatures replaced by measured ones.

        The priors' part is not exact, because how much of it counts changes with the items. With
        few respondents it is most of the information.
        """
        checked = self
        for _ in range(MAX_DOUBTFUL):
            value, vector, scale = checked._loosest()
            if value > DOUBTFUL:
                break
            curvature = directional_curvature(checked.inputs @ (scale * vector))
            if curvature < value + NEGATIVE:
                break
            way = vector / scale
            matrix = checked.matrix + (curvature - value) * way[:, None] * way
            checked = replace(checked, matrix=matrix)
        return checked

    def _loosest(self) -> tuple[float, Floats, Floats]:
        """Return the least eigenvalue of the scaled matrix, its vector, and the scale."""
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(self.matrix)), 1e-12))
        values, vectors = np.linalg.eigh(self.matrix * scale[:, None] * scale)
        return float(values[0]), vectors[:, 0], scale


def _prior_matrix(problem: Problem, coords: Array, expectation: Expectation) -> Floats:
    """Return the priors' information on all coordinates; along the scale they count once."""
    curvature = prior_curvature(problem, coords)
    if problem.fixed_items is not None:
        return np.diag(as_numpy(curvature).reshape(-1))
    information = as_numpy(add_diagonal(expectation.expected, curvature))
    directions = as_numpy(problem.model.scale_directions(coords))
    return prior_matrix_once(directions, information, as_numpy(curvature), problem.model.shared)


def prior_curvature(problem: Problem, coords: Array) -> Array:
    """Return the priors' information on each coordinate; 0 for fixed ones."""
    if problem.fixed_items is None:
        return prior_derivatives(problem.model, coords)[1]
    return problem.fixed_items.prior_derivatives(problem.model, coords)[1]


def _by_moments(problem: Problem) -> bool:
    """Return True if mean and covariance of the table are sufficient."""
    return problem.model.normal and problem.data.moments is not None


def _information_of_moments(problem: Problem, coords: Array) -> Floats:
    """Return the observed information of normal responses, from differences of gradients."""
    start = np.array(as_numpy(coords), dtype=float)
    matrix = np.empty((start.size, start.size))
    for position in range(start.size):
        step = DIFFERENCE * max(1.0, abs(start.flat[position]))
        gradients = []
        for sign in (1.0, -1.0):
            moved = start.copy()
            moved.flat[position] += sign * step
            on_device = like(moved, problem.data.weights)
            expectation = expect_normal(problem.data, problem.model, on_device)
            gradients.append(as_numpy(expectation.gradient).reshape(-1))
        matrix[position] = (gradients[1] - gradients[0]) / (2 * step)
    return (matrix + matrix.T) / 2


def in_unit(errors: KnownCovariances, model: MeasurementModel) -> KnownCovariances:
    """Return errors after shared coordinates became the unit of the scale, known exactly."""
    shared = model.shared
    return KnownCovariances(
        np.where(shared[:, None] | shared, 0.0, errors.covariances),
        np.where(shared, 0.0, errors.shared),
    )


def _free_columns(model: MeasurementModel, free: np.ndarray) -> Floats:
    """Return the map from free numbers, a shared one counted once, to all coordinates."""
    n_items, width = free.shape
    columns = []
    for k in np.flatnonzero(model.shared):
        column = np.zeros((n_items, width))
        column[:, k] = 1
        columns.append(column.reshape(-1, 1))
    own = free & ~model.shared
    columns.append(np.eye(n_items * width)[:, own.reshape(-1)])
    return np.concatenate(columns, axis=1)


def sandwich(inverse: Inverse, problem: Problem, solution: Solution) -> KnownCovariances:
    """Return covariances of items from the scores of respondents; `inverse` is the bread."""
    data, model = problem.data.thinned(MAX_ROWS), problem.model
    coords, nodes = solution.coords, solution.nodes

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, coarse = like(coords, part.weights), like(nodes.coarse, part.weights)
        posterior_of = Posterior(model.log_terms(own, coarse), nodes)
        gradients = model.term_slopes(own, coarse)
        xp = array_namespace(own)

        def sum_block(rows: slice) -> tuple[Floats, ...]:
            block, weights = part.block(rows), as_numpy(part.counted(rows))
            posterior, _ = posterior_of(block)
            scores = averaged_scores(block, gradients, posterior_of.on_coarse(posterior))
            items, scale = inverse.moves(as_numpy(xp.stack(scores, axis=2)))
            return (
                np.einsum("r,rni,rnj->nij", weights, items, items, optimize=True),
                np.einsum("r,rni->ni", weights, items),
                (scale.T * weights) @ scale,
                weights @ scale,
                weights @ as_numpy(block.asked),
            )

        return sum_block

    rows = max(1, SANDWICH_CELLS // (coords.shape[0] * model.width))
    square, sums, scale, scale_sums, asked = data.gather(problem.run, over, rows=rows, lanes=4)
    n = data.n_respondents
    # Priors give scores a mean other than zero, which is no sampling error.
    square = square - sums[:, :, None] * sums[:, None, :] / n
    scale = scale - np.outer(scale_sums, scale_sums) / n
    # Scores at the estimates are too small, by about the share of responses that an item's own
    # parameters take up.
    used = np.minimum(model.width / np.maximum(asked, 1.0), 0.5)
    prior = inverse.covariance_of(as_numpy(prior_curvature(problem, coords)))
    own = symmetrized(square / (1 - used)[:, None, None] + prior)
    return KnownCovariances(own, error_directions(scale, inverse.directions))
