"""Gates go to files and come back; what is no gate of ours does not."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ogive import CapabilityGate, CaseDifficulty, load
from ogive.capability import gate_files
from ogive.capability.gate_files import KEYS
from ogive.errors import FileError, InputError

RANDOM = np.random.default_rng(0)
Y = np.repeat(["other", "star"], 150)
X = pd.DataFrame(
    np.where(Y == "star", 1.0, -1.0)[:, None] + 1.5 * RANDOM.normal(size=(300, 3)),
    columns=["a", "b", "c"],
).assign(colour=RANDOM.choice(["red", "blue"], 300))
NUMBERS = X[["a", "b", "c"]]


def archived(model):
    """A model as skops writes it; the import of skops takes seconds."""
    import skops.io

    return skops.io.dumps(model)


class Foreign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(scope="module")
def gate():
    return CapabilityGate(target_accuracy=0.9).fit(X, Y)


@pytest.fixture
def saved(gate, tmp_path):
    return gate.save(tmp_path / "gate.json")


def same(one, other, rows, y):
    pd.testing.assert_frame_equal(one.decide(rows), other.decide(rows))
    pd.testing.assert_frame_equal(one.capability_, other.capability_)
    pd.testing.assert_frame_equal(
        one.compare(rows, y).to_frame(), other.compare(rows, y).to_frame()
    )
    assert one.kinds_ == other.kinds_
    assert one.notes_ == other.notes_
    assert one.acceptance_ == other.acceptance_


def test_a_gate_comes_back_as_it_was(gate, saved):
    again = load(saved)
    same(again, gate, X, Y)
    assert again.explain(X.head(2)).meaning == gate.explain(X.head(2)).meaning
    assert sorted(file.name for file in saved.parent.iterdir()) == ["gate.json", "gate.skops"]


def test_limits_of_a_test_that_were_bent_are_refused(subtests, tmp_path_factory):
    made = CapabilityGate(GaussianNB()).fit(NUMBERS, Y)
    cases = [
        (lambda d: d["rule"].update(threshold=[0.0]), "1 values for 2 classes"),
        (lambda d: trust_of(d).update(middle=["nan", 0.0]), "trust is not a number"),
        (lambda d: d["rule"].update(limit_se=[-1.0, 1.0]), "standard error is below 0"),
        (lambda d: d["rule"].update(limit_se=None), "do not fit each other"),
        (lambda d: d["rule"].update(threshold=["inf", "inf"]), "not those it decides by"),
    ]
    for change, told in cases:
        with subtests.test(told=told), pytest.raises(FileError, match=told):
            load(edited(made.save(tmp_path_factory.mktemp("bent") / "gate.json"), change))


SITES = np.resize(["north", "south", "west"], 300)


@pytest.mark.parametrize("by", ["class", "prediction", "group"])
def test_so_do_promises_in_each_part(by, tmp_path):
    made = CapabilityGate(GaussianNB(), target_accuracy=0.7, alpha=0.2, by=by)
    groups = {} if by != "group" else {"groups": pd.Series(SITES, name="site")}
    made.fit(NUMBERS, Y, **groups)
    again = load(made.save(tmp_path / "gate.json"))
    pd.testing.assert_frame_equal(again.decide(NUMBERS, **groups), made.decide(NUMBERS, **groups))
    pd.testing.assert_frame_equal(again.parts_, made.parts_)
    assert (again.trust_, again.trust_shares_) == (made.trust_, made.trust_shares_)
    assert again.acceptance_.n_accepted == made.acceptance_.n_accepted > 0
    if by == "group":
        new = NUMBERS.assign(site="east")
        assert again.decide(new)["reason"].str.startswith("Its site 'east' was not among").all()


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": MLPClassifier((4,), max_iter=5, random_state=0)},
        {"estimator": RandomForestClassifier(3, random_state=0), "rule": "steps"},
        {"estimator": make_pipeline(StandardScaler(), LogisticRegression()), "test_size": 0.5},
        {"target_accuracy": 0.999},
        {"target_accuracy": 0.8, "trust": "probability"},
    ],
    ids=["network", "forest", "pipeline", "unproven", "probability"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_so_do_gates_of_many_models_also_without_names(settings, tmp_path):
    codes = (Y == "star").astype(int)
    made = CapabilityGate(**settings).fit(NUMBERS.to_numpy(), codes)
    again = load(made.save(tmp_path / "gate.json"))
    same(again, made, NUMBERS.to_numpy(), codes)
    assert again.classes_.dtype == made.classes_.dtype


def test_a_gate_that_was_read_can_be_fitted_anew_as_it_was(gate, saved, tmp_path):
    assert load(saved).get_params() == gate.get_params()
    table = CaseDifficulty({"a": "<= 0 = 0", "b": "<= 0 = 0"}, model="2pl")
    for scale in (CaseDifficulty(levels=3), table):
        made = CapabilityGate(GaussianNB(), case_difficulty=scale, random_state=np.int64(7))
        made.fit(NUMBERS, Y)
        again = clone(load(made.save(tmp_path / "other.json"))).fit(NUMBERS, Y)
        assert isinstance(again.estimator_, GaussianNB)
        pd.testing.assert_frame_equal(again.decide(NUMBERS), made.decide(NUMBERS))


def test_what_could_not_be_read_back_is_not_written(gate, tmp_path):
    with pytest.raises(InputError, match="not fitted yet"):
        CapabilityGate().save(tmp_path / "gate.json")
    with pytest.raises(InputError, match=r"ending is '\.pkl'\. Use \.json"):
        gate.save(tmp_path / "gate.pkl")
    with pytest.raises(InputError, match="model cannot be saved: it holds a Foreign, which"):
        CapabilityGate(Foreign()).fit(NUMBERS, Y).save(tmp_path / "gate.json")
    with pytest.raises(InputError, match="holds a GaussianProcessClassifier"):
        CapabilityGate(GaussianProcessClassifier()).fit(NUMBERS, Y).save(tmp_path / "gate.json")
    assert not list(tmp_path.iterdir())


def edited(path, change):
    """Rewrite the document after a change."""
    document = json.loads(path.read_text())
    change(document)
    if all(key in document for key in KEYS):  # as one would who knows how
        part = json.dumps([document[key] for key in KEYS])
        document["sha256"] = hashlib.sha256(part.encode()).hexdigest()
    path.write_text(json.dumps(document))
    return path


def trust_of(document):
    return document["rule"]["trust"]


def replaced(path, content):
    """Put another model beside the gate, and its sum into the document."""
    path.with_suffix(".skops").write_bytes(content)
    return edited(path, lambda d: d["model"].update(sha256=hashlib.sha256(content).hexdigest()))


def test_a_document_that_was_bent_is_refused(subtests, gate, tmp_path_factory):
    cases = [
        (lambda d: d.update(version=99), "written by a newer Ogive"),
        (lambda d: d.update(schema="ogive/calibration"), 'is incomplete: it lacks "population"'),
        (lambda d: d.pop("rule"), 'it lacks "rule"'),
        (lambda d: d.update(scikit_learn="0.24.1"), "saved with scikit-learn 0.24.1"),
        (lambda d: trust_of(d).update(slope=[1.0]), "1 values for 2 classes"),
        (lambda d: trust_of(d).pop("slope"), "'slope' is missing"),
        (lambda d: trust_of(d).update(slope=["x", "y"]), "not a gate"),
        (lambda d: trust_of(d).update(middle=["nan", 0.0]), "trust is not a number"),
        (lambda d: trust_of(d).update(slope=[True, 1.0]), "true and false are not numbers"),
        (lambda d: trust_of(d).update(slope=[-1.0, 1.0]), "does not fall"),
        (lambda d: trust_of(d).update(on_confidence=-1.0), "does not fall"),
        (lambda d: trust_of(d).update(on_confidence=0.0), "does not rest on what it says"),
        (lambda d: trust_of(d).update(kind="luck"), "its trust is 'luck'"),
        (lambda d: d["rule"].update(threshold=["-inf"]), "not those it decides by"),
        (lambda d: d["rule"].update(threshold=["nan"]), "do not fit its classes or groups"),
        (lambda d: d["rule"].update(threshold=[0.0, 0.0]), "2 values for 1 classes"),
        (lambda d: d["rule"].update(too_few=[True]), "where it promises nothing"),
        (lambda d: d["rule"].update(too_few=[1]), "which parts are too small"),
        (lambda d: d["rule"].update(limit_se=[0.1, 0.1]), "do not fit each other"),
        (lambda d: d["settings"].update(by="moon"), r"`by` must be"),
        (lambda d: d["settings"].update(trust="luck"), r"`trust` must be"),
        (lambda d: d["trust_shares"].update(luck=0.5), "are not shares"),
        (lambda d: d["parts"].update(by=["moon"] * len(d["parts"]["by"])), "neither classes"),
        (lambda d: d["parts"].update(accepted=[9_999] * 5), "not some of those held out"),
        (lambda d: d.update(groups={"name": "site", "labels": [], "numeric": True}), "its groups"),
        (
            lambda d: d.update(groups={"name": 3, "labels": ["a"], "numeric": True}),
            "groups have no name",
        ),
        (lambda d: d["capability"].update(accepted=[-1, 1]), "not some of those held out"),
        (lambda d: d["capability"].update(accuracy=[7, 7]), "not a share"),
        (lambda d: d.update(acceptance=None), "do not fit each other"),
        (lambda d: d["settings"].update(target_accuracy=None), "do not fit each other"),
        (lambda d: d["settings"].update(target_accuracy=0.8), "not what it was asked for"),
        (lambda d: d["settings"].update(coding="/etc/passwd"), "its coding is"),
        (lambda d: d["acceptance"].update(n_accepted=-5), "-5 is not a number of cases"),
        (lambda d: d["acceptance"].update(n_cases=0), "than there are"),
        (lambda d: d["baseline"].update(held_out=[-1, 1]), "-1 is not a number of cases"),
        (lambda d: d["baseline"].update(wrong=[["nan"], []]), "confidence in wrong cases"),
        (lambda d: d["case_difficulty"].update(labels="<U100000000"), "labels of type"),
        (lambda d: d["settings"].update(alpha=7), r"`alpha` must be .*got 7"),
        (lambda d: d["features"].update(kinds={"a": "image"}), "not numbers and texts"),
        (lambda d: d["case_difficulty"].update(version=9), "version 9"),
        (lambda d: d["baseline"].update(held_out=[1]), "does not fit the classes"),
        (lambda d: d["model"].update(file="../gate.skops"), "names no model beside it"),
        (lambda d: d["model"].update(file="gate.pkl"), "names no model beside it"),
        (lambda d: d["model"].update(file="other.skops"), r"no file 'other\.skops'"),
        (lambda d: d.update(model=3), "names no model beside it"),
        (lambda d: d["model"].update(sha256="0" * 64), "its SHA-256 differs"),
    ]
    for change, told in cases:
        with subtests.test(told=told), pytest.raises(FileError, match=told):
            load(edited(gate.save(tmp_path_factory.mktemp("bent") / "gate.json"), change))


def test_an_edit_is_noticed_by_its_sum(subtests, gate, tmp_path_factory):
    cases = [
        lambda d: d["features"]["kinds"].update(a="text"),
        lambda d: d["features"].update(kinds=dict(reversed(d["features"]["kinds"].items()))),
        lambda d: d["case_difficulty"]["scales"][0].update(unit=-1.0),
        lambda d: trust_of(d).update(middle=[0.0, 0.0]),
        lambda d: d.update(sha256=None),
    ]
    for number, change in enumerate(cases):
        with subtests.test(number=number):
            saved = gate.save(tmp_path_factory.mktemp("edited") / "gate.json")
            document = json.loads(saved.read_text())
            change(document)
            saved.write_text(json.dumps(document))
            with pytest.raises(FileError, match="was edited or damaged: its SHA-256 differs"):
                load(saved)


def test_a_pickle_offered_as_a_gate_is_refused(gate, tmp_path):
    path = tmp_path / "gate.json"
    path.write_bytes(pickle.dumps({"gate": 1}))
    with pytest.raises(FileError, match="not a file that Ogive saved"):
        load(path)


def test_a_pickle_offered_as_the_model_is_refused(saved):
    with pytest.raises(FileError, match="not a file of a model, or was cut short"):
        load(replaced(saved, pickle.dumps(GaussianNB())))


def test_a_model_that_was_damaged_or_replaced_is_refused(saved):
    beside = saved.with_suffix(".skops")
    beside.write_bytes(beside.read_bytes()[:-1])
    with pytest.raises(FileError, match="its SHA-256 differs"):
        load(saved)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (Foreign().fit(NUMBERS, Y), r"holds 1 type \(.*Foreign\)"),
        (GaussianNB().fit(NUMBERS, np.arange(300) % 2), "GaussianNB, not a classifier of these"),
        ([1, 2], "it holds a list"),
    ],
)
def test_a_model_of_another_kind_is_refused(model, told, saved):
    with pytest.raises(FileError, match=told):
        load(replaced(saved, archived(model)))


def test_a_kill_between_the_two_files_leaves_a_whole_gate(gate, saved, monkeypatch):
    other = clone(gate).set_params(estimator=LogisticRegression(C=0.01)).fit(X[["a", "b"]], Y)
    for name in ("write_json", "write_bytes", "Path.replace"):
        before = load(saved).n_features_in_

        def kill(*_):
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(
                *((Path, "replace") if "." in name else (gate_files, name)),
                kill,
            )
            with pytest.raises(SystemExit):
                other.save(saved)
        found = load(saved)
        assert found.n_features_in_ in (before, 2)
        assert len(found.decide(X)) == len(X)
    other.save(saved)
    assert load(saved).n_features_in_ == 2
    assert sorted(path.name for path in saved.parent.iterdir()) == ["gate.json", "gate.skops"]


def test_two_kills_in_a_row_leave_a_whole_gate(gate, saved, monkeypatch):
    second = clone(gate).set_params(estimator=LogisticRegression(C=0.01)).fit(X[["a", "b"]], Y)
    third = clone(gate).set_params(estimator=LogisticRegression(C=0.1)).fit(X[["a", "b"]], Y)

    def kill(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(gate_files, "_finish_save", lambda *_: None)  # killed before the last rename
        second.save(saved)
    with monkeypatch.context() as patch:
        patch.setattr(gate_files, "write_json", kill)
        with pytest.raises(SystemExit):
            third.save(saved)
    assert load(saved).estimator_.C == 0.01
    third.save(saved)
    assert load(saved).estimator_.C == 0.1
    assert sorted(path.name for path in saved.parent.iterdir()) == ["gate.json", "gate.skops"]


def test_turns_that_announce_a_trillion_grades_are_refused_at_once(saved):
    def bend(document):
        next(iter(document["case_difficulty"]["scales"]))["turns"][0][0] = 1e12

    with pytest.raises(FileError, match="turns and calibration do not fit"):
        load(edited(saved, bend))


def test_a_gate_that_does_not_say_whose_model_it_has_is_refused(saved):
    with pytest.raises(FileError, match="'default_model' is missing"):
        load(edited(saved, lambda document: document["settings"].pop("default_model")))
