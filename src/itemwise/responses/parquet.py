"""Parquet tables of responses. PyArrow is imported where it is used.

The kind of the responses travels in the metadata of the file, so that it need not be inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from itemwise.errors import FileError, InputError
from itemwise.responses.cells import KINDS, shown
from itemwise.responses.layouts import CORNER, long_columns, names_respondents
from itemwise.responses.naming import named
from itemwise.responses.table import Responses
from itemwise.responses.triples import check_cells

if TYPE_CHECKING:
    import pandas as pd

_KIND_KEY = b"itemwise.kind"


def read_parquet(path: Path, kind: str | None, layout: str, max_bytes: int) -> Responses:
    """Read a wide or long table; see `read_responses` for the rules."""
    import pyarrow.parquet as pq

    with explained(path):
        schema = pq.read_schema(path)
        names = schema.names
    if not names:
        raise InputError("The table has no columns. Check how it was made.")
    written = (schema.metadata or {}).get(_KIND_KEY, b"").decode("utf-8", "replace")
    if written in KINDS:
        table = _table(path, list(schema), max_bytes)
        return Responses.from_frame(_named_frame(table, 0), kind=kind or written)
    columns = long_columns(names, layout)
    if columns is None:
        table = _table(path, list(schema), max_bytes)
        return Responses.from_frame(_named_frame(table, _names_column(schema)), kind=kind)
    roles = {names[column]: role for role, column in columns._asdict().items()}
    table = _table(path, [schema.field(column) for column in columns], max_bytes)
    if table.num_columns != len(roles):
        raise InputError(
            f"One of the columns {', '.join(map(shown, roles))} is there twice. Rename the other."
        )
    table = table.rename_columns([roles[name] for name in table.column_names])
    frame = table.to_pandas(ignore_metadata=True)
    check_cells(frame["respondent"].nunique(), frame["item"].nunique(), max_bytes)
    return Responses.from_long(frame, kind=kind)


def write_parquet(responses: Responses, file: BinaryIO) -> None:
    """A column of names, then a column per item, with nulls where it was never asked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(responses.respondents, pa.string())]
    columns += [
        pa.array(cells.copy(), mask=~asked)
        for cells, asked in zip(responses.cells.T, responses.observed.T, strict=True)
    ]
    table = pa.Table.from_arrays(columns, names=[CORNER, *responses.items])
    pq.write_table(table.replace_schema_metadata({_KIND_KEY: responses.kind}), file)


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


def _names_column(schema: Any) -> int | None:
    """The column that names the respondents: the index pandas kept, or the first, if it may."""
    import pyarrow as pa

    try:
        index = schema.pandas_metadata["index_columns"]
        if len(index) == 1 and index[0] in schema.names:
            return int(schema.names.index(index[0]))
    except (KeyError, TypeError, ValueError):
        pass  # not from pandas, or not as pandas writes it
    if names_respondents(schema.names[0]) or not _is_number(schema.types[0], pa):
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
