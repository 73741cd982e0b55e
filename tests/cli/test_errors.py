"""What a hurried person does: a message, an exit code, and never a traceback."""

import functools
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name

import pytest

from ogive.cli.application import report_errors

COMMAND = [sys.executable, "-c", "from ogive.cli import main; main()"]


def test_bad_input_is_explained(subtests, run, scores, bank, tmp_path):
    cases = [
        (("calibrate", "nope.csv"), "There is no file 'nope.csv'"),
        (("calibrate", "."), "is a directory"),
        (("calibrate", "scores.csv", "--out", "b.txt"), "must end in .json or .parquet"),
        (("calibrate", "scores.csv", "--out", "no/b.json"), "there is no directory 'no'"),
        (("calibrate", "scores.csv", "--abilities", "a.json"), "must end in .csv or .parquet"),
        (("calibrate", "scores.csv", "--abilities", "scores.csv"), "is also the input"),
        (("calibrate", "scores.csv", "--out", "dir.json"), "is a directory"),
        (("calibrate", "scores.csv", "--tolerance", "0"), "must be greater than 0, got 0.0"),
        (("calibrate", "bank.json"), "responses are read from"),
        (("score", "scores.csv", "scores.csv"), "is not a file that Ogive saved"),
        (("score", "nope.json", "scores.csv"), "There is no file"),
        (("simulate", "--missing", "2"), "missing must be"),
    ]
    (tmp_path / "dir.json").mkdir()
    for words, message in cases:
        with subtests.test(words=words, message=message):
            done = run(*words)
            assert done.exit_code == 3
            assert done.stderr.splitlines()[-1].startswith("Error: ")
            assert message in done.stderr
            assert "Traceback" not in done.stderr
            assert done.stdout == ""


def test_wrong_usage_has_its_exit_code(subtests, run, scores):
    cases = [
        ("nonsense",),
        ("calibrate",),
        ("calibrate", "scores.csv", "--model", "9pl"),
        ("calibrate", "scores.csv", "--engine", "steam"),
        ("calibrate", "scores.csv", "--jobs", "0"),
        ("decode", "sklearn:iris", "--jobs", "-2"),
        ("score", "bank.json", "scores.csv", "--method", "guess"),
        ("simulate", "--items", "many"),
    ]
    for words in cases:
        with subtests.test(words=words):
            assert run(*words).exit_code == 2


def test_two_outputs_may_not_be_one_file(run, scores):
    done = run("calibrate", scores, "--out", "a.parquet", "--abilities", "a.parquet")
    assert done.exit_code == 3
    assert "is also --out" in done.stderr


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_directory_without_permission_is_refused_before_the_work(run, scores, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    done = run("calibrate", scores, "--out", "locked/b.json")
    assert done.exit_code == 3
    assert "may not be written" in done.stderr


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system of processes")
def test_a_directory_that_takes_no_files_is_refused_before_the_work(run):
    done = run("calibrate", "absent.csv", "--out", "/proc/b.json")
    assert done.exit_code == 3
    assert "--out: '/proc/b.json'" in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt, 130),
        (MemoryError, 3),
        (ImportError("core.so: failed to map segment from shared object"), 3),
        (RuntimeError("can't start new thread"), 3),
    ],
)
def test_interruption_and_lack_of_memory_have_exit_codes(capsys, error, code):
    with pytest.raises(Exception) as stop, report_errors():  # noqa: PT011  typer.Exit has no base
        raise error
    assert stop.value.exit_code == code
    assert capsys.readouterr().err


@pytest.mark.parametrize("bug", [ImportError("no module"), RuntimeError("other")])
def test_bugs_keep_their_traceback(bug):
    with pytest.raises(type(bug)), report_errors():
        raise bug


def test_version_and_help(run):
    assert run("--version").stdout.startswith("ogive 0.")
    words = run("--help").stdout
    assert all(command in words for command in ("calibrate", "score", "simulate", "demo"))
    assert "130 interrupted" in words


@contextmanager
def running(words):
    """A process that ends with the test, also where the test fails."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_reader_that_stops_early_is_no_error(scores):
    words = [*COMMAND, "simulate", "--respondents", "3000", "--items", "200"]
    with running(words) as process:
        assert process.stdout.readline().startswith(b"respondent,item_1,")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=20) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_closed_or_full_output_ends_in_a_sentence(subtests, scores):
    table = ("leaderboard", str(scores))
    cases = ((table, ">&-", 0), (table, "> /dev/full", 3), (("--version",), "> /dev/full", 3))
    for words, output, code in cases:
        with subtests.test(words=words, output=output):
            line = f'exec "$0" "$@" {output}'
            found = subprocess.run(
                ["sh", "-c", line, *COMMAND, *words], stderr=subprocess.PIPE, text=True, timeout=60
            )
            assert found.returncode == code
            assert "Traceback" not in found.stderr
            assert ("Error: The output cannot be written: No space" in found.stderr) == (code == 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_standard_error_ends_no_command(scores):
    for name, code in ((str(scores), 0), ("none.csv", 3)):
        line = 'exec "$0" "$@" 2> /dev/full'
        found = subprocess.run(
            ["sh", "-c", line, *COMMAND, "leaderboard", name],
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert found.returncode == code
        assert found.stdout.startswith("respondent,") == (code == 0)


@pytest.mark.parametrize(
    ("words", "work", "kept"),
    [
        (("decode", "sklearn:iris"), "ogive.benchmarking.decoder.decode_benchmark", True),
        (("decode", "sklearn:iris", "--json"), "ogive.benchmarking.decoder.decode_benchmark", True),
        (
            ("decode", "scores.csv", "--responses"),
            "ogive.benchmarking.decoder.decode_responses",
            False,
        ),
        (
            ("confusion", "sklearn:iris", "-q"),
            "ogive.classifiers.classifier_comparison.compare_classifiers",
            True,
        ),
        (("demo",), "ogive.reporting.demo.demonstrate", True),
        (("calibrate", "scores.csv"), "ogive.irt.calibrating.calibrate", False),
        (("leaderboard", "scores.csv"), "ogive.evaluation.leaderboards.leaderboard", False),
        (("shorten", "scores.csv", "--size", "3"), "ogive.evaluation.shortening.shorten", False),
        (("adapt", "scores.csv"), "ogive.evaluation.adaptive_replay.replay_adaptively", False),
        (("read", ".", "--out", "read.csv"), "ogive.data.logs.read_logs.read_logs", False),
        (("report", "scores.csv"), "ogive.reporting.sources.analysed", False),
    ],
)
def test_ctrl_c_says_whether_the_same_command_goes_on(run, scores, monkeypatch, words, work, kept):
    @functools.wraps(resolve_name(work))  # its signature makes the command
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, stop)
    done = run(*words)
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.endswith("Interrupted.\n")
    assert ("the same command resumes from here" in done.stderr) == kept


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a child")
def test_ctrl_c_ends_with_130(tmp_path):
    rows = "".join(f"{k % 7},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "few.csv").write_text(f"x,kind\n{rows}")
    # The second classifier never ends.
    endless = "from sklearn.naive_bayes import BernoulliNB as B; B.fit = lambda *_: sleep(600)"
    # What a shell starts in the background ignores Ctrl-C, and so would this.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    words = [*COMMAND[:2], f"from time import sleep; {heard}; {endless}; {COMMAND[2]}"]
    words += ["decode", str(tmp_path / "few.csv#kind"), "--out", str(tmp_path / "there")]
    words += ["--pool", "real", "--jobs", "1"]
    with running(words) as process:
        first = next(line for line in process.stderr if line.strip())
        assert first.startswith(b"Running classifiers")
        while not list((tmp_path / "there").glob("answers/*/*.json")):  # until one is finished
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert b"Interrupted." in said
    assert b"the same command resumes from here" in said


def test_the_command_line_starts_without_the_heavy_parts():
    heavy = {"pandas", "matplotlib", "sklearn", "scipy", "pyarrow", "torch"}
    code = f"import sys, ogive.cli; print({heavy!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_layout_is_named_as_the_command_line_does(run, tmp_path):
    (tmp_path / "items.csv").write_text("topic,item,gpt,pythia\nsums,1,1,0\nsums,2,0,1\n")
    done = run("calibrate", "items.csv")
    assert done.exit_code == 3
    assert "If rows are items, use --layout items." in done.stderr


def test_a_missing_source_is_said_before_a_folder_is_made(run, tmp_path):
    for command in ("leaderboard", "health", "tasks", "diagnose", "portfolio"):
        done = run(command, "absent.csv", "--out", "folder")
        assert (done.exit_code, "no file 'absent.csv'" in done.stderr) == (3, True), command
    assert not (tmp_path / "folder").exists()


def test_hints_are_written_in_the_syntax_of_the_command_line(subtests, run, scores, tmp_path):
    (tmp_path / "d.csv").write_text("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    cases = [
        (("tasks", "scores.csv"), "--items (columns item, task), or use --by-prefix", "described("),
        (("decode", "d.csv", "--out", "new/o"), "for example --target kind.", "target="),
        (
            ("decode", "d.csv#kind", "--max-test-size", "1", "--out", "new/o"),
            "--max-test-size must be 2 or more, or None, got 1.",
            "max_test_size",
        ),
        (("confusion", "d.csv", "--out", "new/o"), "for example --target kind.", "target="),
        (("calibrate", "scores.csv", "--kind", "odd"), "--kind must be", "Error: kind"),
    ]
    for words, said, unsaid in cases:
        with subtests.test(words=words):
            done = run(*words)
            assert done.exit_code == 3
            assert said in done.stderr
            assert unsaid not in done.stderr


def test_no_empty_folder_stays_after_an_error(subtests, run, scores, tmp_path):
    (tmp_path / "d.csv").write_text("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    for words in (
        ("decode", "d.csv", "--out", "new/deep"),
        ("confusion", "d.csv", "--out", "new/deep"),
        ("diagnose", "scores.csv", "--kind", "odd", "--out", "new/deep"),
        ("tasks", "scores.csv", "--out", "new/deep"),
    ):
        with subtests.test(command=words[0]):
            assert run(*words).exit_code == 3
            assert not (tmp_path / "new").exists()


def test_a_folder_that_was_there_stays_after_an_error(run, scores, tmp_path):
    (tmp_path / "mine").mkdir()
    assert run("tasks", "scores.csv", "--out", "mine").exit_code == 3
    assert (tmp_path / "mine").is_dir()
