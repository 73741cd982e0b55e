"""The nominal model: against SciPy, against models it contains, and against the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

import ogive as og
from ogive.errors import InputError

GRID = np.linspace(-6.0, 6.0, 121)
LOG_WEIGHTS = -(GRID**2) / 2 - logsumexp(-(GRID**2) / 2)


def minus_log_likelihood(flat, cells, n_wrong):
    """Marginal log-likelihood and its gradient, as Bock (1972) writes them."""
    lines = flat.reshape(cells.shape[1], n_wrong, 2)
    odds = lines[:, :, :1] * GRID + lines[:, :, 1:]
    log_prob = log_softmax(np.concatenate([0 * odds[:, :1], odds], axis=1), axis=1)
    joint = LOG_WEIGHTS + sum(log_prob[i][cells[:, i]] for i in range(cells.shape[1]))
    log_norm = logsumexp(joint, axis=1)
    posterior, slope = np.exp(joint - log_norm[:, None]), np.zeros_like(lines)
    for i in range(cells.shape[1]):
        for k in range(n_wrong):
            left = ((cells[:, i] == k + 1)[:, None] - np.exp(log_prob[i, k + 1])) * posterior
            slope[i, k] = (left @ GRID).sum(), left.sum()
    return -log_norm.sum(), -slope.ravel()


@pytest.mark.parametrize("missing_option", [False, True])
def test_the_maximum_is_that_of_an_independent_optimiser(missing_option):
    table = og.simulate(og.Nominal(categories=4), 400, 5, random_state=3).responses
    cells = table.cells.copy()
    if missing_option:  # an item with three options
        cells[cells[:, 2] == 3, 2] = 0
    found = og.calibrate(
        og.Responses.from_codes(cells, kind="nominal"), priors=None, tolerance=1e-9
    )
    assert found.converged
    free = ~np.isnan(found.items.filter(regex="^(slope|intercept)_.$")).to_numpy().reshape(-1)

    def value(reduced):
        flat = np.where(np.arange(free.size) % 2 == 0, 0.0, -40.0)
        flat[free] = reduced
        total, slope = minus_log_likelihood(flat, cells.astype(int), 3)
        return total, slope[free]

    start = np.tile([-1.0, -0.5], 15)[free]
    best = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(found.coords.ravel()[free], best.x, atol=1e-4)


def test_with_two_options_it_is_the_2pl():
    drawn = og.simulate("2pl", 300, 8, random_state=1).responses
    right = og.calibrate(drawn, "2pl", priors=None)
    chosen = og.calibrate(
        og.Responses.from_codes(1 - drawn.cells, kind="nominal"), "nominal", priors=None
    )
    assert chosen.log_likelihood == pytest.approx(right.log_likelihood, abs=1e-4)
    columns = ["discrimination", "difficulty", "discrimination_se", "difficulty_se"]
    np.testing.assert_allclose(chosen.items[columns], right.items[columns], rtol=2e-3, atol=2e-3)


def test_it_explains_grades_at_least_as_well_as_partial_credit():
    drawn = og.simulate(og.PartialCredit(categories=4), 500, 6, random_state=2).responses
    graded = og.calibrate(drawn, "gpcm", priors=None)
    turned = og.Responses.from_codes((3 - drawn.cells).astype(np.int8), kind="nominal")
    free = og.calibrate(turned, "nominal", priors=None)
    assert 0 < free.log_likelihood - graded.log_likelihood < 20  # 12 more parameters


def test_true_slopes_are_recovered_also_with_missing_cells():
    drawn = og.simulate(og.Nominal(categories=4), 4000, 12, missing=0.2, random_state=4)
    found = og.calibrate(drawn.responses, "nominal").items
    for k in (1, 2, 3):
        truth = drawn.truth.items
        assert np.corrcoef(found[f"slope_{k}"], truth[f"slope_{k}"])[0, 1] > 0.85
        error = found[f"intercept_{k}"] - truth[f"intercept_{k}"]
        assert np.sqrt(np.mean(error**2)) < 0.15


@pytest.mark.slow
def test_intervals_of_slopes_cover_the_truth():
    inside = []
    for seed in range(40):
        drawn = og.simulate(og.Nominal(categories=4), 800, 10, random_state=100 + seed)
        found = og.calibrate(drawn.responses, "nominal", progress=False).items
        for name in [f"{word}_{k}" for word in ("slope", "intercept") for k in (1, 2, 3)]:
            away = np.abs(found[name] - drawn.truth.items[name])
            inside.append((away < 1.96 * found[f"{name}_se"]).mean())
    assert 0.92 < np.mean(inside) < 0.98


def test_the_scale_points_towards_the_key_even_if_some_keys_are_wrong():
    drawn = og.simulate(og.Nominal(categories=4), 500, 12, random_state=5)
    cells = drawn.responses.cells.copy()
    swapped = cells[:, :3].copy()
    cells[:, :3] = np.where(swapped == 0, 1, np.where(swapped == 1, 0, swapped))
    found = og.calibrate(og.Responses.from_codes(cells, kind="nominal"), "nominal")
    ability = found.abilities()["ability"]
    assert np.corrcoef(ability, drawn.truth.abilities["ability"])[0, 1] > 0.8
    assert (found.items["slope_1"].iloc[:3] > 0).all()


def test_scores_and_chances_are_those_of_being_right():
    drawn = og.simulate(og.Nominal(categories=4), 200, 6, random_state=6).responses
    found = og.calibrate(drawn, "nominal")
    chance = found.probability([-3.0, 0.0, 3.0])
    assert (np.diff(chance.to_numpy(), axis=0) > 0).all()
    curves = found.category_curves("item_1", [0.0])
    assert curves.probability[0, 0] == pytest.approx(chance["item_1"].iloc[1])
    expected = chance.iloc[1].sum()
    at_zero = found.true_scores()["true_score"]
    assert at_zero.min() < expected < at_zero.max() <= 6


def test_an_option_that_nobody_chose_keeps_a_small_chance_and_is_flagged():
    drawn = og.simulate(og.Nominal(categories=3), 200, 5, random_state=7).responses
    found = og.calibrate(drawn, og.Nominal(categories=4))
    assert found.converged
    assert found.items["flag"].str.contains("unseen|nobody|never", case=False).all()
    assert np.isfinite(found.items["intercept_3"]).all()
    assert (found.category_curves("item_2", [0.0]).probability[3] < 0.05).all()


def test_other_responses_are_refused_and_told_what_to_do():
    drawn = og.simulate("2pl", 50, 5, random_state=0).responses
    with pytest.raises(InputError, match="from_choices"):
        og.calibrate(drawn, "nominal")
    with pytest.raises(InputError, match="nominal"):
        og.calibrate(og.Responses(drawn.values, kind="nominal"), "2pl")
