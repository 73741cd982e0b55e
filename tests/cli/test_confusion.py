import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(0)
    ill = random.random(120) < 0.45
    frame = pd.DataFrame(random.normal(size=(120, 3)) + ill[:, None]).add_prefix("x")
    path = tmp_path / "sick.csv"
    frame.assign(state=np.where(ill, "present", "absent")).to_csv(path, index=False)
    return f"{path}#state"


def confuse(run, *words):
    return run("confusion", *words, "--pool", "real", "--model", "2pl", "--jobs", 1)


def test_models_are_compared_and_laid_out(run, file, tmp_path):
    done = confuse(run, file, "--models", "artificial", "--out", "there")
    assert done.exit_code == 0, done.output
    frame = pd.read_csv(tmp_path / "there" / "models.csv", index_col="model")
    assert frame.loc["optimal", "accuracy"] == 1
    assert frame.loc["pessimal", "accuracy"] == 0
    assert "by accuracy optimal leads" in done.stdout
    assert (tmp_path / "there" / "figures" / "cells_optimal.png").exists()
    assert (tmp_path / "there" / "banks" / "sick.json").exists()


@pytest.mark.slow
def test_a_table_of_predictions_is_compared(run, file, tmp_path):
    labels = pd.read_csv(file.partition("#")[0])["state"]
    from ogive import split_dataset
    from ogive.data.datasets.load import load_dataset

    test = split_dataset(load_dataset(file)).test
    frame = pd.DataFrame({"item": [f"row_{k}" for k in test], "oracle": labels.iloc[test].tolist()})
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "guess.csv", index=False)
    done = confuse(run, file, "--models", "guess.csv", "--json")
    document = json.loads(done.stdout)
    assert document["models"][0]["accuracy"] == 1
    assert document["models"][0]["model"] == "oracle"


@pytest.mark.slow
def test_regressors_are_compared_by_grades_of_numbers(run, tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 2)), columns=["a", "b"])
    frame.assign(price=frame["a"] + random.normal(size=60)).to_csv("prices.csv", index=False)
    done = run("confusion", "prices.csv#price", "--pool", "regressors", "--out", "there")
    assert done.exit_code == 0, done.output
    models = pd.read_csv(tmp_path / "there" / "models.csv", index_col="model")
    cells = pd.read_csv(tmp_path / "there" / "cells.csv")
    assert len(models) == 73
    assert (cells.groupby("model")["count"].sum() == 18).all()
    assert "the highest mean score" in done.stdout  # one has it, or equal ones share it


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--models", "absent.csv"], "absent.csv"),
        (["--positive", "maybe"], "There is no class 'maybe'. Choose one of: absent, present"),
        (["--target", "nothing"], "names the target 'state', but target is 'nothing'"),
    ],
)
def test_what_a_hurried_person_gets_wrong_is_explained(run, file, words, told):
    done = confuse(run, file, "--models", "artificial", *words)
    assert done.exit_code == 3
    assert told in done.stderr
    assert "Traceback" not in done.output
