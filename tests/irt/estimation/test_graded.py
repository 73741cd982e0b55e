"""Grades: what the items of a table may have, and what happens to grades that nobody got."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive import Responses, calibrate, simulate
from ogive.irt.models.graded import Graded
from ogive.irt.models.nominal import PartialCredit

FAMILIES = {"graded": Graded, "gpcm": PartialCredit}
STEPS = [f"difficulty_{k}" for k in range(1, 5)]


@pytest.fixture(params=FAMILIES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def graded():
    """400 × 8 responses in five grades, 0 to 4."""
    return {name: simulate(name, 400, 8, random_state=3).responses for name in FAMILIES}


@pytest.mark.slow
def test_scipy_finds_nothing_better(definition, name):
    """From where items are alike; the public parameters are what scipy moves."""
    items = {"discrimination": [1.2, 0.8, 1.6, 1.0], "difficulty_1": [-1.5, -1.0, -0.5, -2.0],
             "difficulty_2": [0.0, 0.5, 0.7, -0.3]}  # fmt: skip
    responses = simulate(name, 250, items=items, random_state=1).responses
    cal = calibrate(responses, name, priors=None, tolerance=1e-9)
    names = ["discrimination", "difficulty_1", "difficulty_2"]

    def loss(x):
        frame = cal.items.copy()
        frame[names] = x.reshape(4, 3)
        return -definition.marginal(_Items(cal.model, frame), responses.values, nodes=81)

    begin = np.tile([1.0, -0.5, 0.5], 4)
    options = {"maxiter": 300, "ftol": 1e-13, "gtol": 1e-6}
    found = minimize(loss, begin, method="L-BFGS-B", options=options)
    assert cal.converged
    assert cal.log_likelihood >= -found.fun - 1e-5
    np.testing.assert_allclose(cal.items[names].to_numpy().ravel(), found.x, atol=0.01)


class _Items:
    """A model and a frame of items: what `definition.marginal` needs of a calibration."""

    def __init__(self, model, items):
        self.model, self.items = model, items


def test_only_the_order_of_grades_counts_not_where_they_begin(graded, name, subtests):
    for shift in [1, 3, 100]:
        with subtests.test(shift=shift):
            plain = calibrate(graded[name], name)
            moved = calibrate(Responses(graded[name].values + shift, kind="graded"), name)
            assert moved.model.lowest == shift
            np.testing.assert_array_equal(moved.coords, plain.coords)
            np.testing.assert_allclose(moved.probability([0.3]), plain.probability([0.3]) + shift)


def test_items_may_have_different_numbers_of_grades(graded, name):
    values = graded[name].values
    values[:, 0] = np.minimum(values[:, 0], 1)
    values[:, 1] = np.minimum(values[:, 1], 2)
    cal = calibrate(values, name)
    assert cal.model.categories == (2, 3, 5, 5, 5, 5, 5, 5)
    absent = cal.items[STEPS].isna()
    assert absent.sum(axis=1).tolist() == [3, 2, 0, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(cal.items[[f"{s}_se" for s in STEPS]].isna(), absent)
    assert cal.n_parameters == 8 * 5 - 5
    for method in ("eap", "ml"):
        assert np.isfinite(cal.abilities(method)[["ability", "se"]]).all(axis=None)


def test_grades_that_were_declared_and_that_nobody_got_are_kept_and_said(name):
    """Two grades declared as five: the others have a chance each, small and finite."""
    values = simulate("2pl", 300, 6, random_state=1).responses.values
    cal = calibrate(Responses(values, kind="graded"), FAMILIES[name](categories=5))
    assert cal.converged
    assert cal.model.categories == (5,) * 6
    assert cal.items[STEPS].notna().all(axis=None)
    assert cal.items["flag"].str.contains("grade never seen").all()
    assert any("with a grade that nobody got" in note for note in cal.notes)
    two = calibrate(values, "2pl")
    np.testing.assert_allclose(cal.items["difficulty_1"], two.items["difficulty"], atol=0.1)
    assert (cal.probability([0.0]).iloc[0] - two.probability([0.0]).iloc[0]).abs().max() < 0.1


def test_a_grade_in_the_middle_that_nobody_got_is_kept_and_said(graded, name):
    values = graded[name].values
    values[:, 2] = np.where(values[:, 2] == 2, 3, values[:, 2])
    cal = calibrate(values, name)
    assert cal.converged
    assert ["grade never seen" in words for words in cal.flags] == [k == 2 for k in range(8)]
    assert np.isfinite(cal.items.drop(columns="flag").iloc[2]).all()
    chance = np.exp(cal.model.log_prob(cal.coords, np.linspace(-3, 3, 61)))[2, 2]
    assert chance.max() < 0.05


def test_a_grade_that_one_respondent_got_is_no_trouble(graded, name):
    values = np.minimum(graded[name].values, 3)
    values[7, 4] = 4
    cal = calibrate(values, name)
    assert cal.converged
    assert cal.model.categories == (4, 4, 4, 4, 5, 4, 4, 4)
    assert np.isfinite(cal.items.drop(columns="flag").iloc[4]).all()
    assert cal.items["difficulty_4"].iloc[4] > cal.items["difficulty_3"].iloc[4]


def test_difficulties_of_the_graded_model_ascend(graded):
    steps = calibrate(graded["graded"], "graded").items[STEPS]
    assert (steps.diff(axis=1).iloc[:, 1:] > 0).all(axis=None)


def test_difficulties_of_partial_credit_need_not_ascend():
    """A grade that is never the likeliest has its steps reversed."""
    items = {"discrimination": np.full(6, 1.5), "difficulty_1": np.full(6, 0.5),
             "difficulty_2": np.full(6, -0.5)}  # fmt: skip
    cal = calibrate(simulate("gpcm", 2000, items=items, random_state=1).responses, "gpcm")
    np.testing.assert_allclose(cal.items["difficulty_1"], 0.5, atol=0.25)
    np.testing.assert_allclose(cal.items["difficulty_2"], -0.5, atol=0.25)


def test_grades_tell_more_than_their_halves(graded, name):
    """Collapsed to right and wrong, the same responses tell less of every respondent."""
    values = graded[name].values
    whole = calibrate(values, name).abilities(items_known=True)["se"].mean()
    halves = calibrate((values >= 2).astype(float), "2pl").abilities(items_known=True)["se"].mean()
    assert whole < halves


def test_scoring_refuses_a_grade_that_the_bank_does_not_know(graded, name):
    cal = calibrate(np.minimum(graded[name].values, 3), name)
    with pytest.raises(ValueError, match=r"grade 4.*4 categories go from 0 to 3"):
        cal.score(graded[name])
