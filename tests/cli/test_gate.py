import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ogive import load
from ogive.capability.cases import new_cases
from ogive.cli.application import app

FIT = ("gate", "fit", "cases.csv", "--target", "state", "--out", "gate.json")


@pytest.fixture(scope="module")
def frame():
    """Ill or well by two numbers, a truth value and a code that is not always a number."""
    random = np.random.default_rng(0)
    health = random.normal(size=240)
    numbers = health[:, None] + 0.7 * random.normal(size=(240, 2))
    found = pd.DataFrame(numbers, columns=["pulse", "fever"])
    found.insert(0, "case", [f"p{k}" for k in range(240)])
    found["smoker"] = health + random.normal(size=240) > 0
    found["ward"] = np.array(["1", "2", "x"])[np.digitize(health + random.normal(size=240), [0, 1])]
    found["state"] = np.where(health + 0.3 * random.normal(size=240) > 0, "ill", "well")
    return found


@pytest.fixture(autouse=True)
def cases(frame, tmp_path):
    """The table to learn from, and new cases with their columns in another order."""
    frame.to_csv(tmp_path / "cases.csv", index=False)
    rows = frame.drop(columns="state")
    rows[rows["ward"] != "x"].head(30).iloc[:, ::-1].to_csv(tmp_path / "new.csv", index=False)
    return frame


@pytest.fixture(scope="module")
def saved(frame, tmp_path_factory):
    """A gate that was learnt once."""
    folder = tmp_path_factory.mktemp("gate")
    frame.to_csv(folder / "cases.csv", index=False)
    words = [
        "gate",
        "fit",
        folder / "cases.csv",
        "--target",
        "state",
        "--out",
        folder / "gate.json",
    ]
    more = ["--target-accuracy", 0.8, "--test-size", 0.5, "--compare-size", 0]
    done = CliRunner().invoke(app, [str(word) for word in (*words, *more)])
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.stdout)
    return folder


@pytest.fixture
def gate(saved, tmp_path):
    """The same gate, in the directory of the test."""
    for name in ("gate.json", "gate.skops"):
        shutil.copy(saved / name, tmp_path / name)
    return load(tmp_path / "gate.json")


@pytest.mark.usefixtures("rendered")
def test_a_gate_is_learnt_and_decides_new_cases(run, tmp_path):
    done = run(*FIT, "--figure", "risk.png")
    assert done.exit_code == 0, done.output
    assert "logistic-regression learnt from 180 cases" in done.stdout
    assert "On 60 cases held out for this comparison:" in done.stdout
    assert "on as many cases that it is most certain of" in done.stdout
    assert (tmp_path / "gate.skops").exists()
    assert (tmp_path / "risk.png").stat().st_size > 1000
    done = run("gate", "decide", "gate.json", "new.csv", "--out", "found.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "found.csv", index_col="case")
    assert len(found) == 30
    assert set(found["decision"]) <= {"model", "person"}
    assert f"decides {(found['decision'] == 'model').sum()} of 30 cases" in done.stdout


def test_categories_that_look_like_numbers_are_known_again(gate, tmp_path, cases):
    assert gate.kinds_ == {"pulse": "number", "fever": "number", "smoker": "number", "ward": "text"}
    table = pd.read_csv(tmp_path / "new.csv")
    assert pd.api.types.is_numeric_dtype(table["ward"])
    rows = cases.set_index("case").loc[table["case"], list(gate.kinds_)]
    wanted = gate.decide(rows.assign(smoker=rows["smoker"].astype(float)))
    pd.testing.assert_frame_equal(
        gate.decide(new_cases(table.set_index("case"), gate.kinds_)), wanted
    )


def test_decisions_go_to_the_next_program(run, gate):
    done = run("gate", "decide", "gate.json", "new.csv", "--quiet")
    lines = done.stdout.splitlines()
    assert (
        lines[0] == "case,prediction,decision,trust,least_trust,cdi,cdi_se,difficulty,limit,reason"
    )
    assert len(lines) == 31
    document = json.loads(run("gate", "decide", "gate.json", "new.csv", "--json").stdout)
    assert sum(document["counts"].values()) == len(document["decisions"]) == 30


def test_a_target_is_kept_and_stands_beside_its_rivals(run, cases):
    done = run(*FIT, "--target-accuracy", 0.8, "--test-size", 0.5, "--json")
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    rows = pd.DataFrame(document["comparison"])
    own = rows[rows["at"] == "its own limit"].set_index("method")
    assert list(own.index) == ["gate", "probability", "conformal selection"]
    assert own.loc["gate", "accepted"] > 0
    assert own.loc["gate", "accuracy"] > 0.8
    assert document["cases"] == 180


def test_cases_for_people_are_explained(run, gate, tmp_path):
    words = ["--out", "found.csv", "--explain", "why.csv"]
    done = run("gate", "decide", "gate.json", "new.csv", *words)
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "found.csv", index_col="case")
    why = pd.read_csv(tmp_path / "why.csv")
    assert set(why["case"]) == set(found.index[found["decision"] == "person"]) != set()
    assert set(why["feature"]) == {"pulse", "fever", "smoker", "ward"}


def test_where_nobody_is_asked_nothing_is_explained_and_both_files_are_written(run, tmp_path):
    random = np.random.default_rng(5)
    y = random.choice(["a", "b"], 400)
    rows = pd.DataFrame(random.normal(size=(400, 4)) + 4 * (y == "b")[:, None], columns=[*"pqrs"])
    rows.assign(state=y).to_csv("easy.csv", index=False)
    rows.to_csv("new.csv", index=False)
    words = ["--target", "state", "--out", "gate.json", "--target-accuracy", 0.9]
    assert run("gate", "fit", "easy.csv", *words).exit_code == 0
    done = run("gate", "decide", "gate.json", "new.csv", "--out", "d.csv", "--explain", "why.csv")
    assert done.exit_code == 0, done.output
    assert "The model decides 400 of 400 cases." in done.stdout
    assert len(pd.read_csv(tmp_path / "d.csv")) == 400
    why = pd.read_csv(tmp_path / "why.csv")
    assert why.empty
    assert list(why.columns)[:3] == ["case", "feature", "value"]


def test_many_cases_for_people_are_explained_in_parts(run, gate, tmp_path, monkeypatch):
    words = ("gate", "decide", "gate.json", "new.csv", "--out", "found.csv", "--explain")
    assert run(*words, "whole.csv").exit_code == 0
    monkeypatch.setattr("ogive.capability.explanations.MAX_CASES", 2)
    done = run(*words, "parts.csv")
    assert done.exit_code == 0, done.output
    parts, whole = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("parts", "whole"))
    pd.testing.assert_frame_equal(parts, whole)


def test_a_gate_is_judged_by_labelled_cases(run, gate, tmp_path):
    done = run("gate", "compare", "gate.json", "cases.csv", "--target", "state")
    assert done.stdout.splitlines()[0].startswith("method,at,cases,accepted,coverage,accuracy")
    assert "The gate leaves" in done.stderr
    done = run("gate", "compare", "gate.json", "cases.csv#state", "--out", "table.csv")
    assert len(pd.read_csv(tmp_path / "table.csv")) == 2 * 3
    assert "The gate leaves" in done.stdout


def test_without_cases_apart_nothing_is_claimed_of_new_ones(saved):
    said = (saved / "said.txt").read_text()
    assert "learnt from 240 cases" in said
    assert "held out for this" not in said


def test_what_is_wrong_is_refused_in_words_of_the_command_line(subtests, run):
    cases = [
        (["--target-accuracy", 97], "--target-accuracy must be"),
        (["--target-accuracy", 95], "such as 0.95"),
        (["--test-size", 30], "such as 0.3"),
        (["--alpha", 0], "--alpha must be"),
        (["--test-size", 1], "--test-size must be"),
        (["--compare-size", -1], "--compare-size is -1"),
        (["--compare-size", 0, "--figure", "risk.png"], "--compare-size 0 keeps none"),
        (["--out", "gate.skops"], "must end in .json"),
        (["--out", "nowhere/gate.json"], "no directory"),
        (["--figure", "risk.txt"], "must end in .png"),
        (["--coding", "nowhere.csv"], "nowhere.csv"),
    ]
    for words, told in cases:
        with subtests.test(words=words, told=told):
            done = run(*FIT, *words)
            assert done.exit_code == 3
            assert told in done.stderr


def test_a_model_that_could_not_be_saved_is_no_choice(run):
    done = run(*FIT, "--model", "svm")
    assert done.exit_code == 2
    assert "is not one of" in done.output


def test_what_does_not_fit_the_gate_is_named(run, gate, cases, tmp_path):
    cases.drop(columns="fever").to_csv(tmp_path / "less.csv", index=False)
    done = run("gate", "decide", "gate.json", "less.csv")
    assert done.exit_code == 3
    assert "fever" in done.stderr
    cases.assign(pulse="quick").to_csv(tmp_path / "words.csv", index=False)
    done = run("gate", "decide", "gate.json", "words.csv")
    assert "'pulse' held numbers when the gate was fitted" in done.stderr
    assert run("gate", "decide", "new.csv", "new.csv").exit_code == 3
    for name in ("gate.json", "new.csv"):
        done = run("gate", "decide", "gate.json", "new.csv", "--out", name)
        assert done.exit_code == 3


def test_a_promise_in_each_group_is_made_and_kept_on_the_command_line(run, tmp_path):
    words = ["--target-accuracy", 0.7, "--alpha", 0.2, "--groups", "ward", "--json"]
    done = run(*FIT, *words)
    assert done.exit_code in (0, 4), done.output
    document = json.loads(done.stdout)
    parts = pd.DataFrame(document["parts"])
    assert set(parts.loc[parts["by"] == "group", "part"]) == {"1", "2", "x"}
    assert document["trust"] in ("mixture", "probability", "capability")
    assert any(note.startswith("Trust in a case rests on") for note in document["notes"])
    new = pd.read_csv(tmp_path / "new.csv").head(2).assign(ward=[1, 7])
    new.to_csv(tmp_path / "few.csv", index=False)
    done = run("gate", "decide", "gate.json", "few.csv", "--out", "found.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "found.csv")
    assert found["reason"].iloc[1].startswith("Its ward '7' was not among those")
    assert found["decision"].iloc[1] == "person"


def test_a_group_or_promise_that_is_unknown_is_refused(run):
    done = run(*FIT, "--target-accuracy", 0.8, "--groups", "wing")
    assert done.exit_code == 3
    assert "--groups is 'wing', but the data set has no such column" in done.stderr
    told = " ".join(run(*FIT, "--target-accuracy", 0.8, "--by", "group").stderr.split())
    assert "no groups are given. Give the column that holds them, such as --groups site," in told
    told = " ".join(run(*FIT, "--by", "class").stderr.split())
    assert "Give one, such as --target-accuracy 0.97." in told
    assert run(*FIT, "--by", "moon").exit_code == 2
    assert run(*FIT, "--trust", "luck").exit_code == 2
