import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ogive import _files as files
from ogive.data.pools.members import Member
from ogive.data.pools.runner import run_pool
from ogive.errors import FileError

POOL = {
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(),
    "tree/../:2": DecisionTreeClassifier(max_depth=2),
    "guess": DummyClassifier(strategy="nonsense"),
}
HERE = Path(__file__).parent
GATED_RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from conftest import run_gated
run_gated(sys.argv[2], int(sys.argv[3]))
"""


def stored(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def counting(name, calls):
    def make(split, seed):
        calls.append(name)
        return GaussianNB()

    return Member(name, make, "counted")


def run(split, folder, **kw):
    return run_pool(split, kw.pop("pool", POOL), folder=folder, cv=2, **kw)


def test_a_finished_run_is_not_done_again(split, tmp_path, same):
    calls = []
    pool = [counting("a", calls), counting("b", calls)]
    first = run(split, tmp_path, pool=pool)
    done = len(calls)
    assert same(first, run(split, tmp_path, pool=pool))
    assert len(calls) == done == 6


@pytest.mark.slow
def test_files_have_the_same_bytes_whatever_the_number_of_workers(split, tmp_path, same):
    one, two = (run(split, tmp_path / str(n), n_jobs=n) for n in (1, 2))
    assert same(one, two)
    assert stored(tmp_path / "1") == stored(tmp_path / "2")
    assert len(stored(tmp_path / "1")) == 4


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory, gated):
    folder = tmp_path_factory.mktemp("never_killed")
    (folder / "open").touch()
    gated(folder)
    return stored(folder)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_killed_in_the_middle_ends_with_the_same_bytes(tmp_path, gated, never_killed, n_jobs):
    command = [sys.executable, "-c", GATED_RUN, str(HERE), str(tmp_path), str(n_jobs)]
    killed = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(stored(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    with suppress(ProcessLookupError):  # its workers would wait a while for more to do
        os.killpg(killed.pid, signal.SIGKILL)
    before = stored(tmp_path)
    assert len(before) == 3
    (tmp_path / "open").touch()
    gated(tmp_path)
    after = stored(tmp_path)
    assert len(after) == 6
    assert after == never_killed
    assert before.items() <= after.items()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_full_disk_is_said_and_loses_nothing_that_was_finished(
    split, tmp_path, monkeypatch, same, n_jobs
):
    whole, room = files._write_all, [2]

    def write(file, content):
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= 1
        whole(file, content)

    monkeypatch.setattr(files, "_write_all", write)
    with pytest.raises(FileError, match="no space left on the disk"):
        run(split, tmp_path, n_jobs=n_jobs)
    assert len(stored(tmp_path)) == 2
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.undo()
    assert same(run(split, tmp_path), run(split, None))


def spoil_json(document):
    return b"{"


def spoil_digest(document):
    document["outcome"]["cv_accuracy"] = 0.99
    return json.dumps(document).encode()


def spoil_run(document):
    document["run"]["random_state"] = 5
    return json.dumps(document).encode()


def spoil_kind(document):
    document["schema"] = "ogive/calibration"
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "spoil", [spoil_json, spoil_digest, spoil_run, spoil_kind, lambda document: b""]
)
def test_a_damaged_file_is_made_anew_and_said(split, tmp_path, same, spoil):
    whole = run(split, tmp_path)
    before = stored(tmp_path)
    path = next(tmp_path.glob("bayes-*.json"))
    path.write_bytes(spoil(json.loads(path.read_text())))
    again = run(split, tmp_path)
    assert same(whole, again)
    assert stored(tmp_path) == before
    assert any(note.startswith("1 stored member in ") for note in again.notes)


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"pool": {"bayes": GaussianNB(var_smoothing=0.1)}},
        {"pool": {"other": GaussianNB()}},
    ],
)
def test_members_of_another_run_are_left_alone_and_said(split, tmp_path, same, change):
    pool = {"pool": {"bayes": GaussianNB()}}
    run(split, tmp_path, **pool)
    before = stored(tmp_path)
    second = run(split, tmp_path, **pool | change)
    assert same(second, run(split, None, **pool | change))
    assert before.items() < stored(tmp_path).items()
    assert "ignored: from another pool, data set, seed" in second.notes[0]


def test_another_split_of_the_same_name_is_another_run(splits, tmp_path, same):
    run(splits(), tmp_path)
    other = splits(seed=1)
    assert same(run(other, tmp_path), run(other, None))


@pytest.mark.slow
def test_a_member_stopped_in_time_is_tried_again_with_more_time(split, tmp_path):
    folder, tried = tmp_path / "stored", tmp_path / "tried"

    def slow(part, seed):
        with tried.open("a") as file:
            file.write("once ")
        time.sleep(1.0)
        return GaussianNB()

    pool = [Member("slow", slow, "slow")]
    kw = {"folder": folder, "cv": 0}
    assert run_pool(split, pool, time_limit=0.5, **kw).failures
    assert len(stored(folder)) == 1
    assert tried.read_text() == "once "
    assert run_pool(split, pool, time_limit=0.5, **kw).failures
    assert tried.read_text() == "once "  # by what is stored
    assert not run_pool(split, pool, time_limit=30, **kw).failures
    assert tried.read_text() == "once once "
    assert not run_pool(split, pool, **kw).failures
    assert tried.read_text() == "once once "


def test_lack_of_memory_is_recorded_but_tried_again(split, tmp_path):
    def greedy(part, seed):
        raise MemoryError

    assert run(split, tmp_path, pool=[Member("greedy", greedy)]).failures == {
        "greedy": "MemoryError"
    }
    assert not stored(tmp_path)


def test_a_folder_that_is_a_file_is_refused(split, tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FileError, match="is a file, but a directory is needed"):
        run(split, tmp_path / "a")


def test_resuming_tells_how_much_is_done_already(split, tmp_path):
    run(split, tmp_path)
    told = []
    run(split, tmp_path, progress=lambda *state: told.append(state))
    assert told == [(4, 4, "")]
