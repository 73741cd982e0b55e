"""Responses as engines read them: compact, weighted rows on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from ogive.stats.array_backend import (
    MOST_SUMMED,
    Array,
    Floats,
    Recordings,
    Run,
    ZerosAndOnes,
    add,
    array_namespace,
    as_array,
    as_numpy,
    fold,
    free_bytes,
    halved,
    in_threads,
    row_blocks,
)

FEW_ITEMS = 20  # largest number of items for which equal rows are merged
STREAMED_CELLS = 1 << 19  # cells per block (4 MB): smaller blocks leave threads waiting for Python
PRODUCT_CELLS = 1 << 18  # cells per block that keep matrix products busy
NODE_CELLS = 1 << 18  # posterior weights per block
MOST_DISTINCT = 1 << 20  # largest number of distinct rows for which equal rows are merged
LEAST_ROWS = 256  # smallest block: with fewer rows, a matrix product waits for memory
MOST_ROWS = 4096  # largest block; parts that begin at multiples of it have the blocks of the whole
READ_BYTES = 1 << 22  # bytes searched at once for a missing response
DEVICE_CELLS = 1 << 26  # block size on a GPU: half a gigabyte in float64

Work: TypeAlias = "Callable[[slice], Sequence[Array]]"  # on a block of rows
Over: TypeAlias = "Callable[[Encoded, Run], Work]"  # the work on the blocks of these rows
Combine: TypeAlias = "Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]"


class Reader(Protocol):
    """The part of a `MeasurementModel` that reads responses."""

    @property
    def kind(self) -> str:
        """The kind of responses that it models."""

    def read(self, cells: Array) -> Array:
        """Convert responses to the numbers that engines work on."""

    def statistics(self, values: Array, dtype: Any) -> list[Array]:
        """Compute the statistics of such numbers."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows as tables, one per statistic of a response; 0 where there is no response.

    `observed` is 1 where there is a response; None if all are present. Of repeated answers it is
    their number, and the statistics are sums over them.
    """

    statistics: list[Array]  # each (n_rows, n_items)
    observed: Array | None

    @property
    def asked(self) -> Array:
        """1 where there is a response, (n_rows, n_items)."""
        if self.observed is not None:
            return self.observed
        return array_namespace(self.statistics[0]).ones_like(self.statistics[0])


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of responses, each standing for `weights` respondents.

    Cells that were never asked are -1 among categories (integers) and NaN among scores (float64).
    `read` still has to be applied to `cells` before they are used, unless it is None.

    With `tries`, cells are the numbers of right answers out of so many: their likelihood is the
    binomial one, of which the order of the answers is left out.
    """

    cells: Array  # (n_rows, n_items)
    weights: Array  # (n_rows,)
    complete: bool
    statistics: Callable[[Array, Any], list[Array]]
    binary: bool = False
    read: Callable[[Array], Array] | None = None
    single: bool = False  # tables in float32: half the work, while the fit is far from its end
    moments: tuple[Array, Array] | None = None  # mean and covariance of complete scores
    tries: Array | None = None  # (n_rows, n_items), behind each cell; None if one everywhere
    merged: bool = False  # equal rows are one

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and items."""
        return self.cells.shape[0], self.cells.shape[1]

    @cached_property
    def unweighted(self) -> bool:
        """True if every row stands for one respondent."""
        return bool((self.weights == 1).all())

    @cached_property
    def n_respondents(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.weights.sum())

    @cached_property
    def right_counts(self) -> Array:
        """Weighted number of correct responses to each item of a binary table."""

        def count(data: Encoded, _: Run) -> Work:
            return lambda rows: (data.right_or_wrong(rows).summed(data.counted(rows)),)

        return self.gather(map, count, lanes=1)[0]

    @cached_property
    def recordings(self) -> Recordings:
        """CUDA graphs recorded on these rows, to be replayed."""
        return Recordings()

    def gather(
        self,
        run: Run,
        over: Over,
        *,
        width: int = 1,
        rows: int | None = None,
        lanes: int = 16,
        combine: Combine = add,
    ) -> Sequence[Array]:
        """Combine the results of blocks of rows, in a fixed order.

        `over(data, run)` prepares the work on some rows, in the process that holds them: it may
        keep items and nodes, but no rows. Blocks have `rows` rows, or as many as suit `width`
        numbers per row.
        """
        if hasattr(self.cells, "gather_sums"):  # rows are elsewhere, and so is the work
            found: Sequence[Array] = self.cells.gather_sums(
                self, over, width=width, rows=rows, lanes=lanes, combine=combine
            )
            return found
        if not isinstance(self.weights, np.ndarray):
            run = map  # a device has threads of its own, and one queue
        return fold(run, self.cut(width, rows), over(self, run), lanes, combine)

    def counted(self, rows: slice) -> Array:
        """Return the weights of some rows."""
        found = self.weights[rows]
        # One number may stand for the weights of all rows; matrix products want one each.
        return np.ascontiguousarray(found) if isinstance(found, np.ndarray) else found

    @property
    def exclusive(self) -> bool:
        """True if every cell is one response, in one category."""
        return self.graded and self.tries is None

    @cached_property
    def often(self) -> Floats | None:
        """Largest number of tries behind a cell of each item, (n_items,); None if always one."""
        if self.tries is None:
            return None
        found: Floats = as_numpy(array_namespace(self.tries).max(self.tries, axis=0)).astype(float)
        return np.maximum(found, 1.0)

    @property
    def graded(self) -> bool:
        """True if cells are categories, not scores."""
        return "int" in str(self.cells.dtype)

    def blocks(self, width: int) -> list[slice]:
        """Return slices of rows for work that needs `width` numbers per row."""
        n_rows, n_items = self.shape
        if not isinstance(self.weights, np.ndarray):
            if width == 1 and self.halves is not None:  # no row is turned into numbers
                return [slice(0, n_rows)]
            return row_blocks(n_rows, max(1, DEVICE_CELLS // (n_items + width)))
        if width == 1:
            return row_blocks(n_rows, even_rows(STREAMED_CELLS // n_items))
        rows = min(PRODUCT_CELLS // n_items, NODE_CELLS // width)
        return row_blocks(n_rows, max(LEAST_ROWS, even_rows(rows)))

    def cut(self, width: int, rows: int | None) -> list[slice]:
        """Return slices of `rows` rows, or of as many as suit `width` numbers per row."""
        if rows is None:
            return self.blocks(width)
        return row_blocks(self.shape[0], even_rows(rows))

    def every(self, stride: int) -> Encoded:
        """Return every `stride`-th row, with weights that sum to the same number of respondents."""
        if stride < 2:
            return self
        weights = self.weights[::stride]
        scaled = weights * (float(self.weights.sum()) / float(weights.sum()))
        tries = None if self.tries is None else self.tries[::stride]
        cells = self.cells[::stride]
        return replace(self, cells=cells, weights=scaled, moments=None, tries=tries)

    def of_rows(self, rows: Array) -> Encoded:
        """Return some of the rows, by position."""
        xp = array_namespace(self.cells)
        if not isinstance(self.cells, np.ndarray):
            rows = xp.asarray(rows, device=self.cells.device)
        tries = None if self.tries is None else self.tries[rows]
        part, weights = self.cells[rows], self.weights[rows]
        return replace(self, cells=part, weights=weights, moments=None, tries=tries)

    def of_items(self, items: slice | Array) -> Encoded:
        """Return all rows of some items."""
        tries = None if self.tries is None else self.tries[:, items]
        return replace(self, cells=self.cells[:, items], moments=None, tries=tries)

    def thinned(self, most: int) -> Encoded:
        """Return about `most` evenly spaced rows that represent all.

        Merged rows stay as they are: their weights differ too much to leave some out.
        """
        return self if self.merged else self.every(self.shape[0] // most)

    @property
    def dtype(self) -> Any:
        """Precision of the tables that blocks hold."""
        xp = array_namespace(self.weights)
        return xp.float32 if self.single else xp.float64

    def in_single(self) -> Encoded:
        """Return the rows with tables in float32, if they are categories on the CPU.

        Scores stay in float64, because their statistics cancel. So do tables on a GPU, which sums
        too many rows at once.
        """
        plain = isinstance(self.weights, np.ndarray) and self.graded
        return replace(self, single=True) if plain else self

    def rights(self, rows: slice) -> Array:
        """Return the table of a complete binary block: 1 where the response is correct."""
        return array_namespace(self.weights).astype(self.cells[rows], self.dtype)

    def right_or_wrong(self, rows: slice) -> ZerosAndOnes:
        """Return a complete binary block, ready for products with vectors."""
        if self.halves is not None and rows == slice(0, self.shape[0]):
            return self.halves
        rights = self.rights(rows)
        return ZerosAndOnes(rights, *rights.shape)

    @cached_property
    def halves(self) -> ZerosAndOnes | None:
        """All of a complete binary table in two bytes a cell, if it lies on a GPU with room."""
        n_rows, n_items = self.shape
        stays = isinstance(self.weights, np.ndarray) or hasattr(self.cells, "on")
        if stays or not (self.binary and self.complete):
            return None
        room = 4 * n_rows * n_items <= free_bytes(self.cells) and n_items <= MOST_SUMMED
        return halved(self.cells) if room else None

    def values(self, rows: slice) -> tuple[Array, Array | None]:
        """Return rows as numbers, 0 where never asked, and a mask of asked cells (None: all)."""
        xp = array_namespace(self.weights)
        cells = self.cells[rows]
        cells = cells if self.read is None else self.read(cells)
        if self.complete:
            return cells, None
        asked = cells >= 0 if self.graded else ~xp.isnan(cells)
        filled = cells if self.graded else xp.where(asked, cells, xp.zeros_like(cells))
        return filled, xp.astype(asked, self.dtype)

    def block(self, rows: slice) -> Block:
        """Return the responses of some rows as tables of numbers."""
        if self.tries is not None:
            xp = array_namespace(self.weights)
            right, tries = self.cells[rows], self.tries[rows]
            return Block([xp.astype(right, self.dtype)], xp.astype(tries, self.dtype))
        if self.complete and self.binary:
            return Block([self.rights(rows)], None)
        values, observed = self.values(rows)
        statistics = self.statistics(values, self.dtype)
        if observed is not None and not self.graded:
            statistics = [table * observed for table in statistics]
        return Block(statistics, observed)


def even_rows(rows: int) -> int:
    """Return the power of two below `rows`, from 64 to `MOST_ROWS`.

    Sums in single precision depend on where blocks begin. Powers of two let parts of a table have
    the blocks of the whole.
    """
    return min(MOST_ROWS, max(64, 1 << (max(rows, 1).bit_length() - 1)))


def encode(
    cells: Array,
    model: Reader,
    weights: Floats | None = None,
    device: str | None = None,
    *,
    collapsing: bool = True,
    lazy: bool = False,
    tries: Array | None = None,
) -> Encoded:
    """Merge equal rows if that saves work, and put the table on `device`.

    With `lazy`, complete scores are converted when they are used, for work that reads them once.
    With `tries`, cells of binary responses are shares of them; models of grades and scores do not
    use tries.
    """
    n_rows, n_items = cells.shape
    if weights is None:
        weights = np.ones(n_rows)
    if tries is not None and model.kind == "binary":
        right = np.nan_to_num(cells) * tries
        if tries.dtype.kind in "iu":  # effective tries need not be whole numbers
            right = np.rint(right).astype(np.int32)
        return Encoded(
            cells=as_array(right, device),
            weights=as_array(weights, device),
            complete=False,
            statistics=model.statistics,
            binary=True,
            tries=as_array(np.ascontiguousarray(tries), device),
        )
    graded = cells.dtype.kind in "iu"
    merged = collapsing and graded and n_items <= FEW_ITEMS
    if merged:
        distinct = collapse(cells, weights)
        merged = len(distinct[0]) <= MOST_DISTINCT
        cells, weights = distinct if merged else (cells, weights)

    def missing(rows: slice) -> bool:
        """Return True if a category is -1 or a score NaN: the sum of its block is then NaN."""
        return bool(cells[rows].min() < 0 if graded else np.isnan(cells[rows].sum()))

    at_once = max(1, READ_BYTES * cells.shape[0] // max(1, cells.nbytes))
    complete = not any(in_threads(missing, row_blocks(cells.shape[0], at_once)))
    placed, read = as_array(cells, device), model.read if lazy and complete else None
    if read is None:
        placed = model.read(placed)
    return Encoded(
        placed,
        as_array(weights, device),
        complete,
        model.statistics,
        model.kind == "binary",
        read,
        merged=merged,
    )


def encode_stored(
    rows: Any,
    model: Reader,
    weights: Floats | None = None,
    device: str | None = None,
    *,
    complete: bool,
) -> Encoded:
    """Encode rows that stay where they are: `StoredRows` in a file, or rows on workers.

    Equal rows of few items are merged on the way, unless too many distinct rows remain.
    """
    if weights is None:
        weights = np.broadcast_to(1.0, (rows.shape[0],))
    binary = model.kind == "binary"
    if rows.dtype.kind in "iu" and rows.shape[1] <= FEW_ITEMS:
        if hasattr(rows, "distinct"):
            few = rows.distinct(weights)
        else:
            parts = row_blocks(rows.shape[0], MOST_DISTINCT)
            few = merged_rows(collapse(rows[part], weights[part]) for part in parts)
        if few is not None:
            cells = model.read(as_array(few[0], device))
            counted = as_array(few[1], device)
            return Encoded(cells, counted, complete, model.statistics, binary, merged=True)
    if hasattr(rows, "read_by"):  # on workers
        return rows.read_by(model, weights, device, complete=complete)  # type: ignore[no-any-return]
    placed = as_array(weights, device)
    return Encoded(rows.on(device), placed, complete, model.statistics, binary, model.read)


def merged_rows(parts: Iterable[tuple[Array, Floats]]) -> tuple[Array, Floats] | None:
    """Return distinct rows of all parts, and the weight of each; None where they are too many."""
    found: tuple[Array, Floats] | None = None
    for part in parts:
        both = [part] if found is None else [found, part]
        cells, counts = (np.concatenate(column) for column in zip(*both, strict=True))
        found = collapse(cells, counts)
        if len(found[0]) > MOST_DISTINCT:
            return None
    return found


def effective_tries(tries: Array, dependence: float) -> Array:
    """Return the number of independent answers worth as much as `tries` correlated ones.

    >>> effective_tries(np.array([1, 5]), 0.5).round(2).tolist()
    [1.0, 1.67]
    """
    if not dependence:
        return tries
    return tries / (1.0 + np.maximum(tries - 1.0, 0.0) * dependence)


def collapse(cells: Array, weights: Floats) -> tuple[Array, Floats]:
    """Return distinct rows and the total weight of each."""
    distinct, place = np.unique(cells, axis=0, return_inverse=True)
    return distinct, np.bincount(place.reshape(-1), weights).astype(np.float64)
