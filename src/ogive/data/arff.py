"""ARFF, dense and sparse, as written by WEKA and OpenML.

Numeric, nominal and text attributes are read. Dates, which have Java formats, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    found: list[Attribute] = []
    for number, text in lines:
        word = text.split(None, 1)[0].lower()
        if word == "@attribute":
            found.append(_attribute(path, number, text))
        elif word.rstrip(",") == "@data":  # as a published scenario writes it
            return _checked(path, found)
        elif word != "@relation":
            raise FileError(
                f"'{path}', line {number:,} is {shown(text)}, but @relation, @attribute or @data "
                "is expected above the data. It is not an ARFF file, or it is damaged."
            )
    raise FileError(f"'{path}' ends before @data: it was cut short, or is not an ARFF file.")


def _checked(path: Path, attributes: list[Attribute]) -> list[Attribute]:
    names = [attribute.name for attribute in attributes]
    if not names:
        raise FileError(f"'{path}' declares no @attribute above @data. Check how it was made.")
    if twice := sorted(repeated(names)):
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
    defaults = [_left_out(attribute) for attribute in attributes]
    height = max(1, _BLOCK_CELLS // len(attributes))
    rows: list[list[Cell]] = []
    numbers: list[int] = []
    n_cells = 0
    for number, text in lines:
        sparse = text.startswith("{") and text.endswith("}")
        row = (
            _sparse_fields(path, number, text, attributes, defaults)
            if sparse
            else _fields(path, number, text)
        )
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
            yield _columns(path, attributes, rows, numbers)
            rows, numbers = [], []
    if rows:
        yield _columns(path, attributes, rows, numbers)


def _left_out(attribute: Attribute) -> Cell:
    if attribute.kind == "nominal":
        return attribute.labels[0]
    return "0" if attribute.kind == "numeric" else None


def _columns(
    path: Path, attributes: list[Attribute], rows: list[list[Cell]], numbers: list[int]
) -> list[NDArray[Any]]:
    return [
        _column(path, attribute, cells, numbers)
        for attribute, cells in zip(attributes, zip(*rows, strict=True), strict=True)
    ]


def _column(
    path: Path, attribute: Attribute, cells: tuple[Cell, ...], numbers: list[int]
) -> NDArray[Any]:
    """Return numbers, codes of nominal values (-1 is missing), or text."""
    try:
        if attribute.kind == "numeric":
            return np.array([nan if cell is None else float(cell) for cell in cells])
        if attribute.kind == "nominal":
            places = attribute.places
            return np.array([-1 if cell is None else places[cell] for cell in cells], dtype=np.intp)
        return np.array(cells, dtype=object)
    except (KeyError, ValueError):
        at = next(at for at, cell in enumerate(cells) if not _fits(attribute, cell))
    expected = (
        "a number"
        if attribute.kind == "numeric"
        else listed(list(attribute.labels), "declared value")
    )
    raise FileError(
        f"'{path}', line {numbers[at]:,}: attribute {shown(attribute.name)} is {shown(cells[at])}, "
        f"but it should be {'' if attribute.kind == 'numeric' else 'one of '}{expected}."
    )


def _fits(attribute: Attribute, cell: Cell) -> bool:
    if cell is None:
        return True
    if attribute.kind == "nominal":
        return cell in attribute.places
    try:
        float(cell)
    except ValueError:
        return False
    return True


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
