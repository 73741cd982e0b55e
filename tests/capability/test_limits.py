"""The reason of a decision says what is known, and what was asked for."""

import numpy as np

from itemwise.capability.limits import Decisions, decision_frame


def reasons(limit, target):
    one = np.zeros(1)
    known = np.ones(1, dtype=bool)
    found = Decisions(np.array([1]), one, one, np.array([limit]), np.array([limit > 0]), known, {})
    return decision_frame(found, np.array(["a", "b"]), None, target)["reason"].item()


def test_a_target_that_was_not_proven_is_named():
    said = reasons(-np.inf, 0.95)
    assert said == "An accuracy of 95 % could not be shown for any case: a person decides."
    assert reasons(-np.inf, None).startswith("The limit of class")
    assert (
        reasons(0.5, 0.95)
        == "Difficulty -0.00 is within 0.50, the limit of class 'b': the model decides."
    )
