"""Parquet files of a table that is larger than memory: which they are, and their rows in blocks."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ogive._files import PathLike, readable_file
from ogive.data.column_roles import long_columns, names_items
from ogive.data.parquet_files import (
    as_floats,
    as_texts,
    is_number,
    names_column,
    parquet_errors,
    read_schema,
)
from ogive.data.response_writing import ABOUT_KEY
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import LARGEST, SeenCells
from ogive.results.numbers import counted, listed, repeated, shown
from ogive.stats.array_backend import Floats

SUFFIXES = (".parquet", ".pq")
CODE_CELLS, SCORE_CELLS = 1 << 24, 1 << 22  # cells of a block
PART_CELLS = 1 << 26  # cells that one task of a cluster reads
TILE_ROWS = 2_048  # rows of columns laid side by side: they stay in a core's cache

Block = tuple[NDArray[Any], SeenCells]


class NotGradesError(Exception):
    """Responses are not whole numbers from 0 to 127, so that one byte does not hold them."""

    def __init__(self, where: str, negative: bool) -> None:  # noqa: FBT001 - as it is unpickled
        super().__init__(where, negative)
        self.where, self.negative = where, negative


@dataclass(frozen=True)
class ScannedFile:
    """One file: its path, its state when it was found, and the columns that count."""

    path: str
    n_rows: int
    stamp: tuple[int, int]  # bytes, and time of the last change
    names: str | None = None  # the column that names respondents
    columns: tuple[str | None, ...] = ()  # of each item; None if the file lacks it
    roles: tuple[str, str, str] | None = None  # columns of respondent, item and response
    groups: tuple[int, ...] | None = None  # row groups, if these are not all

    def check(self) -> None:
        """Refuse a file that has changed since it was found."""
        try:
            now = _stamp(self.path)
        except OSError as error:
            raise FileError(
                f"'{self.path}' is no longer there ({error.strerror}). Scan the files again."
            ) from error
        if now != self.stamp:
            raise FileError(
                f"'{self.path}' changed while it was read, so its parts may not belong together. "
                "Scan the files again."
            )

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield these columns, `n_rows` at a time; few batches are in memory at once."""
        import pyarrow.dataset as ds

        self.check()
        with parquet_errors(Path(self.path)):
            (fragment,) = ds.dataset(self.path, format="parquet").get_fragments()
            if self.groups is not None:
                fragment = fragment.subset(row_group_ids=list(self.groups))
            scanner = fragment.scanner(
                columns=list(columns),
                batch_size=n_rows,
                batch_readahead=2,
                fragment_readahead=1,
            )
            for batch in scanner.to_batches():
                if batch.num_rows:
                    batch.validate(full=True)  # a damaged page may point outside its dictionary
                    yield batch
        self.check()

    def parts(self) -> Iterator[ScannedFile]:
        """Yield the file in parts of whole row groups, small enough for a worker's memory."""
        with parquet_errors(Path(self.path)):
            metadata = pq.read_metadata(self.path)
            sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        most = max(1, PART_CELLS // max(1, len(self.columns)))
        groups: list[int] = []
        n_rows = 0
        for k, size in enumerate(sizes):
            if groups and size and n_rows + size > most:
                yield replace(self, n_rows=n_rows, groups=tuple(groups))
                groups, n_rows = [], 0
            if size:
                groups.append(k)
                n_rows += size
        yield replace(self, n_rows=n_rows, groups=tuple(groups))

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Yield rows of a wide file, as one byte each if they are `grades`, and a summary."""
        present = [name for name in self.columns if name is not None]
        dtype, missing = (np.int8, -1) if grades else (np.float64, np.nan)
        read: Any = codes_of if grades else scores_of
        most = max(1, (CODE_CELLS if grades else SCORE_CELLS) // len(self.columns))
        for batch in self.batches(present, most):
            columns = dict(zip(present, batch.columns, strict=True))
            arrays = [
                np.full(batch.num_rows, missing, dtype)
                if name is None
                else read(columns[name], f"Column {shown(name)} of '{self.path}'")
                for name in self.columns
            ]
            cells = np.empty((batch.num_rows, len(arrays)), dtype=dtype)
            for first in range(0, batch.num_rows, TILE_ROWS):
                tile = slice(first, first + TILE_ROWS)
                for item, array in enumerate(arrays):
                    cells[tile, item] = array[tile]
            yield cells, SeenCells.of_codes(cells) if grades else SeenCells.of_scores(cells)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Yield names of respondents as text, `n_rows` at a time; their number without names."""
        if self.names is None:
            for first in range(0, self.n_rows, n_rows):
                yield min(n_rows, self.n_rows - first)
            return
        for batch in self.batches([self.names], n_rows):
            yield as_texts(batch.column(0), f"Column {shown(self.names)} of '{self.path}'")


def find_files(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """Return Parquet files that are named, match a pattern, or lie in a folder, by name."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[Path] = []
    try:
        for each in given:
            path = Path(os.fspath(each))
            if has_magic(os.fspath(each)) and not path.exists():
                matching = glob(os.fspath(each), recursive=True)  # noqa: PTH207 - as typed
                found += sorted(map(Path, matching))
            elif path.is_dir():
                found += sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
            else:
                found.append(path)
        files = [path for path in dict.fromkeys(found) if not path.is_dir()]
    except OSError as error:
        raise FileError(f"'{error.filename}' may not be read: {error.strerror}.") from error
    if not files:
        raise FileError(
            f"There is no Parquet file at {', '.join(shown(os.fspath(p)) for p in given)}. Give "
            "a folder of them, a pattern such as 'folder/*.parquet', or their paths."
        )
    return [readable_file(path, math.inf) for path in files]  # no pipe, no device; of any size


def scan_files(
    paths: Sequence[Path], layout: str
) -> tuple[list[ScannedFile], tuple[str, ...], list[str]]:
    """Return the files with their columns, all items, and notes.

    Items of long files are known when their rows are read.
    """
    schemas = []
    for path in paths:
        schema = read_schema(path)
        with parquet_errors(path):
            schemas.append((path, schema, pq.read_metadata(path).num_rows))
    roles = [long_columns(schema.names, layout) for _, schema, _ in schemas]
    if any(roles) and not all(roles):
        odd = next(path for (path, _, _), one in zip(schemas, roles, strict=True) if not one)
        raise InputError(
            f"Some files have one row per response, but '{odd}' has one column per item. Scan "
            "files of one layout at a time."
        )
    files: list[ScannedFile] = []
    notes: list[str] = []
    items: dict[str, None] = {}
    if all(roles):
        for (path, schema, n_rows), columns in zip(schemas, roles, strict=True):
            respondent, item, response = (schema.names[k] for k in columns or ())
            names = respondent, item, response
            files.append(ScannedFile(str(path), n_rows, _stamp(path), roles=names))
    else:
        wide = [(path, n, *_wide_columns(path, schema, layout)) for path, schema, n in schemas]
        for *_, own in wide:
            items.update(dict.fromkeys(own))
        for path, n_rows, heading, own in wide:
            present = tuple(name if name in own else None for name in items)
            files.append(ScannedFile(str(path), n_rows, _stamp(path), heading, present))
            if lacking := [name for name in items if name not in own]:
                count = "they count" if len(lacking) > 1 else "it counts"
                notes.append(
                    f"'{path.name}' lacks {listed(lacking, 'item')} of other files: there "
                    f"{count} as never asked."
                )
    empty = [Path(file.path).name for file in files if not file.n_rows]
    if len(empty) == len(files):
        raise InputError(
            f"None of the {counted(len(files), 'file')} has any rows, so there is nothing to scan. "
            "Check how they were written."
        )
    if empty:
        notes.append(f"{listed(empty, 'file')} without rows: nothing was read there.")
    return [file for file in files if file.n_rows], tuple(items), notes


def _wide_columns(path: Path, schema: Any, layout: str) -> tuple[str | None, dict[str, None]]:
    """Return the column that names respondents, and those of items."""
    names = list(schema.names)
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"'{path}' has several columns called {shown(twice)}. Rename them.")
    first = names_column(schema, layout)
    heading = None if first is None else names[first]
    about = json.loads((schema.metadata or {}).get(ABOUT_KEY, b"{}") or b"{}")
    by_item = about.get("rows") == "items" or (layout == "auto" and names_items(heading))
    if by_item or about.get("repeats"):
        what = "one row per item" if by_item else "several answers per cell"
        raise InputError(
            f"'{path}' has {what}, which cannot be scanned. Read it with read_responses, or "
            "write one row per respondent and one answer per cell."
        )
    facts = names[1 : 1 + int(about.get("facts", 0))]
    items = [name for name in names if name != heading and name not in facts]
    if not items:
        raise InputError(f"'{path}' has no column of responses. Give one column per item.")
    for name in items:
        kind = schema.field(name).type
        if not is_number(kind):
            raise InputError(
                f"Column {shown(name)} of '{path}' holds {shown(str(kind))}, but responses are "
                "numbers. Leave the column out, or write its responses as numbers."
            )
    return heading, dict.fromkeys(items)


def _stamp(path: PathLike) -> tuple[int, int]:
    stat = os.stat(path)  # noqa: PTH116 - of text, many times
    return stat.st_size, stat.st_mtime_ns


def codes_of(column: Any, where: str) -> NDArray[np.int8]:
    """Return a column of grades in one byte, -1 for what is missing."""
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        numbers = scores_of(column, where)
        missing = np.isnan(numbers)
        filled = np.where(missing, 0.0, numbers)
        if not ((filled >= 0) & (filled <= 127) & (filled == np.floor(filled))).all():
            whole = bool((filled == np.floor(filled)).all() and filled.max() <= 127)
            raise NotGradesError(where, negative=whole)
        return np.where(missing, -1.0, filled).astype(np.int8)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int8)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    extent = pc.min_max(column).as_py()
    if extent["min"] is not None and (extent["min"] < 0 or extent["max"] > 127):
        small = extent["min"] < 0 and extent["max"] <= 127
        raise NotGradesError(where, negative=small)
    if column.null_count:
        column = pc.fill_null(column.cast(pa.int8()), -1)
    found: NDArray[np.int8] = column.cast(pa.int8()).to_numpy(zero_copy_only=False)
    return found


def scores_of(column: Any, where: str) -> Floats:
    """Return a column of numbers, NaN for what is missing."""
    found: Floats = as_floats(column, where)
    if (np.abs(found) > LARGEST).any():
        raise InputError(
            f"{where} holds an infinite number, or one beyond {LARGEST:g}. Correct it, or leave "
            "the cell empty."
        )
    return found
