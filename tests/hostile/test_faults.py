"""A share of `make faults`: writers that are killed at each of their steps, in forked processes."""

import os
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

from ogive import _files as part_files
from ogive._files import write_bytes, write_json
from ogive.errors import FileError
from ogive.evaluation.adaptive_evaluation import ResponseJournal
from ogive.reporting.exports import Contents, write_folder

SCRIPTS = Path(__file__).parents[2] / "scripts"
if not SCRIPTS.exists() or not hasattr(os, "fork"):
    pytest.skip("the campaign lies in the repository, and forks", allow_module_level=True)
sys.path.insert(0, str(SCRIPTS))
from faulty_child import Changes  # noqa: E402


@pytest.fixture(autouse=True)
def _as_a_new_process(monkeypatch):
    monkeypatch.setattr(part_files, "_swept", set())
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a kill is no power cut


def report(*names):
    tables = {name: pd.DataFrame({"x": [len(name)]}) for name in names}
    write_folder(Contents(tables, {}, {}, ["said"]), "found")


def journal(*items):
    with ResponseJournal("asked.jsonl", {"seed": 0}) as found:
        done = dict(found.responses)
        for item in items:
            if item not in done:
                found.add(item, 1.0)


WORK = {
    "a file": (lambda: write_bytes("a", b"old"), lambda: write_bytes("a", b"new")),
    "a document": (
        lambda: write_json("a.json", "toy", 1, {"x": 1}),
        lambda: write_json("a.json", "toy", 1, {"x": 2}),
    ),
    "a folder": (lambda: report("old"), lambda: report("new")),
    "a journal": (lambda: journal("a"), lambda: journal("a", "b")),
}


def killed(work, change):
    """Whether a child was killed at this change of a file; if not, it had ended before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are not needed
        child = os.fork()
    if not child:
        try:
            os.setsid()
            sys.addaudithook(Changes(change).met)
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def files():
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def start_again(before):
    for path in sorted(Path().rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    before()
    return True


@pytest.mark.parametrize("name", WORK)
def test_a_kill_at_any_step_leaves_old_or_new_files_and_the_next_run_ends_as_if_there_was_none(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before, work = WORK[name]
    before()
    earlier = files()
    work()
    whole, change = files(), 0
    while start_again(before) and killed(work, change):
        for path, content in files().items():
            known = content in (earlier.get(path), whole.get(path))
            # A summary also names what is still to be removed; parts are removed by the next run.
            assert known or path.endswith((".part", "summary.json")), (path, change)
        part_files._swept.clear()
        work()
        assert files() == whole, change
        change += 1
    assert change > (0 if name == "a journal" else 2)
    assert files() == whole  # the last one was not killed


def test_a_disk_that_is_full_at_any_step_is_said_and_leaves_what_was_there(tmp_path, monkeypatch):
    import resource

    monkeypatch.chdir(tmp_path)
    write_bytes("a", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (0, 100):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(FileError, match="'a' cannot be written"):
                write_bytes("a", b"new" * 100)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert files() == {"a": b"old"}
