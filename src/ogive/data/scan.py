"""Scan_responses: Parquet larger than memory, in blocks.

Parquet files of a table that is larger than memory: which they are, and their rows in blocks.

Rows of respondent, item and response in files larger than memory, in any order.

Respondents are dealt to buckets on the disk by a hash of their names, until one bucket after the
other can be laid out as a table. The buckets are files without a name: nothing of them stays.

Responses that are larger than memory: Parquet files, read in blocks.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ogive._files import PathLike, readable_file
from ogive._validation import whole_number
from ogive.data.column_roles import ITEM_ROWS, LAYOUTS, long_columns, names_items
from ogive.data.disk_rows import RowWriter, StoredRows
from ogive.data.parquet_files import (
    as_floats,
    as_texts,
    is_number,
    names_column,
    parquet_errors,
    read_schema,
)
from ogive.data.response_writing import ABOUT_KEY
from ogive.data.responses import Responses
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import (
    HIGHEST_INFERRED_GRADE,
    LARGEST,
    Kind,
    SeenCells,
    checked_kind,
    pair_in_words,
)
from ogive.results.numbers import counted, listed, repeated, shown
from ogive.stats.array_backend import Floats, evenly_spaced

SUFFIXES = (".parquet", ".pq")
CODE_CELLS, SCORE_CELLS = 1 << 24, 1 << 22  # of a block
PART_CELLS = 1 << 26  # of what one task of a cluster reads
TILE_ROWS = 2_048  # of columns that are laid side by side: they stay in a core's cache

Block = tuple[NDArray[Any], SeenCells]


class NotGradesError(Exception):
    """Responses are not whole numbers from 0 to 127, so that one byte does not hold them."""

    def __init__(self, where: str, *, negative: bool) -> None:
        super().__init__(where)
        self.where, self.negative = where, negative

    def __reduce__(self) -> Any:
        return _not_grades, (self.where, self.negative)


def _not_grades(where: str, negative: bool) -> NotGradesError:  # noqa: FBT001 - as it is unpickled
    return NotGradesError(where, negative=negative)


@dataclass(frozen=True)
class ScannedFile:
    """One file: where it is, what it looked like when it was found, and which columns count."""

    path: str
    n_rows: int
    stamp: tuple[int, int]  # bytes, and time of the last change
    names: str | None = None  # the column that names respondents
    columns: tuple[str | None, ...] = ()  # of each item; None where the file lacks it
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
        """Yield these columns, so many rows at a time; few are in memory at once."""
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
        import pyarrow.parquet as pq

        with parquet_errors(Path(self.path)):
            metadata = pq.read_metadata(self.path)
            sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        most = max(1, PART_CELLS // max(1, len(self.columns)))
        groups: list[int] = []
        for k, size in enumerate(sizes):
            if not size:
                continue
            if groups and sum(sizes[g] for g in groups) + size > most:
                yield self._of_groups(groups, sizes)
                groups = []
            groups.append(k)
        yield self._of_groups(groups, sizes)

    def _of_groups(self, groups: list[int], sizes: list[int]) -> ScannedFile:
        n_rows = sum(sizes[k] for k in groups)
        return replace(self, n_rows=n_rows, groups=tuple(groups))

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Rows of a wide file, as one byte each if they are `grades`, and what is seen in them."""
        there = [name for name in self.columns if name is not None]
        n_items = len(self.columns)
        most = max(1, (CODE_CELLS if grades else SCORE_CELLS) // n_items)
        for batch in self.batches(there, most):
            absent = np.full(batch.num_rows, *((-1, np.int8) if grades else (np.nan, np.float64)))
            parts, read = iter(batch.columns), codes_of if grades else scores_of
            arrays = [
                absent
                if name is None
                else read(next(parts), f"Column {shown(name)} of '{self.path}'")
                for name in self.columns
            ]
            cells = _side_by_side(arrays, absent.dtype)
            seen = SeenCells.of_codes(cells) if grades else SeenCells.of_scores(cells)
            yield cells, seen

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Yield names of respondents as text, so many at a time; None where the file has none."""
        if self.names is None:
            for first in range(0, self.n_rows, n_rows):
                yield min(n_rows, self.n_rows - first)
            return
        for batch in self.batches([self.names], n_rows):
            yield as_texts(batch.column(0), f"Column {shown(self.names)} of '{self.path}'")


def find_files(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """Parquet files that are named, match a pattern, or lie in a folder; in the order of names."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    try:
        found = _listed(given)
    except OSError as error:
        raise FileError(f"'{error.filename}' may not be read: {error.strerror}.") from error
    if not found:
        raise FileError(
            f"There is no Parquet file at {', '.join(shown(os.fspath(p)) for p in given)}. Give "
            "a folder of them, a pattern such as 'folder/*.parquet', or their paths."
        )
    return [readable_file(path, math.inf) for path in found]  # no pipe, no device; of any size


def _listed(given: Iterable[PathLike]) -> list[Path]:
    found: list[Path] = []
    for each in given:
        text = os.fspath(each)
        if has_magic(text) and not Path(text).exists():
            matching = glob(text, recursive=True)  # noqa: PTH207 - a pattern as typed
            found.extend(sorted(map(Path, matching)))
        elif Path(text).is_dir():
            found.extend(sorted(p for p in Path(text).iterdir() if p.suffix in SUFFIXES))
        else:
            found.append(Path(text))
    return [path for path in dict.fromkeys(found) if not path.is_dir()]


def looked_into(
    paths: Sequence[Path], layout: str
) -> tuple[list[ScannedFile], tuple[str, ...], list[str]]:
    """Return the files with their columns, all items, and what a reader should know.

    Items of long files are known when their rows are read.
    """
    import pyarrow.parquet as pq

    files, schemas, items, notes = [], [], {}, []
    for path in paths:
        schema = read_schema(path)
        with parquet_errors(path):
            n_rows = pq.read_metadata(path).num_rows
        schemas.append((path, schema, n_rows))
    long = [long_columns(schema.names, layout) for _, schema, _ in schemas]
    if any(long) and not all(long):
        odd = next(path for (path, _, _), one in zip(schemas, long, strict=True) if not one)
        raise InputError(
            f"Some files have one row per response, but '{odd}' has one column per item. Scan "
            "files of one layout at a time."
        )
    wide = [
        (path, schema, n_rows, *_wide_columns(path, schema, layout))
        for (path, schema, n_rows), one in zip(schemas, long, strict=True)
        if not one
    ]
    for *_, own in wide:
        items.update(dict.fromkeys(own))
    for path, _, n_rows, names, own in wide:
        columns = tuple(name if name in own else None for name in items)
        files.append(ScannedFile(str(path), n_rows, _stamp(path), names, columns))
        lacking = [name for name in items if name not in own]
        if lacking:
            verb = "count" if len(lacking) > 1 else "counts"
            notes.append(
                f"'{path.name}' lacks {listed(lacking, 'item')} of other files: there "
                f"{'they' if len(lacking) > 1 else 'it'} {verb} as never asked."
            )
    for (path, schema, n_rows), one in zip(schemas, long, strict=True):
        if one:
            respondent, item, response = (schema.names[k] for k in one)
            roles = respondent, item, response
            files.append(ScannedFile(str(path), n_rows, _stamp(path), roles=roles))
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
    told = json.loads((schema.metadata or {}).get(ABOUT_KEY, b"{}") or b"{}")
    turned = told.get("rows") == "items" or (layout == "auto" and names_items(heading))
    if turned or told.get("repeats"):
        what = "one row per item" if turned else "several answers per cell"
        raise InputError(
            f"'{path}' has {what}, which cannot be scanned. Read it with read_responses, or "
            "write one row per respondent and one answer per cell."
        )
    taken = names[1 : 1 + int(told.get("facts", 0))]
    items = [name for name in names if name != heading and name not in taken]
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
    told = os.stat(path)  # noqa: PTH116 - of text, many times
    return told.st_size, told.st_mtime_ns


def codes_of(column: Any, where: str) -> NDArray[np.int8]:
    """Return a column of grades in one byte, -1 for what is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

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


def _side_by_side(columns: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Return columns as a table by rows."""
    n_rows = len(columns[0])
    cells = np.empty((n_rows, len(columns)), dtype=dtype)
    for first in range(0, n_rows, TILE_ROWS):
        tile = slice(first, first + TILE_ROWS)
        for item, column in enumerate(columns):
            cells[tile, item] = column[tile]
    return cells


ROWS_AT_A_TIME = 1 << 20
ROWS_IN_BUCKET = 1 << 21
MOST_BUCKETS = 512
RESPONDENT, ITEM, RESPONSE = "respondent", "item", "response"


class LongRows:
    """Responses dealt to buckets, each with all responses of its respondents."""

    def __init__(self, files: Sequence[ScannedFile], folder: PathLike | None) -> None:
        self._folder = folder
        total = sum(file.n_rows for file in files)
        self._n_buckets = min(MOST_BUCKETS, -(-total // ROWS_IN_BUCKET))
        self._items: dict[str, int] = {}
        self._buckets: list[Any] = []
        try:
            self._deal(files)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"Scanned responses cannot be kept in '{folder or tempfile.gettempdir()}': "
                f"{error.strerror}. Name another folder with cache=."
            ) from error

    @property
    def items(self) -> tuple[str, ...]:
        """All items, in the order in which they appear."""
        return tuple(self._items)

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Yield the respondents of one bucket after the other."""
        for rows, columns, responses, names in self._opened():
            cells = self._laid_out(rows, columns, responses, names, grades=grades)
            yield cells, SeenCells.of_codes(cells) if grades else SeenCells.of_scores(cells)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Yield names of respondents, in the order of `blocks`, at most so many at a time."""
        for *_, names in self._opened():
            for first in range(0, len(names), n_rows):
                yield names[first : first + n_rows]

    def _deal(self, files: Sequence[ScannedFile]) -> None:
        """Write every response to the bucket of its respondent."""
        import pyarrow as pa

        schema = pa.schema(
            [(RESPONDENT, pa.string()), (ITEM, pa.int32()), (RESPONSE, pa.float64())]
        )
        self._buckets = [
            tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - as long as this
            for _ in range(self._n_buckets)
        ]
        weakref.finalize(self, _close_all, self._buckets)
        sinks = [pa.PythonFile(file, "w") for file in self._buckets]
        writers = [pa.ipc.new_stream(sink, schema) for sink in sinks]
        for file in files:
            assert file.roles is not None  # noqa: S101 - long files have them
            for batch in file.batches(file.roles, ROWS_AT_A_TIME):
                for place, part in enumerate(self._split(file, batch)):
                    if part is not None:
                        writers[place].write(pa.RecordBatch.from_arrays(part, schema=schema))
        for writer in writers:
            writer.close()

    def _split(self, file: ScannedFile, batch: Any) -> Iterator[list[Any] | None]:
        """Yield the rows of each bucket: respondent, place of the item, response."""
        import pyarrow as pa
        from pandas.util import hash_array

        respondent, item, response = batch.columns
        for role, column in zip((RESPONDENT, ITEM), (respondent, item), strict=True):
            if column.null_count:
                raise InputError(
                    f"'{Path(file.path)}' has rows without {role}. Name it, or leave the rows out."
                )
        if not is_number(response.type):
            raise InputError(
                f"The responses of '{file.path}' are {response.type}, but they should be numbers. "
                "Write them as numbers."
            )
        texts = as_texts(respondent, f"Column '{RESPONDENT}' of '{file.path}'")
        who = texts.dictionary_encode()
        what = as_texts(item, f"Column '{ITEM}' of '{file.path}'").dictionary_encode()
        places = [
            self._items.setdefault(name, len(self._items)) for name in what.dictionary.to_pylist()
        ]
        columns = np.array(places, dtype=np.int32)[what.indices.to_numpy()]
        numbers = scores_of(response, f"Column '{RESPONSE}' of '{file.path}'")
        names = np.asarray(who.dictionary.to_pylist(), dtype=object)
        home = hash_array(names, categorize=False) % np.uint64(self._n_buckets)
        bucket = home[who.indices.to_numpy()]
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(self._n_buckets + 1, dtype=np.uint64))
        for first, last in pairwise(ends):
            part = order[first:last]
            yield (
                [texts.take(pa.array(part)), pa.array(columns[part]), pa.array(numbers[part])]
                if part.size
                else None
            )

    def _opened(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]]:
        """Yield one bucket after the other: rows, columns, responses, and names of the rows."""
        import pyarrow as pa

        for file in self._buckets:
            file.seek(0)
            table = pa.ipc.open_stream(pa.PythonFile(file, "r")).read_all()
            if not table.num_rows:
                continue
            who = table.column(RESPONDENT).combine_chunks().dictionary_encode()
            yield (
                who.indices.to_numpy(),
                table.column(ITEM).to_numpy(),
                table.column(RESPONSE).to_numpy(),
                who.dictionary,
            )

    def _laid_out(
        self,
        rows: NDArray[Any],
        columns: NDArray[Any],
        responses: NDArray[Any],
        names: Any,
        *,
        grades: bool,
    ) -> NDArray[Any]:
        """Return a table of the respondents of one bucket."""
        import pyarrow as pa

        shape = len(names), len(self._items)
        pairs = rows.astype(np.int64) * shape[1] + columns
        told = np.bincount(pairs, minlength=shape[0] * shape[1])
        if told.max(initial=0) > 1:
            row, column = divmod(int(np.argmax(told > 1)), shape[1])
            raise InputError(
                f"{pair_in_words(names[row].as_py(), self.items[column])} has several responses, "
                "and repeated answers cannot be scanned. Read them with read_responses, or "
                "write one row per respondent and item."
            )
        if grades:
            cells = np.full(shape, -1, dtype=np.int8)
            cells[rows, columns] = codes_of(pa.array(responses), f"Column '{RESPONSE}'")
        else:
            cells = np.full(shape, np.nan)
            cells[rows, columns] = responses
        return cells


def _close_all(files: list[Any]) -> None:
    for file in files:
        file.close()


class Source(Protocol):
    """Where rows come from, in blocks whose order is always the same."""

    @property
    def items(self) -> tuple[str, ...]:
        """Names of items."""

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Return rows, as one byte a cell if they are `grades`, and what is seen in them."""

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Names of rows, at most so many at a time: an Arrow array, or their number if nameless."""


@dataclass(frozen=True)
class WideRows:
    """Files with one row per respondent."""

    files: tuple[ScannedFile, ...]
    items: tuple[str, ...]

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Return the rows of one file after the other."""
        return chain.from_iterable(file.blocks(grades=grades) for file in self.files)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Return names of rows; the number of rows where a file has none."""
        return chain.from_iterable(file.respondents(n_rows) for file in self.files)


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """All rows, in a temporary file or elsewhere, and what was seen on the way there."""

    rows: Any  # as `StoredRows`
    seen: SeenCells
    kind: Kind


class ScannedResponses:
    """Respondents × items in Parquet files that need not fit into memory.

    `calibrate`, `Calibration.score` and `Calibration.write_abilities` read them in blocks. Whatever
    needs all responses at once refuses them: `sample` gives some of them as `Responses`.
    """

    def __init__(
        self,
        source: Source | tuple[ScannedFile, ...],
        kind: Kind | None = None,
        notes: Iterable[str] = (),
        cache: PathLike | None = None,
    ) -> None:
        self._source, self.declared, self.cache = source, kind, cache
        self.notes = tuple(notes)

    @property
    def files(self) -> tuple[ScannedFile, ...]:
        """The files, in the order in which they are read."""
        if isinstance(self._source, tuple):
            return self._source
        return self._source.files if isinstance(self._source, WideRows) else ()

    @cached_property
    def source(self) -> Source:
        """Where rows come from; rows by response are sorted by respondent first."""
        if isinstance(self._source, tuple):
            return LongRows(self._source, self.cache)
        return self._source

    @cached_property
    def opened(self) -> OpenedRows:
        """All rows in a temporary file: the files are read once, when something is first asked."""
        return open_rows(self.source, self.declared, self.cache)

    @property
    def items(self) -> tuple[str, ...]:
        """Names of items."""
        return self.source.items

    @property
    def kind(self) -> Kind:
        """The kind of responses, as of `Responses`."""
        return self.opened.kind

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_respondents(self) -> int:
        """Number of respondents."""
        return self.opened.seen.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Respondents and items."""
        return self.n_respondents, self.n_items

    @property
    def n_missing(self) -> int:
        """Number of cells without a response."""
        return self.opened.seen.n_missing

    @property
    def complete(self) -> bool:
        """Whether every respondent was asked every item."""
        return self.n_missing == 0

    @cached_property
    def digest(self) -> Responses:
        """A few rows that hold all that was seen of each item: its grades, its outermost scores."""
        return Responses(self._floats(self.opened.seen.rows()), None, self.items, self.kind)

    def sample(self, size: int = 10_000) -> Responses:
        """Return about `size` evenly spaced respondents, in memory, for diagnoses and figures."""
        most = whole_number(size, "size", least=1)
        places = evenly_spaced(self.n_respondents, most)
        cells, wanted = self.opened.rows.take(places), set(places.tolist())
        names = [name for k, name in enumerate(self._names()) if k in wanted]
        found = Responses(self._floats(cells), names, self.items, self.kind)
        return found.described(notes=[*self.notes, f"{counted(len(names), 'respondent')} of many."])

    def _names(self) -> Iterator[str]:
        count = 0
        for names in self.source.respondents(1 << 16):
            if isinstance(names, int):
                yield from (f"respondent_{k}" for k in range(count + 1, count + 1 + names))
                count += names
            else:
                yield from names.to_pylist()
                count += len(names)

    def _floats(self, cells: Any) -> Any:
        return np.where(cells < 0, np.nan, cells) if cells.dtype.kind == "i" else cells

    def of_kind(self, kind: str) -> ScannedResponses:
        """Return the same responses, if they are of that kind."""
        if kind == self.kind:
            return self
        raise InputError(
            f"The scanned responses are {self.kind}, but {kind} ones are needed. Say so when they "
            f"are scanned: scan_responses(..., kind={kind!r})."
        )

    @property
    def cells(self) -> NoReturn:
        """Refused: they may be larger than memory."""
        raise InputError(
            "This needs all responses at once, but scanned ones are read in blocks. Use a part "
            "of them, scanned.sample(10_000), or read them all with read_responses."
        )

    values = observed = respondents = tries = cells

    def __repr__(self) -> str:
        files = counted(len(self.files), "file")
        if "opened" not in vars(self):
            return f"ScannedResponses: {files}, not read yet"
        who, what = counted(self.n_respondents, "respondent"), counted(self.n_items, "item")
        return f"ScannedResponses: {who} × {what}, {self.kind}, in {files}"


def scan_responses(
    paths: PathLike | Iterable[PathLike],
    kind: str | None = None,
    layout: str = "auto",
    *,
    cache: PathLike | None = None,
) -> ScannedResponses:
    """Return responses in Parquet files that need not fit into memory, read in blocks.

    `paths` is a folder, a pattern such as "folder/*.parquet", or several paths. Files have one row
    per respondent and one column per item (`layout` "wide"), or one row per response with the
    columns respondent, item and response ("long"); "auto" finds out which. Respondents of long
    rows may lie in several files, in any order. Items of all files are joined by name. `kind` is
    that of `Responses`, and inferred if it is left out.

    Files are read once, into a temporary file of one byte per response (eight per score) in the
    folder `cache`, by default that of the system; it has no name and goes with the process.
    A file that is damaged, or changes meanwhile, is named.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 500, 20, random_state=0).responses
    >>> _ = drawn.save("some.parquet")
    >>> scanned = og.scan_responses("some.parquet")
    >>> bank = og.calibrate(scanned, "2pl", progress=False)
    >>> bank.write_abilities("abilities.parquet").name
    'abilities.parquet'
    """
    if layout not in LAYOUTS or layout == ITEM_ROWS:
        raise InputError(
            f"layout is {shown(layout)}; scanned files are 'wide' (one row per respondent), "
            "'long' (one row per response), or 'auto' for either."
        )
    files, items, notes = looked_into(find_files(paths), layout)
    source = WideRows(tuple(files), items) if items else tuple(files)
    return ScannedResponses(source, checked_kind(kind), notes, cache)


def open_rows(source: Source, kind: Kind | None, cache: PathLike | None) -> OpenedRows:
    """Read all rows once: as grades if they can be, otherwise as scores."""
    if kind != "continuous":
        try:
            rows, seen = _kept(source, cache, grades=True)
            if kind is not None or seen.highest <= HIGHEST_INFERRED_GRADE:
                return OpenedRows(rows, seen, graded_kind(seen, kind))
        except NotGradesError as error:
            refuse_grades(error, kind)
    rows, seen = _kept(source, cache, grades=False)
    return OpenedRows(rows, seen, "continuous")


def graded_kind(seen: SeenCells, kind: Kind | None) -> Kind:
    """Return the kind of grades; refused where they are declared right or wrong and are not."""
    if kind == "binary" and seen.highest > 1:
        raise InputError(
            f"The responses go up to {seen.highest}, but binary responses are 0 or 1. Correct "
            "them, or pass kind='graded'."
        )
    return kind or seen.kind()


def refuse_grades(error: NotGradesError, kind: Kind | None) -> None:
    """Refuse what was declared as grades, or looks like grades with a code for missing."""
    if kind is not None:
        raise InputError(
            f"{error.where} holds responses that are no whole numbers from 0 to 127, so that they "
            f"are not {kind}. Correct them, or pass kind='continuous'."
        ) from error
    if error.negative:
        raise InputError(
            f"{error.where} holds negative whole numbers, but grades are not negative. Leave "
            "cells empty where an item was never asked, or pass kind='continuous' if these are "
            "scores."
        ) from error


def _kept(source: Source, cache: PathLike | None, *, grades: bool) -> tuple[StoredRows, SeenCells]:
    writer = RowWriter(len(source.items), np.int8 if grades else np.float64, cache)
    if isinstance(source, WideRows):
        writer.check_room(sum(file.n_rows for file in source.files))
    whole: SeenCells | None = None
    for cells, seen in source.blocks(grades=grades):
        writer.append(cells)
        whole = seen if whole is None else whole.joined(seen)
    if whole is None:
        raise InputError("The files have no rows, so there is nothing to scan.")
    return writer.finish(), whole
