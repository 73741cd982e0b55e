"""Responses in categories: what binary, graded and nominal models share.

Items may have different numbers of grades or options (`VariedCategories`). The categories that an
item does not have lie above its last one: their coordinates are absent. A category that an item
has, but that nobody got, keeps a small probability by its prior.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import AbilitySlopes, Coordinate, MeasurementModel
from ogive.stats.array_backend import Array, Floats, array_namespace, like
from ogive.stats.newton import symmetric

TINIEST = 1e-300
LOGISTIC_UNIT = 1.7  # slope of the logistic curve that is nearly the normal one
UNFITTED = 3  # categories of a model that has seen no table
MAX_CATEGORIES = 500


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
        """The grade."""
        return tuple(float(k) for k in range(1, self.n_categories))

    def counts(self, n_items: int) -> np.ndarray:
        """Return the number of categories of each of `n_items` items."""
        return np.full(n_items, self.n_categories)

    @abstractmethod
    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of each category."""

    @abstractmethod
    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Return probabilities and their first and second derivatives in ability."""

    @abstractmethod
    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_prob` in the coordinates: (width, *shape of log_prob)."""

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Return an indicator of each category past the first."""
        xp = array_namespace(values)
        return [xp.astype(values == k, dtype) for k in range(1, self.n_categories)]

    def log_terms(self, coords: Array, abilities: Array) -> Array:
        """Return the log-probability of the first category, and the log-odds of the others."""
        return _from_first(self.log_prob(coords, abilities))

    def term_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_terms` in the coordinates."""
        xp = array_namespace(coords)
        slopes = self.slopes(coords, abilities)
        return xp.concat([slopes[:, :1], slopes[:, 1:] - slopes[:, :1]], axis=1)

    def ability_slopes(self, coords: Array, abilities: Array) -> AbilitySlopes:
        """Return derivatives in ability, and the information on it."""
        xp = array_namespace(coords)
        prob, first, second = self.ability_derivatives(coords, abilities)
        ratio = first / xp.clip(prob, TINIEST, None)
        return AbilitySlopes(
            _from_first(ratio), xp.sum(ratio * first, axis=0), xp.sum(ratio * second, axis=0)
        )

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient, Fisher and observed information of the expected log-likelihood.

        The observed information comes from differences of the gradient; a family with closed forms
        overrides this.
        """
        xp = array_namespace(coords)
        weights = xp.concat([(totals - xp.sum(counts, axis=0))[None], counts])

        def gradient(coords: Array) -> Array:
            return xp.sum(weights * self.slopes(coords, abilities), axis=(1, 3)).T

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
        """Return probability of each category."""
        return self.ability_derivatives(coords, abilities)[0]

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Return expected response: of a binary model, the probability of a right one."""
        return (self.lowest or 0) + _mean(self.category_probabilities(coords, abilities))

    def expected_along(self, coords: Array, abilities: Array) -> tuple[Array, Array]:
        """Return expected response and its derivative in ability, (n_items, n_abilities)."""
        prob, first, _ = self.ability_derivatives(coords, abilities)
        return (self.lowest or 0) + _mean(prob), _mean(first)

    def expected_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `expected` in the coordinates, (width, n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = self.category_probabilities(coords, abilities)
        return xp.stack([_mean(prob * slope) for slope in self.slopes(coords, abilities)])

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Return variance of the response, (n_items, n_abilities)."""
        prob = self.category_probabilities(coords, abilities)
        square = sum((k * k * prob[k] for k in range(2, prob.shape[0])), prob[1])
        return square - _mean(prob) ** 2

    def draw(self, coords: Floats, abilities: Floats, random: np.random.Generator) -> np.ndarray:
        """Return responses by inversion."""
        prob = np.exp(self.log_prob(coords, abilities))
        above = 1 - np.cumsum(prob[:-1], axis=0)
        category = (random.random(above.shape[1:]) < above).sum(axis=0) + (self.lowest or 0)
        highest = self.n_categories + (self.lowest or 0)
        stored: np.ndarray = category.astype(np.int8 if highest <= 128 else np.int16)
        return stored


def log_shares(odds: list[Array]) -> Array:
    """Return log-probabilities of categories with these log-odds, stacked."""
    xp = array_namespace(odds[0])
    top = odds[0]
    for table in odds[1:]:
        top = xp.maximum(top, table)
    total = sum(xp.exp(table - top) for table in odds)
    return xp.stack(odds) - (top + xp.log(total))


def slope_of_loading(loading: Array) -> Array:
    """Return the slope of the logistic curve whose responses correlate with ability like this."""
    xp = array_namespace(loading)
    loading = xp.clip(loading, -0.9, 0.9)
    return LOGISTIC_UNIT * loading / xp.sqrt(1 - loading**2)


def _from_first(table: Array) -> Array:
    """Return the first of the categories, and the others less the first."""
    xp = array_namespace(table)
    return xp.concat([table[:1], table[1:] - table[:1]])


def _mean(prob: Array) -> Array:
    """Return mean category under (n_categories, ...)."""
    total = like(0.0, prob)
    for k in range(1, prob.shape[0]):
        total = total + k * prob[k]
    return total


@dataclass(frozen=True, kw_only=True)
class VariedCategories(Categorical):
    """Grades or options, of which each item has its own number.

    `categories` is the number of grades of an item: one number for all items, or one each. Left
    out, an item has all grades from the lowest of the table to its own highest one. `lowest` is
    the lowest grade: 0 if categories are given, else the lowest of the table.
    """

    noun: ClassVar[str] = "grade"
    step_name: ClassVar[str] = "difficulty_"  # parameters of an item that tell its categories
    simulated: ClassVar[int] = 5  # categories of simulated items by default
    categories: int | tuple[int, ...] | None = None
    lowest: int | None = None
    coordinates: tuple[Coordinate, ...] = ()

    def __post_init__(self) -> None:
        given = self.categories
        if isinstance(given, Iterable):
            object.__setattr__(self, "categories", tuple(_whole(n) for n in given))
        elif given is not None:
            object.__setattr__(self, "categories", _whole(given))
        counts = _as_array(self.categories)
        if np.min(counts, initial=2) < 2 or np.max(counts, initial=2) > MAX_CATEGORIES:
            raise InputError(
                f"categories is {given!r:.60}; an item has from 2 to {MAX_CATEGORIES}. Give one "
                "number for all items, or one each; finer scores suit the continuous model."
            )
        lowest = self.lowest
        whole = isinstance(lowest, int | np.integer) and not isinstance(lowest, bool)
        if lowest is not None and not (whole and 0 <= lowest <= MAX_CATEGORIES):
            raise InputError(
                "`lowest` must be the lowest grade, a whole number such as 0 or 1, got "
                f"{lowest!r:.60}."
            )
        if not self.coordinates:
            object.__setattr__(self, "coordinates", self.default_coordinates())

    @property
    def n_categories(self) -> int:  # type: ignore[override]
        """The largest number of grades of an item, and of coordinates of a model of grades."""
        return (
            len(self.coordinates) or int(np.max(_as_array(self.categories), initial=0)) or UNFITTED
        )

    def fitted_to(self, cells: Array, items: Sequence[str]) -> Self:
        """Return the same model with as many grades as the items of a table have."""
        observed = cells >= 0
        highest = np.where(observed, cells, -1).max(axis=0)
        lowest = self.lowest
        if lowest is None:
            declared = self.categories is not None or not observed.any()
            lowest = 0 if declared else int(cells[observed].min())
        if self.categories is None:
            categories = tuple(max(2, int(top) - lowest + 1) for top in highest)
        else:
            self._check_length(items)
            categories = tuple(np.broadcast_to(_as_array(self.categories), len(items)).tolist())
        fitted = self._with_grades(categories, lowest)
        fitted.check(cells, items)
        return fitted

    def _with_grades(self, categories: tuple[int, ...], lowest: int | None) -> Self:
        """Return the same model, and the same priors, with these numbers of grades."""
        shaped = replace(self, categories=categories, lowest=lowest, coordinates=())
        kept = {c.name: c.prior for c in self.coordinates}
        last = self.coordinates[-1]  # further steps have a prior where this one has
        coordinates = [
            replace(c, prior=kept.get(c.name, c.prior if last.prior is not None else None))
            for c in shaped.default_coordinates()
        ]
        return shaped.with_coordinates(tuple(coordinates))

    def unfitted(self) -> Self:
        """Return the same model, which takes the grades of new items from their table."""
        return replace(self, categories=None)

    def joined(self, n_items: int, other: Self, n_others: int) -> Self:
        """Return the model of its items followed by those of `other`, each with its grades."""
        if type(self) is not type(other) or (self.lowest or 0) != (other.lowest or 0):
            return super().joined(n_items, other, n_others)
        counts = [
            *np.broadcast_to(_as_array(self.categories or UNFITTED), n_items).tolist(),
            *np.broadcast_to(_as_array(other.categories or UNFITTED), n_others).tolist(),
        ]
        return self._with_grades(tuple(counts), self.lowest)

    def alike(self, other: MeasurementModel) -> bool:
        """Return True if it is the same model; items may have different numbers of grades."""
        same = isinstance(other, VariedCategories) and type(self) is type(other)
        return same and (self.lowest or 0) == (getattr(other, "lowest", None) or 0)

    def of_items(self, positions: Sequence[int] | np.ndarray) -> Self:
        """Return the model of some of the items it was fitted to."""
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
        most = np.broadcast_to(_as_array(self.categories), len(items)) + lowest - 1
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
        """Return categories from 0."""
        if not self.lowest:
            return cells
        xp = array_namespace(cells)
        return xp.where(cells < 0, cells, cells - self.lowest)

    def counts(self, n_items: int) -> np.ndarray:
        """Return the number of categories of each of `n_items` items."""
        if isinstance(self.categories, tuple):
            return _as_array(self.categories)
        return np.full(n_items, self.n_categories)

    def extent(self) -> tuple[Floats | float, Floats | float]:
        """Return the lowest and the highest grade of each item."""
        lowest = float(self.lowest or 0)
        if not isinstance(self.categories, tuple):
            return lowest, lowest + self.n_categories - 1
        return np.full(len(self.categories), lowest), lowest + np.array(self.categories) - 1.0

    def shaped(self, parameters: Any) -> Self:
        """Return the same model with as many categories as items with these parameters have."""
        names = [name for name in parameters if str(name).startswith(self.step_name)]
        steps = sorted(n for n in names if str(n)[len(self.step_name) :].isdigit())
        if self.categories is not None or not steps:
            return self
        present = [np.isfinite(np.asarray(parameters[name], dtype=float)) for name in steps]
        counts = 1 + np.atleast_2d(np.array(present).T).sum(axis=1)
        return replace(self, categories=tuple(int(n) for n in counts), coordinates=())

    def _simulated_counts(self, n_items: int) -> tuple[int, np.ndarray]:
        """Return the largest number of categories of simulated items, and that of each."""
        most = self.n_categories if self.categories is not None else self.simulated
        if isinstance(self.categories, tuple) and len(self.categories) == n_items:
            return most, np.array(self.categories)
        return most, np.full(n_items, most)

    def _start_shares(self, means: Array, asked: Array) -> Array:
        """Return the share of each category, (n_categories, n_items), none of them zero."""
        xp = array_namespace(means)
        first = 1 - xp.sum(means, axis=0)
        shares = xp.concat([first[None], means])
        return (shares * asked + 0.5) / (asked + 0.5 * self.n_categories)

    def _present(self, n_items: int) -> np.ndarray:
        """Flag categories past the first that an item has, (n_items, n_categories - 1)."""
        counts = np.broadcast_to(_as_array(self.categories or UNFITTED), n_items)
        present: np.ndarray = np.arange(1, self.n_categories) < counts[:, None]
        return present


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise InputError(f"categories has {number!r}, which is no whole number.")
    return int(number)


def _as_array(categories: int | tuple[int, ...] | None) -> np.ndarray:
    """Return numbers of categories as an array, empty for None."""
    return np.atleast_1d(np.asarray(() if categories is None else categories, dtype=int))
