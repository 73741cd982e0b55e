"""How commands print, what they say, and in which words."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from ogive import Responses
from ogive import _progress as progress
from ogive._studies import STUDIES
from ogive.cli.application import report_errors
from ogive.cli.output import (
    COSTS,
    Console,
    expected_seconds,
    in_command_prose,
    in_command_words,
    say_if_long,
)
from ogive.errors import InputError


def test_progress_is_plain_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with Console().progress("Working") as report:
        report(1, 3, "one")
    assert capsys.readouterr().err == "Working ...\nWorking: 1 of 3, one\n"


def test_lines_come_seldom(capsys):
    with Console().progress("Working") as report:
        for step in range(1000):
            report(step, None, "")
    assert capsys.readouterr().err == "Working ...\n"


def test_stages_are_named_however_deep_the_work_is(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    progress.at_stage("nobody watches")
    with Console().progress("Working"):
        progress.at_stage("item fit")
    progress.at_stage("nobody watches any more")
    assert capsys.readouterr().err == "Working ...\nWorking: item fit\n"


class Clock:
    """Lets one moment pass, then ends."""

    def __init__(self):
        self.moments = 0

    def wait(self, seconds):
        self.moments += 1
        return self.moments > 1


def test_work_without_a_word_repeats_its_last_one(capsys):
    printed = progress._Lines("Working")
    printed.announce()
    printed.keep_talking(Clock())
    assert capsys.readouterr().err == "Working ...\n"
    printed.said = "item fit"
    printed.last -= progress.SECONDS_OF_SILENCE
    printed.begin -= 30
    printed.keep_talking(Clock())
    assert capsys.readouterr().err == "Working: item fit, 30 s so far\n"
    assert progress.SECONDS_OF_SILENCE < 5


def test_a_command_without_a_bar_says_what_it_does(capsys):
    beat = progress._Lines("ogive calibrate", outer=True)
    beat.last -= progress.SECONDS_OF_SILENCE
    beat.begin -= 30
    beat(0, None, "reading scores.csv")
    beat.keep_talking(Clock())
    assert capsys.readouterr().err == "ogive calibrate: reading scores.csv, 30 s so far\n"


def test_the_heartbeat_is_silent_while_a_bar_is_shown(capsys):
    beat = progress._Lines("ogive calibrate", outer=True)
    with Console().progress("Working"):
        capsys.readouterr()
        beat.last -= progress.SECONDS_OF_SILENCE
        beat.keep_talking(Clock())
        assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_that_leaves_nothing_on_stdout(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console().progress("Working on [bold].csv") as report:
        report(1, 3, "one")
    said = capsys.readouterr()
    assert "[bold]" in said.err
    assert said.out == ""


def test_quiet_shows_no_progress(capsys):
    with Console(quiet=True).progress("Working") as report:
        report(1, 3, "one")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("console", [Console(quiet=True), Console(json=True)])
def test_people_are_not_spoken_to_when_they_do_not_listen(capsys, console):
    console.say("hello")
    console.show(pd.DataFrame({"a": [1]}))
    assert capsys.readouterr().out == ""


def test_names_cannot_write_escape_codes(capsys):
    Console().show(pd.DataFrame({"a": [1.0]}, index=["\x1b[31mred\nnext"]))
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert len(said.splitlines()) == 2


STEERING = "\x1b[2J\x9b31m\u202ered"


def test_a_pipe_gets_names_as_they_are(capsys):
    frame = pd.DataFrame({"a": [1]}, index=pd.Index([STEERING], name="item"))
    Console().table(frame)
    Console().say(STEERING)
    assert capsys.readouterr().out == f"item,a\n{STEERING},1\n{STEERING}\n"


def test_no_name_can_steer_a_terminal(subtests, capsys):
    for write in ["say", "remark", "table", "show", "document"]:
        with subtests.test(write=write), pytest.MonkeyPatch.context() as monkeypatch:
            capsys.readouterr()  # what the case before left
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
            monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
            frame = pd.DataFrame({"a": [STEERING]}, index=["x"])
            given = {"table": frame, "show": frame, "document": {"name": STEERING}}.get(
                write, STEERING
            )
            getattr(Console(json=write == "document"), write)(given)
            said = "".join(capsys.readouterr())
            assert all(sign.isprintable() or sign == "\n" for sign in said)
            assert "\\u001b[2J" in said
            assert write != "document" or json.loads(said) == {"name": STEERING}


def test_a_message_of_an_error_cannot_steer_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(Exception), report_errors():  # noqa: B017, PT011  typer.Exit has no base
        raise InputError(STEERING)
    assert "\x1b" not in capsys.readouterr().err


def test_what_json_lacks_becomes_null(capsys):
    Console(json=True).document({"items": pd.DataFrame({"a": [float("nan"), float("inf")]})})
    assert "NaN" not in capsys.readouterr().out


OPTIONS = {
    "target": "--target",
    "keep_negative": "--keep-negative",
    "layout": "--layout",
    "engine": "--engine",
    "n_jobs": "--jobs",
}


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("Name one: target='a b'.", "Name one: --target 'a b'."),
        ("Use engine='em'.", "Use --engine em."),
        ("Rename them, or pass layout='wide'.", "Rename them, or use --layout wide."),
        ("Use keep_negative=True.", "Use --keep-negative."),
        ("Use keep_negative=False.", "Use --no-keep-negative."),
        ("n_jobs is 0, but it should not be.", "--jobs is 0, but it should not be."),
        ("`n_jobs` must be 1 or more, got 0.", "--jobs must be 1 or more, got 0."),
        ("Name the others: classes=[...].", "Name the others: classes=[...]."),
        ("The target is missing in 2 rows.", "The target is missing in 2 rows."),
        (
            "The index of the frame should name items.",
            "Its column 'item' should hold names that the responses have.",
        ),
        (
            "Correct it. Use NaN where an item was never asked.",
            "Correct it. Leave the cell empty where an item was never asked.",
        ),
    ],
)
def test_arguments_become_options_where_the_command_has_them(python, command):
    assert in_command_words(InputError(python), OPTIONS) == command


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("If they differ, name these with rename.", "If they differ, name these with --name."),
        ("If rows are items, pass layout='items'.", "If rows are items, use --layout items."),
        ("target is ahead: engine = 2.", "target is ahead: engine = 2."),  # names of respondents
        ("Choose others with metric and filter.", "Choose others with --metric and --filter."),
    ],
)
def test_sentences_of_results_suggest_options_and_keep_their_subjects(python, command):
    assert in_command_prose(python, lambda: OPTIONS) == command


def test_checks_are_called_as_commands():
    for said, told in {
        "see local_dependence().": "see ogive diagnose.",
        "see local_dependence() and respondent_fit().": "see ogive diagnose.",
        "variants=['...'] names them": "--variants ... names them",
    }.items():
        assert in_command_prose(said, lambda: {"variants": "--variants"}) == told


def test_every_time_belongs_to_a_command():
    assert set(COSTS) <= {"report", "diagnose", *STUDIES}


@pytest.mark.parametrize(
    ("name", "shape", "seconds"),
    [
        ("report", (200, 20_000), 34),
        ("report", (2211, 12_032), 61),
        ("item_health", (2211, 12_032), 84),
        ("leaderboard", (2211, 12_032), 39),
    ],
)
def test_expected_times_are_about_those_of_the_benchmark(name, shape, seconds):
    assert expected_seconds(name, *shape) == pytest.approx(seconds, rel=0.15)


def test_large_tables_are_announced_and_small_ones_are_not(capsys):
    large = Responses(np.zeros((4, 30_000), dtype=np.int8))
    say_if_long(Console(), "report", large)
    assert capsys.readouterr().err == "4 × 30,000 responses take about 40 s of one core.\n"
    say_if_long(Console(), "report", large.select(items=list(large.items[:100])))
    say_if_long(Console(quiet=True), "report", large)
    say_if_long(Console(), "task_scales", large)
    assert capsys.readouterr().err == ""
