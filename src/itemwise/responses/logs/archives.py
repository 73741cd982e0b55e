"""ZIP archives from strangers, also with zstd members, which Python reads itself only from 3.14.

Nothing is ever written to disk. Members are bounded in number and in size, as stated and as found.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from itemwise.errors import FileError
from itemwise.files import size_for_people
from itemwise.words import shown

MOST_MEMBERS = 500_000
LARGEST_MEMBER = 512 * 1024**2  # bytes
ZSTD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTD)
_NO_ARCHIVE = (
    *(zipfile.BadZipFile, NotImplementedError, struct.error, EOFError, ValueError),
    *(OSError, OverflowError, MemoryError),  # of a directory that states absurd places and sizes
)
_LOCAL_HEADER = 30
_STEP = 1 << 18


class Archive:
    """The members of an archive, by name."""

    def __init__(self, path: Path, file: BinaryIO, members: list[zipfile.ZipInfo]) -> None:
        self.path, self._file = path, file
        self._members = {member.filename: member for member in members}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, folder: str) -> list[str]:
        """The JSON members of a folder, sorted."""
        return sorted(
            name for name in self._members if name.startswith(folder) and name.endswith(".json")
        )

    def read(self, name: str, limit: int = LARGEST_MEMBER) -> bytes:
        """The whole of a member, as long as its archive says, and whole by its checksum."""
        member = self._members[name]
        where = f"'{self.path}', member {shown(name)}"
        if member.file_size > limit:
            raise FileError(
                f"{where} unpacks to {size_for_people(member.file_size)}, and the limit is "
                f"{size_for_people(limit)}. It is damaged, or no log."
            )
        if member.flag_bits & 0x1:
            raise FileError(f"{where} is encrypted.")
        if member.compress_type not in _METHODS:
            raise FileError(
                f"{where} is packed by method {member.compress_type}, which is unknown."
            )
        try:
            content = _unpacked(member, self._packed(member))
        except (OSError, EOFError, ValueError, zlib.error, struct.error) as error:
            raise FileError(f"{where} cannot be unpacked: {error}. Copy the file again.") from error
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise FileError(f"{where} is not what its archive says: it is damaged, or a trap.")
        return content

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they are stored, behind its own header."""
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
def opened(path: Path, max_bytes: int) -> Iterator[Archive]:
    """The archive, once the names and sizes that it states are known to be sane."""
    with path.open("rb") as file:
        try:
            members = zipfile.ZipFile(file).infolist()
        except _NO_ARCHIVE as why:
            raise FileError(
                f"'{path}' is no intact ZIP archive: {why}. It was cut short, or the run that "
                "writes it has not ended."
            ) from why
        _check(path, members, max_bytes)
        yield Archive(path, file, members)


def _check(path: Path, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
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
                "It is no log; do not unpack it."
            )
    size = sum(member.file_size for member in members)
    if size > max_bytes:
        raise FileError(
            f"'{path}' unpacks to {size_for_people(size)}, and the limit is "
            f"{size_for_people(max_bytes)}. If you trust the file, pass a larger max_bytes."
        )


def _unpacked(member: zipfile.ZipInfo, packed: bytes) -> bytes:
    """At most one byte more than the archive states, however much there is."""
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
        while size < limit and (piece := stream.read(min(_STEP, limit - size))):
            found.append(piece)
            size += len(piece)
    return b"".join(found)
