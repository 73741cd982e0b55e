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
def test_the_example_of_the_confusion_matrix_runs(tmp_path):
    said = python((ROOT / "examples/confusion_matrix.py").read_text(), tmp_path)
    assert "items discriminate negatively" in said
    assert (tmp_path / "cells.png").exists()
