"""Scores of many respondents against those that are computed answer by answer."""

import numpy as np
import pytest

import ogive as og
from ogive.irt import expected_scores as many_scores
from ogive.irt import scored_respondents

SCORES = ("true_scores", "total_scores", "completed_scores")


@pytest.fixture(scope="module", params=[("2pl", 0.0), ("3pl", 0.3), ("graded", 0.2)])
def drawn(request):
    model, missing = request.param
    return model, og.simulate(model, 900, 12, missing=missing, random_state=3).responses


@pytest.fixture(scope="module")
def cal(drawn):
    return og.calibrate(drawn[1], drawn[0], progress=False)


def one_by_one(cal, name, monkeypatch, **options):
    with monkeypatch.context() as patch:
        patch.setattr(scored_respondents, "averages", lambda *_: False)
        return getattr(cal, name)(**options)


def test_scores_are_those_of_single_answers_and_errors_are_near(cal, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            found, exact = getattr(cal, name)(), one_by_one(cal, name, monkeypatch)
            value, se = found.columns[:2]
            np.testing.assert_allclose(found[value], exact[value], atol=1e-10)
            if not exact[se].any():
                assert not found[se].any()
                continue
            moved = exact[se] > 0
            assert abs((found[se][moved] / exact[se][moved]).mean() - 1) < 0.012
            assert (found[se] == 0).equals(exact[se] == 0)


def test_what_items_add_to_the_error_is_nearly_that_of_single_answers(monkeypatch):
    cal = og.calibrate(og.simulate("2pl", 900, 12, random_state=3).responses, progress=False)
    found, exact = cal.true_scores(), one_by_one(cal, "true_scores", monkeypatch)
    known = cal.true_scores(items_known=True)["true_score_se"] ** 2
    added, exactly = (made["true_score_se"] ** 2 - known for made in (found, exact))
    assert exactly.sum() > 0.01 * known.sum()  # else there is nothing to see
    assert abs(added.sum() / exactly.sum() - 1) < 0.06


def test_on_known_items_errors_are_those_of_single_answers(cal, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            found = getattr(cal, name)(items_known=True)
            exact = one_by_one(cal, name, monkeypatch, items_known=True)
            np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-10)


def test_a_spline_stands_for_the_curve_of_all_items(cal, monkeypatch):
    plain = cal.true_scores()
    monkeypatch.setattr(many_scores, "PLACES", 800)  # fewer than respondents
    np.testing.assert_allclose(cal.true_scores(), plain, rtol=1e-7)


def test_blocks_make_no_difference(cal, monkeypatch, subtests):
    for name in SCORES:
        with subtests.test(name):
            whole = getattr(cal, name)()
            with monkeypatch.context() as patch:
                patch.setattr(many_scores, "CELLS", 500)
                np.testing.assert_allclose(getattr(cal, name)(), whole, rtol=1e-10)


def test_scores_are_computed_where_the_engine_has_its_device(drawn, cal, subtests):
    pytest.importorskip("torch")
    there = og.calibrate(drawn[1], drawn[0], engine=og.EM(device="cpu"), progress=False)
    object.__setattr__(there, "coords", cal.coords)
    object.__setattr__(there, "uncertainty", cal.uncertainty)
    for name in SCORES:
        with subtests.test(name):
            np.testing.assert_allclose(getattr(there, name)(), getattr(cal, name)(), atol=1e-8)


def test_items_that_were_held_back_are_expected_as_often_as_intervals_say():
    made = og.simulate("2pl", 3000, 40, random_state=3)
    values = made.responses.values
    full = values.mean(axis=1)
    bank = og.calibrate(made.responses, progress=False)
    values[:, 10:] = np.nan
    found = bank.completed_scores(og.Responses(values, items=bank.item_names, kind="binary"))
    inside = np.abs(full - found["score"]) < 1.96 * found["score_se"]
    assert abs(inside.mean() - 0.95) < 0.015


def test_negative_items_may_be_left_out(monkeypatch):
    values = og.simulate("2pl", 700, 8, missing=0.2, random_state=1).responses.values
    values[:, 1] = 1 - values[:, 1]
    cal = og.calibrate(values, "2pl", progress=False)
    for name in ("true_scores", "total_scores"):
        found = getattr(cal, name)(keep_negative=False)
        exact = one_by_one(cal, name, monkeypatch, keep_negative=False)
        np.testing.assert_allclose(found, exact, rtol=0.06, atol=1e-3)
        np.testing.assert_allclose(found.iloc[:, 0], exact.iloc[:, 0], atol=1e-10)
