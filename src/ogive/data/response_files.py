"""Responses from files: CSV, TSV, Parquet, JSON Lines, logs of evaluations.

A row of delimited text becomes a vector of int8 as soon as it is read, so that a table of
5,000 × 20,000 binary responses needs about a hundred megabytes. Cells are numbers or empty:
nothing is evaluated.
"""

from __future__ import annotations

import itertools
import json
import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive._files import lone_surrogate, most_bytes, readable_file
from ogive._progress import at_stage
from ogive.data.column_roles import (
    ITEM_ROWS,
    LAYOUTS,
    FactColumns,
    check_items,
    is_corner,
    is_item,
    item_names_and_facts,
    item_rows_note,
    long_columns,
    mistyped_long,
    names_items,
    names_respondents,
    names_rows,
    stated_kind,
    transposed_note,
)
from ogive.data.logs.read_logs import is_log, read_logs
from ogive.data.long_tables import (
    CHECKED_EVERY,
    Collector,
    IdentifiedTable,
    long_from_rows,
    rows_of_records,
)
from ogive.data.names import alike_notes, refuse_many_repeats
from ogive.data.parquet_files import responses_from_parquet
from ogive.data.responses import Responses
from ogive.data.text_files import Numerals, Rows, delimited_rows, text_lines, typed
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import as_floats, checked_kind, compact, number, refuse_text, stacked
from ogive.results.numbers import shown

if TYPE_CHECKING:
    from ogive._files import PathLike
    from ogive._progress import Wanted


MAX_BYTES = 2 * 1024**3
_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines", ".jsonl.gz")
_PARQUET = (".parquet", ".pq")
_BLOCK_CELLS = 1 << 16
_SAMPLE_ROWS = 100  # rows that decide which columns hold text


def read_responses(
    path: PathLike,
    *,
    kind: str | None = None,
    layout: str = "auto",
    max_bytes: int | None = None,
    progress: Wanted = True,
) -> Responses:
    """Read responses from the file at `path`; the end of its name says how.

    `.csv`, `.tsv` (also with `.gz`) and `.parquet` files hold a wide or a long table whose first
    line names the columns; fields are separated by commas, semicolons or tabs, whichever fits.
    `.jsonl` files hold one respondent per line, as py-irt writes them, or one response per line.
    Text is UTF-8. An empty
    cell, NA, NaN, null or None means never asked; True and False are 1 and 0. A folder, or a file
    that is an evaluation log, is read by `read_logs`.

    A *long* table has the columns respondent (or model, subject, ... also with _id), item (or
    question, instance, also with _id) and response (or score, correct, value, grade). Other
    columns become facts of items if all rows of an item agree, such as its task, or else of
    respondents; the rest is ignored. Several rows of one respondent and item, such as epochs, are
    repeated answers; a column tries says how many answers a row stands for. The same item name in
    several tasks is several items. Respondents who were asked the same item with other shots,
    temperature, prompt or filter are respondents of their own.

    Every other table is *wide*: one row per respondent, one column per item. Its first column
    names the respondents if its heading is one of the above, name, id or empty, or if anything in
    it is not a number (in Parquet: if it is not of a numeric type, or is the index that pandas
    stored); otherwise they are named respondent_1, respondent_2, ...

    Columns with names such as params_b, license or average are facts of respondents, unless they
    hold only 0 and 1; a note says so.

    Set `layout` to "wide" or "long" if the column names are misleading. "items" is a transposed
    wide table: one row per item, one column per respondent, as is every wide table whose first
    column is called item or question. In it, further columns of text, or
    called item, before the respondents are facts of items; if the names of items repeat, all of
    these columns make the name, as in sums/12. `kind` is that of `Responses`.

    `max_bytes` limits the file, its unpacked size, and what its rows and cells need; by default it
    is what the environment variable OGIVE_MAX_BYTES says, or 2 GiB. `progress` is
    that of `read_logs`: True, False, or a callable.

    >>> import ogive as og
    >>> from pathlib import Path
    >>> _ = Path("scores.csv").write_text('''model,q1,q2,q3
    ... small,1,0,
    ... large,1,1,0
    ... ''')
    >>> og.read_responses("scores.csv")
    Responses: 2 respondents × 3 items, binary, 1 cell never asked
    """
    checked_kind(kind)
    if layout not in LAYOUTS:
        known = ", ".join(map(shown, LAYOUTS))
        raise InputError(f"`layout` must be one of {known}, got {shown(layout)}.")
    most = most_bytes(max_bytes, MAX_BYTES)
    if isinstance(path, str | os.PathLike) and holds_logs(Path(path), most):
        found = read_logs(path, max_bytes=most, progress=progress).responses
        return found if kind is None else found.of_kind(kind)
    file = readable_file(path, most)
    at_stage(f"reading {file.name}")
    name = file.name.lower()
    try:
        if name.endswith(_DELIMITED):
            found = _read_delimited(file, kind, layout, most)
        elif name.endswith(_JSON_LINES):
            found = _read_json_lines(file, kind, most)
        elif name.endswith(_PARQUET):
            found = responses_from_parquet(file, kind, layout, most)
        else:
            known = ", ".join((*_DELIMITED, *_PARQUET, _JSON_LINES[0]))
            raise FileError(
                f"'{file}' ends in {shown(file.suffix)}, but responses are read from {known}, and "
                "from evaluation logs and folders of them. Convert the file, or rename it if it is "
                "one of these."
            )
    except InputError as error:
        turned = layout != ITEM_ROWS and "respondent names must differ" in str(error)
        hint = " If rows are items, pass layout='items'." if turned else ""
        raise InputError(f"In '{path}': {error}{hint}") from error
    alike = alike_notes(vars(found).get("respondents") or (), found.items)
    return found.described(notes=alike) if alike else found


def holds_logs(path: Path, max_bytes: int) -> bool:
    """Return True if it is a folder or a log; a file with the ending of a table is neither."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where access is denied
        return True
    table = path.name.lower().endswith((*_DELIMITED, *_PARQUET))
    return not table and is_log(path, max_bytes)


_EXPECTED = (
    'One line should read {"subject_id": "name", "responses": {"item": 1}}, '
    'or {"respondent": "name", "item": "item", "response": 1}.'
)


def _read_json_lines(path: Path, kind: str | None, max_bytes: int) -> Responses:
    """Read one respondent per line, or one response per line."""
    with text_lines(path, max_bytes) as lines:
        records = _records(path, lines)
        first = next(records, None)
        if first is None:
            raise FileError(f"'{path}' has no lines. {_EXPECTED}")
        header = [name for name, cell in first[1].items() if not isinstance(cell, dict | list)]
        columns = long_columns(header, "auto")
        records = itertools.chain([first], records)
        if columns is not None and "responses" not in first[1]:
            rows = rows_of_records(header, records)
            return Responses.from_identified(long_from_rows(header, columns, rows, max_bytes), kind)
        collector = Collector()
        for line, record in records:
            respondent, responses = _respondent_and_responses(path, line, record)
            if not line % CHECKED_EVERY:
                collector.check_repeats()
            collector.respondents.setdefault(respondent, len(collector.respondents))
            for item, response in responses.items():
                value = None if isinstance(response, str) else number(response)
                if value is None:
                    refuse_text(f"Line {line:,}, item {shown(item)}", response)
                collector.add(respondent, item, value)
    return Responses.from_identified(IdentifiedTable(collector.table(max_bytes)), kind)


def _records(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"'{path}', line {line:,} is not valid JSON: {error}. {_EXPECTED}"
            ) from error
        if not isinstance(record, dict):
            raise FileError(f"'{path}', line {line:,} is not an object. {_EXPECTED}")
        if half := lone_surrogate(text):
            raise FileError(
                f"'{path}', line {line:,} holds {half}, which is half a character. Correct the "
                "name, or write the file again."
            )
        yield line, record


def _respondent_and_responses(
    path: Path, line: int, record: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    if not {"subject_id", "responses"} <= record.keys():
        raise FileError(f"'{path}', line {line:,} lacks subject_id or responses. {_EXPECTED}")
    respondent, responses = record["subject_id"], record["responses"]
    if not isinstance(respondent, str | int | float) or not isinstance(responses, dict):
        raise FileError(
            f"'{path}', line {line:,} has a subject_id or responses of the wrong type. {_EXPECTED}"
        )
    return str(respondent), responses


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object without repeated keys, of which Python would keep the last."""
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {shown(key)} is repeated")
        record[key] = value
    return record


def _read_delimited(path: Path, kind: str | None, layout: str, max_bytes: int) -> Responses:
    """Read a wide or long table; see `read_responses` for the rules."""
    with text_lines(path, max_bytes) as lines:
        _, rows = delimited_rows(path, lines)
        _, header = next(rows)
        columns = long_columns(header, layout)
        if columns is not None:
            identified = long_from_rows(header, columns, rows, max_bytes)
            return Responses.from_identified(identified, kind)
        if layout == ITEM_ROWS:
            return _item_rows(path, header, rows, kind)
        if layout == "auto" and names_items(header[0]) and len(header) > 1:
            note = item_rows_note(header[0])
            return _item_rows(path, header, rows, kind).described(notes=[note])
        return _wide(path, header, rows, kind, layout)


def _wide(path: Path, header: list[str], rows: Rows, kind: str | None, layout: str) -> Responses:
    """Read a wide table, and say if it looks like another one."""
    hint = mistyped_long(header) if layout == "auto" else ""
    facts = FactColumns(header)
    try:
        if layout != "auto" or is_corner(header[0]):
            found = _plain_wide(path, header, rows, kind, layout)
        else:
            found = _plain_wide(path, facts.header, facts.cut(rows), kind, layout)
            found = facts.described(found, kind)
    except InputError as error:
        raise InputError(f"{error} {hint}".rstrip()) from error
    names = vars(found).get("respondents", ()) if layout == "auto" else ()  # as written
    notes = [note for note in (hint, transposed_note(names, found.items)) if note]
    return found.described(notes=notes) if notes else found


def _plain_wide(
    path: Path, header: list[str], rows: Rows, kind: str | None, layout: str
) -> Responses:
    numerals = Numerals()
    first, table = _first_and_table(path, header, rows, numerals)
    if len(set(header)) < len(header) and all(map(numerals.know, header)):
        raise FileError(
            f"'{path}' begins with a line of numbers, but its first line should name the items. "
            "Add a line of names."
        )
    if names_rows(header[0], layout) or not all(map(numerals.know, first)):
        check_items(path, header, table)
        return _responses(table, first, header[1:], kind or stated_kind(header[0]))
    column = compact(np.fromiter((numerals[text] for text in first), np.float64))[:, None]
    if column.dtype != table.dtype:
        column, table = as_floats(column), as_floats(table)
    return _responses(np.hstack([column, table]), None, header, kind)


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

    _, table = _first_and_table(
        path, header[width - 1 :], cut(), Numerals(), "item", unique=width == 1
    )
    names, facts = item_names_and_facts(dict(zip(header, cells, strict=False)))
    found = _responses(np.ascontiguousarray(table.T), header[width:], names, kind)
    return found.described(items={name: typed(values) for name, values in facts.items()})


def _leading(header: list[str], start: list[list[str]]) -> int:
    """Return how many columns describe items: the first, and those called item or with text."""
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


def _first_and_table(
    path: Path,
    header: list[str],
    rows: Rows,
    numerals: Numerals,
    what: str = "respondent",
    *,
    unique: bool = True,
) -> tuple[list[str], NDArray[Any]]:
    """Return the first column as text, `unique` if it names the rows, all others as numbers."""
    first: list[str] = []
    blocks: list[NDArray[Any]] = []
    width = len(header) - 1
    cells = array("d")

    def close_block() -> None:
        n_rows = len(first) - sum(map(len, blocks))
        if unique and n_rows and not numerals.know(first[-1]):
            refuse_many_repeats(first[-n_rows:], what)
        blocks.append(compact(np.array(cells).reshape(n_rows, width)))
        del cells[:]

    for line, row in rows:
        try:
            cells.extend(map(numerals.__getitem__, row[1:]))
        except ValueError:
            wrong = next(at for at, text in enumerate(row) if at and not numerals.know(text))
            cell = f"Line {line:,} ({what} {shown(row[0])}), column {shown(header[wrong])}"
            names = names_respondents(header[wrong])
            hint = f"If {shown(header[wrong])} names the respondents, put it first. "
            refuse_text(cell, row[wrong], hint=hint if names else "")
        first.append(row[0])
        if len(cells) > _BLOCK_CELLS:
            close_block()
    close_block()
    if not first:
        raise FileError(
            f"'{path}' has a line of names, but no rows below it. Check how it was made."
        )
    return first, stacked(blocks)


def _responses(
    table: NDArray[Any], respondents: list[str] | None, items: list[str], kind: str | None
) -> Responses:
    if table.dtype == np.int8:
        return Responses.from_codes(table, respondents, items, kind)
    return Responses(table, respondents, items, kind)
