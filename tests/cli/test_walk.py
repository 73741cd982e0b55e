"""The walk of one CSV through the package, as docs/architecture.md tells it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ogive

SOURCE = Path(ogive.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST_ENTERED = 122
PROGRAM = """
import sys
from typer.testing import CliRunner
from ogive.cli.application import app

entered, optimised = set(), 0x1  # a function body, not a module or a class


def profile(frame, event, arg):
    if event == "call" and frame.f_code.co_flags & optimised:
        entered.add(frame.f_code.co_filename)


sys.setprofile(profile)
done = CliRunner().invoke(app, ["report", "scores.csv"])
sys.setprofile(None)
print(done.exit_code, *sorted(entered), sep="\\n")
"""


@pytest.fixture
def entered(scores, tmp_path):
    """Modules of the package in which at least one function is called."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    code, *paths = done.stdout.splitlines()
    assert code == "0"
    inside = [Path(path) for path in paths if path.startswith(str(SOURCE))]
    return {path.relative_to(SOURCE).as_posix() for path in inside}


def test_the_walk_is_as_the_page_tells_it(entered):
    text = PAGE.read_text(encoding="utf-8")
    section = re.search(r"^## One CSV, from the command to the page\n(.*?)^## ", text, re.M | re.S)
    told = set(re.findall(r"`([\w/]+\.py)`", section[1]))
    assert told == entered
    assert len(entered) <= MOST_ENTERED
