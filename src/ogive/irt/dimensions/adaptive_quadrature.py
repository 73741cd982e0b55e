"""Nodes of integration that are moved to where each respondent's posterior lies.

Gauss-Hermite nodes for up to four dimensions, quasi-random ones (with importance weights) beyond.
Where all but one dimension are specific to a group of items, each is integrated with the general
dimension alone (Gibbons and Hedeker, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.stats.array_backend import Floats

MOST_EXACT = 4  # dimensions of a grid
WIDER = 1.05  # quasi-random nodes reach a little beyond the posterior, whose tails they carry
LEAST_VARIANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes of a standard normal density; `log_weights` already hold one over that density."""

    nodes: Floats  # (n_nodes, n_dimensions)
    log_weights: Floats


def grid_rule(n_dimensions: int, points: int) -> Rule:
    """Return a product of Gauss-Hermite rules."""
    at, weight = np.polynomial.hermite_e.hermegauss(points)
    one = np.log(weight) + 0.5 * at**2
    nodes = np.stack(np.meshgrid(*[at] * n_dimensions, indexing="ij"), axis=-1)
    weights = sum(np.meshgrid(*[one] * n_dimensions, indexing="ij"))
    return Rule(nodes.reshape(-1, n_dimensions), np.asarray(weights).reshape(-1))


def scattered_rule(n_dimensions: int, count: int, seed: int = 0) -> Rule:
    """Quasi-random nodes with the mean and covariance of the density, and their mirror images."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    half = Sobol(n_dimensions, seed=seed).random(count // 2)
    nodes = ndtri(np.clip(half, 1e-9, 1 - 1e-9))
    nodes = np.concatenate([nodes, -nodes])
    spread = np.linalg.cholesky(nodes.T @ nodes / len(nodes))
    nodes = WIDER * np.linalg.solve(spread, nodes.T).T
    log_density = -0.5 * ((nodes / WIDER) ** 2).sum(axis=1)
    constant = n_dimensions * (0.5 * np.log(2 * np.pi) + np.log(WIDER)) - np.log(len(nodes))
    return Rule(nodes, constant - log_density)


@dataclass(frozen=True, eq=False)
class Around:
    """Where each respondent's posterior lies."""

    mean: Floats  # (n_rows, n_dimensions)
    covariance: Floats  # (n_rows, n_dimensions, n_dimensions)

    def rows(self, rows: slice) -> Around:
        """Return some of them."""
        return Around(self.mean[rows], self.covariance[rows])


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes and log weights, the population's density included.

    `outer` are shared by all items. `inner` of a specific dimension, given each outer node, is
    (n_rows, n_outer, n_inner); its weights hold the density of that dimension.
    """

    outer: Floats  # (n_rows, n_outer, n_outer_dimensions)
    log_weights: Floats  # (n_rows, n_outer)
    inner: dict[int, tuple[Floats, Floats]]  # by dimension


def correlated_nodes(around: Around, correlation: Floats, rule: Rule) -> Nodes:
    """Return nodes of all dimensions together."""
    root = _roots(around.covariance)
    nodes = around.mean[:, None, :] + rule.nodes @ np.swapaxes(root, 1, 2)
    unit = np.linalg.cholesky(correlation)
    away = np.linalg.solve(unit, np.swapaxes(nodes, 1, 2))
    density = -0.5 * (away**2).sum(axis=1) - np.log(np.diag(unit)).sum()
    scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    weights = density + rule.log_weights + scale[:, None]
    return Nodes(nodes, weights - 0.5 * len(unit) * np.log(2 * np.pi), {})


def _roots(covariances: Floats) -> Floats:
    """Return triangular roots; abilities that are all but the same keep a little of their own."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        values, ways = np.linalg.eigh(covariances)
        least = np.maximum(1e-6 * values[:, -1:], LEAST_VARIANCE)
        wide = np.maximum(values, least)[:, None, :]
        return np.asarray(np.linalg.cholesky((ways * wide) @ np.swapaxes(ways, 1, 2)))


def specific_nodes(around: Around, rule: Rule) -> Nodes:
    """Return nodes of the general dimension, and given it of each specific one."""
    at, weights = rule.nodes[:, 0], rule.log_weights - 0.5 * np.log(2 * np.pi)
    variance = np.maximum(around.covariance[:, 0, 0], LEAST_VARIANCE)
    sd = np.sqrt(variance)
    general = around.mean[:, :1] + sd[:, None] * at
    outer = weights + np.log(sd)[:, None] - 0.5 * general**2
    inner = {}
    for k in range(1, around.mean.shape[1]):
        line = around.covariance[:, 0, k] / variance
        left = around.covariance[:, k, k] - line * around.covariance[:, 0, k]
        own = np.sqrt(np.maximum(left, LEAST_VARIANCE))
        center = around.mean[:, k, None] + line[:, None] * (general - around.mean[:, :1])
        nodes = center[:, :, None] + own[:, None, None] * at
        inner[k] = nodes, weights + np.log(own)[:, None, None] - 0.5 * nodes**2
    return Nodes(general[:, :, None], outer, inner)
