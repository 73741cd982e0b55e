"""What an engine may ask of a model; no engine knows a model by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from itemwise.models.priors import Prior
from itemwise.numerics.arrays import Array, Floats, array_namespace, like
from itemwise.numerics.newton import symmetric


@dataclass(frozen=True)
class Coordinate:
    """One number of an item that engines move.

    `shared` coordinates are the same for all items. `longest` bounds one step of an engine.
    """

    name: str
    prior: Prior | None = None
    low: float = -np.inf
    high: float = np.inf
    longest: float = np.inf
    shared: bool = False


class MeasurementModel(ABC):
    """The response function of an item, in the coordinates in which engines move.

    Arrays: `coords` is (n_items, width), `abilities` (n_abilities,); what depends on both has
    the items first. Response categories come first of all: wrong, right for a binary model.
    """

    name: ClassVar[str]
    kind: ClassVar[str]  # the kind of responses that the model explains
    n_categories: int
    coordinates: tuple[Coordinate, ...]
    linear: ClassVar[bool] = False  # the log-odds are coords[:, 0] * ability + coords[:, 1]

    @property
    def width(self) -> int:
        """How many coordinates an item has."""
        return len(self.coordinates)

    @abstractmethod
    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Log-probability of each category, (n_categories, n_items, n_abilities)."""

    @abstractmethod
    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Probabilities and their first and second derivatives in ability, shaped as log_prob."""

    @abstractmethod
    def start(self, easiness: Array, loading: Array) -> Array:
        """Coordinates to begin with.

        `easiness` is the log-odds of the mean response, `loading` the correlation of the item
        with the first principal component of the responses.
        """

    @abstractmethod
    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Coordinates that give ability (x - shift) / scale the curve that x had.

        They are linear in `shift` and in `scale`, which may be negative.
        """

    @abstractmethod
    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Public parameters by name, in the form of the documentation."""

    @abstractmethod
    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Coordinates of items with these public parameters."""

    @abstractmethod
    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Derivative of each public parameter in the coordinates, (n_items, width)."""

    @abstractmethod
    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Plausible public parameters of `n_items` items, for simulations."""

    def unit(self, coords: Floats) -> float:
        """The deviation of the population in units of the scale on which items are reported."""
        del coords
        return 1.0

    def regularised(self) -> Self:
        """The same model with its default priors."""
        return self.with_coordinates(type(self)().coordinates)

    def with_coordinates(self, coordinates: tuple[Coordinate, ...]) -> Self:
        """The same model with other coordinates: other priors, say."""
        return replace(self, coordinates=coordinates)  # type: ignore[type-var]

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of `log_prob` in the coordinates: (width, *shape of log_prob).

        A family with closed forms overrides these central differences.
        """
        xp = array_namespace(coords)
        found = []
        for up, down, apart in self._neighbours(coords):
            rise = self.log_prob(up, abilities) - self.log_prob(down, abilities)
            found.append(rise / apart[:, None])
        return xp.stack(found)

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient (n_items, width), Fisher and observed information (n_items, width, width).

        They belong to the sum of counts x log_prob, where `counts` (n_categories - 1, n_items,
        n_abilities) leaves the first category to `totals` (n_items or 1, n_abilities).
        A family with closed forms overrides this; here the observed information comes from
        differences of the gradient.
        """
        xp = array_namespace(coords)
        first = totals - xp.sum(counts, axis=0)
        weights = xp.concat([first[None], counts])

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
        bends = [
            (gradient(down) - gradient(up)) / apart[:, None]
            for up, down, apart in self._neighbours(coords)
        ]
        observed = xp.stack(bends, axis=1)
        return gradient(coords), expected, 0.5 * (observed + xp.permute_dims(observed, (0, 2, 1)))

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Expected category, for a binary model the chance to be right, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = self.ability_derivatives(coords, abilities)[0]
        return sum((k * prob[k] for k in range(1, prob.shape[0])), xp.zeros_like(prob[0]))

    def at_bound(self, coords: Array) -> Array:
        """Which coordinates lie at a bound, (n_items, width)."""
        low = like([c.low for c in self.coordinates], coords)
        high = like([c.high for c in self.coordinates], coords)
        return (coords <= low) | (coords >= high)

    def bounded(self, coords: Array) -> Array:
        """`coords` moved inside the bounds."""
        xp = array_namespace(coords)
        low = like([c.low for c in self.coordinates], coords)
        high = like([c.high for c in self.coordinates], coords)
        return xp.minimum(xp.maximum(coords, low), high)

    def _neighbours(self, coords: Array, size: float = 1e-5) -> list[tuple[Array, Array, Array]]:
        """For each coordinate: items nudged up, down, and how far these are apart, (n_items,)."""
        nudges = like(size * np.eye(self.width), coords)
        pairs = [(self.bounded(coords + step), self.bounded(coords - step)) for step in nudges]
        return [(up, down, (up - down)[:, k]) for k, (up, down) in enumerate(pairs)]

    def information(self, coords: Array, abilities: Array) -> Array:
        """Fisher information on ability, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob, first, _ = self.ability_derivatives(coords, abilities)
        tiny = like(np.finfo(float).tiny, coords)
        return xp.sum(first**2 / xp.maximum(prob, tiny), axis=0)
