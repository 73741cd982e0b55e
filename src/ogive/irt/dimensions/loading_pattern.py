"""Which items load on which dimensions, and the parameter vector of a fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ogive.data.names import UNKNOWN
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.numbers import counted, joined, listed, shown
from ogive.stats.array_backend import Floats

ABSENT = -1  # position of a number that an item does not have
GENERAL = "general"
MAX_DIMENSIONS = 10
MIN_ITEMS = 3  # fewest items of a dimension on which respondents differ
MIN_RESPONDENTS = 10
MAX_NUMBERS = 6000


@dataclass(frozen=True, eq=False)
class Pattern:
    """A confirmatory pattern: free loadings, and whether dimensions correlate.

    If not, the first dimension is the general one, and an item loads on at most one other.
    """

    free: NDArray[np.bool_]  # (n_items, n_dimensions)
    n_thresholds: NDArray[np.intp]  # (n_items,): number of categories less one
    correlated: bool = True

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
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
        position = first[:, None] + np.cumsum(self.free, axis=1) - 1
        return np.where(self.free, position, ABSENT).astype(np.intp)

    @cached_property
    def of_thresholds(self) -> NDArray[np.intp]:
        """Position of each threshold."""
        sizes = self.free.sum(axis=1) + self.n_thresholds
        ends = np.cumsum(sizes)
        steps = np.arange(self.n_thresholds.max())
        position = (ends - self.n_thresholds)[:, None] + steps
        return np.where(steps < self.n_thresholds[:, None], position, ABSENT).astype(np.intp)

    @property
    def n_of_items(self) -> int:
        """Number of parameters of items."""
        return int(self.free.sum() + self.n_thresholds.sum())

    @property
    def size(self) -> int:
        """Number of all parameters."""
        return self.n_of_items + self.pairs[0].size


@dataclass(frozen=True, eq=False)
class Parameters:
    """Loadings, thresholds and correlations: logit P(x >= k) = Σ loading · ability + threshold k.

    Thresholds of an item descend; those that an item does not have are 0.
    """

    loadings: Floats  # (n_items, n_dimensions)
    thresholds: Floats  # (n_items, most thresholds)
    correlation: Floats  # (n_dimensions, n_dimensions)

    def flat(self, pattern: Pattern) -> Floats:
        """Return all parameters as a vector."""
        numbers = np.zeros(pattern.size)
        present = pattern.of_thresholds != ABSENT
        numbers[pattern.of_loadings[pattern.free]] = self.loadings[pattern.free]
        numbers[pattern.of_thresholds[present]] = self.thresholds[present]
        numbers[pattern.n_of_items :] = self.correlation[pattern.pairs]
        return numbers

    @classmethod
    def of(cls, numbers: Floats, pattern: Pattern) -> Parameters:
        """Undo `flat`."""
        loadings = np.where(pattern.free, numbers[pattern.of_loadings], 0.0)
        thresholds = np.where(pattern.of_thresholds != ABSENT, numbers[pattern.of_thresholds], 0.0)
        correlation = np.eye(pattern.n_dimensions)
        correlation[pattern.pairs] = numbers[pattern.n_of_items :]
        correlation.T[pattern.pairs] = numbers[pattern.n_of_items :]
        return cls(loadings, thresholds, correlation)

    def valid(self, pattern: Pattern) -> bool:
        """Return True if thresholds descend and the correlations are positive definite."""
        gaps = self.thresholds[:, :-1] - self.thresholds[:, 1:]
        present = pattern.of_thresholds[:, 1:] != ABSENT
        descend = bool((gaps[present] > 1e-6).all())
        return descend and bool(np.linalg.eigvalsh(self.correlation)[0] > 1e-6)


@dataclass(frozen=True, eq=False)
class ItemDimensions:
    """The dimensions that a caller gives, checked: names, items, pattern, and answers as codes."""

    names: tuple[str, ...]
    items: tuple[str, ...]
    pattern: Pattern
    codes: NDArray[np.int16]  # (n_respondents, n_items), from 0; -1 if missing
    notes: tuple[str, ...]


def item_dimensions(table: Responses, dimensions: object, structure: str) -> ItemDimensions:
    """Read the dimensions, leave out items without information, refuse what cannot be fitted."""
    _check_table(table)
    groups, notes = _items_by_dimension(table, dimensions)
    codes, n_categories = _codes(table)
    varied = n_categories > 1
    position = {name: k for k, name in enumerate(table.items)}
    free = np.zeros((table.n_items, len(groups)), dtype=bool)
    for k, members in enumerate(groups.values()):
        free[[position[item] for item in members], k] = True
    same = [table.items[k] for k in np.flatnonzero(~varied & free.any(axis=1))]
    if same:
        notes.append(f"Left out, because everybody gave the same answer: {listed(same, 'item')}.")
    names, free = _large_enough(list(groups), free & varied[:, None], dimensions, notes)
    bifactor = structure == "bifactor"
    _check_structure(table, names, free, notes, bifactor=bifactor)
    if bifactor:
        names, free = [GENERAL, *names], np.concatenate([varied[:, None], free], axis=1)
    used = free.any(axis=1)
    alone = [table.items[k] for k in np.flatnonzero(~used & varied)]
    if alone:
        notes.append(f"Left out, because on no dimension: {listed(alone, 'item')}.")
    pattern = Pattern(free[used], (n_categories[used] - 1).astype(np.intp), not bifactor)
    if pattern.size > MAX_NUMBERS:
        raise InputError(
            f"{counted(int(used.sum()), 'item')} have {pattern.size:,} numbers to estimate, but "
            f"at most {MAX_NUMBERS:,} are found together. Give fewer items, for example a sample "
            "of each dimension; task_scales takes more."
        )
    items = tuple(table.items[k] for k in np.flatnonzero(used))
    return ItemDimensions(tuple(names), items, pattern, codes[:, used], tuple(notes))


def _check_table(table: Responses) -> None:
    """Refuse tables of other kinds, and too few respondents."""
    if table.kind not in ("binary", "graded") or table.tries is not None:
        what = "repeated answers" if table.tries is not None else f"{table.kind} responses"
        raise InputError(
            f"The table holds {what}; several dimensions take right and wrong answers or grades, "
            "one per cell. task_scales takes other tables."
        )
    if table.n_respondents < MIN_RESPONDENTS:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but several dimensions need "
            f"{MIN_RESPONDENTS} or more."
        )


def _items_by_dimension(
    table: Responses, dimensions: object
) -> tuple[dict[str, list[str]], list[str]]:
    """Return items by dimension from a mapping to lists, or a group of each item; and notes."""
    known = set(table.items)
    if _maps_to_lists(dimensions):
        groups = {str(name): [str(item) for item in given] for name, given in dimensions.items()}
        for name, members in groups.items():
            unknown = [item for item in members if item not in known]
            if unknown:
                raise InputError(
                    f"dimensions gives {shown(name)} {listed(unknown, 'item')} not in the table, "
                    f"whose items are {listed(table.items, 'item')}."
                )
        return groups, []
    groups = {}
    for item, group in zip(table.items, table.item_groups(dimensions), strict=True):
        groups.setdefault(group, []).append(item)
    unknown = groups.pop(UNKNOWN, [])
    notes = [f"No dimension is given for {listed(unknown, 'item')}."] if unknown else []
    return groups, notes


def _maps_to_lists(dimensions: object) -> TypeGuard[Mapping[object, Collection[object]]]:
    """Return True for a mapping to lists of items, not to names of groups."""
    return (
        isinstance(dimensions, Mapping)
        and bool(dimensions)
        and all(isinstance(v, Collection) and not isinstance(v, str) for v in dimensions.values())
    )


def _codes(table: Responses) -> tuple[NDArray[np.int16], NDArray[np.intp]]:
    """Return categories numbered from 0 item by item, -1 if missing, and their number."""
    values, asked = table.values, table.observed
    codes = np.full(table.shape, -1, dtype=np.int16)
    n_categories = np.zeros(table.n_items, dtype=np.intp)
    for k in range(table.n_items):
        distinct, index = np.unique(values[asked[:, k], k], return_inverse=True)
        codes[asked[:, k], k] = index
        n_categories[k] = distinct.size
    return codes, n_categories


def _large_enough(
    names: list[str], free: NDArray[np.bool_], given: object, notes: list[str]
) -> tuple[list[str], NDArray[np.bool_]]:
    """Return dimensions with enough items; refuse small ones if listed, else leave them out."""
    sizes = free.sum(axis=0)
    keep = sizes >= MIN_ITEMS
    small = [f"{names[k]} has {counted(int(sizes[k]), 'item')}" for k in np.flatnonzero(~keep)]
    if small and _maps_to_lists(given):
        raise InputError(
            f"A dimension needs {MIN_ITEMS} items or more on which respondents differ, but "
            f"{joined(small[:3])}. Join it with another, or leave it out."
        )
    if small:
        notes.append(
            f"Left out, because a dimension takes {MIN_ITEMS} items on which respondents "
            f"differ: {joined(small[:5])}."
        )
    return [name for name, kept in zip(names, keep, strict=True) if kept], free[:, keep]


def _check_structure(
    table: Responses,
    names: list[str],
    free: NDArray[np.bool_],
    notes: list[str],
    *,
    bifactor: bool,
) -> None:
    """Refuse numbers of dimensions, and overlaps, that cannot be fitted."""
    least = 1 if bifactor else 2
    if not least <= len(names) <= MAX_DIMENSIONS:
        usable = f": {joined(names)}" if names else ""
        verb = "is" if len(names) == 1 else "are"
        message = (
            f"There {verb} {counted(len(names), 'usable dimension')}{usable}, but {least} to "
            f"{MAX_DIMENSIONS} can be fitted, of {MIN_ITEMS} items or more each."
        )
        raise InputError(" ".join([message, *notes]))
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
