"""Parquet files, read within bounds. PyArrow is imported where it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise.errors import FileError, InputError
from itemwise.files import size_for_people
from itemwise.words import shown

if TYPE_CHECKING:
    import pandas as pd


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
) -> Any:
    """Read these columns as an Arrow table, without what the file says to pandas about itself.

    A table that needs more than `max_bytes`, at `cell_bytes` per cell, is refused before it is
    read. With `dictionaries`, each distinct text is held once.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for field in fields:
        if pa.types.is_nested(field.type):
            raise InputError(
                f"Column {shown(field.name)} of '{path}' holds lists or records "
                f"({shown(str(field.type))}), but single values are needed. Leave it out."
            )
    texts = [field.name for field in fields if dictionaries and _is_text(field.type)]
    with parquet_errors(path), pq.ParquetFile(path, read_dictionary=texts) as file:
        n_bytes = cell_bytes * file.metadata.num_rows * len(fields)
        if n_bytes > max_bytes:
            raise InputError(
                f"'{path}' holds {file.metadata.num_rows:,} rows and {len(fields):,} columns, "
                f"which need {size_for_people(n_bytes)} or more; the limit is "
                f"{size_for_people(max_bytes)}. If you trust the file, pass a larger max_bytes."
            )
        everything = len(fields) == file.metadata.num_columns
        table = file.read(None if everything else [field.name for field in fields])
        table.validate(full=True)  # a damaged page may point outside its dictionary
        return table.replace_schema_metadata(None)


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
