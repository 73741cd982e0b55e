"""The reason of a decision says what is known, and what was asked for."""

import numpy as np
import pytest

from ogive.capability.decisions import Decisions, decision_frame
from ogive.capability.guarantees import ALL, GROUP, PREDICTION, AcceptanceRule, Guarantee
from ogive.capability.trust import CAPABILITY, MIXTURE, PROBABILITY, PredictedCases, Trust

ONE = np.ones(2)


def trust(kind=CAPABILITY):
    on_confidence, on_capability = float(kind != CAPABILITY), float(kind != PROBABILITY)
    return Trust(kind, ONE, 0 * ONE, 0 * ONE, 0.0, on_confidence, on_capability)


def rule(by, threshold, too_few=None, kind=CAPABILITY):
    names = {ALL: ("all",), PREDICTION: ("a", "b"), GROUP: ("north", "south")}[by]
    too_few = np.zeros(len(threshold), bool) if too_few is None else np.array(too_few)
    guarantee = Guarantee(0.95, 0.05, by)
    return AcceptanceRule(trust(kind), names, np.array(threshold), too_few, guarantee)


def reason(rule, *, code=1, difficulty=0.0, confidence=0.0, group=None, name=None):
    """What is said of one case."""
    groups = None if group is None else np.array([group])
    cases = PredictedCases(np.array([code]), np.array([difficulty]), np.array([confidence]), groups)
    verdicts, known = rule.judge(cases), np.ones(1, bool)
    made = Decisions(
        cases, -cases.difficulty, np.zeros(1), verdicts, verdicts.within, known, {}, (name,)
    )
    return decision_frame(made, np.array(["a", "b"]), None, rule, "site")["reason"].item()


def test_a_target_that_was_not_proven_is_named():
    said = reason(rule(ALL, [np.inf]))
    assert said == "An accuracy of 95 % could not be shown for any case: a person decides."
    unknown = AcceptanceRule(trust(), ("a", "b"), np.full(2, np.inf), np.zeros(2, bool))
    assert reason(unknown).startswith("The limit of class 'b' is unknown")


def test_difficulty_is_named_where_it_decides():
    said = reason(rule(ALL, [-0.5]))
    assert said == "Difficulty 0.00 is within 0.50, the limit of class 'b': the model decides."
    assert "beyond -0.50" in reason(rule(ALL, [0.5]))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PROBABILITY, "the model's own confidence"),
        (MIXTURE, "case difficulty and the model's own confidence"),
    ],
)
def test_a_chance_is_named_with_what_it_rests_on(kind, words):
    made = rule(ALL, [0.0], kind=kind)
    assert reason(made, confidence=1.0) == (
        f"The estimated chance of being right, 73.11 % by {words}, is at least 50.00 %, the least "
        "that is accepted: the model decides."
    )
    assert "26.89 %" in reason(made, confidence=-1.0)
    assert reason(made, confidence=-1.0).endswith("a person decides.")
    assert "is just below" in reason(made, confidence=-1e-9)


def test_groups_are_named_with_what_is_promised_of_them():
    made = rule(GROUP, [0.0, np.inf], [False, True])
    assert "within" in reason(made, difficulty=-1.0, group=0, name="north")
    assert reason(made, group=1, name="south") == (
        "An accuracy of 95 % is not promised for cases of site 'south', there were too few: a "
        "person decides."
    )
    unseen = "Its site 'west' was not among those of the training cases: a person decides."
    assert reason(made, group=-1, name="west") == unseen
    assert reason(made, group=-1) == "Its site is missing: a person decides."


def test_parts_that_are_accepted_or_left_as_a_whole_are_named():
    made = rule(PREDICTION, [np.inf, -np.inf], kind=PROBABILITY)
    assert reason(made) == "Every case predicted as class 'b' is accepted: the model decides."
    said = "is not promised for cases predicted as class 'a', it could not be shown: a person"
    assert said in reason(made, code=0)


def test_the_limit_of_a_case_is_where_its_trust_reaches_the_least():
    made = rule(ALL, [0.7], kind=MIXTURE)
    sure, difficulty = np.array([1.0, 0.2]), np.array([0.1, 2.0])
    limit = made.judge(PredictedCases(np.array([0, 1]), difficulty, sure)).limit
    at = made.judge(PredictedCases(np.array([0, 1]), limit, sure))
    np.testing.assert_allclose(at.score, 0.7)
    alone = rule(ALL, [0.7], kind=PROBABILITY)
    assert np.isnan(alone.judge(PredictedCases(np.array([0, 1]), difficulty, sure)).limit).all()
