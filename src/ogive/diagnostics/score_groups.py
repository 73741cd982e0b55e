"""Groups of neighbouring summed scores, joined until each of their cells expects enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ogive.numerics.arrays import Floats

LEAST_EXPECTED = 1.0  # responses in a cell of S-X²; cells with fewer are joined to a neighbour

Cells = list[float]


@dataclass
class Group:
    """Respondents of neighbouring scores: counts of ordered cells, observed and expected."""

    size: float
    observed: Cells
    expected: Cells

    @property
    def sparse(self) -> bool:
        """Whether some cell, other than an empty one, expects too little."""
        return any(0 < count < LEAST_EXPECTED for count in self.expected)

    def take(self, other: Group) -> None:
        """Join another group, lowest cell to lowest cell."""
        self.size += other.size
        self.observed = _summed(self.observed, other.observed)
        self.expected = _summed(self.expected, other.expected)

    def join_cells(self) -> None:
        """Join neighbouring cells while more than two are left and one expects too little."""
        observed, expected = self.observed, self.expected
        while len(expected) > 2 and min(expected) < LEAST_EXPECTED:
            least = min(range(len(expected)), key=lambda k: (expected[k], -k))
            to = _smaller_neighbour(least, len(expected), expected.__getitem__)
            observed[to] += observed[least]
            expected[to] += expected[least]
            del observed[least], expected[least]


def by_score(
    scores: np.ndarray, observed: Floats, expected: Floats, width: int, highest: int
) -> list[Group]:
    """One group a score. The lowest and highest of all leave no choice and say nothing.

    Scores at which not every category is possible go to the nearest at which it is.
    """
    low, high = width - 1, max(highest - width + 1, width - 1)
    groups: dict[int, Group] = {}
    for score, counts, means in zip(scores.tolist(), observed, expected, strict=True):
        if not 0 < score < highest or not means.any():
            continue
        at = min(max(score, low), high)
        new = Group(float(counts.sum()), counts[:width].tolist(), means[:width].tolist())
        if at in groups:
            groups[at].take(new)
        else:
            groups[at] = new
    return list(groups.values())


def joined(groups: list[Group]) -> list[Group]:
    """Groups whose cells all expect enough: cells are joined first, then groups.

    A group joins the smaller of its neighbours, the lower one where they are equal.
    """
    for group in groups:
        group.join_cells()
    k = 0
    while k < len(groups):
        if not groups[k].sparse or len(groups) == 1:
            k += 1
            continue
        to = _smaller_neighbour(k, len(groups), lambda i: groups[i].size)
        groups[to].take(groups[k])
        del groups[k]
        k = min(k, to)
    return groups


def _smaller_neighbour(k: int, count: int, size: Callable[[int], float]) -> int:
    """Position of the smaller of the two neighbours, the lower one where they are equal."""
    if k == 0:
        return 1
    if k == count - 1:
        return k - 1
    return k - 1 if size(k - 1) <= size(k + 1) else k + 1


def _summed(left: Cells, right: Cells) -> Cells:
    return [a + b for a, b in zip_longest(left, right, fillvalue=0.0)]


def compared(groups: list[Group]) -> tuple[float, int]:
    """Pearson's statistic and the cells that are free, before parameters are counted."""
    total, free = 0.0, 0
    for group in groups:
        if group.sparse:
            return np.nan, 0
        pairs = [(o, e) for o, e in zip(group.observed, group.expected, strict=True) if e > 0]
        total += sum((o - e) ** 2 / e for o, e in pairs)
        free += len(pairs) - 1
    return total, free


def of_two_cells(sizes: Floats, observed: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Pearson's statistic and the free cells of many items at once, as `joined` would have it.

    `sizes` are those of the groups, in the order of their scores; `observed` and `expected` are
    (2, n_groups, n_items), and nothing that is expected is 0. Groups before the one that is
    looked at expect enough; only the last of them may still grow.
    """
    n_items = observed.shape[2]
    statistic, free = np.zeros(n_items), np.zeros(n_items)
    size, held = np.zeros(n_items), np.zeros((2, 2, n_items))  # observed and expected, by cell
    last_size, last = np.full(n_items, np.inf), np.ones((2, 2, n_items))
    any_last = np.zeros(n_items, dtype=bool)
    for k, more in enumerate(sizes):
        size += more
        held[0] += observed[:, k]
        held[1] += expected[:, k]
        sparse = (held[1] < LEAST_EXPECTED).any(axis=0)
        following = sizes[k + 1] if k + 1 < len(sizes) else np.inf
        back = sparse & any_last & (last_size <= following)
        done = ~sparse
        ended = done & any_last
        statistic += np.where(ended, ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0), 0.0)
        free += ended
        last = np.where(done, held, np.where(back, last + held, last))
        last_size = np.where(done, size, np.where(back, last_size + size, last_size))
        any_last |= done
        kept = ~(done | back)
        size *= kept
        held *= kept
    statistic += ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0)
    free += any_last
    return np.where(any_last, statistic, np.nan), free
