import pytest
from typer.testing import CliRunner

import ogive as og
from ogive.cli.application import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, on 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # however wide the terminal is
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", False)  # nor in colour, as GitHub asks

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture(autouse=True)
def pages_without_figures(monkeypatch):
    """Figures of pages are tested where pages are; here they would be drawn twice."""
    monkeypatch.setattr("ogive.reporting.sections._drawn", lambda *_: ([], []))


@pytest.fixture
def rendered():
    """Figures of this test are rendered to the last pixel."""


@pytest.fixture(autouse=True)
def figures_without_ink(request, monkeypatch):
    """Figures are drawn, but not rendered, which takes longest and is tested with displays."""

    def drawn(display, *_):
        display.plot()
        return b"drawn"

    if "rendered" not in request.fixturenames:
        monkeypatch.setattr("ogive.results.plots.figure.Display._rendered", drawn)


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    og.simulate("2pl", 120, 8, missing=0.1, random_state=1).responses.save(path)
    return path


@pytest.fixture
def bank(tmp_path, scores):
    return og.calibrate(og.read_responses(scores)).save(tmp_path / "bank.json")


@pytest.fixture
def table(tmp_path):
    """Write responses of the kind that a model explains."""

    def write(model, missing=0.0):
        path = tmp_path / f"{model}.csv"
        og.simulate(model, 120, 6, missing=missing, random_state=1).responses.save(path)
        return path

    return write
