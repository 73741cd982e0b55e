"""Several dimensions against their definition: integrals on a fine grid, SciPy's optimiser."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

import ogive as og
from ogive.irt.dimensions.adaptive_quadrature import PosteriorMoments, correlated_nodes, grid_rule

EXACT = 0.02  # nats: how exactly integrals are found
SIZES = (("one", 4), ("other", 4))
NAMES = [name for name, size in SIZES for _ in range(size)]


def drawn(n_respondents=150, n_grades=2, general=0.0, missing=0.0, seed=0):
    """Grades of items on two dimensions; `general` loads all of them on a third."""
    random = np.random.default_rng(seed)
    root = np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]]))
    own = np.repeat(random.normal(size=(n_respondents, 2)) @ root.T, 4, axis=1)
    logits = random.uniform(0.9, 1.6, 8) * own + general * random.normal(size=(n_respondents, 1))
    cuts = random.normal(0, 0.5, 8)[:, None] + np.linspace(0.8, -0.8, n_grades - 1)
    more = expit(logits[:, :, None] + cuts)
    grades = (random.random(logits.shape)[:, :, None] < more).sum(axis=-1).astype(float)
    grades[random.random(grades.shape) < missing] = np.nan
    return grades


def log_likelihood(grades, loadings, thresholds, correlation):
    """By definition: the sum over all nodes of a grid in as many dimensions as there are."""
    n_dimensions = loadings.shape[1]
    grid = np.linspace(-6.0, 6.0, 41 if n_dimensions == 2 else 27)
    nodes = np.stack(np.meshgrid(*[grid] * n_dimensions, indexing="ij"), axis=-1)
    nodes = nodes.reshape(-1, n_dimensions)
    inverse = np.linalg.inv(correlation)
    log_density = -0.5 * np.einsum("qd,de,qe->q", nodes, inverse, nodes)
    log_density -= logsumexp(log_density)
    logits = nodes @ loadings.T
    joint = np.tile(log_density, (len(grades), 1))
    for item, cuts in enumerate(thresholds):
        above = np.concatenate(
            [
                np.ones((len(nodes), 1)),
                expit(logits[:, item, None] + cuts),
                np.zeros((len(nodes), 1)),
            ],
            axis=1,
        )
        log_prob = np.log(np.stack([a - b for a, b in pairwise(above.T)], axis=1))
        seen = np.isfinite(grades[:, item])
        joint[seen] += log_prob.T[grades[seen, item].astype(int)]
    return logsumexp(joint, axis=1).sum()


def placed(found):
    """Loadings, thresholds and correlations of a result, as arrays."""
    loadings = found.loadings.pivot(index="item", columns="dimension", values="loading").fillna(0.0)
    thresholds = found.thresholds.groupby("item")["threshold"].apply(np.array)
    correlation = np.eye(len(found.dimensions))
    order = {name: k for k, name in enumerate(found.dimensions)}
    for row in found.correlations.itertuples():
        one, other = order[row.dimension], order[row.other]
        correlation[one, other] = correlation[other, one] = row.correlation
    return (
        loadings.loc[:, list(found.dimensions)].to_numpy(),
        list(thresholds.loc[loadings.index]),
        correlation,
    )


CASES = {
    "correlated": (drawn(), "correlated"),
    "graded": (drawn(n_grades=4), "correlated"),
    "gaps": (drawn(missing=0.3), "correlated"),
    "bifactor": (drawn(general=1.0), "bifactor"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_log_likelihood_is_its_definition(name):
    grades, structure = CASES[name]
    found = og.dimension_scale(grades, NAMES, structure=structure, cv=None, progress=False)
    assert found.log_likelihood == pytest.approx(log_likelihood(grades, *placed(found)), abs=EXACT)


def test_no_optimiser_finds_a_better_place():
    grades = drawn()
    found = og.dimension_scale(grades, NAMES, cv=None, priors=None, progress=False)
    loadings, thresholds, correlation = placed(found)
    free = loadings != 0

    def value(numbers):
        at = np.zeros(loadings.shape)
        at[free] = numbers[:8]
        between = np.tanh(numbers[16])
        spread = np.array([[1.0, between], [between, 1.0]])
        return -log_likelihood(grades, at, numbers[8:16, None], spread)

    start = [loadings[free], np.concatenate(thresholds), [np.arctanh(correlation[0, 1])]]
    best = minimize(value, np.concatenate(start), method="L-BFGS-B", options={"maxiter": 15})
    assert -best.fun <= found.log_likelihood + 0.03


def test_unrelated_halves_are_two_scales():
    random = np.random.default_rng(3)
    own = np.repeat(random.normal(size=(600, 2)), 6, axis=1)
    right = (random.random(own.shape) < expit(1.5 * own)) * 1.0
    names = ["one"] * 6 + ["other"] * 6
    found = og.dimension_scale(right, names, cv=None, progress=False)
    row = found.correlations.iloc[0]
    assert row["low"] < 0 < row["high"]
    parts = [
        og.calibrate(right[:, half], "2pl", priors=None, progress=False).log_likelihood
        for half in (slice(0, 6), slice(6, 12))
    ]
    freed = og.dimension_scale(right, names, cv=None, priors=None, progress=False).log_likelihood
    assert -0.05 < freed - sum(parts) < 3.0  # one correlation more


def test_names_and_order_of_items_change_nothing():
    grades, turned = drawn(), np.r_[5, 2, 7, 0, 1, 3, 4, 6]
    one = og.dimension_scale(grades, NAMES, cv=None, progress=False)
    other = og.dimension_scale(
        grades[:, turned], [NAMES[k] for k in turned], cv=None, progress=False
    )
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=EXACT)
    np.testing.assert_allclose(
        other.loadings["loading"], one.loadings["loading"].to_numpy()[turned], atol=0.01
    )


def test_abilities_that_are_all_but_the_same_are_integrated_too():
    """Their posterior has a singular covariance, by rounding even a negative one."""
    flat = np.array([[[0.04, 0.04], [0.04, 0.04 - 1e-18]], [[0.3, 0.1], [0.1, 0.2]]])
    correlation = np.array([[1.0, 0.999], [0.999, 1.0]])
    nodes = correlated_nodes(PosteriorMoments(np.zeros((2, 2)), flat), correlation, grid_rule(2, 5))
    assert np.isfinite(nodes.outer).all()
    assert np.isfinite(nodes.log_weights).all()


@pytest.mark.slow
def test_intervals_of_loadings_and_correlations_hold_nominally():
    """Fifty tables of 400 × 16: 95 % intervals, with the error that fifty leave."""
    inside = []
    spread = np.array([[1.0, 0.5], [0.5, 1.0]])
    for seed in range(50):
        random = np.random.default_rng(seed)
        own = np.repeat(random.multivariate_normal([0, 0], spread, 400), 8, axis=1)
        slopes = random.uniform(0.9, 1.6, 16)
        right = random.random(own.shape) < expit(slopes * own + random.normal(0, 0.7, 16))
        names = ["one"] * 8 + ["other"] * 8
        found = og.dimension_scale(right * 1.0, names, cv=None, progress=False)
        held = (found.loadings["low"] < slopes) & (slopes < found.loadings["high"])
        row = found.correlations.iloc[0]
        inside.append([held.mean(), row["low"] < 0.5 < row["high"]])
    loadings, correlation = np.mean(inside, axis=0)
    assert 0.92 < loadings < 0.98
    assert correlation > 0.86
