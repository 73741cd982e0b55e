"""Responses as the engines read them: compact rows, weighted, on one device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from itemwise.numerics.arrays import Array, Floats, array_namespace, as_array, free_bytes
from itemwise.numerics.blocks import row_blocks

FEW_ITEMS = 20  # up to here, equal rows are so common that collapsing them pays
STREAMED_CELLS = 1 << 17  # a float64 block that lies in a core's cache: read once or twice
PRODUCT_CELLS = 1 << 18  # a block that keeps matrix products busy
NODE_CELLS = 1 << 18  # posterior weights of a block
LEAST_ROWS = 192  # fewer rows leave a matrix product waiting for memory
DEVICE_CELLS = 1 << 28  # what a GPU takes at a time


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows as tables: for each category past the first, 1 where the response is in it.

    `observed` is 1 where there is a response; None where all are there.
    """

    indicators: list[Array]  # each (n_rows, n_items)
    observed: Array | None

    @property
    def asked(self) -> Array:
        """1 where there is a response, (n_rows, n_items)."""
        if self.observed is not None:
            return self.observed
        return array_namespace(self.indicators[0]).ones_like(self.indicators[0])


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of category codes, -1 where never asked, each standing for `weights` respondents."""

    cells: Array  # (n_rows, n_items), int8 or int16
    weights: Array  # (n_rows,)
    complete: bool
    n_categories: int
    single: bool = False  # tables in float32: half the work, for a way that is still long

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and items."""
        return self.cells.shape[0], self.cells.shape[1]

    @cached_property
    def unweighted(self) -> bool:
        """Whether every row stands for one respondent."""
        return bool((self.weights == 1).all())

    @cached_property
    def right_counts(self) -> Array:
        """Weighted number of right responses to each item of a binary table."""
        return sum(self.weights[rows] @ self.rights(rows) for rows in self.blocks(1))

    def blocks(self, width: int) -> list[slice]:
        """Slices of rows for work that holds `width` numbers a row beside its responses."""
        n_rows, n_items = self.shape
        if not isinstance(self.cells, np.ndarray):
            at_a_time = width if self.floats is not None else n_items + width
            return row_blocks(n_rows, max(1, DEVICE_CELLS // at_a_time))
        if width == 1:
            return row_blocks(n_rows, min(4096, max(64, STREAMED_CELLS // n_items)))
        rows = min(PRODUCT_CELLS // n_items, NODE_CELLS // width)
        return row_blocks(n_rows, max(LEAST_ROWS, rows))

    def thinned(self, most: int) -> Encoded:
        """Evenly spaced rows, at most about `most`, that stand for all; few items stay as they are.

        Equal rows of few items are collapsed already, and differ too much in weight to thin.
        """
        n_rows, n_items = self.shape
        stride = n_rows // most
        if stride < 2 or n_items <= FEW_ITEMS:
            return self
        weights = self.weights[::stride]
        scaled = weights * (float(self.weights.sum()) / float(weights.sum()))
        return Encoded(self.cells[::stride], scaled, self.complete, self.n_categories)

    @property
    def dtype(self) -> Any:
        """Precision of the tables that blocks hold."""
        xp = array_namespace(self.cells)
        return xp.float32 if self.single else xp.float64

    def in_single(self) -> Encoded:
        """The same responses, read in float32; not on a GPU, which sums too many rows at once."""
        return replace(self, single=True) if isinstance(self.cells, np.ndarray) else self

    def of_items(self, items: Array) -> Encoded:
        """The same rows with some items only."""
        cells = self.cells[:, items]
        return Encoded(cells, self.weights, bool((cells >= 0).all()), self.n_categories)

    def rights(self, rows: slice) -> Array:
        """The table of a complete binary block: 1 where the response is right."""
        if self.floats is not None:
            return self.floats[rows]
        return array_namespace(self.cells).astype(self.cells[rows], self.dtype)

    @cached_property
    def floats(self) -> Array | None:
        """All of `cells` as float64, where a GPU has the room: it then reads them once a pass."""
        n_rows, n_items = self.shape
        if self.single or not self.complete or 16 * n_rows * n_items > free_bytes(self.cells):
            return None
        xp = array_namespace(self.cells)
        return xp.astype(self.cells, xp.float64)

    def block(self, rows: slice) -> Block:
        """The responses of some rows as tables of numbers."""
        xp = array_namespace(self.cells)
        cells = self.cells[rows]
        if self.complete and self.n_categories == 2:
            return Block([self.rights(rows)], None)
        indicators = [xp.astype(cells == k, self.dtype) for k in range(1, self.n_categories)]
        return Block(indicators, None if self.complete else xp.astype(cells >= 0, self.dtype))


def encode(
    cells: Array,
    n_categories: int,
    weights: Floats | None = None,
    device: str | None = None,
    *,
    collapsing: bool = True,
) -> Encoded:
    """Collapse equal rows where that pays, and put the table on `device`."""
    n_rows, n_items = cells.shape
    if weights is None:
        weights = np.ones(n_rows)
    if collapsing and n_items <= FEW_ITEMS:
        cells, weights = collapse(cells, weights)
    complete = bool(cells.min() >= 0)
    return Encoded(as_array(cells, device), as_array(weights, device), complete, n_categories)


def collapse(cells: Array, weights: Floats) -> tuple[Array, Floats]:
    """Distinct rows and the total weight of each."""
    distinct, place = np.unique(cells, axis=0, return_inverse=True)
    return distinct, np.bincount(place.reshape(-1), weights).astype(np.float64)
