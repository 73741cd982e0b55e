"""Which item is asked next: never one that was asked before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from itemwise.adaptive.bank import Bank, Ints
from itemwise.adaptive.full_score import FullScore
from itemwise.adaptive.parts import find_part, refuse_unless_number
from itemwise.adaptive.state import State
from itemwise.arguments import whole_number
from itemwise.errors import InputError
from itemwise.numerics.arrays import Bools
from itemwise.words import listed

SAME = 1e-9  # difficulties nearer than that are equal
SLACK = 8  # items looked at beyond those that may have been asked


class Selector(Protocol):
    """Chooses an item for each row of a state."""

    def choose(self, state: State, free: Bools) -> Ints:
        """A place in the bank for each row, (n,), where `free` (n, n_items) allows it.

        Every row has at least one free item.
        """


@dataclass(frozen=True)
class MaximumInformation:
    """The item that tells most at the target; short tests, but a few items serve everybody."""

    def choose(self, state: State, free: Bools) -> Ints:
        """The first free item in the order of information."""
        return _best(state, free, np.zeros(len(free), dtype=int))


@dataclass(frozen=True)
class Randomesque:
    """One of the `among` most informative items, by lot, so that no item is overexposed."""

    among: int = 5

    def __post_init__(self) -> None:
        whole_number(self.among, "among", 1)

    def choose(self, state: State, free: Bools) -> Ints:
        """A free item among the first, in the order of information."""
        enough = np.minimum(free.sum(axis=1), self.among)
        return _best(state, free, (state.draws("selector") * enough).astype(int))


@dataclass(frozen=True)
class NearestDifficulty:
    """The item whose difficulty is nearest to the target; the first in the bank on a tie."""

    def choose(self, state: State, free: Bools) -> Ints:
        """The nearest free item."""
        away = np.abs(state.bank.difficulty - state.target[:, None])
        found: Ints = np.where(free, away, np.inf).argmin(axis=1)
        return found


@dataclass(frozen=True)
class NearestByLot:
    """One of the `among` items nearest to the target, and of those as near, by lot.

    Items of one slope tell most where they are nearest, so that this is maximum information; and
    of items that are equally hard, the first would otherwise always be asked.
    """

    among: int = 1

    def __post_init__(self) -> None:
        whole_number(self.among, "among", 1)

    def choose(self, state: State, free: Bools) -> Ints:
        """A free item of each row."""
        away = np.abs(state.bank.difficulty - state.target[:, None])
        away = np.where(free, away, np.inf)
        last = np.minimum(self.among, free.sum(axis=1)) - 1
        limit = np.sort(np.partition(away, last.max(), axis=1)[:, : last.max() + 1], axis=1)
        near = away <= limit[np.arange(len(away)), last][:, None] + SAME
        nth = (state.draws("selector") * near.sum(axis=1)).astype(int)
        found: Ints = (np.cumsum(near, axis=1) > nth[:, None]).argmax(axis=1)
        return found


@dataclass(frozen=True)
class RandomItem:
    """Any item, by lot: what the other selectors are to be compared with."""

    def choose(self, state: State, free: Bools) -> Ints:
        """A free item."""
        nth = (state.draws("selector") * free.sum(axis=1)).astype(int)
        found: Ints = (np.cumsum(free, axis=1) > nth[:, None]).argmax(axis=1)
        return found


@dataclass(frozen=True)
class ContentBalance:
    """Keeps shares of groups of items; within a group, `selector` chooses.

    `groups` says of each item to which group it belongs, `shares` how much of a test each group
    should be. The group that lags most behind its share comes next; one that has no free item
    left is passed over.
    """

    groups: Mapping[str, str]
    shares: Mapping[str, float]
    selector: Selector = MaximumInformation()

    def __post_init__(self) -> None:
        inner = find_part(self.selector, "selector", "choose", SELECTORS)
        object.__setattr__(self, "selector", inner)
        if not self.shares:
            raise InputError("shares is empty; give a share for each group of items.")
        for group, share in self.shares.items():
            refuse_unless_number(share, f"The share of {group!r}", 0, inf)

    def choose(self, state: State, free: Bools) -> Ints:
        """An item of the group that lags most."""
        codes = self._codes(state.bank)
        wanted = np.array(list(self.shares.values()), dtype=float)
        kinds = np.arange(wanted.size)
        seen = (codes[state.items][:, :, None] == kinds).sum(axis=1)
        lag = wanted / wanted.sum() * (state.step + 1) - seen
        for kind in kinds:
            lag[~free[:, codes == kind].any(axis=1), kind] = -np.inf
        return self.selector.choose(state, free & (codes == lag.argmax(axis=1)[:, None]))

    def _codes(self, bank: Bank) -> Ints:
        """The group of each item, as its place in `shares`."""
        place = {group: k for k, group in enumerate(self.shares)}
        lost = [name for name in bank.names if self.groups.get(name) not in place]
        if lost:
            raise InputError(
                f"{listed(lost, 'item')} of the bank belong to no group that has a share. Groups "
                f"with shares are {', '.join(map(str, place))}; name one for each item."
            )
        codes = np.array([place[self.groups[name]] for name in bank.names])
        empty = [group for group, k in place.items() if k not in codes]
        if empty:
            raise InputError(
                f"{listed(empty, 'group')} in shares without an item in the bank. Leave them out."
            )
        return codes


def _best(state: State, free: Bools, nth: Ints) -> Ints:
    """Of the free items in the order of information at the target, the nth of each row, from 0."""
    found = np.zeros(nth.size, dtype=np.int64)
    left = np.arange(nth.size)
    width = state.step + int(nth.max(initial=0)) + SLACK
    while left.size:
        order = state.bank.ranking(state.target[left], width)
        passed = np.cumsum(np.take_along_axis(free[left], order, axis=1), axis=1)
        there = passed[:, -1] > nth[left]
        column = (passed > nth[left, None]).argmax(axis=1)
        found[left[there]] = order[there, column[there]]
        left, width = left[~there], 4 * width
    return found


SELECTORS: dict[str, Callable[[], Selector]] = {
    "information": MaximumInformation,
    "randomesque": Randomesque,
    "nearest": NearestDifficulty,
    "random": RandomItem,
    "score": FullScore,
}
