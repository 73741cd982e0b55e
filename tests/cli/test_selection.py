"""The commands `ogive portfolio select` and `evaluate`."""

import json

import numpy as np
import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def tables(tmp_path):
    random = np.random.default_rng(0)
    hard = random.uniform(-1, 1, 80)
    names = [f"p{k}" for k in range(80)]
    times = np.column_stack([np.exp(2 + 3 * hard), np.exp(2 - 3 * hard)])
    runs = pd.DataFrame(np.minimum(times, 60.0), index=names, columns=["ant", "bee"])
    runs.rename_axis("problem").to_csv(tmp_path / "runs.csv")
    features = pd.DataFrame({"hard": hard, "noise": random.normal(size=80)}, index=names)
    features.rename_axis("problem").to_csv(tmp_path / "features.csv")
    return runs, features


OPTIONS = ["--features", "features.csv", "--better", "lower", "--cutoff", 60]


def test_select_chooses_and_writes_a_selector(run, tables, tmp_path):
    _, features = tables
    done = run("portfolio", "select", "runs.csv", *OPTIONS, "--out", "s.skops", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert any("Chosen by" in note for note in found["notes"])
    selector = og.load(tmp_path / "s.skops")
    right = np.where(features["hard"] < 0, "ant", "bee")
    clear = features["hard"].abs() > 0.2
    assert (selector.predict(features) == right)[clear].mean() > 0.95


def test_select_prints_choices_for_new_problems(run, tables, tmp_path):
    pd.DataFrame({"problem": ["x", "y"], "hard": [-0.8, 0.8], "noise": [0.0, 0.0]}).to_csv(
        tmp_path / "new.csv", index=False
    )
    done = run("portfolio", "select", "runs.csv", *OPTIONS, "--new", "new.csv")
    assert "problems: " in done.stderr  # which algorithms, before the choices one by one
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "problem,algorithm,sureness,next,ant,bee"
    assert [line.split(",")[1] for line in lines[1:3]] == ["ant", "bee"]


@pytest.mark.slow
def test_evaluate_prints_the_closed_gap(run, tables):
    done = run("portfolio", "evaluate", "runs.csv", *OPTIONS, "--cv", 3)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].startswith("selector,performance,")
    assert "of the gap" in done.stderr


def test_features_are_asked_for(run, tables):
    done = run("portfolio", "evaluate", "runs.csv", "--better", "lower")
    assert done.exit_code == 3
    assert "Give --features" in done.stderr
