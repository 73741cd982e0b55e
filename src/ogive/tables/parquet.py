"""Parquet files, read within bounds. PyArrow is imported where it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.byte_limits import TO_RAISE
from ogive.errors import FileError, InputError
from ogive.files import size_for_people
from ogive.tables.text_tables import ROW_BYTES
from ogive.words import shown

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_A_TIME = 1 << 16
EXTRA_BYTES = 1 << 28  # of a column that was not asked for


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn whatever PyArrow raises into a `FileError` that names the file."""
    import pyarrow as pa

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
    import pyarrow.parquet as pq

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
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        batches, _ = _gathered(file, names, max_bytes)
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
    import pyarrow.parquet as pq

    with parquet_errors(path):
        n_rows = pq.read_metadata(path).num_rows
    n_bytes = n_rows * (ROW_BYTES + cell_bytes * n_fields)
    if n_bytes > max_bytes:
        raise InputError(
            f"'{path}' holds {n_rows:,} rows and {n_fields:,} columns, which need "
            f"{size_for_people(n_bytes)} or more; the limit is {size_for_people(max_bytes)}. "
            f"{TO_RAISE}"
        )


def _gathered(
    file: Any, names: list[str] | None, max_bytes: float
) -> tuple[list[Any] | None, float]:
    """All rows, some thousand at a time, and what they need; None where that is too much."""
    import pyarrow as pa

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


def columns_that_fit(path: Path, fields: Sequence[Any], max_bytes: int) -> list[Any]:
    """Those of `fields` whose columns are small enough to be read beside others.

    A column of distinct long texts, such as prompts, is read until it proves to be one.
    """
    import pyarrow.parquet as pq

    kept, room = [], float(max_bytes)
    for field in fields:
        texts = [field.name] if _is_text(field.type) else []
        with parquet_errors(path), pq.ParquetFile(path, read_dictionary=texts) as file:
            most = min(room, max(EXTRA_BYTES, 8 * file.metadata.num_rows))
            batches, size = _gathered(file, [field.name], most)
        if batches is not None:
            kept.append(field)
            room -= size
    return kept


def texts_of(column: Any) -> list[Any]:
    """The values of a column as a list, in which equal texts of one part are one object."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        found: list[Any] = column.to_pylist()
        return found
    found = []
    for part in column.chunks:
        values = [*part.dictionary.to_pylist(), None]
        found.extend(values[-1 if k is None else k] for k in part.indices.to_pylist())
    return found


def as_texts(column: Any, where: str) -> Any:
    """A column of names as text; nested ones and broken texts are refused."""
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"{where} is of type {column.type}, which cannot name anything. Write text or numbers."
        ) from error


def as_floats(column: Any, where: str) -> Any:
    """A column of numbers as float64, NaN for what is missing."""
    import pyarrow as pa

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
    """Whether a column of this Arrow type holds numbers, truth values or nothing."""
    import pyarrow as pa

    tests = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
    )
    return any(test(kind) for test in tests)
