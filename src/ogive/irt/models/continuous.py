"""The continuous response model (Samejima, 1973; Wang and Zeng, 1998; Shojima, 2005).

With z the log-odds of a score between its bounds, P(Z ≥ z) = Φ(α(θ - β - γ z)), where α and γ have
one sign: z is normal with mean (θ - β) / γ and sd 1 / (αγ). So it is a factor analysis of z
with one factor, of loading λ = 1 / γ. Engines move α, the loading in units of the noise, the
intercept -β / γ and log 1 / |αγ|.

The likelihood of a factor analysis grows without end if few respondents make one item look free
of noise (Heywood, 1931): ability then is that item. The default prior on α is worth one respondent:
on a given scale, a normal prior of sd 1 is the penalty on unique variances ψ, Σ s / ψ
/ 2 with s = λ² + ψ, of Martin and McDonald (1975) and Akaike (1987).

`Bounded`, scores inside an interval, is what it shares with the beta model: engines read a score y
as z = log((y - low) / (high - y)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import (
    FLATTEST,
    AbilitySlopes,
    Coordinate,
    MeasurementModel,
    Normal,
    NormalSums,
)
from ogive.stats.array_backend import Array, Floats, array_namespace, like, row_blocks
from ogive.stats.newton import symmetric
from ogive.stats.special_functions import sigmoid_pair

Pair = tuple[float, float]
Bounds = Literal["auto", "table", "items"] | Pair | tuple[Pair, ...]

UNIT: Pair = (0.0, 1.0)
BLOCK_CELLS = 1 << 18  # cells that are looked at together
NARROWEST, WIDEST = 1e-100, 1e100  # ranges that arithmetic can represent
NEAREST = 1e-12  # smallest distance of a score from a bound, as a share of the range
LOG_2PI = float(np.log(2 * np.pi))
LEAST_NOISE = 0.01  # smallest noise in log-odds, which gives the likelihood a maximum

SLOPE = Coordinate("discrimination", Normal(0, 1), longest=5.0)
INTERCEPT = Coordinate("intercept", longest=10.0)
NOISE = Coordinate("noise", low=float(np.log(LEAST_NOISE)), high=7.0, longest=0.7)


@dataclass(frozen=True, kw_only=True)
class Bounded(MeasurementModel):
    """Scores with a worst and a best value.

    `bounds` are these values: (low, high) for all items, a pair for each, "table" for the
    smallest and the largest response of the table, "items" for those of each item, or "auto":
    (0, 1) where the responses lie there, else "table".

    A response at a bound would be infinitely far out. With `at_bounds="midway"`, it stands half
    way between the bound and the nearest response inside, so that order is kept. A number moves
    it inside by so much: 0.01 is the rule of airt (which may move it past others).
    """

    kind: ClassVar[str] = "continuous"
    bounds: Bounds = "auto"
    at_bounds: Literal["midway"] | float = "midway"
    inside: Pair | tuple[Pair, ...] | None = None  # values that responses at bounds count as
    coordinates: tuple[Coordinate, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, str):
            object.__setattr__(self, "bounds", _pairs(self.bounds))
        elif self.bounds not in ("auto", "table", "items"):
            raise InputError(
                "`bounds` must be (low, high), a pair for each item, 'table', 'items' or 'auto', "
                f"got {self.bounds!r}."
            )
        if self.inside is not None:
            object.__setattr__(self, "inside", _pairs(self.inside))
            bounds = np.array(UNIT if isinstance(self.bounds, str) else self.bounds, dtype=float)
            inside = np.array(self.inside, dtype=float)
            same_shape = inside.shape == bounds.shape
            if not (same_shape and ((inside - bounds) * [1, -1] >= 0).all()):
                raise InputError("inside must hold a pair between each pair of bounds.")
        moved = self.at_bounds
        number = isinstance(moved, int | float) and not isinstance(moved, bool)
        if moved != "midway" and not (number and 0 < float(moved) < np.inf):
            raise InputError(
                "`at_bounds` must be 'midway', or a number above 0 by which responses at a bound "
                f"are moved inside, got {moved!r}."
            )
        if not self.coordinates:
            object.__setattr__(self, "coordinates", self.default_coordinates())

    @property
    def _one_interval(self) -> bool:
        """True if all items have the same bounds."""
        return isinstance(self.bounds, str) or not isinstance(self.bounds[0], tuple)

    def fitted_to(self, cells: Array, items: Sequence[str]) -> Self:
        """Return the same model with bounds as numbers, and values for responses at them."""
        bounded = replace(self, bounds=self._numbers(cells))
        bounded.check(cells, items)
        low, high = bounded.extent()
        if np.ndim(low) == 0:
            whole = self._inside(cells, (float(low), float(high)), None)
            return replace(bounded, inside=whole)
        pairs = zip(np.atleast_1d(low).tolist(), np.atleast_1d(high).tolist(), strict=True)
        each = [self._inside(cells[:, [k]], pair, items[k]) for k, pair in enumerate(pairs)]
        return replace(bounded, inside=tuple(each))

    def _numbers(self, cells: Array) -> Pair | tuple[Pair, ...]:
        """Return the bounds as numbers."""
        if not isinstance(self.bounds, str):
            return self.bounds
        if self.bounds == "items":
            return tuple(_extremes(cells[:, [k]], UNIT) for k in range(cells.shape[1]))
        low, high = _extremes(cells, UNIT)
        return UNIT if self.bounds == "auto" and low >= 0 and high <= 1 else (low, high)

    def of_items(self, positions: Sequence[int] | np.ndarray) -> Self:
        """Return the model of some of the items it was fitted to."""
        if self._one_interval:
            return self
        bounds: Any = tuple(self.bounds[int(k)] for k in positions)
        inside: Any = self.inside and tuple(self.inside[int(k)] for k in positions)
        return replace(self, bounds=bounds, inside=inside)

    def unfitted(self) -> Self:
        """Return the same model; bounds of single items are taken from their table."""
        return self if self._one_interval else replace(self, bounds="items", inside=None)

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """Return the model of its items followed by those of `other`, each with its bounds."""
        if not self.alike(other):
            return super().joined(n_items, other, n_others)
        if self._one_interval and (self.bounds, self.inside) == (other.bounds, other.inside):
            return self
        parts = [_by_item(model, n) for model, n in ((self, n_items), (other, n_others))]
        bounds, inside = (tuple(a + b) for a, b in zip(*parts, strict=True))
        return replace(self, bounds=bounds, inside=inside)

    def alike(self, other: MeasurementModel) -> bool:
        """Return True if it is the same model; items may have different bounds."""
        return type(self) is type(other)

    def check(self, cells: Array, items: Sequence[str]) -> None:
        """Refuse responses outside the bounds."""
        low, high = self.extent()
        if np.ndim(low) and np.size(low) != len(items):
            raise InputError(
                f"bounds has {np.size(low)} pairs, but there are {len(items)} items. "
                "Give one pair for all, or one for each."
            )
        for rows in row_blocks(cells.shape[0], max(1, BLOCK_CELLS // cells.shape[1])):
            block = cells[rows]
            outside = (block < low) | (block > high)
            if outside.any():
                row, column = np.argwhere(outside)[0]
                worst, best = (np.broadcast_to(end, len(items))[column] for end in (low, high))
                raise InputError(
                    f"Item {items[column]!r} has the response {block[row, column]:.10g}, outside "
                    f"the bounds {worst:g} and {best:g} of the {self.name} model. "
                    f"{self._advice()}"
                )

    def _advice(self) -> str:
        return "Correct it, or give bounds, such as Continuous(bounds=(low, high))."

    def extent(self) -> tuple[Floats | float, Floats | float]:
        """Return the bounds of each item."""
        if isinstance(self.bounds, str):
            return UNIT
        if isinstance(self.bounds[0], tuple):
            pairs = np.array(self.bounds, dtype=float)
            return pairs[:, 0], pairs[:, 1]
        return float(self.bounds[0]), float(self.bounds[1])

    def read(self, cells: Array) -> Array:
        """Return log-odds of the share of the interval; NaN if missing."""
        xp = array_namespace(cells)
        above, below = self._distances(cells)
        above /= below
        return np.log(above, out=above) if xp is np else xp.log(above)

    def log_base(self, cells: Array, weights: Array) -> float:
        """Return Σ weights × log |dz / dy|: densities are those of the responses as given."""
        xp = array_namespace(cells)
        above, below = self._distances(cells)
        low, high = (like(bound, cells) for bound in self.extent())
        span = high - low
        above *= below
        above /= span**2  # share of the interval times its complement
        if xp is np and (weights == 1).all() and not np.isnan(above.sum()):
            spans = np.log(np.broadcast_to(span, above.shape[1])).sum()
            return -_log_product(above) - len(above) * float(spans)
        factors = xp.where(xp.isnan(above), xp.ones_like(above), above * span)
        return -float(weights @ xp.sum(xp.log(factors), axis=1))

    def _distances(self, cells: Array) -> tuple[Array, Array]:
        """Return distances of responses from the lower and the upper bound, as new arrays."""
        xp = array_namespace(cells)
        low, high = (like(bound, cells) for bound in self.extent())
        bottom, top = low, high
        if self.inside is not None:
            pairs = np.array(self.inside, dtype=float)
            bottom, top = (like(column, cells) for column in pairs.T)
            if self.at_bounds != "midway":
                cells = xp.where(cells <= low, 0 * cells + bottom, cells)
                cells = xp.where(cells >= high, 0 * cells + top, cells)
                bottom, top = low, high
        least = NEAREST * (high - low)
        cells = xp.clip(cells, xp.maximum(bottom, low + least), xp.minimum(top, high - least))
        return cells - low, high - cells

    def _inside(self, cells: Array, bounds: Pair, item: str | None) -> Pair:
        """Return the values that responses at the bounds count as."""
        low, high = bounds
        if self.at_bounds != "midway":
            if not low + self.at_bounds < high - self.at_bounds:
                raise InputError(
                    f"at_bounds is {self.at_bounds:g}, but the bounds are {low:g} and {high:g}: "
                    "responses would be moved past the middle. Give less than half of the range."
                )
            return low + self.at_bounds, high - self.at_bounds
        nearest = _extremes(cells, bounds, inside=bounds)
        if nearest is bounds:
            # No response, or a constant item at a bound, has no information whatever its value.
            if item is not None or np.isnan(cells).all():
                return 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high
            raise InputError(
                f"All responses are exactly {low:g} or {high:g}, the bounds of the {self.name} "
                "model. Such responses are right or wrong: give them as 0 and 1 with "
                "kind='binary', and calibrate a '2pl'."
            )
        return (low + nearest[0]) / 2, (high + nearest[1]) / 2


def _extremes(cells: Array, otherwise: Pair, inside: Pair | None = None) -> Pair:
    """Return the smallest and the largest response, of those strictly `inside` if given."""
    low, high = np.inf, -np.inf
    for rows in row_blocks(cells.shape[0], max(1, BLOCK_CELLS // cells.shape[1])):
        block = cells[rows]
        if inside is not None:
            block = np.where((block > inside[0]) & (block < inside[1]), block, np.nan)
        low = min(low, float(np.fmin.reduce(block, axis=None, initial=np.inf)))
        high = max(high, float(np.fmax.reduce(block, axis=None, initial=-np.inf)))
    if low > high:
        return otherwise
    return (low, high) if low < high or inside is not None else (low - 0.5, high + 0.5)


def _log_product(shares: Floats) -> float:
    """Return Σ log of numbers from 1e-13 to 1, with one logarithm for each sixteen of them."""
    whole = len(shares) - len(shares) % 16
    products = shares[:whole].reshape(-1, 16, shares.shape[1]).prod(axis=1)
    return float(np.log(products).sum() + np.log(shares[whole:]).sum())


def _pairs(given: Any) -> Pair | tuple[Pair, ...]:
    """Return bounds as tuples of floats, ascending and finite."""
    try:
        table = np.asarray(given, dtype=float)
        fine = table.shape[-1] == 2 and table.ndim in (1, 2) and np.isfinite(table).all()
    except (TypeError, ValueError, IndexError):
        fine = False
    span = table[..., 1] - table[..., 0] if fine else np.zeros(1)
    if not ((span > NARROWEST) & (span < WIDEST)).all():
        raise InputError(
            "`bounds` must be (low, high) with low below high, finite and on a scale that can be "
            f"told, or such a pair for each item, got {given!r:.60}."
        )
    if table.ndim == 1:
        return float(table[0]), float(table[1])
    return tuple((float(low), float(high)) for low, high in table)


def _by_item(model: Bounded, n_items: int) -> list[list[Pair]]:
    """Return bounds of each item, and values of responses at them."""
    bounds: Any = UNIT if isinstance(model.bounds, str) else model.bounds
    both: tuple[Any, Any] = bounds, bounds if model.inside is None else model.inside
    return [list(p) if isinstance(p[0], tuple) else [p] * n_items for p in both]


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
        """Return discrimination, intercept and log standard deviation of the noise."""
        return SLOPE, INTERCEPT, NOISE

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Return the log-odds and its square."""
        del dtype
        return [values, values**2]

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return constant, factor of z and factor of z², (3, n_items, n_abilities)."""
        xp = array_namespace(coords)
        mean, precision = _mean(coords, abilities), xp.exp(-2 * coords[:, 2:3])
        constant = -0.5 * precision * mean**2 - coords[:, 2:3] - 0.5 * LOG_2PI
        return xp.stack([constant, precision * mean, -0.5 * precision + 0 * mean])

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of the terms, (3, 3, n_items, n_abilities)."""
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
        """Return gradient, Fisher and observed information of the expected log-likelihood."""
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
        """Return `curvature` from sums over respondents, with abilities averaged."""
        xp = array_namespace(coords)
        slope, intercept, noise = coords[:, 0], coords[:, 1], xp.exp(coords[:, 2])
        loading = slope * noise
        along = sums.z_ability - intercept * sums.ability - loading * sums.ability_square
        level = sums.z - intercept * sums.asked - loading * sums.ability
        square = sums.z_square - intercept * sums.z - loading * sums.z_ability
        square = (square - intercept * level - loading * along) / noise**2
        by_slope, by_level = along / noise, level / noise**2
        gradient = xp.stack([by_slope, by_level, square + slope * by_slope - sums.asked], axis=1)
        spread, mixed = slope * sums.ability_square, slope * sums.ability / noise
        by_item = sums.ability_square + 0 * slope  # complete tables have one sum for all items
        own = [by_item, sums.ability / noise, spread, sums.asked / noise**2, mixed]
        expected = [*own, 2 * sums.asked + slope * spread]
        observed = [*own, 2 * square + 3 * slope * by_slope + slope * spread]
        observed[2], observed[4] = by_slope + spread, 2 * by_level + mixed
        return gradient, symmetric(expected), symmetric(observed)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Return derivatives in ability; the information is α² everywhere."""
        xp = array_namespace(coords)
        mean = _mean(coords, abilities)
        slope = coords[:, :1] * xp.exp(-coords[:, 2:3])
        terms = xp.stack([-slope * mean, slope + 0 * mean, 0 * mean])
        return AbilitySlopes(terms, coords[:, :1] ** 2 + 0 * mean, 0 * mean)

    def loadings(self, coords: Array) -> Array:
        """Return the slope of the mean log-odds in ability, (n_items,)."""
        return _loading(coords)[:, 0]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Return expected score, (n_items, n_abilities)."""
        low, high = (like(bound, coords)[..., None] for bound in self.extent())
        return low + (high - low) * self._share_moment(coords, abilities, 1)

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Return variance of the score, (n_items, n_abilities)."""
        low, high = (like(bound, coords)[..., None] for bound in self.extent())
        mean = self._share_moment(coords, abilities, 1)
        spread = self._share_moment(coords, abilities, 2) - mean**2
        return (high - low) ** 2 * array_namespace(coords).clip(spread, 0.0, None)

    def _share_moment(self, coords: Array, abilities: Array, power: int) -> Array:
        """Return the expected power of the share of the interval."""
        xp = array_namespace(coords)
        mean, noise = _mean(coords, abilities), xp.exp(coords[:, 2:3])
        total = 0 * mean
        for point, weight in zip(*_normal_rule(float(xp.max(noise))), strict=True):
            total = total + float(weight) * sigmoid_pair(mean + float(point) * noise)[0] ** power
        return total

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return mean and standard deviation of z, split by the loading."""
        xp = array_namespace(means)
        del asked
        loading = xp.clip(loading, -0.95, 0.95)
        spread = xp.sqrt(xp.clip(means[1] - means[0] ** 2, 0.0, None))
        unique = xp.sqrt(1 - loading**2)
        noise = xp.log(xp.clip(spread * unique, LEAST_NOISE, None))
        slope = xp.where(spread > 0, loading / unique, 0 * loading)
        noise = xp.where(spread > 0, noise, 0 * noise)
        return xp.stack([slope, means[0], noise], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`."""
        xp = array_namespace(coords)
        intercept = coords[:, 1:2] + _loading(coords) * shift
        return xp.concat([coords[:, :1] * scale, intercept, coords[:, 2:]], axis=1)

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return discrimination α, difficulty β and scaling γ."""
        slope = self._slope(coords)
        scaling = np.exp(-coords[:, 2]) / slope
        return {
            "discrimination": slope,
            "difficulty": -coords[:, 1] * scaling,
            "scaling": scaling,
        }

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""
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
        """Return derivatives of the public parameters in the coordinates."""
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
        """Return discriminations, the least one for items that do not discriminate."""
        return np.where(self.flat(coords), FLATTEST, coords[:, 0])

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return log-normal discrimination and scaling, normal difficulty."""
        return {
            "discrimination": np.exp(random.normal(0.3, 0.3, n_items)),
            "difficulty": random.normal(0.0, 1.0, n_items),
            "scaling": np.exp(random.normal(0.0, 0.2, n_items)),
        }

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Return normal log-odds, as scores."""
        mean = _mean(coords, abilities)
        z = mean + np.exp(coords[:, 2:3]) * random.standard_normal(mean.shape)
        low, high = (np.asarray(bound)[..., None] for bound in self.extent())
        scores: np.ndarray = low + (high - low) * sigmoid_pair(z)[0]
        return scores


def _normal_rule(noise: float) -> tuple[Floats, Floats]:
    """Return points and weights that integrate a standard normal times a logistic curve.

    The curve is one of points times `noise`. Equal steps, smaller than the changes of both, are
    exact to 1e-9.
    """
    step = max(min(0.35, 0.6 / max(noise, 1e-9)), 0.005)
    points = np.arange(-8.5, 8.5 + step, step)
    weights = np.exp(-0.5 * points**2)
    return points, weights / weights.sum()


def _mean(coords: Array, abilities: Array) -> Array:
    """Return mean log-odds, (n_items, n_abilities)."""
    return _loading(coords) * abilities + coords[:, 1:2]


def _loading(coords: Array) -> Array:
    """Return the slope of the mean log-odds in ability, (n_items, 1)."""
    return coords[:, :1] * array_namespace(coords).exp(coords[:, 2:3])
