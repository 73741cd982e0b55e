import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ogive.cli.application import app
from ogive.difficulty.alarm import performance_alarm


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in a directory that holds old.csv, new.csv and bare.csv."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for name, ability in (("old", 1.0), ("new", -3.0)):
        difficulty = random.normal(-1.0, 1.0, 200)
        right = random.random(200) < 1 / (1 + np.exp(difficulty - ability))
        frame = pd.DataFrame({"difficulty": difficulty, "right": right.astype(int)})
        frame.to_csv(f"{name}.csv", index=False)
    frame[["difficulty"]].to_csv("bare.csv", index=False)

    def invoke(*words):
        return CliRunner().invoke(app, ["difficulty", "alarm", *map(str, words)])

    return invoke


def test_statements_are_those_of_the_package(run):
    done = run("old.csv", "new.csv", "--out", "said.csv", "--alpha", 0.01)
    assert done.exit_code == 0
    wanted = performance_alarm(pd.read_csv("old.csv"), pd.read_csv("new.csv"), alpha=0.01)
    pd.testing.assert_frame_equal(pd.read_csv("said.csv", index_col=0), wanted.to_frame())
    assert wanted.meaning in done.stdout
    assert "adversarial" in done.stdout


def test_without_a_file_the_statements_are_printed_as_csv(run):
    done = run("old.csv", "new.csv", "--method", "paper")
    assert done.stdout.splitlines()[0] == "quantity,reference,new,expected,low,high,p"
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [
        "performance",
        "difficulty",
        "ability",
    ]
    assert done.stderr.startswith("Alarm: ")


def test_json_says_whether_it_fired(run):
    document = json.loads(run("old.csv", "new.csv", "--json").stdout)
    assert document["fired"] is True
    assert document["shifted"] is False
    assert document["situation"].startswith("adversarial")
    assert document["statements"][0]["quantity"] == "performance"
    quiet = json.loads(run("old.csv", "old.csv", "--json").stdout)
    assert quiet["fired"] is quiet["shifted"] is False


@pytest.mark.usefixtures("rendered")
def test_new_items_may_come_without_responses(run, tmp_path):
    done = run("old.csv", "bare.csv", "--figure", "alarm.png")
    assert done.exit_code == 0
    assert "performance unknown" in done.stderr
    assert (tmp_path / "alarm.png").read_bytes().startswith(b"\x89PNG")


def test_bad_options_are_explained(subtests, run):
    cases = [
        (("old.csv", "none.csv"), 3, "no file 'none.csv'"),
        (("bare.csv", "new.csv"), 3, "reference does not say where the model was right"),
        (("old.csv", "new.csv", "--alpha", "0"), 3, "between 0 and 1"),
        (("old.csv", "new.csv", "--guessing", "1"), 3, "guessing must be"),
        (("old.csv", "new.csv", "--out", "new.csv"), 3, "also the input"),
        (("old.csv", "new.csv", "--method", "magic"), 2, "curve, paper"),
    ]
    for words, code, message in cases:
        with subtests.test(words=words, code=code, message=message):
            done = run(*words)
            assert done.exit_code == code
            assert message in " ".join(done.stderr.replace("│", " ").split())
