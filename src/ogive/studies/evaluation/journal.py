"""ResponseJournal: responses on disk as they arrive, one JSON line each."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from ogive.byte_limits import most_bytes
from ogive.errors import FileError
from ogive.files import PathLike, readable_file

SCHEMA, VERSION = "ogive/adaptive-journal", 1
MAX_BYTES = 256 * 1024**2


class ResponseJournal:
    """A file with the settings of an evaluation, then one line per response.

    A line is on disk (flushed and synced) before the response counts. `responses` are those found
    when the file was opened: item and response, None if the item could not be answered. While it is
    open, no other evaluation can open it.
    """

    def __init__(self, path: PathLike, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        heading = {"schema": SCHEMA, "version": VERSION, **settings}
        self.responses: list[tuple[str, float | None]] = []
        with ExitStack() as stack:
            self._file = stack.enter_context(self._opened())
            stack.enter_context(only_one(self._file, self.path))
            if self._is_new(_line(heading)):
                self._begin(_line(heading))
            else:
                self.responses = self._read(heading)
            self._open = stack.pop_all()

    def _opened(self) -> BinaryIO:
        """Open the file; create it if it does not exist."""
        try:
            if self.path.exists() and not self.path.is_file():
                readable_file(
                    self.path, most_bytes(None, MAX_BYTES)
                )  # raises an error that says why
            # Unbuffered: what a full disk refused must not be tried again when the file is closed.
            return self.path.open("ab", buffering=0)
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"The journal '{self.path}' cannot be written: {error.strerror}."
            ) from error

    def _begin(self, line: bytes) -> None:
        """Write the first line, replacing one that was cut off."""
        self._write(line, "The journal could not be started", whole=True)

    def add(self, item: str, response: float | None) -> None:
        """Write a response to disk."""
        line = _line({"item": item, "response": response})
        self._write(line, f"The response to {item!r:.60} could not be saved")

    def _write(self, line: bytes, trouble: str, *, whole: bool = False) -> None:
        rest = memoryview(line)
        try:
            if whole:
                self._file.truncate(0)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise FileError(
                f"{trouble} in '{self.path}': {error.strerror}. Free some disk space; earlier "
                "responses are safe."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def _is_new(self, line: bytes) -> bool:
        """Whether the file is empty, or holds only a first line that was cut off."""
        return self.path.stat().st_size < len(line) and line.startswith(self.path.read_bytes())

    def _read(self, heading: Mapping[str, Any]) -> list[tuple[str, float | None]]:
        """Read the responses so far; a last line that was cut off is removed."""
        content = readable_file(self.path, most_bytes(None, MAX_BYTES)).read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        self._refuse_unless_same(self._parsed(lines[0], 1) if lines else None, heading)
        found: dict[str, float | None] = {}
        for number, text in enumerate(lines[1:], start=2):
            item, response = self._entry(self._parsed(text, number), number)
            if item in found:
                raise FileError(
                    f"'{self.path}', line {number:,}: {item!r:.60} occurs twice. The journal was "
                    "edited, or written by two evaluations at once; start a new one."
                )
            found[item] = response
        if len(whole) < len(content):
            try:
                self._file.truncate(len(whole))
            except OSError as error:
                raise FileError(
                    f"The journal '{self.path}' cannot be written: {error.strerror}."
                ) from error
        return list(found.items())

    def _refuse_unless_same(self, found: Any, heading: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise FileError(
                f"'{self.path}' is not the journal of an adaptive evaluation. Name another file; "
                "this one was not changed."
            )
        other = [name for name in heading if found.get(name) != heading[name]]
        if other:
            name = other[0]
            raise FileError(
                f"'{self.path}' is the journal of another evaluation: its {name} is "
                f"{found.get(name)!r:.60}, but here it is {heading[name]!r:.60}. Use the settings "
                "it was started with, or name another file."
            )

    def _parsed(self, text: bytes, number: int) -> Any:
        try:
            return json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"'{self.path}', line {number:,} is not JSON: {text[:40]!r}. The journal is "
                "damaged; restore a copy, or start a new one."
            ) from error

    def _entry(self, found: Any, number: int) -> tuple[str, float | None]:
        if isinstance(found, dict) and isinstance(found.get("item"), str) and "response" in found:
            response = found["response"]
            number_given = isinstance(response, int | float) and not isinstance(response, bool)
            if response is None or (number_given and math.isfinite(response)):
                return found["item"], response
        raise FileError(
            f"'{self.path}', line {number:,} is not a response: a line should hold an item and "
            "the response as a number, or null. Restore a copy, or start a new journal."
        )


@contextmanager
def only_one(file: BinaryIO, path: Path) -> Iterator[None]:
    """Lock a file against other evaluations; the system unlocks it when the process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows: a file beside it serves as the lock
        with _marked(path):
            yield
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(_taken(path)) from error
    except OSError:  # a file system without locks
        with _marked(path):
            yield
        return
    yield


@contextmanager
def _marked(path: Path) -> Iterator[None]:
    mark = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError as error:
        raise FileError(
            f"{_taken(path)} If none is running, the last one was killed: delete '{mark}'."
        ) from error
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _taken(path: Path) -> str:
    return (
        f"Another evaluation is writing the journal '{path}'. Wait for it, or name another file: "
        "one journal belongs to one respondent."
    )


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"
