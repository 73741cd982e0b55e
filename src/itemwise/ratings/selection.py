"""Which periods to keep, so that their points rank the players as all periods do.

Greedy growth with exchanges (the floating search of Pudil, Novovicova and Kittler, 1994), for
many tables at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.blocks import row_blocks
from itemwise.numerics.rankings import correlation, pair_signs, sign_agreement
from itemwise.ratings.points import Points, share

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

BLOCK_CELLS = 1 << 20  # pairs of players over all candidates: 4 MiB of signs
NUDGE = 1e-6  # weight of the correlation, far below the least step of Kendall's tau
TRIES = 5  # of an exchange at each size; more takes longer and finds little more
LEAST_GAIN = 1e-12  # of an exchange: rounding must not make it go round in circles


def grow(table: Points, largest: int) -> NDArray[np.intp]:
    """For each period the step at which it was taken, of the best set of each size.

    `table` holds (n_tables, n_periods, n_players). The answer is (largest, n_tables, n_periods):
    at position k - 1 the set of k periods, numbered from 1 in the order of choice (who comes in
    exchange takes the number), and 0 for those left out. The best agrees best with the ranking
    by all periods in Kendall's tau-b; among equals, in the correlation of the shares of points;
    then the first one counts.
    """
    n_tables, n_periods, n_players = table.won.shape
    cells = max(1, n_periods * n_players * (n_players - 1) // 2)
    found = np.zeros((largest, n_tables, n_periods), dtype=np.intp)
    for rows in row_blocks(n_tables, max(1, BLOCK_CELLS // cells)):
        search = _Search(table[rows])
        for size in range(1, largest + 1):
            search.add(size)
            search.exchange(size)
            found[size - 1, rows] = search.step
    return found


@dataclass(eq=False)
class _Search:
    """Sets of periods that grow, one for each table."""

    table: Points

    def __post_init__(self) -> None:
        n_tables, n_periods, n_players = self.table.won.shape
        self.step = np.zeros((n_tables, n_periods), dtype=np.intp)
        self.sums = Points(*(np.zeros((n_tables, n_players)) for _ in range(2)))
        self.worth = np.full(n_tables, -np.inf)
        self.target = self.table.share
        self.target_signs = pair_signs(self.target)

    def add(self, size: int) -> None:
        """Take the period that is best beside those taken before."""
        rows = np.arange(len(self.step))
        worth = self._worth(self.step > 0, self.sums, 1.0)
        taken = worth.argmax(axis=1)
        self.worth = worth[rows, taken]
        self.step[rows, taken] = size
        self.sums = _moved(self.sums, self.table[rows, taken], 1.0)

    def exchange(self, size: int) -> None:
        """Let go of the periods missed least, each in turn for a better one outside."""
        if not 1 < size < self.step.shape[1]:
            return
        rows = np.arange(len(self.step))
        missed = self._worth(self.step == 0, self.sums, -1.0)
        for place in np.argsort(-missed, axis=1, kind="stable").T[: min(size, TRIES)]:
            step = self.step.copy()
            step[rows, place] = 0
            sums = _moved(self.sums, self.table[rows, place], -1.0)
            worth = self._worth(step > 0, sums, 1.0)
            taken = worth.argmax(axis=1)
            step[rows, taken] = self.step[rows, place]
            sums = _moved(sums, self.table[rows, taken], 1.0)
            better = worth[rows, taken] > self.worth + LEAST_GAIN
            self.step[better], self.worth[better] = step[better], worth[rows, taken][better]
            self.sums.won[better], self.sums.games[better] = sums.won[better], sums.games[better]

    def _worth(self, barred: NDArray[np.bool_], sums: Points, sign: float) -> Floats:
        """How good each set is after the coming (1) or going (-1) of each period."""
        moved = _moved(sums[:, None], self.table, sign)
        shares = share(moved.won, moved.games)
        worth = sign_agreement(pair_signs(shares), self.target_signs[:, None])
        worth += NUDGE * correlation(shares, self.target[:, None])
        worth[barred] = -np.inf
        return worth


def _moved(sums: Points, by: Points, sign: float) -> Points:
    return Points(sums.won + sign * by.won, sums.games + sign * by.games)
