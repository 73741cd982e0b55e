"""Choosers: ways to choose the items that represent a whole benchmark.

Anchor points are those of tinyBenchmarks (Maia Polo et al., 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ogive.irt.calibration import Calibration
from ogive.irt.replay_error import item_curves, score_edges
from ogive.stats.array_backend import Floats

WORTH = 1000.0  # weight of the measurement model, as a number of respondents
MOST_EXCHANGED = 100  # items; beyond, exchanges take longer than they are worth
PASSES = 5
NODES, REACH = 81, 4.0
STARTS = 3  # random starts of k-means
TINY = 1e-9
DIGITS = 4  # decimals of the parameters that items are clustered by

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The items that may be chosen, and the responses to them."""

    bank: Calibration
    cells: Floats  # (n_respondents, n_items), no gaps
    groups: tuple[str, ...] | None = None  # of each item; each group gets its share

    @property
    def rooms(self) -> tuple[Floats, Floats]:
        """What the worst respondents have to lose on each item, and the best have to gain.

        Both are shares of what the item can give.
        """
        shares, score = item_shares(self.bank, self.cells), self.cells.mean(axis=1)
        low, high = (float(np.mean(end)) for end in self.bank.model.extent())
        score = (score - low) / (high - low)
        worst, best = item_curves(shares, score, score_edges(score))
        return worst, 1 - best

    def part(self, places: Places) -> Candidates:
        """Return some of the items, as one group."""
        names = [self.bank.item_names[k] for k in places]
        return replace(
            self, bank=self.bank.of_items(names), cells=self.cells[:, places], groups=None
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """Items by position, and the share of the benchmark that each represents."""

    places: Places
    weights: Floats


class Chooser(Protocol):
    """Chooses `size` items."""

    def __call__(self, candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
        """Return the choice."""


def information(candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
    """Return items that together leave the least variance of the score on all items.

    The covariance of items is the observed one, shrunk towards the one that the measurement model
    implies, so that chance patterns among few respondents do not count. Items are added greedily,
    then exchanged while that helps. Items that all respondents solve say nothing of stronger ones,
    so some are exchanged until the best have as much left to gain, and the worst as much to lose,
    as on all items.
    """
    del random
    covariance = _Covariance(candidates)
    free = _Quota(candidates.groups, size, len(candidates.bank.item_names))
    chosen = _greedy(covariance, size, free)
    if size <= MOST_EXCHANGED:
        chosen = _exchanged(covariance, chosen, candidates.groups)
    worst, best = candidates.rooms
    chosen = _with_room(covariance, chosen, worst, best, candidates.groups)
    chosen = _with_room(covariance, chosen, best, worst, candidates.groups)
    places = np.array(chosen, dtype=np.intp)
    return Choice(places, _nearest_shares(candidates.cells, places))


def anchors(candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
    """Return one item for each cluster of items that the same respondents solve."""
    return _by_group(candidates, size, lambda part, n: _clustered(part.cells.T.copy(), n, random))


def irt_anchors(candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
    """Return one item for each cluster of items with similar parameters."""
    return _by_group(candidates, size, lambda part, n: _clustered(part.bank.coords, n, random))


def stratified(candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
    """Return the most discriminating item of each of `size` layers of difficulty."""
    del random
    return _by_group(candidates, size, _layered)


def at_random(candidates: Candidates, size: int, random: np.random.Generator) -> Choice:
    """Return items chosen at random."""

    def drawn(part: Candidates, n: int) -> Choice:
        places = np.sort(random.choice(part.cells.shape[1], n, replace=False)).astype(np.intp)
        return Choice(places, np.full(n, 1.0 / n))

    return _by_group(candidates, size, drawn)


CHOOSERS: dict[str, Chooser] = {
    "information": information,
    "anchors": anchors,
    "irt_anchors": irt_anchors,
    "stratified": stratified,
    "random": at_random,
}


def item_shares(bank: Calibration, cells: Floats) -> Floats:
    """Return responses to the items of a bank between 0, the worst, and 1, the best."""
    low, high = (np.asarray(end, dtype=float) for end in bank.model.extent())
    found: Floats = (cells - low) / (high - low)
    return found


class _Covariance:
    """Covariance of items, computed by column: the whole matrix may not fit in memory."""

    def __init__(self, candidates: Candidates) -> None:
        bank, cells = candidates.bank, candidates.cells
        n = len(cells)
        trust = WORTH / (n + WORTH)
        abilities = np.linspace(*bank.population.reach(REACH), NODES)
        mass = np.exp(bank.population.log_density(abilities))
        mass /= mass.sum()
        expected = bank.model.expected(bank.coords, abilities)
        implied = np.sqrt(trust * mass)[:, None] * (expected - (expected @ mass)[:, None]).T
        observed = np.sqrt((1 - trust) / max(n - 1, 1)) * (cells - cells.mean(axis=0))
        self.factor = np.concatenate([observed, implied])
        self.noise = trust * (bank.model.variance(bank.coords, abilities) @ mass)
        self.n_items = cells.shape[1]
        self.variance = np.einsum("ij,ij->j", self.factor, self.factor) + self.noise
        self.with_score = (self.factor.T @ self.factor.sum(axis=1) + self.noise) / self.n_items
        self._columns: dict[int, Floats] = {}

    def column(self, item: int) -> Floats:
        """Return covariance of one item with all items."""
        if item not in self._columns:
            found = self.factor.T @ self.factor[:, item]
            found[item] += self.noise[item]
            self._columns[item] = found
        return self._columns[item]


def _greedy(covariance: _Covariance, size: int, free: _Quota) -> list[int]:
    """Add the item that explains most of the remaining variance of the score, step by step.

    The remaining variance comes from a partial Cholesky decomposition.
    """
    variance, score = covariance.variance.copy(), covariance.with_score.copy()
    floor = TINY * max(float(variance.max()), TINY)
    steps = np.zeros((size, covariance.n_items))
    chosen: list[int] = []
    for k in range(size):
        gain = np.where(variance > floor, score**2 / np.maximum(variance, floor), 0.0)
        best = int(np.where(free.mask, gain, -1.0).argmax())
        left = covariance.column(best) - steps[:k].T @ steps[:k, best]
        steps[k] = left / np.sqrt(max(float(variance[best]), floor))
        score -= steps[k] * (score[best] / np.sqrt(max(float(variance[best]), floor)))
        variance = np.maximum(variance - steps[k] ** 2, 0.0)
        chosen.append(best)
        free.take(best)
    return chosen


def _exchanged(
    covariance: _Covariance, chosen: list[int], groups: tuple[str, ...] | None
) -> list[int]:
    """Exchange each item in turn for a better one of its group, until none is better."""
    of_group = None if groups is None else np.array(groups)
    for _ in range(PASSES):
        before = list(chosen)
        for k, item in enumerate(chosen):
            gain = _gains(covariance, [other for other in chosen if other != item])
            if of_group is not None:
                gain[of_group != of_group[item]] = -1.0
            best = int(gain.argmax())
            if gain[best] > gain[item] * (1 + TINY):
                chosen[k] = best
        if chosen == before:
            break
    return chosen


def _with_room(
    covariance: _Covariance,
    chosen: list[int],
    room: Floats,
    other: Floats,
    groups: tuple[str, ...] | None,
) -> list[int]:
    """Exchange items until their mean `room` is that of all items, at the least loss.

    The `other` room is kept, if possible.
    """
    of_group = None if groups is None else np.array(groups)
    wanted, kept = (len(chosen) * float(each.mean()) for each in (room, other))
    for _ in chosen:
        lack = wanted - float(room[chosen].sum())
        if lack <= TINY:
            break
        more, less = (each[None, :] - each[chosen][:, None] for each in (room, other))
        change = _gains(covariance, chosen) - _losses(covariance, chosen)[:, None]
        change[more < min(lack, 0.5 * float(more.max()))] = -np.inf
        change[:, chosen] = -np.inf
        if of_group is not None:
            change[of_group[chosen][:, None] != of_group] = -np.inf
        have = float(other[chosen].sum())
        polite = np.where(have + less >= min(have, kept) - TINY, change, -np.inf)
        change = polite if np.isfinite(polite).any() else change
        out, into = np.unravel_index(int(change.argmax()), change.shape)
        if not np.isfinite(change[out, into]) or more[out, into] <= TINY:
            break
        chosen = [*chosen[:out], int(into), *chosen[out + 1 :]]
    return chosen


def _losses(covariance: _Covariance, chosen: list[int]) -> Floats:
    """Return the variance left unexplained without each of the chosen items."""
    inner = np.stack([covariance.column(item)[chosen] for item in chosen])
    inverse = np.linalg.pinv(inner + TINY * np.eye(len(chosen)))
    weights = inverse @ covariance.with_score[chosen]
    found: Floats = weights**2 / np.maximum(np.diag(inverse), TINY)
    return found


def _gains(covariance: _Covariance, base: list[int]) -> Floats:
    """Return the variance that each further item would explain, given those of `base`."""
    if not base:
        alone: Floats = covariance.with_score**2 / np.maximum(covariance.variance, TINY)
        return alone
    columns = np.stack([covariance.column(item) for item in base])
    inner = columns[:, base] + TINY * np.eye(len(base))
    weights = np.linalg.solve(inner, columns)
    variance = covariance.variance - np.einsum("ij,ij->j", columns, weights)
    score = covariance.with_score - covariance.with_score[base] @ weights
    gain: Floats = np.where(variance > TINY, score**2 / np.maximum(variance, TINY), 0.0)
    gain[base] = -1.0
    return gain


def _nearest_shares(cells: Floats, places: Places) -> Floats:
    """Return share of all items whose responses are closest to those of each chosen item."""
    chosen = cells[:, places]
    distance = (chosen**2).sum(axis=0) - 2 * cells.T @ chosen
    counts = np.bincount(distance.argmin(axis=1), minlength=len(places))
    return np.asarray(counts / cells.shape[1])


def _clustered(points: Floats, size: int, random: np.random.Generator) -> Choice:
    """Return the point nearest the centre of each k-means cluster, weighted by its share.

    If there are fewer distinct points than clusters, copies with weight 0 make up the number.
    """
    from sklearn.cluster import KMeans

    seed = int(random.integers(2**31))
    points = np.round(points, DIGITS)  # items with the same responses differ by rounding only
    distinct = min(size, len(np.unique(points, axis=0)))  # more clusters would be empty
    found = KMeans(distinct, n_init=STARTS, random_state=seed).fit(points)
    weight = np.zeros(len(points))
    distance = found.transform(points)
    for cluster in range(distinct):
        members = np.flatnonzero(found.labels_ == cluster)
        if members.size:
            weight[members[distance[members, cluster].argmin()]] = members.size / len(points)
    places = np.sort(np.argsort(-weight, kind="stable")[:size])
    return Choice(places, weight[places])


def _layered(part: Candidates, size: int) -> Choice:
    """Return one item from each layer of difficulty, by the share that solves it."""
    slope = np.abs(part.bank.model.parameters(part.bank.coords)["discrimination"])
    layers = np.array_split(np.argsort(part.cells.mean(axis=0), kind="stable"), size)
    places = np.array([layer[slope[layer].argmax()] for layer in layers], dtype=np.intp)
    return Choice(places, np.array([len(layer) for layer in layers]) / len(slope))


def _by_group(
    candidates: Candidates, size: int, choose: Callable[[Candidates, int], Choice]
) -> Choice:
    """Choose within each group; groups are weighted by their number of items."""
    if candidates.groups is None:
        return choose(candidates, size)
    names = np.array(candidates.groups)
    places, weights = [], []
    for name, count in shares(candidates.groups, size).items():
        if count:
            inside = np.flatnonzero(names == name)
            found = choose(candidates.part(inside), count)
            places.append(inside[found.places])
            weights.append(found.weights * len(inside))
    found_weights = np.concatenate(weights)
    return Choice(np.concatenate(places), found_weights / found_weights.sum())


def shares(groups: Sequence[str], size: int) -> dict[str, int]:
    """Divide `size` items among groups in proportion, largest remainders first.

    >>> shares(["sums"] * 6 + ["verbs"] * 3, 4)
    {'sums': 3, 'verbs': 1}
    """
    names, counts = np.unique(np.array(groups), return_counts=True)
    exact = size * counts / counts.sum()
    whole = np.floor(exact).astype(int)
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[: size - whole.sum()]] += 1
    return {str(name): int(count) for name, count in zip(names, whole, strict=True)}


class _Quota:
    """Items that may still be taken: each once, and no more from a group than its share."""

    def __init__(self, groups: tuple[str, ...] | None, size: int, n_items: int) -> None:
        self.mask = np.ones(n_items, dtype=bool)
        self._groups = None if groups is None else np.array(groups)
        self._left = {} if groups is None else shares(groups, size)
        for name, count in self._left.items():
            self.mask[self._groups == name] = count > 0

    def take(self, item: int) -> None:
        """Take one item; with the last of its share, the rest of its group is closed."""
        self.mask[item] = False
        if self._groups is not None:
            name = str(self._groups[item])
            self._left[name] -= 1
            if self._left[name] == 0:
                self.mask[self._groups == name] = False
