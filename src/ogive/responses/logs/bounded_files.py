"""ZIP archives and JSON documents of unknown origin, read within bounds.

Nothing is ever written to disk. Members of an archive are bounded in number and in size, as stated
and as found; zstd members are read too, which Python supports only from 3.14. Small JSON documents
are parsed whole, long lists piece by piece.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TextIO

from ogive.byte_limits import TO_RAISE, VARIABLE
from ogive.errors import FileError
from ogive.files import JSON_ESCAPE, readable_file, size_for_people
from ogive.words import shown

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
        """The JSON members of a folder, sorted."""
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
        """The stored bytes of a member, after its own header."""
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
    """The content, cut off one byte after the size that the archive states."""
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
    """JSON in which half of a surrogate pair, which is no character, is spelled out instead.

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
        """The values of a list, one by one."""
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
