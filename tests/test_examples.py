"""The programs in examples/ run from start to end without a warning."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
# What these need besides the package, which may warn.
HARNESSES = {"evaluate_in_inspect": "inspect_ai", "evaluate_in_lm_eval": "lm_eval"}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    harness = HARNESSES.get(path.stem)
    if harness and importlib.util.find_spec(harness) is None:
        pytest.skip(f"{harness} is not installed")
    command = [sys.executable, "-W", "ignore" if harness else "error", str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
