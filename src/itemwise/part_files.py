"""Files that are being written, beside where they will be; what killed writers left is removed."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

PATTERN = ".itemwise-*.part"
SECONDS_UNTOUCHED = 60  # before a part can be taken for one that was left behind
SECONDS_UNLOCKED = 86_400  # the same, where files cannot be locked
_swept: set[Path] = set()


def part_beside(target: Path) -> Path:
    """A new name for what will be renamed to `target`; parts that were left there are removed."""
    _sweep(target.parent)
    return target.with_name(f".itemwise-{secrets.token_hex(6)}.part")


def lock(descriptor: int) -> bool:
    """Lock an open file, so that others see that its writer lives; False if it is taken."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # taken, or a file system without locks
        return False
    return True


def remove(path: Path) -> None:
    """Remove a part, if it is still there and may be removed."""
    with suppress(OSError):  # a read-only file system refuses what is not there as well
        path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove parts whose writers are gone, once per folder and process."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for path in folder.glob(PATTERN):
            if _is_left_behind(path):
                remove(path)


def _is_left_behind(path: Path) -> bool:
    with suppress(OSError):
        age = time.time() - path.stat().st_mtime
        if age > SECONDS_UNLOCKED:
            return True
        if age > SECONDS_UNTOUCHED:
            descriptor = os.open(path, os.O_RDWR)
            try:
                return lock(descriptor)
            finally:
                os.close(descriptor)
    return False
