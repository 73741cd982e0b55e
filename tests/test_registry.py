"""A study is one module and one registry entry; names, command and section follow from it."""

import ast
import inspect
import subprocess
import sys
import textwrap
from importlib.util import resolve_name
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ogive as og
from ogive import _studies as studies
from ogive._studies import STUDIES, Study
from ogive.cli.application import app
from ogive.results.base import Result

TOY = '''
"""How many items each respondent solves."""

from dataclasses import dataclass

import pandas as pd

from ogive.results.plots import DISPLAYS
from ogive.data.responses import as_responses
from ogive.results.base import Result


@dataclass(frozen=True, eq=False, repr=False)
class Solved(Result):
    """Items solved by each respondent."""

    frame: pd.DataFrame
    at_least: int

    def to_frame(self):
        return self.frame

    @property
    def meaning(self):
        return f"{len(self.frame)} respondents solve {self.at_least} items or more."

    def plot(self, **kw):
        return DISPLAYS["ranking"](self.frame, estimate="solved").plot(**kw)


def count_solved(responses, at_least: int = 2):
    """Count the items that each respondent solves.

    Parameters
    ----------
    responses
        Respondents × items.
    at_least
        Respondents with fewer are left out.
    """
    table = as_responses(responses)
    solved = pd.Series(table.values.sum(axis=1), pd.Index(table.respondents, name="respondent"))
    frame = solved[solved >= at_least].to_frame("solved")
    return Solved(frame.assign(se=1.0), at_least)
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_study.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(
        STUDIES,
        "count_solved",
        Study("toy_study", ("Solved",), "count", "Toys", "Count the items that each solves."),
    )
    yield
    sys.modules.pop("toy_study", None)


@pytest.fixture
def table(tmp_path):
    values = [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    og.Responses(values, ["a", "b", "c"], ["x", "y", "z"]).save(tmp_path / "table.csv")
    return tmp_path / "table.csv"


@pytest.mark.usefixtures("toy")
def test_a_new_study_is_among_the_public_names():
    assert og.count_solved is studies.count_solved
    assert issubclass(studies.Solved, Result)
    assert "count_solved" in dir(og)
    assert "Solved" in dir(studies)


@pytest.mark.usefixtures("toy")
def test_a_new_study_is_a_command(table):
    listed = CliRunner().invoke(app, ["--help"]).stdout
    assert "Toys" in listed
    assert "Count the items that each solves." in listed
    help_ = CliRunner().invoke(app, ["count", "--help"]).stdout
    assert "--at-least" in help_
    assert "Respondents with fewer are left out." in " ".join(help_.replace("│", " ").split())
    done = CliRunner().invoke(app, ["count", str(table), "--at-least", "3"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == ["respondent,solved,se", "a,3.0,1.0"]
    assert "1 respondents solve 3 items or more." in done.stderr


@pytest.mark.usefixtures("toy")
def test_a_new_study_fills_a_folder_and_has_a_section_of_a_report(table, tmp_path):
    done = CliRunner().invoke(app, ["count", str(table), "--out", "there"])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "there").rglob("*.*")}
    assert names == {"solved.csv", "solved.png", "summary.json", "report.html"}
    page = (tmp_path / "there" / "report.html").read_text("utf-8")
    assert "2 respondents solve 2 items or more." in page
    found = og.count_solved(og.read_responses(table))
    page = og.write_report(tmp_path / "page.html", [found]).read_text("utf-8")
    assert 'id="solved-title"' in page


def test_modules_of_studies_say_what_is_public(subtests):
    for name in STUDIES:
        with subtests.test(name=name):
            study = STUDIES[name]
            module = inspect.getmodule(study.load(name))
            public = set(sys.modules[resolve_name(study.module, "ogive._studies")].__all__)
            assert {name, *study.names} <= public
            assert module is not None


def test_type_checkers_see_every_module_of_the_registry():
    tree = ast.parse(Path(studies.__file__).read_text("utf-8"))
    stars = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    }
    assert stars == {resolve_name(study.module, "ogive._studies") for study in STUDIES.values()}


def test_the_help_of_a_study_is_the_first_line_of_its_docstring():
    for name, study in STUDIES.items():
        if study.command:
            assert study.load(name).__doc__.splitlines()[0] == study.help


@pytest.mark.slow
def test_a_type_checker_of_a_user_knows_the_studies(tmp_path):
    code = """
    import ogive as og
    from ogive.evaluation.leaderboards import Leaderboard, leaderboard

    board: Leaderboard = og.leaderboard([[1, 0], [0, 1]])
    same: Leaderboard = leaderboard([[1, 0]], average="tasks")
    og.leaderboard([[1]], average=3)
    """
    (tmp_path / "user.py").write_text(textwrap.dedent(code))
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(tmp_path / "user.py")]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert said.count("error:") == 1, said
    assert 'Argument "average"' in said
