"""Beta responses (Chen et al., 2019; Ferreira-Junior et al., 2023): β³ and β⁴ item response theory.

A score in (0, 1) follows a beta distribution with parameters (θ / δ)^a and ((1 - θ) / (1 - δ))^a,
ability θ and difficulty δ in (0, 1), θ uniform. Here both lie on the scale of all other models,
θ = Φ(ability) and δ = Φ(difficulty): a normal population of abilities makes θ uniform. The expected
score rises with θ as no logistic curve does: for a = 1 it is a line where δ = 1/2, for a < 1 it is
steep at the ends, and for a < 0 it falls. β⁴ is this density; its authors part a into size and sign
so that gradient descent finds negative ones, which here begin at the sign of their loading.

Weak respondents get scores nearer to a bound than any file can hold. A score at a bound, or nearer
to it than `inside` says, is therefore taken for what it tells: that it is at most that far off. Its
chance, ∫ x^(α-1) exp(-β x) dx up to a small distance ε, over B(α, β), has the same form with one
statistic more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any, ClassVar

import numpy as np

from itemwise.errors import InputError
from itemwise.models.bounded import UNIT, Bounded, Bounds, Pair
from itemwise.models.measurement import AbilitySlopes, Coordinate
from itemwise.models.priors import Normal
from itemwise.numerics.arrays import Array, Floats, array_namespace, like
from itemwise.numerics.newton import symmetric
from itemwise.numerics.special import (
    gamma_drop,
    log_gamma,
    log_lower_gamma,
    log_normal_cdf,
    log_sigmoid,
    logit,
    polygamma,
    sigmoid_pair,
)

FARTHEST = 100.0  # of log-parameters; their cubes are still numbers
NEAREST, WIDEST = 1e-9, 0.01  # limits of the distance from a bound that counts as none
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))

SLOPE = Coordinate("discrimination", Normal(0, 3), low=-20.0, high=20.0, longest=0.7)
# Twice the standard deviation of abilities: an item that discriminates nothing has no difficulty.
DIFFICULTY = Coordinate("difficulty", Normal(0, 2), longest=0.7)


@dataclass(frozen=True, kw_only=True)
class BetaResponse(Bounded):
    """Scores strictly inside (0, 1), such as the probability given to the right class.

    Chen et al. (2019). `bounds` and `at_bounds` as in `Continuous`. Items have a discrimination
    and a difficulty.

    >>> import itemwise as iw
    >>> drawn = iw.simulate("beta", 100, 4, random_state=0).responses
    >>> iw.calibrate(drawn, iw.BetaResponse()).items.columns[:2].tolist()
    ['discrimination', 'difficulty']
    """

    name: ClassVar[str] = "beta"
    affine: ClassVar[bool] = False
    surprise: ClassVar[float] = 9.0
    bounds: Bounds = UNIT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds != UNIT:
            raise InputError(
                f"bounds is {self.bounds!r}, but the beta model explains scores from 0 to 1 only. "
                "Bring them there, or use Continuous(bounds=...)."
            )

    @property
    def direction(self) -> tuple[float, ...]:
        """The log-odds of the score."""
        return (1.0, -1.0, 0.0, 0.0)

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Discrimination and difficulty."""
        return SLOPE, DIFFICULTY

    def _advice(self) -> str:
        return "Give probabilities; other scores suit the continuous model."

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Logarithms of the score and of what it lacks, and whether it is at either bound."""
        del dtype
        xp = array_namespace(values)
        low, high = self._ends(values)
        at_low, at_high = values <= low, values >= high
        nothing = xp.zeros_like(values)
        return [
            xp.where(at_high, nothing, log_sigmoid(values)),
            xp.where(at_low, nothing, log_sigmoid(-values)),
            xp.astype(at_low, values.dtype),
            xp.astype(at_high, values.dtype),
        ]

    def log_base(self, cells: Array, weights: Array) -> float:
        """Σ weights x log 1 / (y (1 - y)); a score at a bound has a chance, not a density."""
        xp = array_namespace(cells)
        values = self.read(cells)
        low, high = self._ends(values)
        inner = (values > low) & (values < high)
        found = xp.where(inner, log_sigmoid(values) + log_sigmoid(-values), 0 * low)
        return -float(weights @ xp.sum(found, axis=1))

    def _inside(self, cells: Array, bounds: Pair, item: str | None) -> Pair:
        """The scores up to which, and from which on, a score counts as at a bound."""
        low, high = super()._inside(cells, bounds, item)
        return float(np.clip(low, NEAREST, WIDEST)), float(np.clip(high, 1 - WIDEST, 1 - NEAREST))

    def remarks(self, cells: Array) -> list[str]:
        """How many scores count as at a bound without being there."""
        low, high = (np.asarray(column) for column in np.atleast_2d(self.inside or UNIT).T)
        near = int((((cells <= low) & (cells > 0)) | ((cells >= high) & (cells < 1))).sum())
        if not near:
            return []
        least = float(np.min(low))
        said = f"{near:,} scores within {least:.1g} of 0 or 1 count as that"
        return [f"{said}: what sets them apart is not used. The continuous model uses it."]

    def _ends(self, values: Array) -> tuple[Array, Array]:
        """Log-odds of the scores that count as at a bound."""
        inside = (NEAREST, 1 - NEAREST) if self.inside is None else self.inside
        low, high = (like(column, values) for column in np.atleast_2d(inside).astype(float).T)
        # A hair apart from them, so that reading them back is safe.
        return logit(low) + 1e-9, logit(high) - 1e-9

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Constant, both parameters of the distribution, and what being at a bound adds."""
        xp = array_namespace(coords)
        up, down = (xp.exp(shape) for shape in _log_shapes(coords, abilities))
        low, high = self._reaches(coords)
        at_low, at_high = log_lower_gamma(up, low * down), log_lower_gamma(down, high * up)
        return xp.stack([_constant(up, down), up, down, at_low, at_high])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of the terms, (2, 5, n_items, n_abilities)."""
        xp = array_namespace(coords)
        by_up, by_down = self._by_shape(*_log_shapes(coords, abilities))
        return xp.stack([by_up * u + by_down * d for u, d in _shape_slopes(coords, abilities)])

    def _by_shape(self, log_up: Array, log_down: Array) -> tuple[Array, Array]:
        """Derivatives of the terms in the logarithms of the two parameters."""
        xp = array_namespace(log_up)
        up, down = xp.exp(log_up), xp.exp(log_down)
        low, high = self._reaches(up)
        nothing = 0 * up
        low_own, low_other = _bound_slopes(up, low * down)
        high_own, high_other = _bound_slopes(down, high * up)
        by_up = [-up * gamma_drop(0, up, down), up, nothing, low_own, high_other]
        by_down = [-down * gamma_drop(0, down, up), nothing, down, low_other, high_own]
        return xp.stack(by_up), xp.stack(by_down)

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)

        def gradient(where: Array) -> Array:
            slopes = self.term_slopes(where, abilities)
            return xp.sum(totals * slopes[:, 0] + xp.sum(counts * slopes[:, 1:], axis=1), axis=2).T

        seen = totals * self._chance_inside(coords, abilities)
        of_up, of_down, of_both = (seen * part for part in _told(coords, abilities))
        slopes = _shape_slopes(coords, abilities)
        expected = symmetric(
            [
                xp.sum(
                    of_up * slopes[i][0] * slopes[k][0]
                    + of_down * slopes[i][1] * slopes[k][1]
                    + of_both * (slopes[i][0] * slopes[k][1] + slopes[i][1] * slopes[k][0]),
                    axis=1,
                )
                for i, k in ((0, 0), (0, 1), (1, 1))
            ]
        )
        return gradient(coords), expected, self._hessian(coords, gradient)

    def _chance_inside(self, coords: Array, abilities: Array) -> Array:
        """Chance of a score that does not count as at a bound.

        Such scores tell what they would without bounds, the others hardly anything: exact where
        the tail is that of an exponential distribution, as it is near a bound.
        """
        xp = array_namespace(coords)
        constant, up, down, at_low, at_high = self.log_terms(coords, abilities)
        low, high = self._log_reaches(coords)
        chance = xp.exp(xp.clip(constant + low * up + at_low, None, 0.0))
        chance = chance + xp.exp(xp.clip(constant + high * down + at_high, None, 0.0))
        return xp.clip(1 - chance, 0.0, 1.0)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Derivatives in ability, and what they say of the ability."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        log_up, log_down = _log_shapes(coords, abilities)
        up, down = xp.exp(log_up), xp.exp(log_down)
        rise, fall = _hazard(abilities), _hazard(-abilities)
        free_up, free_down = _free(coords, abilities)
        first = slope * rise * free_up, -slope * fall * free_down
        by_up, by_down = self._by_shape(log_up, log_down)
        seen = self._chance_inside(coords, abilities)
        of_up, of_down, of_both = _told(coords, abilities)
        information = of_up * first[0] ** 2 + of_down * first[1] ** 2
        information = seen * xp.clip(information + 2 * of_both * first[0] * first[1], 0.0, None)
        one, other = up * first[0], down * first[1]
        bend_one = up * (first[0] ** 2 - first[0] * (abilities + rise))
        bend_other = down * (first[1] ** 2 + first[1] * (fall - abilities))
        both = polygamma(1, up + down)
        bias = gamma_drop(1, up, down) * one * bend_one
        bias = bias + gamma_drop(1, down, up) * other * bend_other
        bias = bias - both * (one * bend_other + other * bend_one)
        bias = bias + gamma_drop(2, up, down) * one**3 + gamma_drop(2, down, up) * other**3
        bias = bias - 3 * polygamma(2, up + down) * one * other * (one + other)
        return AbilitySlopes(by_up * first[0] + by_down * first[1], information, seen * bias)

    def _reaches(self, like_this: Array) -> tuple[Array, Array]:
        """How far a score at a bound may be from it, as columns, in -log(1 - distance)."""
        low, high = self._ends(like_this)
        return -log_sigmoid(-low)[..., None], -log_sigmoid(high)[..., None]

    def _log_reaches(self, like_this: Array) -> tuple[Array, Array]:
        """Logarithms of these distances, as columns."""
        low, high = self._ends(like_this)
        return log_sigmoid(low)[..., None], log_sigmoid(-high)[..., None]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Expected score, (n_items, n_abilities)."""
        up, down = _log_shapes(coords, abilities)
        return sigmoid_pair(up - down)[0]

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Variance of the score, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        up, down = _log_shapes(coords, abilities)
        rise, fall = sigmoid_pair(up - down)
        return rise * fall / (1 + xp.exp(up) + xp.exp(down))

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Discrimination from the loading, difficulty from the mean log-odds."""
        xp = array_namespace(means)
        del asked
        loading = xp.clip(loading, -0.9, 0.9)
        slope = loading / xp.sqrt(1 - loading**2)
        slope = xp.where(slope < 0, xp.clip(slope, None, -0.2), xp.clip(slope, 0.2, None))
        easiness = (means[0] - means[1]) / (1.7 * slope)
        return xp.stack([slope, xp.clip(-easiness, -1.5, 1.5)], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """The curve with about the same place and steepness; exact ones do not exist."""
        xp = array_namespace(coords)
        return xp.stack([coords[:, 0] * scale, (coords[:, 1] - shift) / scale], axis=1)

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Discrimination and difficulty."""
        return {"discrimination": coords[:, 0], "difficulty": coords[:, 1]}

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Coordinates of items with these public parameters."""
        names = ("discrimination", "difficulty")
        return np.stack([np.asarray(parameters[name], dtype=float) for name in names], axis=1)

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """The coordinates are the public parameters."""
        first, second = (np.broadcast_to(row, coords.shape).copy() for row in np.eye(2))
        return {"discrimination": first, "difficulty": second}

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Log-normal discrimination, normal difficulty."""
        return {
            "discrimination": np.exp(random.normal(0.5, 0.3, n_items)),
            "difficulty": random.normal(0.0, 0.7, n_items),
        }

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Scores from the beta distribution; some are as good as 0 or 1."""
        up, down = _log_shapes(coords, abilities)
        return np.asarray(random.beta(np.exp(up), np.exp(down)))


def _log_shapes(coords: Array, abilities: Array) -> tuple[Array, Array]:
    """Logarithms of the two parameters of the distribution."""
    xp = array_namespace(coords)
    slope, (above, below) = coords[:, :1], _distances(coords, abilities)
    return (
        xp.clip(slope * above, -FARTHEST, FARTHEST),
        xp.clip(slope * below, -FARTHEST, FARTHEST),
    )


def _distances(coords: Array, abilities: Array) -> tuple[Array, Array]:
    """Log θ / δ and log (1 - θ) / (1 - δ)."""
    difficulty = coords[:, 1:2]
    above = log_normal_cdf(abilities) - log_normal_cdf(difficulty)
    return above, log_normal_cdf(-abilities) - log_normal_cdf(-difficulty)


def _free(coords: Array, abilities: Array) -> tuple[Array, Array]:
    """1 where a parameter still moves with the item and the ability, 0 beyond `FARTHEST`."""
    xp = array_namespace(coords)
    above, below = _distances(coords, abilities)
    return (
        xp.astype(xp.abs(coords[:, :1] * above) < FARTHEST, coords.dtype),
        xp.astype(xp.abs(coords[:, :1] * below) < FARTHEST, coords.dtype),
    )


def _shape_slopes(coords: Array, abilities: Array) -> list[tuple[Array, Array]]:
    """Derivatives of the log-parameters in discrimination and in difficulty."""
    slope, difficulty = coords[:, :1], coords[:, 1:2]
    above, below = _distances(coords, abilities)
    free_up, free_down = _free(coords, abilities)
    rise, fall = _hazard(difficulty), _hazard(-difficulty)
    return [
        (above * free_up, below * free_down),
        (-slope * rise * free_up, slope * fall * free_down),
    ]


def _constant(up: Array, down: Array) -> Array:
    """Minus the logarithm of the beta function."""
    xp = array_namespace(up)
    larger, smaller = xp.maximum(up, down), xp.minimum(up, down)
    return -gamma_drop(-1, larger, smaller) - log_gamma(smaller)


def _told(coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
    """What a score inside tells of the logarithms of the two parameters: own, own, both."""
    xp = array_namespace(coords)
    up, down = (xp.exp(shape) for shape in _log_shapes(coords, abilities))
    return (
        up**2 * gamma_drop(1, up, down),
        down**2 * gamma_drop(1, down, up),
        -up * down * polygamma(1, up + down),
    )


def _bound_slopes(shape: Array, x: Array) -> tuple[Array, Array]:
    """Derivatives of `log_lower_gamma` in log `shape`, and in log `x`."""
    xp = array_namespace(shape)
    size = 1e-4
    up, down = log_lower_gamma(shape * exp(size), x), log_lower_gamma(shape * exp(-size), x)
    share = xp.exp(xp.clip(-x - log_lower_gamma(shape, x), None, 600.0))
    return (up - down) / (2 * size), share - shape


def _hazard(x: Array) -> Array:
    """Derivative of log Φ."""
    xp = array_namespace(x)
    return xp.exp(-0.5 * x**2 - HALF_LOG_2PI - log_normal_cdf(x))
