"""Errors of items in abilities, by responses and averaged over answers."""

from dataclasses import replace

import numpy as np
import pytest

from ogive import calibrate, simulate
from ogive.irt import score_errors as item_errors
from ogive.irt import score_errors as module
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.score_errors import (
    ItemErrors,
    ability_derivatives,
    averaged_errors,
    item_tables,
    points_among,
    sums_at,
)

STEP = 1e-5
MODELS = ["2pl", "3pl", "4pl", "graded", "gpcm", "continuous", "beta"]


@pytest.fixture(scope="module")
def fitted():
    found = {}
    for name in MODELS:
        responses = simulate(name, 30, 6, missing=0.2, random_state=3).responses
        cal = calibrate(responses, name, progress=False)
        found[name] = cal, encode(cal.placed(responses), cal.model, collapsing=False)
    return found


def derivative(cal, data, method, item, coordinate):
    """How all abilities change with one number of one item, by differences."""
    ends = []
    for sign in (1, -1):
        coords = cal.coords.copy()
        coords[item, coordinate] += sign * STEP
        scored = score_abilities(data, cal.model, coords, cal.population, method)
        ends.append(scored.ability)
    return (ends[0] - ends[1]) / (2 * STEP)


@pytest.mark.parametrize("method", ["eap", "map", "ml"])
def test_derivatives_of_abilities_are_those_of_differences(fitted, method, subtests):
    for name, (cal, data) in fitted.items():
        with subtests.test(model=name):
            found = score_abilities(data, cal.model, cal.coords, cal.population, method)
            parts = ability_derivatives(data, cal.model, cal.coords, cal.population, method, found)
            slopes = np.concatenate([part for _, part in parts])
            inner = ~found.at_bound & (np.abs(found.ability) < 4)
            for item, coordinate in ((0, 0), (3, 1)):
                if cal.model.at_bound(cal.coords)[item, coordinate]:
                    continue
                expected = derivative(cal, data, method, item, coordinate)
                np.testing.assert_allclose(
                    slopes[inner, item, coordinate], expected[inner], atol=2e-3, rtol=2e-2
                )


def test_variance_is_that_of_the_whole_covariance_of_all_items():
    random = np.random.default_rng(0)
    n_items, width = 5, 2
    roots = random.normal(size=(n_items, width, width))
    own = roots @ np.swapaxes(roots, 1, 2)
    shared = random.normal(size=(2, n_items, width))
    whole = np.zeros((n_items * width, n_items * width))
    for k in range(n_items):
        part = slice(k * width, (k + 1) * width)
        whole[part, part] = own[k]
    flat = shared.reshape(2, -1)
    whole += flat.T @ flat
    blocks = own + np.einsum("kni,knj->nij", shared, shared)
    errors = ItemErrors.of(np.zeros((n_items, width)), blocks, shared)
    slopes = random.normal(size=(7, n_items, width))
    rows = slopes.reshape(7, -1)
    expected = np.einsum("ri,ij,rj->r", rows, whole, rows)
    np.testing.assert_allclose(errors.variance(slopes), expected)


def test_a_shift_of_the_whole_scale_moves_a_likelihood_estimate_by_as_much(fitted):
    cal, data = fitted["2pl"]
    found = score_abilities(data, cal.model, cal.coords, cal.population, "ml")
    parts = ability_derivatives(data, cal.model, cal.coords, cal.population, "ml", found)
    slopes = np.concatenate([part for _, part in parts])
    shift = cal.model.rescale(cal.coords, 1.0, 1.0) - cal.coords
    moved = np.einsum("rni,ni->r", slopes, shift)
    np.testing.assert_allclose(moved[~found.at_bound], -1.0, rtol=1e-4)


def test_blocks_of_rows_give_the_derivatives_of_all_at_once(fitted, monkeypatch, subtests):
    cal, data = fitted["3pl"]
    for method in ("eap", "map"):
        with subtests.test(method=method):
            found = score_abilities(data, cal.model, cal.coords, cal.population, method)

            def slopes(method=method, found=found):
                given = data, cal.model, cal.coords, cal.population, method, found
                return [part for _, part in ability_derivatives(*given)]

            (whole,) = slopes()
            with monkeypatch.context() as patch:
                patch.setattr(item_errors, "CELLS", 7 * cal.coords.size)
                parts = slopes()
            assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
            np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-12)


def test_posteriors_that_were_kept_give_what_a_second_look_gives(fitted, subtests):
    for name in ("2pl", "3pl", "graded", "beta"):
        with subtests.test(model=name):
            cal, data = fitted[name]
            kept = score_abilities(data, cal.model, cal.coords, cal.population, "eap")
            given = data, cal.model, cal.coords, cal.population, "eap"
            first, again = (
                np.concatenate([part for _, part in ability_derivatives(*given, found)])
                for found in (kept, replace(kept, seen=None))
            )
            assert kept.seen is not None
            np.testing.assert_allclose(first, again, atol=1e-12)


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
