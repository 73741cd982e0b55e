"""Disks that are full or read only, for `faults.py`: small file systems in memory, or a limit."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from fault_bench import Place

MOUNT, UMOUNT = shutil.which("mount") or "", shutil.which("umount") or ""


class SmallDisk:
    """A tmpfs of few pages."""

    def allow(self, room: int, largest: int, place: Place) -> dict[str, int]:
        """Leave so much room beside what lies there."""
        del largest
        used = shutil.disk_usage(place.home / "out").used
        remount(place, f"size={max(used + room, 4096)}")
        return {}

    def enlarge(self, place: Place) -> None:
        """Make room."""
        remount(place, "size=256m")


class SmallFiles:
    """Files that may not grow, where nothing can be mounted."""

    def allow(self, room: int, largest: int, place: Place) -> dict[str, int]:
        """Let no file grow beyond a part of the largest one."""
        del place
        return {"file_bytes": room % largest}

    def enlarge(self, place: Place) -> None:
        """There is room without the limit."""


@contextmanager
def disk(place: Place) -> Iterator[SmallDisk | SmallFiles]:
    """Mount a disk that can be full."""
    if not CAN_MOUNT:
        yield SmallFiles()
        return
    with mounted(place):
        yield SmallDisk()


@contextmanager
def mounted(place: Place) -> Iterator[None]:
    """Mount a tmpfs for results."""
    out = str(place.home / "out")
    subprocess.run([MOUNT, "-t", "tmpfs", "-o", "size=256m", "tmpfs", out], check=True)
    try:
        yield
    finally:
        subprocess.run([UMOUNT, "-l", out], check=True)


def remount(place: Place, option: str) -> None:
    """Change an option of the tmpfs."""
    out = str(place.home / "out")
    subprocess.run([MOUNT, "-o", f"remount,{option}", out], check=True)


def can_mount() -> bool:
    """Return True if this user may mount file systems."""
    if os.geteuid() or not MOUNT or not UMOUNT:
        return False
    with tempfile.TemporaryDirectory() as folder:
        words = [MOUNT, "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            return False
        return not subprocess.run([UMOUNT, folder], capture_output=True, check=False).returncode


CAN_MOUNT = can_mount()


def how_full() -> str:
    """Return by what the disk is full."""
    return "a small tmpfs" if CAN_MOUNT else "RLIMIT_FSIZE, as nothing may be mounted here"
