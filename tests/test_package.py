import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import itemwise as iw

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"pandas", "scipy", "matplotlib", "sklearn", "pyarrow", "torch", "numpy"}


def python(code, cwd=None):
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_nothing_heavy():
    assert python(f"import sys, itemwise; print({HEAVY!r} & set(sys.modules))").strip() == "set()"


@pytest.mark.parametrize("name", iw.__all__)
def test_every_public_name_resolves(name):
    assert getattr(iw, name) is not None
    assert name in dir(iw)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = iw.nonsense


def test_version_is_that_of_the_metadata():
    assert version("itemwise") == iw.__version__


def test_the_readme_prints_what_it_says(tmp_path):
    code, printed = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    ).groups()
    found, wanted = python(code, tmp_path).split(), printed.split()
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        try:
            assert float(one) == pytest.approx(float(other), abs=0.011)
        except ValueError:
            assert one == other


def test_the_example_runs():
    assert "Hardest digits" in python((ROOT / "examples/compare_classifiers.py").read_text())


@pytest.mark.slow
def test_the_page_on_difficulty_runs_from_top_to_bottom(tmp_path):
    page = (ROOT / "docs/difficulty.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    said = python("\n".join(["import matplotlib; matplotlib.use('Agg')", *blocks]), tmp_path)
    assert said.startswith("Choosing the model by difficulty")
    assert (tmp_path / "difficulties.png").exists()


@pytest.mark.slow
def test_the_example_of_the_confusion_matrix_prints_what_its_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = python((ROOT / "examples/confusion_matrix.py").read_text())
    page = (ROOT / "docs/confusion.md").read_text()
    assert said.splitlines()[2] in page
    assert (tmp_path / "cells.png").exists()


@pytest.mark.slow
def test_the_first_snippet_on_portfolios_runs(tmp_path):
    page = (ROOT / "docs/portfolio.md").read_text()
    (snippet,) = re.findall(r"```python\n(import.*?)```", page, re.DOTALL)
    said = python("import matplotlib; matplotlib.use('Agg')\n" + snippet, tmp_path)
    assert "has the best curve" in said
    assert len(list(tmp_path.glob("*.png"))) == 7


@pytest.mark.slow
def test_the_example_of_a_portfolio_prints_what_its_page_shows(tmp_path):
    said = python((ROOT / "examples/portfolio.py").read_text(), tmp_path).splitlines()
    page = (ROOT / "docs/portfolio.md").read_text()
    assert "\n".join(said[:8]) in page
    assert "\n".join(said[-14:]) in page
    assert (tmp_path / "gaps.png").exists()


@pytest.mark.slow
def test_the_first_snippet_on_capability_runs(tmp_path):
    page = (ROOT / "docs/capability.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    said = python("import matplotlib; matplotlib.use('Agg')\n" + snippet, tmp_path)
    assert "up to these difficulties it is right more often than wrong" in said
    assert {path.name for path in tmp_path.iterdir()} == {"gate.json", "gate.skops", "trace.png"}


@pytest.mark.slow
def test_the_example_of_capability_prints_what_its_page_shows(tmp_path):
    said = python((ROOT / "examples/capability.py").read_text(), tmp_path)
    assert said.strip() in (ROOT / "docs/capability.md").read_text()
    assert (tmp_path / "decision.png").exists()
