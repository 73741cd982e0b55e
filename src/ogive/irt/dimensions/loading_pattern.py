"""Which items load where; the parameter vector.

Which items load on which dimensions, and the numbers that a fit looks for.

Which items belong to which dimension, as a caller gives it, checked; and answers as codes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ogive.data.names import UNKNOWN
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.numbers import counted, joined, listed, shown
from ogive.stats.array_backend import Floats

ABSENT = -1  # position of a number that an item does not have


@dataclass(frozen=True, eq=False)
class Pattern:
    """A confirmatory pattern: free loadings, and whether dimensions correlate.

    If they do not, the first dimension is the general one, and an item loads on at most one other.
    """

    free: NDArray[np.bool_]  # (n_items, n_dimensions)
    n_thresholds: NDArray[np.intp]  # (n_items,): categories less one
    correlated: bool = True

    @property
    def n_dimensions(self) -> int:
        """How many dimensions there are."""
        return int(self.free.shape[1])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of dimensions that correlate."""
        if not self.correlated:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        return np.triu_indices(self.n_dimensions, 1)

    @cached_property
    def of_loadings(self) -> NDArray[np.intp]:
        """Position of each loading in the list of all numbers, item by item."""
        sizes = self.free.sum(axis=1) + self.n_thresholds
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        place = first[:, None] + np.cumsum(self.free, axis=1) - 1
        return np.where(self.free, place, ABSENT).astype(np.intp)

    @cached_property
    def of_thresholds(self) -> NDArray[np.intp]:
        """Position of each threshold."""
        sizes = self.free.sum(axis=1) + self.n_thresholds
        ends = np.cumsum(sizes)
        steps = np.arange(self.n_thresholds.max())
        place = (ends - self.n_thresholds)[:, None] + steps
        return np.where(steps < self.n_thresholds[:, None], place, ABSENT).astype(np.intp)

    @property
    def n_of_items(self) -> int:
        """How many numbers items have."""
        return int(self.free.sum() + self.n_thresholds.sum())

    @property
    def size(self) -> int:
        """How many numbers are looked for."""
        return self.n_of_items + self.pairs[0].size


@dataclass(frozen=True, eq=False)
class Place:
    """Loadings, thresholds and correlations: logit P(x >= k) = Σ loading · ability + threshold k.

    Thresholds of an item fall; what an item does not have is 0.
    """

    loadings: Floats  # (n_items, n_dimensions)
    thresholds: Floats  # (n_items, most thresholds)
    correlation: Floats  # (n_dimensions, n_dimensions)

    def flat(self, pattern: Pattern) -> Floats:
        """Return all numbers in one list."""
        numbers = np.zeros(pattern.size)
        there = pattern.of_thresholds != ABSENT
        numbers[pattern.of_loadings[pattern.free]] = self.loadings[pattern.free]
        numbers[pattern.of_thresholds[there]] = self.thresholds[there]
        numbers[pattern.n_of_items :] = self.correlation[pattern.pairs]
        return numbers

    @classmethod
    def of(cls, numbers: Floats, pattern: Pattern) -> Place:
        """Undo `flat`."""
        loadings = np.where(pattern.free, numbers[pattern.of_loadings], 0.0)
        thresholds = np.where(pattern.of_thresholds != ABSENT, numbers[pattern.of_thresholds], 0.0)
        correlation = np.eye(pattern.n_dimensions)
        correlation[pattern.pairs] = numbers[pattern.n_of_items :]
        correlation.T[pattern.pairs] = numbers[pattern.n_of_items :]
        return cls(loadings, thresholds, correlation)

    def possible(self, pattern: Pattern) -> bool:
        """Return True if thresholds fall, and correlations are those of some distribution."""
        gaps = self.thresholds[:, :-1] - self.thresholds[:, 1:]
        there = pattern.of_thresholds[:, 1:] != ABSENT
        if not bool((gaps[there] > 1e-6).all()):
            return False
        return bool(np.linalg.eigvalsh(self.correlation)[0] > 1e-6)


GENERAL = "general"
MOST = 10  # dimensions
LEAST_ITEMS = 3  # of a dimension, on which respondents differ
LEAST_RESPONDENTS = 10
MOST_NUMBERS = 6000


@dataclass(frozen=True, eq=False)
class ItemDimensions:
    """Names of the dimensions, the items that are used, their pattern, and answers as codes."""

    names: tuple[str, ...]
    items: tuple[str, ...]
    pattern: Pattern
    codes: NDArray[np.int16]  # (n_respondents, n_items), from 0; -1 where nothing was asked
    notes: tuple[str, ...]


def item_dimensions(table: Responses, dimensions: object, structure: str) -> ItemDimensions:
    """Read the dimensions, leave out what tells nothing, and refuse what cannot be fitted."""
    _suits(table)
    groups, notes = _named(table, dimensions)
    codes, n_categories = _codes(table)
    tells = n_categories > 1
    position = {name: k for k, name in enumerate(table.items)}
    free = np.zeros((table.n_items, len(groups)), dtype=bool)
    for k, members in enumerate(groups.values()):
        free[[position[item] for item in members], k] = True
    same = [table.items[k] for k in np.flatnonzero(~tells & free.any(axis=1))]
    if same:
        notes.append(f"Left out, because everybody gave the same answer: {listed(same, 'item')}.")
    names, free = _large_enough(list(groups), free & tells[:, None], dimensions, notes)
    bifactor = structure == "bifactor"
    _check_structure(table, names, free, notes, bifactor=bifactor)
    if bifactor:
        names, free = _with_general(names, free, tells)
    used = free.any(axis=1)
    alone = [table.items[k] for k in np.flatnonzero(~used & tells)]
    if alone:
        notes.append(f"Left out, because on no dimension: {listed(alone, 'item')}.")
    pattern = Pattern(free[used], (n_categories[used] - 1).astype(np.intp), not bifactor)
    if pattern.size > MOST_NUMBERS:
        raise InputError(
            f"{counted(int(used.sum()), 'item')} have {pattern.size:,} numbers to estimate, but "
            f"at most {MOST_NUMBERS:,} are found together. Give fewer items, for example a sample "
            "of each dimension; task_scales takes more."
        )
    items = tuple(table.items[k] for k in np.flatnonzero(used))
    return ItemDimensions(tuple(names), items, pattern, codes[:, used], tuple(notes))


def _suits(table: Responses) -> None:
    if table.kind not in ("binary", "graded") or table.tries is not None:
        what = "repeated answers" if table.tries is not None else f"{table.kind} responses"
        raise InputError(
            f"The table holds {what}; several dimensions take right and wrong answers or grades, "
            "one per cell. task_scales takes other tables."
        )
    if table.n_respondents < LEAST_RESPONDENTS:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but several dimensions need "
            f"{LEAST_RESPONDENTS} or more."
        )


def _named(table: Responses, dimensions: object) -> tuple[dict[str, list[str]], list[str]]:
    """Items of each dimension: from a mapping to lists of items, or from a group of each item."""
    known = set(table.items)
    if isinstance(dimensions, Mapping) and _lists(dimensions):
        groups = {str(name): [str(item) for item in given] for name, given in dimensions.items()}
        for name, members in groups.items():
            strangers = [item for item in members if item not in known]
            if strangers:
                raise InputError(
                    f"dimensions gives {shown(name)} {listed(strangers, 'item')} not in the table, "
                    f"whose items are {listed(table.items, 'item')}."
                )
        return groups, []
    found: dict[str, list[str]] = {}
    for item, group in zip(table.items, table.item_groups(dimensions), strict=True):
        found.setdefault(group, []).append(item)
    unknown = found.pop(UNKNOWN, [])
    notes = [f"No dimension is given for {listed(unknown, 'item')}."] if unknown else []
    return found, notes


def _lists(dimensions: Mapping[object, object]) -> bool:
    """Return True if values are lists of items, not the name of a group."""
    listed_ones = [
        isinstance(value, Collection) and not isinstance(value, str)
        for value in dimensions.values()
    ]
    return bool(listed_ones) and all(listed_ones)


def _codes(table: Responses) -> tuple[NDArray[np.int16], NDArray[np.intp]]:
    """Categories that were given, numbered from 0 item by item; -1 where nothing was asked."""
    values, asked = table.values, table.observed
    codes = np.full(table.shape, -1, dtype=np.int16)
    n_categories = np.zeros(table.n_items, dtype=np.intp)
    for k in range(table.n_items):
        seen, places = np.unique(values[asked[:, k], k], return_inverse=True)
        codes[asked[:, k], k] = places
        n_categories[k] = seen.size
    return codes, n_categories


def _large_enough(
    names: list[str], free: NDArray[np.bool_], given: object, notes: list[str]
) -> tuple[list[str], NDArray[np.bool_]]:
    """Dimensions with enough items; others are refused if listed, left out if a fact names them."""
    sizes = free.sum(axis=0)
    small = [f"{names[k]} has {counted(int(sizes[k]), 'item')}" for k in _below(sizes)]
    if small and isinstance(given, Mapping) and _lists(given):
        raise InputError(
            f"A dimension needs {LEAST_ITEMS} items or more on which respondents differ, but "
            f"{joined(small[:3])}. Join it with another, or leave it out."
        )
    if small:
        notes.append(
            f"Left out, because a dimension takes {LEAST_ITEMS} items on which respondents "
            f"differ: {joined(small[:5])}."
        )
    keep = sizes >= LEAST_ITEMS
    return [name for name, kept in zip(names, keep, strict=True) if kept], free[:, keep]


def _below(sizes: NDArray[np.intp]) -> list[int]:
    return [int(k) for k in np.flatnonzero(sizes < LEAST_ITEMS)]


def _check_structure(
    table: Responses,
    names: list[str],
    free: NDArray[np.bool_],
    notes: list[str],
    *,
    bifactor: bool,
) -> None:
    least = 1 if bifactor else 2
    if not least <= len(names) <= MOST:
        usable = f": {joined(names)}" if names else ""
        verb = "is" if len(names) == 1 else "are"
        said = [
            (
                f"There {verb} {counted(len(names), 'usable dimension')}{usable}, but {least} to "
                f"{MOST} can be fitted, of {LEAST_ITEMS} items or more each."
            ),
            *notes,  # which were left out, and why
        ]
        raise InputError(" ".join(said))
    twins = [
        f"{one} and {names[other]}"
        for k, one in enumerate(names)
        for other in range(k + 1, len(names))
        if (free[:, k] == free[:, other]).all()
    ]
    if twins:
        raise InputError(
            f"{twins[0]} have the same items, so that nothing distinguishes them. Leave one out."
        )
    if bifactor and free.sum(axis=1).max() > 1:
        both = [table.items[k] for k in np.flatnonzero(free.sum(axis=1) > 1)]
        raise InputError(
            f"structure='bifactor' takes every item on one dimension besides the general one, but "
            f"several list {listed(both, 'item')}. Use structure='correlated', or list it once."
        )
    if bifactor and GENERAL in names:
        raise InputError(f"{GENERAL!r} is the dimension of all items; rename yours.")


def _with_general(
    names: list[str], free: NDArray[np.bool_], tells: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.bool_]]:
    return [GENERAL, *names], np.concatenate([tells[:, None], free], axis=1)
