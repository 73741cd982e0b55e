"""Rules that choose the next item of an adaptive test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from ogive._validation import whole_number
from ogive.errors import InputError
from ogive.irt.adaptive.state import Bank, Ints, State, find_part, refuse_unless_number
from ogive.results.numbers import listed
from ogive.stats.array_backend import Bools, Floats

SAME = 1e-9  # largest difference of difficulties, or relative gains, that count as equal
SLACK = 8  # number of items ranked beyond those that may have been asked
MIN_VARIANCE = 1e-12  # least variance of a response in the gain of an item


class Selector(Protocol):
    """Chooses an item for each row of a state."""

    def choose(self, state: State, free: Bools) -> Ints:
        """Return a position in the bank for each row, (n,), for which `free` (n, n_items) is true.

        Every row has at least one free item.
        """


@dataclass(frozen=True)
class MaximumInformation:
    """The most informative item at the target: short tests, but a few items are asked of all."""

    def choose(self, state: State, free: Bools) -> Ints:
        """Return the first free item in the order of information."""
        return _best(state, free, np.zeros(len(free), dtype=int))


@dataclass(frozen=True)
class Randomesque:
    """One of the `among` most informative items at random, so that no item is overexposed."""

    among: int = 5

    def __post_init__(self) -> None:
        whole_number(self.among, "among", 1)

    def choose(self, state: State, free: Bools) -> Ints:
        """Return a free item among the first, in the order of information."""
        enough = np.minimum(free.sum(axis=1), self.among)
        return _best(state, free, (state.draws("selector") * enough).astype(int))


@dataclass(frozen=True)
class NearestDifficulty:
    """The item whose difficulty is nearest to the target; the first in the bank on a tie."""

    def choose(self, state: State, free: Bools) -> Ints:
        """Return the nearest free item."""
        distance = np.abs(state.bank.difficulty - state.target[:, None])
        return np.asarray(np.where(free, distance, np.inf).argmin(axis=1))


@dataclass(frozen=True)
class NearestByLot:
    """One of the `among` items nearest to the target, at random, ties included.

    For items of equal slope the nearest is the most informative one; ties are broken at random, or
    the first of equally hard items would always be asked.
    """

    among: int = 1

    def __post_init__(self) -> None:
        whole_number(self.among, "among", 1)

    def choose(self, state: State, free: Bools) -> Ints:
        """Return a free item of each row."""
        distance = np.abs(state.bank.difficulty - state.target[:, None])
        distance = np.where(free, distance, np.inf)
        last = np.minimum(self.among, free.sum(axis=1)) - 1
        limit = np.sort(np.partition(distance, last.max(), axis=1)[:, : last.max() + 1], axis=1)
        near = distance <= limit[np.arange(len(distance)), last][:, None] + SAME
        nth = (state.draws("selector") * near.sum(axis=1)).astype(int)
        return np.asarray((np.cumsum(near, axis=1) > nth[:, None]).argmax(axis=1))


@dataclass(frozen=True)
class RandomItem:
    """Any item, at random: a baseline for the other selectors."""

    def choose(self, state: State, free: Bools) -> Ints:
        """Return a free item."""
        nth = (state.draws("selector") * free.sum(axis=1)).astype(int)
        return np.asarray((np.cumsum(free, axis=1) > nth[:, None]).argmax(axis=1))


@dataclass(frozen=True)
class ContentBalance:
    """Keeps the shares of groups of items; within a group, `selector` chooses.

    `groups` maps each item to its group, `shares` each group to its share of the test. The group
    that is furthest behind its share comes next; groups without a free item are skipped.
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
        """Return an item of the group that is furthest behind."""
        codes = self._codes(state.bank)
        wanted = np.array(list(self.shares.values()), dtype=float)
        kinds = np.arange(wanted.size)
        seen = (codes[state.items][:, :, None] == kinds).sum(axis=1)
        lag = wanted / wanted.sum() * (state.step + 1) - seen
        for kind in kinds:
            lag[~free[:, codes == kind].any(axis=1), kind] = -np.inf
        return self.selector.choose(state, free & (codes == lag.argmax(axis=1)[:, None]))

    def _codes(self, bank: Bank) -> Ints:
        """Return the group of each item, as its position in `shares`."""
        place = {group: k for k, group in enumerate(self.shares)}
        lost = [name for name in bank.names if self.groups.get(name) not in place]
        if lost:
            raise InputError(
                f"{listed(lost, 'item')} of the bank in no group that has a share. Groups "
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
    """Return the nth free item of each row in the order of information at the target, from 0."""
    found = np.zeros(nth.size, dtype=np.int64)
    left = np.arange(nth.size)
    width = state.step + int(nth.max(initial=0)) + SLACK
    while left.size:
        order = state.bank.ranking(state.target[left], width)
        passed = np.cumsum(np.take_along_axis(free[left], order, axis=1), axis=1)
        enough = passed[:, -1] > nth[left]
        column = (passed > nth[left, None]).argmax(axis=1)
        found[left[enough]] = order[enough, column[enough]]
        left, width = left[~enough], 4 * width
    return found


@dataclass(frozen=True)
class FullScore:
    """The item after which the score on all items is known best.

    A benchmark is run for its score, not for the ability. The gain of an item is the expected
    reduction of the variance of the sum of all responses: Cov(response, sum)² / Var(response) under
    the posterior. The sum includes the item itself, so an item that no other item predicts may be
    worth asking. For right and wrong responses the gain is exact; for others it is that of the best
    linear prediction.
    """

    def choose(self, state: State, free: Bools) -> Ints:
        """Return the free item of the largest gain, in each row."""
        return self.choose_several(state, free, 1)[:, 0]

    def choose_several(self, state: State, free: Bools, count: int) -> Ints:
        """Return `count` free items for each row, (n, count): each the best after those before it.

        What the items chosen so far will reveal is subtracted from the others (a Cholesky step), so
        a batch does not ask the same thing twice. Every row has enough free items.
        """
        bank, rows = state.bank, np.arange(len(free))
        weights = np.exp(state.log_posterior - state.log_posterior.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)  # (n, n_nodes)
        mean = weights @ bank.expected.T
        noise = weights @ bank.noise.T
        variance = weights @ (bank.expected**2).T - mean**2 + noise
        unanswered = np.ones(free.shape)
        np.put_along_axis(unanswered, state.items, 0.0, axis=1)
        left = unanswered @ bank.expected
        left = left - (weights * left).sum(axis=1, keepdims=True)
        # Covariance of each response with the sum over unanswered items.
        with_sum = (weights * left) @ bank.expected.T + noise
        open_ = free.copy()
        chosen: list[Ints] = []
        revealed: list[Floats] = []  # covariances with the items chosen so far
        for _ in range(count):
            gain = with_sum**2 / np.maximum(variance, MIN_VARIANCE)
            gain = np.where(open_, gain, -1.0)
            best: Ints = (gain >= (1 - SAME) * gain.max(axis=1, keepdims=True)).argmax(axis=1)
            chosen.append(best)
            if len(chosen) == count:
                break
            open_[rows, best] = False
            centred = bank.expected[best] - mean[rows, best][:, None]
            shared = (weights * centred) @ bank.expected.T
            shared[rows, best] += noise[rows, best]
            shared -= sum(one * one[rows, best][:, None] for one in revealed)
            sd = np.sqrt(np.maximum(variance[rows, best], MIN_VARIANCE))[:, None]
            step = shared / sd
            revealed.append(step)
            with_sum = with_sum - step * with_sum[rows, best][:, None] / sd
            variance = variance - step**2
        return np.stack(chosen, axis=1)


SELECTORS: dict[str, Callable[[], Selector]] = {
    "information": MaximumInformation,
    "randomesque": Randomesque,
    "nearest": NearestDifficulty,
    "random": RandomItem,
    "score": FullScore,
}
