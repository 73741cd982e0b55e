"""Accuracy on all items of a board: of everybody, and of those who are masked like others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.numerics.arrays import Floats
from itemwise.numerics.clustered import Grouping
from itemwise.responses import Responses
from itemwise.studies.leaderboards.masking import masked_error
from itemwise.studies.leaderboards.scores import Expectation, Reached, reached

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Whole:
    """A table with what accuracy is taken over; respondents that nothing links stand apart."""

    table: Responses
    scale: Calibration | None
    expectation: Expectation | None
    strata: Ints  # (n_items,); tasks, if these weigh alike
    cluster: Ints  # (n_items,)
    parts: tuple[Ints, Ints]  # of respondents and of items
    bounded: bool

    def masked(self) -> tuple[Floats, int]:
        """Error of completed accuracy by who answered nearly all, and how many these are."""
        if self.scale is None or self.expectation is None or self.parts[0].any():
            return np.full(self.table.n_respondents, np.nan), 0
        items = np.arange(self.table.n_items)

        def estimate(values: Floats, expectation: Expectation) -> Floats:
            return self._on(items, values, expectation, 0.95).mean

        truth = estimate(self.table.values, self.expectation)
        return masked_error(self.scale, self.table, truth, estimate)

    def reached(self, confidence: float, masked: tuple[Floats, int]) -> Reached:
        """What everybody reached on all items of the part it belongs to."""
        rows, columns = self.parts
        found = np.empty((4, self.table.n_respondents))
        asked = np.empty(self.table.n_respondents, dtype=np.intp)
        for part in range(int(rows.max()) + 1):
            mine, items = np.flatnonzero(rows == part), np.flatnonzero(columns == part)
            expectation = None if self.expectation is None else self.expectation.of(mine, items)
            values = self.table.values[np.ix_(mine, items)]
            of_part = self._on(items, values, expectation, confidence, (masked[0][mine], masked[1]))
            found[:, mine] = of_part.mean, of_part.se, of_part.low, of_part.high
            asked[mine] = of_part.n
        mean, se, low, high = found
        return Reached(mean, se, low, high, asked)

    def _on(
        self,
        items: Ints,
        values: Floats,
        expectation: Expectation | None,
        confidence: float,
        masked: tuple[Floats, int] | None = None,
    ) -> Reached:
        strata = np.unique(self.strata[items], return_inverse=True)[1]
        return reached(
            values,
            expectation,
            Grouping.of(strata, self.cluster[items]),
            1.0 / np.bincount(strata)[strata],
            confidence,
            bounded=self.bounded,
            masked=masked,
        )
