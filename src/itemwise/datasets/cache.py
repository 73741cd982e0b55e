"""Where downloads are kept: checked by content, whole or absent."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from itemwise.errors import FileError
from itemwise.files import (
    PathLike,
    make_folder,
    read_json,
    readable_file,
    require_keys,
    write_bytes,
    write_json,
)
from itemwise.words import shown

MAX_BYTES = 4 * 1024**3


def cache_folder(cache: PathLike | None = None) -> Path:
    """The folder given, that of ITEMWISE_CACHE, or the usual place of this system."""
    given = cache or os.environ.get("ITEMWISE_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "itemwise"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/itemwise").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "itemwise"


def keep(path: Path, kind: str, payload: dict[str, Any]) -> None:
    """Write a document of the cache."""
    make_folder(path.parent)
    write_json(path, kind, 1, payload)


def kept(path: Path, kind: str, shape: Mapping[str, Any]) -> dict[str, Any] | None:
    """A document of the cache; None where there is none. A damaged one is a `FileError`.

    `shape` has the type of each value; [type] is a list of such values.
    """
    if not path.exists():
        return None
    document = read_json(path, kind, 1, max_bytes=1 << 24)
    require_keys(path, document, shape)
    for key, wanted in shape.items():
        if not _fits(document[key], wanted):
            raise FileError(f"'{path}' says {key} is {shown(document[key])}. Delete it.")
    return document


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(value, list) and all(_fits(one, wanted[0]) for one in value)
    return isinstance(value, wanted) and not isinstance(value, bool)


def keep_file(path: Path, content: bytes) -> str:
    """Write a file of the cache; its SHA-256 goes into the document that speaks of it."""
    make_folder(path.parent)
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def check_file(path: Path, sha256: str) -> None:
    """Refuse a file that is no longer what was downloaded."""
    with readable_file(path, MAX_BYTES).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise FileError(
            f"'{path}' is not the file that was downloaded: its content has changed. Delete it."
        )
