"""Responses and tables from Parquet files of unknown origin, read within bounds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ogive._files import TO_RAISE, size_for_people
from ogive.data.column_roles import (
    ITEM_ROWS,
    is_item,
    item_names_and_facts,
    item_rows_note,
    long_columns,
    names_items,
    names_rows,
)
from ogive.data.long_tables import check_cells
from ogive.data.names import named
from ogive.data.response_writing import ABOUT_KEY, KIND_KEY
from ogive.data.responses import Responses
from ogive.data.text_files import ROW_BYTES
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import KINDS
from ogive.results.numbers import shown

ROWS_AT_A_TIME = 1 << 16
EXTRA_BYTES = 1 << 28  # size of a column that was not asked for


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn whatever PyArrow raises into a `FileError` that names the file."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, RecursionError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FileError(
            f"'{path}' is not an intact Parquet file: {shown(reason)}. Copy or write it again."
        ) from error


def read_schema(path: Path) -> Any:
    """Read the names and types of all columns, and check that the metadata can be read."""
    with parquet_errors(path):
        schema = pq.read_schema(path)
        _ = schema.names, schema.pandas_metadata  # both are decoded here, and may be damaged
        return schema


def read_columns(
    path: Path,
    fields: Sequence[Any],
    max_bytes: int,
    *,
    cell_bytes: int = 8,
    dictionaries: bool = False,
    nested: bool = False,
) -> Any:
    """Read these columns as an Arrow table, without what the file says to pandas about itself.

    A table that needs more than `max_bytes`, at `cell_bytes` per cell, is refused before it is
    read, and one that turns out to need more, while it is read: what a file announces may be
    untrue. With `dictionaries`, each distinct text is held once. The sizes of single columns,
    which a footer announces as well, are not asked for: PyArrow ends the process if one is
    damaged.
    """
    for field in fields:
        if pa.types.is_nested(field.type) and not nested:
            raise InputError(
                f"Column {shown(field.name)} of '{path}' holds lists or records "
                f"({shown(str(field.type))}), but single values are needed. Leave it out."
            )
    texts = [field.name for field in fields if dictionaries and _is_text(field.type)]
    check_rows(path, len(fields), max_bytes, cell_bytes)
    with parquet_errors(path), pq.ParquetFile(path, read_dictionary=texts) as file:
        everything = len(fields) == len(file.schema_arrow)
        names = None if everything else [field.name for field in fields]
        batches, _ = _read_batches(file, names, max_bytes)
        if batches is None:
            raise InputError(
                f"'{path}' unpacks to more than {size_for_people(max_bytes)}, the limit. {TO_RAISE}"
            )
        table = pa.Table.from_batches(batches) if batches else file.read(names)
        return table.replace_schema_metadata(None)


def check_rows(path: Path, n_fields: int, max_bytes: int, cell_bytes: int = 1) -> None:
    """Refuse more rows than fit into `max_bytes` once they are read, before any is.

    Equal values are packed into next to nothing, but each row is numbered and named anew.
    """
    with parquet_errors(path):
        n_rows = pq.read_metadata(path).num_rows
    n_bytes = n_rows * (ROW_BYTES + cell_bytes * n_fields)
    if n_bytes > max_bytes:
        raise InputError(
            f"'{path}' holds {n_rows:,} rows and {n_fields:,} columns, which need "
            f"{size_for_people(n_bytes)} or more; the limit is {size_for_people(max_bytes)}. "
            f"{TO_RAISE}"
        )


def _read_batches(
    file: Any, names: list[str] | None, max_bytes: float
) -> tuple[list[Any] | None, float]:
    """Return all rows, some thousand at a time, and what they need; None where that is too much."""
    before, batches, size = pa.total_allocated_bytes(), [], 0
    rows_left = file.metadata.num_rows
    for batch in file.iter_batches(ROWS_AT_A_TIME, columns=names):
        batch.validate(full=True)  # a damaged page may point outside its dictionary
        batches.append(batch)
        rows_left -= batch.num_rows
        if rows_left < 0:
            raise ValueError("it holds more rows than it says")
        size = pa.total_allocated_bytes() - before
        if size > max_bytes:
            return None, size
    return batches, size


def texts_of(column: Any) -> list[Any]:
    """Return the values of a column as a list, in which equal texts of one part are one object."""
    if not pa.types.is_dictionary(column.type):
        found: list[Any] = column.to_pylist()
        return found
    found = []
    for part in column.chunks:
        values = [*part.dictionary.to_pylist(), None]
        found.extend(values[-1 if k is None else k] for k in part.indices.to_pylist())
    return found


def as_texts(column: Any, where: str) -> Any:
    """Return a column of names as text; nested ones and broken texts are refused."""
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"{where} is of type {column.type}, which cannot name anything. Write text or numbers."
        ) from error


def as_floats(column: Any, where: str) -> Any:
    """Return a column of numbers as float64, NaN for what is missing."""
    try:
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise InputError(f"{where} is of type {column.type}. Write plain numbers.") from error


def read_parquet(path: Path, max_bytes: int) -> pd.DataFrame:
    """Read all columns as a frame; an index that pandas stored is left out."""
    table = read_columns(path, list(read_schema(path)), max_bytes)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    with parquet_errors(path):
        frame: pd.DataFrame = table.drop_columns(index).to_pandas()
    return frame


def is_number(kind: Any) -> bool:
    """Return True if a column of this Arrow type holds numbers, truth values or nothing."""
    types = pa.types
    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def responses_from_parquet(path: Path, kind: str | None, layout: str, max_bytes: int) -> Responses:
    """Read a wide or long table; see `read_responses` for the rules."""
    schema = read_schema(path)
    names = schema.names
    if not names:
        raise InputError("The table has no columns. Check how it was made.")

    def read(fields: list[Any]) -> Any:
        """Read columns; a cell of responses needs one byte, and a long name is held once."""
        return read_columns(path, fields, max_bytes, cell_bytes=1, dictionaries=True)

    metadata = schema.metadata or {}
    written_kind = metadata.get(KIND_KEY, b"").decode("utf-8", "replace")
    if written_kind in KINDS:
        return _as_written(path, read(list(schema)), metadata, kind or written_kind)
    columns = long_columns(names, layout)
    if columns is None:
        table = read(list(schema))
        first = names_column(schema, layout)
        if layout == ITEM_ROWS:
            return _item_rows(table, first or 0, kind)
        heading = names[first or 0]
        if layout == "auto" and names_items(heading) and len(names) > 1:
            return _item_rows(table, first or 0, kind).described(notes=[item_rows_note(heading)])
        return Responses.from_frame(_named_frame(table, first), kind, facts=layout == "auto")
    check_rows(path, len(columns), max_bytes)  # before other columns are looked at
    roles = [names[column] for column in columns]
    others = _extra_fields(path, schema, roles, max_bytes)
    table = read([*(schema.field(column) for column in columns), *others])
    if table.num_columns != len(roles) + len(others):
        raise InputError(
            f"One of the columns {', '.join(map(shown, roles))} is repeated. Rename the other."
        )
    frame = table.to_pandas()
    respondent, item, response = roles
    check_cells(frame[respondent].nunique(), frame[item].nunique(), max_bytes)
    return Responses.from_long(frame, respondent, item, response, kind)


def _extra_fields(path: Path, schema: Any, taken: list[str], max_bytes: int) -> list[Any]:
    """Return other columns that may be facts: of plain types, not repeated, and small enough.

    A column of distinct long texts, such as prompts, is read until it proves to be one.
    """
    counts = Counter(schema.names)
    kept, room = [], float(max_bytes)
    for field in schema:
        plain = not pa.types.is_nested(field.type) and not pa.types.is_binary(field.type)
        if field.name in taken or counts[field.name] > 1 or not plain:
            continue
        texts = [field.name] if _is_text(field.type) else []
        with parquet_errors(path), pq.ParquetFile(path, read_dictionary=texts) as file:
            most = min(room, max(EXTRA_BYTES, 8 * file.metadata.num_rows))
            batches, size = _read_batches(file, [field.name], most)
        if batches is not None:
            kept.append(field)
            room -= size
    return kept


def _item_rows(table: Any, first: int, kind: str | None) -> Responses:
    """Read one row per item: columns that describe it, then one column per respondent."""
    order = [first, *(k for k in range(table.num_columns) if k != first)]
    table = table.select(order)
    width = 1
    while width < table.num_columns - 1 and (
        is_item(table.column_names[width]) or not is_number(table.schema.types[width])
    ):
        width += 1
    leading = {table.column_names[k]: texts_of(table.column(k)) for k in range(width)}
    names, facts = item_names_and_facts(leading)
    frame = _named_frame(table.select(range(width, table.num_columns)), None)
    frame.index = [str(name) for name in names]
    return Responses.from_frame(frame.T, kind, facts=False).described(items=facts)


def _as_written(path: Path, table: Any, metadata: dict[bytes, bytes], kind: str) -> Responses:
    """Return responses as `write_responses` wrote them, with facts and notes."""
    if ABOUT_KEY not in metadata:  # written without facts
        return Responses.from_frame(_named_frame(table, 0), kind, facts=False)
    about = _about(path, metadata[ABOUT_KEY])
    n_facts, n_repeats, by_item = about["facts"], about["repeats"], about["rows"] == "items"
    if not 0 <= n_facts < table.num_columns:
        raise FileError(
            f"'{path}' states {n_facts} columns of facts, but has {table.num_columns} columns in "
            "all. Write it again."
        )
    headings = table.column_names
    facts = {headings[k]: texts_of(table.column(k)) for k in range(1, 1 + n_facts)}
    # Responses, and the tries and the spread beside them, are blocks of as many columns each.
    width, rest = divmod(table.num_columns - 1 - n_facts, 1 + n_repeats)
    if rest or not width:
        raise FileError(
            f"'{path}' states {n_repeats} columns beside each response, but has "
            f"{table.num_columns} columns in all. Write it again."
        )
    names = [headings[0], *headings[1 + n_facts : 1 + n_facts + width]]
    blocks = []
    for start in range(1 + n_facts, table.num_columns, width):
        block = table.select([0, *range(start, start + width)]).rename_columns(names)
        frame = _named_frame(block, 0)
        blocks.append(frame.T if by_item else frame)
    found = Responses.from_frame(blocks[0], None if n_repeats else kind, facts=False)
    if n_repeats:
        tries, spread = blocks[1].to_numpy(), blocks[2].to_numpy() if n_repeats > 1 else None
        cells = found.to_frame().to_numpy()
        found = Responses(cells, found.respondents, found.items, kind, tries=tries, spread=spread)
    of_columns = about["column_facts"]
    of_items, of_rows = (facts, of_columns) if by_item else (of_columns, facts)
    return found.described(respondents=of_rows, items=of_items, notes=about["notes"])


def _about(path: Path, content: bytes) -> dict[str, Any]:
    """Read the metadata, and check that each part is of its type."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"The metadata of '{path}' cannot be read: {shown(str(error))}. Write it again."
        ) from error
    about = {"repeats": 0} | (document if isinstance(document, dict) else {})
    notes, column_facts = about.get("notes"), about.get("column_facts")
    sound = (
        "rows" in about
        and type(about.get("facts")) is int
        and about["repeats"] in (0, 1, 2)
        and isinstance(column_facts, dict)
        and all(isinstance(values, list) for values in column_facts.values())
        and isinstance(notes, list)
        and all(isinstance(note, str) for note in notes)
    )
    if not sound:
        raise FileError(
            f"The metadata of '{path}' are not what Ogive writes: rows, facts (a whole number), "
            "repeats (0 to 2), column_facts (lists by name) and notes (texts). Write it again."
        )
    return about


def names_column(schema: Any, layout: str) -> int | None:
    """Return the column that names the rows: the index that pandas stored, or the first."""
    stored = schema.pandas_metadata
    index = stored.get("index_columns") if isinstance(stored, dict) else None
    if isinstance(index, list) and len(index) == 1 and index[0] in schema.names:
        return int(schema.names.index(index[0]))
    if names_rows(schema.names[0], layout) or not is_number(schema.types[0]):
        return 0
    return None


def _named_frame(table: Any, names: int | None) -> pd.DataFrame:
    """Return a frame whose index holds the names in a column."""
    given = None
    kept = table
    if names is not None:
        column = table.column(names)
        n_distinct = len(pc.unique(column))
        if n_distinct < len(column):  # one of the first names repeats, which is refused
            few = texts_of(column[: n_distinct + 1])
            named(few, len(few), "respondent")
        given, kept = texts_of(column), table.remove_column(names)
    frame: pd.DataFrame = kept.to_pandas()
    frame.index = pd.Index(named(given, table.num_rows, "respondent"))
    return frame
