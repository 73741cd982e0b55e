"""Progress: a bar where a person watches, nothing elsewhere."""

import sys
import types

import pytest

from itemwise import progress
from itemwise.pools.clock import telling


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
    with progress.watched("Work", 2) as report:
        report(1, "half")
    assert report is progress.silent
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_one_bar_and_takes_it_away(notebook, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.watched("Work", 2) as report:
        report(1, "<b>half</b>")
    bar, end = notebook.shown
    assert '<progress value="1" max="2">' in bar
    assert "&lt;b&gt;half&lt;/b&gt;" in bar
    assert end == ""


def test_short_work_shows_no_bar(notebook):
    with progress.watched("Work", 2) as report:
        report(1, "half")
    assert notebook.shown == []


def test_members_are_told_of_on_one_line(notebook, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with telling(True) as told:
        told(3, 7, "svm", 12.0)
    assert "3 of 7, svm; about 12 s left" in notebook.shown[0]


def test_false_tells_nobody_and_a_callable_is_called():
    with telling(False) as told:
        assert told is None
    with telling(print) as told:
        assert told is print
