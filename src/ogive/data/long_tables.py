"""Responses as triples: respondent, item, response."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._files import TO_RAISE, size_for_people
from ogive.errors import InputError
from ogive.irt.repeated_responses import Combined, check_spread, check_tries, combined
from ogive.irt.response_codes import NEVER_ASKED, extent_of, pair_in_words

CHECKED_EVERY, MOST_REPEATS = 1 << 16, 200_000  # lines; rows of one respondent and item
TRIES, SPREAD = "tries", "spread"  # columns of a long table that say what a response is a mean of


@dataclass(frozen=True, eq=False)
class LongTable:
    """A list of responses; `rows` and `columns` are positions in the names."""

    respondents: Sequence[str]
    items: Sequence[str]
    rows: NDArray[np.integer[Any]]
    columns: NDArray[np.integer[Any]]
    responses: NDArray[Any]
    tries: NDArray[Any] | None = None  # behind each response, if they are means themselves
    spread: NDArray[np.float64] | None = None

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
        except (MemoryError, ValueError) as error:
            raise InputError(
                f"{shape[0]:,} respondents × {shape[1]:,} items do not fit into memory. "
                "Check that the columns are not swapped, or select fewer items."
            ) from error
        cells[self.rows, self.columns] = codes
        return cells

    @property
    def extra(self) -> tuple[str, ...]:
        """The columns beyond respondent, item and response that were read."""
        names = (TRIES, self.tries), (SPREAD, self.spread)
        return tuple(name for name, given in names if given is not None)

    def repeated(self, numbers: NDArray[Any]) -> Combined | None:
        """Return one entry per pair if pairs repeat, or if responses are means of several tries."""
        pairs = self.rows.astype(np.int64) * len(self.items) + self.columns
        if self.tries is None and not _any_twice(pairs, len(self.respondents) * len(self.items)):
            return None
        extent_of(numbers, self.where)
        if self.tries is None:
            return combined(pairs, numbers.astype(np.float64), None, self.spread)
        tries = np.nan_to_num(self.tries.astype(float), nan=1.0)
        check_tries(tries, ~np.isnan(numbers), self.where)
        if self.spread is not None:
            check_spread(self.spread, self.where)
        return combined(pairs, numbers.astype(np.float64), tries, self.spread)

    def at(self, places: NDArray[np.intp]) -> LongTable:
        """Return some of the triples."""
        return LongTable(
            self.respondents,
            self.items,
            self.rows[places],
            self.columns[places],
            self.responses[places],
        )


def _any_twice(pairs: NDArray[np.int64], n_cells: int) -> bool:
    """Whether a pair occurs twice; a mask of all cells is fast where it is not much larger."""
    if n_cells <= 64 * pairs.size + (1 << 20):
        seen = np.zeros(n_cells, dtype=np.bool_)
        seen[pairs] = True
        return bool(np.count_nonzero(seen) < pairs.size)
    return bool(np.unique(pairs).size < pairs.size)


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

    def check_repeats(self) -> None:
        """Refuse rows that nearly all repeat the same pairs, before the rest is read."""
        n_rows, shape = len(self.rows), (len(self.respondents), len(self.items))
        if n_rows > MOST_REPEATS * shape[0] * shape[1]:
            raise InputError(
                f"The first {n_rows:,} rows hold only {shape[0]:,} "
                f"respondent{'s' if shape[0] > 1 else ''} and {shape[1]:,} "
                f"item{'s' if shape[1] > 1 else ''}, more than {MOST_REPEATS:,} rows for each "
                "pair. Check the columns. If they are right, write one row per pair, with the "
                "share of right answers, and a column tries with their number."
            )

    def triples(self, max_bytes: int) -> LongTable:
        """Return what was collected, if its table, at one byte per cell, fits into `max_bytes`.

        A small file may name a million respondents and a million items.
        """
        check_cells(len(self.respondents), len(self.items), max_bytes)
        return LongTable(
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
            f"{size_for_people(max_bytes)}. Check the columns. {TO_RAISE}"
        )
