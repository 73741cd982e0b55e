"""ARFF, dense and sparse, as written by WEKA and OpenML.

Numeric, nominal and text attributes are read. Dates, which have Java formats, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import TO_RAISE, size_for_people
from ogive.data.text_files import text_lines
from ogive.errors import FileError
from ogive.results.numbers import listed, repeated, shown

# Possessive quantifiers, so that no input makes the search slow.
_QUOTED = r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\""
_FIELD = re.compile(rf"\s*+(?:(?:{_QUOTED})\s*+|((?!['\"])[^,]*+))(,|$)", re.DOTALL)
_CELL = re.compile(rf"\s*+(\d{{1,9}})\s++(?:(?:{_QUOTED})\s*+|((?!['\"])[^,]*+))(,|$)", re.DOTALL)
_ATTRIBUTE = re.compile(rf"@attribute\s++(?:{_QUOTED}|([^\s'\"{{]\S*+))\s*+(.*)", re.I | re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NUMERIC = ("numeric", "real", "integer")
_BLOCK_CELLS = 1 << 16  # cells held as text at a time

Cell = str | None  # None is missing


@dataclass(frozen=True)
class Attribute:
    """A column: its name and type, and the values of a nominal one."""

    name: str
    kind: str  # "numeric", "nominal" or "text"
    labels: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict)


def read_arff(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read the table below @data, with the names and types declared above it."""
    with text_lines(path, max_bytes) as lines:
        numbered = _content(lines)
        attributes = _attributes(path, numbered)
        blocks = list(_blocks(path, numbered, attributes, max_bytes))
    return _frame(attributes, blocks)


def _content(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that is neither blank nor a comment."""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("%"):
            yield number, text


def _attributes(path: Path, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Read the declarations above @data."""
    attributes: list[Attribute] = []
    for number, text in lines:
        word = text.split(None, 1)[0].lower()
        if word == "@attribute":
            attributes.append(_attribute(path, number, text))
        elif word.rstrip(",") == "@data":  # as a published scenario writes it
            break
        elif word != "@relation":
            raise FileError(
                f"'{path}', line {number:,} is {shown(text)}, but @relation, @attribute or @data "
                "is expected above the data. It is not an ARFF file, or it is damaged."
            )
    else:
        raise FileError(f"'{path}' ends before @data: it was cut short, or is not an ARFF file.")
    if not attributes:
        raise FileError(f"'{path}' declares no @attribute above @data. Check how it was made.")
    if twice := sorted(repeated(attribute.name for attribute in attributes)):
        raise FileError(f"'{path}' declares {listed(twice, 'attribute')} twice. Rename one.")
    return attributes


def _attribute(path: Path, number: int, text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise FileError(
            f"'{path}', line {number:,} is {shown(text)}, but it should be: @attribute name type."
        )
    name, kind = _unquoted(match), match[4].strip()
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple("?" if v is None else v for v in _fields(path, number, kind[1:-1]))
        places = {value: code for code, value in enumerate(values)}
        if len(places) < len(values):
            twice = sorted(map(shown, repeated(values)))
            raise FileError(
                f"'{path}', line {number:,}: attribute {shown(name)} declares "
                f"{listed(twice, 'value')} more than once. Remove the repetition."
            )
        return Attribute(name, "nominal", values, places)
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "text")
    advice = "Write it as a number (days or years)." if word == "date" else "Leave it out."
    raise FileError(
        f"'{path}', line {number:,}: attribute {shown(name)} is of type {shown(kind)}, but "
        f"numeric, string and nominal {{a, b}} attributes are read. {advice}"
    )


def _unquoted(match: re.Match[str], first: int = 1) -> str:
    """Return the text of a field, without quotes and the backslashes inside them."""
    for quoted in (match[first], match[first + 1]):
        if quoted is not None:
            return _ESCAPED.sub(r"\1", quoted)
    return match[first + 2].strip()


def _fields(path: Path, number: int, text: str) -> list[Cell]:
    """Return the fields of a dense row; an unquoted question mark is a missing value."""
    if "'" not in text and '"' not in text:
        if "?" not in text and " " not in text and "\t" not in text:
            return list(text.split(","))
        return [None if cell == "?" else cell for cell in map(str.strip, text.split(","))]
    found: list[Cell] = []
    place = 0
    while True:
        match = _FIELD.match(text, place)
        if match is None:
            raise FileError(
                f"'{path}', line {number:,}: a quote is not closed, or text follows it: "
                f"{shown(text[place : place + 40])}. Correct the line."
            )
        value = _unquoted(match)
        found.append(None if match[3] is not None and value == "?" else value)
        if not match[4]:
            return found
        place = match.end()


def _sparse_fields(
    path: Path, number: int, text: str, attributes: list[Attribute], defaults: list[Cell]
) -> list[Cell]:
    """Return the fields of a row like {1 5, 3 'a b'}; missing ones are 0 or the first value."""
    cells = list(defaults)
    inside, place = text[1:-1].strip(), 0
    while place < len(inside):
        match = _CELL.match(inside, place)
        if match is None or int(match[1]) >= len(attributes):
            raise FileError(
                f"'{path}', line {number:,}: {shown(inside[place : place + 40])} is not a cell of "
                f"a sparse row, which is a column from 0 to {len(attributes) - 1:,} and a value."
            )
        value = _unquoted(match, 2)
        cells[int(match[1])] = None if match[4] is not None and value == "?" else value
        place = match.end()
    return cells


def _blocks(
    path: Path, lines: Iterator[tuple[int, str]], attributes: list[Attribute], max_bytes: int
) -> Iterator[list[NDArray[Any]]]:
    """Yield columns of some thousand rows at a time, so that few cells are held as text."""
    # What a sparse row leaves out is 0 or the first value.
    defaults: list[Cell] = [
        each.labels[0] if each.kind == "nominal" else "0" if each.kind == "numeric" else None
        for each in attributes
    ]
    height = max(1, _BLOCK_CELLS // len(attributes))
    rows: list[list[Cell]] = []
    numbers: list[int] = []
    n_cells = 0

    def columns() -> list[NDArray[Any]]:
        cells = zip(attributes, zip(*rows, strict=True), strict=True)
        return [_column(path, attribute, column, numbers) for attribute, column in cells]

    for number, text in lines:
        if text.startswith("{") and text.endswith("}"):
            row = _sparse_fields(path, number, text, attributes, defaults)
        else:
            row = _fields(path, number, text)
        if len(row) != len(attributes):
            raise FileError(
                f"'{path}', line {number:,} has {len(row):,} fields, but {len(attributes):,} "
                "attributes are declared. It was cut short, or text in it lacks its quotes."
            )
        rows.append(row)
        numbers.append(number)
        if len(rows) == height:
            n_cells += height * len(attributes)
            if 8 * n_cells > max_bytes:
                raise FileError(
                    f"'{path}' unpacks to more than {size_for_people(max_bytes)}. {TO_RAISE}"
                )
            yield columns()
            rows, numbers = [], []
    if rows:
        yield columns()


def _column(
    path: Path, attribute: Attribute, cells: tuple[Cell, ...], numbers: list[int]
) -> NDArray[Any]:
    """Return numbers, codes of nominal values (-1 is missing), or text."""
    if attribute.kind == "text":
        return np.array(cells, dtype=object)
    convert: Callable[[str], float] = float
    missing: float = nan
    dtype: Any = np.float64
    expected = "a number"
    if attribute.kind == "nominal":
        convert, missing, dtype = attribute.places.__getitem__, -1, np.intp
        expected = f"one of {listed(list(attribute.labels), 'declared value')}"
    try:
        return np.array([missing if cell is None else convert(cell) for cell in cells], dtype=dtype)
    except (KeyError, ValueError):
        for number, cell in zip(numbers, cells, strict=True):
            if cell is None:
                continue
            try:
                convert(cell)
            except (KeyError, ValueError) as error:
                raise FileError(
                    f"'{path}', line {number:,}: attribute {shown(attribute.name)} is "
                    f"{shown(cell)}, but it should be {expected}."
                ) from error
        raise


def _frame(attributes: list[Attribute], blocks: list[list[NDArray[Any]]]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for at, attribute in enumerate(attributes):
        parts = [block[at] for block in blocks]
        cells = np.concatenate(parts) if parts else np.array([])
        if attribute.kind == "nominal":
            columns[attribute.name] = pd.Categorical.from_codes(
                cells.astype(np.intp), categories=pd.Index(attribute.labels)
            )
        else:
            columns[attribute.name] = cells
    return pd.DataFrame(columns)
