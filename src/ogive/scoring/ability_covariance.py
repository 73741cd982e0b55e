"""The joint covariance of abilities: what each respondent has alone, and what all share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.numerics.newton import root_of
from ogive.responses.encoding import Encoded
from ogive.scoring.abilities import Abilities, score_abilities
from ogive.scoring.averaged_errors import MOST_JOINT, averaged_errors, averages
from ogive.scoring.item_errors import ItemErrors, ability_derivatives
from ogive.scoring.posterior import Population

MOST_DENSE = 20_000  # respondents whose whole matrix is 3 GB


@dataclass(frozen=True, eq=False)
class AbilityCovariance:
    """Mean square error of abilities, diag(own) + shared @ shared.T, without the matrix itself.

    `shared` holds what the items that all answered, and the origin and unit of their scale, do
    to all abilities at once: it cancels, in part, from differences. Its first column is `offset`,
    how far the truth is expected from the reported abilities.
    """

    respondents: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    own: Floats  # (n_respondents,): variance
    shared: Floats  # (n_respondents, n_shared)

    @property
    def offset(self) -> Floats:
        """How far, and to which side, the truth is expected from the reported ability."""
        return self.shared[:, 0]

    @property
    def variance(self) -> Floats:
        """Mean square error of each ability."""
        found: Floats = self.own + (self.shared**2).sum(axis=1)
        return found

    @property
    def se(self) -> Floats:
        """Standard error of each ability."""
        return np.sqrt(self.variance)

    def difference_se(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """Standard error of ability[first] - ability[second], by position; 0 with oneself."""
        first, second = np.broadcast_arrays(first, second)
        if first.size > len(self.own) and len(self.own) <= MOST_JOINT:
            both = self.shared @ self.shared.T  # smaller than one row per pair
            size = np.diag(both)
            apart = np.maximum(size[first] + size[second] - 2 * both[first, second], 0.0)
        else:
            apart = ((self.shared[first] - self.shared[second]) ** 2).sum(axis=-1)
        variance = self.own[first] + self.own[second] + apart
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
        """`n` draws of where all respondents may stand, (n_respondents, n)."""
        alone = np.sqrt(self.own)[:, None] * random.standard_normal((len(self.own), n))
        sure = self.shared[:, 1:]
        together = sure @ random.standard_normal((sure.shape[1], n))
        found: Floats = (self.ability + self.offset)[:, None] + alone + together
        return found


def ability_covariance(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    found: Abilities,
    errors: ItemErrors | None,
    respondents: tuple[str, ...] = (),
) -> AbilityCovariance:
    """The covariance of the abilities `found` by `method`; without `errors`, items are known.

    Where there are many respondents, what single items do to several of them counts as each one's
    own.
    """
    if errors is None:
        nothing = np.zeros((found.se.size, 1))
        return AbilityCovariance(respondents, found.ability, found.se**2, nothing)
    expected, own, offset = found, found.se**2, np.zeros((found.se.size, 1))
    if errors.coords is not coords and not np.array_equal(errors.coords, coords):
        expected = score_abilities(data, model, errors.coords, population, method)
        fixed = found.at_bound | expected.at_bound
        own = np.where(fixed, found.se, expected.se) ** 2
        offset = np.where(fixed, 0.0, expected.ability - found.ability)[:, None]
    if averages(model, own.size, data.tries):
        moving = np.where(expected.at_bound, 0.0, expected.se**2)
        alone, together = averaged_errors(data, model, errors, expected.ability, moving)
        own, directions = own + alone, [together]
    else:
        slopes = ability_derivatives(data, model, errors.coords, population, method, expected)
        added, directions = _through_items((part for _, part in slopes), errors, own.size)
        own = own + added
    shared = np.concatenate([offset, *directions], axis=1)
    return AbilityCovariance(respondents, found.ability, own, shared)


def _through_items(
    derivatives: Iterable[Floats], errors: ItemErrors, n_rows: int
) -> tuple[Floats, list[Floats]]:
    """Variance that counts as each one's own, (n_rows,), and the directions that all share."""
    joint = n_rows <= MOST_JOINT
    alone, together, added = [], [], []
    for slopes in derivatives:
        through = errors.alone(slopes)
        together.append(errors.together(slopes))
        if joint:
            alone.append(through)
        else:
            added.append((through**2).sum(axis=1))
    if not joint:
        return np.concatenate(added), [np.concatenate(together)]
    # A smaller root of the same matrix, where there are more items than respondents.
    root = narrow(alone[0] if len(alone) == 1 else np.concatenate(alone))
    return np.zeros(n_rows), [np.concatenate(together), root]


def narrow(shared: Floats) -> Floats:
    """A root of the same matrix with no more columns than rows."""
    if shared.shape[1] <= len(shared):
        return shared
    matrix = shared @ shared.T
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=float)
    except np.linalg.LinAlgError:  # respondents who rest on the same items in the same way
        return root_of(matrix)
