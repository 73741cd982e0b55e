"""Runs of MLflow: stores that MLflow itself wrote, and one written by hand as documented."""

import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import ogive as og
from ogive.errors import FileError, InputError

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
