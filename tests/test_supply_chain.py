"""What is installed and delivered: locked versions, the bill of materials, builds that repeat."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"
pytestmark = pytest.mark.skipif(not LOCK.exists(), reason="only in the repository")


@pytest.fixture(scope="module")
def locked():
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_every_package_that_development_needs_is_locked_within_its_range(locked):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["dev"], *extras["docs"], *extras["serve"]]
    for need in map(Requirement, lines):
        assert locked[canonicalize_name(need.name)] in need.specifier


def bill(**more):
    words = [sys.executable, str(ROOT / "scripts" / "sbom.py"), "--extras", "serve"]
    environment = {**os.environ, **more}
    return subprocess.run(words, env=environment, capture_output=True, check=True).stdout


def test_the_bill_of_materials_names_what_is_needed_and_who_needs_it():
    found = json.loads(bill(SOURCE_DATE_EPOCH="0"))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "ogive"
    assert found["metadata"]["timestamp"].startswith("1970-01-01")
    names = [one["name"] for one in found["components"]]
    assert len(set(names)) == len(names)
    assert {"numpy", "scikit-learn", "starlette"} <= set(names)
    assert "pytest" not in names
    refs = {one["bom-ref"] for one in (found["metadata"]["component"], *found["components"])}
    assert {one["ref"] for one in found["dependencies"]} == refs
    assert {ref for one in found["dependencies"] for ref in one["dependsOn"]} <= refs


@pytest.mark.slow
def test_the_bill_of_materials_is_the_same_each_time():
    assert bill(PYTHONHASHSEED="1") == bill(PYTHONHASHSEED="2")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="builds what is committed")
@pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling")
def test_two_builds_give_the_same_bytes():
    words = ["sh", "scripts/reproducible.sh", sys.executable]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "the same bytes" in done.stdout, done.stderr
