"""Items to which all responses are the same say nothing: of their fit, of abilities, of others."""

import numpy as np
import pytest

import ogive as og
from ogive.checks.residuals import informative

N_CONSTANT = 10


def pair(model, n_respondents=40, n_items=40, of_all=1.0):
    """Calibrations of a simulated table, and of the same with items of one response only."""
    values = og.simulate(model, n_respondents, n_items, random_state=0).responses.values
    wide = np.column_stack([values, np.full((n_respondents, N_CONSTANT), of_all)])
    return og.calibrate(values, model), og.calibrate(wide, model)


@pytest.fixture(scope="module")
def scores():
    return pair("continuous")


def test_constant_scores_are_known_as_such(scores):
    plain, wide = scores
    assert informative(plain).all()
    assert informative(wide).tolist() == [True] * 40 + [False] * N_CONSTANT


def test_constant_scores_are_not_noisy(scores):
    """Their noise is at its bound, and infit was above 10,000."""
    plain, wide = (og.item_fit(each) for each in scores)
    assert np.isnan(wide.infit[40:]).all()
    assert not set(wide.noisy) - set(plain.noisy)
    np.testing.assert_allclose(wide.infit[:40], plain.infit, rtol=1e-3)
    assert wide.n[40:].tolist() == [40.0] * N_CONSTANT
    assert f"{N_CONSTANT} items (item_41, item_42, item_43, ...)" in wide.notes[-1]
    assert not any("Left out" in note for note in plain.notes)


def test_constant_scores_make_nobody_unlikely(scores):
    plain, wide = (og.respondent_fit(each) for each in scores)
    np.testing.assert_allclose(wide.zh, plain.zh, atol=0.01)
    assert wide.n.tolist() == [50.0] * 40


def test_constant_scores_leave_the_reliability_as_it_is():
    """Other items learned their common noise and slopes from them."""
    random = np.random.default_rng(0)
    values = og.simulate("continuous", 30, 40, random_state=0).responses.values
    logits = 0.3 * np.log(values / (1 - values)) + 1.2 * random.normal(size=values.shape)
    values = 1 / (1 + np.exp(-logits))
    wide = np.column_stack([values, np.full((30, 20), 1.0)])
    few, many = (og.reliability(og.calibrate(each, "continuous")) for each in (values, wide))
    assert many.empirical == pytest.approx(few.empirical, abs=0.01)


def test_constant_grades_leave_the_reliability_as_it_is():
    few, many = (og.reliability(each) for each in pair("graded", of_all=2.0))
    assert many.empirical == pytest.approx(few.empirical, abs=0.002)


def test_scores_of_which_few_differ_are_not_judged():
    """One or two scores away from all others are no spread; two distinct scores are no scale."""
    values = og.simulate("continuous", 40, 40, random_state=0).responses.values.copy()
    values[:, 0] = 1.0
    values[:2, 0] = 0.2, 0.4
    values[:, 1] = np.where(np.arange(40) % 2, 0.9, 0.3)
    found = og.calibrate(values, "continuous")
    fit = og.item_fit(found)
    assert np.isnan(fit.infit[:2]).all()
    assert np.isfinite(fit.infit[2:]).all()
    assert "2 items (item_1, item_2)" in fit.notes[-1]
    assert len(og.respondent_fit(found).unlikely) <= 6
