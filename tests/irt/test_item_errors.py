"""Errors of abilities through the items, against differences, hand computations and draws."""

from dataclasses import replace

import numpy as np
import pytest

from ogive import calibrate, simulate
from ogive.irt import score_errors as item_errors
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.score_errors import ItemErrors, ability_derivatives

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
