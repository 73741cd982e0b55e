"""Progress: a bar where a person watches, nothing elsewhere."""

import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import ogive as og
from ogive import _progress as progress


class Notebook:
    """Stands in for IPython: keeps what a cell would show."""

    def __init__(self):
        self.shown = []

    def display(self, page, display_id):
        self.shown.append(page)
        return types.SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    page = Notebook()
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=True)
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, page.display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_BARS", 0.0)
    return page


def test_nobody_watches_a_test(capsys):
    with progress.watched("Work") as report:
        report(1, 2, "half")
    assert report is progress.silent
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_one_bar_and_takes_it_away(notebook, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.watched("Work") as report:
        report(1, 2, "<b>half</b>")
    bar, end = notebook.shown
    assert '<progress value="1" max="2">' in bar
    assert "&lt;b&gt;half&lt;/b&gt;" in bar
    assert end == ""


def test_short_work_shows_no_bar(notebook):
    with progress.watched("Work") as report:
        report(1, 2, "half")
    assert notebook.shown == []


def test_the_first_steps_of_many_give_no_time_left(monkeypatch):
    """The first of a thousand waited for processes to start: it foresaw half an hour."""
    now = 2.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    pace = progress.Pace(begin=0.0, last=0.0)
    assert pace.describe(1, 973, "svm") == "1 of 973, svm"
    now = 3.0
    assert pace.describe(10, 973, "svm") == "10 of 973, svm, about 5 min left"


def test_the_time_left_follows_from_the_steps_that_took_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    pace = progress.Pace(begin=0.0, last=0.0)
    assert pace.describe(2, 7, "svm") == "2 of 7, svm"  # stored by an earlier run
    now = 3.0
    assert pace.describe(3, 7, "tree") == "3 of 7, tree, about 12 s left"
    now = 15.0
    assert pace.describe(7, 7, "") == "7 of 7"
    assert pace.describe(7, None, "onwards") == "onwards"


def test_false_tells_nobody_and_a_callable_is_called():
    with progress.telling(False, "Work") as told:
        assert told is progress.silent
    heard = []
    with progress.telling(lambda *said: heard.append(said), "Work") as told:
        told(1, 2, "half")
    assert heard == [(1, 2, "half")]


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


def test_only_the_outermost_work_shows_a_bar(notebook, at_once):
    with progress.watched("Outer") as outer, progress.watched("Inner") as inner:
        inner(1, None, "one")
        outer(1, 2, "half")
    assert len(notebook.shown) == 2
    assert "Outer: 1 of 2, half" in notebook.shown[0]
    with progress.watched("Afterwards") as report:
        report(1, None, "done")
    assert "Afterwards" in notebook.shown[2]


def test_a_helper_shows_no_bar(notebook, at_once):
    def work():
        with progress.watched("Work") as report:
            return report

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is progress.silent


def test_a_terminal_shows_a_bar_and_takes_it_away(capsys, monkeypatch, at_once):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.watched("Work on [bold].csv") as report:
        report(1, 2, "half")
    assert "Work on [bold].csv" in capsys.readouterr().err


LONG_CALLS = {
    "calibrate": (lambda table, **kw: og.calibrate(table, **kw), "Calibrating: iteration"),
    "shorten": (lambda table, **kw: og.shorten(table, 4, cv=2, **kw), "Shortening: 0 of 3"),
    "replay": (
        lambda table, **kw: og.replay_adaptively(table, sizes=[3], cv=2, model="2pl", **kw),
        "Replaying: 1 of 5, bank 2 of 2",
    ),
    "tasks": (
        lambda table, **kw: og.task_scales(table, by=["one", "two"] * 6, **kw),
        "Calibrating tasks: 1 of 2, two",
    ),
    "evaluate": (
        lambda table, **kw: og.evaluate_adaptively(
            og.calibrate(table, progress=False), lambda _: 1, budget=2, **kw
        ),
        "Asking: 1 of 2, item_",
    ),
    "difficulty": (
        lambda table, **kw: og.evaluate_difficulty(
            np.arange(40.0)[:, None], np.arange(40.0), regressors=["stepwise"], n_resamples=1, **kw
        ),
        "Judging regressors: 5 of 5",
    ),
    "capability": (
        lambda table, **kw: og.measure_capability(
            GaussianNB(), *load_iris(return_X_y=True), n_resamples=2, **kw
        ),
        "Testing: 2 of 3, class 2",
    ),
}


@pytest.fixture(scope="module")
def table():
    return og.simulate("2pl", 80, 12, random_state=3).responses


@pytest.fixture(params=LONG_CALLS)
def long_call(request):
    return LONG_CALLS[request.param]


def test_a_long_call_shows_how_far_it_is(long_call, table, notebook, at_once):
    call, said = long_call
    call(table)
    assert any(said in shown for shown in notebook.shown)
    assert notebook.shown[-1] == ""


def test_a_long_call_is_silent_when_asked(long_call, table, notebook, at_once):
    call, _ = long_call
    call(table, progress=False)
    assert notebook.shown == []


def test_the_time_left_counts_the_steps_that_are_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    pace = progress.Pace()
    now[0] += 5.0  # 40 of 60 are stored, and reading them took 5 seconds
    pace.resumed(40)
    assert pace.describe(40, 60, "") == "40 of 60"
    now[0] += 30.0
    assert pace.describe(41, 60, "") == "41 of 60, about 10 min left"  # 19 times 30 s
    pace.resumed(10)  # a second run, of which 10 are stored
    now[0] += 30.0
    assert pace.describe(52, 60, "") == "52 of 60, about 4 min left"


def test_a_resumed_run_tells_the_bar_what_was_stored(tmp_path):
    told = []

    class Bar:
        def __call__(self, done, total, message):
            told.append((done, total))

        def resumed(self, steps):
            told.append(steps)

    split = og.split_dataset(og.load_dataset("sklearn:iris"))
    pool = {"bayes": GaussianNB(), "smooth": GaussianNB(var_smoothing=0.1)}
    og.run_pool(split, {"bayes": GaussianNB()}, cv=0, folder=tmp_path, progress=False)
    og.run_pool(split, pool, cv=0, folder=tmp_path, progress=Bar())
    assert told == [1, (1, 2), (2, 2)]


def test_the_stages_of_work_without_steps_reach_a_callable():
    heard = []
    with progress.telling(lambda *said: heard.append(said), "Working") as report:
        progress.at_stage("scales of classes")
        report(1, 4, "class a")
        progress.at_stage("searching")
    assert heard == [(0, None, "scales of classes"), (1, 4, "class a"), (1, 4, "searching")]
    progress.at_stage("nobody hears")
    assert len(heard) == 3


def test_the_stages_of_work_without_steps_reach_a_notebook(notebook, at_once):
    with progress.telling(True, "Working"):
        progress.at_stage("scales of classes")
    assert any("scales of classes" in str(page) for page in notebook.shown)
