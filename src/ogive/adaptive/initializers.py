"""Where on the scale a test begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from ogive.adaptive.named_parts import refuse_unless_number
from ogive.adaptive.state import Bank


class Initializer(Protocol):
    """Says where the first item should lie."""

    def begin(self, bank: Bank) -> float:
        """A place on the scale."""


@dataclass(frozen=True)
class PopulationMean:
    """The mean of the population: the best guess for an unknown respondent."""

    def begin(self, bank: Bank) -> float:
        """The mean ability."""
        return bank.population.mean


@dataclass(frozen=True)
class FixedAbility:
    """An ability that is known or guessed beforehand."""

    ability: float = 0.0

    def __post_init__(self) -> None:
        refuse_unless_number(self.ability, "ability", -inf, inf)

    def begin(self, bank: Bank) -> float:
        """That ability, in any bank."""
        del bank
        return float(self.ability)


@dataclass(frozen=True)
class DifficultyPercentile:
    """A percentile of the difficulties: 25 begins with a rather easy item."""

    percent: float = 25.0

    def __post_init__(self) -> None:
        refuse_unless_number(self.percent, "percent", 0, 100, ends=True)

    def begin(self, bank: Bank) -> float:
        """The difficulty below which that percentage of the items lies."""
        return float(np.percentile(bank.difficulty, self.percent))


INITIALIZERS: dict[str, Callable[[], Initializer]] = {
    "mean": PopulationMean,
    "fixed": FixedAbility,
    "percentile": DifficultyPercentile,
}
