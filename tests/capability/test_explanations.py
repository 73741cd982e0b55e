"""Explanations name the feature that makes a case hard, and a change that works."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from ogive import CapabilityGate, CaseDifficulty
from ogive.capability.coding import Coding, Grades, NormalRange, States
from ogive.capability.explanations import expected
from ogive.errors import InputError

RANDOM = np.random.default_rng(0)
Y = np.repeat(["other", "star"], 300)
X = pd.DataFrame(
    np.where(Y == "star", 1.0, -1.0)[:, None] + 1.2 * RANDOM.normal(size=(600, 3)),
    columns=["a", "b", "c"],
)


@pytest.fixture(scope="module")
def gate():
    return CapabilityGate(GaussianNB(), target_accuracy=0.95, trust="capability").fit(X, Y)


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


def test_no_case_has_an_empty_explanation_with_its_columns(gate):
    none, one = (gate.explain(X.head(n)) for n in (0, 1))
    assert list(none.to_frame().columns) == list(one.to_frame().columns)
    assert none.to_frame().empty
    assert none.found_nothing
    assert not one.found_nothing
    assert none.meaning == "There are no cases to explain."
    with pytest.raises(InputError, match="There is no case to draw"):
        none.plot()


def test_a_case_is_drawn(gate):
    display = gate.explain(X.head(2)).plot(1)
    assert len(display.frame) == 3


def ruled(rows, **rules):
    """A gate whose scale is coded by these rules."""
    return CapabilityGate(case_difficulty=CaseDifficulty(Coding.of(rules))).fit(rows, Y)


def changed_values(gate, cases, monkeypatch):
    """By feature and words, the values that the gate was asked about, of the first case."""
    asked, real = [], type(gate).decide

    def decide(self, X, **_):
        asked.append(X.iloc[0].to_dict())
        return real(self, X)

    monkeypatch.setattr(type(gate), "decide", decide)
    gate.explain(cases)
    return asked


@pytest.mark.parametrize(("value", "end"), [(148.0, 145.0), (120.0, 135.0)])
def test_the_nearest_end_of_a_normal_range_is_tried(value, end, monkeypatch):
    rows = X.assign(sodium=140 + 5 * np.random.default_rng(1).normal(size=600))
    made = ruled(rows, a=Grades((0.0,)), sodium=NormalRange(135.0, 145.0))
    asked = changed_values(made, rows.head(1).assign(sodium=value), monkeypatch)
    assert {one["sodium"] for one in asked} == {value, end}


def test_leaving_a_normal_range_is_tried():
    rows = X.assign(c=np.abs(X["c"]))
    made = ruled(rows, a=Grades((0.0,)), c=NormalRange(0.5, 1.0))
    inside = rows[rows["c"].between(0.5, 1.0)]
    frame = made.explain(inside.head(20)).to_frame()
    assert set(frame.loc[frame["feature"] == "c", "change"]) <= {"below 0.5", "above 1"}
    assert (frame.loc[frame["feature"] == "c", "difficulty_after"].notna()).all()


def test_leaving_a_named_state_is_tried():
    rows = X.assign(sign=np.where(Y == "star", "present", "absent"))
    made = ruled(rows, a=Grades((0.0,)), sign=States((("present", 1),), 0))
    frame = made.explain(rows[rows["sign"] == "present"].head(3)).to_frame()
    assert set(frame.loc[frame["feature"] == "sign", "change"]) == {"none of present"}


def test_named_states_of_a_column_of_numbers_are_changed_by_their_numbers():
    rows = X.assign(failure=(Y == "star").astype(int))
    made = ruled(rows, a=Grades((0.0,)), failure=States((("Absent", 0), ("Present", 1))))
    frame = made.explain(rows[::200]).to_frame()
    changes = frame[frame["feature"] == "failure"].set_index("value")["change"]
    assert changes.to_dict() == {0: "= Present", 1: "= Absent"}


@pytest.mark.slow
@pytest.mark.parametrize("names", [[0, 1, 2], pd.MultiIndex.from_product([["p"], [0, 1, 2]])])
def test_columns_may_have_names_that_are_no_texts(names):
    rows = pd.DataFrame(X.to_numpy(), columns=names)
    frame = CapabilityGate().fit(rows, Y).explain(rows.head(2)).to_frame()
    plain = CapabilityGate().fit(X, Y).explain(X.head(2)).to_frame()
    assert set(frame["feature"]) == {str(name) for name in rows.columns}
    pd.testing.assert_frame_equal(frame.drop(columns="feature"), plain.drop(columns="feature"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [3, 8])
def test_contributions_add_up_and_redundant_features_share(width):
    twin = pd.concat([X[["a"]].rename(columns={"a": f"a{k}"}) for k in range(width)], axis=1)
    made = CapabilityGate().fit(twin.join(X), Y)
    cases = twin.join(X).head(30)
    scale = made.case_difficulty_
    frame = made.explain(cases).to_frame()
    grades = scale.coding_.code(cases)
    known, unknown = (expected(scale.scales_[0], one) for one in (grades, grades * np.nan))
    sign = np.where(made.decide(cases)["prediction"] == "other", 1, -1)
    total = frame.groupby("case")["contribution"].sum()
    # Among thousands of rows, a millionth of a posterior's mass that lies far out is left aside.
    np.testing.assert_allclose(total, sign * (known - unknown), atol=1e-9 if width == 3 else 2e-5)
    copies = frame[frame["feature"].isin(["a", *twin])].groupby("case")["contribution"]
    if width == 3:  # few enough for an exact result
        np.testing.assert_allclose(copies.max(), copies.min(), atol=1e-3)
    else:
        assert (copies.std() < copies.mean().abs()).mean() > 0.9
