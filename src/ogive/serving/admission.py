"""Who may ask, and how often: API keys that can be changed while the service runs, and rates."""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from ogive.byte_limits import most_bytes
from ogive.errors import FileError, InputError
from ogive.files import PathLike, readable_file

MOST_BYTES = 1 << 20  # of a file of keys
SECONDS_BETWEEN_LOOKS = 1.0
MOST_SENDERS = 10_000  # whose rates are remembered


class Keys:
    """The keys that open the service: one that is given, or the lines of a file.

    The file is read again when it has changed, so that keys are replaced without a stop: add the
    new one, let its users change, remove the old one. If it cannot be read, the keys stay.
    """

    def __init__(self, key: str | None = None, file: PathLike | None = None) -> None:
        if key is not None and not key.strip():
            raise InputError("The API key is empty. Give a longer one, or none at all.")
        self._path = None if file is None else Path(file)
        self._given = () if key is None else (_digest(key.encode()),)
        self._keys, self._stamp, self._next = self._given, (0, 0), 0.0
        if self._path is not None:
            self._keys = (*self._given, *self._read(self._path))

    @property
    def needed(self) -> bool:
        """Whether requests need a key."""
        return bool(self._keys)

    def holder(self, given: bytes) -> bytes | None:
        """Digest of a key that is accepted, or None; all keys are compared, in constant time."""
        self._look()
        wanted = _digest(given)
        same = [hmac.compare_digest(wanted, key) for key in self._keys]
        return wanted if any(same) else None

    def _look(self) -> None:
        if self._path is None or monotonic() < self._next:
            return
        self._next = monotonic() + SECONDS_BETWEEN_LOOKS
        try:
            told = self._path.stat()
            if (told.st_mtime_ns, told.st_size) != self._stamp:
                self._keys = (*self._given, *self._read(self._path))
        except OSError:  # FileError among them: it is being replaced
            return

    def _read(self, path: Path) -> list[bytes]:
        told = readable_file(path, most_bytes(None, MOST_BYTES)).stat()
        found = [_digest(line) for line in map(bytes.strip, path.read_bytes().splitlines()) if line]
        if not found:
            raise FileError(f"'{path}' holds no API key. Write one per line.")
        self._stamp = told.st_mtime_ns, told.st_size
        return found


def _digest(key: bytes) -> bytes:
    """Of equal length for all keys, and no key itself."""
    return hashlib.sha256(key).digest()


class Rates:
    """So many requests per second for each sender, and as many at once."""

    def __init__(self, per_second: float | None, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def allows(self, sender: object) -> bool:
        """Count a request; False if its sender has sent too many."""
        if self._rate is None:
            return True
        now, most = self._clock(), max(self._rate, 1.0)
        left, last = self._left.pop(sender, (most, now))
        left = min(most, left + (now - last) * self._rate)
        allowed = left >= 1
        self._left[sender] = (left - allowed, now)
        if len(self._left) > MOST_SENDERS:
            self._left.popitem(last=False)
        return allowed
