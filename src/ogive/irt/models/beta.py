"""Beta responses: β³ and β⁴ item response theory (Chen et al., 2019; Ferreira-Junior et al., 2023).

A score in (0, 1) follows a beta distribution with parameters (θ / δ)^a and ((1 - θ) / (1 - δ))^a,
ability θ and difficulty δ in (0, 1), θ uniform. Here both lie on the scale of all other models,
θ = Φ(ability) and δ = Φ(difficulty): a normal population of abilities makes θ uniform. The expected
score rises with θ as no logistic curve does: for a = 1 it is a line where δ = 1/2, for a < 1 it is
steep at the ends, and for a < 0 it falls. β⁴ is this density; its authors part a into size and sign
so that gradient descent finds negative ones, which here begin at the sign of their loading.

Weak respondents get scores nearer to a bound than any file can represent. A score at a bound, or
nearer to it than `inside`, therefore contributes the probability of being at most that far off:
∫ x^(α-1) exp(-β x) dx up to a small distance ε, over B(α, β), a term with one statistic more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import AbilitySlopes, Coordinate, Normal
from ogive.irt.models.continuous import UNIT, Bounded, Bounds, Pair
from ogive.stats.array_backend import Array, Floats, array_namespace, like
from ogive.stats.newton import symmetric
from ogive.stats.special_functions import (
    gamma_drop,
    log_gamma,
    log_lower_gamma,
    log_normal_cdf,
    log_sigmoid,
    logit,
    polygamma,
    sigmoid_pair,
)

FARTHEST = 100.0  # largest log-shape whose cube is still a number
DIFFERENCE = 1e-4  # step of a log-shape over which probabilities of a bound are differenced
POPULATION = np.linspace(-2.5, 2.5, 21)  # abilities of most respondents
LEAST_MASS = 1e-14  # share of the largest mass on a node below which a node is left out
NEAREST, WIDEST = 1e-9, 0.01  # limits of the distance from a bound that counts as none

SLOPE = Coordinate("discrimination", Normal(0, 3), low=-20.0, high=20.0, longest=0.7)
# Twice the standard deviation of abilities: an item without discrimination has no difficulty.
DIFFICULTY = Coordinate("difficulty", Normal(0, 2), longest=0.7)
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


class ShapeMatrix(NamedTuple):
    """A symmetric matrix in the logarithms of the two shapes."""

    up: Array
    both: Array
    down: Array


class Shapes:
    """The two shapes of the beta distribution at each item and ability, (n_items, n_abilities).

    `up` = (θ / δ)^a belongs to the score, `down` = ((1 - θ) / (1 - δ))^a to its complement.
    Derivatives are in their logarithms.
    """

    def __init__(self, coords: Array, abilities: Array) -> None:
        xp = array_namespace(coords)
        self._slope, self._difficulty, self._abilities = coords[:, :1], coords[:, 1:2], abilities
        difficulty = self._difficulty
        self._above = log_normal_cdf(abilities) - log_normal_cdf(difficulty)
        self._below = log_normal_cdf(-abilities) - log_normal_cdf(-difficulty)
        self.log_up, self.log_down = self._slope * self._above, self._slope * self._below
        beyond = xp.abs(self.log_up) >= FARTHEST, xp.abs(self.log_down) >= FARTHEST
        self._free: tuple[Array, Array] | None = None
        if bool(xp.any(beyond[0]) | xp.any(beyond[1])):  # derivatives there are 0
            self._free = tuple(xp.astype(~far, coords.dtype) for far in beyond)
            self.log_up = xp.clip(self.log_up, -FARTHEST, FARTHEST)
            self.log_down = xp.clip(self.log_down, -FARTHEST, FARTHEST)
        self.up, self.down = xp.exp(self.log_up), xp.exp(self.log_down)

    @cached_property
    def constant(self) -> Array:
        """Minus the logarithm of the beta function."""
        xp = array_namespace(self.up)
        larger, smaller = xp.maximum(self.up, self.down), xp.minimum(self.up, self.down)
        return -gamma_drop(-1, larger, smaller) - log_gamma(smaller)

    @cached_property
    def constant_slopes(self) -> tuple[Array, Array]:
        """First derivatives of the constant."""
        up, down = self.up, self.down
        return -up * gamma_drop(0, up, down), -down * gamma_drop(0, down, up)

    @cached_property
    def information(self) -> ShapeMatrix:
        """Fisher information of a score on the logarithms of the shapes."""
        up, down = self.up, self.down
        both = -up * down * polygamma(1, up + down)
        return ShapeMatrix(up**2 * gamma_drop(1, up, down), both, down**2 * gamma_drop(1, down, up))

    @property
    def item_slopes(self) -> list[tuple[Array, Array]]:
        """Derivatives of the log-shapes in discrimination and in difficulty."""
        rise, fall = hazard(self._difficulty), hazard(-self._difficulty)
        return [
            self._moving(self._above, self._below),
            self._moving(-self._slope * rise + 0 * self.up, self._slope * fall + 0 * self.up),
        ]

    @property
    def item_curvatures(self) -> list[tuple[Array, Array]]:
        """Second derivatives in both, and twice in difficulty; that in discrimination is 0."""
        at, slope = self._difficulty, self._slope
        rise, fall = hazard(at), hazard(-at)
        return [
            self._moving(-rise + 0 * self.up, fall + 0 * self.up),
            self._moving(
                slope * rise * (at + rise) + 0 * self.up, slope * fall * (fall - at) + 0 * self.up
            ),
        ]

    @property
    def ability_slopes(self) -> tuple[Array, Array]:
        """Derivatives of the log-shapes in ability."""
        rise, fall = hazard(self._abilities), hazard(-self._abilities)
        return self._moving(self._slope * rise, -self._slope * fall)

    @property
    def ability_curvatures(self) -> tuple[Array, Array]:
        """Second derivatives of the shapes themselves in ability, divided by the shapes."""
        rise, fall = hazard(self._abilities), hazard(-self._abilities)
        first = self.ability_slopes
        return (
            first[0] ** 2 - first[0] * (self._abilities + rise),
            first[1] ** 2 + first[1] * (fall - self._abilities),
        )

    def _moving(self, up: Array, down: Array) -> tuple[Array, Array]:
        """Return derivatives, 0 for shapes that are clipped at `FARTHEST`."""
        return (up, down) if self._free is None else (up * self._free[0], down * self._free[1])


class BoundTerm(NamedTuple):
    """Logarithm of the integral up to a bound, and derivatives in the logs of shape and length."""

    value: Array
    own: Array
    other: Array
    own_own: Array
    own_other: Array
    other_other: Array

    @classmethod
    def of(cls, shape: Array, x: Array) -> BoundTerm:
        """Return `log_lower_gamma` of `shape` and `x`; the derivatives in `x` follow from it."""
        xp = array_namespace(shape)
        value = log_lower_gamma(shape, x)
        up = log_lower_gamma(shape * exp(DIFFERENCE), x)
        down = log_lower_gamma(shape * exp(-DIFFERENCE), x)
        own = (up - down) / (2 * DIFFERENCE)
        share = xp.exp(xp.clip(-x - value, None, 600.0))
        other = share - shape
        own_own = (up - 2 * value + down) / DIFFERENCE**2
        return cls(value, own, other, own_own, -share * own - shape, -share * (x + other))


def hazard(x: Array) -> Array:
    """Return derivative of log Φ."""
    xp = array_namespace(x)
    return xp.exp(-0.5 * x**2 - HALF_LOG_2PI - log_normal_cdf(x))


@dataclass(frozen=True, kw_only=True)
class BetaResponse(Bounded):
    """Scores strictly inside (0, 1), such as the probability given to the right class.

    Chen et al. (2019). `bounds` and `at_bounds` as in `Continuous`. Items have a discrimination
    and a difficulty.

    >>> import ogive as og
    >>> drawn = og.simulate("beta", 100, 4, random_state=0).responses
    >>> og.calibrate(drawn, og.BetaResponse()).items.columns[:2].tolist()
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
        """Return discrimination and difficulty."""
        return SLOPE, DIFFICULTY

    def _advice(self) -> str:
        return "Give probabilities; other scores suit the continuous model."

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Return logarithms of the score and its complement, and indicators of either bound."""
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
        """Return Σ weights × log 1 / (y (1 - y)) over scores off the bounds."""
        xp = array_namespace(cells)
        values = self.read(cells)
        low, high = self._ends(values)
        inner = (values > low) & (values < high)
        density = xp.where(inner, log_sigmoid(values) + log_sigmoid(-values), 0 * low)
        return -float(weights @ xp.sum(density, axis=1))

    def _inside(self, cells: Array, bounds: Pair, item: str | None) -> Pair:
        """Return the scores up to which, and from which on, a score counts as at a bound."""
        low, high = super()._inside(cells, bounds, item)
        return float(np.clip(low, NEAREST, WIDEST)), float(np.clip(high, 1 - WIDEST, 1 - NEAREST))

    def remarks(self, cells: Array) -> list[str]:
        """Return the number of scores that count as at a bound without being there."""
        low, high = (np.asarray(column) for column in np.atleast_2d(self.inside or UNIT).T)
        near = int((((cells <= low) & (cells > 0)) | ((cells >= high) & (cells < 1))).sum())
        if not near:
            return []
        note = f"{near:,} scores within {float(np.min(low)):.1g} of 0 or 1 count as that"
        return [f"{note}: what sets them apart is not used. The continuous model uses it."]

    def _ends(self, values: Array) -> tuple[Array, Array]:
        """Return log-odds of the scores that count as at a bound."""
        inside = (NEAREST, 1 - NEAREST) if self.inside is None else self.inside
        low, high = (like(column, values) for column in np.atleast_2d(inside).astype(float).T)
        # A small tolerance, because a score that is read back has rounding errors.
        return logit(low) + 1e-9, logit(high) - 1e-9

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return constant, both shapes, and the terms of either bound."""
        xp = array_namespace(coords)
        shapes = Shapes(coords, abilities)
        return xp.stack([shapes.constant, shapes.up, shapes.down, *self._bound_values(shapes)])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of the terms, (2, 5, n_items, n_abilities)."""
        xp = array_namespace(coords)
        shapes = Shapes(coords, abilities)
        by_up, by_down = self._by_shape(shapes)
        return xp.stack([by_up * u + by_down * d for u, d in shapes.item_slopes])

    def _by_shape(self, shapes: Shapes) -> tuple[Array, Array]:
        """Return derivatives of the terms in the logarithms of the two parameters."""
        xp = array_namespace(shapes.up)
        low, high = self._at_bounds(shapes)
        of_up, of_down = shapes.constant_slopes
        nothing = 0 * of_up
        by_up = xp.stack([of_up, shapes.up, nothing, low.own, high.other])
        return by_up, xp.stack([of_down, nothing, shapes.down, low.other, high.own])

    def _at_bounds(self, shapes: Shapes) -> tuple[BoundTerm, BoundTerm]:
        """Return the terms of the lower and the upper bound; lengths go with the other shape."""
        low, high = self._bound_lengths(shapes.up)
        return (
            BoundTerm.of(shapes.up, low * shapes.down),
            BoundTerm.of(shapes.down, high * shapes.up),
        )

    def _bound_values(self, shapes: Shapes) -> tuple[Array, Array]:
        """Return the values of `_at_bounds` without derivatives."""
        low, high = self._bound_lengths(shapes.up)
        return (
            log_lower_gamma(shapes.up, low * shapes.down),
            log_lower_gamma(shapes.down, high * shapes.up),
        )

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)
        # Nodes without mass have no information.
        mass = xp.max(xp.abs(totals), axis=0)
        occupied = mass >= LEAST_MASS * xp.max(mass)
        abilities, counts = abilities[occupied], counts[:, :, occupied]
        totals = totals[:, occupied]
        shapes = Shapes(coords, abilities)
        low, high = self._at_bounds(shapes)
        of_up, of_down = shapes.constant_slopes
        one, other, at_low, at_high = counts
        by_up = totals * of_up + one * shapes.up + at_low * low.own + at_high * high.other
        by_down = totals * of_down + other * shapes.down + at_low * low.other + at_high * high.own
        information = shapes.information
        curvature = ShapeMatrix(
            totals * (information.up - of_up)
            - (one * shapes.up + at_low * low.own_own + at_high * high.other_other),
            totals * information.both - (at_low * low.own_other + at_high * high.own_other),
            totals * (information.down - of_down)
            - (other * shapes.down + at_low * low.other_other + at_high * high.own_own),
        )
        slopes = shapes.item_slopes
        gradient = xp.stack([xp.sum(by_up * u + by_down * d, axis=1) for u, d in slopes], axis=1)
        inside = totals * self._probability_inside(shapes, (low.value, high.value))
        expected = _in_coordinates(ShapeMatrix(*(inside * part for part in information)), slopes)
        observed = _in_coordinates(curvature, slopes)
        for entry, (u, d) in zip((1, 2), shapes.item_curvatures, strict=True):
            observed[entry] = observed[entry] - xp.sum(by_up * u + by_down * d, axis=1)
        return gradient, symmetric(expected), symmetric(observed)

    def _probability_inside(self, shapes: Shapes, values: tuple[Array, Array]) -> Array:
        """Return the probability of a score that does not count as at a bound.

        Such scores inform as they would without bounds, the others hardly: exact if the tail is
        exponential, as it is near a bound.
        """
        xp = array_namespace(shapes.up)
        ends = self._ends(shapes.up)
        low, high = log_sigmoid(ends[0])[..., None], log_sigmoid(-ends[1])[..., None]
        at_low, at_high = values
        outside = xp.exp(xp.clip(shapes.constant + low * shapes.up + at_low, None, 0.0))
        outside = outside + xp.exp(
            xp.clip(shapes.constant + high * shapes.down + at_high, None, 0.0)
        )
        return xp.clip(1 - outside, 0.0, 1.0)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Return derivatives in ability, and the information on it."""
        shapes = Shapes(coords, abilities)
        up, down, first = shapes.up, shapes.down, shapes.ability_slopes
        by_up, by_down = self._by_shape(shapes)
        inside, information = self._ability_information(shapes)
        one, other = up * first[0], down * first[1]
        second = shapes.ability_curvatures
        second_one, second_other = up * second[0], down * second[1]
        both = polygamma(1, up + down)
        bias = gamma_drop(1, up, down) * one * second_one
        bias = bias + gamma_drop(1, down, up) * other * second_other
        bias = bias - both * (one * second_other + other * second_one)
        bias = bias + gamma_drop(2, up, down) * one**3 + gamma_drop(2, down, up) * other**3
        bias = bias - 3 * polygamma(2, up + down) * one * other * (one + other)
        return AbilitySlopes(by_up * first[0] + by_down * first[1], information, inside * bias)

    def information(self, coords: Array, abilities: Array) -> Array:
        """Return Fisher information on ability, (n_items, n_abilities)."""
        return self._ability_information(Shapes(coords, abilities))[1]

    def _ability_information(self, shapes: Shapes) -> tuple[Array, Array]:
        """Return the probability to be off the bounds, and the information on ability."""
        xp = array_namespace(shapes.up)
        inside = self._probability_inside(shapes, self._bound_values(shapes))
        known, (one, other) = shapes.information, shapes.ability_slopes
        information = known.up * one**2 + known.down * other**2 + 2 * known.both * one * other
        return inside, inside * xp.clip(information, 0.0, None)

    def _bound_lengths(self, like_this: Array) -> tuple[Array, Array]:
        """Return the distances from a bound that count as none, as -log(1 - distance)."""
        low, high = self._ends(like_this)
        return -log_sigmoid(-low)[..., None], -log_sigmoid(high)[..., None]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Return expected score, (n_items, n_abilities)."""
        shapes = Shapes(coords, abilities)
        return sigmoid_pair(shapes.log_up - shapes.log_down)[0]

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Return variance of the score, (n_items, n_abilities)."""
        shapes = Shapes(coords, abilities)
        rise, fall = sigmoid_pair(shapes.log_up - shapes.log_down)
        return rise * fall / (1 + shapes.up + shapes.down)

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return discrimination from the loading, difficulty from the mean log-odds."""
        xp = array_namespace(means)
        del asked
        loading = xp.clip(loading, -0.9, 0.9)
        slope = loading / xp.sqrt(1 - loading**2)
        slope = xp.where(slope < 0, xp.clip(slope, None, -0.2), xp.clip(slope, 0.2, None))
        easiness = (means[0] - means[1]) / (1.7 * slope)
        return xp.stack([slope, xp.clip(-easiness, -1.5, 1.5)], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Return the curve of about the same location and slope; exact ones do not exist."""
        xp = array_namespace(coords)
        return xp.stack([coords[:, 0] * scale, (coords[:, 1] - shift) / scale], axis=1)

    def scale_directions(self, coords: Array) -> Array:
        """Return the moves of an item that come nearest to a move of all abilities.

        They are coefficients of a regression, in a standard normal population: of the score in
        ability, or in ability times itself, on the scores in the item's coordinates.
        """
        return self._regressed_on_items(coords)[0]

    def scale_information(self, coords: Array) -> Floats:
        """Return the residual information of that regression, over all items."""
        return self._regressed_on_items(coords)[1]

    def _regressed_on_items(self, coords: Array) -> tuple[Array, Floats]:
        """Return coefficients of the regressions, (2, n_items, 2), and their residuals, (2, 2)."""
        xp = array_namespace(coords)
        points = like(POPULATION, coords)
        weights = xp.exp(-0.5 * points**2)
        shapes = Shapes(coords, points)
        slopes, along = shapes.item_slopes, shapes.ability_slopes
        weighted = ShapeMatrix(*(part * weights / xp.sum(weights) for part in shapes.information))
        own = symmetric(_in_coordinates(weighted, slopes))
        own = own + 1e-9 * like(np.eye(2), coords) * (1 + xp.max(own))
        moves = [tuple(part * factor for part in along) for factor in (points * 0 + 1, points)]
        cross = [xp.stack([_product(weighted, s, m) for s in slopes], axis=1) for m in moves]
        coefs = xp.stack([xp.linalg.solve(own, c[..., None])[..., 0] for c in cross])
        residual = [
            [
                float(xp.sum(_product(weighted, m, k) - xp.sum(coefs[i] * c, axis=1)))
                for k, c in zip(moves, cross, strict=True)
            ]
            for i, m in enumerate(moves)
        ]
        return coefs, np.array(residual)

    def flat(self, coords: Floats) -> np.ndarray:
        """Flag no item: its difficulty has a meaning without discrimination, too."""
        return np.zeros(len(coords), dtype=bool)

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return discrimination and difficulty."""
        return {"discrimination": coords[:, 0], "difficulty": coords[:, 1]}

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""
        names = ("discrimination", "difficulty")
        return np.stack([np.asarray(parameters[name], dtype=float) for name in names], axis=1)

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Return unit vectors, because the coordinates are the public parameters."""
        first, second = (np.broadcast_to(row, coords.shape).copy() for row in np.eye(2))
        return {"discrimination": first, "difficulty": second}

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return log-normal discrimination, normal difficulty."""
        return {
            "discrimination": np.exp(random.normal(0.5, 0.3, n_items)),
            "difficulty": random.normal(0.0, 0.7, n_items),
        }

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Return scores from the beta distribution; some are as good as 0 or 1."""
        shapes = Shapes(coords, abilities)
        return np.asarray(random.beta(shapes.up, shapes.down))


def _in_coordinates(matrix: ShapeMatrix, slopes: list[tuple[Array, Array]]) -> list[Array]:
    """Return the upper triangle of `matrix` in the two coordinates, summed over abilities."""
    return [_product(matrix, slopes[i], slopes[k]) for i, k in ((0, 0), (0, 1), (1, 1))]


def _product(matrix: ShapeMatrix, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Return the product of two slopes of the log-shapes, summed over abilities, (n_items,)."""
    (u, d), (v, e) = one, other
    part = matrix.up * u * v + matrix.down * d * e + matrix.both * (u * e + d * v)
    return array_namespace(part).sum(part, axis=1)
