"""Responses in ordered categories: what binary and graded models share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from ogive.models.measurement import AbilitySlopes, MeasurementModel
from ogive.numerics.arrays import Array, Floats, array_namespace, like
from ogive.numerics.newton import symmetric

TINIEST = 1e-300
LOGISTIC_UNIT = 1.7  # a logistic curve of that slope is nearly the normal one


class Categorical(MeasurementModel):
    """A model of the categories 0 .. n_categories - 1, in the order from worst to best.

    The statistics of a response say which category it is; the first is left out. Probabilities
    have the categories first, (n_categories, n_items, n_abilities).
    """

    exclusive: ClassVar[bool] = True
    n_categories: int
    lowest: int | None = 0  # the response that is category 0

    @property
    def direction(self) -> tuple[float, ...]:
        """The number of the category."""
        return tuple(float(k) for k in range(1, self.n_categories))

    def counts(self, n_items: int) -> np.ndarray:
        """How many categories each of `n_items` items has."""
        return np.full(n_items, self.n_categories)

    @abstractmethod
    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Log-probability of each category."""

    @abstractmethod
    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Probabilities and their first and second derivatives in ability."""

    @abstractmethod
    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of `log_prob` in the coordinates: (width, *shape of log_prob)."""

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """For each category past the first, 1 where the response is in it."""
        xp = array_namespace(values)
        return [xp.astype(values == k, dtype) for k in range(1, self.n_categories)]

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Log-probability of the first category, and how much more that of each other is."""
        return _from_first(self.log_prob(coords, abilities))

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of `log_terms` in the coordinates."""
        xp = array_namespace(coords)
        slopes = self.slopes(coords, abilities)
        return xp.concat([slopes[:, :1], slopes[:, 1:] - slopes[:, :1]], axis=1)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Derivatives in ability, and what they say of the ability."""
        xp = array_namespace(coords)
        prob, first, second = self.ability_derivatives(coords, abilities)
        ratio = first / xp.clip(prob, TINIEST, None)
        return AbilitySlopes(
            _from_first(ratio), xp.sum(ratio * first, axis=0), xp.sum(ratio * second, axis=0)
        )

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient, Fisher and observed information of the expected log-likelihood.

        A family with closed forms overrides this; here the observed information comes from
        differences of the gradient.
        """
        xp = array_namespace(coords)
        weights = xp.concat([(totals - xp.sum(counts, axis=0))[None], counts])

        def gradient(where: Array) -> Array:
            return xp.sum(weights * self.slopes(where, abilities), axis=(1, 3)).T

        slopes, prob = self.slopes(coords, abilities), xp.exp(self.log_prob(coords, abilities))
        expected = symmetric(
            [
                xp.sum(totals * xp.sum(prob * slopes[i] * slopes[k], axis=0), axis=1)
                for i in range(self.width)
                for k in range(i, self.width)
            ]
        )
        return gradient(coords), expected, self._hessian(coords, gradient)

    def category_probabilities(self, coords: Array, abilities: Array) -> Array:
        """Probability of each category."""
        return self.ability_derivatives(coords, abilities)[0]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Expected response, for a binary model the chance to be right, (n_items, n_abilities)."""
        return (self.lowest or 0) + _mean(self.category_probabilities(coords, abilities))

    def expected_along(self, coords: Array, abilities: Array) -> tuple[Array, Array]:
        """Expected response and its derivative in ability, (n_items, n_abilities)."""
        prob, first, _ = self.ability_derivatives(coords, abilities)
        return (self.lowest or 0) + _mean(prob), _mean(first)

    def expected_slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of `expected` in the coordinates, (width, n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = self.category_probabilities(coords, abilities)
        return xp.stack([_mean(prob * slope) for slope in self.slopes(coords, abilities)])

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Variance of the response, (n_items, n_abilities)."""
        prob = self.category_probabilities(coords, abilities)
        square = sum((k * k * prob[k] for k in range(2, prob.shape[0])), prob[1])
        return square - _mean(prob) ** 2

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Responses by inversion."""
        prob = np.exp(self.log_prob(coords, abilities))
        above = 1 - np.cumsum(prob[:-1], axis=0)
        category = (random.random(above.shape[1:]) < above).sum(axis=0) + (self.lowest or 0)
        highest = self.n_categories + (self.lowest or 0)
        stored: np.ndarray = category.astype(np.int8 if highest <= 128 else np.int16)
        return stored


def log_shares(odds: list[Array]) -> Array:
    """Log-probabilities of categories with these log-odds, stacked."""
    xp = array_namespace(odds[0])
    top = odds[0]
    for table in odds[1:]:
        top = xp.maximum(top, table)
    total = sum(xp.exp(table - top) for table in odds)
    return xp.stack(odds) - (top + xp.log(total))


def slope_of_loading(loading: Array) -> Array:
    """The slope of a logistic curve whose response correlates so with ability."""
    xp = array_namespace(loading)
    loading = xp.clip(loading, -0.9, 0.9)
    return LOGISTIC_UNIT * loading / xp.sqrt(1 - loading**2)


def _from_first(table: Array) -> Array:
    """The first of the categories, and the others less the first."""
    xp = array_namespace(table)
    return xp.concat([table[:1], table[1:] - table[:1]])


def _mean(prob: Array) -> Array:
    """Mean category under (n_categories, ...)."""
    total = like(0.0, prob)
    for k in range(1, prob.shape[0]):
        total = total + k * prob[k]
    return total
