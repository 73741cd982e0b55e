"""Several measures side by side, and who no other algorithm beats on all of them."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.portfolios.measure_comparison import pareto_front


def tables():
    random = np.random.default_rng(0)
    easy = np.linspace(0.2, 0.8, 50)[:, None]
    names = ["quick", "good", "both", "neither"]
    quality = easy + np.array([-0.1, 0.1, 0.05, -0.15]) + random.normal(0, 0.02, (50, 4))
    seconds = 10 - 5 * easy + [-3, 3, -1, 4] + random.normal(0, 0.2, (50, 4))
    return (pd.DataFrame(table, columns=names) for table in (quality, seconds))


def test_who_is_beaten_on_every_measure_is_not_on_the_front():
    quality, seconds = tables()
    seconds.attrs["better"] = "lower"
    found = og.compare_measures({"quality": quality, "seconds": seconds})
    assert found.best == ("quick", "good", "both")
    np.testing.assert_allclose(found.to_frame()["seconds"], seconds.mean())
    assert (found.to_frame()["quality_se"] > 0).all()
    assert found.meaning.startswith("The best mean has good by quality and quick by seconds.")
    assert list(found.portfolios) == ["quality", "seconds"]


def test_chances_say_how_sure_the_front_is():
    quality, seconds = tables()
    seconds.attrs["better"] = "lower"
    twin = quality.assign(twin=quality["good"] + np.random.default_rng(1).normal(0, 0.01, 50))
    times = seconds.assign(twin=seconds["good"] + np.random.default_rng(2).normal(0, 0.1, 50))
    times.attrs["better"] = "lower"
    chance = og.compare_measures({"quality": twin, "seconds": times}).to_frame()["pareto_chance"]
    assert chance["quick"] == chance["both"] == 1.0
    assert chance["neither"] == 0.0
    assert 0 < chance["twin"] + chance["good"] < 2
    assert min(chance["twin"], chance["good"]) < 0.99


def test_means_are_over_the_problems_that_all_measures_have():
    quality, seconds = tables()
    seconds = seconds.iloc[5:].sample(frac=1, random_state=0)
    seconds.attrs["better"] = "lower"
    found = og.compare_measures({"quality": quality, "seconds": seconds})
    np.testing.assert_allclose(found.to_frame()["quality"], quality.iloc[5:].mean())
    assert found.notes[-1] == "Means are over the 45 problems that all measures have."
    with pytest.raises(InputError, match="fewer than two problems in common"):
        og.compare_measures({"quality": quality, "seconds": seconds.rename(lambda k: f"p{k}")})


def test_two_measures_are_drawn_in_a_plane_beside_the_curves_of_each():
    quality, seconds = tables()
    seconds.attrs["better"] = "lower"
    found = og.compare_measures({"quality": quality, "seconds": seconds})
    assert list(found.figures()) == ["trade_off", "curves of quality", "curves of seconds"]
    ax = found.plot().ax_
    assert ax.get_xlabel() == "quality (higher is better)"
    assert ax.get_ylabel() == "seconds (lower is better)"
    assert len(found.tables()["algorithms"]) == 8


def test_time_and_objective_of_the_same_solvers(shared):
    """CSP-Minizinc 2016, one scenario for each measure: one solver is nearly best on both."""
    names = {"time": "CSP-Minizinc-Time-2016", "objective": "CSP-Minizinc-Obj-2016"}
    scenarios = {key: og.read_aslib(shared / "data" / "aslib" / n) for key, n in names.items()}
    found = og.compare_measures(scenarios)
    assert set(found.best) == {"LCG-Glucose-free", "Chuffed-free", "LCG-Glucose-UC-free"}
    assert found.to_frame()["pareto_chance"].idxmax() == "LCG-Glucose-free"
    assert len(found.to_frame()) == 20


def test_the_front_by_hand():
    points = np.array([[1, 3], [2, 2], [1, 2], [2, 2], [0, 0]], dtype=float)
    assert pareto_front(points).tolist() == [True, True, False, True, False]


def test_one_measure_is_refused():
    quality, _ = tables()
    with pytest.raises(InputError, match="two measures or more"):
        og.compare_measures({"quality": quality})
    with pytest.raises(InputError, match="two measures or more"):
        og.compare_measures(quality)


def test_several_measures_of_a_scenario_are_read_at_once(tmp_path):
    (tmp_path / "description.txt").write_text(
        "scenario_id: toy\nperformance_measures: [time, error]\nmaximize: [false, false]\n"
        "performance_type: [runtime, solution_quality]\nalgorithm_cutoff_time: 9\n"
    )
    (tmp_path / "algorithm_runs.arff").write_text(
        "@RELATION runs\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE algorithm STRING\n"
        "@ATTRIBUTE time NUMERIC\n@ATTRIBUTE error NUMERIC\n@ATTRIBUTE runstatus {ok, timeout}\n"
        "@DATA,\np,a,1,0.5,ok\np,b,2,0.1,ok\n"
    )
    (tmp_path / "feature_costs.arff").write_text(
        "@RELATION costs\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
        "@ATTRIBUTE quick NUMERIC\n@ATTRIBUTE slow NUMERIC\n@DATA\np,1,0.5,2\n"
    )
    (tmp_path / "feature_runstatus.arff").write_text(
        "@RELATION ends\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
        "@ATTRIBUTE quick {ok, presolved}\n@ATTRIBUTE slow {ok, presolved}\n@DATA\n"
        "p,1,ok,presolved\n"
    )
    found = og.read_aslib(tmp_path, ["time", "error"])
    assert list(found) == ["time", "error"]
    assert found["error"].performance.loc["p", "b"] == 0.1
    assert found["time"].feature_costs.loc["p"].tolist() == [0.5, 2.0]
    assert found["time"].presolved.tolist() == [True]
