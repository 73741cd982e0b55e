"""Measurement models as engines see them, their coordinates, and priors.

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

LEAST_SD = 1e-6  # smallest sd of a prior whose curvature leaves room for others in float64
FLATTEST = 0.01  # discrimination nearer to zero that counts as none: it hardly moves the curve


@runtime_checkable
class Prior(Protocol):
    """A density on one coordinate, known by its logarithm and two derivatives of it.

    `keeps_off` says that the density vanishes at the lower bound of its coordinate, so that no
    estimate comes to lie there.
    """

    @property
    def keeps_off(self) -> bool:
        """True if the density vanishes at the lower bound."""

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
        """True if the density vanishes at zero."""
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
    """Derivatives of an item's log-density in ability."""

    terms: Array  # (1 + n_statistics, n_items, n_abilities): derivatives of `log_terms`
    information: Array  # (n_items, n_abilities)
    bias: Array  # (n_items, n_abilities): Σ f' f'' / f over the responses (Warm, 1989)


class NormalSums(NamedTuple):
    """Sums over respondents that are sufficient for normal responses, each (n_items,)."""

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
    surprise: ClassVar[float] = 1.0  # factor by which a response may inform more than expected

    @property
    def width(self) -> int:
        """Number of coordinates of an item."""
        return len(self.coordinates)

    @property
    def own_slopes(self) -> bool:
        """True if each item has a discrimination of its own."""
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
        """Return the same model without the facts of single items, to be fitted to others."""
        return self

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """Return the model of its `n_items` items followed by those of `other`; priors are its own.

        Raises InputError where no one model explains both.
        """
        del n_items, n_others
        if not self.alike(other):
            raise InputError(
                f"The items belong to different models: {_described(self)} and "
                f"{_described(other)}. "
                "Calibrate both tables with the same model and options."
            )
        return self

    def alike(self, other: MeasurementModel) -> bool:
        """Return True if it is the same model with the same options; priors may differ."""
        return self.with_coordinates(()) == other.with_coordinates(())

    def widened(self, coords: Floats) -> Floats:
        """Return coordinates of items of a narrower shape: what they lack is absent."""
        absent = [c.absent for c in self.coordinates[coords.shape[1] :]]
        missing = np.tile(np.array(absent, dtype=float), (len(coords), 1))
        return np.concatenate([coords, missing], axis=1)

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
        """Return sentences on what was done to the responses of a table."""
        del cells
        return []

    def read(self, cells: Array) -> Array:
        """Return responses as numbers that engines work on; missing ones stay missing."""
        return cells

    def log_base(self, cells: Array, weights: Array) -> float:
        """Return Σ weights × log h(x): the part of the log-likelihood without items."""
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
        """Return derivatives in ability, and the information on it."""

    @abstractmethod
    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient (n_items, width), Fisher and observed information (.., width, width).

        They are those of Σ totals × g₀ + counts × g, where `counts` (n_statistics, n_items,
        n_abilities) sums each statistic, and `totals` (n_items or 1, n_abilities) the responses.
        """

    def curvature_of_sums(self, coords: Array, sums: NormalSums) -> tuple[Array, Array, Array]:
        """Return `curvature` from sums over respondents, for a model that is `normal`."""
        raise NotImplementedError

    def loadings(self, coords: Array) -> Array:
        """Return the slope of the mean of z in ability, (n_items,), of a `normal` model."""
        raise NotImplementedError

    def scored(self, values: Floats) -> Floats:
        """Return responses on the scale of `expected`; NaN if missing."""
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
        """Return derivatives of coordinates in origin and unit of the scale, (2, *coords.shape)."""
        moved = [self.rescale(coords, 1.0, 1.0), self.rescale(coords, 0.0, 2.0)]
        return array_namespace(coords).stack([new - coords for new in moved])

    def scale_information(self, coords: Array) -> Floats:
        """Return a respondent's information on origin and unit from the form of the curves, (2, 2).

        It is 0 if moving all items along `scale_directions` is moving all abilities.
        """
        del coords
        return np.zeros((2, 2))

    @abstractmethod
    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return public parameters by name, as documented; NaN for an absent one."""

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
        """Those of `inputs` that the model fixes at zero."""
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
        """Return minus the second derivatives, (n_items, width, width), by differences."""
        xp = array_namespace(coords)
        hessian = -xp.permute_dims(self._differences(coords, gradient), (1, 0, 2))
        return 0.5 * (hessian + xp.permute_dims(hessian, (0, 2, 1)))

    def at_bound(self, coords: Array) -> Array:
        """Flag coordinates at a bound, (n_items, width)."""
        low = numbers([c.low for c in self.coordinates], coords)
        high = numbers([c.high for c in self.coordinates], coords)
        return (coords <= low) | (coords >= high)

    def flat(self, coords: Floats) -> np.ndarray:
        """Flag items that do not discriminate, (n_items,): they are shown with the least slope."""
        flat: np.ndarray = np.abs(coords[:, 0]) < FLATTEST
        return flat

    def absent(self, coords: Array) -> Array:
        """Flag coordinates that an item does not have, (n_items, width)."""
        absent = [np.nan if c.absent is None else c.absent for c in self.coordinates]
        return coords == numbers(absent, coords)

    def bounded(self, coords: Array) -> Array:
        """Return `coords` clipped to the bounds."""
        xp = array_namespace(coords)
        low = numbers([c.low for c in self.coordinates], coords)
        high = numbers([c.high for c in self.coordinates], coords)
        return xp.minimum(xp.maximum(coords, low), high)

    def _differences(self, coords: Array, function: Any, size: float = 1e-5) -> Array:
        """Return central differences of `function` in each coordinate, stacked first."""
        xp = array_namespace(coords)
        slopes = []
        for k, step in enumerate(like(size * np.eye(self.width), coords)):
            up, down = self.bounded(coords + step), self.bounded(coords - step)
            slopes.append((function(up) - function(down)) / (up - down)[:, k, None])
        return xp.stack(slopes)


def _described(model: MeasurementModel) -> str:
    """Return the name of a model with its options."""
    names = [field.name for field in fields(model)]  # type: ignore[arg-type]
    options = [f"{name}={getattr(model, name)!r:.40}" for name in names if name != "coordinates"]
    return f"{model.name}({', '.join(options)})" if options else model.name
