"""How far a call walks through the house, and whether docs/architecture.md tells it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ogive

SOURCE = Path(ogive.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PROGRAM = """
import sys, warnings
import numpy as np
import ogive as og

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
right = (rng.random((12, 40)) < np.linspace(0.3, 0.9, 12)[:, None]).astype(float)
seconds = np.exp(rng.normal(size=(40, 5)) + np.arange(5) / 5)
calls = {
    "calibrate": lambda: og.calibrate(right),
    "leaderboard": lambda: og.leaderboard(right).to_frame(),
    "portfolio": lambda: og.portfolio(seconds, better="lower").to_frame(),
    "report": lambda: og.write_report("page.html", [og.calibrate(right), og.leaderboard(right)]),
}
call = calls[sys.argv[1]]
call()
loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "ogive")
entered, optimised = set(), 0x1  # a function body, not a module or a class


def profile(frame, event, arg):
    if event == "call" and frame.f_code.co_flags & optimised:
        entered.add(frame.f_code.co_filename)


sys.setprofile(profile)
call()
sys.setprofile(None)
print(len(loaded))
print(*sorted(entered), sep="\\n")
"""
# modules entered by the second call, and modules of the package loaded by the first
MOST = {
    "calibrate": (40, 90),
    "leaderboard": (60, 120),
    "portfolio": (50, 100),
    "report": (90, 160),
}


@pytest.mark.parametrize("call", MOST)
def test_a_call_stays_in_few_modules(call, tmp_path):
    command = [sys.executable, "-c", PROGRAM, call]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded, *paths = done.stdout.splitlines()
    entered = [path for path in paths if path.startswith(str(SOURCE))]
    most_entered, most_loaded = MOST[call]
    assert len(entered) <= most_entered, entered
    assert int(loaded) <= most_loaded


def test_the_page_names_files_that_exist():
    told = re.findall(r"`([\w/]+\.py)`", PAGE.read_text(encoding="utf-8"))
    assert told
    assert [name for name in told if not (SOURCE / name).is_file()] == []
