"""Files that are being written, beside where they will be; what killed writers left is removed.

A writer locks its part before it writes, and until it is renamed. So an unlocked part has no writer
any more, whatever the clock says, and the next writer in that folder removes it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PATTERN = ".ogive-*.part"
SECONDS_UNLOCKED = 86_400  # before a part counts as left behind, where files cannot be locked
_swept: set[Path] = set()


@contextmanager
def part_beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file, which is to be renamed to `target`; it is removed if it was not.

    Parts that were left there are removed first.
    """
    _sweep(target.parent)
    file, path = _created(target)
    try:
        with file:
            yield file, path
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Remove a part, if it is still there and may be removed."""
    with suppress(OSError):  # a read-only file system refuses what is not there as well
        path.unlink(missing_ok=True)


def lock(descriptor: int) -> bool | None:
    """Lock an open file; False if somebody else has, None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _created(target: Path) -> tuple[BinaryIO, Path]:
    """Create and lock a part; again, if somebody swept it before it was locked."""
    # Opened by hand, so that the umask decides the permissions; tempfile would always use 0600.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = target.with_name(f".ogive-{secrets.token_hex(6)}.part")
        file = os.fdopen(os.open(path, flags, 0o666), "w+b")
        locked = lock(file.fileno())
        if locked is None or (locked and os.fstat(file.fileno()).st_nlink):
            return file, path
        file.close()


def _sweep(folder: Path) -> None:
    """Remove parts whose writers are gone, once per folder and process."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for path in folder.glob(PATTERN):
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        locked = lock(descriptor)
        if locked is None:
            # A part from the future was left before the clock was set back.
            locked = abs(time.time() - os.fstat(descriptor).st_mtime) > SECONDS_UNLOCKED
        if locked:
            remove(path)  # while it is locked, so that its writer sees that it is gone
    finally:
        os.close(descriptor)
