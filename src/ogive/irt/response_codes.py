"""Storage of responses: kinds, integer codes, and counts of each item."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive.errors import InputError
from ogive.results.numbers import shown
from ogive.stats.array_backend import Floats, in_threads, row_blocks


def number(cell: object) -> float | None:
    """Return the cell as a float: NaN if it is missing, None if it is not a number."""
    if cell is None or type(cell).__name__ in ("NAType", "MaskedConstant"):
        return math.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


Kind = Literal["binary", "graded", "continuous", "nominal"]
Where = Callable[[int], str]  # describes the cell at a position in C order

NOMINAL: Kind = "nominal"  # options without order; 0 is the right one
KINDS: tuple[Kind, ...] = get_args(Kind)
NEVER_ASKED = -1  # code in binary and graded cells; continuous cells hold NaN
HIGHEST_INFERRED_GRADE = 20
LARGEST = 1e70  # largest score: its fourth power is still a number
HIGHEST_GRADE = int(np.iinfo(np.int16).max)
FOLDED = 127  # number of rows whose ones sum to what one byte holds
BLOCK_CELLS = 1 << 22
MOST_GRADES = 128  # number of grades that one byte holds

_BLOCK_BYTES = 1 << 23  # bytes read at a time in a pass over a large table
_EXPECTED = {
    "binary": "binary responses are 0 or 1",
    "graded": f"grades are whole numbers from 0 to {HIGHEST_GRADE:,}",
    "nominal": f"options are whole numbers from 0, the right one, to {HIGHEST_GRADE:,}",
}
_PERCENT, _COMMA = re.compile(r"[+-]?\d+([.,]\d+)? ?%"), re.compile(r"[+-]?\d+,\d+")
_HOW_TO_MISS = "Use NaN where an item was never asked"


@dataclass(frozen=True)
class Extent:
    """The range of the observed responses."""

    low: float = math.inf
    high: float = -math.inf
    whole: bool = True


def checked_kind(kind: str | None) -> Kind | None:
    """Return the kind, if it is a known one or None."""
    if kind is None or kind in KINDS:
        return kind
    raise InputError(
        f"`kind` must be 'binary', 'graded', 'continuous' or 'nominal', got {shown(kind)}. "
        "Leave it out to have it inferred."
    )


def as_numbers(values: NDArray[Any], where: Where) -> NDArray[Any]:
    """Return numeric arrays as they are; parse objects and text cell by cell."""
    if values.dtype.kind in "biuf":
        # Some machines have wider floats; what exceeds float64 becomes infinite.
        with np.errstate(over="ignore"):
            return values.astype(np.float64) if values.dtype.itemsize > 8 else values
    if values.dtype.kind not in "OUST":
        raise InputError(
            f"The responses are of type {values.dtype}, but they should be numbers. "
            f"Give 0 and 1, grades or scores. {_HOW_TO_MISS}."
        )
    parsed = np.frompyfunc(number, 1, 1)(values)
    wrong = np.flatnonzero(parsed == np.array(None))
    if wrong.size:
        refuse_text(where(int(wrong[0])), values.flat[wrong[0]], wrong.size - 1)
    return np.asarray(parsed, dtype=np.float64)


def refuse_text(cell: str, value: object, n_more: int = 0, hint: str = "") -> NoReturn:
    """Raise an error: this cell holds something that is not a number."""
    text, advice = str(value).strip(), ""  # on numbers as spreadsheets show them
    if _PERCENT.fullmatch(text):
        share = float(text.rstrip("% ").replace(",", ".")) / 100
        advice = f"Write shares without the percent sign, as {share:g}. "
    elif _COMMA.fullmatch(text):
        advice = f"Write numbers with a decimal point, as {text.replace(',', '.')}"
        if len(text.rpartition(",")[2]) == 3:  # it may separate thousands
            advice += f", or as {text.replace(',', '')} if that is meant"
        advice += ". "
    elif text.startswith("#"):
        advice = "This is what a spreadsheet shows for an error: correct its formula. "
    raise InputError(
        f"{cell} holds {shown(value)}, which is not a number{_and_more(n_more)}. {advice}{hint}"
        f"Give 0 and 1, grades or scores as numbers. {_HOW_TO_MISS}."
    )


def coded(values: NDArray[Any], kind: Kind | None, where: Where) -> tuple[NDArray[Any], Kind]:
    """Convert numbers to stored cells, and infer their kind; NaN means never asked.

    The table is processed in blocks, so that the cells are the only array of its size that is
    made. C-contiguous float64 of the continuous kind is not copied.
    """
    extent = extent_of(values, where)
    kind = kind or _inferred(extent, values, where)
    if kind == "continuous":
        return np.ascontiguousarray(values, dtype=np.float64), kind
    _check_range(extent, values, kind, where)
    cells = np.empty(values.shape, dtype=_grade_type(extent.high))

    def fill(rows: slice) -> None:
        block = values[rows]
        if block.dtype.kind == "f":
            block = np.where(np.isnan(block), NEVER_ASKED, block)
        cells[rows] = block

    in_threads(fill, _blocks(values))
    return cells, kind


def recoded(compact: NDArray[Any], kind: Kind | None, where: Where) -> tuple[NDArray[Any], Kind]:
    """Keep whole numbers in which -1 already means never asked, and infer their kind."""
    extent = Extent(0.0, float(compact.max(initial=0)), True)
    kind = kind or _inferred(extent, compact, where)
    if kind == "continuous":
        return as_floats(compact), kind
    if kind == "binary" and extent.high > 1:
        _check_range(extent, as_floats(compact), kind, where)
    return compact.astype(_grade_type(extent.high), order="C", copy=False), kind


def as_floats(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return a new float64 array in which NaN means never asked."""
    floats = cells.astype(np.float64)
    if cells.dtype.kind != "f":
        floats[cells == NEVER_ASKED] = np.nan
    return floats


def compact(block: NDArray[np.float64]) -> NDArray[Any]:
    """Return floats as int8 with -1 for NaN if that loses nothing, otherwise as they are."""
    missing = np.isnan(block)
    filled = np.where(missing, 0.0, block)
    if ((filled >= 0) & (filled <= 127) & (filled == np.floor(filled))).all():
        return np.where(missing, NEVER_ASKED, filled).astype(np.int8)
    return block


def stacked(blocks: list[NDArray[Any]], *, columns: bool = False) -> NDArray[Any]:
    """Join blocks of rows (or of transposed columns) made by `compact`; empties the list."""
    small = all(block.dtype == np.int8 for block in blocks)
    end = sum(map(len, blocks))
    shape = end, blocks[0].shape[1]
    table = np.empty(shape[::-1] if columns else shape, np.int8 if small else np.float64)
    lines = table.T if columns else table
    while blocks:
        block = blocks.pop()  # freed as the table fills, so that memory holds one copy
        lines[end - len(block) : end] = block if small else as_floats(block)
        end -= len(block)
    return table


def cell_finder(respondents: Sequence[str] | None, items: Sequence[str]) -> Where:
    """Return a function that describes the cell at a position; without names, rows are numbered."""

    def where(position: int) -> str:
        row, column = divmod(position, len(items))
        name = f"respondent_{row + 1}" if respondents is None else respondents[row]
        return pair_in_words(name, items[column])

    return where


def pair_in_words(respondent: str, item: str) -> str:
    """Describe one cell by its names."""
    return f"The cell of respondent {shown(respondent)} and item {shown(item)}"


def _blocks(values: NDArray[Any]) -> list[slice]:
    return row_blocks(len(values), max(1, _BLOCK_BYTES * len(values) // max(1, values.nbytes)))


def extent_of(values: NDArray[Any], where: Where) -> Extent:
    """Return the range of the responses; infinite and immense ones are refused."""
    if not values.size:
        return Extent()

    def of_block(rows: slice) -> tuple[float, float, bool]:
        block = values[rows]
        if block.dtype.kind != "f":
            return float(block.min()), float(block.max()), True
        low = float(np.fmin.reduce(block, axis=None, initial=math.inf))
        high = float(np.fmax.reduce(block, axis=None, initial=-math.inf))
        return low, high, bool(((block == np.floor(block)) | np.isnan(block)).all())

    lowest, highest, all_whole = zip(*in_threads(of_block, _blocks(values)), strict=True)
    low, high, whole = min(lowest), max(highest), all(all_whole)
    if low < -LARGEST or high > LARGEST:
        first, n_more = _first(values, lambda block: np.abs(block) > np.float64(LARGEST))
        found = values.flat[first]
        what = "is infinite" if np.isinf(found) else f"holds {found:.10g}"
        raise InputError(
            f"{where(first)} {what}{_and_more(n_more)}, but responses are finite, and scores are "
            f"below {LARGEST:g}. Correct the cell. {_HOW_TO_MISS}."
        )
    return Extent(low, high, whole)


def _inferred(extent: Extent, values: NDArray[Any], where: Where) -> Kind:
    if not extent.whole or extent.high > HIGHEST_INFERRED_GRADE:
        return "continuous"
    if extent.low < 0:
        first, n_more = _first(values, lambda block: block < 0)
        raise InputError(
            f"{where(first)} holds {values.flat[first]:.10g}{_and_more(n_more)}, "
            "but grades are not negative. "
            f"{_HOW_TO_MISS}, or pass kind='continuous' if these are scores."
        )
    return "binary" if extent.high <= 1 else "graded"


def _check_range(extent: Extent, values: NDArray[Any], kind: Kind, where: Where) -> None:
    highest = 1 if kind == "binary" else HIGHEST_GRADE
    if extent.whole and extent.low >= 0 and extent.high <= highest:
        return

    def outside(block: NDArray[Any]) -> NDArray[np.bool_]:
        inside = (block >= 0) & (block <= highest) & (block == np.floor(block))
        return np.asarray(~inside & ~np.isnan(block))

    first, n_more = _first(values, outside)
    gradable = extent.whole and extent.low >= 0 and extent.high <= HIGHEST_GRADE
    raise InputError(
        f"{where(first)} holds {values.flat[first]:.10g}{_and_more(n_more)}, "
        f"but {_EXPECTED[kind]}. Correct the cell, or pass "
        f"kind='{'graded' if gradable else 'continuous'}'. {_HOW_TO_MISS}."
    )


def _first(
    values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[int, int]:
    """Return the first position in C order where the test holds, and how many more there are."""
    first, count = -1, 0
    for rows in _blocks(values):
        found = np.flatnonzero(test(values[rows]))
        if found.size and first < 0:
            first = rows.start * (values.size // len(values)) + int(found[0])
        count += found.size
    return first, count - 1


def _and_more(count: int) -> str:
    if count < 1:
        return ""
    return f" (and {count:,} more cell{'s' if count > 1 else ''})"


def _grade_type(high: float) -> type[np.signedinteger[Any]]:
    return np.int8 if high <= np.iinfo(np.int8).max else np.int16


def as_table(values: ArrayLike) -> NDArray[Any]:
    """Return any rectangle as a two-dimensional array; a frame is refused."""
    if hasattr(values, "columns"):
        raise InputError(
            "values is a DataFrame, whose names would be lost. "
            "Use Responses.from_frame(frame), or from_long(frame) for one row per response."
        )
    if isinstance(values, np.ma.MaskedArray):
        numeric = values.dtype.kind in "biuf"
        values = np.ma.filled(values.astype(np.float64 if numeric else object), np.nan)
    try:
        table = np.asarray(values)
    except ValueError as error:
        raise InputError(
            "The rows of values differ in length, but a table has one column per item. "
            "Fill the gaps with NaN."
        ) from error
    if table.ndim != 2:
        raise InputError(
            f"values has shape {table.shape}, which is {table.ndim}-dimensional, "
            "but a table has two dimensions. Give one row per respondent and one column per item."
        )
    check_shape(table.shape)
    return table


def check_codes(cells: NDArray[Any]) -> None:
    """Refuse what is not a table of codes."""
    if cells.dtype not in (np.int8, np.int16) or cells.ndim != 2:
        raise InputError(
            f"cells is {cells.ndim}-dimensional and of type {cells.dtype}, but codes are a table "
            "of int8 or int16. Give other numbers to Responses(values)."
        )
    check_shape(cells.shape)
    if min(in_threads(lambda rows: cells[rows].min(), _blocks(cells))) < NEVER_ASKED:
        raise InputError(
            f"cells holds {cells.min()}, but codes are -1 (never asked), 0 and above. "
            "Use -1 for what is missing."
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a table without respondents or items."""
    if 0 in shape:
        raise InputError(
            f"The table is empty: {shape[0]:,} respondents × {shape[1]:,} items. "
            "There must be at least one of each."
        )


Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """Responses of a table by item, and the rows without any response."""

    n_rows: int
    asked: Counts  # (n_items,)
    lowest: NDArray[np.float64]  # (n_items,): infinite if nobody was asked
    highest: NDArray[np.float64]
    unasked: NDArray[np.intp]  # rows without any response
    counts: Counts | None  # (n_items, n_codes) of codes from 0; None for scores

    @cached_property
    def n_missing(self) -> int:
        """The number of cells without a response."""
        return self.n_rows * self.asked.size - int(self.asked.sum())

    @classmethod
    def of(cls, cells: NDArray[Any]) -> Tally:
        """Count in blocks of rows, on all cores; `cells` as they are stored."""
        n_rows, n_items = cells.shape
        rows = max(FOLDED, BLOCK_CELLS // n_items // FOLDED * FOLDED)
        blocks = row_blocks(n_rows, rows)
        if cells.dtype.kind == "f":
            return cls._of_scores(cells, blocks)
        n_codes = max(0, *in_threads(lambda part: int(cells[part].max()), blocks)) + 1

        def count(part: slice) -> tuple[Counts, NDArray[np.intp]]:
            """Return counts of each code by item, and the rows of a block without any response."""
            block = cells[part]
            counts = np.zeros((n_items, n_codes), dtype=np.int64)
            complete = bool(block.min() >= 0)
            if complete and n_codes == 2:
                counts[:, 1] = _ones(block)
                counts[:, 0] = len(block) - counts[:, 1]
            else:
                for code in range(n_codes):
                    counts[:, code] = _ones(block == code)
            empty = np.flatnonzero(block.max(axis=1) < 0) if not complete else np.zeros(0, np.intp)
            return counts, empty

        found = in_threads(count, blocks)
        counts = np.sum([each for each, _ in found], axis=0)
        seen = counts > 0
        some = seen.any(axis=1)
        lowest = np.where(some, seen.argmax(axis=1), np.inf)
        highest = np.where(some, n_codes - 1 - seen[:, ::-1].argmax(axis=1), -np.inf)
        return cls(n_rows, counts.sum(axis=1), lowest, highest, _places(blocks, found), counts)

    @classmethod
    def _of_scores(cls, cells: NDArray[Any], blocks: list[slice]) -> Tally:
        def read(part: slice) -> tuple[Any, ...]:
            block = cells[part]
            known = ~np.isnan(block)
            low = np.fmin.reduce(block, axis=0, initial=np.inf)
            high = np.fmax.reduce(block, axis=0, initial=-np.inf)
            return (known.sum(axis=0), low, high), np.flatnonzero(~known.any(axis=1))

        found = in_threads(read, blocks)
        asked, low, high = zip(*(part for part, _ in found), strict=True)
        return cls(
            len(cells),
            np.sum(asked, axis=0),
            np.min(low, axis=0),
            np.max(high, axis=0),
            _places(blocks, found),
            None,
        )


def _ones(block: NDArray[Any]) -> Counts:
    """Return column sums of zeros and ones; bytes are added up to where they would overflow."""
    n_rows, n_items = block.shape
    small = block.view(np.int8) if block.dtype.itemsize == 1 else block.astype(np.int8)
    whole = n_rows // FOLDED * FOLDED
    folded = small[:whole].reshape(-1, FOLDED, n_items).sum(axis=1, dtype=np.int8)
    rest = small[whole:].sum(axis=0, dtype=np.int64)
    return np.asarray(folded.sum(axis=0, dtype=np.int64) + rest)


def _places(blocks: list[slice], found: list[Any]) -> NDArray[np.intp]:
    """Return positions within the blocks as positions within the table."""
    parts = [places + part.start for part, (_, places) in zip(blocks, found, strict=True)]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class SeenCells:
    """Number of rows, and the responses that each item got, to be joined block by block.

    `counts` has one column for each grade, -1 first; for scores it is None, and `outermost` has
    the two lowest and the two highest of each item, (4, n_items). A few rows with these look to a
    model like the table itself.
    """

    n_rows: int
    n_missing: int
    n_empty: int  # respondents without any response
    counts: NDArray[np.int64] | None = None  # (n_items, 1 + MOST_GRADES)
    outermost: Floats | None = None

    @classmethod
    def of_codes(cls, cells: NDArray[np.int8]) -> SeenCells:
        """Count a block of grades, (n_rows, n_items)."""
        n_rows, n_items = cells.shape
        counts = np.zeros((n_items, 1 + MOST_GRADES), dtype=np.int64)
        if not n_rows:
            return cls(0, 0, 0, counts=counts)
        tally = Tally.of(cells)
        assert tally.counts is not None  # noqa: S101 - grades are codes
        counts[:, 0] = n_rows - tally.asked
        counts[:, 1 : 1 + tally.counts.shape[1]] = tally.counts
        return cls(n_rows, tally.n_missing, tally.unasked.size, counts=counts)

    @classmethod
    def of_scores(cls, cells: Floats) -> SeenCells:
        """Find the outermost of a block of scores, (n_rows, n_items)."""
        missing = np.isnan(cells)
        n_empty = int(missing.all(axis=1).sum())
        return cls(len(cells), int(missing.sum()), n_empty, outermost=_outermost(cells))

    def joined(self, other: SeenCells) -> SeenCells:
        """Join two blocks of rows."""
        counts = outermost = None
        if self.counts is not None and other.counts is not None:
            counts = self.counts + other.counts
        if self.outermost is not None and other.outermost is not None:
            outermost = _outermost(np.concatenate([self.outermost, other.outermost]))
        return SeenCells(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.n_empty + other.n_empty,
            counts,
            outermost,
        )

    @property
    def highest(self) -> int:
        """The highest grade; -1 if there is no response."""
        assert self.counts is not None  # noqa: S101 - of grades only
        return int(np.flatnonzero(self.counts.any(axis=0)).max(initial=0)) - 1

    def rows(self) -> NDArray[np.int8] | Floats:
        """Return rows that hold, column by column, the responses that each item got."""
        if self.counts is None:
            assert self.outermost is not None  # noqa: S101 - one of the two is always there
            return self.outermost
        grades = np.arange(max(1, self.highest + 1), dtype=np.int8)
        seen = self.counts[:, 1 : 1 + grades.size].T > 0
        return np.where(seen, grades[:, None], np.int8(NEVER_ASKED)).astype(np.int8)

    def kind(self) -> Kind:
        """Return the kind of grades if none was declared."""
        return "binary" if self.highest <= 1 else "graded"


def _outermost(cells: Floats) -> Floats:
    """Return the two lowest and highest distinct scores of each column; NaN if there is none.

    A single score is both the lowest and the highest.
    """
    low, high = np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)
    above = np.fmin.reduce(np.where(cells > low, cells, np.nan), axis=0)
    below = np.fmax.reduce(np.where(cells < high, cells, np.nan), axis=0)
    return np.stack([low, above, below, high])
