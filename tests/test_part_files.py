"""Parts of files that killed writers left are removed; those of living ones are not."""

import errno
import os
import time

import pytest

from itemwise import part_files
from itemwise.errors import FileError
from itemwise.files import check_writable, write_bytes


@pytest.fixture(autouse=True)
def _as_a_new_process(monkeypatch):
    monkeypatch.setattr(part_files, "_swept", set())


def left(folder, name, seconds):
    path = folder / f".itemwise-{name}.part"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def test_parts_of_killed_writers_are_removed_by_the_next_write(tmp_path):
    left(tmp_path, "old", 2 * part_files.SECONDS_UNLOCKED)
    left(tmp_path, "killed", 2 * part_files.SECONDS_UNTOUCHED)
    young = left(tmp_path, "young", 0)
    mine = tmp_path / "mine.part"
    mine.touch()
    write_bytes(tmp_path / "a", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a", young.name, mine.name}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
def test_a_part_that_is_being_written_is_left_alone(tmp_path):
    path = left(tmp_path, "slow", 2 * part_files.SECONDS_UNTOUCHED)
    with path.open("r+b") as file:
        assert part_files.lock(file.fileno())
        write_bytes(tmp_path / "a", b"whole")
        assert path.exists()


@pytest.mark.parametrize("write", [lambda path: write_bytes(path, b""), check_writable])
def test_a_read_only_file_system_is_said_in_a_sentence(tmp_path, monkeypatch, write):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("open", "unlink"):  # what is not there may not be removed either
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(FileError, match="may not be written by this user"):
        write(tmp_path / "a")
