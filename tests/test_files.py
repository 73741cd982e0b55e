import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive import load
from ogive._files import (
    check_writable,
    read_json,
    readable_file,
    require_keys,
    size_for_people,
    write_atomically,
    write_json,
)
from ogive.errors import FileError, InputError

not_as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)


def put(content):
    return lambda file: file.write(content)


def test_writing_leaves_the_content_and_nothing_else(tmp_path):
    write_atomically(tmp_path / "a.bin", put(b"one"))
    write_atomically(tmp_path / "a.bin", put(b"two"))
    assert (tmp_path / "a.bin").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("problem", [RuntimeError("bug"), KeyboardInterrupt(), OSError(5, "I/O")])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, problem):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half")
        raise problem

    with pytest.raises(FileError if isinstance(problem, OSError) else type(problem)):
        write_atomically(path, write)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]


def test_a_full_disk_is_named(tmp_path):
    def write(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileError, match=r"no space left on the disk for '.*a\.bin'"):
        write_atomically(tmp_path / "a.bin", write)
    assert not list(tmp_path.iterdir())


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no directory '.*nowhere'"):
        write_atomically(tmp_path / "nowhere" / "a.bin", put(b""))


def test_a_directory_is_not_written_to(tmp_path):
    with pytest.raises(FileError, match="is a directory"):
        write_atomically(tmp_path, put(b""))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_neither_replaced_nor_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="device or a pipe"):
        write_atomically(tmp_path / "pipe", put(b""))
    with pytest.raises(FileError, match="device or a pipe"):
        readable_file(tmp_path / "pipe", 100)


@not_as_root
def test_a_directory_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="may not be written"):
            write_atomically(tmp_path / "a.bin", put(b""))
    finally:
        tmp_path.chmod(0o700)


@not_as_root
def test_a_write_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(FileError, match="may not be written"):
        write_atomically(path, put(b"new"))
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_refusal_of_the_system_is_told_as_permission(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FileError, match="may not be written"):
        write_atomically(tmp_path / "a.bin", put(b""))


def test_what_could_be_written_is_known_before_and_nothing_is_left(tmp_path):
    check_writable(tmp_path / "a.bin")
    (tmp_path / "b.bin").write_bytes(b"old")
    check_writable(tmp_path / "b.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["b.bin"]
    assert (tmp_path / "b.bin").read_bytes() == b"old"
    with pytest.raises(FileError, match="is a directory"):
        check_writable(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system of processes")
def test_a_directory_that_takes_no_files_is_known_before(tmp_path):
    with pytest.raises(FileError, match=r"'/proc/a\.bin' (cannot|may not) be written"):
        check_writable("/proc/a.bin")


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_follow_the_umask_and_then_the_file(tmp_path):
    path = tmp_path / "a.bin"
    before = os.umask(0o022)
    try:
        write_atomically(path, put(b"one"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o640)
        write_atomically(path, put(b"two"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", put(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_impossible_names_are_file_errors(tmp_path, name):
    with pytest.raises(FileError, match="cannot be written"):
        write_atomically(tmp_path / name, put(b""))
    with pytest.raises(FileError, match="cannot be read"):
        readable_file(tmp_path / name, 10)


finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"]))
tree = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=10,
)


@settings(max_examples=30)  # each one waits for the disk
@given(payload=st.dictionaries(text.filter(lambda key: key not in ("schema", "version")), tree))
def test_json_comes_back_as_it_was(payload, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    write_json(path, "calibration", 2, payload)
    expected = {"schema": "ogive/calibration", "version": 2, **payload}
    assert read_json(path, "calibration", 2) == expected


def test_what_json_cannot_say_is_refused(subtests, tmp_path_factory):
    for value in [float("nan"), float("inf"), {1, 2}, "\ud800"]:
        with subtests.test(value=value):
            tmp_path = tmp_path_factory.mktemp("case")
            with pytest.raises(InputError, match=r"cannot be written to '.*a\.json' as JSON"):
                write_json(tmp_path / "a.json", "calibration", 1, {"x": value})
            assert not list(tmp_path.iterdir())


def test_the_payload_cannot_overwrite_the_schema(tmp_path):
    with pytest.raises(InputError, match='"schema"'):
        write_json(tmp_path / "a.json", "calibration", 1, {"schema": "mine"})


def document(**changes):
    return json.dumps({"schema": "ogive/calibration", "version": 1, **changes}).encode()


BROKEN = {
    "truncated": (document()[:-1], r"not valid JSON: .* at line 1, column 45"),
    "second line": (b'{"schema":\n nope}', "line 2, column 2"),
    "not ours": (b'{"name": "package"}', 'no "schema": "ogive/calibration"'),
    "a list": (b"[1, 2]", "not a file that Ogive wrote"),
    "odd schema": (document(schema=7), "not a file that Ogive wrote"),
    "other kind": (document(schema="ogive/report"), "holds 'ogive/report'"),
    "newer": (
        document(version=3),
        r"written by a newer Ogive \(format 3; this one reads up to 1\)\. Update Ogive",
    ),
    "version as text": (document(version="1"), "no usable format version"),
    "version as bool": (document(version=True), "no usable format version"),
    "version zero": (document(version=0), "no usable format version"),
    "latin-1": ('{"schema": "é"}'.encode("latin-1"), "not UTF-8 text: byte 13 is 0xe9"),
    "NaN": (b'{"x": NaN}', "not strict JSON: it holds NaN"),
    "half a character": (b'{"x": "\\udc00"}', r"it holds \\udc00, which is half a character"),
    "infinity by size": (b'{"x": 1e999}', "1e999, which is too large"),
    "endless number": (b'{"x": ' + b"9" * 10_000 + b"}", "not strict JSON"),
    "deep nesting": (b"[" * 200_000, "nested too deeply"),
    "empty": (b"", "is empty"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
}


def test_broken_json_is_explained(subtests, tmp_path_factory):
    for content, message in BROKEN.values():
        with subtests.test(content=content, message=message):
            tmp_path = tmp_path_factory.mktemp("case")
            path = tmp_path / "a.json"
            path.write_bytes(content)
            with pytest.raises(FileError, match=message) as caught:
                read_json(path, "calibration", 1)
            assert "a.json" in str(caught.value)


def test_older_formats_are_read(tmp_path):
    write_json(tmp_path / "a.json", "calibration", 1, {})
    assert read_json(tmp_path / "a.json", "calibration", 4)["version"] == 1


def test_missing_files_and_directories_are_distinguished(tmp_path):
    with pytest.raises(FileError, match=r"no file 'a\.json' in '"):
        read_json(tmp_path / "a.json", "calibration", 1)
    with pytest.raises(FileError, match=r"directory '.*nowhere' does not exist"):
        read_json(tmp_path / "nowhere" / "a.json", "calibration", 1)
    with pytest.raises(FileError, match="is a directory"):
        read_json(tmp_path, "calibration", 1)


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)
    with pytest.raises(FileError, match=r"has 3\.0 GiB, and the limit is 1\.0 GiB.*max_bytes"):
        read_json(path, "calibration", 1)


def test_missing_keys_are_all_named():
    require_keys("a.json", {"items": 1}, ["items"])
    with pytest.raises(FileError, match=r'\'a\.json\' is incomplete: it lacks "model", "notes"'):
        require_keys("a.json", {"items": 1}, ["model", "items", "notes"])


def test_sizes_are_for_people(subtests):
    for n_bytes, words in [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (2**31, "2.0 GiB"),
        (2**52, "4,096"),
    ]:
        with subtests.test(n_bytes=n_bytes, words=words):
            assert size_for_people(n_bytes).startswith(words)


def test_files_needs_the_standard_library_only():
    program = (
        "import sys, ogive._files\nprint({'numpy', 'pandas', 'pyarrow'} & set(sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "0", done.stderr


def test_a_document_that_would_need_too_much_memory_is_refused_unparsed(tmp_path):
    path = tmp_path / "bank.json"
    path.write_bytes(b'{"items": [' + b"[]," * 20_000 + b"[]]}")
    with pytest.raises(FileError, match=r"may need .* MiB in memory.*pass a larger max_bytes"):
        load(path, max_bytes=10**6)
