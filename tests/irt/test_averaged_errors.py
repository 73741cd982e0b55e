"""Errors of items averaged over answers, against those of the answers themselves."""

import numpy as np
import pytest

from ogive import calibrate, simulate
from ogive.irt import score_errors as module
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.score_errors import ItemErrors, averaged_errors, item_tables, points_among, sums_at


@pytest.fixture(scope="module", params=["2pl", "3pl", "graded"])
def cal(request):
    drawn = simulate(request.param, 700, 12, missing=0.2, random_state=3).responses
    return calibrate(drawn, request.param, progress=False)


@pytest.mark.parametrize("method", ["eap", "ml"])
def test_averages_are_near_what_the_responses_give(cal, method, monkeypatch):
    found = cal.ability_covariance(method=method)
    monkeypatch.setattr(module, "MOST_JOINT", 10_000)
    vars(cal).pop("_own_covariance", None)
    exact = cal._covariance_with(cal._item_errors, cal.responses, method)
    known = cal.ability_covariance(method=method, items_known=True)
    assert np.median(exact.variance / known.variance) > 1.005  # else there is nothing to see
    moved = ~cal.score(cal.responses, method)["at_bound"].to_numpy()
    ratio = found.se[moved] / exact.se[moved]
    assert np.abs(ratio.mean() - 1) < 0.01
    first, second = np.flatnonzero(moved)[:-1], np.flatnonzero(moved)[1:]
    apart = found.difference_se(first, second) / exact.difference_se(first, second)
    assert np.abs(apart.mean() - 1) < 0.01


def test_tables_of_one_item_by_hand():
    drawn = simulate("2pl", 20, 1, random_state=0)
    model, coords = drawn.truth.model, np.array([[1.3, -0.4]])
    covariance, direction = np.array([[[0.04, 0.01], [0.01, 0.09]]]), np.array([[[0.1, 0.2]]])
    errors = ItemErrors.of(
        coords, covariance + np.einsum("kni,knj->nij", direction, direction), direction
    )
    ability = points_among(np.array([-1.0, 1.0]))
    found = item_tables(
        model, errors, ability, encode(drawn.responses.cells, model, collapsing=False)
    )
    right = 1 / (1 + np.exp(-(1.3 * ability - 0.4)))
    wrong = 1 - right
    # d² log P(x) / (d ability d coordinate), of slope and intercept, for wrong and right.
    by_slope = [x - right - 1.3 * ability * right * wrong for x in (0, 1)]
    by_intercept = -1.3 * right * wrong
    alone, together = 0.0, 0.0
    for x, chance in ((0, wrong), (1, right)):
        change = np.stack([by_slope[x], by_intercept])
        alone = alone + chance * np.einsum("ip,ij,jp->p", change, covariance[0], change)
        together = together + chance * (direction[0, 0] @ change)
    np.testing.assert_allclose(found[0, 0], alone, atol=1e-7)
    np.testing.assert_allclose(found[1, 0], together, atol=1e-7)


def test_sums_over_the_items_asked_are_interpolated():
    ability = np.linspace(-2, 3, 60)
    cells = np.random.default_rng(0).integers(-1, 2, (60, 4)).astype(np.int8)
    model = simulate("2pl", 5, 4, random_state=0).truth.model
    points = points_among(ability)
    tables = np.stack([np.outer(np.arange(1.0, 5.0), points**k) for k in (0, 3)])
    for table in (cells, np.abs(cells)):
        data = encode(table, model, collapsing=False)
        weight = (table >= 0) @ np.arange(1.0, 5.0)
        expected = np.stack([weight, weight * ability**3], axis=1)
        found = sums_at(data, ability, points, tables)
        # Within half a step of the fine abilities, where a cube grows by 27 at most.
        np.testing.assert_allclose(found, expected, atol=10 * 27 * 0.5 * 5 / 4_096)


def test_who_does_not_move_has_no_error_from_the_items(cal):
    data = cal._encode(cal.responses)
    scored = score_abilities(data, cal.model, cal.coords, cal.population, "eap")
    alone, together = averaged_errors(
        data, cal.model, cal._item_errors, scored.ability, np.zeros(700)
    )
    assert not alone.any()
    assert not together.any()
