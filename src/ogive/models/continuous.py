"""The continuous response model (Samejima, 1973; Wang and Zeng, 1998; Shojima, 2005).

With z the log-odds of a score between its bounds, P(Z ≥ z) = Φ(α(θ - β - γ z)), where α and γ have
one sign: z is normal with mean (θ - β) / γ and sd 1 / (αγ). So it is a factor analysis of z
with one factor, of loading λ = 1 / γ. Engines move α, the loading in units of the noise, the
intercept -β / γ and log 1 / |αγ|.

The likelihood of a factor analysis grows without end where few respondents make one item look free
of noise (Heywood, 1931): ability then is that item. The default prior on α is worth one respondent:
with the scale held, a normal prior of sd 1 is the penalty on unique variances ψ, Σ s / ψ
/ 2 with s = λ² + ψ, of Martin and McDonald (1975) and Akaike (1987).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ogive.errors import InputError
from ogive.models.bounded import Bounded
from ogive.models.logistic import FLATTEST
from ogive.models.measurement import AbilitySlopes, Coordinate, NormalSums
from ogive.models.priors import Normal
from ogive.numerics.arrays import Array, Floats, array_namespace, like
from ogive.numerics.newton import symmetric
from ogive.numerics.special import sigmoid_pair

LOG_2PI = float(np.log(2 * np.pi))
LEAST_NOISE = 0.01  # in log-odds; less is none, and the likelihood has no maximum without a bound

SLOPE = Coordinate("discrimination", Normal(0, 1), longest=5.0)
INTERCEPT = Coordinate("intercept", longest=10.0)
NOISE = Coordinate("noise", low=float(np.log(LEAST_NOISE)), high=7.0, longest=0.7)


@dataclass(frozen=True, kw_only=True)
class Continuous(Bounded):
    """Scores inside an interval (Samejima, 1973; Shojima, 2005).

    `bounds` are the worst and the best score: (low, high), a pair for each item, "table", "items"
    or "auto"; `at_bounds` says how far inside a score at a bound is moved (see `Bounded`). Items
    have a discrimination, a difficulty and a scaling.

    >>> import ogive as og
    >>> drawn = og.simulate("continuous", 200, 6, random_state=0).responses
    >>> og.calibrate(drawn.values * 100, og.Continuous(bounds=(0, 100))).items.columns[:3].tolist()
    ['discrimination', 'difficulty', 'scaling']
    """

    name: ClassVar[str] = "continuous"
    normal: ClassVar[bool] = True

    @property
    def direction(self) -> tuple[float, ...]:
        """The log-odds of the score."""
        return (1.0, 0.0)

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Discrimination, intercept and log standard deviation of the noise."""
        return SLOPE, INTERCEPT, NOISE

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """The log-odds and its square."""
        del dtype
        return [values, values**2]

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Constant, factor of z and factor of z², (3, n_items, n_abilities)."""
        xp = array_namespace(coords)
        mean, precision = _mean(coords, abilities), xp.exp(-2 * coords[:, 2:3])
        constant = -0.5 * precision * mean**2 - coords[:, 2:3] - 0.5 * LOG_2PI
        return xp.stack([constant, precision * mean, -0.5 * precision + 0 * mean])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of the terms, (3, 3, n_items, n_abilities)."""
        xp = array_namespace(coords)
        mean, precision = _mean(coords, abilities), xp.exp(-2 * coords[:, 2:3])
        flat = precision + 0 * mean
        of_mean = [-precision * mean, flat, 0 * mean]
        of_noise = [precision * mean**2 - 1, -2 * precision * mean, flat]
        noise, along = xp.exp(coords[:, 2:3]), _loading(coords) * abilities
        return xp.stack(
            [
                xp.stack([term * noise * abilities for term in of_mean]),
                xp.stack(of_mean),
                xp.stack([own + along * m for own, m in zip(of_noise, of_mean, strict=True)]),
            ]
        )

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)
        sums = NormalSums(
            asked=xp.sum(totals, axis=1),
            ability=totals @ abilities,
            ability_square=totals @ abilities**2,
            z=xp.sum(counts[0], axis=1),
            z_ability=counts[0] @ abilities,
            z_square=xp.sum(counts[1], axis=1),
        )
        return self.curvature_of_sums(coords, sums)

    def curvature_of_sums(self, coords: Array, sums: NormalSums) -> tuple[Array, Array, Array]:
        """The same from sums over respondents, abilities averaged over their posterior."""
        xp = array_namespace(coords)
        slope, intercept, noise = coords[:, 0], coords[:, 1], xp.exp(coords[:, 2])
        loading = slope * noise
        along = sums.z_ability - intercept * sums.ability - loading * sums.ability_square
        level = sums.z - intercept * sums.asked - loading * sums.ability
        square = sums.z_square - intercept * sums.z - loading * sums.z_ability
        square = (square - intercept * level - loading * along) / noise**2
        by_slope, by_level = along / noise, level / noise**2
        gradient = xp.stack([by_slope, by_level, square + slope * by_slope - sums.asked], axis=1)
        spread, pull = slope * sums.ability_square, slope * sums.ability / noise
        each = sums.ability_square + 0 * slope  # where all were asked, sums may be of one for all
        own = [each, sums.ability / noise, spread, sums.asked / noise**2, pull]
        expected = [*own, 2 * sums.asked + slope * spread]
        observed = [*own, 2 * square + 3 * slope * by_slope + slope * spread]
        observed[2], observed[4] = by_slope + spread, 2 * by_level + pull
        return gradient, symmetric(expected), symmetric(observed)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Derivatives in ability; the information is α² everywhere."""
        xp = array_namespace(coords)
        mean = _mean(coords, abilities)
        pull = coords[:, :1] * xp.exp(-coords[:, 2:3])
        terms = xp.stack([-pull * mean, pull + 0 * mean, 0 * mean])
        return AbilitySlopes(terms, coords[:, :1] ** 2 + 0 * mean, 0 * mean)

    def loadings(self, coords: Array) -> Array:
        """How the mean log-odds of each item grows with ability, (n_items,)."""
        return _loading(coords)[:, 0]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Expected score, (n_items, n_abilities)."""
        low, high = (like(bound, coords)[..., None] for bound in self.extent())
        return low + (high - low) * self._share_moment(coords, abilities, 1)

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Variance of the score, (n_items, n_abilities)."""
        low, high = (like(bound, coords)[..., None] for bound in self.extent())
        mean = self._share_moment(coords, abilities, 1)
        spread = self._share_moment(coords, abilities, 2) - mean**2
        return (high - low) ** 2 * array_namespace(coords).clip(spread, 0.0, None)

    def _share_moment(self, coords: Array, abilities: Array, power: int) -> Array:
        """Expected power of the place between the bounds."""
        xp = array_namespace(coords)
        mean, noise = _mean(coords, abilities), xp.exp(coords[:, 2:3])
        total = 0 * mean
        for point, weight in zip(*_normal_rule(float(xp.max(noise))), strict=True):
            total = total + float(weight) * sigmoid_pair(mean + float(point) * noise)[0] ** power
        return total

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Mean and standard deviation of z, split by the loading."""
        xp = array_namespace(means)
        del asked
        loading = xp.clip(loading, -0.95, 0.95)
        spread = xp.sqrt(xp.clip(means[1] - means[0] ** 2, 0.0, None))
        alone = xp.sqrt(1 - loading**2)
        noise = xp.log(xp.clip(spread * alone, LEAST_NOISE, None))
        slope = xp.where(spread > 0, loading / alone, 0 * loading)
        noise = xp.where(spread > 0, noise, 0 * noise)
        return xp.stack([slope, means[0], noise], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`."""
        xp = array_namespace(coords)
        intercept = coords[:, 1:2] + _loading(coords) * shift
        return xp.concat([coords[:, :1] * scale, intercept, coords[:, 2:]], axis=1)

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Discrimination α, difficulty β and scaling γ."""
        slope = self._slope(coords)
        scaling = np.exp(-coords[:, 2]) / slope
        return {
            "discrimination": slope,
            "difficulty": -coords[:, 1] * scaling,
            "scaling": scaling,
        }

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Coordinates of items with these public parameters."""
        alpha, beta, gamma = (
            np.asarray(parameters[name], dtype=float)
            for name in ("discrimination", "difficulty", "scaling")
        )
        if not (alpha * gamma > 0).all():
            raise InputError(
                "discrimination and scaling of an item must have the same sign, and neither may "
                "be 0: the continuous model has no other curves."
            )
        return np.stack([alpha, -beta / gamma, -np.log(alpha * gamma)], axis=1)

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Derivatives of the public parameters in the coordinates."""
        slope, nothing = self._slope(coords), np.zeros(len(coords))
        moving = 1.0 * (slope == coords[:, 0])
        scaling = np.exp(-coords[:, 2]) / slope
        difficulty = -coords[:, 1] * scaling
        columns = {
            "discrimination": [nothing + 1, nothing, nothing],
            "difficulty": [-moving * difficulty / slope, -scaling, -difficulty],
            "scaling": [-scaling / slope, nothing, -scaling],
        }
        return {name: np.stack(column, axis=1) for name, column in columns.items()}

    def _slope(self, coords: Floats) -> Floats:
        """Discriminations; an item that discriminates nothing is reported with the least."""
        return np.where(self.flat(coords), FLATTEST, coords[:, 0])

    def flat(self, coords: Floats) -> np.ndarray:
        """Which items discriminate nothing, (n_items,)."""
        nothing: np.ndarray = np.abs(coords[:, 0]) < FLATTEST
        return nothing

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Log-normal discrimination and scaling, normal difficulty."""
        return {
            "discrimination": np.exp(random.normal(0.3, 0.3, n_items)),
            "difficulty": random.normal(0.0, 1.0, n_items),
            "scaling": np.exp(random.normal(0.0, 0.2, n_items)),
        }

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Normal log-odds, as scores."""
        mean = _mean(coords, abilities)
        z = mean + np.exp(coords[:, 2:3]) * random.standard_normal(mean.shape)
        low, high = (np.asarray(bound)[..., None] for bound in self.extent())
        scores: np.ndarray = low + (high - low) * sigmoid_pair(z)[0]
        return scores


def _normal_rule(noise: float) -> tuple[Floats, Floats]:
    """Points and weights of a standard normal, for a logistic curve of points times `noise`.

    Equal steps integrate both the bell and the curve to 1e-9 where neither changes much between.
    """
    step = max(min(0.35, 0.6 / max(noise, 1e-9)), 0.005)
    points = np.arange(-8.5, 8.5 + step, step)
    weights = np.exp(-0.5 * points**2)
    return points, weights / weights.sum()


def _mean(coords: Array, abilities: Array) -> Array:
    """Mean log-odds, (n_items, n_abilities)."""
    return _loading(coords) * abilities + coords[:, 1:2]


def _loading(coords: Array) -> Array:
    """How the mean log-odds grows with ability, (n_items, 1)."""
    return coords[:, :1] * array_namespace(coords).exp(coords[:, 2:3])
