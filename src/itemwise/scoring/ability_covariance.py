"""The joint covariance of abilities: what each respondent has alone, and what all share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.models.measurement import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.numerics.newton import root_of
from itemwise.responses.encoding import Encoded
from itemwise.scoring.abilities import Abilities
from itemwise.scoring.item_errors import ItemErrors, ability_derivatives
from itemwise.scoring.posterior import Population

MOST_JOINT = 1_000  # respondents; errors of single items hardly matter where there are more
MOST_DENSE = 20_000  # respondents whose whole matrix is 3 GB


@dataclass(frozen=True, eq=False)
class AbilityCovariance:
    """Covariance of abilities, diag(own) + shared @ shared.T, without the matrix itself.

    `shared` holds what the items that all answered, and the origin and unit of their scale, do
    to all abilities at once: it cancels, in part, from differences.
    """

    respondents: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    own: Floats  # (n_respondents,): variance
    shared: Floats  # (n_respondents, n_shared)

    @property
    def variance(self) -> Floats:
        """Variance of each ability."""
        found: Floats = self.own + (self.shared**2).sum(axis=1)
        return found

    @property
    def se(self) -> Floats:
        """Standard error of each ability."""
        return np.sqrt(self.variance)

    def difference_se(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """Standard error of ability[first] - ability[second], by position; 0 with oneself."""
        first, second = np.broadcast_arrays(first, second)
        apart = self.shared[first] - self.shared[second]
        variance = self.own[first] + self.own[second] + (apart**2).sum(axis=-1)
        return np.where(first == second, 0.0, np.sqrt(variance))

    def of(self, positions: NDArray[np.intp]) -> AbilityCovariance:
        """The covariance of some of the respondents, by position."""
        return AbilityCovariance(
            tuple(self.respondents[k] for k in positions),
            self.ability[positions],
            self.own[positions],
            self.shared[positions],
        )

    def dense(self) -> Floats:
        """The whole matrix, (n_respondents, n_respondents)."""
        if len(self.own) > MOST_DENSE:
            raise InputError(
                f"The covariance of {len(self.own):,} abilities does not fit into memory. Ask for "
                "some of them with of(positions), or for difference_se(first, second)."
            )
        found: Floats = np.diag(self.own) + self.shared @ self.shared.T
        return found

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """`n` draws of all abilities together, (n_respondents, n)."""
        alone = np.sqrt(self.own)[:, None] * random.standard_normal((len(self.own), n))
        together = self.shared @ random.standard_normal((self.shared.shape[1], n))
        return self.ability[:, None] + alone + together


def ability_covariance(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    found: Abilities,
    errors: ItemErrors | None,
    respondents: tuple[str, ...],
    *,
    joint: bool = True,
) -> AbilityCovariance:
    """The covariance of the abilities `found` by `method`; without `errors`, items are known.

    Where there are very many respondents, or not `joint`, what single items do to several of them
    counts as each one's own.
    """
    own = found.se**2
    if errors is None:
        return AbilityCovariance(respondents, found.ability, own, np.zeros((own.size, 0)))
    joint = joint and own.size <= MOST_JOINT
    alone, together, added = [], [], []
    for _, slopes in ability_derivatives(data, model, coords, population, method, found):
        through = errors.alone(slopes)
        together.append(errors.together(slopes))
        if joint:
            alone.append(through)
        else:
            added.append((through**2).sum(axis=1))
    scale = np.concatenate(together)
    if not joint:
        return AbilityCovariance(respondents, found.ability, own + np.concatenate(added), scale)
    items = np.concatenate(alone)
    if items.shape[1] > own.size:  # a smaller root of the same matrix
        items = root_of(items @ items.T)
    shared = np.concatenate([scale, items], axis=1)
    return AbilityCovariance(respondents, found.ability, own, shared)
