"""Tables of runs from OpenML, through a stand-in; the package itself: test_openml_server.py."""

import sys

import numpy as np
import pandas as pd
import pytest

from ogive.data.datasets.run_formats import openml_performance
from ogive.errors import FileError, InputError, MissingExtraError

RUNS = pd.DataFrame(
    [
        (12, 31, 60, "weka.J48(1)", 0.7),
        (10, 31, 60, "weka.J48(1)", 0.9),
        (11, 31, 65, "weka.OneR(2)", 0.5),
        (13, 37, 65, "weka.OneR(2)", 0.25),
        (14, 37, 65, "weka.OneR(2)", None),
    ],
    columns=["run_id", "task_id", "flow_id", "flow_name", "value"],
)


class StandIn:
    """A server in memory that remembers what it was asked."""

    def __init__(self, runs=RUNS):
        self.runs, self.asked = runs, []

    def suite(self, name):
        return (37, 31, 40)

    def evaluations(self, tasks, measure, flows, limit):
        self.asked.append((tasks, measure, flows, limit))
        return self.runs.head(limit)


@pytest.fixture
def server():
    return StandIn()


def test_rows_are_tasks_in_the_order_asked_for_and_columns_are_flows(server):
    frame = openml_performance([37, "openml-task:31", 37], server=server)
    assert list(frame.index) == ["37", "31"]
    assert list(frame.columns) == ["weka.J48(1)", "weka.OneR(2)"]
    np.testing.assert_allclose(frame, [[np.nan, 0.25], [0.8, 0.5]])
    assert (frame.index.name, frame.columns.name) == ("problem", "algorithm")
    assert server.asked == [([37, 31], "predictive_accuracy", None, 100_001)]


@pytest.mark.parametrize(
    ("measure", "repeated", "value"),
    [
        ("predictive_accuracy", "mean", 0.8),
        ("predictive_accuracy", "best", 0.9),
        ("predictive_accuracy", "latest", 0.7),
        ("mean_absolute_error", "best", 0.7),
        ("usercpu_time_millis", "best", 0.7),
    ],
)
def test_of_several_runs_the_mean_best_or_latest_is_taken(server, measure, repeated, value):
    frame = openml_performance([31], measure, repeated=repeated, server=server)
    assert frame.loc["31", "weka.J48(1)"] == pytest.approx(value)
    assert any(f"the {repeated} value is used" in note for note in frame.attrs["notes"])


def test_the_frame_says_which_way_is_better(server):
    assert openml_performance([31], server=server).attrs["better"] == "higher"
    assert openml_performance([31], "total_cost", server=server).attrs["better"] == "lower"


def test_a_suite_stands_for_its_tasks_and_what_is_missing_is_noted(server, tmp_path):
    frame = openml_performance("openml-suite:99", flows=[60, 65], cache=tmp_path, server=server)
    assert server.asked[0][0] == [37, 31, 40]
    assert server.asked[0][2] == [60, 65]
    assert list(frame.index) == ["37", "31"]
    notes = " ".join(frame.attrs["notes"])
    assert "1 task (40) without a run" in notes
    assert "No run: 1 of 4 pairs." in notes
    assert "1 run without a value" in notes


def test_flows_of_one_name_are_distinguished_by_number():
    twins = RUNS.assign(flow_name="mine")
    frame = openml_performance([31], server=StandIn(twins))
    assert list(frame.columns) == ["mine [60]", "mine [65]"]


@pytest.mark.parametrize("runs", [RUNS.head(0), pd.DataFrame(), RUNS.assign(value=np.nan)])
def test_no_runs_are_an_error_that_names_the_measure(runs):
    with pytest.raises(InputError, match=r"no run of these tasks.*'kappa'"):
        openml_performance([31], "kappa", server=StandIn(runs))


def test_more_runs_than_allowed_are_refused_and_not_cut(server):
    assert len(openml_performance([31, 37], max_runs=5, server=server)) == 2
    with pytest.raises(InputError, match=r"more than 4 runs.*max_runs"):
        openml_performance([31, 37], max_runs=4, server=server)


def test_an_answer_of_another_form_is_refused():
    with pytest.raises(FileError, match=r"lacks 1 column \(flow_name\)"):
        openml_performance([31], server=StandIn(RUNS.drop(columns="flow_name")))


def test_what_cannot_be_asked_for_is_refused(subtests, server):
    cases = [
        ({"tasks": []}, "no task to ask for"),
        ({"tasks": None}, "'None' is not the number of an OpenML task"),
        ({"tasks": ["credit-g"]}, "'credit-g' is not the number of an OpenML task"),
        ({"tasks": [31], "flows": ["J48"]}, "'J48' is not the number of an OpenML flow"),
        ({"tasks": [31], "measure": "../user"}, "measure is '../user'"),
        ({"tasks": [31], "repeated": "worst"}, "'mean', 'best' or 'latest'"),
        ({"tasks": [31], "max_runs": 0}, "max_runs is 0"),
    ]
    for arguments, message in cases:
        with subtests.test(arguments=arguments, message=message):
            with pytest.raises(InputError, match=message):
                openml_performance(**arguments, server=server)
            assert not server.asked


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(MissingExtraError, match=r"ogive\[openml\]"):
        openml_performance([31])
