import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def features(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame.insert(0, "item", [f"row_{k}" for k in range(60)])
    frame["colour"] = random.choice(["red", "blue"], 60)
    frame["hard"] = 2 * frame["a"] + 0.3 * random.normal(size=60)
    frame["error"] = (frame["hard"] > 0) * 1.0
    frame["negative"] = (np.arange(60) % 10 == 0) * 1
    frame.loc[3, "hard"] = np.nan
    path = tmp_path / "features.csv"
    frame.to_csv(path, index=False)
    return path


OTHERS = ("--leave-out", "error", "--leave-out", "negative")


def fit(run, features, *words):
    return run(
        *("difficulty", "fit", features, "--difficulty", "hard", "--regressor", "stepwise"),
        *("--out", "model.skops", *OTHERS, *words),
    )


def test_difficulty_is_learnt_and_predicted(run, features, tmp_path):
    done = fit(run, features)
    assert done.exit_code == 0, done.output
    assert "stepwise learnt from 59 items" in done.stdout
    done = run("difficulty", "predict", "model.skops", features, "--out", "found.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "found.csv", index_col="item")
    truth = pd.read_csv(features, index_col="item")["hard"]
    assert found.index[0] == "row_0"
    assert found["difficulty"].corr(truth) > 0.95
    inside = (found["low"] <= truth) & (truth <= found["high"])
    assert inside.mean() > 0.85


def test_columns_that_tell_of_difficulty_are_no_features(run, features):
    frame = pd.read_csv(features)
    frame["difficulty_1pl_se"] = frame["hard"]
    frame.to_csv(features, index=False)
    done = fit(run, features)
    assert "Left out (they reveal difficulty): difficulty_1pl_se." in done.stderr


def test_items_that_are_equally_hard_have_no_figures(run, features, tmp_path):
    pd.read_csv(features).assign(hard=0.1).to_csv(features, index=False)
    done = fit(run, features)
    assert done.exit_code == 0, done.output
    assert "All items are equally hard (0.1), so that difficulty is predicted" in done.output
    words = ("--difficulty", "hard", *OTHERS, "-r", "stepwise", "--n-resamples", 1)
    judged = run("difficulty", "evaluate", features, *words, "--out", "table.csv")
    assert judged.exit_code == 0, judged.output
    assert "all items are equally hard: there is nothing to predict" in judged.output
    assert "nan" not in done.output + judged.output
    document = json.loads(fit(run, features, "--json").stdout, parse_constant=pytest.fail)
    assert document["nrmse"] is None


def test_predictions_go_to_the_next_program(run, features):
    assert json.loads(fit(run, features, "--json").stdout)["items"] == 59
    done = run("difficulty", "predict", "model.skops", features, "--quiet")
    assert done.stdout.splitlines()[0] == "item,difficulty,low,high"
    assert len(done.stdout.splitlines()) == 61


@pytest.mark.slow
def test_regressors_are_evaluated(run, features, tmp_path):
    done = run(
        *("difficulty", "evaluate", features, "--difficulty", "hard", "--difficulty", "error"),
        *("-r", "stepwise", "-r", "knn", "--negative", "negative", "--out", "table.csv"),
        *("--n-resamples", 1),
    )
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(table) == 2 * 2 * 2
    assert "has the smallest error in" in done.stdout
    assert "NRMSE" in done.stdout


def test_what_a_hurried_person_gets_wrong_is_explained(subtests, run, features):
    cases = [
        (["fit", "features.csv", "--difficulty", "ease", "-o", "m.skops"], 3, "no column 'ease'"),
        (["fit", "features.csv", "--difficulty", "item", "-o", "m.skops"], 3, "no column 'item'"),
        (["fit", "features.csv", "--difficulty", "colour", "-o", "m.skops"], 3, "not a number"),
        (["fit", "features.csv", "--difficulty", "hard", "-o", "m.json"], 3, "must end in .skops"),
        (["fit", "features.csv", "--difficulty", "hard"], 2, "--out"),
        (["evaluate", "absent.csv", "--difficulty", "hard", "-r", "forest"], 2, "not one of"),
        (["predict", "absent.skops", "features.csv"], 3, "absent.skops"),
        (["predict", "features.csv", "features.csv"], 3, "not a file that Ogive saved"),
        (["evaluate", "features.csv", "--difficulty", "hard", "--cv", "40"], 3, "40 folds need"),
    ]
    for words, code, told in cases:
        with subtests.test(words=words, code=code, told=told):
            done = run("difficulty", *words)
            assert done.exit_code == code
            assert told in " ".join(done.stderr.replace("│", " ").split())
            assert "Traceback" not in done.output


def test_a_missing_feature_is_named(run, features, tmp_path):
    fit(run, features)
    pd.read_csv(features).drop(columns="a").to_csv(tmp_path / "less.csv", index=False)
    done = run("difficulty", "predict", "model.skops", "less.csv")
    assert done.exit_code == 3
    assert "lacks the column 'a'" in done.stderr
