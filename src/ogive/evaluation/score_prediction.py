"""Predict the score on all items from a short form, with its margin.

The completed score and its mixture with the weighted mean are p-IRT and gp-IRT of tinyBenchmarks
(Maia Polo et al., 2024). What a predictor learns is a set of arrays, so it can be saved as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ogive.data.responses import Responses
from ogive.evaluation.item_choice import item_shares
from ogive.irt.calibration import Calibration
from ogive.irt.replay_error import GRID, Placed, ScoreRange
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import conformal_quantile

PENALTIES = np.logspace(-3, 4, 29)
LANDMARKS = 600  # respondents that represent all others; more would add little
NOISE = 0.1  # noise variance of the kernel, whose value at distance 0 is 1
LINEAR = 0.1  # weight of the linear part of the kernel
TURNS = 4  # reweighting steps, in which badly fitting respondents lose weight
SEED = 0
LEARNT = 24  # respondents; of fewer, regressions predict worse than means

Numbers = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about respondents who were asked the short form."""

    responses: Floats  # (n_respondents, size), no gaps
    completed: Floats  # (n_respondents,); score on all items, completed by the measurement model
    weights: Floats  # (size,)

    @property
    def mean(self) -> Floats:
        """The weighted mean of the responses."""
        found: Floats = self.responses @ self.weights
        return found

    def rows(self, places: np.ndarray) -> Known:
        """Return some of the respondents."""
        return Known(self.responses[places], self.completed[places], self.weights)


class Predictor(Protocol):
    """Predicts the score on all items from the short form."""

    def fit(self, known: Known, score: Floats) -> Numbers:
        """Learn from respondents whose score on all items is known."""

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Predict the score of other respondents, (n_respondents,)."""

    def shapes(self, size: int, numbers: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
        """Return the shape that each array must have, for a short form of this size."""


class WeightedMean:
    """The mean response, weighted by the share of the benchmark that each item represents."""

    def fit(self, known: Known, score: Floats) -> Numbers:
        """Learn nothing."""
        del known, score
        return {}

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Return the weighted mean."""
        del numbers
        return known.mean

    def shapes(self, size: int, numbers: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
        """Return no arrays."""
        del size, numbers
        return {}


class Completed(WeightedMean):
    """Observed responses, completed by what the ability predicts for other items (p-IRT)."""

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Return the completed score."""
        del numbers
        return known.completed


class Blend:
    """The best-fitting mixture of weighted mean and completed score (gp-IRT)."""

    def fit(self, known: Known, score: Floats) -> Numbers:
        """Fit the share of the weighted mean by least squares."""
        apart = known.mean - known.completed
        length = float(apart @ apart)
        share = float(apart @ (score - known.completed)) / length if length > 0 else 0.0
        return {"share": np.array([min(max(share, 0.0), 1.0)])}

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Return the mixture."""
        found: Floats = known.completed + numbers["share"] * (known.mean - known.completed)
        return found

    def shapes(self, size: int, numbers: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
        """Return one share."""
        del size, numbers
        return {"share": (1,)}


class Ridge:
    """Ridge regression on responses and completed score; leave-one-out sets the penalty."""

    def fit(self, known: Known, score: Floats) -> Numbers:
        """Fit the slopes."""
        features = self._features(known)
        centre, level = features.mean(axis=0), score.mean()
        left, spread, right = np.linalg.svd(features - centre, full_matrices=False)
        along = left.T @ (score - level)
        errors = []
        for penalty in PENALTIES:
            kept = spread**2 / (spread**2 + penalty)
            pull = np.minimum((left**2) @ kept + 1 / len(score), 1 - 1e-6)
            errors.append((((score - level - left @ (kept * along)) / (1 - pull)) ** 2).mean())
        best = PENALTIES[int(np.argmin(errors))]
        slope = right.T @ (spread / (spread**2 + best) * along)
        return {"slope": slope, "centre": centre, "level": np.array([level])}

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Evaluate the regression."""
        away = self._features(known) - numbers["centre"]
        found: Floats = numbers["level"] + away @ numbers["slope"]
        return found

    def shapes(self, size: int, numbers: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
        """Return a slope for each item and for the completed score."""
        del numbers
        return {"slope": (size + 1,), "centre": (size + 1,), "level": (1,)}

    @staticmethod
    def _features(known: Known) -> Floats:
        return np.column_stack([known.responses, known.completed])


class Kernel:
    """Kernel regression: respondents with similar responses have similar scores.

    It is the mean of a Gaussian process. Landmarks keep it fast for thousands of respondents
    (Nyström). Respondents that fit badly get less weight, since some scores are far from those of
    all respondents with similar responses.
    """

    def fit(self, known: Known, score: Floats) -> Numbers:
        """Fit the weight of each landmark."""
        rows, level = known.responses, score.mean()
        different = np.unique(rows, axis=0)
        order = np.random.default_rng(SEED).permutation(len(different))[:LANDMARKS]
        centre = rows.mean(axis=0)
        spread = max(float(((rows - centre) ** 2).sum(axis=1).mean()), 1e-12)
        numbers = {
            "landmarks": different[np.sort(order)],
            "centre": centre,
            "spread": np.array([spread]),
            "level": np.array([level]),
        }
        pull = _robustly(
            self._kernel(numbers, rows),
            self._kernel(numbers, numbers["landmarks"]),
            score - level,
        )
        return {**numbers, "pull": pull}

    def predict(self, numbers: Mapping[str, Floats], known: Known) -> Floats:
        """Evaluate the regression."""
        found: Floats = numbers["level"] + self._kernel(numbers, known.responses) @ numbers["pull"]
        return found

    def shapes(self, size: int, numbers: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
        """Return landmarks have one response per item."""
        count = len(numbers["pull"])
        single: tuple[int, ...] = (1,)
        return {
            "landmarks": (count, size),
            "centre": (size,),
            "spread": single,
            "level": single,
            "pull": (count,),
        }

    @staticmethod
    def _kernel(numbers: Mapping[str, Floats], rows: Floats) -> Floats:
        """Return similarity of rows and landmarks: a Gaussian kernel plus a linear one."""
        one, other = rows - numbers["centre"], numbers["landmarks"] - numbers["centre"]
        product = one @ other.T
        squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
        distance = np.maximum(squares - 2 * product, 0.0)
        spread = numbers["spread"]
        found: Floats = np.exp(-distance / (2 * spread)) + LINEAR * product / spread
        return found


def _robustly(to_rows: Floats, within: Floats, target: Floats) -> Floats:
    """Return weights of the landmarks by robust least squares: large errors count linearly."""
    from scipy.linalg import cho_factor, cho_solve

    weight = np.ones(len(target))
    penalty = NOISE * within + 1e-8 * len(target) * np.eye(len(within))
    pull = np.zeros(len(within))
    for _ in range(TURNS):
        weighted = to_rows * weight[:, None]
        pull = cho_solve(cho_factor(to_rows.T @ weighted + penalty), weighted.T @ target)
        error = np.abs(target - to_rows @ pull)
        weight = 1 / np.maximum(1.0, error / max(float(np.median(error)), 1e-9))
    return np.asarray(pull, dtype=np.float64)


SIMPLE = ("mean", "irt", "blend")  # learn one number or none


def suited(n_respondents: int) -> dict[str, Predictor]:
    """Return predictors that so many respondents can teach; regressions on each item need more."""
    return {name: PREDICTORS[name] for name in SIMPLE} if n_respondents < LEARNT else PREDICTORS


PREDICTORS: dict[str, Predictor] = {
    "mean": WeightedMean(),
    "irt": Completed(),
    "blend": Blend(),
    "ridge": Ridge(),
    "kernel": Kernel(),
}


FARTHEST, ABILITIES = 8.0, 401  # standard deviations from the mean, and points between

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted scores of respondents, with what their intervals need."""

    value: Floats  # (n_respondents,)
    unsure: Floats  # standard error of the score completed by the measurement model
    placed: Placed  # relative to the scores learned from

    def rows(self, rows: Rows | NDArray[np.bool_]) -> Forecast:
        """Return some of the respondents."""
        return Forecast(self.value[rows], self.unsure[rows], self.placed.rows(rows))

    @classmethod
    def joined(cls, parts: Sequence[tuple[Rows, Forecast]]) -> Forecast:
        """Put parts in the order of their rows."""
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        whole = [part for _, part in parts]
        found = cls(
            np.concatenate([part.value for part in whole]),
            np.concatenate([part.unsure for part in whole]),
            Placed.joined([part.placed for part in whole]),
        )
        return found.rows(order)


@dataclass(frozen=True, eq=False)
class Margin:
    """How far intervals reach.

    Inside the range learned from, `factor` times (standard error of the completed score + `floor`).
    If a respondent may lie beyond it, as far as its responses allow, plus the chance of that times
    `above` or `below`: what intervals lacked where the strongest or the weakest were held out.
    """

    factor: float  # infinite if there are too few respondents
    floor: float
    above: float = 0.0
    below: float = 0.0

    def reach(self, told: Forecast) -> tuple[Floats, Floats]:
        """Return how far each interval reaches down and up, (n_respondents,) each."""
        inside, placed = self.factor * (told.unsure + self.floor), told.placed
        down, up = _beyond(told)
        return (
            np.maximum(inside, down) + self.below * placed.maybe_below,
            np.maximum(inside, up) + self.above * placed.maybe_above,
        )

    def widened(
        self, strong: tuple[Forecast, Floats], weak: tuple[Forecast, Floats], confidence: float
    ) -> Margin:
        """Add what the intervals lack for the strongest and the weakest, whose scores are known."""
        lacks = []
        for told, score in (strong, weak):
            down, up = self.reach(told)
            off = score - told.value
            lack = np.maximum(np.maximum(off - up, -off - down), 0.0)
            lacks.append(float(np.quantile(lack, confidence)) if lack.size else 0.0)
        return replace(self, above=lacks[0], below=lacks[1])


def _beyond(told: Forecast) -> tuple[Floats, Floats]:
    """Return how far below and above the range a respondent may lie."""
    placed = told.placed
    down, up = told.value - placed.bottom, placed.top - told.value
    return np.nan_to_num(np.fmax(down, 0.0)), np.nan_to_num(np.fmax(up, 0.0))


def margin(told: Forecast, score: Floats, confidence: float) -> Margin:
    """Return intervals that hold the true score of the share `confidence`.

    Errors are in units of the standard error of the completed score plus its mean; the standard
    error alone is too small for a respondent that solves everything or nothing.
    """
    floor = max(float(told.unsure.mean()), 1e-12)
    off, (down, up) = score - told.value, _beyond(told)
    missed = np.where((off <= up) & (-off <= down), 0.0, np.abs(off) / (told.unsure + floor))
    return Margin(conformal_quantile(missed, confidence), floor)


def full_cells(bank: Calibration, table: Responses) -> Floats:
    """Return responses as numbers; missing ones as the ability predicts."""
    values = table.values
    if table.complete:
        return values
    part = bank if bank.item_names == table.items else bank.of_items(table.items)
    ability = bank.score(table, items_known=True)["ability"].to_numpy()
    return np.where(np.isnan(values), part.model.expected(part.coords, ability).T, values)


def known_of(bank: Calibration, short: Responses, weights: Floats) -> tuple[Known, Floats]:
    """Return what a short form says, and the standard error of the completed score."""
    scored = bank.completed_scores(short, items_known=True)
    known = Known(full_cells(bank, short), scored["score"].to_numpy(), weights)
    return known, scored["score_se"].to_numpy()


def bounds(bank: Calibration) -> tuple[float, float]:
    """Return the worst and the best mean response over all items."""
    n = len(bank.item_names)
    low, high = (float(np.broadcast_to(end, n).mean()) for end in bank.model.extent())
    return low, high


def range_of(bank: Calibration, short: Responses, cells: Floats, score: Floats) -> ScoreRange:
    """Return the range of scores that a short form is learned from."""
    low, high = bounds(bank)
    part = bank.of_items(short.items)
    share = (score - low) / (high - low)
    shares = item_shares(part, cells)
    return ScoreRange.learned(shares, share, _modelled(bank, short.items), len(bank.item_names))


def _modelled(bank: Calibration, items: Sequence[str]) -> Floats:
    """Return expected shares on some items if all items give the shares of `GRID`."""
    abilities = np.linspace(*bank.population.reach(FARTHEST), ABILITIES)
    low, high = bounds(bank)
    whole = (bank.model.expected(bank.coords, abilities).mean(axis=0) - low) / (high - low)
    rising = np.maximum.accumulate(whole) + 1e-9 * np.arange(ABILITIES)
    at = np.interp(GRID, rising, abilities)
    part = bank.of_items(items)
    return item_shares(part, part.model.expected(part.coords, at).T)


def placed_in(within: ScoreRange, bank: Calibration, short: Responses, confidence: float) -> Placed:
    """Return how far respondents lie outside the range, in units of the score."""
    low, high = bounds(bank)
    shares = item_shares(bank.of_items(short.items), short.values)
    return within.place(shares, confidence).scaled(low, high)
