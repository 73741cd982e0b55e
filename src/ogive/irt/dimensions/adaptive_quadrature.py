"""Quadrature nodes that are moved to each respondent's posterior.

Gauss-Hermite nodes for up to four dimensions, quasi-random ones (with importance weights) beyond.
If all but one dimension are specific to a group of items, each is integrated with the general
dimension alone (Gibbons and Hedeker, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.stats.array_backend import Floats

MAX_GRID_DIMENSIONS = 4  # dimensions of a grid of nodes
WIDENING = 1.05  # factor by which quasi-random nodes reach beyond the posterior, into its tails
LEAST_VARIANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes of a standard normal density; `log_weights` include one over that density."""

    nodes: Floats  # (n_nodes, n_dimensions)
    log_weights: Floats


def grid_rule(n_dimensions: int, points: int) -> Rule:
    """Return a product of Gauss-Hermite rules."""
    at, weight = np.polynomial.hermite_e.hermegauss(points)
    log_weight = np.log(weight) + 0.5 * at**2
    nodes = np.stack(np.meshgrid(*[at] * n_dimensions, indexing="ij"), axis=-1)
    weights = sum(np.meshgrid(*[log_weight] * n_dimensions, indexing="ij"))
    return Rule(nodes.reshape(-1, n_dimensions), np.asarray(weights).reshape(-1))


def sobol_rule(n_dimensions: int, count: int, seed: int = 0) -> Rule:
    """Return quasi-random nodes, with their mirror images, of mean 0 and covariance 1."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    half = Sobol(n_dimensions, seed=seed).random(count // 2)
    nodes = ndtri(np.clip(half, 1e-9, 1 - 1e-9))
    nodes = np.concatenate([nodes, -nodes])
    root = np.linalg.cholesky(nodes.T @ nodes / len(nodes))
    nodes = WIDENING * np.linalg.solve(root, nodes.T).T
    log_density = -0.5 * ((nodes / WIDENING) ** 2).sum(axis=1)
    constant = n_dimensions * (0.5 * np.log(2 * np.pi) + np.log(WIDENING)) - np.log(len(nodes))
    return Rule(nodes, constant - log_density)


@dataclass(frozen=True, eq=False)
class PosteriorMoments:
    """Mean and covariance of each respondent's posterior."""

    mean: Floats  # (n_rows, n_dimensions)
    covariance: Floats  # (n_rows, n_dimensions, n_dimensions)

    def rows(self, rows: slice) -> PosteriorMoments:
        """Return those of some respondents."""
        return PosteriorMoments(self.mean[rows], self.covariance[rows])


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes and log weights, which include the population's density.

    `outer` nodes are shared by all items. `inner` nodes of a specific dimension, given each outer
    node, are (n_rows, n_outer, n_inner); their weights include the density of that dimension.
    """

    outer: Floats  # (n_rows, n_outer, n_outer_dimensions)
    log_weights: Floats  # (n_rows, n_outer)
    inner: dict[int, tuple[Floats, Floats]]  # by dimension


def correlated_nodes(moments: PosteriorMoments, correlation: Floats, rule: Rule) -> Nodes:
    """Return nodes of all dimensions together."""
    root = _roots(moments.covariance)
    nodes = moments.mean[:, None, :] + rule.nodes @ np.swapaxes(root, 1, 2)
    unit = np.linalg.cholesky(correlation)
    standardized = np.linalg.solve(unit, np.swapaxes(nodes, 1, 2))
    density = -0.5 * (standardized**2).sum(axis=1) - np.log(np.diag(unit)).sum()
    log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    weights = density + rule.log_weights + log_det[:, None]
    return Nodes(nodes, weights - 0.5 * len(unit) * np.log(2 * np.pi), {})


def _roots(covariances: Floats) -> Floats:
    """Return Cholesky factors; nearly singular covariances get a least variance."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
        least = np.maximum(1e-6 * values[:, -1:], LEAST_VARIANCE)
        regular = np.maximum(values, least)[:, None, :]
        return np.asarray(np.linalg.cholesky((vectors * regular) @ np.swapaxes(vectors, 1, 2)))


def bifactor_nodes(moments: PosteriorMoments, rule: Rule) -> Nodes:
    """Return nodes of the general dimension, and given it of each specific one."""
    at, weights = rule.nodes[:, 0], rule.log_weights - 0.5 * np.log(2 * np.pi)
    mean, covariance = moments.mean, moments.covariance
    variance = np.maximum(covariance[:, 0, 0], LEAST_VARIANCE)
    sd = np.sqrt(variance)
    general = mean[:, :1] + sd[:, None] * at
    outer = weights + np.log(sd)[:, None] - 0.5 * general**2
    inner = {}
    for k in range(1, mean.shape[1]):
        slope = covariance[:, 0, k] / variance
        residual = covariance[:, k, k] - slope * covariance[:, 0, k]
        own = np.sqrt(np.maximum(residual, LEAST_VARIANCE))
        center = mean[:, k, None] + slope[:, None] * (general - mean[:, :1])
        nodes = center[:, :, None] + own[:, None, None] * at
        inner[k] = nodes, weights + np.log(own)[:, None, None] - 0.5 * nodes**2
    return Nodes(general[:, :, None], outer, inner)
