"""Measurement model, coordinates, priors.

Priors on single item parameters: weak by default, so that every item stays finite.

What an engine may ask of a model; no engine knows a model by name.

The log-density of a response x to an item, at an ability, is a sum of products

    log f(x | ability) = log h(x) + g₀(ability) + Σ t(x) g(ability)

where the statistics t depend on the response alone and the terms g on the item. For categories,
t says which one it is; for a score inside an interval, t are its logarithms or powers. Over all
responses, such sums are matrix products, and that is all that engines compute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.stats.array_backend import Array, Floats, array_namespace, like, numbers

LEAST_SD = 1e-6  # below, the curvature of the density drowns all else in float64


@runtime_checkable
class Prior(Protocol):
    """A density on one coordinate, known by its logarithm and two derivatives of it.

    `keeps_off` says that the density vanishes at the lower bound of its coordinate, so that no
    estimate comes to lie there.
    """

    @property
    def keeps_off(self) -> bool:
        """Whether the density vanishes at the lower bound."""

    def log_density(self, x: Array) -> Array:
        """Return log-density up to a constant."""

    def slope(self, x: Array) -> Array:
        """Return first derivative of the log-density."""

    def curvature(self, x: Array) -> Array:
        """Return minus the second derivative of the log-density."""


@dataclass(frozen=True)
class Normal:
    """Normal prior.

    `mean` and standard deviation `sd` of one item parameter, for `calibrate(priors=...)`.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 200, 10, random_state=0).responses
    >>> held = og.calibrate(drawn, "2pl", priors={"discrimination": og.Normal(1, 0.01)})
    >>> held.items["discrimination"].round(1).unique().tolist()
    [1.0]
    """

    keeps_off: ClassVar[bool] = False

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.mean) and isfinite(self.sd) and self.sd >= LEAST_SD):
            raise InputError(
                f"A Normal prior has mean {self.mean} and sd {self.sd}; give a finite mean and an "
                f"sd of at least {LEAST_SD:g}. To hold a parameter where it is, use fixed=."
            )

    def log_density(self, x: Array) -> Array:
        """Return log-density up to a constant."""
        return -0.5 * ((x - self.mean) / self.sd) ** 2

    def slope(self, x: Array) -> Array:
        """Return first derivative of the log-density."""
        return (self.mean - x) / self.sd**2

    def curvature(self, x: Array) -> Array:
        """Return minus the second derivative of the log-density."""
        return 0 * x + 1 / self.sd**2


@dataclass(frozen=True)
class Beta:
    """Beta prior; worth `a + b - 2` observations at its mode `(a - 1) / (a + b - 2)`.

    For guessing or slip, in `calibrate(priors=...)`.

    >>> import ogive as og
    >>> drawn = og.simulate("3pl", 200, 10, random_state=0).responses
    >>> og.calibrate(drawn, "3pl", priors={"guessing": og.Beta(2, 5)}).converged
    True
    """

    a: float
    b: float

    @property
    def keeps_off(self) -> bool:
        """Whether the density vanishes at zero."""
        return self.a > 1

    def __post_init__(self) -> None:
        if not (1 <= self.a < inf and 1 <= self.b < inf):
            raise InputError(
                f"A Beta prior has a = {self.a} and b = {self.b}; give numbers of at least 1, "
                "or the density has no maximum inside (0, 1)."
            )

    def log_density(self, x: Array) -> Array:
        """Return log-density up to a constant."""
        xp = array_namespace(x)
        upper = (self.b - 1) * xp.log1p(-x)
        return upper + (self.a - 1) * xp.log(x) if self.a > 1 else upper

    def slope(self, x: Array) -> Array:
        """Return first derivative of the log-density."""
        upper = -(self.b - 1) / (1 - x)
        return upper + (self.a - 1) / x if self.a > 1 else upper

    def curvature(self, x: Array) -> Array:
        """Return minus the second derivative of the log-density."""
        upper = (self.b - 1) / (1 - x) ** 2
        return upper + (self.a - 1) / x**2 if self.a > 1 else upper


@dataclass(frozen=True)
class Coordinate:
    """One number of an item that engines move.

    `shared` coordinates are the same for all items. `longest` bounds one step of an engine.
    `absent` is the value, one of the bounds, of an item that does not have this number.
    """

    name: str
    prior: Prior | None = None
    low: float = -np.inf
    high: float = np.inf
    longest: float = np.inf
    shared: bool = False
    absent: float | None = None


class AbilitySlopes(NamedTuple):
    """How an item's log-density changes with ability."""

    terms: Array  # (1 + n_statistics, n_items, n_abilities): derivatives of `log_terms`
    information: Array  # (n_items, n_abilities)
    bias: Array  # (n_items, n_abilities): Σ f' f'' / f over the responses (Warm, 1989)


class NormalSums(NamedTuple):
    """Sums over respondents of what a normal response depends on, each (n_items,)."""

    asked: Array
    ability: Array
    ability_square: Array
    z: Array
    z_ability: Array
    z_square: Array


class MeasurementModel(ABC):
    """The response function of an item, in the coordinates in which engines move.

    Arrays: `coords` is (n_items, width), `abilities` (n_abilities,); what depends on both has
    the items first, and the terms before them. `cells` are (n_respondents, n_items).
    """

    name: ClassVar[str]
    kind: ClassVar[str]  # the kind of responses that the model explains
    coordinates: tuple[Coordinate, ...]
    linear: ClassVar[bool] = False  # binary, log-odds coords[:, 0] * ability + coords[:, 1]
    normal: ClassVar[bool] = False  # z given ability is normal: see `Continuous`
    affine: ClassVar[bool] = True  # closed under a change of origin and unit of the scale
    exclusive: ClassVar[bool] = False  # of the statistics of a response, at most one is not 0
    surprise: ClassVar[float] = 1.0  # how much more than is expected a response may well tell

    @property
    def width(self) -> int:
        """How many coordinates an item has."""
        return len(self.coordinates)

    @property
    def own_slopes(self) -> bool:
        """Whether each item has a discrimination of its own."""
        return not self.shared.any()

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Which coordinates are the same for all items, (width,)."""
        return np.array([coordinate.shared for coordinate in self.coordinates], dtype=bool)

    @property
    @abstractmethod
    def direction(self) -> tuple[float, ...]:
        """Weights of the statistics whose sum is higher, the better a response is."""

    def fitted_to(self, cells: Array, items: Sequence[str]) -> Self:
        """Return the same model in the shape that a table needs: its grades, its bounds.

        Raises InputError where the model cannot explain the table.
        """
        self.check(cells, items)
        return self

    def of_items(self, positions: Sequence[int] | np.ndarray) -> Self:
        """Return the model of some of the items it was fitted to."""
        del positions
        return self

    def unfitted(self) -> Self:
        """Return the same model without what it learnt of single items, to be fitted to others."""
        return self

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """Return the model of its `n_items` items followed by those of `other`; priors are its own.

        Raises InputError where no one model explains both.
        """
        del n_items, n_others
        if not self.alike(other):
            raise InputError(
                f"The items belong to different models: {_said(self)} and {_said(other)}. "
                "Calibrate both tables with the same model and options."
            )
        return self

    def alike(self, other: MeasurementModel) -> bool:
        """Return True if it is the same model with the same options; priors may differ."""
        return self.with_coordinates(()) == other.with_coordinates(())

    def widened(self, coords: Floats) -> Floats:
        """Return coordinates of items of a narrower shape: what they lack is absent."""
        lacking = [c.absent for c in self.coordinates[coords.shape[1] :]]
        columns = [np.full((len(coords), 1), value, dtype=float) for value in lacking]
        return np.concatenate([coords, *columns], axis=1)

    def widened_covariances(self, covariances: Floats) -> Floats:
        """Return covariances of items of a narrower shape: what they lack has none."""
        lacking = self.width - covariances.shape[1]
        return np.pad(covariances, ((0, 0), (0, lacking), (0, lacking)))

    def widened_shared(self, directions: Floats) -> Floats:
        """Return directions, (n_shared, n_items, width), of items of a narrower shape, likewise."""
        return np.pad(directions, ((0, 0), (0, 0), (0, self.width - directions.shape[2])))

    def check(self, cells: Array, items: Sequence[str]) -> None:
        """Refuse responses that the model cannot explain, with an InputError."""
        del cells, items

    def remarks(self, cells: Array) -> list[str]:
        """Return what was done to responses of a table that a reader should know, in sentences."""
        del cells
        return []

    def read(self, cells: Array) -> Array:
        """Return responses as numbers that engines work on; what was never asked stays so."""
        return cells

    def log_base(self, cells: Array, weights: Array) -> float:
        """Return σ weights x log h(x): the part of the log-likelihood that no item changes."""
        del cells, weights
        return 0.0

    @abstractmethod
    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Return the statistics of values that were read, each shaped as `values`."""

    @abstractmethod
    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return the terms g, (1 + n_statistics, n_items, n_abilities)."""

    @abstractmethod
    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Return derivatives in ability, and what they say of the ability."""

    @abstractmethod
    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient (n_items, width), Fisher and observed information (n_items, width, width).

        They belong to Σ totals x g₀ + counts x g, where `counts` (n_statistics, n_items,
        n_abilities) sums each statistic, and `totals` (n_items or 1, n_abilities) the responses.
        """

    def curvature_of_sums(self, coords: Array, sums: NormalSums) -> tuple[Array, Array, Array]:
        """Return the same from sums over respondents, for a model that is `normal`."""
        raise NotImplementedError

    def loadings(self, coords: Array) -> Array:
        """Return how the mean of z grows with ability, (n_items,), for a model that is `normal`."""
        raise NotImplementedError

    def scored(self, values: Floats) -> Floats:
        """Return what responses are worth, on the scale of `expected`; NaN where never asked."""
        return values

    @abstractmethod
    def expected(self, coords: Array, abilities: Array) -> Array:
        """Return expected response, (n_items, n_abilities)."""

    @abstractmethod
    def variance(self, coords: Array, abilities: Array) -> Array:
        """Return variance of the response, (n_items, n_abilities)."""

    @abstractmethod
    def extent(self) -> tuple[Floats | float, Floats | float]:
        """Return the worst and the best response to each item."""

    def stored(self) -> tuple[Floats | float, Floats | float]:
        """Return the lowest and the highest response to each item as it is stored."""
        return self.extent()

    @abstractmethod
    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return coordinates to begin with.

        `means` (n_statistics, n_items) are means of the statistics over `asked` (n_items,)
        responses, `loading` is the correlation of the item with the first principal component.
        """

    @abstractmethod
    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Return coordinates that give ability (x - shift) / scale the curve that x had.

        They are linear in `shift` and in `scale`, which may be negative. A model that is not
        `affine` gives the nearest curve that it has.
        """

    def scale_directions(self, coords: Array) -> Array:
        """How coordinates change when the origin moves and when the unit grows, (2, *coords)."""
        moved = [self.rescale(coords, 1.0, 1.0), self.rescale(coords, 0.0, 2.0)]
        return array_namespace(coords).stack([there - coords for there in moved])

    def scale_information(self, coords: Array) -> Floats:
        """What a respondent tells of origin and unit because curves change their form, (2, 2).

        Nothing, where moving all items along `scale_directions` is moving all abilities.
        """
        del coords
        return np.zeros((2, 2))

    @abstractmethod
    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Public parameters by name, in the form of the documentation; NaN for an absent one."""

    @abstractmethod
    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""

    @abstractmethod
    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Return derivative of each public parameter in the coordinates, (n_items, width)."""

    @abstractmethod
    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return plausible public parameters of `n_items` items, for simulations."""

    @abstractmethod
    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Return responses as they are stored, (n_items, n_abilities), at random."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the public parameters that an item is made from."""
        return tuple(self.sample(1, np.random.default_rng(0)))

    @property
    def fixed(self) -> tuple[str, ...]:
        """Those of `inputs` that the model holds at zero."""
        return ()

    def shaped(self, parameters: Any) -> Self:
        """Return the same model in the shape that items with these public parameters need."""
        del parameters
        return self

    def reported(self, coords: Floats) -> tuple[Floats, float]:
        """Return items on the scale on which they are reported, and the population's sd on it.

        Engines find items on a scale on which the population has standard deviation 1.
        """
        return coords, 1.0

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Return the coordinates with their default priors."""
        return type(self).coordinates

    def regularised(self) -> Self:
        """Return the same model with its default priors."""
        return self.with_coordinates(self.default_coordinates())

    def with_coordinates(self, coordinates: tuple[Coordinate, ...]) -> Self:
        """Return the same model with other coordinates: other priors, say."""
        return replace(self, coordinates=coordinates)  # type: ignore[type-var]

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_terms` in the coordinates: (width, *shape of log_terms).

        A family with closed forms overrides these central differences.
        """
        return self._differences(coords, lambda c: self.log_terms(c, abilities))

    def expected_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `expected` in the coordinates, (width, n_items, n_abilities)."""
        return self._differences(coords, lambda c: self.expected(c, abilities))

    def information(self, coords: Array, abilities: Array) -> Array:
        """Return Fisher information on ability, (n_items, n_abilities)."""
        return self.ability_slopes(coords, abilities).information

    def _hessian(self, coords: Array, gradient: Any) -> Array:
        """Minus the second derivatives, from differences of `gradient`, (n_items, width, width)."""
        xp = array_namespace(coords)
        bends = -xp.permute_dims(self._differences(coords, gradient), (1, 0, 2))
        return 0.5 * (bends + xp.permute_dims(bends, (0, 2, 1)))

    def at_bound(self, coords: Array) -> Array:
        """Return which coordinates lie at a bound, (n_items, width)."""
        low = numbers([c.low for c in self.coordinates], coords)
        high = numbers([c.high for c in self.coordinates], coords)
        return (coords <= low) | (coords >= high)

    def flat(self, coords: Floats) -> np.ndarray:
        """Which items discriminate nothing, (n_items,): they are shown with the least slope."""
        return np.zeros(len(coords), dtype=bool)

    def absent(self, coords: Array) -> Array:
        """Return which coordinates an item does not have, (n_items, width)."""
        nowhere = [np.nan if c.absent is None else c.absent for c in self.coordinates]
        return coords == numbers(nowhere, coords)

    def bounded(self, coords: Array) -> Array:
        """Return `coords` moved inside the bounds."""
        xp = array_namespace(coords)
        low = numbers([c.low for c in self.coordinates], coords)
        high = numbers([c.high for c in self.coordinates], coords)
        return xp.minimum(xp.maximum(coords, low), high)

    def _differences(self, coords: Array, function: Any, size: float = 1e-5) -> Array:
        """Return central differences of `function` in each coordinate, stacked first."""
        xp = array_namespace(coords)
        found = []
        for k, step in enumerate(like(size * np.eye(self.width), coords)):
            up, down = self.bounded(coords + step), self.bounded(coords - step)
            found.append((function(up) - function(down)) / (up - down)[:, k, None])
        return xp.stack(found)


def _said(model: MeasurementModel) -> str:
    """Return a model with its options, in a few words."""
    names = [field.name for field in fields(model)]  # type: ignore[arg-type]
    options = [f"{name}={getattr(model, name)!r:.40}" for name in names if name != "coordinates"]
    return f"{model.name}({', '.join(options)})" if options else model.name
