"""Origin and unit of the latent scale, which all items share; items fixed by a bank.

EM learns these two directions slowly, because each item waits for the others. So the scale takes
an exact Newton step of its own (`scale_step`), and along it the priors of n items count as one
(`count_priors_once`): otherwise hundreds of priors would outweigh a few respondents.

Fixed items lie on the scale of a bank. The engine works on the scale on which the population is
standard; there, fixed items have two numbers in common, the population's mean and standard
deviation on the scale of the bank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.engine import Engine
from ogive.irt.estimation.m_step import log_prior, prior_derivatives
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models import find_model
from ogive.irt.models.base import Coordinate, MeasurementModel
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Array, Floats, array_namespace, as_numpy, like
from ogive.stats.newton import root_of

if TYPE_CHECKING:
    from ogive.data.responses import Responses

LEAST_SD, MOST_SD = 0.2, 5.0  # limits of the population's first sd, in units of the bank
MEAN_SD, LOG_SD_SD = 5.0, 1.0  # sd of the priors of the population's mean and log sd, about 0
MIN_FIXED = 2  # fewest fixed items: one alone would decide on a whole scale
MAX_DIRECTIONS = 16  # most directions of common error that are kept
LEAST_EXCESS = 1.0  # excess variance, in items' own error variances, that makes a common direction


def count_priors_once(
    model: MeasurementModel, directions: Array, prior_grad: Array, information: Array
) -> Array:
    """Return the part of `prior_grad` (n_items, width) to subtract, so that priors count once.

    Projects on the scale's two `directions` in the metric of `information`; along them, 1/n of
    the gradient of n items is left. A shared coordinate has one prior, which counts once anyway.
    """
    xp = array_namespace(prior_grad)
    n_items = prior_grad.shape[0]
    prior_grad = prior_grad * like([float(not c.shared) for c in model.coordinates], prior_grad)
    flat = xp.reshape(directions, (2, -1))
    metric = xp.reshape(_times(information, directions), (2, -1))
    inner = as_numpy(flat @ metric.T)
    if np.trace(inner) < 1e-6 * n_items:  # items without discrimination have no scale
        return 0 * prior_grad
    inner = _with_ridge(inner)
    along = as_numpy(flat @ xp.reshape(prior_grad, (-1,)))
    share = (1 - 1 / n_items) * np.linalg.solve(inner, along)
    return xp.reshape(like(share, prior_grad) @ metric, prior_grad.shape)


def prior_matrix_once(
    directions: Floats, information: Floats, prior_curvature: Floats, shared: np.ndarray
) -> Floats:
    """Return the priors' information on all coordinates, (n_items x width, n_items x width).

    Priors of n items count as one along the two `directions` (2, n_items, width) of the scale, in
    the metric of `information` (n_items, width, width), as in `count_priors_once`.
    """
    own = np.where(shared, 0.0, prior_curvature).reshape(-1)
    whole = np.diag(prior_curvature.reshape(-1))
    flat = directions.reshape(2, -1)
    metric = np.einsum("nij,knj->kni", information, directions).reshape(2, -1)
    inner = flat @ metric.T
    if np.trace(inner) < 1e-6 * len(prior_curvature):  # items without discrimination: no scale
        return whole
    inner = inner + (1e-9 * np.trace(inner) + 1e-12) * np.eye(2)
    part = 1 - len(prior_curvature) ** -0.5
    back = part * np.linalg.solve(inner, metric).T  # (n_items x width, 2)
    cross = back @ (flat * own)
    return np.asarray(whole - cross - cross.T + back @ ((flat * own) @ flat.T) @ back.T)


def prior_information(model: MeasurementModel, directions: Array, prior_curvature: Array) -> Floats:
    """Return the priors' information on origin and unit, (2, 2), each counted once."""
    xp = array_namespace(prior_curvature)
    share = [1.0 if c.shared else 1 / prior_curvature.shape[0] for c in model.coordinates]
    weighted = directions * (prior_curvature * like(share, prior_curvature))
    return as_numpy(xp.reshape(weighted, (2, -1)) @ xp.reshape(directions, (2, -1)).T)


def scale_step(
    directions: Array, gradient: Array, information: Array, population: Floats
) -> tuple[Array, float]:
    """Return the correction along the scale of the items' own Newton steps, and its gain.

    Information on the origin and unit of the `population` (2, 2) replaces the items'
    complete-data information in these two directions.
    """
    xp = array_namespace(gradient)
    flat = xp.reshape(directions, (2, -1))
    along = as_numpy(flat @ xp.reshape(gradient, (-1,)))
    complete = _with_ridge(as_numpy(flat @ xp.reshape(_times(information, directions), (2, -1)).T))
    if np.trace(complete) < 1e-3 * np.trace(population):  # items without discrimination: no scale
        return 0 * gradient, 0.0
    correction = np.linalg.solve(population, along) - np.linalg.solve(complete, along)
    step = xp.reshape(like(correction, gradient) @ flat, gradient.shape)
    return step, max(0.0, 0.5 * float(along @ correction))


def _times(information: Array, directions: Array) -> Array:
    """Return each item's information times its part of each direction."""
    xp = array_namespace(information)
    return xp.stack([(information @ direction[..., None])[..., 0] for direction in directions])


def _with_ridge(matrix: Floats) -> Floats:
    """Return `matrix` with a ridge of rounding size: items without slope leave it singular."""
    return np.asarray(matrix + (1e-9 * np.trace(matrix) + 1e-12) * np.eye(2))


def moved_covariances(
    model: MeasurementModel, coords: Floats, covariances: Floats, shift: float, scale: float
) -> Floats:
    """Return covariances of coordinates, (n_items, width, width), after `model.rescale`."""
    jacobian = _rescaling_jacobian(model, coords, shift, scale)
    return np.asarray(np.einsum("ins,nij,jnt->nst", jacobian, covariances, jacobian))


def moved_directions(
    model: MeasurementModel, coords: Floats, directions: Floats, shift: float, scale: float
) -> Floats:
    """Return directions in which coordinates change, (n, n_items, width), after `model.rescale`."""
    jacobian = _rescaling_jacobian(model, coords, shift, scale)
    return np.asarray(np.einsum("kni,ins->kns", directions, jacobian))


def _rescaling_jacobian(
    model: MeasurementModel, coords: Floats, shift: float, scale: float
) -> Floats:
    """Return derivatives of rescaled coordinates in the old ones, (width, n_items, width)."""
    here = model.rescale(coords, shift, scale)
    steps = np.eye(coords.shape[1])
    return np.stack([model.rescale(coords + step, shift, scale) - here for step in steps])


def common_directions(covariance: Floats) -> Floats:
    """Return directions in which all items err together, one standard error each.

    They are (n, n_items, width): the first components of what is left of the whole covariance
    (n_items, width, n_items, width) when every item is measured in its own errors.
    """
    n_items, width = covariance.shape[:2]
    own = root_of(np.stack([covariance[k, :, k, :] for k in range(n_items)]))
    inverse = np.linalg.pinv(own)
    scaled = np.einsum("iab,ibjc,jdc->iajd", inverse, covariance, inverse)
    sizes, vectors = np.linalg.eigh(scaled.reshape(n_items * width, -1))
    kept = [k for k in range(len(sizes)) if sizes[k] - 1 > LEAST_EXCESS][-MAX_DIRECTIONS:]
    directions = (vectors[:, kept] * np.sqrt(sizes[kept] - 1)).T.reshape(-1, n_items, width)
    return np.asarray(np.einsum("nij,knj->kni", own, directions))


@dataclass(frozen=True, eq=False)
class FixedItems:
    """Which items are fixed, and their coordinates and errors in the bank.

    Rows of items that are not fixed mean nothing.
    """

    mask: np.ndarray  # (n_items,)
    coords: Floats  # (n_items, width), on the scale of the bank
    errors: KnownCovariances

    def free(self, model: MeasurementModel) -> np.ndarray:
        """Flag coordinates that are estimated, (n_items, width); shared ones come from the bank."""
        free: np.ndarray = ~self.mask[:, None] & ~model.shared
        return free

    def start(self, model: MeasurementModel, start: Array) -> Array:
        """Return `start` with fixed items on the scale of the population that suits it best."""
        mean, sd = self.population_place(model, start)
        sd = float(np.clip(sd, LEAST_SD, MOST_SD))
        return self.keep(
            model, like(model.rescale(self._bank_coords(model), mean, sd), start), start
        )

    def keep(self, model: MeasurementModel, coords: Array, other: Array) -> Array:
        """Return `other`, with fixed coordinates as they are in `coords`."""
        return array_namespace(coords).where(like(self.free(model), coords) > 0, other, coords)

    def population_place(self, model: MeasurementModel, coords: Array) -> tuple[float, float]:
        """Return mean and sd of the population on the scale of the bank, by least squares."""
        bank = self.coords[self.mask]
        directions = as_numpy(model.scale_directions(bank)).reshape(2, -1)
        diff = (as_numpy(coords)[self.mask] - bank).reshape(-1)
        diff = np.where((directions != 0).any(axis=0), diff, 0.0)
        mean, growth = np.linalg.lstsq(directions.T, diff, rcond=None)[0]
        return float(mean), float(1 + growth)

    def prior_derivatives(self, model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
        """Return `prior_derivatives` of estimated coordinates, and 0 for fixed ones."""
        xp = array_namespace(coords)
        free = like(self.free(model), coords)
        fixed = like(self.mask[:, None], coords) > 0
        # Fixed items may lie at a bound at which a prior has no derivative.
        safe = xp.where(fixed, like([_middle(c) for c in model.coordinates], coords), coords)
        gradient, curvature = prior_derivatives(model, safe)
        return gradient * free, curvature * free

    def log_prior(self, model: MeasurementModel, coords: Array) -> float:
        """Return the log-prior of estimated items and of the population."""
        mean, sd = self.population_place(model, coords)
        unit = max(abs(sd), LEAST_SD**4)
        total = -0.5 * (mean / MEAN_SD) ** 2 - 0.5 * (np.log(unit) / LOG_SD_SD) ** 2
        own = [replace(c, prior=None) if c.shared else c for c in model.coordinates]
        estimated = as_numpy(coords)[~self.mask]
        if len(estimated):
            total += float(log_prior(model.with_coordinates(tuple(own)), estimated).sum())
        return float(total)

    def prior_grad_correction(
        self, model: MeasurementModel, coords: Array, prior_grad: Array
    ) -> Array:
        """Return the correction of `prior_grad` for moves of all items together.

        Such a move is one of the population, on which priors of items have no bearing; fixed
        items carry it.
        """
        xp = array_namespace(coords)
        fixed = like(self.mask[:, None], coords)
        directions = xp.reshape(model.scale_directions(coords), (2, -1))
        of_fixed = as_numpy(directions * xp.reshape(fixed * xp.ones_like(coords), (-1,)))
        along = as_numpy(directions @ xp.reshape(prior_grad, (-1,)))
        return xp.reshape(like(-along @ np.linalg.pinv(of_fixed).T, coords), coords.shape)

    def changes_sd_much(self, model: MeasurementModel, coords: Array, next_coords: Array) -> bool:
        """Return True if the step changes the population SD by more than a factor of two."""
        growth = (
            self.population_place(model, next_coords)[1] / self.population_place(model, coords)[1]
        )
        return not 0.5 <= growth <= 2.0

    def population_prior(self, model: MeasurementModel, coords: Array) -> tuple[Floats, Floats]:
        """Return gradient and curvature of the population's log-prior in its mean and log sd.

        It is worth less than one respondent, and keeps the population finite if all responses are
        the same.
        """
        mean, sd = self.population_place(model, coords)
        unit = max(abs(sd), LEAST_SD**4)
        gradient = np.array([-mean * sd / MEAN_SD**2, -np.log(unit) / LOG_SD_SD**2])
        return gradient, np.array([(unit / MEAN_SD) ** 2, 1 / LOG_SD_SD**2])

    def to_bank_scale(
        self, model: MeasurementModel, coords: Floats, mean: float, sd: float
    ) -> Floats:
        """Return coordinates on the scale of the bank; fixed ones exactly as they were."""
        rescaled = model.rescale(coords, -mean / sd, 1 / sd)
        return np.where(self.free(model), rescaled, self._bank_coords(model))

    def errors_on_bank(
        self,
        model: MeasurementModel,
        coords: Floats,
        errors: KnownCovariances,
        mean: float,
        sd: float,
    ) -> KnownCovariances:
        """Return errors on the scale of the bank; those of fixed items are the bank's own."""
        move = -mean / sd, 1 / sd
        covariances = moved_covariances(model, coords, errors.covariances, *move)
        for k in np.flatnonzero(model.shared):
            covariances[:, k, k] = self.errors.covariances[self.mask][0, k, k]
        mask = self.mask[:, None]
        shared = np.where(mask, 0.0, moved_directions(model, coords, errors.shared, *move))
        return KnownCovariances(
            np.where(mask[..., None], self.errors.covariances, covariances),
            np.concatenate([self.errors.shared, shared]),
        )

    def _bank_coords(self, model: MeasurementModel) -> Floats:
        """Return fixed coordinates; those that all items share in every row."""
        first = self.coords[np.flatnonzero(self.mask)[0]]
        return np.where(model.shared, first, self.coords)


def _middle(coordinate: Coordinate) -> float:
    """Return a point between the bounds."""
    ends = coordinate.low, coordinate.high
    return float(np.mean(ends)) if np.isfinite(ends).all() else 0.0


def items_held(
    bank: Calibration, table: Responses, model: str | MeasurementModel
) -> tuple[MeasurementModel, FixedItems]:
    """Return the model of all items of the table, and those that the bank fixes."""
    _check_model(bank, model)
    positions_in_bank = {name: k for k, name in enumerate(bank.item_names)}
    mask = np.array([name in positions_in_bank for name in table.items])
    if mask.sum() < MIN_FIXED:
        raise InputError(
            f"{counted(int(mask.sum()), 'item')} of the table is in the bank; at least "
            f"{MIN_FIXED} are needed to hold its scale. The table has "
            f"{listed(table.items, 'item')}, the bank {listed(bank.item_names, 'item')}; items "
            "are known by name."
        )
    positions = [positions_in_bank[name] for name in table.items if name in positions_in_bank]
    order = np.argsort(np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)]))
    fitted = bank.model.of_items(positions)
    if not mask.all():
        new = [name for name, fixed in zip(table.items, mask, strict=True) if not fixed]
        rest = bank.model.unfitted().fitted_to(table.cells[:, ~mask], new)
        fitted = fitted.joined(len(positions), rest, len(new)).of_items(order)
    fitted.check(table.cells, table.items)
    coords = np.zeros((table.n_items, fitted.width))
    coords[mask] = fitted.widened(bank.coords[positions])
    covariances = np.zeros((table.n_items, fitted.width, fitted.width))
    covariances[mask] = fitted.widened_covariances(bank.uncertainty.covariances[positions])
    shared = np.zeros((len(bank.uncertainty.shared), *coords.shape))
    shared[:, mask] = fitted.widened_shared(bank.uncertainty.shared[:, positions])
    return fitted, FixedItems(mask, coords, KnownCovariances(covariances, shared))


def _check_model(bank: Calibration, model: str | MeasurementModel) -> None:
    if model != "auto" and not find_model(model).name == bank.model.name:
        raise InputError(
            f"`model` must be that of the bank, {bank.model.name!r}, got "
            f"{find_model(model).name!r}. Leave model out, and the bank's own is used."
        )
    if not bank.model.affine:
        raise InputError(
            f"Items of the {bank.model.name} model cannot be held: its curves change their form "
            "when the scale moves, so that the mean and standard deviation of the new respondents "
            "cannot be estimated with them."
        )


def check_engine(engine: Engine) -> None:
    """Refuse engines and settings that cannot fix items."""
    if engine.name != "em" or getattr(engine, "population", "normal") != "normal":
        raise InputError(
            "Items are held by the em engine with a normal population only. Leave engine and "
            "population out."
        )


def held_note(fixed: FixedItems, mean: float, sd: float) -> str:
    """Return how many items were fixed, and where they put the respondents."""
    n_fixed = int(fixed.mask.sum())
    return (
        f"{counted(n_fixed, 'item')} held as the bank has them, "
        f"{counted(int(fixed.mask.size - n_fixed), 'item')} found beside them; on the bank's scale "
        f"the respondents have mean {mean:.2f} and standard deviation {sd:.2f}."
    )
