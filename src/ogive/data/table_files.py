"""A table from a file of any known format; the end of its name says which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ogive._files import PathLike, most_bytes, readable_file
from ogive.data.arff import read_arff
from ogive.data.parquet_files import read_parquet
from ogive.data.text_files import read_delimited
from ogive.errors import FileError
from ogive.results.numbers import shown

MAX_BYTES = 4 * 1024**3


def read_table(path: PathLike, max_bytes: int | None = None) -> pd.DataFrame:
    """Read a table; the end of the file name says how.

    `.csv` and `.tsv` (also with `.gz`) begin with a line of names; fields are separated by commas,
    semicolons or tabs, whichever fits. `.arff` may be sparse, and compressed as `.arff.gz`.
    """
    most = most_bytes(max_bytes, MAX_BYTES)
    file = readable_file(path, most)
    reader = _READERS.get(_ending(file))
    if reader is None:
        raise FileError(
            f"'{path}' ends in {shown(file.suffix)}, but tables are read from "
            f"{', '.join(_READERS)}. Convert the file, or rename it if it is one of these."
        )
    frame = reader(file, most)
    if not len(frame):
        raise FileError(
            f"'{path}' names its columns, but has no row below them. Check how it was made."
        )
    return frame


def name_of(path: PathLike) -> str:
    """Return the file name without its ending: heart.csv.gz -> heart."""
    file = Path(path)
    return file.name[: len(file.name) - len(_ending(file))] or file.name


def as_name(cell: object) -> str:
    """Return a cell as a name; 1.0 becomes 1, so that every file format gives one name."""
    whole = isinstance(cell, float | np.floating) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)  # type: ignore[call-overload]


def _ending(file: Path) -> str:
    name = file.name.lower()
    known = [ending for ending in _READERS if name.endswith(ending)]
    return max(known, key=len, default="")


_READERS: dict[str, Callable[[Path, int], pd.DataFrame]] = {
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), read_delimited),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".arff", ".arff.gz"), read_arff),
}
