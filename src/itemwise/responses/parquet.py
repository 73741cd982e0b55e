"""Parquet tables of responses. PyArrow is imported where it is used.

The longer side of the table makes the rows: a file of ten thousand columns is slow to open. Kind,
side and notes travel in the metadata of the file; facts of the rows are columns before the
responses, those of the columns lie in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from itemwise.errors import FileError, InputError
from itemwise.responses.cells import KINDS, shown
from itemwise.responses.extras import names_and_facts
from itemwise.responses.facts import Fact
from itemwise.responses.layouts import CORNER, ITEM_ROWS, is_item, long_columns, names_rows
from itemwise.responses.naming import named
from itemwise.responses.table import Responses
from itemwise.responses.triples import check_cells

if TYPE_CHECKING:
    import pandas as pd

_KIND_KEY, _ABOUT_KEY = b"itemwise.kind", b"itemwise.about"


def read_parquet(path: Path, kind: str | None, layout: str, max_bytes: int) -> Responses:
    """Read a wide or long table; see `read_responses` for the rules."""
    import pyarrow.parquet as pq

    with explained(path):
        schema = pq.read_schema(path)
        names = schema.names
    if not names:
        raise InputError("The table has no columns. Check how it was made.")
    told = schema.metadata or {}
    if told.get(_KIND_KEY, b"").decode("utf-8", "replace") in KINDS:
        return _as_written(_table(path, list(schema), max_bytes), told, kind)
    columns = long_columns(names, layout)
    if columns is None:
        table = _table(path, list(schema), max_bytes)
        first = _names_column(schema, layout)
        if layout == ITEM_ROWS:
            return _item_rows(table, first or 0, kind)
        return Responses.from_frame(_named_frame(table, first), kind=kind)
    roles = [names[column] for column in columns]
    others = _extra_fields(path, schema, roles, max_bytes)
    table = _table(path, [*(schema.field(column) for column in columns), *others], max_bytes)
    if table.num_columns != len(roles) + len(others):
        raise InputError(
            f"One of the columns {', '.join(map(shown, roles))} is there twice. Rename the other."
        )
    frame = table.to_pandas(ignore_metadata=True)
    respondent, item, response = roles
    check_cells(frame[respondent].nunique(), frame[item].nunique(), max_bytes)
    return Responses.from_long(frame, respondent, item, response, kind)


def _extra_fields(path: Path, schema: Any, taken: list[str], max_bytes: int) -> list[Any]:
    """Other columns that may tell facts: plain, called once, and within the bound."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [
        field
        for field in schema
        if field.name not in taken
        and schema.names.count(field.name) == 1
        and not pa.types.is_nested(field.type)
        and not pa.types.is_binary(field.type)
    ]
    with explained(path):
        metadata = pq.read_metadata(path)
        sizes: dict[str, int] = {}
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                size = sizes.get(chunk.path_in_schema, 0)
                sizes[chunk.path_in_schema] = size + chunk.total_uncompressed_size
    kept, room = [], max_bytes
    for field in sorted(fields, key=lambda field: sizes.get(field.name, 0)):
        room -= sizes.get(field.name, 0)
        if room >= 0:
            kept.append(field)
    return [field for field in fields if field in kept]


def _item_rows(table: Any, first: int, kind: str | None) -> Responses:
    """A row an item: columns that tell of it, then one a respondent."""
    import pyarrow as pa

    order = [first, *(k for k in range(table.num_columns) if k != first)]
    table = table.select(order)
    width = 1
    while width < table.num_columns - 1 and (
        is_item(table.column_names[width]) or not _is_number(table.schema.types[width], pa)
    ):
        width += 1
    leading = {table.column_names[k]: table.column(k).to_pylist() for k in range(width)}
    names, facts = names_and_facts(leading)
    frame = _named_frame(table.select(range(width, table.num_columns)), None)
    frame.index = [str(name) for name in names]
    return Responses.from_frame(frame.T, kind=kind).described(items=facts)


def write_parquet(responses: Responses, file: BinaryIO) -> None:
    """A column of names, columns of facts, then responses, with nulls where it was never asked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    by_item = responses.n_items > responses.n_respondents
    rows, columns = responses.respondents, responses.items
    row_facts, column_facts = responses._respondent_facts, responses._item_facts  # noqa: SLF001
    cells, observed = responses.cells, responses.observed
    if by_item:
        rows, columns, row_facts, column_facts = columns, rows, column_facts, row_facts
        cells, observed = cells.T, observed.T
    arrays = [pa.array(rows, pa.string()), *(_fact_column(values) for values in row_facts.values())]
    arrays += [
        pa.array(part.copy(), mask=~asked) for part, asked in zip(cells.T, observed.T, strict=True)
    ]
    table = pa.Table.from_arrays(arrays, names=[CORNER, *row_facts, *columns])
    about = {
        "rows": "items" if by_item else "respondents",
        "facts": len(row_facts),
        "column_facts": column_facts,
        "notes": responses.notes,
    }
    metadata = {_KIND_KEY: responses.kind, _ABOUT_KEY: json.dumps(about, allow_nan=False)}
    pq.write_table(table.replace_schema_metadata(metadata), file)


def _fact_column(values: tuple[Fact, ...]) -> Any:
    """One type where there is one, text otherwise."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _as_written(table: Any, told: dict[bytes, bytes], kind: str | None) -> Responses:
    """The responses that `write_parquet` wrote, with what it wrote about them."""
    wanted = kind or told[_KIND_KEY].decode()
    if _ABOUT_KEY not in told:  # a release before facts
        return Responses.from_frame(_named_frame(table, 0), kind=wanted)
    about = _about(told[_ABOUT_KEY])
    n_facts, by_item = about["facts"], about["rows"] == "items"
    column_facts, notes = about["column_facts"], about["notes"]
    if not 0 <= n_facts < table.num_columns:
        raise InputError(
            f"The file tells of {n_facts} columns of facts, but has {table.num_columns}. "
            "Write it again."
        )
    names = table.column_names[1 : 1 + n_facts]
    facts = {name: table.column(k).to_pylist() for k, name in enumerate(names, start=1)}
    frame = _named_frame(table.select([0, *range(1 + n_facts, table.num_columns)]), 0)
    found = Responses.from_frame(frame.T if by_item else frame, kind=wanted)
    of_items, of_rows = (facts, column_facts) if by_item else (column_facts, facts)
    return found.described(respondents=of_rows, items=of_items, notes=notes)


def _about(content: bytes) -> dict[str, Any]:
    """What the metadata tell, once each part is known to be of its type."""
    try:
        about = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"What the file tells of itself cannot be read: {shown(str(error))}. Write it again."
        ) from error
    told = about if isinstance(about, dict) else {}
    notes = told.get("notes")
    sane = (
        type(told.get("facts")) is int
        and isinstance(told.get("column_facts"), dict)
        and isinstance(notes, list)
        and all(isinstance(note, str) for note in notes)
    )
    if not sane or "rows" not in told:
        raise InputError(
            "What the file tells of itself is not what Itemwise writes: rows, facts (a whole "
            "number), column_facts (by name) and notes (texts). Write it again."
        )
    return told


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say of what pyarrow refuses that the file is not intact."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FileError(
            f"'{path}' is no intact Parquet file: {shown(reason)}. Copy or write it again."
        ) from error


def _table(path: Path, fields: list[Any], max_bytes: int) -> Any:
    """These columns of a file, once their types and their size are known to be sane."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for field in fields:
        if pa.types.is_nested(field.type):
            raise InputError(
                f"Column {shown(field.name)} is of type {shown(str(field.type))}, "
                "but a column of responses holds numbers. Leave it out."
            )
    # Text stays in its dictionary: one long name a million times is one long name.
    texts = [field.name for field in fields if _is_text(field.type)]
    with explained(path), pq.ParquetFile(path, read_dictionary=texts) as file:
        check_cells(file.metadata.num_rows, len(fields), max_bytes)
        everything = len(fields) == file.metadata.num_columns
        table = file.read(None if everything else [field.name for field in fields])
        table.validate(full=True)  # a damaged page may point outside its dictionary
        return table


def _names_column(schema: Any, layout: str) -> int | None:
    """The column that names the rows: the index pandas kept, or the first, if it may."""
    import pyarrow as pa

    try:
        index = schema.pandas_metadata["index_columns"]
        if len(index) == 1 and index[0] in schema.names:
            return int(schema.names.index(index[0]))
    except (KeyError, TypeError, ValueError):
        pass  # not from pandas, or not as pandas writes it
    if names_rows(schema.names[0], layout) or not _is_number(schema.types[0], pa):
        return 0
    return None


def _named_frame(table: Any, names: int | None) -> pd.DataFrame:
    import pandas as pd

    kept = table if names is None else table.remove_column(names)
    # What the file tells pandas about itself is not asked: names and numbers are all there is.
    frame: pd.DataFrame = kept.to_pandas(ignore_metadata=True)
    given = None if names is None else table.column(names).to_pylist()
    frame.index = pd.Index(named(given, table.num_rows, "respondent"))
    return frame


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )


def _is_number(kind: Any, pa: Any) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_boolean,
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_decimal,
            pa.types.is_null,
        )
    )
