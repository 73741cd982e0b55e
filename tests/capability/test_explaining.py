"""Explanations name the feature that makes a case hard, and a change that works."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from itemwise import CapabilityGate, CaseDifficulty
from itemwise.capability.coding import Coding, Grades, NormalRange, States
from itemwise.errors import InputError

RANDOM = np.random.default_rng(0)
Y = np.repeat(["other", "star"], 300)
X = pd.DataFrame(
    np.where(Y == "star", 1.0, -1.0)[:, None] + 1.2 * RANDOM.normal(size=(600, 3)),
    columns=["a", "b", "c"],
)


@pytest.fixture(scope="module")
def gate():
    return CapabilityGate(GaussianNB(), target_accuracy=0.95).fit(X, Y)


def test_the_feature_that_looks_like_the_other_class_makes_a_case_hard(gate):
    cases = pd.DataFrame({"a": [-2.0, 3.0], "b": [3.0, 3.0], "c": [3.0, -2.0]}, index=["p", "q"])
    found = gate.explain(cases)
    hardest = found.to_frame().groupby("case").first()
    assert list(hardest["feature"]) == ["a", "c"]
    assert (hardest["contribution"] > 0).all()
    assert list(found.cases.index) == ["p", "q"]


def test_a_change_that_is_said_to_bring_a_case_back_does(gate):
    decided = gate.decide(X)
    hard = X[(decided["decision"] == "person").to_numpy()].head(20)
    frame = gate.explain(hard).to_frame()
    back = frame[frame["decision_after"] == "model"]
    assert len(back)
    for _, row in back.iterrows():
        words, number = row["change"].rsplit(" ", 1)
        step = 1e-4 if words == "above" else -1e-4  # the number is rounded for people
        changed = hard.loc[[row["case"]]].assign(**{row["feature"]: float(number) + step})
        after = gate.decide(changed).iloc[0]
        assert (after["decision"], after["prediction"]) == ("model", row["prediction_after"])
        assert after["difficulty"] == pytest.approx(row["difficulty_after"])


def test_the_sentence_tells_of_the_hardest_case(gate):
    cases = pd.DataFrame({"a": [3.0, -0.3], "b": [3.0, 0.4], "c": [3.0, 0.2]})
    text = gate.explain(cases).meaning
    assert text.startswith("Case 1: difficulty")
    assert "makes it hardest" in text
    easy = gate.explain(cases.head(1)).meaning
    assert "the model decides" in easy


def test_normal_ranges_and_categories_are_changed_too():
    rows = X.assign(sign=np.where(Y == "star", "present", "absent"), c=np.abs(X["c"]))
    rows.loc[::4, "sign"] = "absent"
    rules = {
        "a": Grades((0.0,)),
        "c": NormalRange(0.0, 1.0),
        "sign": States((("absent", 0), ("present", 1))),
    }
    made = CapabilityGate(case_difficulty=CaseDifficulty(Coding.of(rules))).fit(rows, Y)
    changes = set(made.explain(rows[::10]).to_frame()["change"])
    assert {"= absent", "= present", "above 0", "at most 0"} <= changes
    assert "in the normal range (0 to 1)" in changes


def test_arrays_and_gaps_are_explained(gate):
    made = CapabilityGate(target_accuracy=0.9).fit(X.to_numpy(), Y)
    rows = X.to_numpy()[:3].copy()
    rows[0, 0] = np.nan
    frame = made.explain(rows).to_frame()
    assert set(frame["feature"]) == {"x0", "x1", "x2"}
    unknown = frame[(frame["case"] == 0) & (frame["feature"] == "x0")]
    assert unknown["contribution"].item() == pytest.approx(0)


def test_too_many_cases_and_unknown_ones_are_refused(gate):
    with pytest.raises(InputError, match="1,200 cases, but at most 1,000"):
        gate.explain(pd.concat([X, X]))
    with pytest.raises(InputError, match="There is no case 'p'; the first is 0"):
        gate.explain(X.head(2)).plot("p")


def test_a_case_is_drawn(gate):
    display = gate.explain(X.head(2)).plot(1)
    assert len(display.frame) == 3
