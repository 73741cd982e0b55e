"""Tables that share items become one, so that a further log stands beside what is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.numerics.linked_parts import linked_parts
from ogive.responses import Responses
from ogive.responses.stored_cells import NEVER_ASKED

if TYPE_CHECKING:
    import pandas as pd


def joined(tables: Mapping[str, Responses]) -> dict[str, Responses]:
    """Return the tables; those that share items and a kind of responses become one.

    A respondent of the same name is the same one, unless both tables hold a response to the same
    item; then the later one is named after its table, too.
    """
    found: dict[str, Responses] = {}
    further: dict[str, int] = {}  # tables beside the first of each
    for name, table in tables.items():
        fits = next((known for known, one in found.items() if _belong(one, table)), None)
        if fits is None:
            found[name] = table
        else:
            found[fits] = beside(found[fits], table, name)
            further[fits] = further.get(fits, 0) + 1
    return {
        f"{name} and {further[name]:,} more" if name in further else name: table
        for name, table in found.items()
    }


@dataclass(frozen=True, eq=False)
class Divided:
    """Tables whose parts are linked by items, notes on those that were divided, and of which.

    `whole` has, by the name of each part, the table it is from and its number there.
    """

    tables: dict[str, Responses]
    notes: list[str]
    whole: dict[str, tuple[Responses, int]]


def linked(tables: Mapping[str, Responses]) -> Divided:
    """Return tables whose parts are linked by items."""
    found: dict[str, Responses] = {}
    notes: list[str] = []
    whole: dict[str, tuple[Responses, int]] = {}
    for name, table in tables.items():
        rows, columns = linked_parts(table.observed)
        parts = int(rows.max(initial=0)) + 1
        if parts == 1:
            found[name] = table
            continue
        notes.append(f"{name}: no item links its {parts} parts, so each has a scale of its own.")
        for k in range(parts):
            part = table.select(rows == k, columns == k)
            first = part.respondents[0]
            more = f" and {part.n_respondents - 1:,} more" if part.n_respondents > 1 else ""
            found[f"{name}: {first}{more}"] = part
            whole[f"{name}: {first}{more}"] = table, k
    return Divided(found, notes, whole)


def _belong(one: Responses, other: Responses) -> bool:
    return one.kind == other.kind and not set(one.items).isdisjoint(other.items)


def beside(one: Responses, other: Responses, name: str) -> Responses:
    """Return both tables as one; `name` distinguishes respondents of the other one."""
    items = list(dict.fromkeys([*one.items, *other.items]))
    renamed = _renamed(one, other, name)
    respondents = list(dict.fromkeys([*one.respondents, *renamed]))
    row = {respondent: k for k, respondent in enumerate(respondents)}
    column = {item: k for k, item in enumerate(items)}
    parts = [
        (table, np.ix_([row[each] for each in names], [column[each] for each in table.items]))
        for table, names in ((one, one.respondents), (other, renamed))
    ]
    shape = len(respondents), len(items)
    if one.tries is None and other.tries is None and one.cells.dtype.kind == "i":
        codes = np.full(shape, NEVER_ASKED, np.result_type(one.cells, other.cells))
        for table, place in parts:
            codes[place] = np.where(table.observed, table.cells, codes[place])
        made = Responses.from_codes(codes, respondents, items, one.kind)
    else:
        made = _of_values(parts, shape, respondents, items)
    return made.described(
        items=_facts(one.item_facts, other.item_facts),
        respondents=_facts(
            one.respondent_facts, other.respondent_facts.set_axis(list(renamed), axis=0)
        ),
        notes=dict.fromkeys([*one.notes, *other.notes]),
    )


def _of_values(
    parts: list[tuple[Responses, Any]],
    shape: tuple[int, int],
    respondents: list[str],
    items: list[str],
) -> Responses:
    """Return tables of scores, or of means of several tries, as one."""
    values, tries = np.full(shape, np.nan), np.zeros(shape)
    for table, place in parts:
        there, given = table.observed, table.tries
        counts = np.ones(table.shape) if given is None else np.asarray(given, dtype=float)
        values[place] = np.where(there, table.values, values[place])
        tries[place] = np.where(there, counts, tries[place])
    kind = parts[0][0].kind
    if (tries > 1).any():
        return Responses(values, respondents, items, kind, tries=tries)
    return Responses(values, respondents, items, kind)


def _renamed(one: Responses, other: Responses, name: str) -> list[str]:
    """Return the names of the respondents of `other`, new where both answered the same item."""
    taken = {respondent: k for k, respondent in enumerate(one.respondents)}
    known = {item: k for k, item in enumerate(one.items)}
    shared = [k for k, item in enumerate(other.items) if item in known]
    here = one.observed[:, [known[other.items[k]] for k in shared]]
    there = other.observed[:, shared]
    found: list[str] = []
    for k, respondent in enumerate(other.respondents):
        place = taken.get(respondent)
        twice = place is not None and bool((here[place] & there[k]).any())
        wanted, n = (f"{respondent} ({name})" if twice else respondent), 2
        while twice and (wanted in taken or wanted in found):
            wanted, n = f"{respondent} ({name}, {n})", n + 1
        found.append(wanted)
    return found


def _facts(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return one.combine_first(other) if other.shape[1] else one
