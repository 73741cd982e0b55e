"""Grades: what the graded response and the generalised partial credit model share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ogive.models.logistic import FLATTEST
from ogive.models.varied_categories import VariedCategories
from ogive.numerics.arrays import Floats

SIMULATED = 5  # categories of simulated items, if nothing else is said


@dataclass(frozen=True, kw_only=True)
class Ordered(VariedCategories):
    """A discrimination, and a difficulty of each step from one grade to the next."""

    kind: ClassVar[str] = "graded"

    def shaped(self, parameters: Any) -> Self:
        """The same model with as many grades as these items have difficulties."""
        steps = [name for name in parameters if str(name).startswith("difficulty_")]
        steps = [name for name in steps if str(name)[11:].isdigit()]
        if self.categories is not None or not steps:
            return self
        known = np.array(
            [np.isfinite(np.asarray(parameters[name], dtype=float)) for name in sorted(steps)]
        )
        counts = 1 + np.atleast_2d(known.T).sum(axis=1)
        return replace(self, categories=tuple(int(n) for n in counts), coordinates=())

    def sample(self, n_items: int, random: np.random.Generator) -> Mapping[str, Floats]:
        """Log-normal discrimination, and difficulties in ascending order around a normal one."""
        n = self.n_categories if self.categories is not None else SIMULATED
        location = random.normal(0.0, 0.7, n_items)
        spread = np.sort(random.normal(0.0, 1.0, (n - 1, n_items)), axis=0)
        apart = np.linspace(-0.3, 0.3, n - 1)[:, None] * (n - 2)  # no two grades at one place
        drawn = {"discrimination": np.exp(random.normal(0.3, 0.3, n_items))}
        has = np.full(n_items, n)
        if isinstance(self.categories, tuple) and len(self.categories) == n_items:
            has = np.array(self.categories)
        for k in range(n - 1):
            step = location + spread[k] + apart[k]
            drawn[f"difficulty_{k + 1}"] = np.where(k + 1 < has, step, np.nan)
        return drawn

    def parameters(self, coords: Floats) -> Mapping[str, Floats]:
        """Discrimination, the difficulty of each step, and their mean as `difficulty`.

        A slope within `FLATTEST` of zero is reported as that.
        """
        slope, steps = self._slope(coords), self._steps(coords)
        found = {"discrimination": slope, "difficulty": -np.nanmean(steps, axis=1) / slope}
        for k in range(steps.shape[1]):
            found[f"difficulty_{k + 1}"] = -steps[:, k] / slope
        return found

    def parameter_jacobian(self, coords: Floats) -> Mapping[str, Floats]:
        """Derivatives of the public parameters in the coordinates."""
        slope, steps = self._slope(coords), self._steps(coords)
        flat = self.flat(coords)
        jacobian = {"discrimination": np.zeros(coords.shape)}
        jacobian["discrimination"][:, 0] = 1
        each = []
        for k, change in enumerate(self._step_slopes(coords)):
            found = -change / slope[:, None]
            found[:, 0] = np.where(flat, 0.0, steps[:, k] / slope**2)
            each.append(np.where(np.isnan(steps[:, k, None]), np.nan, found))
        jacobian["difficulty"] = np.nanmean(each, axis=0)
        jacobian.update({f"difficulty_{k + 1}": found for k, found in enumerate(each)})
        return jacobian

    def flat(self, coords: Floats) -> np.ndarray:
        """Which items discriminate nothing, (n_items,)."""
        nothing: np.ndarray = np.abs(coords[:, 0]) < FLATTEST
        return nothing

    def _slope(self, coords: Floats) -> Floats:
        return np.where(self.flat(coords), FLATTEST, coords[:, 0])

    @abstractmethod
    def _steps(self, coords: Floats) -> Floats:
        """Minus discrimination x difficulty of each step, (n_items, steps); NaN if absent."""

    @abstractmethod
    def _step_slopes(self, coords: Floats) -> list[Floats]:
        """Derivatives of each of `_steps` in the coordinates past the first, (n_items, width)."""
