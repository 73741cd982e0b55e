"""Respondents and items of which anything is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from itemwise.errors import InputError
from itemwise.numerics.arrays import Bools
from itemwise.responses.table import Responses
from itemwise.words import listed

Each = TypeVar("Each")


@dataclass(frozen=True, eq=False)
class Answered:
    """A table without respondents and items that have no response, and what was left out."""

    table: Responses
    items: Bools  # of the table that was given: which of them stay
    notes: tuple[str, ...]

    def of_items(self, each: Sequence[Each]) -> tuple[Each, ...]:
        """Of what is known of every item given, the part that belongs to those that stay."""
        return tuple(one for one, kept in zip(each, self.items, strict=True) if kept)


def answered(table: Responses) -> Answered:
    """The part of a table of which something is known; refused where that is nothing."""
    seen = table.observed
    rows: Bools = np.asarray(seen.any(axis=1))
    columns: Bools = np.asarray(seen.any(axis=0))
    if not rows.any():
        raise InputError("No item was answered, so that there is nothing to tell of anybody.")
    notes = []
    for kept, names, noun in (
        (rows, table.respondents, "respondent"),
        (columns, table.items, "item"),
    ):
        lost = [name for name, there in zip(names, kept, strict=True) if not there]
        if lost:
            notes.append(f"Left out, without a response: {listed(lost, noun)}.")
    part = table.select(rows, columns) if notes else table
    return Answered(part, columns, tuple(notes))
