"""The table of contents: complete, true, and free of heavy imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from itemwise import cli
from itemwise.cli.contents import CONTENTS, loaded

NAMES = [name for lines in CONTENTS.values() for name in lines]
# Modules of the command line that are no command.
PARTS = {"console", "contents", "errors", "files", "options", "orders", "difficulty_alarm"}


@pytest.mark.parametrize(
    ("name", "line"), [x for lines in CONTENTS.values() for x in lines.items()]
)
def test_each_line_is_the_first_of_the_command_s_own_help(name, line):
    help_ = loaded(name).help or ""
    assert " ".join(help_.split("\n\n")[0].split()) == line


def test_every_module_of_the_command_line_is_listed():
    modules = {path.stem for path in Path(cli.__file__).parent.glob("[a-z]*.py")}
    assert modules - PARTS == set(NAMES)


def test_help_lists_every_command_under_its_heading(run):
    shown = run("--help").stdout
    for panel, lines in CONTENTS.items():
        assert panel in shown
        assert all(f" {name} " in shown for name in lines)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(run, name):
    done = run(name, "--help")
    assert done.exit_code == 0
    assert "Usage: " in done.stdout
    assert "--install-completion" not in done.stdout


def test_help_needs_neither_numpy_nor_any_study():
    program = (
        "import sys; from itemwise.cli import app; "
        "from typer.testing import CliRunner; CliRunner().invoke(app, ['--help']); "
        "print(*(m for m in sys.modules if m in ('numpy', 'pandas') or '.studies' in m))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_debug_shows_where_an_error_comes_from_wherever_it_stands(run):
    for words in (("--debug", "calibrate", "no.csv"), ("calibrate", "no.csv", "--debug")):
        done = run(*words)
        assert done.exit_code == 3
        assert "Traceback" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("Error: There is no file 'no.csv'")
    assert "Traceback" not in run("calibrate", "no.csv").stderr
