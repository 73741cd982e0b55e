"""The table of contents: complete, true, and free of heavy imports."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ogive.cli.application import loaded
from ogive.cli.registry import CONTENTS, GROUPS, HOMES, contents

NAMES = [name for lines in contents().values() for name in lines]
# What these options are called for short, and what they say, wherever there is one.
SHORT = {"--out": "-o", "--model": "-m", "--jobs": "-j", "--quiet": "-q"}
SAME_WORDS = ("--jobs", "--json", "--kind", "--layout", "--pool", "--quiet")


def _commands():
    """Every command by its name, those of groups by two words."""
    for name in NAMES:
        made = loaded(name)
        for part, command in getattr(made, "commands", {"": made}).items():
            yield f"{name} {part}".strip(), command


COMMANDS = dict(_commands())


def _options(command):
    """Options by their long names."""
    return {name: each for each in command.params for name in each.opts if name.startswith("--")}


def test_every_command_can_be_quiet_and_speak_json(subtests):
    for command in COMMANDS.values():
        with subtests.test(command=command):
            assert {"--quiet", "--json"} <= _options(command).keys()


def test_options_are_called_alike_everywhere(subtests):
    for command in COMMANDS.values():
        with subtests.test(command=command):
            options = _options(command)
            for name, short in SHORT.items():
                assert name not in options or short in options[name].opts
            assert not {"--n-jobs", "--output", "--seed", "--verbose"} & options.keys()


def test_an_option_says_the_same_everywhere(subtests):
    for name in SAME_WORDS:
        with subtests.test(name=name):
            every = [_options(command) for command in COMMANDS.values()]
            assert len({options[name].help for options in every if name in options}) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("calibrate", "scores.csv"),
        ("score", "bank.json", "scores.csv"),
        ("simulate", "--items", "3", "--respondents", "5"),
        ("tournament", "scores.csv", "--tau", "0.05"),
        ("leaderboard", "scores.csv"),
        ("health", "scores.csv"),
        ("shorten", "scores.csv", "--size", "3", "--cv", "2"),
        ("adapt", "scores.csv", "--budget", "3", "--cv", "2"),
        ("link", "bank.json", "scores.csv"),
        ("report", "bank.json"),
    ],
)
def test_json_is_all_that_is_written_and_what_it_means_is_a_list(run, scores, bank, words):
    done = run(*words, "--json", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert "out" in document
    assert all(isinstance(text, str) for text in document.get("meaning", []))
    assert isinstance(document.get("meaning", []), list)


def test_each_line_is_the_first_of_the_command_s_own_help(subtests):
    for name, line in [x for lines in contents().values() for x in lines.items()]:
        with subtests.test(name=name, line=line):
            help_ = loaded(name).help or ""
            assert " ".join(help_.split("\n\n")[0].split()) == line


def test_every_command_that_is_no_study_has_a_module():
    listed = {name for lines in CONTENTS.values() for name in lines}
    assert {name for name in HOMES if " " not in name} == listed - {*GROUPS}
    # A command of two words belongs to a listed one, whose help names it.
    assert {name.split()[0] for name in HOMES if " " in name} == {*GROUPS, "portfolio"}


def test_help_lists_every_command_under_its_heading(run):
    shown = run("--help").stdout
    for panel, lines in contents().items():
        assert panel in shown
        assert all(f" {name} " in shown for name in lines)


def test_every_command_has_help(subtests, run):
    for name in NAMES:
        with subtests.test(name=name):
            done = run(name, "--help")
            assert done.exit_code == 0
            assert "Usage: " in done.stdout
            assert "--install-completion" not in done.stdout


@pytest.mark.parametrize(
    ("words", "code"), [(["--help"], 0), (["paint"], 2), (["calibrate", "absent.csv"], 3)]
)
def test_python_m_ogive_is_the_command(run, words, code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ogive", *words], capture_output=True, text=True, cwd=tmp_path
    )
    mine = run(*words)
    assert done.returncode == mine.exit_code == code
    assert " ".join(mine.stdout.replace("root", "ogive").split()) in " ".join(done.stdout.split())


def test_help_needs_neither_numpy_nor_any_study():
    program = (
        "import sys; from ogive.cli import app; "
        "from typer.testing import CliRunner; CliRunner().invoke(app, ['--help']); "
        "print(*(m for m in sys.modules if m in ('numpy', 'pandas') or '.studies.' in m))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_help_of_a_command_loads_little():
    program = (
        "import sys; from ogive.cli import app; "
        "from typer.testing import CliRunner; CliRunner().invoke(app, ['report', '--help']); "
        "print(sum(m.partition('.')[0] == 'ogive' for m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= 60


def test_debug_shows_where_an_error_comes_from_wherever_it_stands(run):
    for words in (("--debug", "calibrate", "no.csv"), ("calibrate", "no.csv", "--debug")):
        done = run(*words)
        assert done.exit_code == 3
        assert "Traceback" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("Error: There is no file 'no.csv'")
    assert "Traceback" not in run("calibrate", "no.csv").stderr


def test_the_page_of_the_command_line_has_a_section_a_command_in_the_same_order():
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    titles = re.findall(r"^## `ogive ([\w-]+)", page.read_text(encoding="utf-8"), flags=re.M)
    assert titles == NAMES
