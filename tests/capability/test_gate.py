"""The gate keeps the contract of scikit-learn and its own: model or person, and why."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from ogive import CapabilityGate, CaseDifficulty, measure_capability
from ogive.capability.decisions import acceptance_notes, capability_frame
from ogive.errors import InputError

QUICK = CapabilityGate(GaussianNB(), target_accuracy=0.8, case_difficulty=CaseDifficulty(levels=2))


@pytest.mark.slow
def test_the_contract_of_scikit_learn_is_kept():
    check_estimator(QUICK, on_skip=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "gate",
    [
        CapabilityGate(),
        CapabilityGate(LogisticRegression(), rule="steps"),
        CapabilityGate(LogisticRegression(), target_accuracy=0.8),
    ],
)
def test_it_is_kept_by_gates_that_take_longer(gate):
    check_estimator(gate, on_skip=None)


def draw(n=600, seed=0, noise=1.0, classes=2):
    """Three features that tell classes apart, one that does not."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    centres = np.array([[0, 0, 0], [2, 2, 2], [4, 0, 2]])[y] / 1.2
    X = np.column_stack([centres + noise * random.normal(size=(n, 3)), random.normal(size=n)])
    return pd.DataFrame(X, columns=["a", "b", "c", "noise"]), np.array(["x", "y", "z"])[y]


X, Y = draw()
NEW_X, NEW_Y = draw(4_000, 1)


@pytest.fixture(scope="module")
def tested():
    return CapabilityGate().fit(X, Y)


@pytest.fixture(scope="module")
def promised():
    return CapabilityGate(target_accuracy=0.96, alpha=0.1, trust="capability").fit(X, Y)


@pytest.mark.parametrize("name", ["tested", "promised"])
def test_the_model_decides_what_lies_within_the_limit_of_the_predicted_class(name, request):
    gate = request.getfixturevalue(name)
    named = NEW_X.set_axis([f"case {k}" for k in range(len(NEW_X))])
    found = gate.decide(named)
    assert found.index.equals(named.index)
    np.testing.assert_array_equal(found["prediction"], gate.predict(NEW_X))
    np.testing.assert_array_equal(found["limit"], gate.capability_["limit"][found["prediction"]])
    np.testing.assert_array_equal(
        found["decision"] == "model", found["difficulty"] <= found["limit"]
    )
    np.testing.assert_array_equal(found["difficulty"], -found["cdi"])
    assert set(found["decision"]) == {"model", "person"}
    for word, who in (("within", "the model"), ("beyond", "a person")):
        reasons = found["reason"][found["reason"].str.contains(word)]
        assert reasons.str.endswith(f"{who} decides.").all()


def test_cases_within_the_limit_are_right_more_often_than_those_beyond(tested):
    found = tested.decide(NEW_X)
    right = found["prediction"].to_numpy() == NEW_Y
    mine = (found["decision"] == "model").to_numpy()
    assert right[mine].mean() > right[~mine].mean() + 0.1


def test_the_limits_of_a_test_are_those_that_the_study_finds():
    gate = CapabilityGate(GaussianNB()).fit(X, Y)
    found = measure_capability(GaussianNB(), X, Y).classes
    np.testing.assert_allclose(gate.capability_["limit"], found["mlc"], atol=0.3)
    assert (gate.capability_["limit_se"] > 0).all()
    assert gate.acceptance_ is None


@pytest.mark.slow
def test_a_promise_of_accuracy_is_kept_on_new_cases_over_seeds():
    kept = []
    for seed in range(12):
        gate = clone(QUICK).set_params(target_accuracy=0.95, random_state=seed)
        X, y = draw(500, 100 + seed)
        mine = (gate.fit(X, y).decide(NEW_X)["decision"] == "model").to_numpy()
        right = gate.predict(NEW_X)[mine] == NEW_Y[mine]
        kept.append(right.mean() >= 0.95 if mine.any() else True)
        assert gate.acceptance_.n_accepted == gate.capability_["accepted"].sum()
    assert sum(kept) >= 11


def test_what_cannot_be_promised_goes_to_people_with_a_note():
    gate = CapabilityGate(target_accuracy=0.999).fit(X, Y)
    assert (gate.decide(NEW_X)["decision"] == "person").all()
    assert "too few, at least 2,995 are needed" in gate.notes_[-1]
    assert (
        gate.decide(NEW_X)["reason"]
        .str.startswith("An accuracy of 99.9 % could not be shown")
        .all()
    )
    said = gate.compare(NEW_X, NEW_Y)
    wanted = (
        "The gate accepts none of 4,000 cases, and neither do probability and conformal selection."
    )
    assert said.meaning == wanted
    assert said.to_frame()[["accuracy", "low", "high"]].isna().all(axis=None)


def test_three_classes_have_a_limit_each():
    X, y = draw(900, classes=3)
    gate = CapabilityGate(GaussianNB()).fit(X, y)
    assert list(gate.capability_.index) == ["x", "y", "z"]
    assert np.isfinite(gate.capability_["limit"]).all()
    assert gate.score(X, y) > 0.75


def test_the_same_seed_gives_the_same_decisions_and_another_does_not(promised):
    again = clone(promised).fit(X, Y)
    pd.testing.assert_frame_equal(again.decide(NEW_X), promised.decide(NEW_X))
    other = clone(promised).set_params(random_state=1).fit(X, Y)
    assert (other.capability_["limit"] != promised.capability_["limit"]).all()


def test_features_are_known_by_name_in_any_order_and_among_others(promised):
    moved = NEW_X[NEW_X.columns[::-1]].assign(more="text")
    pd.testing.assert_frame_equal(promised.decide(moved), promised.decide(NEW_X))
    assert promised.kinds_ == dict.fromkeys(X.columns, "number")


def test_features_that_differ_are_named(promised):
    with pytest.raises(InputError, match=r"lack 1 feature \(a\) of the gate; unknown .* \(A\)"):
        promised.decide(NEW_X.rename(columns={"a": "A"}))
    with pytest.raises(InputError, match="'a' more than once"):
        promised.decide(pd.concat([NEW_X, NEW_X["a"]], axis=1))
    with pytest.raises(InputError, match=r"Feature 'b' held numbers .* holds 'wet' now"):
        promised.decide(NEW_X.head(2).assign(b=["wet", "dry"]))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="2 features, but CapabilityGate is expecting 4"),
    ):
        promised.decide(NEW_X.to_numpy()[:, :2])


def test_a_gate_of_an_array_knows_frames_by_the_names_it_gives():
    gate = clone(QUICK).fit(X.to_numpy(), Y)
    assert list(gate.kinds_) == ["x0", "x1", "x2", "x3"]
    named = NEW_X.set_axis(list(gate.kinds_), axis=1)[["x3", "x2", "x1", "x0"]]
    pd.testing.assert_frame_equal(gate.decide(named), gate.decide(NEW_X.to_numpy()))


def test_gaps_and_categories_are_taken_by_the_default_model():
    rows = X.assign(colour=np.where(Y == "x", "red", "blue"))
    rows.loc[::7, "colour"] = None
    rows.loc[::5, "a"] = np.nan
    gate = CapabilityGate().fit(rows, Y)
    assert gate.kinds_["colour"] == "text"
    new = rows.head(3).assign(colour=["violet", None, "red"], a=np.nan)
    found = gate.decide(new)
    assert np.isfinite(found["difficulty"]).all()
    assert "Its colour 'violet' was not seen in training." in found["reason"].iloc[0]
    assert not found["reason"].iloc[1:].str.contains("not seen").any()


@pytest.mark.parametrize("n_colours", [2, 3])
def test_a_case_of_which_nothing_is_known_goes_to_a_person(n_colours):
    colours = np.array(["red", "blue", "green"])[np.arange(600) % n_colours]
    gate = CapabilityGate().fit(X.assign(colour=colours), Y)
    gate.acceptance_rule_ = replace(gate.acceptance_rule_, threshold=np.full(2, -np.inf))
    new = NEW_X.head(3).assign(colour=[None, "violet", "red"])
    new[X.columns] = np.nan
    found = gate.decide(new)
    assert list(found["decision"]) == ["person", "person", "model"]
    assert found["reason"].iloc[0] == "All features of the scale are missing: a person decides."
    assert "'violet' was not seen in training" in found["reason"].iloc[1]


def test_held_out_cases_of_which_nothing_is_known_are_left_out_of_the_promise():
    rows = X.copy()
    rows.iloc[::3] = np.nan
    gate = CapabilityGate(target_accuracy=0.8).fit(rows, Y)
    assert "Left out (no known feature): " in " ".join(gate.notes_)
    assert gate.acceptance_.n_cases == gate.capability_["held_out"].sum() < 200


def test_categories_are_the_same_as_numbers_and_as_texts():
    group = np.arange(600) % 4 + 1
    y = np.where(group + X["a"] > 3, "x", "y")
    rows = X.assign(group=pd.Categorical(group))
    gate = CapabilityGate(case_difficulty=CaseDifficulty(levels=2)).fit(rows, y)
    expected = gate.decide(rows)
    assert set(expected["prediction"]) == {"x", "y"}
    for same in (group, group.astype(float), group.astype(str), group.astype(object)):
        pd.testing.assert_frame_equal(gate.decide(rows.assign(group=same)), expected)


def test_columns_need_no_texts_as_names():
    numbered = NEW_X.head(5).set_axis([0, "b", 2.5, ("c", 1)], axis=1)
    gate = clone(QUICK).fit(X.set_axis(numbered.columns, axis=1), Y)
    named = numbered.set_axis(list(gate.kinds_), axis=1)
    pd.testing.assert_frame_equal(gate.decide(numbered), gate.decide(named))


def test_lists_are_decided_and_explained_as_arrays_are(tested):
    gate = clone(QUICK).fit(X.to_numpy(), Y)
    few = NEW_X.to_numpy()[:3]
    pd.testing.assert_frame_equal(gate.decide(few.tolist()), gate.decide(few))
    pd.testing.assert_frame_equal(
        gate.explain(few.tolist()).to_frame(), gate.explain(few).to_frame()
    )


def test_classes_may_be_called_as_columns_are():
    gate = clone(QUICK).fit(X, Y)
    other = clone(QUICK).fit(X, np.where(Y == "x", "a", "a_se"))
    figures = ["decision", "cdi", "cdi_se", "difficulty", "limit"]
    pd.testing.assert_frame_equal(other.decide(NEW_X)[figures], gate.decide(NEW_X)[figures])


def test_a_class_that_is_accepted_though_mostly_wrong_is_noted():
    random = np.random.default_rng(0)
    y = np.where(random.random(3_000) < 0.03, "rare", "usual")
    rows = pd.DataFrame(
        0.8 * (y == "rare")[:, None] + random.normal(size=(3_000, 3)), columns=["a", "b", "c"]
    )
    gate = CapabilityGate(LogisticRegression(class_weight="balanced")).fit(rows, y)
    assert gate.capability_.loc["rare", "accuracy"] < 0.3
    assert "accepts among those predicted as rare (right on " in " ".join(gate.notes_)


class Contrary(GaussianNB):
    """Right where cases are hard."""

    def predict(self, X):
        return np.where(super().predict(X) == "x", "y", "x")


def test_where_success_does_not_fall_with_difficulty_the_gate_says_so():
    told = "Success does not fall with case difficulty in x, y"
    assert told in " ".join(CapabilityGate(Contrary()).fit(X, Y).notes_)
    assert told not in " ".join(CapabilityGate(Contrary(), rule="steps").fit(X, Y).notes_)
    assert "Too few cases to learn" in " ".join(CapabilityGate().fit(*draw(12)).notes_)


class Raises(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("out of luck")

    def predict(self, X):
        return np.zeros(len(X))


def test_wrong_settings_are_refused(subtests):
    cases = [
        ({"target_accuracy": 97}, "`target_accuracy` must be a number between 0 and 1.*got 97"),
        ({"target_accuracy": 95}, "such as 0.95"),
        ({"alpha": 0}, r"`alpha` must be .*got 0"),
        ({"test_size": 1.0}, r"`test_size` must be .*got 1.0"),
        ({"rule": "guess"}, "`rule` must be one of.*got 'guess'"),
        ({"case_difficulty": "quartiles"}, "`case_difficulty` must be .* got str"),
        ({"estimator": Raises()}, "Raises failed to learn: RuntimeError: out of luck"),
    ]
    for settings, told in cases:
        with subtests.test(settings=settings, told=told), pytest.raises(InputError, match=told):
            CapabilityGate(**settings).fit(X, Y)


def test_what_cannot_be_learnt_from_is_refused():
    with pytest.raises(InputError, match="All cases are of one class, 'x'"):
        CapabilityGate().fit(X, np.full(len(X), "x"))
    with pytest.raises(InputError, match="No feature distinguishes cases"):
        CapabilityGate().fit(X * 0, Y)
    with pytest.raises(InputError, match="class of 1 of 600 cases is missing"):
        CapabilityGate().fit(X, pd.Series(Y, dtype=object).where(np.arange(600) > 0))
    with pytest.raises(InputError, match="Every class has only one case"):
        CapabilityGate().fit(X[:6], list("abcdef"))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        CapabilityGate().decide(X)


@pytest.mark.parametrize("made", [lambda X: X, lambda X: X.to_numpy()], ids=["frame", "array"])
def test_no_case_has_no_decision_and_nothing_to_judge(made):
    gate = CapabilityGate(LogisticRegression(), target_accuracy=0.9).fit(made(X), Y)
    none = made(X.head(0))
    assert list(gate.decide(none).columns) == list(gate.decide(made(X.head(1))).columns)
    assert len(gate.decide(none)) == len(gate.predict(none)) == 0
    assert gate.predict_proba(none).shape == (0, 2)
    assert gate.case_difficulty_.transform(none).shape == (0, 2)
    for judge in (gate.compare, gate.risk_coverage):
        with pytest.raises(InputError, match="There are no cases to judge the gate by"):
            judge(none, Y[:0])


def test_a_class_that_is_never_predicted_is_noted_if_its_cases_are_accepted():
    random = np.random.default_rng(5)
    y = np.where(random.random(600) < 0.06, "fraud", "fine")
    rows = random.normal(size=(600, 5)) + 0.3 * (y == "fraud")[:, None]
    gate = CapabilityGate(LogisticRegression()).fit(rows, y)
    parts = gate.parts_.set_index(["by", "part"])
    assert parts.loc[("prediction", "fraud"), "held_out"] == 0
    assert (
        parts.loc[("prediction", "fraud"), ["accuracy", "accuracy_low", "share_low"]].isna().all()
    )
    n = parts.loc[("class", "fraud"), "accepted"]
    told = f"Of the held-out cases that are fraud, {n} were accepted and none was right."
    assert any(note.startswith(told) and "by='class'" in note for note in gate.notes_)


def test_a_target_that_is_set_is_not_asked_for(subtests):
    predicted = np.repeat([0, 1], 10)
    right = np.r_[np.ones(10, bool), np.arange(10) < 2]
    unknown = (np.zeros(2),) * 3
    table = capability_frame(unknown, np.array(["usual", "rare"]), predicted, right >= 0, right)
    remedies = {
        None: "Set target_accuracy=0.97, for example, or leave them to people.",
        "all": "Set by='prediction' for a target that holds there too, or leave them to people.",
        "class": "rare (right on 20% of 10 cases). Leave them to people.",
    }
    for by, remedy in remedies.items():
        with subtests.test(by=by):
            assert acceptance_notes(table, predicted, right, by)[0].endswith(remedy)


def test_few_cases_still_give_a_gate():
    X, y = draw(8)
    gate = CapabilityGate(GaussianNB()).fit(X, y)
    assert len(gate.decide(X)) == 8


def test_a_class_of_one_case_goes_to_people():
    X, y = draw(100)
    gate = CapabilityGate().fit(X, np.r_[["once"], y[1:]])
    assert gate.capability_.loc["once", "limit"] == -np.inf
    assert "No case of class 'once' was held out" in " ".join(gate.notes_)


def test_probabilities_are_there_where_the_model_has_them(promised):
    np.testing.assert_allclose(promised.predict_proba(NEW_X).sum(axis=1), 1)
    assert not hasattr(CapabilityGate(RidgeClassifier()), "predict_proba")
