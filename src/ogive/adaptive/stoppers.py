"""When a test is over, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive.adaptive.named_parts import find_part, refuse_unless_number
from ogive.adaptive.state import State
from ogive.arguments import whole_number
from ogive.errors import InputError

Reasons = NDArray[np.str_]
Rules: TypeAlias = "Stopper | str | Sequence[Stopper | str]"

EXHAUSTED = "bank exhausted"


class Stopper(ABC):
    """Decides for each row of a state whether the test is finished; called after each response."""

    @property
    def limit(self) -> int | None:
        """The largest number of items that it allows; None if it sets no limit."""
        return None

    @abstractmethod
    def reasons(self, state: State) -> Reasons:
        """Return why each row is finished, (n,); empty if it goes on."""


@dataclass(frozen=True)
class StandardError(Stopper):
    """Stops when the standard error of the ability is at most `max_se`."""

    max_se: float = 0.3

    def __post_init__(self) -> None:
        refuse_unless_number(self.max_se, "max_se", 0, inf)

    def reasons(self, state: State) -> Reasons:
        """Compare the standard error of the estimator."""
        return np.where(state.se <= self.max_se, "standard error reached", "")


@dataclass(frozen=True)
class Budget(Stopper):
    """Stops after a number of items."""

    max_items: int = 20

    def __post_init__(self) -> None:
        whole_number(self.max_items, "max_items", 1)

    @property
    def limit(self) -> int:
        """The budget."""
        return self.max_items

    def reasons(self, state: State) -> Reasons:
        """All rows at once."""
        return np.full(len(state.se), "budget spent" if state.step >= self.max_items else "")


@dataclass(frozen=True)
class Reliability(Stopper):
    """Stops at the standard error of measurement σ √(1 - r): 0.14 for r = 0.98.

    The published rule does not say which error is compared with it. Here it is that of the mean
    difficulty asked, the standard deviation of the difficulties over √L: it falls as the test
    settles, whether or not the ability is known that well. The error of the log-odds, √(L / (R W)),
    would need 200 items or more: AtLeast(5, StandardError(0.14)).
    """

    reliability: float = 0.98
    sigma: float = 1.0
    min_items: int = 5

    def __post_init__(self) -> None:
        refuse_unless_number(self.reliability, "reliability", 0, 1)
        refuse_unless_number(self.sigma, "sigma", 0, inf)
        whole_number(self.min_items, "min_items", 2)

    @property
    def measurement_error(self) -> float:
        """The standard error of measurement, σ √(1 - r)."""
        return self.sigma * sqrt(1 - self.reliability)

    def reasons(self, state: State) -> Reasons:
        """Compare the standard error of the mean difficulty asked."""
        if state.step < self.min_items:
            return np.full(len(state.se), "")
        asked = state.bank.difficulty[state.items]
        spread = asked.std(axis=1, ddof=1) / sqrt(state.step)
        return np.where(spread < self.measurement_error, "reliability reached", "")


@dataclass(frozen=True)
class AtLeast(Stopper):
    """Lets another rule stop only after `min_items`."""

    min_items: int
    stopper: Stopper

    def __post_init__(self) -> None:
        whole_number(self.min_items, "min_items", 1)
        object.__setattr__(self, "stopper", find_stopper(self.stopper))

    @property
    def limit(self) -> int | None:
        """The limit of the other rule, but at least `min_items`."""
        return None if self.stopper.limit is None else max(self.min_items, self.stopper.limit)

    def reasons(self, state: State) -> Reasons:
        """Return the reasons of the other rule."""
        found = self.stopper.reasons(state)
        return found if state.step >= self.min_items else np.full_like(found, "")


@dataclass(frozen=True)
class AnyOf(Stopper):
    """Stops as soon as one of several rules does; the first that does is the reason."""

    stoppers: tuple[Stopper, ...]

    def __post_init__(self) -> None:
        rules = tuple(find_stopper(rule) for rule in self.stoppers)
        if not rules:
            raise InputError("There is no rule among the stoppers; give at least one.")
        object.__setattr__(self, "stoppers", rules)

    @property
    def limit(self) -> int | None:
        """The smallest of their limits."""
        limits = [rule.limit for rule in self.stoppers if rule.limit is not None]
        return min(limits, default=None)

    def reasons(self, state: State) -> Reasons:
        """The reason of the first rule that has one."""
        found = self.stoppers[0].reasons(state)
        for rule in self.stoppers[1:]:
            found = np.where(found == "", rule.reasons(state), found)
        return found


STOPPERS: dict[str, Callable[[], Stopper]] = {
    "error": StandardError,
    "budget": Budget,
    "reliability": Reliability,
}


def find_stopper(given: Any) -> Stopper:
    """Return the rule for a rule, its name, or a list of them, any of which may stop the test."""
    if isinstance(given, list | tuple):
        return AnyOf(tuple(given))
    found = find_part(given, "stopper", "reasons", STOPPERS)
    if not isinstance(found, Stopper):
        raise InputError(f"stopper is {found!r}; derive its class from ogive.adaptive.Stopper.")
    return found
