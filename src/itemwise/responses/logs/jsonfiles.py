"""JSON documents of any size, read within bounds: small ones whole, long lists piece by piece."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from itemwise.errors import FileError
from itemwise.files import readable_file, size_for_people

SMALL = 64 * 1024**2  # bytes of a document that is parsed whole, and of one piece of a long one
MOST_PARTS = 4_000_000  # lists and objects in it: each takes 25 times the memory of its two bytes
_STEP = 1 << 20
_SPACE = " \t\n\r"
_NAMES = {"[": "a list", "{": "an object"}
_PLAIN = '"-0123456789tfn'
_DECODER = json.JSONDecoder()


def loads(content: bytes) -> Any:
    """The value of a document; a ValueError if it is broken, or has too many parts."""
    if content.count(b"[") + content.count(b"{") > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS:,} lists and objects")
    return json.loads(content)


def parsed(content: bytes, where: str) -> Any:
    """The value of a document; a `FileError` that says where it stood if it is broken."""
    try:
        return loads(content)
    except RecursionError as error:
        raise FileError(f"{where} is nested too deeply to be a log.") from error
    except ValueError as error:
        raise FileError(
            f"{where} is not valid JSON: {error}. It was cut short or edited."
        ) from error


def small_json(path: Path, max_bytes: int) -> dict[str, Any]:
    """What a file beside a log tells; nothing where it is missing, broken or too large."""
    try:
        file = readable_file(path, min(SMALL, max_bytes))
        found = parsed(file.read_bytes(), f"'{path}'")
    except FileError:
        return {}
    return found if isinstance(found, dict) else {}


class Pieces:
    """Walks through one JSON document: values are parsed one after the other, never all at once."""

    def __init__(self, stream: BinaryIO | io.BufferedReader[Any], where: str) -> None:
        self._stream: TextIO = io.TextIOWrapper(stream, encoding="utf-8-sig")
        self._where = where
        self._text, self._at, self._ended = "", 0, False

    def members(self) -> Iterator[tuple[str, bool]]:
        """The keys of an object, and whether a list follows, which `elements` or `value` takes."""
        self._expect("{")
        if self._next() == "}":
            return
        while True:
            key = self.value()
            self._expect(":")
            yield str(key), self._next() == "["
            if self._comma("}"):
                return

    def elements(self) -> Iterator[Any]:
        """The values of a list, one by one."""
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._comma("]"):
                return

    def value(self) -> Any:
        """The next value as a whole."""
        self._next()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise FileError(f"{self._where} is nested too deeply to be a log.") from error
            except ValueError as error:
                if self._ended:
                    raise self._broken() from error
            else:
                if end < len(self._text) or self._ended:  # a number may go on in the next piece
                    self._at = end
                    return found
            self._more(max(_STEP, len(self._text) - self._at))

    def _comma(self, closing: str) -> bool:
        """Step over what follows a value; whether that was the end."""
        sign = self._next()
        if sign not in (",", closing):
            raise self._broken()
        self._at += 1
        return sign == closing

    def _expect(self, sign: str) -> None:
        found = self._next()
        if found != sign and sign in _NAMES and (found in _NAMES or found in _PLAIN):
            raise FileError(
                f"{self._where} holds {_NAMES.get(found, 'a single value')} where {_NAMES[sign]} "
                "is needed: it is no log."
            )
        if found != sign:
            raise self._broken()
        self._at += 1

    def _next(self) -> str:
        """The next sign that is no space; it stays where it is."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                raise self._broken()
            self._more(_STEP)

    def _check_parts(self) -> None:
        """Refuse what would fill the memory as lists, before it is parsed."""
        if len(self._text) < MOST_PARTS:
            return
        if self._text.count("[") + self._text.count("{") > MOST_PARTS:
            raise FileError(
                f"{self._where} holds a value of more than {MOST_PARTS:,} lists and objects. "
                "It is damaged, or no log."
            )

    def _more(self, size: int) -> None:
        if len(self._text) - self._at > SMALL:
            raise FileError(
                f"{self._where} holds a value of more than {size_for_people(SMALL)}. "
                "It is damaged, or no log."
            )
        try:
            piece = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise FileError(f"{self._where} is not UTF-8 text. It is damaged.") from error
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + piece, 0
        self._check_parts()

    def _broken(self) -> FileError:
        near = self._text[self._at : self._at + 20]
        what = f"near {near!r}" if near else "at its end"
        return FileError(f"{self._where} is not valid JSON {what}. It was cut short or edited.")
