"""The ability of a respondent after each response, and where the next item should lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ogive.adaptive.named_parts import refuse_unless_number
from ogive.adaptive.state import State
from ogive.errors import InputError
from ogive.numerics.arrays import Floats

TURNS = 6
FLATTEST = 1e-9  # least curvature of a log-posterior at its best node
LEAST_DRAW = 2.0**-54


class Standing(NamedTuple):
    """The estimates for each row, (n,) each."""

    ability: Floats
    se: Floats
    target: Floats  # where the next item should lie


class Estimator(Protocol):
    """Estimates the ability of each row of a state."""

    def estimate(self, state: State) -> Standing:
        """Ability, its standard error, and the next target; at step 0 the target is not used."""


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
        """A polynomial through the five nodes around the best one."""
        nodes, height = state.bank.nodes, state.log_posterior
        middle = height.argmax(axis=1).clip(2, nodes.size - 3)
        a, b, c, d, e = np.take_along_axis(height, middle[:, None] + np.arange(-2, 3), axis=1).T
        first = (a - 8 * b + 8 * d - e) / 12
        second = np.minimum((16 * (b + d) - 30 * c - a - e) / 12, -FLATTEST)
        third, fourth = (e - a) / 2 - (d - b), a - 4 * b + 6 * c - 4 * d + e
        away = np.zeros_like(first)
        bend = second
        for _ in range(TURNS):
            slope = first + away * (second + away * (third / 2 + away * fourth / 6))
            away = np.clip(away - slope / bend, -1.0, 1.0)
            bend = np.minimum(second + away * (third + away * fourth / 2), 0.1 * second)
        step = nodes[1] - nodes[0]
        mode = nodes[middle] + step * away
        return Standing(mode, step / np.sqrt(-bend), mode)


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
        stray = self.noise * ndtri(np.maximum(state.draws("estimator"), LEAST_DRAW))
        target = state.target + up * self.first / 2 ** (length - 1) + stray
        return Standing(ability, np.sqrt(length / (right * wrong)), target)


ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "eap": PosteriorMean,
    "map": PosteriorMode,
    "steps": StepRule,
}
