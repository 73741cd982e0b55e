"""Responses from delimited text, wide or long, one row in memory at a time.

A row becomes a vector of int8 as soon as it is read, so that a table of 5,000 × 20,000 binary
responses needs about a hundred megabytes. Cells are numbers or empty: nothing is evaluated.
"""

from __future__ import annotations

import itertools
import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import FileError, InputError
from itemwise.responses.response_table import Responses
from itemwise.responses.stored_cells import as_floats, compact, refuse_text, stacked
from itemwise.responses.table_layouts import (
    ITEM_ROWS,
    ExtraCells,
    Found,
    LongColumns,
    is_item,
    long_columns,
    names_and_facts,
    names_rows,
    typed,
)
from itemwise.responses.triples import Collector
from itemwise.tables.text_tables import Rows, delimited_rows, text_lines
from itemwise.words import shown

_BLOCK_CELLS = 1 << 16
_SAMPLE_ROWS = 100  # rows that decide which columns hold text
_WORDS = {
    **dict.fromkeys(["", "na", "n/a", "null", "none", "<na>"], math.nan),
    "true": 1.0,
    "false": 0.0,
}


class Numerals(dict[str, float]):
    """Converts text to numbers, NaN if it is missing, and remembers the results.

    Raises ValueError for text that is not a number.
    """

    def __missing__(self, text: str) -> float:
        value: float | None
        try:
            value = float(text)
        except ValueError:
            value = _WORDS.get(text.strip().lower())
        else:  # Python also reads 1_0, and the digits of every script
            value = value if text.isascii() and "_" not in text else None
        if value is None:
            raise ValueError(text)
        if len(self) < 10_000:  # tables of scores may hold a different text in every cell
            self[text] = value
        return value

    def know(self, text: str) -> bool:
        """Whether the text is a number or missing."""
        try:
            self[text]
        except ValueError:
            return False
        return True


def responses_from_delimited(
    path: Path, kind: str | None, layout: str, max_bytes: int
) -> Responses:
    """Read a wide or long table; see `read_responses` for the rules."""
    with text_lines(path, max_bytes) as lines:
        _, rows = delimited_rows(path, lines)
        _, header = next(rows)
        columns = long_columns(header, layout)
        if columns is not None:
            collector, facts = _collected(header, columns, rows)
            found = Responses.from_triples(collector.triples(max_bytes), kind)
            return found.described(items=facts.of_items, respondents=facts.of_respondents)
        if layout == ITEM_ROWS:
            return _item_rows(path, header, rows, kind)
        return _wide(path, header, rows, kind, layout)


def _wide(path: Path, header: list[str], rows: Rows, kind: str | None, layout: str) -> Responses:
    numerals = Numerals()
    first, table = _first_and_table(header, rows, numerals)
    _check_rows(path, first)
    if len(set(header)) < len(header) and all(map(numerals.know, header)):
        raise FileError(
            f"'{path}' begins with a line of numbers, but its first line should name the items. "
            "Add a line of names."
        )
    if names_rows(header[0], layout) or not all(map(numerals.know, first)):
        return _responses(table, first, header[1:], kind)
    return _responses(_with_first(first, numerals, table), None, header, kind)


def _item_rows(path: Path, header: list[str], rows: Rows, kind: str | None) -> Responses:
    """Read one row per item: columns that describe it, then one column per respondent."""
    start = list(itertools.islice(rows, _SAMPLE_ROWS))
    width = _leading(header, [row for _, row in start])
    cells: list[list[str]] = [[] for _ in range(width)]

    def cut() -> Rows:
        for line, row in itertools.chain(start, rows):
            for column, text in zip(cells, row[:width], strict=True):
                column.append(text)
            yield line, row[width - 1 :]

    first, table = _first_and_table(header[width - 1 :], cut(), Numerals(), "item")
    _check_rows(path, first)
    names, facts = names_and_facts(dict(zip(header, cells, strict=False)))
    found = _responses(np.ascontiguousarray(table.T), header[width:], names, kind)
    return found.described(items={name: typed(values) for name, values in facts.items()})


def _leading(header: list[str], start: list[list[str]]) -> int:
    """How many columns describe items: the first, and those after it called item or with text."""
    numerals, width = Numerals(), 1
    while width < len(header) - 1 and (
        is_item(header[width]) or not all(numerals.know(row[width]) for row in start)
    ):
        width += 1
    if len(set(header[:width])) < width:
        raise InputError(
            f"The first {width} columns describe items, but two of them have the same name. "
            "Rename one."
        )
    return width


def _check_rows(path: Path, first: list[str]) -> None:
    if not first:
        raise FileError(
            f"'{path}' has a line of names, but no rows below it. Check how it was made."
        )


def _first_and_table(
    header: list[str],
    rows: Rows,
    numerals: Numerals,
    what: str = "respondent",
) -> tuple[list[str], NDArray[Any]]:
    """The first column as text, all others as numbers."""
    first: list[str] = []
    blocks: list[NDArray[Any]] = []
    width = len(header) - 1
    cells = array("d")

    def close_block() -> None:
        n_rows = len(first) - sum(map(len, blocks))
        blocks.append(compact(np.array(cells).reshape(n_rows, width)))
        del cells[:]

    for line, row in rows:
        try:
            cells.extend(map(numerals.__getitem__, row[1:]))
        except ValueError:
            wrong = next(at for at, text in enumerate(row) if at and not numerals.know(text))
            cell = f"Line {line:,} ({what} {shown(row[0])}), column {shown(header[wrong])}"
            refuse_text(cell, row[wrong])
        first.append(row[0])
        if len(cells) > _BLOCK_CELLS:
            close_block()
    close_block()
    return first, stacked(blocks)


def _with_first(first: list[str], numerals: Numerals, table: NDArray[Any]) -> NDArray[Any]:
    """The table with its first column, which holds responses too."""
    column = compact(np.fromiter((numerals[text] for text in first), np.float64))[:, None]
    if column.dtype == table.dtype:
        return np.hstack([column, table])
    return np.hstack([as_floats(column), as_floats(table)])


def _responses(
    table: NDArray[Any], respondents: list[str] | None, items: list[str], kind: str | None
) -> Responses:
    if table.dtype == np.int8:
        return Responses.from_codes(table, respondents, items, kind)
    return Responses(table, respondents, items, kind)


def _collected(header: list[str], columns: LongColumns, rows: Rows) -> tuple[Collector, Found]:
    """The responses, and the facts in the other columns."""
    numerals, collector, extras = Numerals(), Collector(), ExtraCells(header, columns)
    for line, row in rows:
        respondent, item, text = (row[column] for column in columns)
        if not numerals.know(text):
            refuse_text(f"Line {line:,}, column {shown(header[columns.response])}", text)
        if not respondent or not item:
            lacking = header[columns.item if respondent else columns.respondent]
            raise InputError(
                f"Line {line:,} has nothing in column {shown(lacking)}. "
                "Every response needs a respondent and an item."
            )
        collector.add(respondent, item, numerals[text])
        extras.add(respondent, item, row)
    return collector, extras.found()
