"""The graded response model (Samejima, 1969): P(x ≥ k) = σ(a(θ - b_k)).

Engines move the slope a, the first intercept d₁ = -a b₁, and the logarithms of the gaps
d₁ - d₂, d₂ - d₃, ..., which keep the intercepts in order. In these, the probability of a category
is a product, σ(z_k) σ(-z_{k+1}) (1 - exp(-gap)), exact in the tails.

`Ordered` is what it shares with the generalised partial credit model.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ogive.errors import InputError
from ogive.irt.models.base import FLATTEST, Coordinate, Normal
from ogive.irt.models.categorical import LOGISTIC_UNIT, VariedCategories, slope_of_loading
from ogive.irt.models.logistic import INTERCEPT, SLOPE
from ogive.stats.array_backend import Array, Floats, array_namespace, as_numpy, like
from ogive.stats.newton import symmetric
from ogive.stats.special_functions import log_one_less, log_sigmoid, logit, sigmoid_pair

NO_GAP = 7.0  # logarithm of a gap, exp(7) = 1097, beyond which a grade has no probability
# Gaps of 0.02 to 55 lie within two standard deviations: only grades that nobody got feel it.
GAP = Coordinate("gap", Normal(0, 2), low=-12.0, high=NO_GAP, longest=1.5, absent=NO_GAP)


@dataclass(frozen=True, kw_only=True)
class Ordered(VariedCategories):
    """A discrimination, and a difficulty of each step from one grade to the next."""

    kind: ClassVar[str] = "graded"

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Return log-normal discrimination, and ascending difficulties around a normal one."""
        n, counts = self._simulated_counts(n_items)
        location = random.normal(0.0, 0.7, n_items)
        spread = np.sort(random.normal(0.0, 1.0, (n - 1, n_items)), axis=0)
        offset = np.linspace(-0.3, 0.3, n - 1)[:, None] * (n - 2)  # keeps grades apart
        sample = {"discrimination": np.exp(random.normal(0.3, 0.3, n_items))}
        for k in range(n - 1):
            step = location + spread[k] + offset[k]
            sample[f"difficulty_{k + 1}"] = np.where(k + 1 < counts, step, np.nan)
        return sample

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Return discrimination, the difficulty of each step, and their mean as `difficulty`.

        A slope within `FLATTEST` of zero is reported as that.
        """
        slope, steps = self._slope(coords), self._steps(coords)
        parameters = {"discrimination": slope, "difficulty": -np.nanmean(steps, axis=1) / slope}
        for k in range(steps.shape[1]):
            parameters[f"difficulty_{k + 1}"] = -steps[:, k] / slope
        return parameters

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Return derivatives of the public parameters in the coordinates."""
        slope, steps = self._slope(coords), self._steps(coords)
        flat = self.flat(coords)
        jacobian = {"discrimination": np.zeros(coords.shape)}
        jacobian["discrimination"][:, 0] = 1
        of_steps = []
        for k, step_jacobian in enumerate(self._step_jacobians(coords)):
            own = -step_jacobian / slope[:, None]
            own[:, 0] = np.where(flat, 0.0, steps[:, k] / slope**2)
            of_steps.append(np.where(np.isnan(steps[:, k, None]), np.nan, own))
        jacobian["difficulty"] = np.nanmean(of_steps, axis=0)
        jacobian.update({f"difficulty_{k + 1}": own for k, own in enumerate(of_steps)})
        return jacobian

    def _slope(self, coords: Floats) -> Floats:
        return np.where(self.flat(coords), FLATTEST, coords[:, 0])

    @abstractmethod
    def _steps(self, coords: Floats) -> Floats:
        """Return -discrimination × difficulty of each step, (n_items, steps); NaN if absent."""

    @abstractmethod
    def _step_jacobians(self, coords: Floats) -> list[Floats]:
        """Return derivatives of each of `_steps` in the coordinates past the first."""


@dataclass(frozen=True, kw_only=True)
class Graded(Ordered):
    """Graded responses (Samejima, 1969).

    `categories` is how many grades items have, one number or one each, `lowest` the lowest grade;
    left out, the table says it. Items have a discrimination and a difficulty for each step.

    >>> import ogive as og
    >>> drawn = og.simulate(og.Graded(categories=4), 200, 6, random_state=0).responses
    >>> og.calibrate(drawn, og.Graded()).items.columns[:4].tolist()
    ['discrimination', 'difficulty', 'difficulty_1', 'difficulty_2']
    """

    name: ClassVar[str] = "graded"

    def default_coordinates(self) -> tuple[Coordinate, ...]:
        """Return slope, first intercept, and a gap for each further step."""
        gaps = [replace(GAP, name=f"gap_{k}") for k in range(2, self.n_categories)]
        return (SLOPE, INTERCEPT, *gaps)

    def log_prob(self, coords: Array, abilities: Array) -> Array:
        """Return log-probability of each category, (n_categories, n_items, n_abilities)."""
        xp = array_namespace(coords)
        odds = self._log_odds(coords, abilities)
        above = [log_sigmoid(z) for z in odds]
        below = [rise - z for rise, z in zip(above, odds, strict=True)]
        inside = log_one_less(xp.exp(coords[:, 2:]))
        middle = [
            above[k] + below[k + 1] + inside[:, k : k + 1] for k in range(self.n_categories - 2)
        ]
        return xp.stack([below[0], *middle, above[-1]])

    def slopes(self, coords: Array, abilities: Array) -> Array:
        """Return derivatives of `log_prob`, (width, n_categories, n_items, n_abilities)."""
        xp = array_namespace(coords)
        pairs = [sigmoid_pair(z) for z in self._log_odds(coords, abilities)]
        nothing = xp.zeros_like(pairs[0][0])
        rises = [nothing, *(fall for _, fall in pairs)]  # d log P_k / d z_k
        falls = [*(-rise for rise, _ in pairs), nothing]  # d log P_k / d z_{k+1}
        both = xp.stack([up + down for up, down in zip(rises, falls, strict=True)])
        slopes = [both * abilities, both]
        gap, of_gap = xp.exp(coords[:, 2:]), self._gap_derivatives(coords)[0]
        for m in range(self.n_categories - 2):
            # Thresholds from number m + 2 on move by minus the gap.
            moved = [
                rises[k] * float(k >= m + 2) + falls[k] * float(k + 1 >= m + 2)
                for k in range(self.n_categories)
            ]
            slope = -gap[:, m, None] * xp.stack(moved)
            slope[m + 1] = slope[m + 1] + (gap * of_gap)[:, m, None]
            slopes.append(slope)
        return xp.stack(slopes)

    def curvature(
        self, coords: Array, abilities: Array, counts: Array, totals: Array
    ) -> tuple[Array, Array, Array]:
        """Return gradient, Fisher and observed information of the expected log-likelihood."""
        xp = array_namespace(coords)
        pairs = [sigmoid_pair(z) for z in self._log_odds(coords, abilities)]
        count = [totals - xp.sum(counts, axis=0), *counts]
        prob = xp.exp(self.log_prob(coords, abilities))
        bells = [rise * fall for rise, fall in pairs]
        residuals = [count[k + 1] * fall - count[k] * rise for k, (rise, fall) in enumerate(pairs)]
        observed = [(count[k] + count[k + 1]) * bell for k, bell in enumerate(bells)]
        expected = [totals * (prob[k] + prob[k + 1]) * bell for k, bell in enumerate(bells)]
        gap = xp.exp(coords[:, 2:])
        first, second = self._gap_derivatives(coords)
        tails = _tail_sums(residuals)
        inner = _node_sums(count[1:-1], coords)
        expected_inner = _node_sums([totals * p for p in prob[1:-1]], coords)
        by_gap = inner * first - _node_sums(tails[1:], coords)
        by_slope = (tails[0] @ abilities)[:, None]
        gradient = xp.concat([by_slope, _node_sums(tails[:1], coords), gap * by_gap], axis=1)
        return (
            gradient,
            _information(expected, abilities, gap, gap**2 * expected_inner * second),
            _information(observed, abilities, gap, gap**2 * inner * second - gap * by_gap),
        )

    def ability_derivatives(self, coords: Array, abilities: Array) -> tuple[Array, Array, Array]:
        """Return probabilities of the categories with two derivatives in ability."""
        xp = array_namespace(coords)
        slope = coords[:, :1]
        pairs = [sigmoid_pair(z) for z in self._log_odds(coords, abilities)]
        nothing = xp.zeros_like(pairs[0][0])
        first = [slope * rise * fall for rise, fall in pairs]
        second = [
            change * slope * (fall - rise)
            for change, (rise, fall) in zip(first, pairs, strict=True)
        ]
        return (
            xp.exp(self.log_prob(coords, abilities)),
            _less_next([nothing, *first, nothing]),
            _less_next([nothing, *second, nothing]),
        )

    def start(self, means: Array, asked: Array, loading: Array) -> Array:
        """Return slope from the loading, intercepts from the shares of the grades."""
        xp = array_namespace(means)
        slope = slope_of_loading(loading)
        shares = self._start_shares(means, asked)
        at_least = [xp.sum(shares[k:], axis=0) for k in range(1, self.n_categories)]
        unit = xp.sqrt(1 + (slope / LOGISTIC_UNIT) ** 2)
        intercepts = [logit(xp.clip(share, 1e-6, 1 - 1e-6)) * unit for share in at_least]
        gaps = [
            xp.log(xp.clip(up - down, 1e-3, 50.0)) for up, down in itertools.pairwise(intercepts)
        ]
        present = self._present(slope.shape[0])
        gaps = [
            xp.where(like(present[:, k], slope) > 0, gap, 0 * gap + NO_GAP)
            for k, gap in enumerate(gaps, start=1)
        ]
        return xp.stack([slope, intercepts[0], *gaps], axis=1)

    def rescale(self, coords: Array, shift: float, scale: float) -> Array:
        """Move the origin of the scale to `shift` and its unit to `scale`.

        A negative scale turns the slope and leaves the grades in their order.
        """
        xp = array_namespace(coords)
        slope, intercept = coords[:, :1], coords[:, 1:2]
        return xp.concat([slope * scale, intercept + slope * shift, coords[:, 2:]], axis=1)

    def from_parameters(self, parameters: Mapping[str, Floats]) -> Floats:
        """Return coordinates of items with these public parameters."""
        slope = np.asarray(parameters["discrimination"], dtype=float)
        steps = range(1, self.n_categories)
        intercepts = [-slope * np.asarray(parameters[f"difficulty_{k}"], float) for k in steps]
        columns = [slope, intercepts[0]]
        for up, down in itertools.pairwise(intercepts):
            gap = up - down
            if (gap <= 0).any():
                raise InputError(
                    "The difficulties of an item must ascend from grade to grade, or descend "
                    "where its discrimination is negative; the graded model has no other curves."
                )
            columns.append(np.where(np.isnan(gap), NO_GAP, np.log(gap)))
        return np.stack(columns, axis=1)

    def _steps(self, coords: Floats) -> Floats:
        gap = np.where(as_numpy(self.absent(coords))[:, 2:], np.nan, np.exp(coords[:, 2:]))
        first = coords[:, 1:2]
        return np.asarray(np.concatenate([first, first - np.cumsum(gap, axis=1)], axis=1))

    def _step_jacobians(self, coords: Floats) -> list[Floats]:
        jacobians = []
        for k in range(self.n_categories - 1):
            jacobian = np.zeros(coords.shape)
            jacobian[:, 1] = 1
            jacobian[:, 2 : 2 + k] = -np.exp(coords[:, 2 : 2 + k])
            jacobians.append(jacobian)
        return jacobians

    def _log_odds(self, coords: Array, abilities: Array) -> list[Array]:
        """Return log-odds of each grade past the first or a higher one, (n_items, n_abilities)."""
        xp = array_namespace(coords)
        z = coords[:, :1] * abilities + coords[:, 1:2]
        odds, gap = [z], xp.exp(coords[:, 2:])
        for m in range(self.n_categories - 2):
            z = z - gap[:, m : m + 1]
            odds.append(z)
        return odds

    def _gap_derivatives(self, coords: Array) -> tuple[Array, Array]:
        """Return first derivative and minus the second of log(1 - exp(-gap)), (n_items, gaps)."""
        xp = array_namespace(coords)
        gap = xp.exp(coords[:, 2:])
        up = xp.expm1(xp.clip(gap, None, 300.0))
        return 1 / up, (1 + up) / up**2


def _tail_sums(tables: list[Array]) -> list[Array]:
    """Return Σ from number k on, for every k."""
    sums = [tables[-1]]
    for table in tables[-2::-1]:
        sums.append(sums[-1] + table)
    return sums[::-1]


def _node_sums(tables: list[Array], coords: Array) -> Array:
    """Return sums over the nodes, one column per table."""
    xp = array_namespace(coords)
    return xp.stack([xp.sum(t, axis=1) for t in tables], axis=1) if tables else coords[:, :0]


def _less_next(tables: list[Array]) -> Array:
    """Return each table less the next one."""
    xp = array_namespace(tables[0])
    return xp.stack([up - down for up, down in itertools.pairwise(tables)])


def _information(weights: list[Array], abilities: Array, gap: Array, own: Array) -> Array:
    """Return information on slope, first intercept and log-gaps.

    `weights` (n_items, n_abilities) belong to the thresholds; `own` (n_items, gaps) is what a
    log-gap adds to moving the thresholds after it.
    """
    xp = array_namespace(gap)
    tails = _tail_sums(weights)
    sums = [xp.sum(tail, axis=1) for tail in tails]
    along = [tail @ abilities for tail in tails]
    rows = [tails[0] @ abilities**2, along[0]]
    rows += [-gap[:, m] * along[m + 1] for m in range(gap.shape[1])]
    rows += [sums[0], *(-gap[:, m] * sums[m + 1] for m in range(gap.shape[1]))]
    for m in range(gap.shape[1]):
        rows.append(gap[:, m] ** 2 * sums[m + 1] + own[:, m])
        rows += [gap[:, m] * gap[:, k] * sums[k + 1] for k in range(m + 1, gap.shape[1])]
    return symmetric(rows)
