"""Archives of skops: the same bytes for the same estimator, and none that unpacks without end."""

from __future__ import annotations

import io
import re
import zipfile

from itemwise.errors import FileError
from itemwise.files import PathLike, size_for_people

MAX_BYTES = 4 * 1024**3
SCHEMA = "schema.json"
MOST_SCHEMA = 1 << 26  # bytes of the description, each of which needs ten in memory
SMALL, HIGHEST_RATIO = 1 << 27, 100  # what trees and coefficients compress to stays far below
EPOCH = (1980, 1, 1, 0, 0, 0)
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


def check_size(path: PathLike, content: bytes, max_bytes: int, noun: str, writer: str) -> None:
    """Refuse an archive that would unpack to more than `max_bytes`, or than a model can.

    The second only up to the usual limit: whoever passes a larger one trusts the file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise FileError(
            f"'{path}' is not a file of a {noun}, or was cut short: {error}. "
            f"Give a file that {writer} wrote."
        ) from error
    total, most = sum(sizes.values()), max_bytes
    if max_bytes <= MAX_BYTES:
        most = min(max_bytes, max(SMALL, HIGHEST_RATIO * len(content)))
        if sizes.get(SCHEMA, 0) > MOST_SCHEMA:
            total, most = sizes[SCHEMA], MOST_SCHEMA
    if total > most:
        raised = "a larger max_bytes" if most == max_bytes else f"max_bytes={MAX_BYTES + 1}"
        raise FileError(
            f"'{path}' unpacks to {size_for_people(total)}, and the limit is "
            f"{size_for_people(most)}. If you trust the file, pass {raised}."
        )
