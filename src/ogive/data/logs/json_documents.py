"""JSON documents, JSON Lines and ZIP archives of unknown origin, read within bounds.

Nothing is written to disk. Members of an archive are bounded in number and in size, as stated and
as unpacked; zstd members are read too, which Python supports only from 3.14. Long JSON lists are
parsed value by value. Blocks of JSON Lines are parsed by Arrow, which skips fields that are not
needed; if anything in a block is unexpected, its lines are parsed one by one.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from ogive._files import JSON_ESCAPE, TO_RAISE, VARIABLE, readable_file, size_for_people
from ogive.data.logs.runs import LONGEST_NAME, OnBytes, as_name, as_score, nested
from ogive.data.text_files import MAX_LINE, text_bytes
from ogive.errors import FileError
from ogive.results.numbers import counted, shown

MOST_MEMBERS = 500_000  # members of an archive
LARGEST_MEMBER = 512 * 1024**2  # bytes
MEMBERS = 128  # a member may be as large as max_bytes divided by this number, if that is more
ZSTD = 93  # the compression method of ZIP
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTD)
_NO_ARCHIVE = (  # the last three are raised if a directory states absurd positions and sizes
    *(zipfile.BadZipFile, NotImplementedError, struct.error, EOFError, ValueError),
    *(OSError, OverflowError, MemoryError),
)
_LOCAL_HEADER = 30  # bytes

SMALL = 64 * 1024**2  # bytes of a document that is parsed whole, and of one value of a long one
MOST_PARTS = 4_000_000  # lists and objects: each needs 25 times the memory of its two bytes
_STEP = 1 << 20  # characters that are read at a time
_NAMES = {"[": "a list", "{": "an object"}
_DECODER = json.JSONDecoder()

BLOCK = 4 * 1024**2  # bytes of JSON Lines that are parsed at a time
PEEKED_ROWS = 20  # first rows, which show what the others hold
SURVEYED_LINES, SURVEYED_BYTES = 2_000, 64 * 1024**2  # limits of a longer look at the first rows
_BOM = b"\xef\xbb\xbf"

Columns = dict[str, list[Any]]
FromRow = Callable[[dict[str, Any]], Mapping[str, Any]]  # makes further columns from a whole row


class Archive:
    """The members of a ZIP archive, by name."""

    def __init__(
        self, path: Path, file: BinaryIO, members: list[zipfile.ZipInfo], max_bytes: int
    ) -> None:
        self.path, self._file, self._max_bytes = path, file, max_bytes
        self._members = {member.filename: member for member in members}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, folder: str) -> list[str]:
        """Return the JSON members of a folder, sorted."""
        return sorted(n for n in self._members if n.startswith(folder) and n.endswith(".json"))

    def read(self, name: str, limit: int = LARGEST_MEMBER) -> bytes:
        """Read a member, and check its size and checksum against those the archive states."""
        member = self._members[name]
        where = f"'{self.path}', member {shown(name)}"
        limit = max(limit, self._max_bytes // MEMBERS)
        if member.file_size > limit:
            raise FileError(
                f"{where} unpacks to {size_for_people(member.file_size)}, and the limit is "
                f"{size_for_people(limit)}. It is damaged, or not a log. If you trust it, pass "
                f"max_bytes={MEMBERS * member.file_size}, or set {VARIABLE} to it."
            )
        if member.flag_bits & 0x1:
            raise FileError(f"{where} is encrypted.")
        if (method := member.compress_type) not in _METHODS:
            raise FileError(f"{where} is compressed by method {method}, which is unknown.")
        try:
            content = _unpacked(member, self._packed(member))
        except (OSError, EOFError, ValueError, zlib.error, struct.error) as error:
            raise FileError(f"{where} cannot be unpacked: {error}. Copy the file again.") from error
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise FileError(f"{where} is not what its archive states: it is damaged or malicious.")
        return content

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """Return the stored bytes of a member, after its own header."""
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
            raise ValueError("there is no member where the archive says")
        self._file.seek(sum(struct.unpack("<HH", header[26:30])), io.SEEK_CUR)  # name and extras
        packed = self._file.read(member.compress_size)
        if len(packed) < member.compress_size:
            raise EOFError("it is cut short")
        return packed


@contextmanager
def open_archive(path: Path, max_bytes: int) -> Iterator[Archive]:
    """Open an archive, after checking the names and sizes that it states."""
    with path.open("rb") as file:
        try:
            members = zipfile.ZipFile(file).infolist()
        except _NO_ARCHIVE as why:
            raise FileError(
                f"'{path}' is not an intact ZIP archive: {why}. It was cut short, or the run that "
                "writes it has not ended."
            ) from why
        _check_members(path, members, max_bytes)
        yield Archive(path, file, members, max_bytes)


def _check_members(path: Path, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    if len(members) > MOST_MEMBERS:
        raise FileError(f"'{path}' has {len(members):,} members; the limit is {MOST_MEMBERS:,}.")
    length = path.stat().st_size
    for member in members:
        name = member.orig_filename
        if not 0 <= member.header_offset < length or member.compress_size > length:
            raise FileError(
                f"'{path}' has a member {shown(name)} that lies outside the file. It was cut "
                "short, or edited."
            )
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or "\0" in name or ":" in name[:3]:
            raise FileError(
                f"'{path}' has a member named {shown(name)}, which points out of the archive. "
                "It is not a log; do not unpack it."
            )
    size = sum(member.file_size for member in members)
    if size > max_bytes:
        raise FileError(
            f"'{path}' unpacks to {size_for_people(size)}, and the limit is "
            f"{size_for_people(max_bytes)}. {TO_RAISE}"
        )


def _unpacked(member: zipfile.ZipInfo, packed: bytes) -> bytes:
    """Return the content, cut off one byte after the size that the archive states."""
    limit = member.file_size + 1
    if member.compress_type == zipfile.ZIP_STORED:
        return packed[:limit]
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)
    pieces: list[bytes] = []
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        while limit > 0 and (piece := stream.read(min(1 << 18, limit))):
            pieces.append(piece)
            limit -= len(piece)
    return b"".join(pieces)


def loads(content: bytes) -> Any:
    """Parse a document; raise a ValueError if it is invalid or has too many parts."""
    if content.count(b"[") + content.count(b"{") > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS:,} lists and objects")
    if b"\\ud" in content or b"\\uD" in content:
        return json.loads(_spell_surrogates(content.decode("utf-8-sig")))
    return json.loads(content)


def _spell_surrogates(text: str) -> str:
    """Return JSON in which half of a surrogate pair, which is no character, is spelled out.

    Answers of models may be cut in the middle of a character, but two names stay two.
    """
    return JSON_ESCAPE.sub(lambda match: f"\\{match[1].lower()}" if match[1] else match[0], text)


def parsed(content: bytes, where: str) -> Any:
    """Parse a document; raise a `FileError` that names its place if it is invalid."""
    try:
        return loads(content)
    except RecursionError as error:
        raise FileError(f"{where} is nested too deeply to be a log.") from error
    except ValueError as error:
        raise FileError(
            f"{where} is not valid JSON: {error}. It was cut short or edited."
        ) from error


def small_json(path: Path, max_bytes: int) -> dict[str, Any]:
    """Read the JSON object in a file next to a log; empty if missing, invalid or too large."""
    try:
        file = readable_file(path, min(SMALL, max_bytes))
        document = parsed(file.read_bytes(), f"'{path}'")
    except FileError:
        return {}
    return document if isinstance(document, dict) else {}


class JsonStream:
    """Reads one JSON document piece by piece: values are parsed one at a time."""

    def __init__(self, stream: BinaryIO | io.BufferedReader[Any], where: str) -> None:
        self._stream: TextIO = io.TextIOWrapper(stream, encoding="utf-8-sig")
        self._where = where
        self._text, self._at, self._ended = "", 0, False

    def members(self) -> Iterator[tuple[str, bool]]:
        """Yield the keys of an object, and whether a list follows.

        Read what follows with `elements` or `value`.
        """
        self._expect("{")
        if self._next() == "}":
            return
        while True:
            key = self.value()
            self._expect(":")
            yield str(key), self._next() == "["
            if self._is_last("}"):
                return

    def elements(self) -> Iterator[Any]:
        """Yield the values of a list, one by one."""
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._is_last("]"):
                return

    def value(self) -> Any:
        """Parse the next value."""
        self._next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise FileError(f"{self._where} is nested too deeply to be a log.") from error
            except ValueError as error:
                if self._ended:
                    raise self._invalid() from error
            else:
                if end < len(self._text) or self._ended:  # a number may continue in the next piece
                    text, self._at = self._text[self._at : end], end
                    if "\\ud" in text or "\\uD" in text:
                        value = _DECODER.decode(_spell_surrogates(text))
                    return value
            self._read_more(max(_STEP, len(self._text) - self._at))

    def _is_last(self, closing: str) -> bool:
        """Skip the sign after a value, and return True if it was the closing one."""
        sign = self._next()
        if sign not in (",", closing):
            raise self._invalid()
        self._at += 1
        return sign == closing

    def _expect(self, sign: str) -> None:
        found = self._next()
        if found != sign and sign in _NAMES and (found in _NAMES or found in '"-0123456789tfn'):
            raise FileError(
                f"{self._where} holds {_NAMES.get(found, 'a single value')} where {_NAMES[sign]} "
                "is needed: it is not a log."
            )
        if found != sign:
            raise self._invalid()
        self._at += 1

    def _next(self) -> str:
        """Return the next sign that is not a space, without skipping it."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\n\r":
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                raise self._invalid()
            self._read_more(_STEP)

    def _read_more(self, size: int) -> None:
        """Read more text; refuse values that would fill the memory, before they are parsed."""
        if len(self._text) - self._at > SMALL:
            raise self._too_large(size_for_people(SMALL))
        try:
            piece = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise FileError(f"{self._where} is not UTF-8 text. It is damaged.") from error
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + piece, 0
        n_signs = len(self._text)  # counted only if they can be too many
        if n_signs > MOST_PARTS and self._text.count("[") + self._text.count("{") > MOST_PARTS:
            raise self._too_large(f"{MOST_PARTS:,} lists and objects")

    def _too_large(self, limit: str) -> FileError:
        return FileError(
            f"{self._where} holds a value of more than {limit}. It is damaged, or not a log."
        )

    def _invalid(self) -> FileError:
        near = self._text[self._at : self._at + 20]
        place = f"near {near!r}" if near else "at its end"
        return FileError(f"{self._where} is not valid JSON {place}. It was cut short or edited.")


@dataclass(frozen=True)
class Field:
    """A field of a row: its path, and how it is read.

    A name is short text or a number, a text may have any length, a flag is True for any value.
    """

    name: str
    path: tuple[str, ...]
    kind: Literal["name", "score", "text", "flag"] = "name"

    def read(self, row: Mapping[str, Any]) -> Any:
        """Return the value of this field in a row."""
        value = nested(row, *self.path)
        if self.kind == "score":
            return as_score(value)
        if self.kind == "flag":
            return bool(value)
        if self.kind == "text":
            return value if isinstance(value, str) else None
        return as_name(value)


@dataclass
class ParseErrors:
    """Invalid lines, by number, and a remark if the file is cut short."""

    lines: list[int] = field(default_factory=list)
    cut: str = ""

    def __len__(self) -> int:
        return len(self.lines) + bool(self.cut)

    def remarks(self) -> list[str]:
        """Describe the errors."""
        remarks = [self.cut] if self.cut else []
        if self.lines:
            first = ", ".join(f"{line:,}" for line in self.lines[:5])
            more = ", ..." if len(self.lines) > 5 else ""
            remarks.append(f"{counted(len(self.lines), 'line')} not valid JSON: line {first}{more}")
        return remarks


def first_rows(path: Path, max_bytes: int) -> list[dict[str, Any]]:
    """Return the first intact rows, which show what the others hold."""
    return list(islice(intact_rows(path, max_bytes), PEEKED_ROWS))


def intact_rows(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Yield the intact rows among the first lines."""
    size = 0
    with text_bytes(path, max_bytes) as stream:
        for _ in range(SURVEYED_LINES):
            try:
                line = stream.readline(MAX_LINE)
            except (EOFError, zlib.error):  # the file is cut short: what came before can be read
                return
            row = _row(line.removeprefix(_BOM))
            if row is not None:
                yield row
            size += len(line)
            if not line or size > SURVEYED_BYTES:
                return


def read_columns(
    path: Path,
    fields: Sequence[Field],
    max_bytes: int,
    on_bytes: OnBytes,
    errors: ParseErrors,
    *,
    like: Sequence[Mapping[str, Any]] = (),
    from_row: FromRow | None = None,
) -> Iterator[Columns]:
    """Yield the fields of the rows, some thousand rows at a time.

    `like` are rows that show the type of each field. `from_row` makes further columns from a whole
    row; it needs all fields, so each line is parsed by itself.
    """
    schema = None if from_row else _schema(fields, like)
    with text_bytes(path, max_bytes, on_bytes) as stream:
        for first_line, block in _blocks(path, stream, errors):
            columns = None if schema is None else _by_arrow(block, schema, fields)
            yield columns or _by_line(block, first_line, fields, from_row, errors)


def _blocks(
    path: Path, stream: io.BufferedReader[Any], errors: ParseErrors
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, some megabytes at a time, and the number of the first of them."""
    line, rest, ended = 1, b"", False
    while not ended:
        parts = [rest]
        size = len(rest)
        while size < BLOCK or b"\n" not in parts[-1]:
            try:
                piece = stream.read1(1 << 16)
            except (EOFError, zlib.error):  # a gzip file is cut short or damaged after this point
                errors.cut = "the file is cut short; the intact part was read"
                piece = b""
            ended = not piece
            if ended:
                break
            parts.append(piece)
            size += len(piece)
            if size > MAX_LINE + BLOCK:
                raise FileError(
                    f"'{path}', line {line:,} has more than {MAX_LINE:,} bytes. It is not a log, "
                    "or its line breaks are lost."
                )
        text = b"".join(parts)
        end = len(text) if ended else text.rfind(b"\n") + 1
        block, rest = text[:end], text[end:]
        if line == 1:
            block = block.removeprefix(_BOM)
        yield line, block
        line += block.count(b"\n")


def _schema(fields: Sequence[Field], like: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """Return the Arrow types of the fields, as the rows `like` them show."""
    tree: dict[str, Any] = {}
    for wanted in fields:
        branch = tree
        for key in wanted.path[:-1]:
            branch = branch.setdefault(key, {})
        example = next((v for row in like if (v := nested(row, *wanted.path)) is not None), None)
        if wanted.kind == "score":
            kind = pa.bool_() if isinstance(example, bool) else pa.float64()
        else:
            kind = pa.int64() if type(example) is int else pa.string()
        branch[wanted.path[-1]] = kind

    def typed(branch: Mapping[str, Any]) -> list[pa.Field]:
        return [
            pa.field(key, pa.struct(typed(value)) if isinstance(value, dict) else value)
            for key, value in branch.items()
        ]

    return pa.schema(typed(tree))


def _by_arrow(block: bytes, schema: pa.Schema, fields: Sequence[Field]) -> Columns | None:
    """Return the columns of a block; None if it does not fit the schema, or lines are invalid."""
    try:
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        columns = {wanted.name: _arrow_column(table, wanted) for wanted in fields}
    except (pa.ArrowException, ValueError):
        return None
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if table.num_rows != n_lines:  # there may be empty lines
        n_lines = sum(1 for line in block.split(b"\n") if line.strip())
    return columns if table.num_rows == n_lines else None


def _arrow_column(table: pa.Table, wanted: Field) -> list[Any]:
    column = table.column(wanted.path[0])
    for key in wanted.path[1:]:
        column = pc.struct_field(column, key)
    if wanted.kind != "score" and not pa.types.is_string(column.type):
        column = pc.cast(column, pa.string())
    elif wanted.kind == "name":
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
        visible = pc.all(pc.match_substring_regex(column, "[!-~]")).as_py()
        if longest > LONGEST_NAME or visible is False:  # some texts may be no names
            return [as_name(text) for text in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _by_line(
    block: bytes,
    first_line: int,
    fields: Sequence[Field],
    from_row: FromRow | None,
    errors: ParseErrors,
) -> Columns:
    """Return the columns of a block, parsed line by line."""
    rows: list[dict[str, Any]] = []
    lines = block.split(b"\n")
    for number, text in enumerate(lines, start=first_line):
        if not text.strip():
            continue
        row = _row(text)
        if row is not None:
            more = from_row(row) if from_row else {}
            rows.append({each.name: each.read(row) for each in fields} | dict(more))
        elif not block.endswith(b"\n") and number == first_line + len(lines) - 1:
            errors.cut = errors.cut or f"the last line, {number:,}, is cut short"
        else:
            errors.lines.append(number)
    names = list(rows[0]) if rows else [each.name for each in fields]
    return {name: [row[name] for row in rows] for name in names}


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
