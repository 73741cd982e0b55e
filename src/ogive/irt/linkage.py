"""Parts of a table that no item links: each has a scale of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.results.numbers import counted
from ogive.stats.linked_parts import Parts, linked_parts

if TYPE_CHECKING:
    from ogive.data.responses import Responses


HELD = "held"  # flag of an item that kept the parameters of a bank


def parts_of(table: Responses, fixed: np.ndarray | None = None) -> tuple[Parts, Parts]:
    """Return the part of each respondent and of each item; 0 for all where the table is linked.

    Items that are `fixed` are on the scale of a bank, which links whoever was asked any of them.
    """
    if table.complete:
        return np.zeros(table.n_respondents, np.intp), np.zeros(table.n_items, np.intp)
    observed = table.observed
    if fixed is None or not fixed.any():
        return linked_parts(observed)
    rows, items = linked_parts(np.vstack([observed, fixed]))
    bank = rows[-1]  # the bank's part comes first
    first, second = (np.where(x == bank, 0, x + (x < bank)) for x in (rows[:-1], items))
    return first, second


def note_on_parts(table: Responses, fixed: np.ndarray | None = None) -> list[str]:
    """Say that parts of the table cannot be compared, if no item links them."""
    rows, items = parts_of(table, fixed)
    if not rows.any():
        return []
    largest = f"{(rows == 0).sum():,} of {counted(rows.size, 'respondent')}"
    note = (
        f"No item links {counted(int(rows.max()) + 1, 'part')} of this table (the largest: "
        f"{largest}, {(items == 0).sum():,} of {counted(items.size, 'item')}): each has a scale of "
        "its own, with the mean and the spread of its own respondents. Compare abilities and "
        "difficulties within a part only (column part)."
    )
    return [note]
