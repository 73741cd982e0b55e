"""Rows of a table that is larger than memory, in a temporary file: what is asked for is read.

The file has no name, so that nothing of it stays, however the process ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._files import PathLike, size_for_people
from ogive.errors import FileError
from ogive.stats.array_backend import Array, as_array


class _Descriptor:
    """An open file that is closed with the last object that may read it."""

    def __init__(self, number: int) -> None:
        self.number, self.lock = number, threading.Lock()
        weakref.finalize(self, os.close, number)


class StoredRows:
    """A table of which `rows[first:last]` reads some rows, to a `device` if there is one."""

    def __init__(
        self, file: _Descriptor, shape: tuple[int, int], dtype: Any, device: str | None = None
    ) -> None:
        self._file, self.shape, self.dtype = file, shape, np.dtype(dtype)
        self._device = device

    def on(self, device: str | None) -> StoredRows:
        """Return the same rows, read to a device."""
        return StoredRows(self._file, self.shape, self.dtype, device)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.shape[0] * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.shape[1] * int(self.dtype.itemsize)

    def __getitem__(self, rows: slice) -> Array:
        """Return some rows as an array; single rows are read if there are gaps between them."""
        first, last, step = rows.indices(self.shape[0])
        if step == 1:
            return as_array(self._read(first, max(first, last)), self._device)
        return as_array(self.take(np.arange(first, last, step)), self._device)

    def take(self, places: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows at these places."""
        found = np.empty((len(places), self.shape[1]), dtype=self.dtype)
        for k, row in enumerate(places.tolist()):
            found[k] = self._read(row, row + 1)
        return found

    def _read(self, first: int, last: int) -> NDArray[Any]:
        count, start = (last - first) * self.row_bytes, first * self.row_bytes
        found = np.empty((last - first, self.shape[1]), dtype=self.dtype)
        view = found.reshape(-1).view(np.uint8).data if count else memoryview(b"")
        done = 0
        while done < count:
            got = self._fill(view[done:], start + done)
            if not got:
                raise FileError(
                    "The temporary file of scanned responses ended too early. Scan them again."
                )
            done += got
        return found

    def _fill(self, view: memoryview, start: int) -> int:
        if hasattr(os, "preadv"):  # threads read side by side
            return os.preadv(self._file.number, [view], start)
        with self._file.lock:
            os.lseek(self._file.number, start, os.SEEK_SET)
            got = os.read(self._file.number, len(view))
        view[: len(got)] = got
        return len(got)


class RowWriter:
    """Collects blocks of rows in a temporary file."""

    def __init__(self, n_items: int, dtype: Any, folder: PathLike | None = None) -> None:
        self._n_items, self._dtype, self._n_rows = n_items, np.dtype(dtype), 0
        self._folder = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                self._file = _Descriptor(os.dup(file.fileno()))
        except OSError as error:
            raise FileError(self._said(error)) from error

    def append(self, block: NDArray[Any]) -> None:
        """Add rows at the end."""
        try:
            view = np.ascontiguousarray(block, dtype=self._dtype).reshape(-1).view(np.uint8).data
            while len(view):
                view = view[os.write(self._file.number, view) :]
        except OSError as error:
            raise FileError(self._said(error)) from error
        self._n_rows += len(block)

    def check_room(self, n_rows: int) -> None:
        """Refuse a table for which the disk has no room, before the work."""
        needed = n_rows * self._n_items * self._dtype.itemsize
        free = shutil.disk_usage(self._folder).free
        if needed > free:
            raise FileError(
                f"Scanned responses need {size_for_people(needed)} of temporary space, but "
                f"'{self._folder}' has {size_for_people(free)}. Name another folder with cache=."
            )

    def finish(self) -> StoredRows:
        """Return the rows, to be read."""
        return StoredRows(self._file, (self._n_rows, self._n_items), self._dtype)

    def _said(self, error: OSError) -> str:
        return (
            f"Scanned responses cannot be kept in '{self._folder}': {error.strerror}. Name "
            "another folder with cache=."
        )
