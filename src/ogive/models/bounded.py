"""Scores inside an interval: what the continuous and the beta model share.

Engines read a score y as the log-odds of its place between the bounds,
z = log((y - low) / (high - y)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ogive.errors import InputError
from ogive.models.measurement import Coordinate, MeasurementModel
from ogive.numerics.arrays import Array, Floats, array_namespace, like, row_blocks

Pair = tuple[float, float]
Bounds = Literal["auto", "table", "items"] | Pair | tuple[Pair, ...]

UNIT: Pair = (0.0, 1.0)
CELLS_AT_A_TIME = 1 << 18
NARROWEST, WIDEST = 1e-100, 1e100  # ranges that arithmetic can hold
NEAREST = 1e-12  # part of the range; nothing is read as nearer to a bound


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
    inside: Pair | tuple[Pair, ...] | None = None  # where responses at bounds stand
    coordinates: tuple[Coordinate, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, str):
            object.__setattr__(self, "bounds", _pairs(self.bounds))
        elif self.bounds not in ("auto", "table", "items"):
            raise InputError(
                f"bounds is {self.bounds!r}; give (low, high), a pair for each item, 'table', "
                "'items' or 'auto'."
            )
        if self.inside is not None:
            object.__setattr__(self, "inside", _pairs(self.inside))
            self._check_inside()
        moved = self.at_bounds
        number = isinstance(moved, int | float) and not isinstance(moved, bool)
        if moved != "midway" and not (number and 0 < float(moved) < np.inf):
            raise InputError(
                f"at_bounds is {moved!r}; give 'midway', or a number above 0 by which responses "
                "at a bound are moved inside."
            )
        if not self.coordinates:
            object.__setattr__(self, "coordinates", self.default_coordinates())

    def _check_inside(self) -> None:
        """Places of responses at the bounds lie between these."""
        bounds = np.array(UNIT if isinstance(self.bounds, str) else self.bounds, dtype=float)
        inside = np.array(self.inside, dtype=float)
        alike = inside.shape == bounds.shape
        if not (alike and ((inside - bounds) * [1, -1] >= 0).all()):
            raise InputError("inside must hold a pair between each pair of bounds.")

    def fitted_to(self, cells: Array, items: Sequence[str]) -> Self:
        """The same model with bounds as numbers, and places for responses at them."""
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
        """The bounds as numbers."""
        if not isinstance(self.bounds, str):
            return self.bounds
        if self.bounds == "items":
            return tuple(_extremes(cells[:, [k]], UNIT) for k in range(cells.shape[1]))
        low, high = _extremes(cells, UNIT)
        return UNIT if self.bounds == "auto" and low >= 0 and high <= 1 else (low, high)

    def of_items(self, positions: Sequence[int] | np.ndarray) -> Self:
        """The model of some of the items it was fitted to."""
        if isinstance(self.bounds, str) or not isinstance(self.bounds[0], tuple):
            return self
        parts: dict[str, Any] = {"bounds": tuple(self.bounds[int(k)] for k in positions)}
        if self.inside is not None:
            parts["inside"] = tuple(self.inside[int(k)] for k in positions)
        return replace(self, **parts)

    def unfitted(self) -> Self:
        """The same model; bounds of single items are taken from their table."""
        if isinstance(self.bounds, str) or not isinstance(self.bounds[0], tuple):
            return self
        return replace(self, bounds="items", inside=None)

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """The model of its `n_items` items followed by those of `other`, each with its bounds."""
        if not self.alike(other):
            return super().joined(n_items, other, n_others)
        whole = isinstance(self.bounds, str) or not isinstance(self.bounds[0], tuple)
        if whole and (self.bounds, self.inside) == (other.bounds, other.inside):
            return self
        parts = [_of_each(model, n) for model, n in ((self, n_items), (other, n_others))]
        bounds, inside = (tuple(a + b) for a, b in zip(*parts, strict=True))
        return replace(self, bounds=bounds, inside=inside)

    def alike(self, other: MeasurementModel) -> bool:
        """Whether it is the same model; items may have different bounds."""
        return type(self) is type(other)

    def check(self, cells: Array, items: Sequence[str]) -> None:
        """Refuse responses outside the bounds."""
        low, high = self.extent()
        if np.ndim(low) and np.size(low) != len(items):
            raise InputError(
                f"bounds has {np.size(low)} pairs, but there are {len(items)} items. "
                "Give one pair for all, or one for each."
            )
        for rows in row_blocks(cells.shape[0], max(1, CELLS_AT_A_TIME // cells.shape[1])):
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
        """The bounds of each item."""
        if isinstance(self.bounds, str):
            return UNIT
        if isinstance(self.bounds[0], tuple):
            pairs = np.array(self.bounds, dtype=float)
            return pairs[:, 0], pairs[:, 1]
        return float(self.bounds[0]), float(self.bounds[1])

    def read(self, cells: Array) -> Array:
        """Log-odds of the place between the bounds; NaN where never asked."""
        xp = array_namespace(cells)
        above, below = self._distances(cells)
        above /= below
        return np.log(above, out=above) if xp is np else xp.log(above)

    def log_base(self, cells: Array, weights: Array) -> float:
        """Σ weights x log |dz / dy|: densities are those of the responses as given."""
        xp = array_namespace(cells)
        above, below = self._distances(cells)
        low, high = (like(bound, cells) for bound in self.extent())
        span = high - low
        above *= below
        above /= span**2  # the place between the bounds times its complement
        if xp is np and (weights == 1).all() and not np.isnan(above.sum()):
            spans = np.log(np.broadcast_to(span, above.shape[1])).sum()
            return -_log_product(above) - len(above) * float(spans)
        found = xp.where(xp.isnan(above), xp.ones_like(above), above * span)
        return -float(weights @ xp.sum(xp.log(found), axis=1))

    def _distances(self, cells: Array) -> tuple[Array, Array]:
        """How far responses lie from the lower and from the upper bound; new arrays."""
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
        """Where responses at the bounds stand."""
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
            # Nothing asked, or a constant item at a bound: it tells nothing, wherever it stands.
            if item is not None or np.isnan(cells).all():
                return 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high
            raise InputError(
                f"All responses are exactly {low:g} or {high:g}, the bounds of the {self.name} "
                "model. Such responses are right or wrong: give them as 0 and 1 with "
                "kind='binary', and calibrate a '2pl'."
            )
        return (low + nearest[0]) / 2, (high + nearest[1]) / 2


def _extremes(cells: Array, otherwise: Pair, inside: Pair | None = None) -> Pair:
    """The smallest and the largest response; with `inside`, of those strictly between two."""
    low, high = np.inf, -np.inf
    for rows in row_blocks(cells.shape[0], max(1, CELLS_AT_A_TIME // cells.shape[1])):
        block = cells[rows]
        if inside is not None:
            block = np.where((block > inside[0]) & (block < inside[1]), block, np.nan)
        low = min(low, float(np.fmin.reduce(block, axis=None, initial=np.inf)))
        high = max(high, float(np.fmax.reduce(block, axis=None, initial=-np.inf)))
    if low > high:
        return otherwise
    return (low, high) if low < high or inside is not None else (low - 0.5, high + 0.5)


def _log_product(shares: Floats) -> float:
    """Σ log of numbers from 1e-13 to 1; a logarithm for each sixteen of them."""
    whole = len(shares) - len(shares) % 16
    together = shares[:whole].reshape(-1, 16, shares.shape[1]).prod(axis=1)
    return float(np.log(together).sum() + np.log(shares[whole:]).sum())


def _pairs(given: Any) -> Pair | tuple[Pair, ...]:
    """Bounds as tuples of floats, ascending and finite."""
    try:
        table = np.asarray(given, dtype=float)
        fine = table.shape[-1] == 2 and table.ndim in (1, 2) and np.isfinite(table).all()
    except (TypeError, ValueError, IndexError):
        fine = False
    span = table[..., 1] - table[..., 0] if fine else np.zeros(1)
    if not ((span > NARROWEST) & (span < WIDEST)).all():
        raise InputError(
            f"bounds is {given!r:.60}; give (low, high) with low below high, finite and on a scale "
            "that can be told, or such a pair for each item."
        )
    if table.ndim == 1:
        return float(table[0]), float(table[1])
    return tuple((float(low), float(high)) for low, high in table)


def _of_each(model: Bounded, n_items: int) -> list[list[Pair]]:
    """Bounds of each item, and places of responses at them."""
    bounds: Any = UNIT if isinstance(model.bounds, str) else model.bounds
    both: tuple[Any, Any] = bounds, bounds if model.inside is None else model.inside
    return [list(p) if isinstance(p[0], tuple) else [p] * n_items for p in both]
