"""Responses as triples: respondent, item, response."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.files import size_for_people
from itemwise.responses.stored_cells import NEVER_ASKED, pair_in_words
from itemwise.words import shown


@dataclass(frozen=True, eq=False)
class Triples:
    """A list of responses; `rows` and `columns` are positions in the names."""

    respondents: Sequence[str]
    items: Sequence[str]
    rows: NDArray[np.integer[Any]]
    columns: NDArray[np.integer[Any]]
    responses: NDArray[Any]

    def where(self, position: int) -> str:
        """Describe the cell of one response."""
        row, column = self.rows[position], self.columns[position]
        return pair_in_words(self.respondents[row], self.items[column])

    def placed(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Make the table of these codes, one per triple; all other cells were never asked."""
        shape = len(self.respondents), len(self.items)
        missing = np.nan if codes.dtype.kind == "f" else NEVER_ASKED
        try:
            cells = np.full(shape, missing, dtype=codes.dtype)
            seen = np.zeros(shape, dtype=np.bool_)
        except (MemoryError, ValueError) as error:
            raise InputError(
                f"{shape[0]:,} respondents × {shape[1]:,} items do not fit into memory. "
                "Check that the columns are not swapped, or select fewer items."
            ) from error
        seen[self.rows, self.columns] = True
        if np.count_nonzero(seen) < codes.size:
            self._refuse_repeated()
        cells[self.rows, self.columns] = codes
        return cells

    def _refuse_repeated(self) -> None:
        pairs = self.rows.astype(np.int64) * len(self.items) + self.columns
        found, first, counts = np.unique(pairs, return_index=True, return_counts=True)
        repeated = np.flatnonzero(counts > 1)
        earliest = repeated[np.argmin(first[repeated])]
        row, column = divmod(int(found[earliest]), len(self.items))
        others = repeated.size - 1
        more = f" ({others:,} more pair{'s' if others > 1 else ''} repeat)" if others else ""
        raise InputError(
            f"Respondent {shown(self.respondents[row])} has {counts[earliest]:,} responses to item "
            f"{shown(self.items[column])}{more}, but there is one cell for each pair. "
            "Keep one response, or average them first."
        )


@dataclass(frozen=True)
class Collector:
    """Collects responses as they are read, at sixteen bytes each."""

    respondents: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("i"))
    columns: array[int] = field(default_factory=lambda: array("i"))
    responses: array[float] = field(default_factory=lambda: array("d"))

    def add(self, respondent: str, item: str, response: float) -> None:
        """Add one response; names are numbered in order of appearance."""
        self.rows.append(self.respondents.setdefault(respondent, len(self.respondents)))
        self.columns.append(self.items.setdefault(item, len(self.items)))
        self.responses.append(response)

    def triples(self, max_bytes: int) -> Triples:
        """Return what was collected, if its table, at one byte per cell, fits into `max_bytes`.

        A small file may name a million respondents and a million items.
        """
        check_cells(len(self.respondents), len(self.items), max_bytes)
        return Triples(
            list(self.respondents),
            list(self.items),
            np.frombuffer(self.rows, dtype=np.intc),
            np.frombuffer(self.columns, dtype=np.intc),
            np.frombuffer(self.responses, dtype=np.float64),
        )


def check_cells(n_respondents: int, n_items: int, max_bytes: int) -> None:
    """Refuse a table of more cells than `max_bytes`, before it is made."""
    if n_respondents * n_items > max_bytes:
        raise InputError(
            f"There are {n_respondents:,} respondents and {n_items:,} items, whose table needs "
            f"{size_for_people(n_respondents * n_items)} or more; the limit is "
            f"{size_for_people(max_bytes)}. Check the columns, or pass a larger max_bytes."
        )
