"""Responses that are larger than memory: Parquet files, read in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ogive.arguments import whole_number
from ogive.errors import InputError
from ogive.numerics.arrays import evenly_spaced
from ogive.responses.long_scanning import LongRows
from ogive.responses.response_table import Responses
from ogive.responses.scanned_files import (
    Block,
    NotGradesError,
    ScannedFile,
    find_files,
    looked_into,
)
from ogive.responses.seen_cells import SeenCells
from ogive.responses.stored_cells import HIGHEST_INFERRED_GRADE, Kind, checked_kind
from ogive.responses.stored_rows import RowWriter, StoredRows
from ogive.responses.table_layouts import ITEM_ROWS, LAYOUTS
from ogive.words import counted, shown

if TYPE_CHECKING:
    from ogive.files import PathLike


class Source(Protocol):
    """Where rows come from, in blocks whose order is always the same."""

    @property
    def items(self) -> tuple[str, ...]:
        """Names of items."""

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """Rows, as one byte a cell if they are `grades`, and what is seen in them."""

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Names of rows, at most so many at a time: an Arrow array, or their number if nameless."""


@dataclass(frozen=True)
class WideRows:
    """Files with one row per respondent."""

    files: tuple[ScannedFile, ...]
    items: tuple[str, ...]

    def blocks(self, *, grades: bool) -> Iterator[Block]:
        """The rows of one file after the other."""
        return chain.from_iterable(file.blocks(grades=grades) for file in self.files)

    def respondents(self, n_rows: int) -> Iterator[Any]:
        """Names of rows; the number of rows where a file has none."""
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
        """About `size` evenly spaced respondents, in memory, for diagnoses and figures."""
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
        """The same responses, if they are of that kind."""
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
    """Responses in Parquet files that need not fit into memory, read in blocks.

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
    """The kind of grades; refused where they are declared right or wrong and are not."""
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
