"""Responses that are larger than memory: Parquet files, read in blocks.

Rows of a long table come in any order. Their respondents are dealt to buckets on the disk by a hash
of their names, until one bucket after the other can be laid out as a table. The buckets are files
without a name: nothing of them stays.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ogive._files import PathLike
from ogive._validation import whole_number
from ogive.data.column_roles import ITEM_ROWS, LAYOUTS
from ogive.data.disk_rows import RowWriter, StoredRows
from ogive.data.parquet_files import as_texts, is_number
from ogive.data.responses import Responses
from ogive.data.scanned_files import (
    Block,
    NotGradesError,
    ScannedFile,
    codes_of,
    find_files,
    scan_files,
    scores_of,
)
from ogive.errors import FileError, InputError
from ogive.irt.response_codes import (
    HIGHEST_INFERRED_GRADE,
    Kind,
    SeenCells,
    checked_kind,
    pair_in_words,
)
from ogive.results.numbers import counted, shown
from ogive.stats.array_backend import evenly_spaced

ROWS_AT_A_TIME = 1 << 20
ROWS_IN_BUCKET = 1 << 21
MOST_BUCKETS = 512
RESPONDENT, ITEM, RESPONSE = "respondent", "item", "response"


class LongRows:
    """Responses dealt to buckets, each with all responses of its respondents."""

    def __init__(self, files: Sequence[ScannedFile], folder: PathLike | None) -> None:
        total = sum(file.n_rows for file in files)
        self._n_buckets = min(MOST_BUCKETS, -(-total // ROWS_IN_BUCKET))
        self._items: dict[str, int] = {}
        self._buckets: list[Any] = []
        try:
            self._deal(files, folder)
        except FileError:
            raise
        except OSError as error:
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
            shape = len(names), len(self._items)
            pairs = rows.astype(np.int64) * shape[1] + columns
            counts = np.bincount(pairs, minlength=shape[0] * shape[1])
            if counts.max(initial=0) > 1:
                row, column = divmod(int(np.argmax(counts > 1)), shape[1])
                raise InputError(
                    f"{pair_in_words(names[row].as_py(), self.items[column])} has several "
                    "responses, and repeated answers cannot be scanned. Read them with "
                    "read_responses, or write one row per respondent and item."
                )
            if grades:
                cells = np.full(shape, -1, dtype=np.int8)
                cells[rows, columns] = codes_of(pa.array(responses), f"Column '{RESPONSE}'")
                yield cells, SeenCells.of_codes(cells)
            else:
                scores = np.full(shape, np.nan)
                scores[rows, columns] = responses
                yield scores, SeenCells.of_scores(scores)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Yield names of respondents in the order of `blocks`, at most `n_rows` at a time."""
        for *_, names in self._opened():
            for first in range(0, len(names), n_rows):
                yield names[first : first + n_rows]

    def _deal(self, files: Sequence[ScannedFile], folder: PathLike | None) -> None:
        """Write every response to the bucket of its respondent."""
        schema = pa.schema(
            [(RESPONDENT, pa.string()), (ITEM, pa.int32()), (RESPONSE, pa.float64())]
        )
        self._buckets = [
            tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - as long as this
            for _ in range(self._n_buckets)
        ]
        weakref.finalize(self, lambda buckets: [file.close() for file in buckets], self._buckets)
        sinks = [pa.PythonFile(file, "w") for file in self._buckets]
        writers = [pa.ipc.new_stream(sink, schema) for sink in sinks]
        for file in files:
            assert file.roles is not None  # noqa: S101 - long files have them
            for batch in file.batches(file.roles, ROWS_AT_A_TIME):
                for writer, part in zip(writers, self._split(file, batch), strict=True):
                    if len(part[0]):
                        writer.write(pa.RecordBatch.from_arrays(part, schema=schema))
        for writer in writers:
            writer.close()

    def _split(self, file: ScannedFile, batch: Any) -> Iterator[list[Any]]:
        """Yield the rows of each bucket: respondent, position of the item, response."""
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
            yield [texts.take(pa.array(part)), pa.array(columns[part]), pa.array(numbers[part])]

    def _opened(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]]:
        """Yield one bucket after the other: rows, columns, responses, and names of the rows."""
        for file in self._buckets:
            file.seek(0)
            table = pa.ipc.open_stream(pa.PythonFile(file, "r")).read_all()
            if not table.num_rows:
                continue
            who = table.column(RESPONDENT).combine_chunks().dictionary_encode()
            columns, responses = table.column(ITEM).to_numpy(), table.column(RESPONSE).to_numpy()
            yield who.indices.to_numpy(), columns, responses, who.dictionary


class Source(Protocol):
    """A source of rows, in blocks whose order is always the same."""

    @property
    def items(self) -> tuple[str, ...]:
        """Names of items."""

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Yield rows, as one byte per cell if they are `grades`, and a summary of their items."""

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Yield names of rows, at most `n_rows` at a time; the number of nameless rows."""


@dataclass(frozen=True)
class WideRows:
    """Files with one row per respondent."""

    files: tuple[ScannedFile, ...]
    items: tuple[str, ...]

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Return the rows of one file after the other."""
        return chain.from_iterable(file.blocks(grades=grades) for file in self.files)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Return names of rows; the number of rows if a file has none."""
        return chain.from_iterable(file.respondents(n_rows) for file in self.files)


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """All rows, in a temporary file or elsewhere, and a summary of their items."""

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
        """The source of rows; rows by response are sorted by respondent first."""
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
        """True if every respondent was asked every item."""
        return self.n_missing == 0

    @cached_property
    def digest(self) -> Responses:
        """A few rows with all grades of each item, or its outermost scores."""
        return Responses(self._floats(self.opened.seen.rows()), None, self.items, self.kind)

    def sample(self, size: int = 10_000) -> Responses:
        """Return about `size` evenly spaced respondents, in memory, for diagnoses and figures."""
        most = whole_number(size, "size", least=1)
        places = evenly_spaced(self.n_respondents, most)
        cells, wanted = self.opened.rows.take(places), set(places.tolist())
        all_names = chain.from_iterable(block.to_pylist() for block in self.name_blocks(1 << 16))
        names = [name for k, name in enumerate(all_names) if k in wanted]
        found = Responses(self._floats(cells), names, self.items, self.kind)
        return found.described(notes=[*self.notes, f"{counted(len(names), 'respondent')} of many."])

    def name_blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield names as Arrow arrays, at most `n_rows` at a time; nameless rows are numbered."""
        count = 0
        for names in self.source.respondents(n_rows):
            if isinstance(names, int):
                numbers = range(count + 1, count + 1 + names)
                names = pa.array([f"respondent_{k}" for k in numbers], pa.string())
            yield names
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
    files, items, notes = scan_files(find_files(paths), layout)
    source = WideRows(tuple(files), items) if items else tuple(files)
    return ScannedResponses(source, checked_kind(kind), notes, cache)


def open_rows(source: Source, kind: Kind | None, cache: PathLike | None) -> OpenedRows:
    """Read all rows once: as grades if they can be, otherwise as scores."""
    if kind != "continuous":
        try:
            rows, seen = _store(source, cache, grades=True)
            if kind is not None or seen.highest <= HIGHEST_INFERRED_GRADE:
                return OpenedRows(rows, seen, graded_kind(seen, kind))
        except NotGradesError as error:
            refuse_grades(error, kind)
    rows, seen = _store(source, cache, grades=False)
    return OpenedRows(rows, seen, "continuous")


def graded_kind(seen: SeenCells, kind: Kind | None) -> Kind:
    """Return the kind of grades; refused if they are declared right or wrong and are not."""
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


def _store(source: Source, cache: PathLike | None, *, grades: bool) -> tuple[StoredRows, SeenCells]:
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
