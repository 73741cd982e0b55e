"""Fit several dimensions with standard errors; predict held-out cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.irt.dimensions.adaptive_quadrature import PosteriorMoments
from ogive.irt.dimensions.loading_pattern import Parameters, Pattern
from ogive.irt.dimensions.marginal_likelihood import (
    category_factors,
    cell_terms,
    expected_products,
    probabilities,
)
from ogive.irt.dimensions.marginal_newton import (
    DimensionFit,
    Penalty,
    information,
    maximize,
    posterior_modes,
    starting_parameters,
    with_exact_information,
)
from ogive.irt.dimensions.missing_information import ability_gradients
from ogive.stats.array_backend import Floats, Run

MAX_WORK = 3e11  # products up to which standard errors take all missing information


@dataclass(frozen=True, eq=False)
class FittedDimensions:
    """Estimates with errors; abilities are posterior means."""

    fit: DimensionFit
    covariance: Floats  # of all numbers
    ability: Floats  # (n_rows, n_dimensions)
    ability_se: Floats  # includes errors of the items

    @property
    def params(self) -> Parameters:
        """Loadings, thresholds and correlations."""
        return self.fit.params

    def errors(self) -> Parameters:
        """Return standard errors of loadings, thresholds and correlations."""
        variance = np.maximum(np.diag(self.covariance), 0.0)
        return Parameters.of(np.sqrt(variance), self.fit.pattern)


def fit_dimensions(
    codes: NDArray[np.int16], pattern: Pattern, penalty: Penalty, run: Run
) -> FittedDimensions:
    """Estimate loadings, thresholds, correlations and abilities."""
    start = starting_parameters(codes, pattern)
    moments = posterior_modes(codes, pattern, start)
    fit = fix_signs(maximize(codes, pattern, penalty, run, (start, moments)), run)
    n_nodes = fit.table.n_nodes(fit.rule)
    if 2.0 * len(codes) * n_nodes * pattern.size**2 < MAX_WORK:
        fit = with_exact_information(fit, run)
    whole, missing = information(fit.derivatives, fit.params, pattern, penalty)
    covariance = _inverse(whole - missing)
    moments = fit.derivatives.moments
    variance = np.diagonal(moments.covariance, axis1=1, axis2=2)
    variance = variance + _item_error_variance(fit, covariance, run)
    return FittedDimensions(fit, covariance, moments.mean, np.sqrt(variance))


def fix_signs(fit: DimensionFit, run: Run) -> DimensionFit:
    """Reflect dimensions so that most loadings are positive."""
    sign = np.where(fit.params.loadings.sum(axis=0) < 0, -1.0, 1.0)
    if (sign > 0).all():
        return fit
    params, moments, both = fit.params, fit.derivatives.moments, np.outer(sign, sign)
    start = (
        Parameters(params.loadings * sign, params.thresholds, params.correlation * both),
        PosteriorMoments(moments.mean * sign, moments.covariance * both),
    )
    return maximize(fit.table.codes, fit.pattern, fit.penalty, run, start, rule=fit.rule)


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of an information; undetermined directions get a large variance."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    least = 1e-6 * max(float(values[-1]), 1.0) * 1e-3
    return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)


def _item_error_variance(fit: DimensionFit, covariance: Floats, run: Run) -> Floats:
    """Return the variance that errors of items and correlations add to each ability."""

    def work(rows: slice) -> Floats:
        block = fit.table.posterior(rows, fit.derivatives.moments, fit.params, fit.rule)
        products = [expected_products(cluster) for cluster in block.clusters]
        gradients = ability_gradients(block, fit.params, fit.pattern, products)
        added: Floats = np.einsum("ndp,ndp->nd", gradients @ covariance, gradients)
        return np.maximum(added, 0.0)

    return np.concatenate(list(run(work, fit.table.blocks(fit.rule))))


def held_out_scores(
    fit: DimensionFit, codes: NDArray[np.int16], held_out: NDArray[np.bool_], run: Run
) -> Floats:
    """Return the log of the probability that a fit gives to each held-out cell."""
    pattern, params, moments = fit.pattern, fit.params, fit.derivatives.moments
    log_factor, *_ = category_factors(params.thresholds, pattern.n_thresholds)
    factors = np.ones((len(pattern.free), int(pattern.n_thresholds.max()) + 1))
    factors[:, 1 : 1 + log_factor.shape[1]] = np.exp(log_factor)

    def work(rows: slice) -> Floats:
        block = fit.table.posterior(rows, moments, params, fit.rule, with_curvature=False)
        prob = np.zeros(codes[rows].shape)
        for cluster in block.clusters:
            items = cluster.items
            own = np.where(held_out[rows], codes[rows], -1)[:, items]
            terms = cell_terms(own, params.thresholds[items], pattern.n_thresholds[items])
            factor = factors[items, np.maximum(own, 0)]
            logits = cluster.nodes @ params.loadings[np.ix_(items, cluster.dimensions)].T
            at_nodes = probabilities(logits, terms, factor)
            prob[:, items] = np.einsum("nq,nqj->nj", cluster.weights, at_nodes)
        return np.log(np.maximum(prob[held_out[rows]], 1e-12))

    return np.concatenate(list(run(work, fit.table.blocks(fit.rule))))
