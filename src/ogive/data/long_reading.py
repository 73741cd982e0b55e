"""Long tables, one row per response, from the rows of a text file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ogive.data.column_roles import (
    Codes,
    ExtraCells,
    Found,
    Identified,
    LongColumns,
    facts_of_codes,
    identified,
    is_known,
    typed,
)
from ogive.data.long_tables import CHECKED_EVERY, SPREAD, TRIES, Collector
from ogive.data.responses import Responses
from ogive.data.text_files import Numerals, Rows
from ogive.errors import InputError
from ogive.irt.repeated_responses import repeat_notes
from ogive.irt.response_codes import refuse_text
from ogive.results.numbers import shown


@dataclass
class _Coded:
    """The values of a column, numbered in order of appearance."""

    place: int
    known: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("i"))

    def column(self) -> Codes:
        """Return all rows."""
        return Codes(np.frombuffer(self.codes, dtype=np.intc), typed(list(self.known)))


@dataclass
class _Numbers:
    """A column of numbers: tries, or their spread."""

    place: int
    heading: str
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: Sequence[str], line: int, numerals: Numerals) -> None:
        """Add the cell of a row."""
        text = row[self.place]
        if not numerals.know(text):
            refuse_text(f"Line {line:,}, column {shown(self.heading)}", text)
        self.values.append(numerals[text])


def long_from_rows(
    header: Sequence[str], columns: LongColumns, rows: Rows, kind: str | None, max_bytes: int
) -> Responses:
    """Collect responses, tries and facts; see `read_responses` for the rules."""
    plain = [name.strip().lower() for name in header]
    numbers = [
        _Numbers(plain.index(word), header[plain.index(word)])
        for word in (TRIES, SPREAD)
        if word in plain and plain.index(word) not in columns
    ]
    taken = {*columns, *(one.place for one in numbers)}
    coded = [_Coded(at) for at, name in enumerate(header) if at not in taken and is_known(name)]
    slots = [(one.place, one.known, one.codes) for one in coded]
    numerals, collector = Numerals(), Collector()
    extras = ExtraCells(header, (*taken, *(one.place for one in coded)))
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
        if not line % CHECKED_EVERY:
            collector.check_repeats()
        extras.add(respondent, item, row)
        for place, known, codes in slots:
            text = row[place]
            codes.append(known.setdefault(text, len(known)) if text.strip() else -1)
        for column in numbers:
            column.add(row, line, numerals)
    triples = collector.triples(max_bytes)
    told = {header[one.place].strip().lower(): np.frombuffer(one.values) for one in numbers}
    if TRIES in told:
        triples = replace(triples, tries=told[TRIES], spread=told.get(SPREAD))
    columns_told = {header[one.place]: one.column() for one in coded}
    found = identified(triples, columns_told)
    return _long_responses(found, extras.found(), facts_of_codes(columns_told, found.triples), kind)


def _long_responses(found: Identified, facts: Found, known: Found, kind: str | None) -> Responses:
    """The table of triples; `facts` are of the names before they were changed, `known` of now."""
    table = Responses.from_long_table(found.triples, kind)
    announced = found.triples.tries is not None
    said = [] if announced else repeat_notes(table.tries, table.respondents, table.items)
    return table.described(
        items=_renamed(facts.of_items, found.old_items) | known.of_items | dict(found.item_facts),
        respondents=_renamed(facts.of_respondents, found.old_respondents)
        | known.of_respondents
        | dict(found.respondent_facts),
        notes=(*found.notes, *said),
    )


def _renamed(facts: dict[str, dict[str, Any]], old: Sequence[str] | None) -> dict[str, Any]:
    """Return facts by the names before, as lists in the order of the names now."""
    if old is None:
        return dict(facts)
    return {column: [told.get(name) for name in old] for column, told in facts.items()}


def rows_of_records(
    header: Sequence[str], records: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[int, list[str]]]:
    """Yield records of JSON as rows of text; what is missing is empty."""
    for line, record in records:
        yield line, ["" if (cell := record.get(name)) is None else str(cell) for name in header]
