import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

import ogive as og

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"pandas", "scipy", "matplotlib", "sklearn", "pyarrow", "torch", "numpy"}


def python(code, cwd=None):
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_nothing_heavy():
    assert python(f"import sys, ogive; print({HEAVY!r} & set(sys.modules))").strip() == "set()"


def test_every_public_name_resolves(subtests):
    for name in og.__all__:
        with subtests.test(name=name):
            assert getattr(og, name) is not None
            assert name in dir(og)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = og.nonsense


def test_version_is_that_of_the_metadata():
    assert version("ogive") == og.__version__


def test_type_checkers_are_told_that_types_are_here():
    assert (files("ogive") / "py.typed").is_file()


def test_the_citation_is_of_this_version_and_names_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert str(citation["version"]) == og.__version__
    assert citation["license"] == "BSD-3-Clause"
    assert citation["authors"] == [{"name": "The Ogive developers"}]
    assert len(citation["references"]) == 5
    for paper in citation["references"]:
        assert paper["title"]
        assert all(author.keys() == {"given-names", "family-names"} for author in paper["authors"])


def test_every_dependency_has_a_lowest_version():
    said = subprocess.run(
        [sys.executable, ROOT / "scripts/lowest.py"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [one.split("==") for one in said[: len(needs)]] == [one.split(">=") for one in needs]


def test_links_and_pictures_of_the_readme_lead_somewhere():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)", page) + re.findall(r'src(?:set)?="([^"]+)"', page)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_times_in_the_readme_are_those_of_the_benchmarks():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = (ROOT / "docs/benchmarks").glob("*.md")
    measured = "".join(one.read_text(encoding="utf-8") for one in pages)
    times = re.findall(r"([\d.]+) s\b", page)
    assert times
    for shown in times:
        assert re.search(rf"\| {re.escape(shown)}\d* \|", measured), shown


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
def test_the_example_of_the_confusion_matrix_runs(tmp_path):
    said = python((ROOT / "examples/confusion_matrix.py").read_text(), tmp_path)
    assert "discrimination below zero" in said
    assert (tmp_path / "cells.png").exists()
