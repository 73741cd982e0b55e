"""The gate is held against the model's own confidence, and conformal selection keeps its rate."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from ogive import CapabilityGate
from ogive.capability.classifier import Classifier
from ogive.capability.selective_risk import EQUAL, OWN, ConfidenceBaseline, selected
from ogive.errors import InputError


def draw(n, seed):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    return np.where(y == 1, 1.0, -1.0)[:, None] + 1.5 * random.normal(size=(n, 3)), y


X, Y = draw(800, 0)
NEW = draw(3_000, 1)


@pytest.fixture(scope="module")
def gate():
    return CapabilityGate(GaussianNB(), target_accuracy=0.9).fit(X, Y)


def test_all_methods_stand_at_their_own_limit_and_at_the_coverage_of_the_gate(gate):
    frame = gate.compare(*NEW).to_frame()
    methods = ["gate", "probability", "conformal selection"]
    assert list(frame["method"]) == methods * 2
    equal = frame[frame["at"] == EQUAL]
    assert len(set(equal["accepted"])) == 1
    assert (frame["low"] <= frame["accuracy"]).all()
    assert (frame["accuracy"] <= frame["high"]).all()
    own = frame[frame["at"] == OWN].set_index("method")
    found = gate.decide(NEW[0])
    assert own.loc["gate", "accepted"] == (found["decision"] == "model").sum()
    assert (own.loc[["gate", "probability"], "accuracy"] > 0.89).all()


def test_without_a_target_only_equal_coverage_is_compared():
    frame = CapabilityGate(GaussianNB()).fit(X, Y).compare(*NEW).to_frame()
    assert list(frame["at"]) == [OWN, EQUAL, EQUAL, EQUAL]


def test_the_gate_earns_its_place_where_confidence_is_a_lottery():
    class Lottery(GaussianNB):
        """Right as before, but sure of the wrong cases."""

        def predict_proba(self, X):
            draw = np.random.default_rng(0).random(len(X))
            return np.column_stack([draw, 1 - draw])

        def predict(self, X):
            return self.classes_[np.argmax(super().predict_proba(X), axis=1)]

    found = CapabilityGate(Lottery(), target_accuracy=0.9).fit(X, Y).compare(*NEW)
    assert found.meaning.endswith("the gate chooses significantly better.")


def test_curves_hold_both_methods_and_their_operating_points(gate):
    found = gate.risk_coverage(*NEW)
    assert list(found.frame["method"].unique()) == ["gate", "probability"]
    assert list(found.points["method"]) == ["gate", "probability"]
    assert found.target == 0.9
    assert found.plot().target == 0.9


def test_conformal_selection_keeps_its_rate_of_errors_on_average():
    shares = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        sure = random.random(600)
        right = random.random(600) < sure
        code = random.integers(0, 2, 600)
        known = ConfidenceBaseline.learn(sure[:300], code[:300], right[:300], 2, None, 0.05)
        chosen = selected(known.p_values(sure[300:], code[300:]), 0.2)
        shares.append((~right[300:])[chosen].mean() if chosen.any() else 0.0)
    assert np.mean(shares) < 0.2 + 2 * np.std(shares) / np.sqrt(200)
    assert np.mean(shares) > 0.05


class Silent(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (np.asarray(X).sum(axis=1) > 0).astype(int)


def test_a_model_without_confidence_leaves_the_gate_alone():
    gate = CapabilityGate(Silent()).fit(X, Y)
    found = gate.compare(*NEW)
    assert set(found.to_frame()["method"]) == {"gate"}
    assert "Silent has no confidence to compare the gate with" in found.notes[0]
    assert "no confidence to compare" in found.meaning


def test_margins_serve_where_there_are_no_probabilities():
    model = RidgeClassifier().fit(X, Y)
    said = Classifier(model, model.classes_).confidence(X)
    np.testing.assert_allclose(said, np.abs(model.decision_function(X)))
    three = RidgeClassifier().fit(X, np.arange(800) % 3)
    assert (Classifier(three, three.classes_).confidence(X) >= 0).all()


def test_unknown_labels_are_refused(gate):
    with pytest.raises(ValueError, match="not among the classes"):
        gate.compare(NEW[0], pd.Series(["never"] * len(NEW[1])))


def test_a_model_that_fails_to_say_how_sure_it_is_is_named():
    class Shy(GaussianNB):
        def predict_proba(self, X):
            raise RuntimeError("boom")

        def predict(self, X):
            return self.classes_[np.argmax(super()._joint_log_likelihood(np.asarray(X)), axis=1)]

    told = r"Shy failed to say how sure it is \(predict_proba\): RuntimeError: boom\. Try it"
    with pytest.raises(InputError, match=told):
        CapabilityGate(Shy()).fit(X, Y)
