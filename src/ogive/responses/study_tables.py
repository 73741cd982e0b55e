"""What studies ask of a table before they begin: no empty rows, rivals, and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Bools
from ogive.numerics.linked_parts import linked_parts
from ogive.responses.given_tables import Table, as_responses
from ogive.responses.repeated_answers import tries_in_words
from ogive.responses.response_table import Responses
from ogive.words import counted, listed

Each = TypeVar("Each")
TASK, DOCUMENT = "task", "document"  # facts of items, used if they are known


@dataclass(frozen=True, eq=False)
class Answered:
    """A table without empty rows and columns, and what was left out."""

    table: Responses
    items: Bools  # which items of the given table are kept
    notes: tuple[str, ...]

    def of_items(self, each: Sequence[Each]) -> tuple[Each, ...]:
        """Select, from one value per given item, those of the items that are kept."""
        return tuple(one for one, kept in zip(each, self.items, strict=True) if kept)


def asked_once(table: Responses) -> Bools:
    """Respondents with single answers, right or wrong, (n_respondents,)."""
    if table.tries is None:
        return np.full(table.n_respondents, table.kind == "binary")
    return np.asarray((table.tries <= 1).all(axis=1)) & (table.kind == "binary")


def answered(table: Responses) -> Answered:
    """Leave out respondents and items without a response; an empty table is refused."""
    seen = table.observed
    rows: Bools = np.asarray(seen.any(axis=1))
    columns: Bools = np.asarray(seen.any(axis=0))
    if not rows.any():
        raise InputError("The table holds no response, so there is nothing to analyse.")
    notes = []
    for kept, names, noun in (
        (rows, table.respondents, "respondent"),
        (columns, table.items, "item"),
    ):
        lost = [name for name, there in zip(names, kept, strict=True) if not there]
        if lost:
            notes.append(f"Left out for lack of responses: {listed(lost, noun)}.")
    part = table.select(rows, columns) if notes else table
    return Answered(part, columns, tuple(notes))


def check_linked(table: Responses, study: str) -> None:
    """Refuse a table of parts that no item links, where the score on all items is predicted."""
    parts = linked_parts(table.observed)[0]
    if parts.any():
        names = [name for name, part in zip(table.respondents, parts, strict=True) if part == 0]
        raise InputError(
            f"No item links {counted(int(parts.max()) + 1, 'part')} of the table, so {study} "
            "cannot predict scores on all items: how hard the items of one part are for the "
            "respondents of another is unknown. Give one part at a time, the largest with "
            f"responses.select(respondents=[...]): {listed(names, 'respondent')}, and their items."
        )


def one_try(table: Responses, random_state: int) -> tuple[Responses, tuple[str, ...]]:
    """One of the repeated right or wrong answers of each cell, at random; others as they are."""
    if table.tries is None or table.kind != "binary":
        return table, ()
    shares = table.values
    drawn = np.random.default_rng(random_state).random(shares.shape) < shares
    values = np.where(np.isnan(shares), np.nan, drawn)
    single = Responses(values, table.respondents, table.items, "binary")
    note = (
        f"Answers were repeated ({tries_in_words(table.tries)}), but a test asks an item once: one "
        "of them, at random, counts, and accuracy is over these."
    )
    facts = {"respondents": table.respondent_facts, "items": table.item_facts}
    return single.described(**facts, notes=table.notes), (note,)


def rivals(scores: Table, study: str) -> Responses:
    """Scores of at least two respondents, one row per respondent, one column per item."""
    found = as_responses(scores, "continuous")
    if found.n_respondents < 2:
        raise InputError(
            f"{study} compares respondents, but the table has "
            f"{counted(found.n_respondents, 'respondent')}. Give one row per respondent, "
            "at least two."
        )
    return found


Ints = NDArray[np.int64]


def copies(responses: Responses) -> Ints:
    """The group of each respondent, (n,): respondents with equal rows form a group."""
    cells = np.nan_to_num(responses.cells, nan=-np.inf)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    return np.asarray(group, dtype=np.int64).reshape(-1)


def grouped_folds(groups: Ints, folds: int, random_state: int) -> Ints:
    """The fold of each respondent, (n,), of about equal sizes; no group is divided.

    There are at most as many folds as groups; `said_of_folds` notes it.
    """
    sizes = np.bincount(groups)
    folds = min(folds, sizes.size)
    if folds < 2:
        raise InputError(
            f"{counted(groups.size, 'respondent')} with identical responses cannot be divided into "
            "folds. Give respondents that differ."
        )
    random = np.random.default_rng(random_state)
    order = random.permutation(sizes.size)
    order = order[np.argsort(-sizes[order], kind="stable")]  # the largest first
    filled, fold_of = np.zeros(folds), np.zeros(sizes.size, dtype=np.int64)
    for group in order:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    names = random.permutation(folds)  # so that the largest group is not always in the first fold
    found: Ints = names[fold_of][groups]
    return found


def said_of_folds(groups: Ints, folds: int) -> list[str]:
    """Notes on copies that stay together, and on a reduced number of folds."""
    notes, kinds = [], np.unique(groups).size
    if same := groups.size - kinds:
        notes.append(
            f"{counted(same, 'respondent')} of {groups.size:,} gave exactly the same responses as "
            "another; such copies stay in one fold and count as one for standard errors."
        )
    if kinds < folds:
        notes.append(f"{kinds} folds instead of {folds}: only so many respondents differ.")
    return notes


def groups_of(table: Responses, by: object, default: str, name: str) -> tuple[str, ...] | None:
    """The group of each item; None if `by` is None, or if the default fact is unknown."""
    if by is None or (isinstance(by, str) and by == default and by not in table.item_facts):
        return None
    try:
        return table.item_groups(by)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
