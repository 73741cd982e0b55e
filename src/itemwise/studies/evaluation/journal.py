"""Responses on disk as they come in: one JSON line each, so that nothing is asked twice."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from itemwise.errors import FileError
from itemwise.files import PathLike, readable_file, write_bytes

SCHEMA, VERSION = "itemwise/adaptive-journal", 1
MAX_BYTES = 256 * 1024**2


class AnswerJournal:
    """A file that begins with what the evaluation is, and grows by a line a response.

    A line is on disk (flushed and synced) before the response counts. `answers` are those found
    when it was opened: item and response, None for an item that could not be answered.
    """

    def __init__(self, path: PathLike, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        heading = {"schema": SCHEMA, "version": VERSION, **settings}
        line = _line(heading)
        self.answers: list[tuple[str, float | None]] = []
        if self._is_new(line):
            write_bytes(self.path, line)
        else:
            self.answers = self._read(heading)
        try:
            self._file: BinaryIO = self.path.open("ab")
        except OSError as error:
            raise FileError(f"The journal '{path}' cannot be written: {error.strerror}.") from error

    def add(self, item: str, response: float | None) -> None:
        """Keep a response, safely, before anything is done with it."""
        try:
            self._file.write(_line({"item": item, "response": response}))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise FileError(
                f"The response to {item!r} could not be kept in '{self.path}': {error.strerror}. "
                "Free some space; the responses before it are safe."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def _is_new(self, line: bytes) -> bool:
        """Whether there is nothing yet, or a first line that was cut while it was written."""
        if not self.path.exists():
            return True
        if self.path.is_file() and self.path.stat().st_size < len(line):
            return line.startswith(self.path.read_bytes())
        return False

    def _read(self, heading: Mapping[str, Any]) -> list[tuple[str, float | None]]:
        """The responses so far; a last line that was cut is taken off."""
        content = readable_file(self.path, MAX_BYTES).read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        self._refuse_unless_same(self._parsed(lines[0], 1) if lines else None, heading)
        found: dict[str, float | None] = {}
        for number, text in enumerate(lines[1:], start=2):
            item, response = self._entry(self._parsed(text, number), number)
            if item in found:
                raise FileError(
                    f"'{self.path}', line {number:,}: {item!r:.60} is there twice. The journal was "
                    "edited, or written by two evaluations at once; begin a new one."
                )
            found[item] = response
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        return list(found.items())

    def _refuse_unless_same(self, found: Any, heading: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise FileError(
                f"'{self.path}' is no journal of an adaptive evaluation. Name another file; this "
                "one was left as it is."
            )
        other = [name for name in heading if found.get(name) != heading[name]]
        if other:
            name = other[0]
            raise FileError(
                f"'{self.path}' is the journal of another evaluation: its {name} is "
                f"{found.get(name)!r:.60}, but here it is {heading[name]!r:.60}. Give the settings "
                "with which it was begun, or name another file."
            )

    def _parsed(self, text: bytes, number: int) -> Any:
        try:
            return json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"'{self.path}', line {number:,} is no JSON: {text[:40]!r}. The journal was "
                "damaged; restore a copy, or begin a new one."
            ) from error

    def _entry(self, found: Any, number: int) -> tuple[str, float | None]:
        if isinstance(found, dict) and isinstance(found.get("item"), str) and "response" in found:
            response = found["response"]
            number_given = isinstance(response, int | float) and not isinstance(response, bool)
            if response is None or number_given:
                return found["item"], response
        raise FileError(
            f"'{self.path}', line {number:,} is no response: a line should hold an item and the "
            "number that it was answered with, or null. Restore a copy, or begin a new journal."
        )


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"
