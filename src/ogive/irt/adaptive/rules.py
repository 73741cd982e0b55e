"""Rules of an adaptive test: where to begin, how to estimate ability, when to stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive._validation import whole_number
from ogive.errors import InputError
from ogive.irt.adaptive.state import Bank, State, find_part, refuse_unless_number
from ogive.stats.array_backend import Floats


class Initializer(Protocol):
    """Rule for the target of the first item."""

    def begin(self, bank: Bank) -> float:
        """Return an ability."""


@dataclass(frozen=True)
class PopulationMean:
    """The mean of the population: the best guess for an unknown respondent."""

    def begin(self, bank: Bank) -> float:
        """Return the mean ability."""
        return bank.population.mean


@dataclass(frozen=True)
class FixedAbility:
    """An ability that is known or guessed beforehand."""

    ability: float = 0.0

    def __post_init__(self) -> None:
        refuse_unless_number(self.ability, "ability", -inf, inf)

    def begin(self, bank: Bank) -> float:
        """Return that ability, in any bank."""
        del bank
        return float(self.ability)


@dataclass(frozen=True)
class DifficultyPercentile:
    """A percentile of the difficulties: 25 begins with a rather easy item."""

    percent: float = 25.0

    def __post_init__(self) -> None:
        refuse_unless_number(self.percent, "percent", 0, 100, ends=True)

    def begin(self, bank: Bank) -> float:
        """Return the difficulty below which that percentage of the items lies."""
        return float(np.percentile(bank.difficulty, self.percent))


INITIALIZERS: dict[str, Callable[[], Initializer]] = {
    "mean": PopulationMean,
    "fixed": FixedAbility,
    "percentile": DifficultyPercentile,
}


NEWTON_STEPS = 6
FLATTEST = 1e-9  # least curvature of a log-posterior at its best node
LEAST_DRAW = 2.0**-54  # least uniform random number, whose normal quantile is finite


class Standing(NamedTuple):
    """The estimates for each row, (n,) each."""

    ability: Floats
    se: Floats
    target: Floats  # where the next item should lie


class Estimator(Protocol):
    """Estimates the ability of each row of a state."""

    def estimate(self, state: State) -> Standing:
        """Return ability, its standard error, and the next target (unused at step 0)."""


@dataclass(frozen=True)
class PosteriorMean:
    """EAP: mean and standard deviation of the posterior, as in `Calibration.score`."""

    def estimate(self, state: State) -> Standing:
        """Sum over the nodes row by row, so the result does not depend on the number of rows."""
        nodes = state.bank.nodes
        weights = np.exp(state.log_posterior - state.log_posterior.max(axis=1, keepdims=True))
        total = weights.sum(axis=1)
        mean = (weights * nodes).sum(axis=1) / total
        weights *= (nodes - mean[:, None]) ** 2
        return Standing(mean, np.sqrt(weights.sum(axis=1) / total), mean)


@dataclass(frozen=True)
class PosteriorMode:
    """MAP: the mode of the posterior, and a standard error from its curvature."""

    def estimate(self, state: State) -> Standing:
        """Maximize a polynomial through the five nodes around the best one."""
        nodes, height = state.bank.nodes, state.log_posterior
        middle = height.argmax(axis=1).clip(2, nodes.size - 3)
        a, b, c, d, e = np.take_along_axis(height, middle[:, None] + np.arange(-2, 3), axis=1).T
        first = (a - 8 * b + 8 * d - e) / 12
        second = np.minimum((16 * (b + d) - 30 * c - a - e) / 12, -FLATTEST)
        third, fourth = (e - a) / 2 - (d - b), a - 4 * b + 6 * c - 4 * d + e
        offset = np.zeros_like(first)
        curvature = second
        for _ in range(NEWTON_STEPS):
            slope = first + offset * (second + offset * (third / 2 + offset * fourth / 6))
            offset = np.clip(offset - slope / curvature, -1.0, 1.0)
            curvature = np.minimum(second + offset * (third + offset * fourth / 2), 0.1 * second)
        step = nodes[1] - nodes[0]
        mode = nodes[middle] + step * offset
        return Standing(mode, step / np.sqrt(-curvature), mode)


@dataclass(frozen=True)
class StepRule:
    """Halving steps, and the estimate H/L + ln(R/W) (after Wright, 1988).

    H is the sum of the difficulties of L items, of which R are right and W wrong. If R or W is 0,
    half a response is moved to it from the other. After item L the target moves up or down by
    `first` / 2^(L - 1) plus a normal number with standard deviation `noise`: by default 2 / 2^L
    plus N(0, 0.1). The standard error is that of the log-odds, √(L / (R W)).
    """

    first: float = 1.0
    noise: float = 0.1

    def __post_init__(self) -> None:
        refuse_unless_number(self.first, "first", 0, np.inf)
        refuse_unless_number(self.noise, "noise", 0, np.inf, ends=True)

    def estimate(self, state: State) -> Standing:
        """Estimate from counts alone; the population is not used."""
        from scipy.special import ndtri

        if state.bank.model.kind != "binary":
            raise InputError(
                f"The step rule needs right and wrong responses, but the bank's model is "
                f"{state.bank.model.name}. Use estimator='eap'."
            )
        length = state.step
        if not length:
            return Standing(state.target, np.full(len(state.target), np.inf), state.target)
        right = state.responses.sum(axis=1)
        right = np.where(right == 0, 0.5, np.where(right == length, length - 0.5, right))
        wrong = length - right
        ability = state.bank.difficulty[state.items].sum(axis=1) / length + np.log(right / wrong)
        up = np.where(state.responses[:, -1] > 0, 1.0, -1.0)
        noise = self.noise * ndtri(np.maximum(state.draws("estimator"), LEAST_DRAW))
        target = state.target + up * self.first / 2 ** (length - 1) + noise
        return Standing(ability, np.sqrt(length / (right * wrong)), target)


ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "eap": PosteriorMean,
    "map": PosteriorMode,
    "steps": StepRule,
}


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
        """Return all rows at once."""
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
        """Return the reason of the first rule that has one."""
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
        raise InputError(
            f"stopper is {found!r}; derive its class from ogive.irt.adaptive.rules.Stopper."
        )
    return found
