"""Divide-by-total models: Bock's nominal and Muraki's generalised partial credit model.

`Nominal` (Bock, 1972): the probability of option k is proportional to exp(s_k θ + i_k). The right
option is category 0, with slope and intercept 0, so that a slope says how much the log-odds of a
wrong option against the right one rise with ability. Slopes of ordinary wrong options are
negative; a positive one attracts strong respondents.

`PartialCredit` (Muraki, 1992): the log-odds of neighbouring grades are a(θ - b_k). Engines move the
slope a and an intercept of each grade past the first, c_k = -a(b₁ + ... + b_k); the probability of
grade k is proportional to exp(k a θ + c_k).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ogive.irt.models.base import FLATTEST, Coordinate, Normal
from ogive.irt.models.categorical import VariedCategories, log_shares, slope_of_loading
from ogive.irt.models.graded import Ordered
from ogive.irt.models.logistic import SLOPE
from ogive.stats.array_backend import Array, Floats, array_namespace, as_numpy, like
from ogive.stats.newton import symmetric

NO_OPTION = -1000.0  # intercept of an option that an item does not have
STEEPEST = 20.0
NO_SLOPE = -STEEPEST - 1.0  # slope of such an option
NO_GRADE = -1000.0  # intercept of a grade that an item does not have


@dataclass(frozen=True, kw_only=True)
class Nominal(VariedCategories):
    """Nominal categories (Bock, 1972), for choices: see `Responses.from_choices`.

    `categories` is how many options items have, one number or one each; left out, the table says
    it. Category 0 is the right option. Items have a slope and an intercept for each wrong option,
    relative to the right one; `discrimination` is minus the mean slope, and at `difficulty` the
    right option is as likely as all wrong ones together, were they chosen equally often.

    >>> import ogive as og
    >>> drawn = og.simulate(og.Nominal(categories=4), 300, 8, random_state=0).responses
    >>> og.calibrate(drawn, "nominal").items.columns[:4].tolist()
    ['discrimination', 'difficulty', 'slope_1', 'intercept_1']
    """

    name: ClassVar[str] = "nominal"
    kind: ClassVar[str] = "nominal"
    noun: ClassVar[str] = "option"
    step_name: ClassVar[str] = "slope_"
    simulated: ClassVar[int] = 4
    lowest: int | None = 0

    @property
    def n_categories(self) -> int:  # type: ignore[override]
        """The most options that an item has; each wrong one has two coordinates."""
        return len(self.coordinates) // 2 + 1 if self.coordinates else super().n_categories

    @property
    def direction(self) -> tuple[float, ...]:
        """Every other option than the right one is worse by the same."""
        return (-1.0,) * (self.n_categories - 1)

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Return slope and intercept of each wrong option."""
        return tuple(
            # Every item has one wrong option; the others may be absent.
            replace(c, name=f"{c.name}_{k}", absent=c.low if k > 1 else None)
            for k in range(1, self.n_categories)
            for c in (
                Coordinate("slope", Normal(0, 3), NO_SLOPE, STEEPEST, longest=1.0),
                Coordinate("intercept", Normal(0, 5), NO_OPTION, longest=2.0),
            )
        )

    def scored(self, values: Floats) -> Floats:
        """Return 1 for the right option, 0 for any other."""
        return np.where(np.isnan(values), np.nan, (values == 0) * 1.0)

    def extent(self) -> tuple[Floats | float, Floats | float]:
        """Return wrong and right."""
        return 0.0, 1.0

    def stored(self) -> tuple[Floats | float, Floats | float]:
        """Return the number of the right option, and of the last one of each item."""
        return super().extent()

    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of each option, (n_categories, n_items, n_abilities)."""
        slope, intercept = self._lines(coords)
        odds = [
            slope[:, k, None] * abilities + intercept[:, k, None] for k in range(slope.shape[1])
        ]
        return log_shares([0 * odds[0], *odds])

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_prob`, (width, n_categories, n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        own = like(np.eye(self.n_categories), coords)
        slopes: list[Array] = []
        for k in range(1, self.n_categories):
            residual = own[k][:, None, None] - prob[k] + 0 * prob
            slopes += [residual * abilities, residual]
        return xp.stack(slopes)

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient and information, expected and observed: they are the same."""
        xp = array_namespace(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        powers = xp.stack([abilities**2, abilities, 1 + 0 * abilities], axis=1)
        past = range(1, self.n_categories)
        residuals = [(counts[k - 1] - totals * prob[k]) @ powers[:, 1:] for k in past]
        products = {
            (i, k): (totals * prob[i] * (float(i == k) - prob[k])) @ powers
            for i in past
            for k in range(i, self.n_categories)
        }
        rows = [
            products[min(i, k), max(i, k)][:, p + q]
            for i in past
            for p in range(2)
            for k in range(i, self.n_categories)
            for q in range(p if i == k else 0, 2)
        ]
        information = symmetric(rows)
        return xp.concat(residuals, axis=1), information, information

    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Return probabilities of the options with two derivatives in ability."""
        xp = array_namespace(coords)
        slope, _ = self._lines(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        each = xp.stack([0 * slope[:, 0], *(slope[:, k] for k in range(slope.shape[1]))])[..., None]
        diff = each - xp.sum(each * prob, axis=0)
        return prob, prob * diff, prob * (diff**2 - xp.sum(prob * diff**2, axis=0))

    def expected(self, coords: Array, abilities: Array) -> Array:
        """Return the chance of the right option, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        return xp.exp(self.log_prob(coords, abilities)[0])

    def expected_slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `expected` in the coordinates, (width, n_items, n_abilities)."""
        return self.slopes(coords, abilities)[:, 0] * self.expected(coords, abilities)

    def variance(self, coords: Array, abilities: Array) -> Array:
        """Return variance of being right, (n_items, n_abilities)."""
        chance = self.expected(coords, abilities)
        return chance * (1 - chance)

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return one slope for all wrong options, and intercepts from the options' shares."""
        xp = array_namespace(means)
        slope = -slope_of_loading(loading)
        shares = xp.log(self._start_shares(means, asked))
        flags = self._present(slope.shape[0])
        columns: list[Array] = []
        for k in range(1, self.n_categories):
            present = like(flags[:, k - 1], slope) > 0
            columns += [
                xp.where(present, slope, 0 * slope + NO_SLOPE),
                xp.where(present, shares[k] - shares[0], 0 * slope + NO_OPTION),
            ]
        return xp.stack(columns, axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`."""
        xp = array_namespace(coords)
        slope, intercept = coords[:, ::2], coords[:, 1::2]
        moved = xp.stack([slope * scale, intercept + slope * shift], axis=2)
        return xp.where(self.absent(coords), coords, xp.reshape(moved, coords.shape))

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return discrimination and difficulty, then slope and intercept of each wrong option."""
        slope, shift = self._means(coords)
        own = np.where(as_numpy(self._lacks(coords)), np.nan, coords).T
        names = [coordinate.name for coordinate in self.coordinates]
        return {
            "discrimination": slope,
            "difficulty": shift / slope,
            **dict(zip(names, own, strict=True)),
        }

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these slopes and intercepts."""
        columns: list[Floats] = []
        for k in range(1, self.n_categories):
            slope = np.asarray(parameters[f"slope_{k}"], dtype=float)
            intercept = np.asarray(parameters[f"intercept_{k}"], dtype=float)
            lacks = np.isnan(slope) | np.isnan(intercept)
            columns += [np.where(lacks, NO_SLOPE, slope), np.where(lacks, NO_OPTION, intercept)]
        return np.stack(columns, axis=1)

    def flat(self, coords: Floats) -> np.ndarray:
        """Flag items that do not discriminate, (n_items,)."""
        flat: np.ndarray = np.abs(self._means(coords)[0]) <= FLATTEST
        return flat

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Return derivatives of the public parameters in the coordinates."""
        present = ~as_numpy(self._lacks(coords))
        share = present / (present.sum(axis=1, keepdims=True) / 2)
        slope, shift = self._means(coords)
        of_slope, of_shift = np.zeros(coords.shape), np.zeros(coords.shape)
        of_slope[:, ::2] = -share[:, ::2]
        of_shift[:, 1::2] = share[:, 1::2]
        by_slope = of_slope * (shift / slope**2)[:, None]
        by_slope = np.where(self.flat(coords)[:, None], 0.0, by_slope)
        jacobian = {"discrimination": of_slope, "difficulty": of_shift / slope[:, None] - by_slope}
        for column, coordinate in enumerate(self.coordinates):
            own = np.zeros(coords.shape)
            own[:, column] = 1.0
            jacobian[coordinate.name] = np.where(present[:, column, None], own, np.nan)
        return jacobian

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return wrong options that lose with ability, each at its own rate."""
        n, counts = self._simulated_counts(n_items)
        location = random.normal(0.0, 1.0, n_items) - np.log(np.maximum(counts - 1, 1))
        sample = {}
        for k in range(1, n):
            slope = -np.exp(random.normal(0.1, 0.4, n_items))
            intercept = location + random.normal(0.0, 0.7, n_items)
            sample[f"slope_{k}"] = np.where(k < counts, slope, np.nan)
            sample[f"intercept_{k}"] = np.where(k < counts, intercept, np.nan)
        return sample

    def _lacks(self, coords: Array) -> Array:
        """Flag coordinates of options that an item does not have, (n_items, width)."""
        xp = array_namespace(coords)
        lacks = self.absent(coords)[:, 1::2]
        return xp.reshape(xp.stack([lacks, lacks], axis=2), coords.shape)

    def _lines(self, coords: Array) -> tuple[Array, Array]:
        """Return slopes, 0 if absent, and intercepts, each (n_items, n_categories - 1)."""
        xp = array_namespace(coords)
        slope = xp.where(self._lacks(coords), 0 * coords, coords)[:, ::2]
        return slope, coords[:, 1::2]

    def _means(self, coords: Floats) -> tuple[Floats, Floats]:
        """Return minus the mean slope, kept from 0, and mean intercept + log(wrong options)."""
        present = ~as_numpy(self._lacks(coords))
        n_wrong = present[:, ::2].sum(axis=1)
        slope = -np.where(present, coords, 0.0)[:, ::2].sum(axis=1) / n_wrong
        shift = np.where(present, coords, 0.0)[:, 1::2].sum(axis=1) / n_wrong + np.log(n_wrong)
        return np.where(np.abs(slope) < FLATTEST, FLATTEST, slope), shift


@dataclass(frozen=True, kw_only=True)
class PartialCredit(Ordered):
    """Generalised partial credit (Muraki, 1992).

    `categories` and `lowest` as in `Graded`. Items have a discrimination and a difficulty for each
    step.

    >>> import ogive as og
    >>> drawn = og.simulate(og.PartialCredit(categories=3), 200, 6, random_state=0).responses
    >>> og.calibrate(drawn, og.PartialCredit()).items.columns[:3].tolist()
    ['discrimination', 'difficulty', 'difficulty_1']
    """

    name: ClassVar[str] = "gpcm"

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Return slope, and an intercept of each grade past the first, weaker the higher it is."""
        steps = [
            Coordinate(
                f"intercept_{k}",
                Normal(0, 5.0 * k),
                low=NO_GRADE,
                longest=2.0 * k,
                absent=NO_GRADE if k > 1 else None,
            )
            for k in range(1, self.n_categories)
        ]
        return (SLOPE, *steps)

    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of each category, (n_categories, n_items, n_abilities)."""
        return log_shares(self._log_odds(coords, abilities))

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_prob`, (width, n_categories, n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        grades = like(np.arange(self.n_categories), coords)[:, None, None]
        own = like(np.eye(self.n_categories), coords)
        slopes = [
            (grades - xp.sum(grades * prob, axis=0)) * abilities,
            *(own[k][:, None, None] - prob[k] for k in range(1, self.n_categories)),
        ]
        return xp.stack([slope + 0 * prob for slope in slopes])

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient and information, expected and observed: they are the same."""
        xp = array_namespace(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        past = range(1, self.n_categories)
        residuals = [counts[k - 1] - totals * prob[k] for k in past]
        graded = sum(k * residuals[k - 1] for k in past)
        gradient = xp.stack([graded @ abilities, *(xp.sum(r, axis=1) for r in residuals)], axis=1)
        mean = sum(k * prob[k] for k in past)
        variance = sum(k * k * prob[k] for k in past) - mean**2
        rows = [(totals * variance) @ abilities**2]
        rows += [(totals * prob[k] * (k - mean)) @ abilities for k in past]
        for i in past:
            for k in range(i, self.n_categories):
                rows.append(xp.sum(totals * prob[i] * (float(i == k) - prob[k]), axis=1))
        information = symmetric(rows)
        return gradient, information, information

    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Return probabilities of the categories with two derivatives in ability."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        prob = xp.exp(self.log_prob(coords, abilities))
        grades = like(np.arange(self.n_categories), coords)[:, None, None]
        diff = grades - xp.sum(grades * prob, axis=0)
        variance = xp.sum(prob * diff**2, axis=0)
        return prob, slope * prob * diff, slope**2 * prob * (diff**2 - variance)

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return a slope from the loading and the number of grades, and the grades' shares."""
        xp = array_namespace(means)
        slope = slope_of_loading(loading) / (self.n_categories - 1) ** 0.5
        shares = xp.log(self._start_shares(means, asked))
        present = like(self._present(slope.shape[0]), slope) > 0
        intercepts = [
            xp.where(present[:, k - 1], shares[k] - shares[0], 0 * slope + NO_GRADE)
            for k in range(1, self.n_categories)
        ]
        return xp.stack([slope, *intercepts], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        grades = like(np.arange(1, self.n_categories), coords)
        moved = coords[:, 1:] + slope * grades * shift
        moved = xp.where(self.absent(coords)[:, 1:], coords[:, 1:], moved)
        return xp.concat([slope * scale, moved], axis=1)

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""
        slope = np.asarray(parameters["discrimination"], dtype=float)
        steps = [
            -slope * np.asarray(parameters[f"difficulty_{k}"], float)
            for k in range(1, self.n_categories)
        ]
        sums = np.cumsum(steps, axis=0)
        return np.stack([slope, *np.where(np.isnan(sums), NO_GRADE, sums)], axis=1)

    def _steps(self, coords: Floats) -> Floats:
        sums = np.where(as_numpy(self.absent(coords)), np.nan, coords)
        sums[:, 0] = 0.0
        return np.asarray(np.diff(sums, axis=1))

    def _step_jacobians(self, coords: Floats) -> list[Floats]:
        jacobians = []
        for k in range(1, self.n_categories):
            jacobian = np.zeros(coords.shape)
            jacobian[:, k] = 1
            if k > 1:
                jacobian[:, k - 1] = -1
            jacobians.append(jacobian)
        return jacobians

    def _log_odds(self, coords: Array, abilities: Array) -> list[Array]:
        """Return log-odds of each grade against the first, each (n_items, n_abilities)."""
        z = coords[:, :1] * abilities
        return [0 * z, *(k * z + coords[:, k : k + 1] for k in range(1, self.n_categories))]
