"""Groups of many items at once, against groups that are joined one by one."""

import numpy as np
import pytest

from ogive.checks.item_fit import (
    groups_by_score,
    merge_sparse,
    pearson_of_two_cells,
    pearson_statistic,
    s_x2,
    s_x2_of_many_categories,
    s_x2_of_two_categories,
)
from ogive.checks.residuals import population_nodes
from ogive.irt.calibrating import calibrate
from ogive.irt.simulation import simulate


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 3, 12, 40])
def test_many_items_at_once_are_joined_as_one_by_one(n_groups, subtests):
    random = np.random.default_rng(n_groups)
    sizes = random.integers(1, 6, n_groups).astype(float)
    share = random.beta(0.7, 0.7, (n_groups, 200))
    right = random.binomial(sizes[:, None].astype(int), share).astype(float)
    observed = np.stack([sizes[:, None] - right, right])
    expected = np.stack([sizes[:, None] * (1 - share), sizes[:, None] * share])
    statistic, free = pearson_of_two_cells(sizes, observed, expected)
    for k in range(200):
        scores = np.arange(1, n_groups + 1)
        groups = groups_by_score(scores, observed[:, :, k].T, expected[:, :, k].T, 2, n_groups + 1)
        with subtests.test(item=k):
            np.testing.assert_allclose(
                (statistic[k], free[k]), pearson_statistic(merge_sparse(groups))
            )


def test_long_tests_have_the_s_x2_of_the_plain_recursion(monkeypatch):
    """Beyond 500 items one is divided out; the tree of recursions says the same."""
    responses = simulate("3pl", 120, 540, random_state=4).responses
    found = calibrate(responses, "2pl")
    cells, weights = np.asarray(responses.cells), np.ones(120)
    given = found.model, found.coords, found.population, cells, weights
    statistic, freedom = s_x2(*given)
    monkeypatch.setattr("ogive.checks.item_fit.MANY_ITEMS", 10_000)
    plain, plain_freedom = s_x2(*given)
    np.testing.assert_allclose(statistic, plain, rtol=1e-10)
    np.testing.assert_array_equal(freedom, plain_freedom)
    assert np.isfinite(statistic).sum() > 400


def test_responses_that_are_impossible_are_judged_item_by_item():
    responses = simulate("2pl", 150, 12, random_state=2).responses
    found = calibrate(responses, "2pl")
    coords = found.coords.copy()
    coords[3] = [2000.0, 0.0]  # so steep that a curve is 0 or 1 at most abilities
    nodes, shares = population_nodes(found.model, found.coords, found.population)
    given = found.model, coords, nodes.fine, shares, np.asarray(responses.cells), np.ones(150)
    np.testing.assert_allclose(
        s_x2_of_two_categories(*given), s_x2_of_many_categories(*given), rtol=1e-12
    )
