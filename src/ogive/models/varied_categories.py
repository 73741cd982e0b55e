"""Categories of which items may have different numbers: what grades and options share.

The categories that an item does not have lie above its last one: their coordinates are absent. A
category that an item has, but that nobody got, keeps a small chance through its prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ogive.errors import InputError
from ogive.models.categorical import Categorical
from ogive.models.measurement import Coordinate, MeasurementModel
from ogive.numerics.arrays import Array, Floats, array_namespace

UNFITTED = 3  # categories of a model that has seen no table
MOST_CATEGORIES = 500


@dataclass(frozen=True, kw_only=True)
class VariedCategories(Categorical):
    """Grades or options, of which each item has its own number.

    `categories` is how many grades an item has: one number for all items, or one each. Left
    out, an item has all grades from the lowest of the table to its own highest one. `lowest` is
    the lowest grade: 0 where categories are given, else the lowest of the table.
    """

    noun: ClassVar[str] = "grade"
    categories: int | tuple[int, ...] | None = None
    lowest: int | None = None
    coordinates: tuple[Coordinate, ...] = ()

    def __post_init__(self) -> None:
        given = self.categories
        if isinstance(given, Iterable):
            object.__setattr__(self, "categories", tuple(_whole(n) for n in given))
        elif given is not None:
            object.__setattr__(self, "categories", _whole(given))
        counts = _whole_numbers(self.categories)
        if np.min(counts, initial=2) < 2 or np.max(counts, initial=2) > MOST_CATEGORIES:
            raise InputError(
                f"categories is {given!r:.60}; an item has from 2 to {MOST_CATEGORIES}. Give one "
                "number for all items, or one each; finer scores suit the continuous model."
            )
        lowest = self.lowest
        whole = isinstance(lowest, int | np.integer) and not isinstance(lowest, bool)
        if lowest is not None and not (whole and 0 <= lowest <= MOST_CATEGORIES):
            raise InputError(
                f"lowest is {lowest!r:.60}; give the lowest grade, a whole number such as 0 or 1."
            )
        if not self.coordinates:
            object.__setattr__(self, "coordinates", self.default_coordinates())

    @property
    def n_categories(self) -> int:  # type: ignore[override]
        """The most grades that an item has; every model of grades has as many coordinates."""
        most = int(np.max(_whole_numbers(self.categories), initial=0)) or UNFITTED
        return len(self.coordinates) or most

    def fitted_to(self, cells: Array, items: Sequence[str]) -> Self:
        """The same model with as many grades as the items of a table have."""
        seen = cells >= 0
        highest = np.where(seen, cells, -1).max(axis=0)
        lowest = self.lowest
        if lowest is None:
            declared = self.categories is not None or not seen.any()
            lowest = 0 if declared else int(cells[seen].min())
        if self.categories is None:
            categories = tuple(max(2, int(top) - lowest + 1) for top in highest)
        else:
            self._check_length(items)
            categories = tuple(
                int(n) for n in np.broadcast_to(_whole_numbers(self.categories), len(items))
            )
        fitted = self._with_grades(categories, lowest)
        fitted.check(cells, items)
        return fitted

    def _with_grades(self, categories: tuple[int, ...], lowest: int | None) -> Self:
        """The same model, and the same priors, with so many grades an item."""
        shaped = replace(self, categories=categories, lowest=lowest, coordinates=())
        kept = {c.name: c.prior for c in self.coordinates}
        last = self.coordinates[-1]  # further steps have a prior where this one has
        coordinates = [
            replace(c, prior=kept.get(c.name, c.prior if last.prior is not None else None))
            for c in shaped.default_coordinates()
        ]
        return shaped.with_coordinates(tuple(coordinates))

    def unfitted(self) -> Self:
        """The same model, which takes the grades of new items from their table."""
        return replace(self, categories=None)

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """The model of its `n_items` items followed by those of `other`, each with its grades."""
        if type(self) is not type(other) or (self.lowest or 0) != (other.lowest or 0):
            return super().joined(n_items, other, n_others)
        counts = [
            *np.broadcast_to(_whole_numbers(self.categories or UNFITTED), n_items).tolist(),
            *np.broadcast_to(_whole_numbers(other.categories or UNFITTED), n_others).tolist(),
        ]
        return self._with_grades(tuple(counts), self.lowest)

    def alike(self, other: MeasurementModel) -> bool:
        """Whether it is the same model; items may have different numbers of grades."""
        same = isinstance(other, VariedCategories) and type(self) is type(other)
        return same and (self.lowest or 0) == (getattr(other, "lowest", None) or 0)

    def of_items(self, positions: Sequence[int] | np.ndarray) -> Self:
        """The model of some of the items it was fitted to."""
        if not isinstance(self.categories, tuple):
            return self
        # The width stays that of all items, so that their coordinates still fit.
        return replace(self, categories=tuple(self.categories[int(k)] for k in positions))

    def check(self, cells: Array, items: Sequence[str]) -> None:
        """Refuse grades that an item does not have."""
        if self.categories is None:
            return
        self._check_length(items)
        lowest = self.lowest or 0
        most = np.broadcast_to(_whole_numbers(self.categories), len(items)) + lowest - 1
        outside = (cells > most) | ((cells >= 0) & (cells < lowest))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise InputError(
                f"Item {items[column]!r} has the {self.noun} {cells[row, column]}, but its "
                f"{most[column] - lowest + 1} categories go from {lowest} to {most[column]}. "
                "Correct the cell, or give categories and lowest to the model, as in "
                f"{type(self).__name__}(categories={int(cells.max()) + 1}, lowest=0)."
            )

    def _check_length(self, items: Sequence[str]) -> None:
        if isinstance(self.categories, tuple) and len(self.categories) != len(items):
            raise InputError(
                f"categories has {len(self.categories)} numbers, but there are {len(items)} items. "
                "Give one number for all items, or one each."
            )

    def read(self, cells: Array) -> Array:
        """Categories from 0."""
        if not self.lowest:
            return cells
        xp = array_namespace(cells)
        return xp.where(cells < 0, cells, cells - self.lowest)

    def counts(self, n_items: int) -> np.ndarray:
        """How many categories each of `n_items` items has."""
        if isinstance(self.categories, tuple):
            return _whole_numbers(self.categories)
        return np.full(n_items, self.n_categories)

    def extent(self) -> tuple[Floats | float, Floats | float]:
        """The lowest and the highest grade of each item."""
        lowest = float(self.lowest or 0)
        if not isinstance(self.categories, tuple):
            return lowest, lowest + self.n_categories - 1
        return np.full(len(self.categories), lowest), lowest + np.array(self.categories) - 1.0

    def _start_shares(self, means: Array, asked: Array) -> Array:
        """Share of each category, (n_categories, n_items), none of them zero."""
        xp = array_namespace(means)
        first = 1 - xp.sum(means, axis=0)
        shares = xp.concat([first[None], means])
        return (shares * asked + 0.5) / (asked + 0.5 * self.n_categories)

    def _has(self, n_items: int) -> np.ndarray:
        """Which steps past the first an item has, (n_items, n_categories - 2)."""
        counts = np.broadcast_to(_whole_numbers(self.categories or UNFITTED), n_items)
        has: np.ndarray = np.arange(2, self.n_categories) < counts[:, None]
        return has


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise InputError(f"categories has {number!r}, which is no whole number.")
    return int(number)


def _whole_numbers(categories: int | tuple[int, ...] | None) -> np.ndarray:
    if categories is None:
        return np.array([], dtype=int)
    return np.atleast_1d(np.asarray(categories, dtype=int))
