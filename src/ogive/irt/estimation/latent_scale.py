"""Origin, unit, sign; priors counted once; items fixed by a bank.

Items that stay where a bank has them, while new items and the population are found.

Engines work on the scale on which the population is standard. There, items of a bank have two
numbers in common: where the population's mean lies on the scale of the bank, and its standard
deviation.

What the errors of all items have in common: priors that count once, and directions of error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.fit import Engine
from ogive.irt.estimation.m_step import (
    log_penalty,
    moved_covariances,
    moved_directions,
    penalty_slopes,
    tangents,
)
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models import find_model
from ogive.irt.models.base import Coordinate, MeasurementModel
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Array, Floats, array_namespace, as_numpy, like
from ogive.stats.newton import root_of

LEAST_SD, MOST_SD = 0.2, 5.0  # of the population to begin with, in units of the bank
MEAN_SD, LOG_SD_SD = 5.0, 1.0  # priors of the population's mean and log standard deviation, about 0

LEAST_HELD = 2  # one item alone would decide on a whole scale


@dataclass(frozen=True, eq=False)
class Held:
    """Which items are held, and how the bank knows them; other rows mean nothing."""

    mask: np.ndarray  # (n_items,)
    coords: Floats  # (n_items, width), on the scale of the bank
    errors: KnownCovariances

    def free(self, model: MeasurementModel) -> np.ndarray:
        """Which coordinates are found, (n_items, width); a shared one is known from the bank."""
        free: np.ndarray = ~self.mask[:, None] & ~model.shared
        return free

    def begin(self, model: MeasurementModel, start: Array) -> Array:
        """`start` with the held items where the population that suits it best would see them."""
        mean, sd = self.place(model, start)
        return self.seen_from(model, start, mean, float(np.clip(sd, LEAST_SD, MOST_SD)))

    def seen_from(self, model: MeasurementModel, coords: Array, mean: float, sd: float) -> Array:
        """Return `coords` with what is held as a population of this mean and sd sees it."""
        seen = model.rescale(self._spread(model), mean, sd)
        return array_namespace(coords).where(
            like(self.free(model), coords) > 0, coords, like(seen, coords)
        )

    def keep(self, model: MeasurementModel, coords: Array, other: Array) -> Array:
        """Return `other` with what is held as it is in `coords`."""
        return array_namespace(coords).where(like(self.free(model), coords) > 0, other, coords)

    def place(self, model: MeasurementModel, coords: Array) -> tuple[float, float]:
        """Return mean and sd of the population on the scale of the bank, by least squares."""
        known = self.coords[self.mask]
        ways = as_numpy(tangents(model, known)).reshape(2, -1)
        apart = (as_numpy(coords)[self.mask] - known).reshape(-1)
        apart = np.where((ways != 0).any(axis=0), apart, 0.0)
        mean, growth = np.linalg.lstsq(ways.T, apart, rcond=None)[0]
        return float(mean), float(1 + growth)

    def penalty_slopes(self, model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
        """Return the slopes of priors on what is found; on held items nobody has an opinion."""
        xp = array_namespace(coords)
        free = like(self.free(model), coords)
        known = like(self.mask[:, None], coords) > 0
        # Held items may lie at a bound at which a prior has no slope.
        safe = xp.where(known, like([_middle(c) for c in model.coordinates], coords), coords)
        pull, stiffness = penalty_slopes(model, safe)
        return pull * free, stiffness * free

    def log_penalty(self, model: MeasurementModel, coords: Array) -> float:
        """Return log-priors of what is found, and of the population."""
        mean, sd = self.place(model, coords)
        unit = max(abs(sd), LEAST_SD**4)
        total = -0.5 * (mean / MEAN_SD) ** 2 - 0.5 * (np.log(unit) / LOG_SD_SD) ** 2
        own = [replace(c, prior=None) if c.shared else c for c in model.coordinates]
        known = as_numpy(coords)[~self.mask]
        if len(known):
            total += float(log_penalty(model.with_coordinates(tuple(own)), known).sum())
        return float(total)

    def tilt(self, model: MeasurementModel, coords: Array, pull: Array) -> Array:
        """Return what the `pull` of priors on free items must lack when all items move together.

        The population moves without regard to them; what moves it, the held items show.
        """
        xp = array_namespace(coords)
        known = like(self.mask[:, None], coords)
        ways = xp.reshape(tangents(model, coords), (2, -1))
        seen = as_numpy(ways * xp.reshape(known * xp.ones_like(coords), (-1,)))
        along = as_numpy(ways @ xp.reshape(pull, (-1,)))
        return xp.reshape(like(-along @ np.linalg.pinv(seen).T, coords), coords.shape)

    def leaps(self, model: MeasurementModel, coords: Array, ahead: Array) -> bool:
        """Whether the population would become less than half, or more than twice, as wide."""
        growth = self.place(model, ahead)[1] / self.place(model, coords)[1]
        return not 0.5 <= growth <= 2.0

    def population_pull(self, model: MeasurementModel, coords: Array) -> tuple[Floats, Floats]:
        """Return slopes and curvatures of the population's log-prior in its mean and log sd.

        It is worth less than one respondent, and keeps the population finite where all responses
        are alike.
        """
        mean, sd = self.place(model, coords)
        unit = max(abs(sd), LEAST_SD**4)
        pull = np.array([-mean * sd / MEAN_SD**2, -np.log(unit) / LOG_SD_SD**2])
        return pull, np.array([(unit / MEAN_SD) ** 2, 1 / LOG_SD_SD**2])

    def on_bank(self, model: MeasurementModel, coords: Floats, mean: float, sd: float) -> Floats:
        """Return coordinates on the scale of the bank; those that are held exactly as they were."""
        found = model.rescale(coords, -mean / sd, 1 / sd)
        return np.where(self.free(model), found, self._spread(model))

    def errors_on_bank(
        self,
        model: MeasurementModel,
        coords: Floats,
        errors: KnownCovariances,
        mean: float,
        sd: float,
    ) -> KnownCovariances:
        """Return errors on the scale of the bank; those of held items are the bank's own."""
        there = -mean / sd, 1 / sd
        moved = moved_covariances(model, coords, errors.covariances, *there)
        for k in np.flatnonzero(model.shared):
            moved[:, k, k] = self.errors.covariances[self.mask][0, k, k]
        mask = self.mask[:, None]
        together = np.where(mask, 0.0, moved_directions(model, coords, errors.shared, *there))
        return KnownCovariances(
            np.where(mask[..., None], self.errors.covariances, moved),
            np.concatenate([self.errors.shared, together]),
        )

    def _spread(self, model: MeasurementModel) -> Floats:
        """Return held coordinates; those that all items share in every row."""
        first = self.coords[np.flatnonzero(self.mask)[0]]
        return np.where(model.shared, first, self.coords)


def _middle(coordinate: Coordinate) -> float:
    """Return a place between the bounds."""
    ends = coordinate.low, coordinate.high
    return float(np.mean(ends)) if np.isfinite(ends).all() else 0.0


def items_held(
    bank: Calibration, table: Responses, model: str | MeasurementModel
) -> tuple[MeasurementModel, Held]:
    """Return the model of all items of the table, and how the bank knows some of them."""
    _check_model(bank, model)
    place = {name: k for k, name in enumerate(bank.item_names)}
    mask = np.array([name in place for name in table.items])
    if mask.sum() < LEAST_HELD:
        raise InputError(
            f"{counted(int(mask.sum()), 'item')} of the table is in the bank; at least "
            f"{LEAST_HELD} are needed to hold its scale. The table has "
            f"{listed(table.items, 'item')}, the bank {listed(bank.item_names, 'item')}; items "
            "are known by name."
        )
    positions = [place[name] for name in table.items if name in place]
    order = np.argsort(np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)]))
    chosen = bank.model.of_items(positions)
    if not mask.all():
        names = [name for name, known in zip(table.items, mask, strict=True) if not known]
        rest = bank.model.unfitted().fitted_to(table.cells[:, ~mask], names)
        chosen = chosen.joined(len(positions), rest, len(names)).of_items(order)
    chosen.check(table.cells, table.items)
    coords = np.zeros((table.n_items, chosen.width))
    coords[mask] = chosen.widened(bank.coords[positions])
    covariances = np.zeros((table.n_items, chosen.width, chosen.width))
    covariances[mask] = chosen.widened_covariances(bank.uncertainty.covariances[positions])
    shared = np.zeros((len(bank.uncertainty.shared), *coords.shape))
    shared[:, mask] = chosen.widened_shared(bank.uncertainty.shared[:, positions])
    return chosen, Held(mask, coords, KnownCovariances(covariances, shared))


def _check_model(bank: Calibration, model: str | MeasurementModel) -> None:
    if model != "auto" and not find_model(model).name == bank.model.name:
        raise InputError(
            f"The bank holds items of the {bank.model.name} model, but model is "
            f"{find_model(model).name!r}. Leave model out, and the bank's own is used."
        )
    if not bank.model.affine:
        raise InputError(
            f"Items of the {bank.model.name} model cannot be held: its curves change their form "
            "when the scale moves, so that the mean and standard deviation of the new respondents "
            "cannot be found beside them."
        )


def check_engine(engine: Engine) -> None:
    """Refuse engines and settings that cannot hold items."""
    if engine.name != "em" or getattr(engine, "population", "normal") != "normal":
        raise InputError(
            "Items are held by the em engine with a normal population only. Leave engine and "
            "population out."
        )


def held_note(held: Held, mean: float, sd: float) -> str:
    """Return what was held, and where it puts the respondents."""
    known = int(held.mask.sum())
    return (
        f"{counted(known, 'item')} held as the bank has them, "
        f"{counted(int(held.mask.size - known), 'item')} found beside them; on the bank's scale "
        f"the respondents have mean {mean:.2f} and standard deviation {sd:.2f}."
    )


MOST_DIRECTIONS = 16
WORTH = 1.0  # variance beside that of single items' own errors from which a direction counts


def priors_once(
    directions: Floats, information: Floats, stiffness: Floats, shared: np.ndarray
) -> Floats:
    """Return what priors tell of all coordinates, as a matrix, (n_items x width, n_items x width).

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
