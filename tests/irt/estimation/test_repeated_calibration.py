"""Calibration of repeated answers: the binomial likelihood, by every engine."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

import ogive as og
from ogive.errors import InputError

POINTS = np.linspace(-8, 8, 401)


def drawn(n, m, most, random_state, missing=0.1):
    random = np.random.default_rng(random_state)
    ability = random.standard_normal(n)
    slope, place = random.uniform(0.7, 1.8, m), random.standard_normal(m)
    tries = random.integers(1, most + 1, (n, m))
    tries[random.random((n, m)) < missing] = 0
    right = random.binomial(tries, expit(slope * (ability[:, None] - place)))
    return right, tries, ability, place


def table_of(right, tries):
    values = np.where(tries > 0, right / np.maximum(tries, 1), np.nan)
    return og.Responses(values, tries=tries)


def marginal(right, tries, slope, place):
    """Log-likelihood of each row on points of ability, with the population's weight."""
    z = slope[:, None] * (POINTS - place[:, None])
    weight = -(POINTS**2) / 2
    log_right, log_wrong = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    return right @ log_right + (tries - right) @ log_wrong + weight - logsumexp(weight)


def curvature(loss, at, step=1e-3):
    """Second derivatives by differences."""
    steps = step * np.eye(at.size)
    return np.array(
        [
            [
                loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b)
                for a in steps
            ]
            for b in steps
        ]
    ) / (4 * step**2)


def test_likelihood_and_abilities_are_those_of_the_definition():
    right, tries, *_ = drawn(80, 12, 6, 0)
    found = og.calibrate(table_of(right, tries), "2pl")
    items = found.items
    each = marginal(right, tries, *(items[c].to_numpy() for c in ("discrimination", "difficulty")))
    total = logsumexp(each, axis=1)
    assert found.log_likelihood == pytest.approx(total.sum(), abs=1e-6)
    mean = np.exp(each - total[:, None]) @ POINTS
    assert found.abilities()["ability"].to_numpy() == pytest.approx(mean, abs=1e-6)


def test_the_maximum_is_that_of_a_general_optimiser():
    right, tries, *_ = drawn(60, 3, 5, 1, missing=0.0)
    found = og.calibrate(table_of(right, tries), "2pl", priors=None, tolerance=1e-10)

    def loss(parameters):
        slope, place = parameters.reshape(2, -1)
        return -logsumexp(marginal(right, tries, slope, place), axis=1).sum()

    best = minimize(loss, np.r_[np.ones(3), np.zeros(3)], method="BFGS", options={"gtol": 1e-6})
    slope, place = best.x.reshape(2, -1)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-5)
    assert found.items["discrimination"].to_numpy() == pytest.approx(slope, abs=1e-3)
    assert found.items["difficulty"].to_numpy() == pytest.approx(place, abs=1e-3)
    by_curvature = np.sqrt(np.diag(np.linalg.inv(curvature(loss, best.x))))
    errors = found.items[["discrimination_se", "difficulty_se"]].to_numpy().T.ravel()
    assert errors == pytest.approx(by_curvature, rel=1e-3)


def test_two_tries_say_what_two_equal_items_say():
    bank = og.calibrate(og.simulate("2pl", 300, 15, random_state=2).responses, "2pl")
    random = np.random.default_rng(3)
    answers = random.integers(0, 2, (5, 15, 2))
    twice = og.Responses(answers.mean(axis=2), items=bank.item_names, tries=2)
    whole = np.concatenate([answers[..., 0], answers[..., 1]], axis=1)
    each = marginal(
        whole,
        np.ones_like(whole),
        np.tile(bank.items["discrimination"], 2),
        np.tile(bank.items["difficulty"], 2),
    )
    mean = np.exp(each - logsumexp(each, axis=1)[:, None]) @ POINTS
    found = bank.score(twice)["ability"].to_numpy()
    assert found == pytest.approx(mean, abs=1e-5)


def test_truth_is_recovered_and_intervals_hold():
    inside, counted = 0, 0
    for seed in range(4):
        right, tries, ability, place = drawn(250, 20, 5, seed)
        found = og.calibrate(table_of(right, tries), "2pl")
        assert found.converged
        items, scored = found.items, found.abilities()
        for estimate, se, truth in (
            (items["difficulty"], items["difficulty_se"], place),
            (scored["ability"], scored["se"], ability),
        ):
            inside += int((np.abs(estimate - truth) < 1.96 * se).sum())
            counted += truth.size
    assert 0.92 < inside / counted < 0.98


def test_engines_agree():
    right, tries, *_ = drawn(150, 10, 4, 4)
    table = table_of(right, tries)
    plain = og.calibrate(table, "2pl").items["difficulty"]
    joint = og.calibrate(table, "2pl", engine="joint").items["difficulty"]
    assert plain.corr(joint) > 0.99


@pytest.mark.slow
def test_devices_agree():
    pytest.importorskip("torch")
    right, tries, *_ = drawn(150, 10, 4, 4)
    table = table_of(right, tries)
    plain = og.calibrate(table, "2pl", tolerance=1e-9).items["difficulty"]
    other = og.calibrate(table, "2pl", engine=og.EM(tolerance=1e-9, device="cpu")).items
    assert other["difficulty"].to_numpy() == pytest.approx(plain.to_numpy(), abs=1e-5)


def test_more_tries_make_abilities_surer():
    random = np.random.default_rng(5)
    chance = expit(random.standard_normal((200, 1)) - random.standard_normal(10))
    once, often = (
        og.calibrate(og.Responses(random.binomial(tries, chance) / tries, tries=tries), "1pl")
        for tries in (1, 7)
    )
    many, few = (each.abilities(items_known=True)["se"].mean() for each in (often, once))
    assert many < 0.6 * few


def test_auto_takes_repeated_answers_as_right_and_wrong():
    right, tries, *_ = drawn(30, 5, 3, 6)
    found = og.calibrate(table_of(right, tries))
    assert found.model.name == "1pl"


def test_every_kind_of_score_can_be_asked_for():
    right, tries, *_ = drawn(40, 6, 3, 7)
    found = og.calibrate(table_of(right, tries), "2pl")
    for method in ("map", "ml", "wle"):
        assert np.isfinite(found.abilities(method)["se"]).all()
    assert (found.completed_scores()["score"].between(0, 1)).all()
    assert np.isfinite(found.total_scores()).all(axis=None)
    items, part = found.item_names[:3], table_of(right[:4, :3], tries[:4, :3])
    scored = found.score(og.Responses(part.values, items=items, tries=part.tries))
    assert np.isfinite(scored["ability"]).all()


def test_checks_of_single_answers_say_that_they_need_them():
    right, tries, *_ = drawn(40, 6, 3, 8)
    found = og.calibrate(table_of(right, tries), "2pl")
    with pytest.raises(InputError, match=r"needs one answer per cell, .* 1 to 3 tries per cell"):
        og.item_fit(found)


def test_items_that_nobody_always_gets_right_are_not_flagged():
    table = og.Responses([[0.5, 1.0, 0.0]] * 20, tries=2)
    flags = og.calibrate(table, "1pl").items["flag"].tolist()
    assert [("solved by all" in flag, "solved by none" in flag) for flag in flags] == [
        (False, False),
        (True, False),
        (False, True),
    ]
