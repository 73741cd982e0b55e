"""What was seen of each item of a table, block by block, and nothing more.

A few rows that hold every grade of every item, or the outermost scores, look to a model like the
table itself: its grades, its bounds, and the items that all answered alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.responses.stored_cells import NEVER_ASKED, Kind
from ogive.responses.tallies import Tally

MOST_GRADES = 128  # that one byte holds


@dataclass(frozen=True, eq=False)
class SeenCells:
    """How many rows, which responses each item got, and who got none.

    `counts` has one column for each grade, -1 first; of scores it is None, and `outermost` has
    the two lowest and the two highest of each item, (4, n_items).
    """

    n_rows: int
    n_missing: int
    n_empty: int  # respondents without any response
    counts: NDArray[np.int64] | None = None  # (n_items, 1 + MOST_GRADES)
    outermost: Floats | None = None

    @classmethod
    def of_codes(cls, cells: NDArray[np.int8]) -> SeenCells:
        """What is seen of a block of grades, (n_rows, n_items)."""
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
        """What is seen of a block of scores, (n_rows, n_items)."""
        missing = np.isnan(cells)
        n_empty = int(missing.all(axis=1).sum())
        return cls(len(cells), int(missing.sum()), n_empty, outermost=_outermost(cells))

    def joined(self, other: SeenCells) -> SeenCells:
        """What is seen of both."""
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
        """Rows that hold, column by column, what each item was seen with."""
        if self.counts is None:
            assert self.outermost is not None  # noqa: S101 - one of the two is always there
            return self.outermost
        grades = np.arange(max(1, self.highest + 1), dtype=np.int8)
        seen = self.counts[:, 1 : 1 + grades.size].T > 0
        return np.where(seen, grades[:, None], np.int8(NEVER_ASKED)).astype(np.int8)

    def kind(self) -> Kind:
        """The kind that responses without a declared one are taken for, from their grades."""
        return "binary" if self.highest <= 1 else "graded"


def _outermost(cells: Floats) -> Floats:
    """The two lowest and the two highest distinct scores of each column; NaN where there is none.

    A single score is both the lowest and the highest.
    """
    low, high = np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)
    above = np.fmin.reduce(np.where(cells > low, cells, np.nan), axis=0)
    below = np.fmax.reduce(np.where(cells < high, cells, np.nan), axis=0)
    return np.stack([low, above, below, high])
