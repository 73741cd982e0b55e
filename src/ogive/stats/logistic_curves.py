"""Logistic curves of success against difficulty: their posterior, and what they predict.

A curve is P(right) = c + (1 - c) σ(intercept - slope × difficulty), its floor c given. Curves of
many rows at once are penalised by Jeffreys' prior (Firth, 1993): rows that are right up to a point
and wrong beyond it keep a finite slope, and the slope of few cells is hardly biased.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from ogive.stats.array_backend import Floats
from ogive.stats.special_functions import logit, sigmoid_pair

MOST_POINTS = 1_000  # difficulties above which neighbouring ones are taken together
STEPS = np.linspace(-6.0, 6.0, 25)  # grid of curves, in standard errors
EM_ITERATIONS = 20  # towards the likeliest curve above a floor; the grid need only lie near it
LIGHTEST = 1e-9  # weight, relative to the largest, below which a curve is left out
MAX_ITER, LONGEST_STEP, TOLERANCE = 100, 2.0, 1e-8
FAINTEST = 1e-10  # ridge of the information, relative to its diagonal


@dataclass(frozen=True, eq=False)
class Points:
    """Numbers of responses, and of right ones, at each difficulty."""

    difficulty: Floats  # (n_points,), as all
    n: Floats
    right: Floats


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of success in difficulty, each with its weight; weights sum to one."""

    intercept: Floats  # (n_curves,), as all
    slope: Floats
    weight: Floats
    floor: float = 0.0

    def success(self, difficulty: Floats) -> Floats:
        """Return probability of a right response, (n_curves, n_points)."""
        z = self.intercept[:, None] - self.slope[:, None] * difficulty
        return np.asarray(self.floor + (1 - self.floor) * sigmoid_pair(z)[0])

    def quantile(self, values: Floats, share: float) -> float:
        """Return the value, one a curve, below which this share of the weight lies."""
        order = np.argsort(values, kind="stable")
        weight = self.weight[order]
        return float(
            np.interp(share, (np.cumsum(weight) - weight / 2) / weight.sum(), values[order])
        )


def points(difficulty: Floats, right: Floats) -> Points:
    """Return a sample as points; if it is large, neighbouring difficulties share their mean."""
    order = np.argsort(difficulty, kind="stable")
    count = min(len(order), MOST_POINTS)
    starts = np.linspace(0, len(order), count + 1).astype(np.intp)[:-1]
    n = np.diff(np.append(starts, len(order))).astype(np.float64)
    return Points(
        difficulty=np.add.reduceat(difficulty[order], starts) / n,
        n=n,
        right=np.add.reduceat(right[order].astype(np.float64), starts),
    )


def curves_of(sample: Points, floor: float) -> Curves:
    """Return the posterior of curves given a sample with more than one difficulty.

    A grid is laid around the most likely curve, then once more around the mean of the first, which
    few errors may pull far to one side.
    """
    middle = float(np.average(sample.difficulty, weights=sample.n))
    width = float(np.sqrt(np.average((sample.difficulty - middle) ** 2, weights=sample.n)))
    ease = (middle - sample.difficulty) / width
    centre = _most_likely(ease, sample, floor)
    first, cross, second, _ = (
        part.item() for part in _curve_information(centre[None], ease, sample, floor)
    )
    covariance = np.linalg.inv(np.array([[first, cross], [cross, second]]))
    nodes = np.stack([step.reshape(-1) for step in np.meshgrid(STEPS, STEPS)], axis=1)
    for _ in range(2):
        grid = centre + nodes @ np.linalg.cholesky(covariance).T
        level = _log_posterior(grid, ease, sample, floor)
        weight = np.exp(level - level.max())
        weight /= weight.sum()
        centre = weight @ grid
        covariance = (weight[:, None] * (grid - centre)).T @ (grid - centre)
    kept = weight > LIGHTEST * weight.max()
    slope = grid[kept, 1] / width
    return Curves(grid[kept, 0] + slope * middle, slope, weight[kept] / weight[kept].sum(), floor)


def curves_at_mean(difficulty: float, n: int, right: int, steps: int = 400) -> Curves:
    """Return curves of slope one that pass the share of right responses at one difficulty."""
    level = (np.arange(steps) + 0.5) / steps
    share = betaincinv(right + 0.5, n - right + 0.5, level)
    share = np.clip(share, 1e-12, 1 - 1e-12)
    return Curves(difficulty + logit(share), np.ones(steps), np.full(steps, 1 / steps))


def _most_likely(ease: Floats, sample: Points, floor: float) -> Floats:
    """Return intercept and slope in `ease` of the likeliest curve; above a floor, close to it (EM).

    The curve so far says how many right responses are not due to the floor.
    """
    curve, not_by_floor = np.zeros((1, 2)), np.ones_like(ease)
    for _ in range(EM_ITERATIONS if floor else 1):
        share = sample.right * not_by_floor / sample.n
        curve = logistic_curves(share[None], ease, sample.n, start=curve)
        rise = sigmoid_pair(curve[0, 0] + curve[0, 1] * ease)[0]
        not_by_floor = rise / (floor + (1 - floor) * rise)
    return np.asarray(curve[0])


def _log_posterior(at: Floats, ease: Floats, sample: Points, floor: float) -> Floats:
    """Return log-likelihood plus half the log-determinant of the information, of each curve."""
    rise, fall = sigmoid_pair(at[:, :1] + at[:, 1:] * ease)
    level = np.log(floor + (1 - floor) * rise) @ sample.right
    level += np.log((1 - floor) * fall) @ (sample.n - sample.right)
    *_, determinant = _curve_information(at, ease, sample, floor)
    return np.asarray(level + 0.5 * np.log(np.maximum(determinant, 1e-300)))


def _curve_information(
    at: Floats, ease: Floats, sample: Points, floor: float
) -> tuple[Floats, Floats, Floats, Floats]:
    rise, fall = sigmoid_pair(at[:, :1] + at[:, 1:] * ease)
    weight = sample.n * (1 - floor) * rise**2 * fall / (floor + (1 - floor) * rise)
    return information(weight, ease)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predicted number of right responses if the curves of another sample hold.

    On each curve the rarer outcome, right or wrong, is a sum of unequal chances; it is taken as
    binomial, of `size` trials at `share`, with the same mean and variance. The weights of the
    curves account for their uncertainty.
    """

    total: int
    expected: float  # share of right responses
    counts_wrong: bool
    size: Floats  # (n_curves,), as all; seldom a whole number
    share: Floats
    weight: Floats

    def p(self, right: int) -> float:
        """Return the two-sided p-value of this number of right responses."""
        count = self.total - right if self.counts_wrong else right
        tails = self._at_most(count), 1.0 - self._at_most(count - 1)
        return float(min(1.0, 2.0 * max(0.0, min(tails))))

    def limits(self, rate: float) -> tuple[int, int]:
        """Return the least and the largest count of right responses whose `p` is above `rate`."""
        counts = range(self.total + 1)
        low = bisect_right(counts, rate / 2, key=self._at_most)
        high = bisect_left(counts, 1 - rate / 2, key=self._at_most)
        if self.counts_wrong:
            return self.total - high, self.total - low
        return low, high

    def _at_most(self, count: int) -> float:
        """Return the probability that the rarer outcome occurs at most `count` times."""
        if count < 0:
            return 0.0
        below = betainc(np.maximum(self.size - count, 1e-12), count + 1.0, 1 - self.share)
        return float(self.weight @ np.where(count >= self.size, 1.0, below))


def predicted_right(curves: Curves, difficulty: Floats, n: Floats) -> Predicted:
    """Return the prediction of the curves for `n` new responses at each `difficulty`."""
    chance = curves.success(difficulty)
    total = float(n.sum())
    expected = float(curves.weight @ (chance @ n)) / total
    counts_wrong = expected > 0.5
    rarer = 1 - chance if counts_wrong else chance
    mean = np.maximum(rarer @ n, 1e-200)
    share = np.clip(rarer**2 @ n / mean, 1e-200, 1.0)
    return Predicted(int(total), expected, counts_wrong, mean / share, share, curves.weight)


def logistic_curves(
    cells: Floats, along: Floats, weights: Floats | None = None, start: Floats | None = None
) -> Floats:
    """Return intercept and slope of each row's curve, (n_rows, 2).

    `cells` (n_rows, n_columns) holds 0, 1, a share of ones, or NaN for none; `along` (n_columns,)
    must vary, or the slope is 0. A cell counts `weights` (n_columns,) times.
    """
    count = (~np.isnan(cells)).astype(np.float64)
    if weights is not None:
        count = count * weights
    right = np.where(np.isnan(cells), 0.0, cells)
    # The axis is standardised.
    middle, unit = float(along.mean()), float(along.std()) or 1.0
    x = (along - middle) / unit
    curves = np.zeros((cells.shape[0], 2))
    if start is not None:
        curves = np.stack([start[:, 0] + start[:, 1] * middle, start[:, 1] * unit], axis=1)
    for _ in range(MAX_ITER):
        step = _scoring_step(curves, x, right, count)
        curves = curves + step
        if np.abs(step).max(initial=0.0) < TOLERANCE:
            break
    slope = curves[:, 1] / unit
    return np.stack([curves[:, 0] - slope * middle, slope], axis=1)


def _scoring_step(curves: Floats, x: Floats, right: Floats, count: Floats) -> Floats:
    """Return a step of scoring on the penalised likelihood, of limited length.

    The penalty adds `leverage` cells to each, half of them right: with such counts, the score is
    exact, and the information keeps the step stable.
    """
    rise, fall = sigmoid_pair(curves[:, :1] + curves[:, 1:] * x)
    first, cross, second, determinant = information(count * rise * fall, x)
    quadratic = second[:, None] - 2 * cross[:, None] * x + first[:, None] * x**2
    leverage = rise * fall * quadratic / determinant[:, None]
    score = count * (right - rise + leverage * (0.5 - rise))
    in_intercept, in_slope = score.sum(axis=1), score @ x
    first, cross, second, determinant = information(count * (1 + leverage) * rise * fall, x)
    step = np.stack(
        [second * in_intercept - cross * in_slope, first * in_slope - cross * in_intercept], axis=1
    )
    step = step / determinant[:, None]
    length = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP)))


def information(weight: Floats, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the information on intercept and slope of each row, and its determinant."""
    first, cross, second = weight.sum(axis=1), weight @ x, weight @ x**2
    # A ridge of rounding size: if all cells lie at one value, there is no slope.
    ridge = FAINTEST * (1 + first + second)
    first, second = first + ridge, second + ridge
    return first, cross, second, first * second - cross**2
