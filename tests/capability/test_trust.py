"""Trust is learned as a chance of being right, and chosen by what it is expected to accept."""

import numpy as np
from scipy.special import expit

from ogive.capability.class_tests import SuccessCurve
from ogive.capability.trust import (
    CAPABILITY,
    MIXTURE,
    PROBABILITY,
    LabelledCases,
    PredictedCases,
    Trust,
    as_log_odds,
    candidates,
    choice_note,
    choose,
)

CAPABLE = Trust.by_capability((SuccessCurve(slope=2.0, middle=0.5), SuccessCurve()))


def learning(n=20_000, on_confidence=0.7, on_capability=0.4, seed=0):
    random = np.random.default_rng(seed)
    codes, difficulty = random.integers(0, 2, n), random.normal(size=n)
    sure = random.normal(1.0, 1.0, n)
    seen = PredictedCases(codes, difficulty, sure)
    able = CAPABLE.log_odds(seen)
    right = random.random(n) < expit(0.3 + on_confidence * sure + on_capability * able)
    return LabelledCases(seen, np.where(right, codes, 1 - codes))


def test_capability_is_the_curve_of_the_predicted_class():
    odds = CAPABLE.log_odds(PredictedCases(np.array([0, 1]), np.array([0.1, 0.1]), None))
    np.testing.assert_allclose(odds, [2.0 * (0.5 - 0.1), -0.1])


def test_the_weights_of_a_mixture_are_recovered():
    mixed, own, able = candidates(CAPABLE, learning())
    assert [one.kind for one in (mixed, own, able)] == [MIXTURE, PROBABILITY, CAPABILITY]
    found = [mixed.intercept, mixed.on_confidence, mixed.on_capability]
    np.testing.assert_allclose(found, [0.3, 0.7, 0.4], atol=0.06)
    assert (own.on_capability, able.on_confidence) == (0, 0)


def test_there_is_no_mixture_where_difficulty_misleads_and_none_without_confidence():
    kinds = [one.kind for one in candidates(CAPABLE, learning(on_capability=-0.4))]
    assert kinds == [PROBABILITY, CAPABILITY]
    known = learning()
    silent = LabelledCases(
        PredictedCases(known.cases.codes, known.cases.difficulty, None), known.true
    )
    assert candidates(CAPABLE, silent) == (CAPABLE,)


def test_confidence_that_misleads_still_ranks_as_it_says():
    own = next(
        one for one in candidates(CAPABLE, learning(on_confidence=-0.5)) if one.kind == PROBABILITY
    )
    assert own.on_confidence > 0


def test_the_first_is_chosen_unless_another_is_clearly_better():
    tried = candidates(CAPABLE, learning(500))
    for shares, chosen in (
        ({MIXTURE: 0.5, PROBABILITY: 0.55, CAPABILITY: 0.2}, MIXTURE),
        ({MIXTURE: 0.5, PROBABILITY: 0.65, CAPABILITY: 0.2}, PROBABILITY),
        ({MIXTURE: 0.1, PROBABILITY: 0.3, CAPABILITY: 0.5}, CAPABILITY),
    ):
        best, told = choose(tried, lambda one, shares=shares: shares[one.kind])
        assert (best.kind, told) == (chosen, shares)
        said = choice_note(best, told, 500)
        assert f"{100 * shares[chosen]:.0f} % of cases were expected" in said


def test_probabilities_of_zero_and_one_have_finite_log_odds():
    found = as_log_odds(np.array([0.0, 0.5, 1.0]))
    assert found[1] == 0
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0], -found[2], rtol=1e-3)
