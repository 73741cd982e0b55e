"""Tables of instances from files: CSV, TSV, Parquet and ARFF, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.datasets.delimited import read_delimited
from itemwise.errors import FileError, InputError
from itemwise.files import PathLike, readable_file, size_for_people
from itemwise.responses.arff import read_arff
from itemwise.responses.cells import shown
from itemwise.responses.parquet import explained

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 4 * 1024**3


def read_table(path: PathLike, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    """Read a table; the end of the file name says how.

    `.csv` and `.tsv` (also with `.gz`) begin with a line of names; fields are separated by commas,
    semicolons or tabs, whichever fits. `.arff` may be sparse, and compressed as `.arff.gz`.
    """
    file = readable_file(path, max_bytes)
    reader = _READERS.get(_ending(file))
    if reader is None:
        raise FileError(
            f"'{path}' ends in {shown(file.suffix)}, but data sets are read from "
            f"{', '.join(_READERS)}. Convert the file, or rename it if it is one of these."
        )
    frame = reader(file, max_bytes)
    if not len(frame):
        raise FileError(f"'{path}' names its columns, but has no row below. Check how it was made.")
    return frame


def name_of(path: PathLike) -> str:
    """The file name without its ending: heart.csv.gz -> heart."""
    file = Path(path)
    return file.name[: len(file.name) - len(_ending(file))] or file.name


def as_name(cell: object) -> str:
    """A cell as a name; ARFF knows no whole numbers."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _ending(file: Path) -> str:
    name = file.name.lower()
    known = [ending for ending in _READERS if name.endswith(ending)]
    return max(known, key=len, default="")


def _read_parquet(path: Path, max_bytes: int) -> pd.DataFrame:
    """Flat columns only; what the file tells pandas about itself is not asked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with explained(path), pq.ParquetFile(path) as file:
        n_bytes = 8 * file.metadata.num_rows * file.metadata.num_columns
        if n_bytes > max_bytes:
            raise InputError(
                f"'{path}' unpacks to {size_for_people(n_bytes)}, and the limit is "
                f"{size_for_people(max_bytes)}."
            )
        for field in file.schema_arrow:
            if pa.types.is_nested(field.type):
                raise InputError(
                    f"Column {shown(field.name)} of '{path}' holds lists or records "
                    f"({shown(str(field.type))}), but single values are needed. Leave it out."
                )
        table = file.read()
        table.validate(full=True)  # a damaged page may point outside its dictionary
        index = [name for name in table.column_names if name.startswith("__index_level_")]
        frame: pd.DataFrame = table.drop_columns(index).replace_schema_metadata(None).to_pandas()
    return frame


_READERS: dict[str, Callable[[Path, int], pd.DataFrame]] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".csv.gz": read_delimited,
    ".tsv.gz": read_delimited,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".arff": read_arff,
    ".arff.gz": read_arff,
}
