"""What studies ask of a table before they begin: no empty rows, rivals, folds, and units of scores.

Artificial respondents of a pool are marks on a scale, against which nobody is measured to win. One
is always right, one always wrong, others guess. They come as a set, so that a respondent who
happens to be called "majority" is no mark by its name alone.

Tasks that are averaged must be on one scale: a judge's score from 0 to 10 beside right and wrong
answers would count ten times as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ogive.data.logs.runs import HIGHEST, LOWEST
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.repeated_responses import tries_in_words
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Bools
from ogive.stats.linked_parts import linked_parts

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
    """Return respondents with single answers, right or wrong, (n_respondents,)."""
    if table.tries is None:
        return np.full(table.n_respondents, table.kind == "binary")
    return np.asarray((table.tries <= 1).all(axis=1)) & (table.kind == "binary")


def answered(table: Responses) -> Answered:
    """Leave out respondents and items without a response; an empty table is refused."""
    rows: Bools = np.asarray(table.observed.any(axis=1))
    columns: Bools = np.asarray(table.observed.any(axis=0))
    if not rows.any():
        raise InputError("The table holds no response, so there is nothing to analyse.")
    notes = []
    for kept, names, noun in (
        (rows, table.respondents, "respondent"),
        (columns, table.items, "item"),
    ):
        lost = [name for name, stays in zip(names, kept, strict=True) if not stays]
        if lost:
            notes.append(f"Left out for lack of responses: {listed(lost, noun)}.")
    part = table.select(rows, columns) if notes else table
    return Answered(part, columns, tuple(notes))


def check_linked(table: Responses, study: str) -> None:
    """Refuse a table of parts that no item links, if the score on all items is predicted."""
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
    """Draw one of the repeated right or wrong answers of each cell; keep other responses."""
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
    """Return scores of at least two respondents, one row per respondent, one column per item."""
    table = as_responses(scores, "continuous")
    if table.n_respondents < 2:
        raise InputError(
            f"{study} compares respondents, but the table has "
            f"{counted(table.n_respondents, 'respondent')}. Give one row per respondent, "
            "at least two."
        )
    return table


Ints = NDArray[np.int64]


def copies(responses: Responses) -> Ints:
    """Return the group of each respondent, (n,): respondents with equal rows form a group."""
    cells = np.nan_to_num(responses.cells, nan=-np.inf)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    return np.asarray(group, dtype=np.int64).reshape(-1)


def grouped_folds(groups: Ints, folds: int, random_state: int) -> Ints:
    """Return the fold of each respondent, (n,), of about equal sizes; no group is divided.

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
    """Return notes on copies that stay together, and on a reduced number of folds."""
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
    """Return the group of each item; None if `by` is None, or if the default fact is unknown."""
    if by is None or (isinstance(by, str) and by == default and by not in table.item_facts):
        return None
    try:
        return table.item_groups(by)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


OPTIMAL, PESSIMAL = "optimal", "pessimal"
GUESSING = re.compile(r"majority|minority|random( \d+)?")


def is_artificial(names: Sequence[str]) -> Bools:
    """Return which respondents have the name of an artificial classifier of the paper's pool."""
    return np.array(
        [name in (OPTIMAL, PESSIMAL) or GUESSING.fullmatch(name) is not None for name in names],
        dtype=bool,
    )


def are_marks(names: Sequence[str]) -> Bools:
    """Return which respondents are marks: artificial ones, if those at both ends are among them.

    >>> are_marks(["optimal", "SVM", "random 1", "pessimal"]).tolist()
    [True, False, True, True]
    >>> are_marks(["majority", "SVM"]).tolist()
    [False, False]
    """
    found = is_artificial(names)
    whole = {OPTIMAL, PESSIMAL} <= set(names) and not found.all()
    return found if whole else np.zeros(len(names), dtype=bool)


def without_marks(table: Responses) -> tuple[Responses, tuple[str, ...]]:
    """Return the rivals among the respondents, and a note on the marks that were left out."""
    marks = are_marks(table.respondents)
    if not marks.any():
        return table, ()
    names = [name for name, mark in zip(table.respondents, marks, strict=True) if mark]
    return table.select(respondents=~marks), (said_of_marks(names),)


def said_of_marks(names: Sequence[str]) -> str:
    """Say who is not ranked, and why."""
    return f"Marks on the scale, not ranked: {listed(names, 'artificial respondent')}."


USUAL = (1.0, 5.0, 10.0, 20.0, 100.0, 1000.0)  # upper bounds that scores from 0 on usually have
USUAL_SHARE = (0.0, 1.0)
MOST_NAMED = 3
MOST_TASKS = 40  # columns; more are items
LEAST_PERCENT, PERCENT = 20.0, 100.0  # bounds of the largest response, if a percentage


def on_one_scale(table: Responses, tasks: Sequence[str] | None) -> tuple[Responses, list[str]]:
    """Return scores of all tasks from 0 to 1, and a note, if tasks differ in their units.

    The bounds of a task are facts of its items, or else those of its scores: from 0, unless some
    are lower, to the first usual bound that is not exceeded.
    """
    bounds = _unlike_bounds(table, tasks)
    if tasks is None or not bounds:
        return table, []
    values = table.values
    low, high = (np.array([bounds[task][end] for task in tasks]) for end in (0, 1))
    scaled = Responses(
        (values - low) / (high - low),
        table.respondents,
        table.items,
        "continuous",
        tries=table.tries,
        spread=None if table.spread is None else table.spread / (high - low),
    )
    odd = [task for task in bounds if bounds[task] != USUAL_SHARE]
    note = (
        "Tasks differ in the units of their scores, so each was put on a scale from 0 to 1. The "
        f"bounds of {counted(len(odd), 'task')} are others than 0 and 1 ({_named(bounds, odd)}). "
        "If they are wrong, give them as facts of the items: lowest and highest."
    )
    return scaled.described(
        respondents=table.respondent_facts, items=table.item_facts, notes=table.notes
    ), [note]


def said_of_raw_units(table: Responses, tasks: Sequence[str] | None) -> list[str]:
    """Return a note where means are of raw scores, though tasks differ in their units."""
    bounds = _unlike_bounds(table, tasks)
    if not bounds:
        return []
    wide = sorted(bounds, key=lambda task: bounds[task][0] - bounds[task][1])
    note = (
        "Tasks differ in the units of their scores, and mean scores here are of these units, in "
        f"which tasks of longer ranges count more ({_named(bounds, wide)}). For tasks that count "
        "alike, bring each to a scale from 0 to 1 first: subtract its lowest score, and divide by "
        "the length of its range. `leaderboard` and `plan` do so by themselves."
    )
    return [note]


def _unlike_bounds(table: Responses, tasks: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Return lowest and highest score of each task; empty if those of all tasks are the same."""
    if tasks is None or table.kind == "binary":
        return {}
    groups, values, facts = np.array(tasks, dtype=object), table.values, table.item_facts
    bounds: dict[str, tuple[float, float]] = {}
    for task in dict.fromkeys(tasks):
        members = np.flatnonzero(groups == task)
        known: list[float | None] = [None, None]
        for end, name in enumerate((LOWEST, HIGHEST)):  # bounds on which all items agree
            stated = facts[name].iloc[members].tolist() if name in facts else [None]
            first = stated[0]
            if len(set(stated)) == 1 and first is not None and not isinstance(first, str):
                known[end] = None if first != first else float(first)
        bounds[task] = _bounds(values[:, members], known[0], known[1])
    return bounds if len(set(bounds.values())) > 1 else {}


def _named(bounds: dict[str, tuple[float, float]], tasks: Sequence[str]) -> str:
    """Return the first tasks with their bounds."""
    named = [f"{task}: {bounds[task][0]:g} to {bounds[task][1]:g}" for task in tasks[:MOST_NAMED]]
    return "; ".join([*named, *(["..."] if len(tasks) > MOST_NAMED else [])])


def like_percentages(table: Responses) -> bool:
    """Return True if responses look like percentages of whole tasks: few columns, 0 to 100."""
    if table.kind != "continuous" or not table.n_items <= MOST_TASKS or not table.observed.any():
        return False
    least, most = float(np.nanmin(table.values)), float(np.nanmax(table.values))
    return least >= 0 and LEAST_PERCENT < most <= PERCENT


def _bounds(values: np.ndarray, lowest: float | None, highest: float | None) -> tuple[float, float]:
    """Return bounds as stated, or as the scores suggest; never equal."""
    known = values[~np.isnan(values)]
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low = lowest if lowest is not None and lowest <= least else min(least, 0.0)
    if highest is not None and highest >= most:
        high = highest
    elif low < 0:
        high = most
    else:
        high = next((bound for bound in USUAL if most <= bound), most)
    return (low, high) if high > low else (low, low + 1.0)
