"""The inverse of an information on all items: which way, and how far, scores move the estimates.

To first order, an estimate errs by the inverse information times the sum of the respondents'
scores. Where the model is right, the variance of that is the inverse itself; where it is not, the
scores' own products stand in the middle (`sandwich`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ogive.calibration import KnownCovariances
from ogive.estimation.shared_errors import directions_of
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.numerics.newton import positive_inverse, root_of


class Inverse(Protocol):
    """An inverse information, as an operator on scores."""

    @property
    def ways(self) -> Floats:
        """Directions in which all items err together, (n_shared, n_items, width)."""

    def errors(self) -> KnownCovariances:
        """Covariances of items where the model is right."""

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
        """Blocks of the inverse, and the part of them that is the scale's."""
        n_items, width = self.ways.shape[1:]
        cube = (self.shown @ self.matrix @ self.shown.T).reshape(n_items, width, n_items, width)
        own = symmetrised(np.stack([cube[k, :, k, :] for k in range(n_items)]))
        shared = along(self.scale, self.ways) if self.affine else directions_of(cube)
        return KnownCovariances(own, shared)

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """How scores move the items, and the scale."""
        flat = scores.reshape(len(scores), -1)
        items = flat @ (self.spread @ self.matrix @ self.shown.T)
        scale = flat @ self.ways.reshape(len(self.scale), flat.shape[1]).T @ self.scale
        return items.reshape(scores.shape), scale

    def moved_by(self, variances: Floats) -> Floats:
        """Covariance of each item, through all items."""
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
        """Each item's own inverse, and what all have in common."""
        shift = np.einsum("kni,kl,lnj->nij", self.ways, self.scale, self.ways)
        return KnownCovariances(symmetrised(self.own + shift), along(self.scale, self.ways))

    def moves(self, scores: Floats) -> tuple[Floats, Floats]:
        """How scores move the items, and the scale."""
        scale = np.einsum("rni,kni,kl->rl", scores, self.heard, self.scale, optimize=True)
        alone = np.einsum("nij,rnj->rni", self.own, scores)
        return alone + np.einsum("rk,kni->rni", scale, self.ways), scale

    def moved_by(self, variances: Floats) -> Floats:
        """Covariance of each item, through itself; along the scale a prior counts once."""
        found: Floats = np.einsum("nij,nj,njk->nik", self.own, variances, self.own)
        return found


def alone(model: MeasurementModel, own: Floats, free: np.ndarray) -> BlockInverse:
    """Each item's own inverse; `own` is its information, `free` what was free to move."""
    nothing = np.zeros((0, *free.shape))
    return BlockInverse(_inverse(own, free & ~model.shared), nothing, nothing, np.zeros((0, 0)))


def structured(
    model: MeasurementModel, own: Floats, directions: Floats, population: Floats, free: np.ndarray
) -> BlockInverse:
    """Each item's own inverse, plus what the shared origin and unit of the scale add."""
    kept = free & ~model.shared
    flat = directions.reshape(2, -1)
    own_kept = np.where(kept[:, :, None] & kept[:, None, :], own, 0.0)
    known = flat @ np.einsum("nij,knj->kni", own_kept, directions).reshape(2, -1).T
    extra = np.asarray(np.linalg.inv(population) - np.linalg.pinv(known), dtype=float)
    return BlockInverse(_inverse(own, kept), directions, directions, extra)


def beside(
    own: Floats, directions: Floats, free: np.ndarray, found: np.ndarray, held: np.ndarray
) -> BlockInverse:
    """Each found item's own inverse, plus what held items leave unknown of the population.

    With the structure of `structured` for all items, and the held ones known, this is exactly
    what is left. Held items alone speak of the population; the found ones move against it.
    """
    kept = free & found
    heard = np.where(held[:, None] & free, directions, 0.0)
    known = np.einsum("kni,nij,lnj->kl", heard, own, heard)
    together: Floats = np.asarray(directions * kept)
    return BlockInverse(_inverse(own, kept), together, -heard, np.linalg.pinv(known))


def _inverse(own: Floats, kept: np.ndarray) -> Floats:
    """Inverse of each item's information on what is `kept`; zero elsewhere."""
    mask = kept[:, :, None] & kept[:, None, :]
    return symmetrised(positive_inverse(np.where(mask, own, np.eye(own.shape[1]))) * mask)


def along(covariance: Floats, ways: Floats) -> Floats:
    """Directions of one standard error each, where `ways` err with this covariance."""
    found: Floats = np.einsum("lk,lni->kni", root_of(covariance), ways)
    return found


def symmetrised(matrices: Floats) -> Floats:
    """What rounding made unequal, made equal again."""
    both: Floats = 0.5 * (matrices + np.swapaxes(matrices, 1, 2))
    return both
