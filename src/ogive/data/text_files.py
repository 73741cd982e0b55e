"""Text of unknown origin: opened within bounds, decoded strictly, split into rows of a table.

The first line of a table names its columns, and all rows are equally long.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ogive._files import TO_RAISE, size_for_people
from ogive.data.names import Fact
from ogive.errors import FileError
from ogive.irt.response_codes import number
from ogive.results.numbers import listed, repeated, shown

MAX_LINE = 64 * 1024**2  # characters; a row of a million items stays below

ROW_BYTES = 72  # memory that a row needs beside its cells: a name, its number, three references
CELL_BYTES = 32  # memory of a cell while pandas reads it: its text, position and value
_PIECE = 1 << 20
# What rows of a gzip file may need: so much of `max_bytes` in any case, else times its own size.
# Even a column of coin flips stays below, so that only equal lines are refused.
PACKED_SHARE, MOST_PACKED = 16, 1_000
_UTF16 = "UTF-16 text", "Save it as UTF-8 (in Excel: CSV UTF-8)."
_BEGINNINGS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": ("compressed with gzip", "Rename it so that it ends in .gz."),
    b"PK\x03\x04": ("a ZIP archive or an Excel workbook", "Export it as CSV."),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", "Export it as CSV."),
    b"PAR1": ("a Parquet file", "Rename it so that it ends in .parquet."),
}
_DELIMITERS = ",;\t"
_SAMPLE_LINES = 10  # quoted names may run over several lines
# "None" is left out: it is a category of its own in many tables.
_MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_INTEGER = re.compile(r"[+-]?\d+")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?")  # 007 is a name

Rows = Iterator[tuple[int, list[str]]]  # line number and fields


@contextmanager
def text_lines(path: Path, max_bytes: int) -> Iterator[Iterator[str]]:
    """Yield the lines of a UTF-8 file, also packed with gzip, if they need at most `max_bytes`.

    Whatever goes wrong while the lines are read becomes a `FileError`.
    """
    _check_lines(path, max_bytes)
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
    path: Path, max_bytes: int, on_bytes: Callable[[int], None] | None = None
) -> Iterator[io.BufferedReader[Any]]:
    """Yield the bytes of a text file, also packed with gzip, at most `max_bytes` of them.

    `on_bytes` is called at every read with the position in the file itself.
    """
    try:
        with path.open("rb") as file:
            plain = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
            bounded = _Bounded(plain, path, max_bytes)
            if on_bytes is not None:
                bounded.on_bytes = lambda: on_bytes(file.tell())
            stream = io.BufferedReader(bounded, 1 << 16)
            check_beginning(path, stream.peek(4096)[:4096])
            yield stream
    except EOFError as error:
        raise FileError(f"'{path}' ends too early: it was cut short. Copy it again.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"'{path}' is not an intact gzip file: {error}. Copy it again.") from error


def _check_lines(path: Path, max_bytes: int) -> None:
    """Refuse more lines than fit into `max_bytes` once they are rows, before any is split.

    Equal short lines are packed into next to nothing; to count them is fast, to split them is not.
    """
    packed = path.stat().st_size if path.suffix.lower() == ".gz" else max_bytes
    most_packed = max(max_bytes // PACKED_SHARE, MOST_PACKED * packed)
    n_lines = size = 0
    with text_bytes(path, max_bytes) as stream:
        while piece := stream.read(_PIECE):
            n_lines += piece.count(b"\n") or piece.count(b"\r")
            size += len(piece)
            need = ROW_BYTES * n_lines
            if need > max_bytes:
                raise FileError(
                    f"'{path}' has {n_lines:,} lines or more, which need "
                    f"{size_for_people(need)} once they are read; the limit is "
                    f"{size_for_people(max_bytes)}. {TO_RAISE}"
                )
            if need + size > most_packed:
                raise FileError(
                    f"'{path}' has {n_lines:,} lines or more, which need "
                    f"{size_for_people(need + size)} once they are read, over {MOST_PACKED:,} "
                    "times the size of the file: nearly all of it is the same again and again. "
                    f"Check how it was made. {TO_RAISE}"
                )


class _Bounded(io.RawIOBase):
    """Reads bytes until there are too many: a small archive may unpack without end."""

    def __init__(self, source: BinaryIO | gzip.GzipFile, path: Path, limit: int) -> None:
        self._source, self._path, self._limit, self._total = source, path, limit, 0
        self.on_bytes: Callable[[], None] = lambda: None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._source.read(len(buffer))
        self._total += len(content)
        if self._total > self._limit:
            raise FileError(
                f"'{self._path}' unpacks to more than {size_for_people(self._limit)}, the limit. "
                f"{TO_RAISE}"
            )
        buffer[: len(content)] = content
        self.on_bytes()
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


def delimited_rows(
    path: Path, lines: Iterable[str], *, skip_spaces: bool = False
) -> tuple[str, Rows]:
    """Return the delimiter, and all rows that are not blank; a row of another length is refused.

    The delimiter is a tab in `.tsv` files; in others it is the one that fits the first lines.
    """
    rest = iter(lines)
    start = list(itertools.islice(rest, _SAMPLE_LINES))
    if start and start[0].strip('" \r\n').lower() in {f"sep={sign}" for sign in _DELIMITERS}:
        raise FileError(
            f"'{path}' begins with {shown(start[0].strip())}, which only spreadsheets read. Remove "
            "this line."
        )
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "\t" if tabs else _delimiter(start)
    return delimiter, _rows(path, itertools.chain(start, rest), delimiter, skip_spaces=skip_spaces)


def read_delimited(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read a table of numbers, truth values and text; nothing in it is evaluated."""
    with text_lines(path, max_bytes) as lines:
        delimiter, rows = delimited_rows(path, lines, skip_spaces=True)
        _, header = next(rows)
        _check_header(path, header)
        _, first = next(rows, (0, []))
        _check_cells(path, rows, len(header), max_bytes)
    comma = delimiter != "," and any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first)
    try:
        with text_bytes(path, max_bytes) as stream:
            frame: pd.DataFrame = pd.read_csv(
                io.TextIOWrapper(stream, encoding="utf-8-sig"),
                sep=delimiter,
                decimal="," if comma else ".",
                index_col=False,
                na_values=list(_MISSING),
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
            )
    except (ValueError, OverflowError) as error:  # pandas' own errors among them
        raise FileError(f"'{path}' is not valid CSV: {shown(str(error))}. Check it.") from error
    frame.columns = pd.Index([name.strip() for name in header])
    return frame


def _check_cells(path: Path, rows: Rows, width: int, max_bytes: int) -> None:
    """Read all rows, so that one of another length is found, and refuse too many cells."""
    most = max_bytes // (CELL_BYTES * width)
    for n_rows, _ in enumerate(rows, start=2):
        if n_rows > most:
            raise FileError(
                f"'{path}' has {n_rows:,} rows of {width:,} cells or more, which need "
                f"{size_for_people(CELL_BYTES * n_rows * width)} while they are read; the limit is "
                f"{size_for_people(max_bytes)}. {TO_RAISE}"
            )


def _delimiter(start: list[str]) -> str:
    """Return the delimiter that splits the first two rows into equally many and most fields."""

    def fit(delimiter: str) -> tuple[bool, int]:
        rows = filter(None, csv.reader(start, delimiter=delimiter, strict=True))
        counts: list[int] = []
        with suppress(csv.Error):  # what was counted before the error stays
            counts.extend(len(row) for row in itertools.islice(rows, 2))
        most = max(counts, default=0)
        return (min(counts) == most, most) if most > 1 else (False, 0)

    return max(_DELIMITERS, key=fit)


def _rows(path: Path, lines: Iterable[str], delimiter: str, *, skip_spaces: bool) -> Rows:
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=skip_spaces)
    width = 0
    try:
        for row in reader:
            if not row:
                continue
            width = width or len(row)
            if len(row) != width:
                raise FileError(
                    f"'{path}', line {reader.line_num:,} has {len(row):,} fields, but the first "
                    f"line has {width:,}. Complete the row, and put quotes around text that "
                    f"holds {shown(delimiter)}."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise FileError(
            f"'{path}', line {reader.line_num:,} is not valid CSV: {error}. "
            "Check that every quote is closed."
        ) from error
    if not width:
        raise FileError(f"'{path}' holds nothing but blank lines. Check how it was made.")


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a first line that holds data, and repeated names."""
    names = [name.strip() for name in header]
    numbers = [name for name in names if number(name) is not None]
    twice = sorted(repeated(names))
    whole = all(_INTEGER.fullmatch(name) for name in numbers)
    if 2 * len(numbers) >= len(names) and (twice or not whole):
        raise FileError(
            f"'{path}' begins with a line of data ({', '.join(map(shown, names[:3]))}, ...), but "
            "its first line should name the columns. Add a line of names."
        )
    if twice:
        raise FileError(
            f"'{path}' has {listed([shown(name) for name in twice], 'column name')} more than "
            "once. Rename them."
        )


_WORDS = {
    **dict.fromkeys(["", "na", "n/a", "null", "none", "<na>"], math.nan),
    "true": 1.0,
    "false": 0.0,
}


class Numerals(dict[str, float]):
    """Converts text to numbers, NaN if it is missing, and remembers the results.

    Raises ValueError for text that is not a number.
    """

    def __missing__(self, text: str) -> float:
        value: float | None
        try:
            value = float(text)
        except ValueError:
            value = _WORDS.get(text.strip().lower())
        else:  # Python also reads 1_0, and the digits of every script
            value = value if text.isascii() and "_" not in text else None
        if value is None:
            raise ValueError(text)
        if len(self) < 10_000:  # tables of scores may hold a different text in every cell
            self[text] = value
        return value

    def know(self, text: str) -> bool:
        """Return True if the text is a number or missing."""
        try:
            self[text]
        except ValueError:
            return False
        return True


def typed(texts: Sequence[str]) -> list[Fact]:
    """Return texts as numbers if all of them are numbers; None for empty ones."""
    matches = [_PLAIN_NUMBER.fullmatch(text.strip()) for text in texts if text.strip()]
    if not matches or not all(matches):
        return [text if text.strip() else None for text in texts]
    number_type = float if any(match and match[2] for match in matches) else int
    return [number_type(text) if text.strip() else None for text in texts]
