"""Text files of unknown origin: opened within bounds, decoded strictly, read line by line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from itemwise.errors import FileError
from itemwise.files import size_for_people

MAX_LINE = 64 * 1024**2  # characters; a row of a million items stays below

_UTF16 = "UTF-16 text", "Save it as UTF-8 (in Excel: CSV UTF-8)."
_BEGINNINGS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": ("compressed with gzip", "Rename it so that it ends in .gz."),
    b"PK\x03\x04": ("a ZIP archive or an Excel workbook", "Export it as CSV."),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", "Export it as CSV."),
    b"PAR1": ("a Parquet file", "Rename it so that it ends in .parquet."),
}


@contextmanager
def text_lines(path: Path, max_bytes: int) -> Iterator[Iterator[str]]:
    """The lines of a UTF-8 file, also compressed with gzip, at most `max_bytes` in all.

    Whatever goes wrong while the lines are read becomes a `FileError`.
    """
    try:
        with text_bytes(path, max_bytes) as stream:
            yield _lines(path, io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""))
    except UnicodeDecodeError as error:
        raise FileError(
            f"'{path}' is not UTF-8 text: it holds the byte 0x{error.object[error.start]:02x}, "
            "as Latin-1 and Windows-1252 files do. Save it as UTF-8, "
            "for example: iconv -f WINDOWS-1252 -t UTF-8"
        ) from error


@contextmanager
def text_bytes(
    path: Path, max_bytes: int, passed: Callable[[int], None] | None = None
) -> Iterator[io.BufferedReader[Any]]:
    """The bytes of a text file, also compressed with gzip, at most `max_bytes` of them.

    `passed` is called at every read with the position in the file itself.
    """
    try:
        with path.open("rb") as file:
            plain = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
            bounded = _Bounded(plain, path, max_bytes)
            if passed is not None:
                bounded.passed = lambda: passed(file.tell())
            stream = io.BufferedReader(bounded, 1 << 16)
            check_beginning(path, stream.peek(4096)[:4096])
            yield stream
    except EOFError as error:
        raise FileError(f"'{path}' ends too early: it was cut short. Copy it again.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"'{path}' is not an intact gzip file: {error}. Copy it again.") from error


class _Bounded(io.RawIOBase):
    """Reads bytes until there are too many: a small archive may unpack without end."""

    def __init__(self, source: BinaryIO | gzip.GzipFile, path: Path, limit: int) -> None:
        self._source, self._path, self._limit, self._total = source, path, limit, 0
        self.passed: Callable[[], None] = lambda: None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._source.read(len(buffer))
        self._total += len(content)
        if self._total > self._limit:
            raise FileError(
                f"'{self._path}' unpacks to more than {size_for_people(self._limit)}, the limit. "
                "If you trust the file, pass a larger max_bytes."
            )
        buffer[: len(content)] = content
        self.passed()
        return len(content)


def check_beginning(path: Path, beginning: bytes) -> None:
    """Refuse a file that does not begin with UTF-8 text, and say what it seems to be."""
    if not beginning:
        raise FileError(f"'{path}' is empty. Check how it was made.")
    for magic, (what, advice) in _BEGINNINGS.items():
        if beginning.startswith(magic):
            raise FileError(f"'{path}' is {what}, but UTF-8 text is needed. {advice}")
    if b"\0" in beginning:
        raise FileError(
            f"'{path}' is a binary file or UTF-16, but UTF-8 text is needed. "
            "Check that it is what its name says, and save it as UTF-8."
        )


def _lines(path: Path, text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_LINE):
        if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
            raise FileError(
                f"'{path}' has a line of more than {MAX_LINE:,} characters. "
                "It is not a table, or its line breaks are lost."
            )
        yield line
