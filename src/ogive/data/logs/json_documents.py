"""JSON, JSON Lines and archives, read within bounds.

ZIP archives and JSON documents of unknown origin, read within bounds.

Nothing is ever written to disk. Members of an archive are bounded in number and in size, as stated
and as found; zstd members are read too, which Python supports only from 3.14. Small JSON documents
are parsed whole, long lists piece by piece.

Rows of JSON Lines by the million: only the needed fields, block by block.

A block is parsed by Arrow, which skips other fields; if anything in it is unexpected, its lines are
parsed one by one, so that an invalid line affects only itself.
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

from ogive._files import JSON_ESCAPE, TO_RAISE, VARIABLE, readable_file, size_for_people
from ogive.data.logs.runs import LONGEST_NAME, Passed, as_name, as_score, part
from ogive.data.text_files import MAX_LINE, text_bytes
from ogive.errors import FileError
from ogive.results.numbers import counted, shown

MOST_MEMBERS = 500_000
LARGEST_MEMBER = 512 * 1024**2  # bytes
MEMBERS = 128  # a member may be as large as max_bytes by this number, if that is more
ZSTD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTD)
_NO_ARCHIVE = (
    *(zipfile.BadZipFile, NotImplementedError, struct.error, EOFError, ValueError),
    *(
        OSError,
        OverflowError,
        MemoryError,
    ),  # raised when a directory states absurd positions and sizes
)
_LOCAL_HEADER = 30
_PIECE = 1 << 18


class Archive:
    """The members of an archive, by name."""

    def __init__(
        self, path: Path, file: BinaryIO, members: list[zipfile.ZipInfo], max_bytes: int
    ) -> None:
        self.path, self._file, self._max_bytes = path, file, max_bytes
        self._members = {member.filename: member for member in members}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, folder: str) -> list[str]:
        """Return the JSON members of a folder, sorted."""
        return sorted(
            name for name in self._members if name.startswith(folder) and name.endswith(".json")
        )

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
        if member.compress_type not in _METHODS:
            raise FileError(
                f"{where} is compressed by method {member.compress_type}, which is unknown."
            )
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
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        self._file.seek(name_length + extra_length, io.SEEK_CUR)
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
    there = path.stat().st_size
    for member in members:
        name = member.orig_filename
        if not 0 <= member.header_offset < there or member.compress_size > there:
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
    return _from_zstd(packed, limit)


def _from_zstd(packed: bytes, limit: int) -> bytes:
    import pyarrow as pa

    found: list[Any] = []
    size = 0
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        while size < limit and (piece := stream.read(min(_PIECE, limit - size))):
            found.append(piece)
            size += len(piece)
    return b"".join(found)


SMALL = 64 * 1024**2  # bytes of a document that is parsed whole, and of one piece of a long one
MOST_PARTS = 4_000_000  # lists and objects: each needs 25 times the memory of its two bytes
_STEP = 1 << 20
_SPACE = " \t\n\r"
_NAMES = {"[": "a list", "{": "an object"}
_PLAIN = '"-0123456789tfn'
_DECODER = json.JSONDecoder()


def loads(content: bytes) -> Any:
    """Parse a document; a ValueError if it is invalid or has too many parts."""
    if content.count(b"[") + content.count(b"{") > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS:,} lists and objects")
    if b"\\ud" in content or b"\\uD" in content:
        return json.loads(_mended(content.decode("utf-8-sig")))
    return json.loads(content)


def _mended(text: str) -> str:
    """Return JSON in which half of a surrogate pair, which is no character, is spelled out instead.

    Answers of models may be cut in the middle of a character, but two names stay two.
    """
    return JSON_ESCAPE.sub(lambda match: f"\\{match[1].lower()}" if match[1] else match[0], text)


def parsed(content: bytes, where: str) -> Any:
    """Parse a document; a `FileError` that names its place if it is invalid."""
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
        found = parsed(file.read_bytes(), f"'{path}'")
    except FileError:
        return {}
    return found if isinstance(found, dict) else {}


class Pieces:
    """Reads one JSON document piece by piece: values are parsed one at a time."""

    def __init__(self, stream: BinaryIO | io.BufferedReader[Any], where: str) -> None:
        self._stream: TextIO = io.TextIOWrapper(stream, encoding="utf-8-sig")
        self._where = where
        self._text, self._at, self._ended = "", 0, False

    def members(self) -> Iterator[tuple[str, bool]]:
        """The keys of an object, and whether a list follows; read it with `elements` or `value`."""
        self._expect("{")
        if self._next() == "}":
            return
        while True:
            key = self.value()
            self._expect(":")
            yield str(key), self._next() == "["
            if self._comma("}"):
                return

    def elements(self) -> Iterator[Any]:
        """Yield the values of a list, one by one."""
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._comma("]"):
                return

    def value(self) -> Any:
        """Parse the next value."""
        self._next()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise FileError(f"{self._where} is nested too deeply to be a log.") from error
            except ValueError as error:
                if self._ended:
                    raise self._broken() from error
            else:
                if end < len(self._text) or self._ended:  # a number may continue in the next piece
                    begin, self._at = self._at, end
                    part = self._text[begin:end]
                    if "\\ud" in part or "\\uD" in part:
                        found = _DECODER.decode(_mended(part))
                    return found
            self._more(max(_STEP, len(self._text) - self._at))

    def _comma(self, closing: str) -> bool:
        """Skip the sign after a value; returns whether it was the closing one."""
        sign = self._next()
        if sign not in (",", closing):
            raise self._broken()
        self._at += 1
        return sign == closing

    def _expect(self, sign: str) -> None:
        found = self._next()
        if found != sign and sign in _NAMES and (found in _NAMES or found in _PLAIN):
            raise FileError(
                f"{self._where} holds {_NAMES.get(found, 'a single value')} where {_NAMES[sign]} "
                "is needed: it is not a log."
            )
        if found != sign:
            raise self._broken()
        self._at += 1

    def _next(self) -> str:
        """Look at the next sign that is not a space."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                raise self._broken()
            self._more(_STEP)

    def _check_parts(self) -> None:
        """Refuse values that would fill the memory, before they are parsed."""
        if len(self._text) < MOST_PARTS:
            return
        if self._text.count("[") + self._text.count("{") > MOST_PARTS:
            raise FileError(
                f"{self._where} holds a value of more than {MOST_PARTS:,} lists and objects. "
                "It is damaged, or not a log."
            )

    def _more(self, size: int) -> None:
        if len(self._text) - self._at > SMALL:
            raise FileError(
                f"{self._where} holds a value of more than {size_for_people(SMALL)}. "
                "It is damaged, or not a log."
            )
        try:
            piece = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise FileError(f"{self._where} is not UTF-8 text. It is damaged.") from error
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + piece, 0
        self._check_parts()

    def _broken(self) -> FileError:
        near = self._text[self._at : self._at + 20]
        what = f"near {near!r}" if near else "at its end"
        return FileError(f"{self._where} is not valid JSON {what}. It was cut short or edited.")


BLOCK = 4 * 1024**2  # bytes
PEEKED_ROWS = 20
SURVEYED_LINES, SURVEYED_BYTES = 2_000, 64 * 1024**2  # if the first rows are not enough
_BOM = b"\xef\xbb\xbf"

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Field:
    """A field of a row: its path, and how it is read.

    A name is short text or a number, a text may have any length, a flag says whether there is any
    value.
    """

    name: str
    path: tuple[str, ...]
    kind: Literal["name", "score", "text", "flag"] = "name"


@dataclass
class Trouble:
    """Invalid lines, by number, and whether the file is cut short."""

    broken: list[int] = field(default_factory=list)
    cut: str = ""

    def sentences(self) -> list[str]:
        """Describe the trouble."""
        told = [self.cut] if self.cut else []
        if self.broken:
            several = ", ".join(f"{line:,}" for line in self.broken[:5])
            more = ", ..." if len(self.broken) > 5 else ""
            told.append(f"{counted(len(self.broken), 'line')} not valid JSON: line {several}{more}")
        return told


def first_records(path: Path, max_bytes: int) -> list[dict[str, Any]]:
    """Return the first intact rows, which show what the others hold."""
    return list(islice(records(path, max_bytes, SURVEYED_LINES), PEEKED_ROWS))


def records(path: Path, max_bytes: int, lines: int) -> Iterator[dict[str, Any]]:
    """Yield the intact rows among the first lines."""
    size = 0
    with text_bytes(path, max_bytes) as stream:
        for line in islice(iter(lambda: _line(stream), b""), lines):
            record = _record(line.removeprefix(_BOM))
            if record is not None:
                yield record
            size += len(line)
            if size > SURVEYED_BYTES:
                return


def _line(stream: io.BufferedReader[Any]) -> bytes:
    try:
        return stream.readline(MAX_LINE)
    except (EOFError, zlib.error):  # the file is cut short: what came before can be read
        return b""


def columns(
    path: Path,
    fields: Sequence[Field],
    max_bytes: int,
    passed: Passed,
    trouble: Trouble,
    *,
    like: Sequence[Mapping[str, Any]] = (),
    extra: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
) -> Iterator[Columns]:
    """Yield the fields of the rows, some thousand rows at a time.

    `like` are rows that show the type of each field. `extra` makes further columns from a whole
    row; it needs all fields, so each line is parsed by itself.
    """
    schema = None if extra else _schema(fields, like)
    with text_bytes(path, max_bytes, passed) as stream:
        for first_line, block in _blocks(path, stream, trouble):
            found = None if schema is None else _by_arrow(block, schema, fields)
            yield found or _by_line(block, first_line, fields, extra, trouble)


def _blocks(
    path: Path, stream: io.BufferedReader[Any], trouble: Trouble
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, some megabytes at a time, and the number of the first of them."""
    line, rest, ended = 1, b"", False
    while not ended:
        parts = [rest]
        size = len(rest)
        while size < BLOCK or b"\n" not in parts[-1]:
            piece = _piece(stream, trouble)
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


def _piece(stream: io.BufferedReader[Any], trouble: Trouble) -> bytes:
    try:
        return stream.read1(1 << 16)
    except (EOFError, zlib.error):  # a gzip file that is cut short or damaged after this point
        trouble.cut = "the file is cut short; the intact part was read"
        return b""


def _schema(fields: Sequence[Field], like: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    tree: dict[str, Any] = {}
    for wanted in fields:
        branch = tree
        for key in wanted.path[:-1]:
            branch = branch.setdefault(key, {})
        seen = next((v for row in like if (v := part(row, *wanted.path)) is not None), None)
        branch[wanted.path[-1]] = _type(pa, wanted, seen)
    return pa.schema(list(_typed(pa, tree)))


def _type(pa: Any, wanted: Field, seen: object) -> Any:
    if wanted.kind == "score":
        return pa.bool_() if isinstance(seen, bool) else pa.float64()
    return pa.int64() if type(seen) is int else pa.string()


def _typed(pa: Any, tree: Mapping[str, Any]) -> Iterator[Any]:
    for key, value in tree.items():
        yield pa.field(
            key, pa.struct(list(_typed(pa, value))) if isinstance(value, dict) else value
        )


def _by_arrow(block: bytes, schema: Any, fields: Sequence[Field]) -> Columns | None:
    """Return the columns of a block; None if it does not fit the schema, or lines are invalid."""
    import pyarrow as pa
    import pyarrow.json as pj

    try:
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        found = {wanted.name: _column(pa, table, wanted) for wanted in fields}
    except (pa.ArrowException, ValueError):
        return None
    return found if _one_row_a_line(block, table.num_rows) else None


def _column(pa: Any, table: Any, wanted: Field) -> list[Any]:
    import pyarrow.compute as pc

    column = table.column(wanted.path[0])
    for key in wanted.path[1:]:
        column = pc.struct_field(column, key)
    if wanted.kind != "score" and not pa.types.is_string(column.type):
        column = pc.cast(column, pa.string())
    elif wanted.kind == "name" and not _all_names(pc, column):
        return [as_name(text) for text in column.to_pylist()]
    found: list[Any] = column.to_pylist()
    return found


def _all_names(pc: Any, column: Any) -> bool:
    """Return True if every text is certainly a name, so that none needs a check."""
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    visible = pc.all(pc.match_substring_regex(column, "[!-~]")).as_py()
    return longest <= LONGEST_NAME and visible is not False


def _one_row_a_line(block: bytes, rows: int) -> bool:
    """Return True if every line holds exactly one row."""
    if rows == block.count(b"\n") + (not block.endswith(b"\n")):
        return True
    return rows == sum(1 for line in block.split(b"\n") if line.strip())


def _by_line(
    block: bytes,
    first_line: int,
    fields: Sequence[Field],
    extra: Callable[[dict[str, Any]], Mapping[str, Any]] | None,
    trouble: Trouble,
) -> Columns:
    rows: list[dict[str, Any]] = []
    whole = block.endswith(b"\n")
    lines = block.split(b"\n")
    for number, text in enumerate(lines, start=first_line):
        if not text.strip():
            continue
        record = _record(text)
        if record is not None:
            more = extra(record) if extra else {}
            rows.append({f.name: _value(f, part(record, *f.path)) for f in fields} | dict(more))
        elif not whole and number == first_line + len(lines) - 1:
            trouble.cut = trouble.cut or f"the last line, {number:,}, is cut short"
        else:
            trouble.broken.append(number)
    names = [f.name for f in fields] if not rows else list(rows[0])
    return {name: [row[name] for row in rows] for name in names}


def _value(wanted: Field, value: object) -> Any:
    if wanted.kind == "score":
        return as_score(value)
    if wanted.kind == "flag":
        return bool(value)
    if wanted.kind == "text":
        return value if isinstance(value, str) else None
    return as_name(value)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
