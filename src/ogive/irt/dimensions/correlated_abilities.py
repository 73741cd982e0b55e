"""Joint normal of abilities by expectation propagation.

A normal distribution of several abilities by the factor of its covariance.

Where a few items tell of each ability, the likeliest covariance is often singular: some abilities
are sums of others. EM comes ever more slowly to that edge; the factor L of a covariance L Lᵀ meets
it as any other place, and columns that vanish make the work less (Burer and Monteiro, 2003).

Several abilities of the same respondents: their joint normal distribution.

Each scale tells of a respondent by a likelihood on nodes. Expectation propagation (Minka, 2001)
stands a bell curve in its place, such that the posterior of that ability, given all scales, keeps
its mean and variance; the normal distribution is then found by its factor. One integral
a scale takes the place of one over all of them, and what is found is that of the full integral
up to what the bell curves lose, which a handful of items makes small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach
from ogive.stats.newton import Anderson

LEAST = 1e-4  # variance along a direction below which it is left out
MEMORY, MOST_STEPS = 20, 1_000  # of the search for the factor
CHANGE = 1e-13  # of the value by respondent at which the search ends in any case


class FactoredNormal:
    """The likelihood of mean and factor, given bell curves exp(shift θ - precision θ² / 2).

    Abilities are in units of their own: `precision` and `shift` are (n_rows, n_scales).
    """

    def __init__(self, precision: Floats, shift: Floats) -> None:
        self.precision, self.shift = precision, shift

    def maximized(self, mean: Floats, covariance: Floats, settled: float) -> tuple[Floats, Floats]:
        """Return mean and covariance at the top; slopes by respondent end at `settled`."""
        from scipy.optimize import minimize

        n, count = len(mean), len(self.precision)
        begin = self._factor(mean, covariance)

        def fall(place: Floats) -> tuple[float, Floats]:
            value, by_mean, by_factor = self.climbed(place[:n], place[n:].reshape(n, -1))
            return -value / count, -np.concatenate([by_mean, by_factor.ravel()]) / count

        found = minimize(
            fall,
            np.concatenate([mean, begin.ravel()]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MOST_STEPS, "maxcor": MEMORY, "ftol": CHANGE, "gtol": settled},
        )
        place: Floats = found.x
        factor = place[n:].reshape(n, -1)
        return place[:n], factor @ factor.T

    def climbed(self, mean: Floats, factor: Floats) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood up to a constant, and its slopes in mean and factor."""
        spread, place, log_size = self._posterior(mean, factor)
        rest = self.shift - self.precision * (mean + place @ factor.T)
        pull = (self.shift - self.precision * mean) @ factor
        apart = mean @ (self.shift - 0.5 * self.precision * mean).sum(axis=0)
        value = 0.5 * float((pull * place).sum() - log_size) + float(apart)
        n, width = factor.shape
        known = (self.precision.T @ spread.reshape(len(spread), width**2)).reshape(n, width, width)
        slope = rest.T @ place - (factor[:, None, :] @ known)[:, 0]
        return value, rest.sum(axis=0), slope

    def _posterior(self, mean: Floats, factor: Floats) -> tuple[Floats, Floats, float]:
        """Return of the factors of each row: covariance, mean, and Σ log |inverse covariance|."""
        n, width = factor.shape
        squares = (factor[:, :, None] * factor[:, None, :]).reshape(n, width**2)
        inner = (self.precision @ squares).reshape(len(self.precision), width, width)
        np.einsum("nii->ni", inner)[:] += 1.0
        roots = np.einsum("nii->ni", np.linalg.cholesky(inner))
        spread: Floats = np.asarray(np.linalg.inv(inner), dtype=float)
        pull = (self.shift - self.precision * mean) @ factor
        return spread, (spread @ pull[:, :, None])[:, :, 0], 2 * float(np.log(roots).sum())

    def _factor(self, mean: Floats, covariance: Floats) -> Floats:
        """Columns for what the covariance holds, and one for where the likelihood rises most."""
        values, vectors = np.linalg.eigh(covariance)
        held = values > LEAST
        columns: Floats = vectors[:, held] * np.sqrt(values[held])
        if held.all():
            return columns
        rises, ways = np.linalg.eigh(self._rise(mean, columns))
        if rises[-1] <= 0:
            return columns
        return np.column_stack([columns, np.sqrt(LEAST) * ways[:, -1]])

    def _rise(self, mean: Floats, factor: Floats) -> Floats:
        """Return twice the slope of the log-likelihood in the covariance."""
        spread, place, _ = self._posterior(mean, factor)
        rest = self.shift - self.precision * (mean + place @ factor.T)
        n, width = factor.shape
        both = (factor[:, None, :, None] * factor[None, :, None, :]).reshape(n * n, width**2)
        known = (spread.reshape(len(spread), width**2) @ both.T).reshape(-1, n, n)
        known = self.precision[:, :, None] * known * self.precision[:, None, :]
        found: Floats = rest.T @ rest - np.diag(self.precision.sum(axis=0)) + known.sum(axis=0)
        return found


MOST_ROUNDS, PLAIN_ROUNDS = 60, 2  # of bell curves and their distribution; before steps are mixed
SETTLED_ROUND = 3e-4  # of standardized covariances
FIRST_SLOPE, LAST_SLOPE = 1e-3, 3e-6  # by respondent, at which a round ends: far from the end, near
SLOPE_OF_CHANGE = 3e-3  # between the two, part of the last change
LEAST_VARIANCE = 1e-6  # standardized: what is divided by it stays finite
LEAST_PRECISION = 1e-3  # of a bell curve, in units of the population: less says nothing
FINEST = 0.5  # the smallest variance that nodes a unit apart still show
MOST_TURNS, SETTLED_END = 30, 1e-4  # of the search for an end of an interval
LARGEST_ERROR = 1.0  # of a correlation between -1 and 1; with a larger one, nothing is known
SMALL_SAMPLE = 3  # Fisher's correction of the standard error of a transformed correlation


@dataclass(frozen=True, eq=False)
class Scale:
    """What the responses on one scale say of each respondent."""

    nodes: Floats  # (n_nodes,), equally spaced
    log_likelihood: Floats  # (n_rows, n_nodes)
    asked: np.ndarray  # (n_rows,), bool: who answered anything
    mean: float = 0.0  # of the population, to begin with
    sd: float = 1.0
    blur: Floats | None = None  # (n_rows,), variance that the likelihood does not know of


@dataclass(frozen=True, eq=False)
class Bells:
    """Bell curves in place of likelihoods: exp(shift θ - precision θ² / 2)."""

    precision: Floats  # (n_rows, n_scales); 0 where nothing was asked
    shift: Floats  # (n_rows, n_scales)


@dataclass(frozen=True, eq=False)
class JointNormal:
    """The distribution of abilities on all scales, and where each respondent stands."""

    mean: Floats  # (n_scales,)
    covariance: Floats  # (n_scales, n_scales)
    ability: Floats  # (n_rows, n_scales), posterior means
    se: Floats  # (n_rows, n_scales), posterior standard deviations
    bells: Bells
    converged: bool

    @property
    def correlation(self) -> Floats:
        """Of true abilities, free of the error with which they are measured."""
        sd = np.sqrt(np.diag(self.covariance))
        found: Floats = np.clip(self.covariance / np.outer(sd, sd), -1.0, 1.0)
        return found


def fit_joint_normal(scales: Sequence[Scale]) -> JointNormal:
    """Return maximum likelihood of mean and covariance, given the likelihoods of respondents."""
    mean = np.array([scale.mean for scale in scales])
    unit = np.array([scale.sd for scale in scales])
    covariance = np.diag(unit**2)
    flat = Bells(*np.zeros((2, len(scales[0].asked), len(scales))))
    bells = refined(scales, mean, covariance, flat)
    ahead, settled, converged = Anderson(), FIRST_SLOPE, False
    for turn in range(MOST_ROUNDS):
        last = covariance
        mean, covariance = _maximized(bells, mean, covariance, unit, settled)
        change = float(np.abs((covariance - last) / np.outer(unit, unit)).max())
        converged = change < SETTLED_ROUND and settled <= LAST_SLOPE
        better = refined(scales, mean, covariance, bells)
        if converged:
            bells = better
            break
        bells = better if turn < PLAIN_ROUNDS else _mixed(ahead, bells, better, unit)
        settled = min(settled, max(LAST_SLOPE, SLOPE_OF_CHANGE * change))
    ability, spread = posterior(bells, mean, covariance)
    se = np.sqrt(np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0.0))
    return JointNormal(mean, covariance, ability, se, bells, converged)


def _mixed(ahead: Anderson, bells: Bells, better: Bells, unit: Floats) -> Bells:
    """Return bell curves further along the way from `bells` to `better` ones."""
    here, there = (np.stack([b.precision * unit**2, b.shift * unit]) for b in (bells, better))
    precision, shift = ahead.advance(here, there - here, np.ones_like(here))
    known = np.where(better.precision > 0, np.maximum(precision, LEAST_PRECISION), 0.0)
    return Bells(known / unit**2, shift / unit)


def posterior(bells: Bells, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return posterior means (n_rows, n_scales) and covariances (n_rows, n_scales, n_scales)."""
    spread = covariance - covariance @ weighted_inverse(bells, covariance) @ covariance
    apart = bells.shift - bells.precision * mean
    return mean + (spread @ apart[:, :, None])[:, :, 0], spread


def weighted_inverse(bells: Bells, covariance: Floats) -> Floats:
    """Return inverse of covariance plus error of each row; zero where a scale told nothing.

    Written with roots of precision, which are zero, not infinite, where nothing was asked.
    """
    root = np.sqrt(bells.precision)
    inner = root[:, :, None] * covariance * root[:, None, :] + np.eye(len(covariance))
    found: Floats = root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
    return found


def refined(scales: Sequence[Scale], mean: Floats, covariance: Floats, bells: Bells) -> Bells:
    """Return bell curves that keep the moments of each ability, given the other scales."""
    ability, spread = posterior(bells, mean, covariance)
    variance = np.diagonal(spread, axis1=1, axis2=2)
    precision, shift = bells.precision.copy(), bells.shift.copy()
    for k, scale in enumerate(scales):
        least = LEAST_PRECISION / scale.sd**2
        # What all other scales say of this ability.
        known = np.maximum(1 / variance[:, k] - bells.precision[:, k], least)
        pull = ability[:, k] / variance[:, k] - bells.shift[:, k]
        blur = np.zeros(len(known)) if scale.blur is None else scale.blur
        room = 1 / known + blur  # the likelihood tells of an ability that is off by the blur
        centre, width = tilted(scale.nodes, scale.log_likelihood, pull / known, room)
        # Where the others leave less room than there is between two nodes, the last curve stays.
        narrowest = FINEST * (scale.nodes[1] - scale.nodes[0]) ** 2
        seen = scale.asked & ((width > narrowest) | (bells.precision[:, k] == 0))
        new = np.maximum(1 / np.maximum(width, narrowest) - 1 / room, least)
        told = centre * (new + 1 / room) - pull / known / room
        precision[seen, k] = (new / (1 + new * blur))[seen]
        shift[seen, k] = (told / (1 + new * blur))[seen]
    return Bells(precision, shift)


def tilted(
    nodes: Floats, log_likelihood: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """Return mean and variance of each row under its own normal prior."""
    weights = log_likelihood - 0.5 * (nodes - mean[:, None]) ** 2 / variance[:, None]
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    centre = weights @ nodes
    return centre, weights @ nodes**2 - centre**2


def _maximized(
    bells: Bells, mean: Floats, covariance: Floats, unit: Floats, settled: float
) -> tuple[Floats, Floats]:
    """Mean and covariance, given the bell curves; each ability in its own unit on the way."""
    both = np.outer(unit, unit)
    told = FactoredNormal(bells.precision * unit**2, bells.shift * unit)
    place, spread = told.maximized(mean / unit, covariance / both, settled)
    return place * unit, (spread + LEAST_VARIANCE * np.eye(len(unit))) * both


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of true abilities with their uncertainty, each (n_scales, n_scales)."""

    value: Floats
    se: Floats  # inf where nothing is known
    low: Floats
    high: Floats
    rows: np.ndarray  # how many tell of each

    @property
    def known(self) -> np.ndarray:
        """Which are determined at all: abilities that do not differ correlate with nothing."""
        found: np.ndarray = self.se <= LARGEST_ERROR
        return found


def correlations(found: JointNormal, confidence: float) -> Correlations:
    """Return correlations and their intervals.

    Standard errors rest on the expected information of the two scales alone, on two variances
    and a covariance. An interval holds the correlations that are not too many of their own
    standard errors away (Student's t, of the respondents that tell of both), by Fisher's
    transformation of the correlation that is seen, then freed of measurement error: so it neither
    passes 1 nor degenerates there. With the standard error of the estimate instead, correlations
    that are too high by chance would seem the surest.
    """
    n, value = len(found.mean), found.correlation
    se, rows = np.full((n, n), np.inf), np.zeros((n, n), dtype=int)
    low, high = np.full((n, n), -1.0), np.full((n, n), 1.0)
    told = found.bells.precision * np.diag(found.covariance)
    for i in range(n):
        for j in range(i):
            pair = [i, j]
            both = (told[:, pair] > 0).all(axis=1)
            rows[i, j] = rows[j, i] = both.sum()
            bells = Bells(found.bells.precision[both][:, pair], found.bells.shift[both][:, pair])
            covariance = found.covariance[np.ix_(pair, pair)]
            error = _error_of_pair(bells, covariance)
            if not np.isfinite(error):
                continue
            se[i, j] = se[j, i] = error
            reliable = (told[both][:, pair] / (1 + told[both][:, pair])).mean(axis=0)
            share = float(np.clip(np.sqrt(reliable.prod()), 1e-6, 1 - 1e-6))
            deviations = float(t_reach(np.array(both.sum() - SMALL_SAMPLE), confidence))
            ends = [_end(bells, covariance, share, side * deviations) for side in (-1, 1)]
            low[i, j], high[i, j] = low[j, i], high[j, i] = ends
    return Correlations(value, se, low, high, rows)


def _end(bells: Bells, covariance: Floats, share: float, deviations: float) -> float:
    """Return the correlation that lies so many of its own standard errors away, within -1 and 1.

    `share` of a correlation is seen, the rest is lost to measurement error.
    """
    root = np.sqrt(np.diag(covariance))
    unit = np.outer(root, root)
    value = float(np.clip(covariance[0, 1] / unit[0, 1], -1.0, 1.0))
    end = moved = value
    for _ in range(MOST_TURNS):
        there = np.where(np.eye(2) > 0, covariance, end * unit)
        error = _error_of_pair(bells, there)
        if not np.isfinite(error):
            return float(np.sign(deviations))
        reach = deviations * error * share / (1 - (share * end) ** 2)
        moved = float(np.clip(np.tanh(np.arctanh(share * value) + reach) / share, -1.0, 1.0))
        # Half of the way: the error changes as fast as the end where correlations are high.
        end, last = (end + moved) / 2, end
        if abs(end - last) < SETTLED_END:
            break
    return moved


def _error_of_pair(bells: Bells, covariance: Floats) -> float:
    """Return standard error of a correlation by the delta method."""
    count = len(bells.precision)
    if count <= SMALL_SAMPLE:
        return np.inf
    inverse = weighted_inverse(bells, covariance)
    parts = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    moved = [inverse @ part for part in parts]
    information = np.array(
        [[0.5 * np.einsum("nij,nji->", left, right) for right in moved] for left in moved]
    )
    (a, c), (_, b) = covariance
    unit = np.sqrt(a * b)
    slope = np.array([-0.5 * c / a, -0.5 * c / b, 1.0]) / unit
    if np.linalg.cond(information) > 1e12:
        return np.inf
    variance = slope @ np.linalg.solve(information, slope)
    return float(np.sqrt(variance * count / (count - SMALL_SAMPLE)))
