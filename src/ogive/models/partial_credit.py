"""The generalised partial credit model (Muraki, 1992): log-odds of neighbouring grades a(θ - b_k).

Engines move the slope a and an intercept of each grade past the first, c_k = -a(b₁ + ... + b_k):
the chance of grade k is proportional to exp(k a θ + c_k).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ogive.models.categorical import log_shares, slope_of_loading
from ogive.models.logistic import SLOPE
from ogive.models.measurement import Coordinate
from ogive.models.ordered import Ordered
from ogive.models.priors import Normal
from ogive.numerics.arrays import Array, Floats, array_namespace, as_numpy, like
from ogive.numerics.newton import symmetric

NO_GRADE = -1000.0


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
        """Slope, and an intercept of each grade past the first, weaker the higher it is."""
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
        """Log-probability of each category, (n_categories, n_items, n_abilities)."""
        return log_shares(self._log_odds(coords, abilities))

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Derivatives of `log_prob`, (width, n_categories, n_items, n_abilities)."""
        xp = array_namespace(coords)
        prob = xp.exp(self.log_prob(coords, abilities))
        grades = like(np.arange(self.n_categories), coords)[:, None, None]
        found = [(grades - xp.sum(grades * prob, axis=0)) * abilities]
        own = like(np.eye(self.n_categories), coords)
        found += [own[k][:, None, None] - prob[k] for k in range(1, self.n_categories)]
        return xp.stack([table + 0 * prob for table in found])

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Gradient and information; what is expected of the information is also observed."""
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
        """Probabilities of the categories with two derivatives in ability."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        prob = xp.exp(self.log_prob(coords, abilities))
        grades = like(np.arange(self.n_categories), coords)[:, None, None]
        apart = grades - xp.sum(grades * prob, axis=0)
        variance = xp.sum(prob * apart**2, axis=0)
        return prob, slope * prob * apart, slope**2 * prob * (apart**2 - variance)

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Slope from the loading, smaller the more grades there are, and the grades' shares."""
        xp = array_namespace(means)
        slope = slope_of_loading(loading) / (self.n_categories - 1) ** 0.5
        shares = xp.log(self._start_shares(means, asked))
        has = np.concatenate([np.ones((slope.shape[0], 1), bool), self._has(slope.shape[0])], 1)
        intercepts = [
            xp.where(like(has[:, k - 1], slope) > 0, shares[k] - shares[0], 0 * slope + NO_GRADE)
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
        """Coordinates of items with these public parameters."""
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
        steps: Floats = np.diff(sums, axis=1)
        return steps

    def _step_slopes(self, coords: Floats) -> list[Floats]:
        found = []
        for k in range(1, self.n_categories):
            change = np.zeros(coords.shape)
            change[:, k] = 1
            if k > 1:
                change[:, k - 1] = -1
            found.append(change)
        return found

    def _log_odds(self, coords: Array, abilities: Array) -> list[Array]:
        """Log-odds of each grade against the first, each (n_items, n_abilities)."""
        z = coords[:, :1] * abilities
        return [0 * z, *(k * z + coords[:, k : k + 1] for k in range(1, self.n_categories))]
