"""Parts of files that killed writers left are removed; those of living ones are not."""

import errno
import os
import time
from pathlib import Path

import pytest

from ogive import _files as part_files
from ogive._files import check_writable, write_bytes
from ogive.errors import FileError


@pytest.fixture(autouse=True)
def _as_a_new_process(monkeypatch):
    monkeypatch.setattr(part_files, "_swept", set())


def left(folder, name, seconds=0):
    path = folder / f".ogive-{name}.part"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
def test_parts_of_killed_writers_are_removed_by_the_next_write(tmp_path):
    left(tmp_path, "old", 2 * part_files.SECONDS_UNLOCKED)
    left(tmp_path, "young")
    left(tmp_path, "future", -2 * part_files.SECONDS_UNLOCKED)  # the clock was set back
    mine = tmp_path / "mine.part"
    mine.touch()
    write_bytes(tmp_path / "a", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a", mine.name}


def test_without_locks_parts_far_from_now_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(part_files, "lock", lambda _: None)
    left(tmp_path, "old", 2 * part_files.SECONDS_UNLOCKED)
    left(tmp_path, "future", -2 * part_files.SECONDS_UNLOCKED)
    young = left(tmp_path, "young")
    write_bytes(tmp_path / "a", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a", young.name}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
def test_a_part_that_is_being_written_is_left_alone(tmp_path, monkeypatch):
    """Until it has its name: others may look at any moment."""
    rename, looked = Path.replace, []

    def looked_at(path, target):
        monkeypatch.setattr(part_files, "_swept", set())
        check_writable(tmp_path / "b")
        looked.append(path.exists())
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", looked_at)
    write_bytes(tmp_path / "a", b"whole")
    assert looked == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
def test_a_part_that_was_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, met = part_files.lock, []

    def late(descriptor):
        met.append(descriptor)
        if len(met) == 1:  # another process is quicker
            part_files._remove_if_left(next(tmp_path.glob(part_files.PATTERN)))
        return lock(descriptor)

    monkeypatch.setattr(part_files, "lock", late)
    write_bytes(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("write", [lambda path: write_bytes(path, b""), check_writable])
def test_a_read_only_file_system_is_said_in_a_sentence(tmp_path, monkeypatch, write):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("open", "unlink"):  # what is not there may not be removed either
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(FileError, match="may not be written by this user"):
        write(tmp_path / "a")
