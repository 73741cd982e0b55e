"""How often each item got each response: one pass over a table, and all that is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import in_threads, row_blocks

FOLDED = 127  # rows whose ones sum to what one byte holds
BLOCK_CELLS = 1 << 22

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """What a table holds of each item, and who answered nothing."""

    n_rows: int
    asked: Counts  # (n_items,)
    lowest: NDArray[np.float64]  # (n_items,): infinite where nobody was asked
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
        found = in_threads(lambda part: _counted(cells[part], n_codes), blocks)
        counts = np.sum([count for count, _ in found], axis=0)
        seen = counts > 0
        some = seen.any(axis=1)
        lowest = np.where(some, seen.argmax(axis=1), np.inf)
        highest = np.where(some, n_codes - 1 - seen[:, ::-1].argmax(axis=1), -np.inf)
        return cls(n_rows, counts.sum(axis=1), lowest, highest, _places(blocks, found), counts)

    @classmethod
    def _of_scores(cls, cells: NDArray[Any], blocks: list[slice]) -> Tally:
        def read(part: slice) -> tuple[Any, ...]:
            block = cells[part]
            there = ~np.isnan(block)
            low = np.fmin.reduce(block, axis=0, initial=np.inf)
            high = np.fmax.reduce(block, axis=0, initial=-np.inf)
            return (there.sum(axis=0), low, high), np.flatnonzero(~there.any(axis=1))

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


def _counted(block: NDArray[Any], n_codes: int) -> tuple[Counts, NDArray[np.intp]]:
    """How often each item got each code, and the rows of a block without any."""
    n_rows, n_items = block.shape
    counts = np.zeros((n_items, n_codes), dtype=np.int64)
    complete = bool(block.min() >= 0)
    if complete and n_codes == 2:
        counts[:, 1] = _ones(block)
        counts[:, 0] = n_rows - counts[:, 1]
    else:
        for code in range(n_codes):
            counts[:, code] = _ones(block == code)
    nothing = np.array([], dtype=np.intp)
    return counts, nothing if complete else np.flatnonzero(block.max(axis=1) < 0)


def _ones(block: NDArray[Any]) -> Counts:
    """Column sums of zeros and ones; bytes are added up to where they would overflow."""
    n_rows, n_items = block.shape
    small = block.view(np.int8) if block.dtype.itemsize == 1 else block.astype(np.int8)
    whole = n_rows // FOLDED * FOLDED
    folded = small[:whole].reshape(-1, FOLDED, n_items).sum(axis=1, dtype=np.int8)
    rest = small[whole:].sum(axis=0, dtype=np.int64)
    found: Counts = folded.sum(axis=0, dtype=np.int64) + rest
    return found


def _places(blocks: list[slice], found: list[Any]) -> NDArray[np.intp]:
    """Positions within the blocks as positions within the table."""
    parts = [places + part.start for part, (_, places) in zip(blocks, found, strict=True)]
    return np.concatenate(parts)
