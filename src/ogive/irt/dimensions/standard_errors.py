"""Fit several dimensions, with the errors of what was found; predict cells that were held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.irt.dimensions.loading_pattern import Pattern, Place
from ogive.irt.dimensions.marginal_likelihood import (
    between,
    cell_terms,
    expected_products,
    probabilities,
)
from ogive.irt.dimensions.marginal_newton import (
    DimensionFit,
    Pull,
    climb,
    first_place,
    in_full,
    information,
    posterior_modes,
)
from ogive.irt.dimensions.missing_information import ability_slopes
from ogive.stats.array_backend import Floats, Run

MOST_WORK = 3e11  # products up to which standard errors take all missing information


@dataclass(frozen=True, eq=False)
class FittedDimensions:
    """What was found, with errors; abilities are posterior means."""

    fit: DimensionFit
    covariance: Floats  # of all numbers
    ability: Floats  # (n_rows, n_dimensions)
    ability_se: Floats  # counts that items were estimated

    @property
    def place(self) -> Place:
        """Loadings, thresholds and correlations."""
        return self.fit.place

    def errors(self) -> Place:
        """Return standard errors of loadings, thresholds and correlations."""
        variance = np.maximum(np.diag(self.covariance), 0.0)
        return Place.of(np.sqrt(variance), self.fit.pattern)


def fit_dimensions(
    codes: NDArray[np.int16], pattern: Pattern, pull: Pull, run: Run
) -> FittedDimensions:
    """Find loadings, thresholds, correlations and abilities."""
    start = first_place(codes, pattern)
    around = posterior_modes(codes, pattern, start)
    fit = upright(climb(codes, pattern, pull, run, (start, around)), run)
    n_nodes = fit.table.n_nodes(fit.rule)
    if 2.0 * len(codes) * n_nodes * pattern.size**2 < MOST_WORK:
        fit = in_full(fit, run)
    whole, missing = information(fit.sums, fit.place, pattern, pull)
    covariance = _inverse(whole - missing)
    variance = np.diagonal(fit.sums.around.covariance, axis1=1, axis2=2)
    blurred = variance + _error_of_items(fit, covariance, run)
    return FittedDimensions(fit, covariance, fit.sums.around.mean, np.sqrt(blurred))


def upright(fit: DimensionFit, run: Run) -> DimensionFit:
    """Turn dimensions so that most loadings are positive."""
    sign = np.where(fit.place.loadings.sum(axis=0) < 0, -1.0, 1.0)
    if (sign > 0).all():
        return fit
    place, around = fit.place, fit.sums.around
    turned = Place(
        place.loadings * sign, place.thresholds, place.correlation * np.outer(sign, sign)
    )
    moved = type(around)(around.mean * sign, around.covariance * np.outer(sign, sign))
    return climb(fit.table.codes, fit.pattern, fit.pull, run, (turned, moved), rule=fit.rule)


def _inverse(bend: Floats) -> Floats:
    """Inverse of the information; what it leaves open gets a large variance, not a negative one."""
    values, ways = np.linalg.eigh(0.5 * (bend + bend.T))
    least = 1e-6 * max(float(values[-1]), 1.0) * 1e-3
    found: Floats = (ways / np.maximum(values, least)) @ ways.T
    return found


def _error_of_items(fit: DimensionFit, covariance: Floats, run: Run) -> Floats:
    """Return variance that errors of items and correlations add to each ability."""

    def work(rows: slice) -> Floats:
        block = fit.table.posterior(rows, fit.sums.around, fit.place, fit.rule)
        products = [expected_products(part) for part in block.parts]
        slopes = ability_slopes(block, fit.place, fit.pattern, products)
        added: Floats = np.einsum("ndp,ndp->nd", slopes @ covariance, slopes)
        return np.maximum(added, 0.0)

    blocks = fit.table.blocks(fit.table.n_nodes(fit.rule))
    return np.concatenate(list(run(work, blocks)))


def held_out_scores(
    fit: DimensionFit, codes: NDArray[np.int16], held: NDArray[np.bool_], run: Run
) -> Floats:
    """Log of the probability that a fit gave to each cell that was held out."""
    pattern, place = fit.pattern, fit.place
    log_factor, *_ = between(place.thresholds, pattern.n_thresholds)
    factors = np.ones((len(pattern.free), int(pattern.n_thresholds.max()) + 1))
    factors[:, 1 : 1 + log_factor.shape[1]] = np.exp(log_factor)

    def work(rows: slice) -> Floats:
        block = fit.table.posterior(rows, fit.sums.around, place, fit.rule, bending=False)
        found = np.zeros(codes[rows].shape)
        for part in block.parts:
            asked = np.where(held[rows], codes[rows], -1)[:, part.items]
            terms = cell_terms(
                asked, place.thresholds[part.items], pattern.n_thresholds[part.items]
            )
            factor = factors[part.items, np.maximum(asked, 0)]
            logits = part.nodes @ place.loadings[np.ix_(part.items, part.dimensions)].T
            chances = probabilities(logits, terms, factor)
            found[:, part.items] = np.einsum("nq,nqj->nj", part.weights, chances)
        return np.log(np.maximum(found[held[rows]], 1e-12))

    blocks = fit.table.blocks(fit.table.n_nodes(fit.rule))
    return np.concatenate(list(run(work, blocks)))


def one_dimension(pattern: Pattern) -> Pattern:
    """Return the same items on one dimension."""
    free = np.ones((len(pattern.free), 1), dtype=bool)
    return Pattern(free, pattern.n_thresholds, correlated=True)
