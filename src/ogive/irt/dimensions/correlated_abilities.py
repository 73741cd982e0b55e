"""The joint normal distribution of several abilities, by expectation propagation (Minka, 2001).

Each scale gives the likelihood of a respondent's ability on nodes. Expectation propagation
replaces it by a Gaussian site, so that the posterior of that ability, given all scales, keeps its
mean and variance. One integral per scale replaces one over all of them; with a handful of items
per scale the difference is small.

Given the sites, mean and covariance are fitted by the factor L of the covariance L Lᵀ. If only a
few items inform on each ability, the most likely covariance is often singular. EM approaches that
edge ever more slowly; for the factor it is an ordinary point (Burer and Monteiro, 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach
from ogive.stats.newton import Anderson

LEAST_DIRECTION = 1e-4  # variance along a direction below which it is left out
MEMORY, MAX_STEPS = 20, 1_000  # settings of L-BFGS for the factor
VALUE_TOLERANCE = 1e-13  # relative change of the value at which it stops in any case
MAX_ITER, PLAIN_ITER = 60, 2  # rounds of expectation propagation; those before acceleration
TOLERANCE = 3e-4  # change of standardized covariances at convergence
FIRST_GRADIENT, LAST_GRADIENT = 1e-3, 3e-6  # gradient per respondent at which a round ends
GRADIENT_PER_CHANGE = 3e-3  # the same limit between the two, as a share of the last change
LEAST_VARIANCE = 1e-6  # standardized ridge that keeps the covariance regular
LEAST_PRECISION = 1e-3  # smallest precision of a site, in units of the population
NODE_VARIANCE = 0.5  # smallest variance that nodes one unit apart can represent
MAX_END_ITER, END_TOLERANCE = 30, 1e-4  # settings of the search for an end of an interval
MAX_SE = 1.0  # standard error of a correlation above which nothing is known
FISHER_CORRECTION = 3  # correction of n in the standard error of a transformed correlation


class FactoredNormal:
    """The likelihood of mean and factor, given sites exp(shift θ - precision θ² / 2).

    Abilities are in units of their own: `precision` and `shift` are (n_rows, n_scales).
    """

    def __init__(self, precision: Floats, shift: Floats) -> None:
        self.precision, self.shift = precision, shift

    def maximized(
        self, mean: Floats, covariance: Floats, tolerance: float
    ) -> tuple[Floats, Floats]:
        """Return mean and covariance at the maximum; `tolerance` is the gradient per respondent."""
        from scipy.optimize import minimize

        n, count = len(mean), len(self.precision)
        start = self._factor(mean, covariance)

        def loss(x: Floats) -> tuple[float, Floats]:
            value, by_mean, by_factor = self.value_and_gradient(x[:n], x[n:].reshape(n, -1))
            return -value / count, -np.concatenate([by_mean, by_factor.ravel()]) / count

        options = {"maxiter": MAX_STEPS, "maxcor": MEMORY, "ftol": VALUE_TOLERANCE}
        result = minimize(
            loss,
            np.concatenate([mean, start.ravel()]),
            jac=True,
            method="L-BFGS-B",
            options={**options, "gtol": tolerance},
        )
        factor: Floats = result.x[n:].reshape(n, -1)
        return result.x[:n], factor @ factor.T

    def value_and_gradient(self, mean: Floats, factor: Floats) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood up to a constant, and its gradients in mean and factor."""
        covariances, means, log_det = self._factor_posterior(mean, factor)
        residual = self.shift - self.precision * (mean + means @ factor.T)
        score = (self.shift - self.precision * mean) @ factor
        of_mean = mean @ (self.shift - 0.5 * self.precision * mean).sum(axis=0)
        value = 0.5 * float((score * means).sum() - log_det) + float(of_mean)
        n, width = factor.shape
        flat = covariances.reshape(len(covariances), width**2)
        weighted = (self.precision.T @ flat).reshape(n, width, width)
        by_factor = residual.T @ means - (factor[:, None, :] @ weighted)[:, 0]
        return value, residual.sum(axis=0), by_factor

    def _factor_posterior(self, mean: Floats, factor: Floats) -> tuple[Floats, Floats, float]:
        """Return covariances and means of the factors of each row, and Σ log |covariance⁻¹|."""
        n, width = factor.shape
        squares = (factor[:, :, None] * factor[:, None, :]).reshape(n, width**2)
        inner = (self.precision @ squares).reshape(len(self.precision), width, width)
        np.einsum("nii->ni", inner)[:] += 1.0
        roots = np.einsum("nii->ni", np.linalg.cholesky(inner))
        covariances: Floats = np.asarray(np.linalg.inv(inner), dtype=float)
        score = (self.shift - self.precision * mean) @ factor
        means = (covariances @ score[:, :, None])[:, :, 0]
        return covariances, means, 2 * float(np.log(roots).sum())

    def _factor(self, mean: Floats, covariance: Floats) -> Floats:
        """Return a factor of the covariance, and a column along which the likelihood rises."""
        values, vectors = np.linalg.eigh(covariance)
        kept = values > LEAST_DIRECTION
        columns: Floats = vectors[:, kept] * np.sqrt(values[kept])
        if kept.all():
            return columns
        rises, directions = np.linalg.eigh(self._covariance_gradient(mean, columns))
        if rises[-1] <= 0:
            return columns
        return np.column_stack([columns, np.sqrt(LEAST_DIRECTION) * directions[:, -1]])

    def _covariance_gradient(self, mean: Floats, factor: Floats) -> Floats:
        """Return twice the gradient of the log-likelihood in the covariance."""
        covariances, means, _ = self._factor_posterior(mean, factor)
        residual = self.shift - self.precision * (mean + means @ factor.T)
        n, width = factor.shape
        both = (factor[:, None, :, None] * factor[None, :, None, :]).reshape(n * n, width**2)
        product = (covariances.reshape(len(covariances), width**2) @ both.T).reshape(-1, n, n)
        product = self.precision[:, :, None] * product * self.precision[:, None, :]
        total = residual.T @ residual - np.diag(self.precision.sum(axis=0)) + product.sum(axis=0)
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class Scale:
    """The likelihood of each respondent's ability on one scale."""

    nodes: Floats  # (n_nodes,), equally spaced
    log_likelihood: Floats  # (n_rows, n_nodes)
    asked: np.ndarray  # (n_rows,), bool: respondents with any response
    mean: float = 0.0  # starting value of the population's
    sd: float = 1.0
    blur: Floats | None = None  # (n_rows,), error variance that the likelihood does not include


@dataclass(frozen=True, eq=False)
class GaussianSites:
    """Gaussians in place of likelihoods: exp(shift θ - precision θ² / 2)."""

    precision: Floats  # (n_rows, n_scales); 0 without responses
    shift: Floats  # (n_rows, n_scales)


@dataclass(frozen=True, eq=False)
class JointNormal:
    """The distribution of abilities on all scales, and the posterior of each respondent."""

    mean: Floats  # (n_scales,)
    covariance: Floats  # (n_scales, n_scales)
    ability: Floats  # (n_rows, n_scales), posterior means
    se: Floats  # (n_rows, n_scales), posterior standard deviations
    sites: GaussianSites
    converged: bool

    @property
    def correlation(self) -> Floats:
        """Correlations of true abilities, free of measurement error."""
        sd = np.sqrt(np.diag(self.covariance))
        return np.asarray(np.clip(self.covariance / np.outer(sd, sd), -1.0, 1.0))


def fit_joint_normal(scales: Sequence[Scale]) -> JointNormal:
    """Fit mean and covariance by maximum likelihood, given the likelihoods of respondents."""
    mean = np.array([scale.mean for scale in scales])
    unit = np.array([scale.sd for scale in scales])
    covariance = np.diag(unit**2)
    flat = GaussianSites(*np.zeros((2, len(scales[0].asked), len(scales))))
    sites = refine_sites(scales, mean, covariance, flat)
    anderson, tolerance, converged = Anderson(), FIRST_GRADIENT, False
    for iteration in range(MAX_ITER):
        last = covariance
        mean, covariance = _maximized(sites, mean, covariance, unit, tolerance)
        change = float(np.abs((covariance - last) / np.outer(unit, unit)).max())
        converged = change < TOLERANCE and tolerance <= LAST_GRADIENT
        refined = refine_sites(scales, mean, covariance, sites)
        if converged:
            sites = refined
            break
        sites = refined if iteration < PLAIN_ITER else _accelerated(anderson, sites, refined, unit)
        tolerance = min(tolerance, max(LAST_GRADIENT, GRADIENT_PER_CHANGE * change))
    ability, covariances = posterior(sites, mean, covariance)
    se = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    return JointNormal(mean, covariance, ability, se, sites, converged)


def _accelerated(
    anderson: Anderson, sites: GaussianSites, refined: GaussianSites, unit: Floats
) -> GaussianSites:
    """Return sites further along the way from `sites` to `refined` ones."""
    old, new = (np.stack([s.precision * unit**2, s.shift * unit]) for s in (sites, refined))
    precision, shift = anderson.advance(old, new - old, np.ones_like(old))
    precision = np.where(refined.precision > 0, np.maximum(precision, LEAST_PRECISION), 0.0)
    return GaussianSites(precision / unit**2, shift / unit)


def posterior(sites: GaussianSites, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return posterior means (n_rows, n_scales) and covariances (n_rows, n_scales, n_scales)."""
    covariances = covariance - covariance @ weighted_inverse(sites, covariance) @ covariance
    score = sites.shift - sites.precision * mean
    return mean + (covariances @ score[:, :, None])[:, :, 0], covariances


def weighted_inverse(sites: GaussianSites, covariance: Floats) -> Floats:
    """Return the inverse of covariance plus error of each row; zero for scales without responses.

    It uses roots of precisions, which are zero, not infinite, without responses.
    """
    root = np.sqrt(sites.precision)
    inner = root[:, :, None] * covariance * root[:, None, :] + np.eye(len(covariance))
    return np.asarray(root[:, :, None] * np.linalg.inv(inner) * root[:, None, :])


def refine_sites(
    scales: Sequence[Scale], mean: Floats, covariance: Floats, sites: GaussianSites
) -> GaussianSites:
    """Return sites that keep the moments of each ability, given the other scales."""
    ability, covariances = posterior(sites, mean, covariance)
    variance = np.diagonal(covariances, axis1=1, axis2=2)
    precision, shift = sites.precision.copy(), sites.shift.copy()
    for k, scale in enumerate(scales):
        least = LEAST_PRECISION / scale.sd**2
        # The cavity: what all other scales say of this ability.
        cavity = np.maximum(1 / variance[:, k] - sites.precision[:, k], least)
        cavity_shift = ability[:, k] / variance[:, k] - sites.shift[:, k]
        blur = np.zeros(len(cavity)) if scale.blur is None else scale.blur
        cavity_var = 1 / cavity + blur  # the likelihood is that of an ability off by the blur
        centre, width = tilted_moments(
            scale.nodes, scale.log_likelihood, cavity_shift / cavity, cavity_var
        )
        # A posterior narrower than the distance of two nodes keeps its last site.
        narrowest = NODE_VARIANCE * (scale.nodes[1] - scale.nodes[0]) ** 2
        update = scale.asked & ((width > narrowest) | (sites.precision[:, k] == 0))
        new = np.maximum(1 / np.maximum(width, narrowest) - 1 / cavity_var, least)
        new_shift = centre * (new + 1 / cavity_var) - cavity_shift / cavity / cavity_var
        precision[update, k] = (new / (1 + new * blur))[update]
        shift[update, k] = (new_shift / (1 + new * blur))[update]
    return GaussianSites(precision, shift)


def tilted_moments(
    nodes: Floats, log_likelihood: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """Return posterior mean and variance of each row under its own normal prior."""
    weights = log_likelihood - 0.5 * (nodes - mean[:, None]) ** 2 / variance[:, None]
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    centre = weights @ nodes
    return centre, weights @ nodes**2 - centre**2


def _maximized(
    sites: GaussianSites, mean: Floats, covariance: Floats, unit: Floats, tolerance: float
) -> tuple[Floats, Floats]:
    """Return mean and covariance, given the sites, by way of standardized abilities."""
    both = np.outer(unit, unit)
    normal = FactoredNormal(sites.precision * unit**2, sites.shift * unit)
    mean, covariance = normal.maximized(mean / unit, covariance / both, tolerance)
    return mean * unit, (covariance + LEAST_VARIANCE * np.eye(len(unit))) * both


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of true abilities with their uncertainty, each (n_scales, n_scales)."""

    value: Floats
    se: Floats  # inf if nothing is known
    low: Floats
    high: Floats
    rows: np.ndarray  # number of respondents that inform on each

    @property
    def known(self) -> np.ndarray:
        """Flags correlations that are determined: abilities that do not differ have none."""
        known: np.ndarray = self.se <= MAX_SE
        return known


def correlations(normal: JointNormal, confidence: float) -> Correlations:
    """Return correlations and their intervals.

    Standard errors rest on the expected information of the two scales alone, on two variances
    and a covariance. An interval contains the correlations from which the estimate is not too many
    of their own standard errors away (Student's t, of the respondents that inform on both), by
    Fisher's transformation of the correlation with measurement error: so it neither passes 1 nor
    degenerates there. With the standard error of the estimate instead, correlations that are too
    high by chance would seem the most precise.
    """
    n, sites = len(normal.mean), normal.sites
    se, rows = np.full((n, n), np.inf), np.zeros((n, n), dtype=int)
    low, high = np.full((n, n), -1.0), np.full((n, n), 1.0)
    signal = sites.precision * np.diag(normal.covariance)
    for i in range(n):
        for j in range(i):
            pair = [i, j]
            both = (signal[:, pair] > 0).all(axis=1)
            rows[i, j] = rows[j, i] = both.sum()
            own = GaussianSites(sites.precision[both][:, pair], sites.shift[both][:, pair])
            covariance = normal.covariance[np.ix_(pair, pair)]
            error = _correlation_se(own, covariance)
            if not np.isfinite(error):
                continue
            se[i, j] = se[j, i] = error
            reliability = (signal[both][:, pair] / (1 + signal[both][:, pair])).mean(axis=0)
            attenuation = float(np.clip(np.sqrt(reliability.prod()), 1e-6, 1 - 1e-6))
            t = float(t_reach(np.array(both.sum() - FISHER_CORRECTION), confidence))
            ends = [_interval_end(own, covariance, attenuation, side * t) for side in (-1, 1)]
            low[i, j], high[i, j] = low[j, i], high[j, i] = ends
    return Correlations(normal.correlation, se, low, high, rows)


def _interval_end(
    sites: GaussianSites, covariance: Floats, attenuation: float, n_errors: float
) -> float:
    """Return the correlation that is `n_errors` of its own standard errors away, in -1 to 1.

    `attenuation` is the factor by which measurement error shrinks a correlation.
    """
    root = np.sqrt(np.diag(covariance))
    unit = np.outer(root, root)
    value = float(np.clip(covariance[0, 1] / unit[0, 1], -1.0, 1.0))
    end = moved = value
    for _ in range(MAX_END_ITER):
        error = _correlation_se(sites, np.where(np.eye(2) > 0, covariance, end * unit))
        if not np.isfinite(error):
            return float(np.sign(n_errors))
        shift = n_errors * error * attenuation / (1 - (attenuation * end) ** 2)
        z = np.arctanh(attenuation * value) + shift
        moved = float(np.clip(np.tanh(z) / attenuation, -1.0, 1.0))
        # Half of the way: the error of high correlations changes as fast as the end.
        end, last = (end + moved) / 2, end
        if abs(end - last) < END_TOLERANCE:
            break
    return moved


def _correlation_se(sites: GaussianSites, covariance: Floats) -> float:
    """Return the standard error of a correlation by the delta method."""
    count = len(sites.precision)
    if count <= FISHER_CORRECTION:
        return np.inf
    inverse = weighted_inverse(sites, covariance)
    parts = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    products = [inverse @ part for part in parts]
    information = np.array(
        [[0.5 * np.einsum("nij,nji->", left, right) for right in products] for left in products]
    )
    (a, c), (_, b) = covariance
    unit = np.sqrt(a * b)
    gradient = np.array([-0.5 * c / a, -0.5 * c / b, 1.0]) / unit
    if np.linalg.cond(information) > 1e12:
        return np.inf
    variance = gradient @ np.linalg.solve(information, gradient)
    return float(np.sqrt(variance * count / (count - FISHER_CORRECTION)))
