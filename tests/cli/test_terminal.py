"""What people see: every command in a terminal of 80 and of 120 columns, and what a pipe gets."""

import fcntl
import io
import json
import os
import re
import shlex
import struct
import sys
import termios
import threading

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.cli.application import CSV, app, loaded
from ogive.cli.registry import EXAMPLES, GROUPS, HOMES, SYNONYMS, WITHOUT_TABLE, contents

WIDTHS = (80, 120)
NAMES = [name for lines in contents().values() for name in lines]
COMMANDS = {
    f"{name} {part}".strip(): command
    for name in [*NAMES, *(name for name in HOMES if " " in name and name.split()[0] not in GROUPS)]
    for made in [loaded(name)]
    for part, command in getattr(made, "commands", {"": made}).items()
}
# How each command that needs only small tables is run; tests of their own run the others.
RUN = {
    "calibrate": "scores.csv",
    "correct": "scores.csv --human human.csv",
    "differential": "scores.csv --groups groups.csv",
    "explain": "facts.parquet --facts size",
    "facets": "ratings.csv",
    "groups": "facts.parquet --groups family",
    "health": "scores.csv",
    "leaderboard": "scores.csv",
    "link": "bank.json scores.csv",
    "plan": "scores.csv --difference 0.1",
    "portfolio": "runs.csv --better lower",
    "preferences": "battles.csv",
    "read": "logs --out read.parquet",
    "score": "bank.json scores.csv",
    "shorten": "scores.csv --size 3 --cv 2",
    "simulate": "--respondents 40 --items 12",
    "tasks": "facts.parquet --by task",
    "tournament": "scores.csv --tau 0.05",
}
# More that are run in a pipe only; what trains models does so on a small data set.
PIPED = {
    **{name: words for name, words in RUN.items() if name != "read"},
    "adapt": "scores.csv --budget 3 --cv 2",
    "capability": "sklearn:wine --n-resamples 2 --budget 4",
    "confusion": "sklearn:wine --models artificial --pool real --model 1pl --jobs 1",
    "decode": "sklearn:wine --pool real --cv 0 --model 1pl --jobs 1",
    "diagnose": "scores.csv",
    "difficulty evaluate": "features.csv --difficulty difficulty -r elastic-net --cv 2",
    "dimensions": "facts.parquet --dimensions task",
    "explain-items": "facts.parquet --facts length",
}
# Those that tests of their own pipe: they need more than a table, or long.
ELSEWHERE = {"demo", "difficulty alarm", "difficulty predict", "distractors", "evaluate"} | {
    *("gate compare", "gate decide", "portfolio evaluate", "portfolio select")
}
QUICK = {"calibrate", "leaderboard", "read", "score", "simulate"}
VERDICT = {"score", "simulate"}  # whose answer is the table itself


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder with a small table of each kind."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    drawn = og.simulate("2pl", 30, 12, random_state=1).responses
    drawn.save("scores.csv")
    drawn.save("human.csv")
    og.calibrate(drawn).save("bank.json")
    facts = {"size": np.arange(30.0), "family": ["f0", "f1"] * 15}
    told = drawn.described(
        items={"task": ["sums", "maps"] * 6, "length": range(12)}, respondents=facts
    )
    told.save("facts.parquet")
    for model in ("ann", "bob"):
        (tmp_path / "logs" / model).mkdir(parents=True)
        row = {"acc": 1.0, "doc": {}, "arguments": {}, "target": "4", "filter": "none"}
        log = tmp_path / "logs" / model / "samples_sums_2026-01-31T12-00-00.jsonl"
        log.write_text("\n".join(json.dumps({"doc_id": k, **row}) for k in range(4)))
    people = list(drawn.respondents)
    groups = {"respondent": people, "group": [f"g{k % 2}" for k in range(30)]}
    pd.DataFrame(groups).to_csv("groups.csv", index=False)
    models = [f"m{k}" for k in range(20)]
    rows = [
        (m, f"i{i}", f"j{j}", rng.integers(1, 5)) for m in models for i in range(6) for j in (0, 1)
    ]
    pd.DataFrame(rows, columns=["model", "item", "judge", "score"]).to_csv("ratings.csv")
    pairs = [
        (*rng.choice(models, 2, replace=False), rng.choice(["model_a", "model_b"]), k % 60)
        for k in range(300)
    ]
    columns = ["model_a", "model_b", "winner", "prompt"]
    pd.DataFrame(pairs, columns=columns).to_csv("battles.csv", index=False)
    features = pd.DataFrame(rng.normal(size=(40, 2)), columns=["length", "digits"])
    features.assign(difficulty=features["length"]).rename_axis("item").to_csv("features.csv")
    runs = pd.DataFrame(rng.exponential(9.0, (40, 18)), columns=[f"solver{k}" for k in range(18)])
    runs.rename_axis("problem").to_csv("runs.csv")
    return tmp_path


@pytest.fixture
def terminal(monkeypatch):
    """Run a command whose stdout is a terminal of some width; return what it wrote there."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(words, width):
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        said = bytearray()

        def listen():
            while True:
                try:
                    said.extend(os.read(master, 65536))
                except OSError:  # the other end is closed
                    return

        ear = threading.Thread(target=listen, daemon=True)
        ear.start()
        with monkeypatch.context() as patch, os.fdopen(slave, "w", encoding="utf-8") as stream:
            for name in ("stdout", "__stdout__"):
                patch.setattr(sys, name, stream)
            patch.setattr(sys, "stderr", io.StringIO())
            with pytest.raises(SystemExit) as ended:
                app(shlex.split(words), prog_name="ogive")
        ear.join()
        os.close(master)
        text = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")
        return ended.value.code, text

    return run


@pytest.mark.parametrize(
    "names",
    [QUICK, pytest.param(sorted(set(RUN) - QUICK), marks=pytest.mark.slow)],
    ids=["quick", "others"],
)
def test_commands_answer_first_and_then_show_a_table_that_fits(subtests, tables, terminal, names):
    for name in sorted(names):
        for width in WIDTHS:
            with subtests.test(command=name, width=width):
                code, said = terminal(f"{name} {RUN[name]}", width)
                lines = said.splitlines()
                assert code in (0, 4)
                assert max(map(len, lines)) <= width
                table = [k for k, line in enumerate(lines) if line.startswith("  ")]
                assert table, "there is a table"
                assert name in VERDICT or table[0] > 0
                most = 15 + 4 + 3  # headings, and what is not shown
                assert len(table) <= (2 * most if name == "shorten" else most)  # errors and items
                assert not re.search(r"\d\.\d{6}|\de-\d", said), "digits beyond the uncertainty"


def test_csv_is_whole_in_a_terminal_as_in_a_pipe(subtests, tables, terminal, run):
    for name in ("leaderboard", "score"):
        with subtests.test(command=name):
            words = f"{name} {RUN[name]}"
            assert terminal(f"{words} --csv", 80)[1] == run(*words.split()).stdout


def test_every_command_with_a_table_is_piped():
    assert set(COMMANDS) - WITHOUT_TABLE == {*PIPED, *ELSEWHERE}


@pytest.mark.parametrize(
    "names",
    [QUICK & {*PIPED}, pytest.param({*PIPED} - QUICK, marks=pytest.mark.slow)],
    ids=["quick", "others"],
)
def test_a_pipe_gets_the_table_and_nothing_else(subtests, tables, run, names):
    for name in sorted(names):
        with subtests.test(command=name):
            words = [*name.split(), *shlex.split(PIPED[name])]
            done = run(*words)
            assert done.exit_code in (0, 4), done.output
            frame = pd.read_csv(io.StringIO(done.stdout))
            assert len(frame)
            assert len(frame.columns) > 1
            assert not frame.isna().all(axis=1).any(), "a sentence stands between the rows"
            assert not any(" " in column.strip() for column in frame.columns)
            assert name in VERDICT or done.stderr.count(".") > 1  # what is left is said there
            if name in QUICK:
                assert run(*words, "--csv").stdout == done.stdout
                assert isinstance(json.loads(run(*words, "--json").stdout), dict)


def test_what_is_not_shown_is_named_with_the_way_to_get_it(tables, terminal):
    said = " ".join(terminal("leaderboard scores.csv", 80)[1].split())
    assert "Not shown: 15 more rows; columns " in said
    assert "Add --csv for all." in said


def test_a_board_says_mean_scores_and_how_many_items_were_answered(tables, terminal):
    grades = np.random.default_rng(0).integers(0, 5, (6, 20)).astype(float)
    grades[2, 12:] = np.nan
    pd.DataFrame(grades).add_prefix("q").rename_axis("model").to_csv("grades.csv")
    head, *_ = re.split(r"\n  Not shown", terminal("leaderboard grades.csv", 120)[1])
    shown = head[head.index("  respondent") - 120 :]
    assert "mean score" in shown
    assert "accuracy" not in shown
    assert re.search(r"^  2 .* 12$", shown, re.M)
    assert "accuracy_se" in terminal("leaderboard grades.csv --csv", 120)[1]
    plain = terminal("leaderboard scores.csv", 120)[1].partition("Not shown")[0]
    assert "accuracy" in plain
    assert "items\n" not in plain  # all models answered the same ones


def test_json_stays_json_however_narrow_the_terminal(tables, terminal):
    _, said = terminal("leaderboard scores.csv --json", 40)
    assert "meaning" in json.loads(said)


def test_help_fits_has_no_type_names_and_breaks_no_choice(subtests, terminal):
    for name, command in COMMANDS.items():
        for width in WIDTHS:
            with subtests.test(command=name, width=width):
                code, said = terminal(f"{name} --help", width)
                assert code == 0
                assert max(map(len, said.splitlines())) <= width
                assert not re.search(r"<(bool|str|int|float|path)>", said)
                flat = " ".join(said.split())
                for option in command.params:
                    names = (option.metavar or "").split("|")
                    assert len(names) < 2 or f"One of {', '.join(names)}." in flat


def test_every_command_has_two_examples_that_parse(subtests):
    assert set(EXAMPLES) == {"", *COMMANDS}
    assert set(RUN) <= set(COMMANDS)
    for name, command in COMMANDS.items():
        assert len(set(EXAMPLES[name])) == 2
        for words in EXAMPLES[name]:
            with subtests.test(command=name, words=words):
                command.make_context(name, shlex.split(words))


def test_csv_is_offered_where_there_is_a_table(subtests, run):
    assert set(COMMANDS) >= WITHOUT_TABLE
    for name in COMMANDS:
        with subtests.test(command=name):
            said = run(*name.split(), "--help").stdout
            assert (f" {CSV} " in said) == (name not in WITHOUT_TABLE)


def test_a_mistyped_command_choice_or_column_is_guessed(subtests, tables, run):
    for words, guess in {
        "calibate scores.csv": "'calibrate'",
        "compare scores.csv": "'leaderboard'",  # what it means, not "score", which it resembles
        "elo battles.csv": "'preferences'",
        "gate ft": "'fit'",
        "calibrate scores.csv --model 2lp": "'2pl'",
        "facets ratings.csv --judge jugde": "'judge'",
        "preferences battles.csv --winner winer": "'winner'",
    }.items():
        with subtests.test(words=words):
            done = run(*words.split())
            assert done.exit_code in (2, 3)
            assert f"Did you mean {guess}?" in " ".join(done.stderr.replace("│", " ").split())
    assert "Did you mean" not in run("paint", "scores.csv").stderr


def test_what_people_may_call_a_command_leads_to_one_that_is_there():
    assert set(SYNONYMS.values()) <= set(NAMES)
    assert set(SYNONYMS).isdisjoint(NAMES)
