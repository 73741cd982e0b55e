"""Archives of skops: the same bytes for the same estimator, and none that unpacks without end."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter

from ogive.byte_limits import VARIABLE
from ogive.errors import FileError
from ogive.files import PathLike, size_for_people
from ogive.words import listed

MAX_BYTES = 4 * 1024**3
SCHEMA = "schema.json"
MOST_SCHEMA = 1 << 26  # bytes of the description, each of which needs ten in memory
SMALL, HIGHEST_RATIO = 1 << 27, 100  # what trees and coefficients compress to stays far below
EPOCH = (1980, 1, 1, 0, 0, 0)
PLAIN_ENDINGS = (".json", ".npy", ".bin")
_NAMED = re.compile(rb'"file":\s*"([^"\\]*)"')
# Objects are named by where they were in memory, and files after them.
_ADDRESS = re.compile(rb'"__id__": (\d+)|"file": "(\d+)(?=\.)')


def canonical(content: bytes) -> bytes:
    """The same archive, with objects numbered in their order, and without times."""
    places: dict[bytes, int] = {}

    def numbered(match: re.Match[bytes]) -> bytes:
        address = match[1] or match[2]
        place = places.setdefault(address, len(places) + 1)
        return match[0][: -len(address)] + b"%d" % place

    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        schema = _ADDRESS.sub(numbered, old.read(SCHEMA))
        files = {SCHEMA: schema}
        for name in old.namelist():
            address, dot, ending = name.partition(".")
            place = places.get(address.encode())
            if name != SCHEMA:
                files[name if place is None else f"{place}{dot}{ending}"] = old.read(name)
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            new.writestr(entry, files[name], compress_type=zipfile.ZIP_DEFLATED)
    return made.getvalue()


def check_members(path: PathLike, content: bytes, max_bytes: int, noun: str, writer: str) -> None:
    """Refuse an archive that would unpack to more than `max_bytes`, or than a model can.

    The second only up to the usual limit: whoever passes a larger one trusts the file. Members that
    no part of the model names are refused, and so are archives inside, whose sizes are unknown.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            _check_size(path, entries, len(content), max_bytes)
            named = {SCHEMA.encode(), *_NAMED.findall(archive.read(SCHEMA))}
    except FileError:
        raise
    # zlib, zipfile and struct have errors of their own for every way of being damaged
    except Exception as error:
        raise FileError(
            f"'{path}' is not a file of a {noun}, or was cut short: {error}. "
            f"Give a file that {writer} wrote."
        ) from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    others = [name for name in names if name.encode(errors="replace") not in named]
    packed = [name for name in names if not name.endswith(PLAIN_ENDINGS)]
    for found, what in (
        (twice, "more than once"),
        (others, "that belong to no part of the model"),
        (packed, "that cannot be verified"),
    ):
        if found:
            raise FileError(
                f"'{path}' cannot be read as a {noun}: it holds {listed(found, 'file')} {what}. "
                f"Give a file that {writer} wrote."
            )


def _check_size(
    path: PathLike, entries: list[zipfile.ZipInfo], length: int, max_bytes: int
) -> None:
    total, most = sum(entry.file_size for entry in entries), max_bytes
    schema = max((entry.file_size for entry in entries if entry.filename == SCHEMA), default=0)
    if max_bytes <= MAX_BYTES:
        most = min(max_bytes, max(SMALL, HIGHEST_RATIO * length))
        if schema > MOST_SCHEMA:
            total, most = schema, MOST_SCHEMA
    if total > most:
        raised = "a larger max_bytes" if most == max_bytes else f"max_bytes={MAX_BYTES + 1}"
        raise FileError(
            f"'{path}' unpacks to {size_for_people(total)}, and the limit is "
            f"{size_for_people(most)}. If you trust the file, pass {raised}, or set {VARIABLE}."
        )
