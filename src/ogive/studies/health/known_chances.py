"""Chances of right answers for those who can be judged: by a bank, or by all other respondents.

Items that many respondents have answered are known: one respondent hardly moves their parameters.
With fewer, what an item is to a respondent comes from the others alone, part by part where no item
links the respondents, and with a handful of others nobody is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ogive.calibration import Calibration
from ogive.numerics.arrays import Floats
from ogive.numerics.linked_parts import linked_parts
from ogive.responses import Responses
from ogive.responses.encoding import effective_tries
from ogive.responses.repeated_answers import tries_or_one
from ogive.responses.stored_cells import as_floats
from ogive.studies.health.left_out_respondents import chances_by_others
from ogive.words import counted, listed

MANY = 100  # respondents from which parameters of items count as known
LEAST_OTHERS = 4  # respondents by whom another is judged
NUDGE = 1e-4


class Chances(Protocol):
    """Of each respondent on each item: the chance to be right, and its rise with ability."""

    def at(self, rows: slice) -> tuple[Floats, Floats]:
        """Both for some respondents, (n_rows, n_items) each."""
        ...


@dataclass(frozen=True, eq=False)
class Judged:
    """Respondents who are judged together: their answers, and how likely these were."""

    rows: np.ndarray  # positions in the table, as `items`
    items: np.ndarray
    shares: Floats  # right answers, (n_rows, n_items); NaN where never asked
    worth: Floats  # independent answers, as large; 0 where never asked
    chances: Chances


@dataclass(frozen=True, eq=False)
class _OfBank:
    """Chances by the parameters of a bank, at known abilities."""

    calibration: Calibration
    ability: Floats

    def at(self, rows: slice) -> tuple[Floats, Floats]:
        ability = self.ability[rows]
        here, above, below = (
            self.calibration.model.expected(self.calibration.coords, at).T
            for at in (ability, ability + NUDGE, ability - NUDGE)
        )
        return here, (above - below) / (2 * NUDGE)


def items_are_known(calibration: Calibration) -> bool:
    """Whether enough respondents stand behind the parameters of items."""
    return calibration.n_respondents >= MANY


def judged_together(
    calibration: Calibration, table: Responses, ability: Floats
) -> Iterator[Judged]:
    """Everybody by the bank; or by the others, each part that no item links by itself."""
    shares = as_floats(table.cells)
    tries = tries_or_one(table.tries, table.observed)
    worth = effective_tries(tries, calibration.dependence).astype(float)
    if items_are_known(calibration):
        rows, items = np.arange(table.n_respondents), np.arange(table.n_items)
        yield Judged(rows, items, shares, worth, _OfBank(calibration, ability))
        return
    for rows, items in _parts(table):
        if rows.size > LEAST_OTHERS:
            part = np.ix_(rows, items)
            chances = chances_by_others(shares[part], worth[part])
            yield Judged(rows, items, shares[part], worth[part], chances)


def unjudged_notes(calibration: Calibration, table: Responses) -> list[str]:
    """Say who is not judged, and what it takes."""
    if items_are_known(calibration):
        return []
    few = [rows for rows, _ in _parts(table) if rows.size <= LEAST_OTHERS]
    names = [table.respondents[k] for rows in few for k in rows]
    if not names:
        return []
    note = (
        f"Right answers to hard items are not judged for {listed(names, 'respondent')}: how hard "
        f"the items are must come from at least {LEAST_OTHERS} others who were asked the same "
        f"items, directly or through others. Give at least {LEAST_OTHERS + 1} respondents, or a "
        f"calibration of these items by {counted(MANY, 'respondent')} or more."
    )
    return [note]


def _parts(table: Responses) -> list[tuple[np.ndarray, np.ndarray]]:
    """Respondents and items of each part, those without any answer left out."""
    observed = table.observed
    rows, items = linked_parts(observed)
    some, asked = observed.any(axis=1), observed.any(axis=0)
    return [
        (np.flatnonzero((rows == part) & some), np.flatnonzero((items == part) & asked))
        for part in range(int(rows.max()) + 1)
    ]
