"""Frames of results as AutoGluon, TabArena, the AutoML benchmark and OpenML write them."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.datasets.run_formats import better_of
from ogive.errors import InputError


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
