"""The reason of a decision says what is known, and what was asked for."""

import numpy as np
import pytest

from ogive.capability.decisions import Limits, PromisedLimits, Wording
from ogive.capability.guarantees import ALL, GROUP, PREDICTION, Promise
from ogive.capability.trust import CAPABILITY, MIXTURE, PROBABILITY, Seen, Trust

ONE = np.ones(2)


def trust(kind=CAPABILITY):
    on_sure, on_capability = float(kind != CAPABILITY), float(kind != PROBABILITY)
    return Trust(kind, ONE, 0 * ONE, 0 * ONE, 0.0, on_sure, on_capability)


def promise(by, edge, few=None):
    names = {ALL: ("all",), PREDICTION: ("a", "b"), GROUP: ("north", "south")}[by]
    few = np.zeros(len(edge), bool) if few is None else np.array(few)
    return Promise(by, 0.95, 0.05, names, np.array(edge), few)


def reason(limits, *, code=1, difficulty=0.0, sure=0.0, group=None, name=None):
    """What is said of one case."""
    from ogive.capability.decisions import Decisions, decision_frame

    groups = None if group is None else np.array([group])
    seen = Seen(np.array([code]), np.array([difficulty]), np.array([sure]), groups)
    found, known = limits.judge(seen), np.ones(1, bool)
    made = Decisions(seen, -seen.difficulty, np.zeros(1), found, found.within, known, {}, (name,))
    wording = Wording(limits if isinstance(limits, PromisedLimits) else None, "site")
    return decision_frame(made, np.array(["a", "b"]), None, wording)["reason"].item()


def test_a_target_that_was_not_proven_is_named():
    said = reason(PromisedLimits(trust(), promise(ALL, [np.inf])))
    assert said == "An accuracy of 95 % could not be shown for any case: a person decides."
    unknown = Limits(np.full(2, -np.inf), ONE, ONE, ONE)
    assert reason(unknown).startswith("The limit of class 'b' is unknown")


def test_difficulty_is_named_where_it_decides():
    said = reason(PromisedLimits(trust(), promise(ALL, [-0.5])))
    assert said == "Difficulty 0.00 is within 0.50, the limit of class 'b': the model decides."
    assert "beyond -0.50" in reason(PromisedLimits(trust(), promise(ALL, [0.5])))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PROBABILITY, "the model's own confidence"),
        (MIXTURE, "case difficulty and the model's own confidence"),
    ],
)
def test_a_chance_is_named_with_what_it_rests_on(kind, words):
    limits = PromisedLimits(trust(kind), promise(ALL, [0.0]))
    assert reason(limits, sure=1.0) == (
        f"The estimated chance of being right, 73.11 % by {words}, is at least 50.00 %, the least "
        "that is accepted: the model decides."
    )
    assert "26.89 %" in reason(limits, sure=-1.0)
    assert reason(limits, sure=-1.0).endswith("a person decides.")
    assert "is just below" in reason(limits, sure=-1e-9)


def test_groups_are_named_with_what_is_promised_of_them():
    limits = PromisedLimits(trust(), promise(GROUP, [0.0, np.inf], [False, True]))
    assert "within" in reason(limits, difficulty=-1.0, group=0, name="north")
    assert reason(limits, group=1, name="south") == (
        "An accuracy of 95 % is not promised for cases of site 'south', there were too few: a "
        "person decides."
    )
    unseen = "Its site 'west' was not among those of the training cases: a person decides."
    assert reason(limits, group=-1, name="west") == unseen
    assert reason(limits, group=-1) == "Its site is missing: a person decides."


def test_parts_that_are_accepted_or_left_as_a_whole_are_named():
    limits = PromisedLimits(trust(PROBABILITY), promise(PREDICTION, [np.inf, -np.inf]))
    assert reason(limits) == "Every case predicted as class 'b' is accepted: the model decides."
    said = "is not promised for cases predicted as class 'a', it could not be shown: a person"
    assert said in reason(limits, code=0)


def test_the_limit_of_a_case_is_where_its_trust_reaches_the_least():
    limits = PromisedLimits(trust(MIXTURE), promise(ALL, [0.7]))
    sure, difficulty = np.array([1.0, 0.2]), np.array([0.1, 2.0])
    limit = limits.judge(Seen(np.array([0, 1]), difficulty, sure)).limit
    at = limits.judge(Seen(np.array([0, 1]), limit, sure))
    np.testing.assert_allclose(at.score, 0.7)
    alone = PromisedLimits(trust(PROBABILITY), promise(ALL, [0.7]))
    assert np.isnan(alone.judge(Seen(np.array([0, 1]), difficulty, sure)).limit).all()
