"""Items that stay where a bank has them, while new items and the population are found.

Engines work on the scale on which the population is standard. There, items of a bank have two
numbers in common: where the population's mean lies on the scale of the bank, and its deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.estimation.maximization import penalty_slopes
from itemwise.estimation.scale import moved_covariances, tangents
from itemwise.models.base import Coordinate, MeasurementModel
from itemwise.numerics.arrays import Array, Floats, array_namespace, as_numpy, like

LEAST_SD, MOST_SD = 0.2, 5.0  # of the population to begin with, in units of the bank
MEAN_SD, LOG_SD_SD = 5.0, 1.0  # priors of the population's mean and log-deviation, about 0


@dataclass(frozen=True, eq=False)
class Held:
    """Which items are held, and how the bank knows them; other rows mean nothing."""

    mask: np.ndarray  # (n_items,)
    coords: Floats  # (n_items, width), on the scale of the bank
    covariances: Floats  # (n_items, width, width)

    def free(self, model: MeasurementModel) -> np.ndarray:
        """Which coordinates are found, (n_items, width); a shared one is known from the bank."""
        free: np.ndarray = ~self.mask[:, None] & ~model.shared
        return free

    def begin(self, model: MeasurementModel, start: Array) -> Array:
        """`start` with the held items where the population that suits it best would see them."""
        mean, sd = self.place(model, start)
        return self.seen_from(model, start, mean, float(np.clip(sd, LEAST_SD, MOST_SD)))

    def seen_from(self, model: MeasurementModel, coords: Array, mean: float, sd: float) -> Array:
        """`coords` with what is held as a population of this mean and deviation sees it."""
        seen = model.rescale(self._spread(model), mean, sd)
        return array_namespace(coords).where(
            like(self.free(model), coords) > 0, coords, like(seen, coords)
        )

    def keep(self, model: MeasurementModel, coords: Array, other: Array) -> Array:
        """`other` with what is held as it is in `coords`."""
        return array_namespace(coords).where(like(self.free(model), coords) > 0, other, coords)

    def place(self, model: MeasurementModel, coords: Array) -> tuple[float, float]:
        """Mean and deviation of the population on the scale of the bank, by least squares."""
        known = self.coords[self.mask]
        ways = as_numpy(tangents(model, known)).reshape(2, -1)
        apart = (as_numpy(coords)[self.mask] - known).reshape(-1)
        apart = np.where((ways != 0).any(axis=0), apart, 0.0)
        mean, growth = np.linalg.lstsq(ways.T, apart, rcond=None)[0]
        return float(mean), float(1 + growth)

    def penalty_slopes(self, model: MeasurementModel, coords: Array) -> tuple[Array, Array]:
        """The slopes of priors on what is found; on held items nobody has an opinion."""
        xp = array_namespace(coords)
        free = like(self.free(model), coords)
        known = like(self.mask[:, None], coords) > 0
        # Held items may lie at a bound at which a prior has no slope.
        safe = xp.where(known, like([_middle(c) for c in model.coordinates], coords), coords)
        pull, stiffness = penalty_slopes(model, safe)
        return pull * free, stiffness * free

    def leaps(self, model: MeasurementModel, coords: Array, ahead: Array) -> bool:
        """Whether the population would become less than half, or more than twice, as wide."""
        growth = self.place(model, ahead)[1] / self.place(model, coords)[1]
        return not 0.5 <= growth <= 2.0

    def population_pull(self, model: MeasurementModel, coords: Array) -> tuple[Floats, Floats]:
        """Slopes and curvatures of the population's log-prior in its mean and log-deviation.

        It is worth less than one respondent, and keeps the population finite where all responses
        are alike.
        """
        mean, sd = self.place(model, coords)
        unit = max(abs(sd), LEAST_SD**4)
        pull = np.array([-mean * sd / MEAN_SD**2, -np.log(unit) / LOG_SD_SD**2])
        return pull, np.array([(unit / MEAN_SD) ** 2, 1 / LOG_SD_SD**2])

    def on_bank(self, model: MeasurementModel, coords: Floats, mean: float, sd: float) -> Floats:
        """Coordinates on the scale of the bank; those that are held exactly as they were."""
        found = model.rescale(coords, -mean / sd, 1 / sd)
        return np.where(self.free(model), found, self._spread(model))

    def covariances_on_bank(
        self, model: MeasurementModel, coords: Floats, covariances: Floats, mean: float, sd: float
    ) -> Floats:
        """Covariances on the scale of the bank; those of held items are the bank's own."""
        moved = moved_covariances(model, coords, covariances, -mean / sd, 1 / sd)
        for k in np.flatnonzero(model.shared):
            moved[:, k, k] = self.covariances[self.mask][0, k, k]
        return np.where(self.mask[:, None, None], self.covariances, moved)

    def _spread(self, model: MeasurementModel) -> Floats:
        """Held coordinates; those that all items share in every row."""
        first = self.coords[np.flatnonzero(self.mask)[0]]
        return np.where(model.shared, first, self.coords)


def _middle(coordinate: Coordinate) -> float:
    """A place between the bounds."""
    ends = coordinate.low, coordinate.high
    return float(np.mean(ends)) if np.isfinite(ends).all() else 0.0
