"""A normal distribution of several abilities by the factor of its covariance.

Where a few items tell of each ability, the likeliest covariance is often singular: some abilities
are sums of others. EM comes ever more slowly to that edge; the factor L of a covariance L Lᵀ meets
it as any other place, and columns that vanish make the work less (Burer and Monteiro, 2003).
"""

from __future__ import annotations

import numpy as np

from ogive.numerics.arrays import Floats

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
        """Mean and covariance at the top; slopes by respondent end at `settled`."""
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
        """The log-likelihood up to a constant, and its slopes in mean and factor."""
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
        """Of the factors of each row: covariance, mean, and Σ log |inverse covariance|."""
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
        """Twice the slope of the log-likelihood in the covariance."""
        spread, place, _ = self._posterior(mean, factor)
        rest = self.shift - self.precision * (mean + place @ factor.T)
        n, width = factor.shape
        both = (factor[:, None, :, None] * factor[None, :, None, :]).reshape(n * n, width**2)
        known = (spread.reshape(len(spread), width**2) @ both.T).reshape(-1, n, n)
        known = self.precision[:, :, None] * known * self.precision[:, None, :]
        found: Floats = rest.T @ rest - np.diag(self.precision.sum(axis=0)) + known.sum(axis=0)
        return found
