"""Runs as AutoGluon, TabArena, the AutoML benchmark, OpenML and MLflow write them."""

import os
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.datasets.run_formats import better_of
from ogive.errors import FileError, InputError


def leaderboard(**scores):
    """The columns of `TabularPredictor.leaderboard(test_data)`."""
    frame = pd.DataFrame({"model": list(scores), "score_test": list(scores.values())})
    return frame.assign(
        score_val=frame["score_test"] + 0.02, eval_metric="accuracy", fit_time=1.0, fit_order=1
    )


def test_leaderboards_of_autogluon_are_one_table():
    given = {"iris": leaderboard(gbm=0.9, rf=0.8), "wine": leaderboard(rf=0.7)}
    found = og.read_runs(given)
    assert found.loc["iris"].to_dict() == {"gbm": 0.9, "rf": 0.8}
    assert np.isnan(found.loc["wine", "gbm"])
    assert found.attrs["measure"] == "score_test (accuracy)"
    assert found.attrs["better"] == "higher"
    assert found.attrs["notes"] == ["No run: 1 of 4 pairs."]
    validated = og.read_runs({"iris": given["iris"].drop(columns="score_test")})
    assert "too favourable" in validated.attrs["notes"][0]
    assert og.read_runs(given, metric="fit_time").attrs["better"] == "lower"


def test_bad_leaderboards_are_explained(subtests):
    cases = {
        "no frame": ({"iris": [1]}, "'iris' is of type list"),
        "nothing": ({}, "There is no leaderboard"),
        "other columns": ({"iris": pd.DataFrame({"a": [1]})}, "columns model and score_test"),
        "no data set": (leaderboard(rf=0.7), "of one leaderboard per data set, give a mapping"),
    }
    for what, (given, message) in cases.items():
        with subtests.test(what), pytest.raises(InputError, match=message):
            og.read_runs(given)


def arena():
    rows = [
        (method, data, fold, error + 0.1 * fold, metric)
        for method, error in (("RF", 0.2), ("GBM", 0.1))
        for data, metric in (("iris", "log_loss"), ("house", "rmse"))
        for fold in (0, 1)
    ]
    return pd.DataFrame(rows, columns=["method", "dataset", "fold", "metric_error", "metric"])


def test_folds_of_tabarena_become_their_mean(tmp_path):
    found = og.read_runs(arena())
    assert found.loc["iris"].round(6).to_dict() == {"RF": 0.25, "GBM": 0.15}
    assert found.attrs["better"] == "lower"
    assert "compare them within a data set only" in found.attrs["notes"][0]
    assert found.attrs["notes"][1].startswith("4 pairs of problem and algorithm with several runs")
    arena().to_parquet(tmp_path / "df_results.parquet")
    pd.testing.assert_frame_equal(og.read_runs(tmp_path / "df_results.parquet"), found)
    older = arena().rename(columns={"method": "framework", "dataset": "tid"})
    assert og.read_runs(older).shape == (2, 2)


def test_imputed_results_of_tabarena_are_left_out():
    imputed = (arena()["method"] == "RF") & (arena()["dataset"] == "house")
    found = og.read_runs(arena().assign(imputed=imputed))
    assert np.isnan(found.loc["house", "RF"])
    assert "2 imputed results: left out." in found.attrs["notes"]


def test_the_automl_benchmark_is_read():
    frame = pd.DataFrame(
        {
            "task": ["iris", "iris"],
            "framework": ["a", "b"],
            "fold": 0,
            "result": [0.9, None],
            "metric": "auc",
        }
    )
    found = og.read_runs(frame)
    assert found.to_dict("index") == {"iris": {"a": 0.9}}
    assert found.attrs["better"] == "higher"


def evaluations():
    """The columns of `openml.evaluations.list_evaluations(..., output_format="dataframe")`."""
    return pd.DataFrame(
        {
            "run_id": [1, 2, 3],
            "task_id": [59, 59, 31],
            "flow_name": ["svm", "tree", "svm"],
            "data_name": ["iris", "iris", "credit-g"],
            "function": "predictive_accuracy",
            "value": [0.9, 0.8, 0.7],
        }
    )


def test_evaluations_of_openml_are_read():
    found = og.read_runs(evaluations())
    assert found.loc["iris"].to_dict() == {"svm": 0.9, "tree": 0.8}
    assert found.attrs["measure"] == "predictive_accuracy"
    two = pd.concat([evaluations(), evaluations().assign(function="f_measure")])
    with pytest.raises(InputError, match="2 metrics"):
        og.read_runs(two)
    assert og.read_runs(two, metric="f_measure").shape == (2, 2)
    several = og.read_runs(evaluations().assign(data_name="iris"))
    assert list(several.index) == ["59", "31"]


def test_results_go_on_to_a_portfolio():
    random = np.random.default_rng(0)
    rows = [
        {"method": m, "dataset": f"d{d}", "fold": 0, "metric_error": 0.1 * k + random.random() / 5}
        for k, m in enumerate("abcd")
        for d in range(20)
    ]
    runs = og.read_runs(pd.DataFrame(rows))
    assert len(og.portfolio(runs).to_frame()) == 4  # which direction is better is known


def test_plain_frames_are_read_like_files():
    wide = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["p1", "p2"])
    assert og.read_runs(wide).to_dict("index") == wide.to_dict("index")
    polars = pytest.importorskip("polars")
    long = polars.DataFrame({"problem": ["p", "p"], "solver": ["a", "b"], "runtime": [1.0, 2.0]})
    assert og.read_runs(long).to_dict("index") == {"p": {"a": 1.0, "b": 2.0}}


def test_names_of_metrics_say_which_direction_is_better(subtests):
    for lower in ("rmse", "val/log_loss", "test_error", "MAE", "fit_time"):
        with subtests.test(metric=lower):
            assert better_of(lower) == "lower"
    for higher in ("accuracy", "roc_auc", "neg_log_loss", "r2", "f1"):
        with subtests.test(metric=higher):
            assert better_of(higher) == "higher"


SCORES = {"iris": {"tree": 0.9, "svm": 0.95}, "wine": {"tree": 0.8, "svm": 0.7}}


def by_hand(folder, **more):
    """A file store: experiment/run with meta.yaml, metrics, params and tags."""
    for number, (experiment, runs) in enumerate(SCORES.items()):
        home = folder / str(number)
        home.mkdir(parents=True)
        (home / "meta.yaml").write_text(f"name: '{experiment}'\nlifecycle_stage: active\n")
        for name, accuracy in runs.items():
            run = home / f"{number}{name}"
            (run / "metrics" / "val").mkdir(parents=True)
            (run / "tags").mkdir()
            (run / "meta.yaml").write_text(
                f"run_id: {number}{name}\nrun_name: {name}\nstatus: 3\nlifecycle_stage: active\n"
            )
            (run / "metrics" / "accuracy").write_text(f"1 0.1 0\n3 {accuracy} 2\n2 0.2 1\n")
            (run / "metrics" / "val" / "loss").write_text(f"1 {1 - accuracy} 0\n")
            for key, value in more.items():
                (run / "tags" / key).write_text(value.format(experiment, name))
    return folder


def test_the_last_value_of_each_run_becomes_a_cell(tmp_path):
    found = og.read_runs(by_hand(tmp_path / "mlruns"), metric="accuracy")
    assert found.to_dict("index") == SCORES
    assert found.attrs["better"] == "higher"
    assert found.attrs["notes"] == ["Problems are experiments; algorithms are names of runs."]
    loss = og.read_runs(tmp_path / "mlruns", metric="val/loss")
    assert loss.attrs["better"] == "lower"
    np.testing.assert_allclose(loss.to_numpy(), 1 - found.to_numpy())


def test_tags_name_problems_and_algorithms_where_every_run_has_them(tmp_path):
    store = by_hand(tmp_path / "mlruns", dataset="{0} 2", model="a {1}", learner="b {1}")
    found = og.read_runs(store, metric="accuracy")
    assert (list(found.index), list(found.columns)) == (["iris 2", "wine 2"], ["a svm", "a tree"])
    other = og.read_runs(store, metric="accuracy", algorithm="learner")
    assert list(other.columns) == ["b svm", "b tree"]
    with pytest.raises(InputError, match=r"problem is 'x', but 4 runs .* have no parameter or tag"):
        og.read_runs(store, metric="accuracy", problem="x")


def test_runs_that_do_not_count_are_left_out_and_said(tmp_path):
    store = by_hand(tmp_path / "mlruns")
    meta = store / "0" / "0svm" / "meta.yaml"
    meta.write_text(meta.read_text().replace("status: 3", "status: 4"))
    (store / "1" / "1svm" / "metrics" / "accuracy").unlink()
    (store / "1" / "1tree" / "metrics" / "accuracy").write_text("1 nan 0\n")
    found = og.read_runs(store, metric="accuracy")
    assert found.to_dict("index") == {"iris": {"tree": 0.9}}
    assert found.attrs["notes"][1:] == [
        "1 run not finished: left out.",
        "1 run without the metric accuracy: left out.",
        "1 run without a finite value: left out.",
    ]


def test_folds_below_a_run_do_not_count_twice(tmp_path):
    store = by_hand(tmp_path / "mlruns")
    (store / "0" / "0tree" / "tags" / "mlflow.parentRunId").write_text("0svm")
    found = og.read_runs(store, metric="accuracy")
    assert np.isnan(found.loc["iris", "tree"])
    assert "1 run below another run that has the metric: left out." in found.attrs["notes"]


def test_bad_stores_are_explained(tmp_path, subtests):
    store = by_hand(tmp_path / "mlruns")
    with subtests.test("which metric"):
        with pytest.raises(InputError, match=r"2 metrics \('accuracy', 'val/loss'\). Name one"):
            og.read_runs(store)
        with pytest.raises(InputError, match="There is no metric 'f1'"):
            og.read_runs(store, metric="f1")
    with subtests.test("another database"):
        with closing(sqlite3.connect(tmp_path / "other.db")) as other:
            other.execute("CREATE TABLE a (b)")
        with pytest.raises(FileError, match="could not be read as a store of MLflow"):
            og.read_runs(tmp_path / "other.db")
    with subtests.test("no run"):
        for meta in store.glob("*/*/meta.yaml"):
            meta.write_text(meta.read_text().replace("status: 3", "status: 1"))
        with pytest.raises(InputError, match="holds no finished run, of 4 runs"):
            og.read_runs(store)
    with subtests.test("a damaged metric"):
        (store / "0" / "0svm" / "metrics" / "accuracy").write_text("what is this\n")
        with pytest.raises(FileError, match="is not a metric of MLflow"):
            og.read_runs(store, metric="accuracy")


def test_a_table_of_runs_goes_on_to_tournament_and_command_line(tmp_path):
    from typer.testing import CliRunner

    from ogive.cli.application import app

    store = by_hand(tmp_path / "mlruns")
    found = og.tournament(og.read_runs(store, metric="accuracy").T)
    assert found.to_frame()["won"].sum() == 2
    done = CliRunner().invoke(app, ["portfolio", str(store)])
    assert done.exit_code == 3
    assert "Name one: --measure accuracy" in done.stderr
    done = CliRunner().invoke(app, ["portfolio", str(store), "--measure", "accuracy"])
    assert "a portfolio needs at least" in done.stderr  # it was read


@pytest.fixture(params=["mlruns", "mlflow.db"])
def real(request, tmp_path, monkeypatch):
    """A store that MLflow itself wrote."""
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    if request.param == "mlflow.db":
        pytest.importorskip("sqlalchemy", reason="MLflow needs SQLAlchemy for SQLite")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setitem(os.environ, "GIT_PYTHON_REFRESH", "quiet")
    place = tmp_path / request.param
    address = f"sqlite:///{place}" if request.param == "mlflow.db" else place.as_uri()
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(address)
    for experiment, runs in SCORES.items():
        mlflow.set_experiment(experiment)
        for name, accuracy in runs.items():
            with mlflow.start_run(run_name=name):
                mlflow.log_metric("accuracy", 0.1, step=0)
                mlflow.log_metric("accuracy", accuracy, step=1)
                mlflow.log_param("depth", 3)
    yield place
    mlflow.set_tracking_uri(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_stores_that_mlflow_wrote_are_read(real):
    found = og.read_runs(real)
    assert {row: cells.to_dict() for row, cells in found.iterrows()} == SCORES
    by_depth = og.read_runs(real, algorithm="depth")
    assert list(by_depth.columns) == ["3"]
    assert "their mean is used" in " ".join(by_depth.attrs["notes"])
