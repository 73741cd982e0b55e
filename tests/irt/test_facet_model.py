"""Ratings by several judges, against the definition, a general optimiser and simulated truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive.irt.facet_model import (
    PRIORS,
    FacetLikelihood,
    FacetParameters,
    Ratings,
    fit_facets,
    free_directions,
    start_of,
)

ABILITY = np.array([0.8, 0.0, -0.8])
SEVERITY = np.array([0.5, -0.5])
CONSISTENCY = np.array([1.3, 0.7])
STEP = np.array([-0.6, 0.6])


def drawn(n_items=60, seed=0, share=1.0, item_sd=1.0, response_sd=1.0):
    """One entry per rating: respondent, item, judge, category."""
    random = np.random.default_rng(seed)
    quality = ABILITY[:, None] - random.normal(0, item_sd, n_items)
    quality = quality + random.normal(0, response_sd, quality.shape)
    cells = np.indices((3, n_items, 2)).reshape(3, -1)
    cells = cells[:, random.random(cells.shape[1]) < share]
    respondent, item, judge = cells
    x = np.arange(3.0)
    away = x * (quality[respondent, item] - SEVERITY[judge])[:, None] - np.r_[0, np.cumsum(STEP)]
    chance = np.exp(CONSISTENCY[judge][:, None] * away)
    chance /= chance.sum(axis=1, keepdims=True)
    category = (random.random(len(chance))[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    return respondent, item, judge, np.minimum(category, 2)


def ratings_of(rows, n_items=60):
    return Ratings.of(*rows, (3, n_items, 2, 3))


def begin_of(ratings):
    return start_of(ratings, np.zeros(2), np.ones(2), np.zeros(3))


def by_hand(x, rows, n_items):
    """Log-likelihood of the definition, by two nested Gauss-Hermite rules, item by item."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    weights = weights / weights.sum()
    ability, severity, consistency, steps = x[:3], x[3:5], x[5:7], x[7:9]
    item_sd, response_sd = np.exp(x[9:])
    passed = np.r_[0, np.cumsum(steps)]
    total = 0.0
    for i in range(n_items):
        over_items = np.ones(31)
        for r in range(3):
            mine = [k for k in range(len(rows[0])) if rows[1][k] == i and rows[0][k] == r]
            quality = ability[r] - item_sd * nodes[:, None] + response_sd * nodes
            likely = np.ones_like(quality)
            for k in mine:
                j, x_given = rows[2][k], rows[3][k]
                terms = consistency[j] * (
                    np.arange(3.0)[:, None, None] * (quality - severity[j]) - passed[:, None, None]
                )
                likely = likely * np.exp(terms[x_given]) / np.exp(terms).sum(axis=0)
            over_items = over_items * (likely @ weights)
        total += np.log(over_items @ weights)
    return total


def test_the_likelihood_is_that_of_the_definition():
    rows = drawn(n_items=8)
    ratings = ratings_of(rows, 8)
    found = FacetParameters(ABILITY, SEVERITY, CONSISTENCY, STEP, -0.2, 0.3)
    ours = FacetLikelihood.at(ratings, found).by_item.sum()
    assert ours == pytest.approx(by_hand(found.vector(), rows, 8), abs=1e-5)


def test_slopes_are_derivatives():
    ratings = ratings_of(drawn(share=0.7))
    found = FacetParameters(ABILITY, SEVERITY, CONSISTENCY, STEP, -0.2, 0.3)
    here = FacetLikelihood.at(ratings, found)

    def value(step):
        return FacetLikelihood.at(ratings, found.moved(step)).value

    tiny = 1e-5 * np.eye(found.vector().size)
    rise = [(value(step) - value(-step)) / 2e-5 for step in tiny]
    assert here.gradient() == pytest.approx(rise, abs=1e-4)
    assert here.slopes().shape == (60, 11)


def test_a_general_optimiser_finds_the_same():
    n = 12
    rows = drawn(n_items=n, seed=3)
    ratings = ratings_of(rows, n)
    begin = begin_of(ratings)
    basis = free_directions(ratings)
    sds = np.repeat(list(PRIORS.values()), (3, 2, 2, 2, 2))
    centre = np.repeat([0, 0, 1.0, 0, 0], (3, 2, 2, 2, 2))

    def loss(z):
        x = begin.vector() + basis @ z
        return -by_hand(x, rows, n) + (((x - centre) / sds) ** 2).sum() / 2

    settings = {"maxiter": 40, "ftol": 1e-13}
    ours = fit_facets(ratings, begin)
    start = np.linalg.lstsq(basis, ours.parameters.vector() - begin.vector(), rcond=None)[0]
    found = minimize(loss, start + 0.3, method="L-BFGS-B", options=settings)
    assert loss(start) <= found.fun + 1e-5
    assert basis @ found.x + begin.vector() == pytest.approx(ours.parameters.vector(), abs=1e-3)


def test_true_parameters_are_found():
    ratings = ratings_of(drawn(n_items=400, seed=1), 400)
    fit = fit_facets(ratings, begin_of(ratings))
    truth = np.concatenate([ABILITY, SEVERITY, CONSISTENCY, STEP, [0.0, 0.0]])
    se = np.sqrt(np.diag(fit.covariance))
    assert fit.converged
    assert np.abs((fit.parameters.vector() - truth) / se).max() < 3
    assert fit.parameters.severity.sum() == pytest.approx(0)
    assert fit.parameters.consistency.mean() == pytest.approx(1)


def test_responses_without_peculiarities_have_nearly_no_variance():
    ratings = ratings_of(drawn(n_items=300, response_sd=0.0), 300)
    fit = fit_facets(ratings, begin_of(ratings))
    assert fit.parameters.response_sd < 0.45
    assert np.isfinite(fit.covariance).all()


@pytest.mark.slow
def test_intervals_of_differences_hold():
    held = []
    for seed in range(60):
        ratings = ratings_of(drawn(n_items=40, seed=seed), 40)
        fit = fit_facets(ratings, begin_of(ratings))
        joint = fit.covariance
        for i, j in ((0, 1), (0, 2), (1, 2)):
            se = np.sqrt(joint[i, i] + joint[j, j] - 2 * joint[i, j])
            apart = fit.parameters.ability[i] - fit.parameters.ability[j]
            held.append(abs(apart - (ABILITY[i] - ABILITY[j])) < 2.02 * se)
    assert np.mean(held) > 0.92  # on the safe side with few items
