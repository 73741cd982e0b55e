"""Clustered jackknife; what comparisons link.

Errors of strengths from comparisons in pairs that come in clusters, such as those of one prompt.

A jackknife over clusters: how far the estimates move without each of them, by one step of Newton's
method. It does not take the model as true, and errs to the safe side where clusters are few. Two
kinds of clusters are combined as in Cameron, Gelbach and Miller (2011).

Which rivals the comparisons in pairs link, and whose strength they leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats
from ogive.stats.bradley_terry import Cells, Curvature, Ints, Problem, Strengths, grouped

MOST_NUMBERS = 4_000_000  # in the informations of all clusters; beyond, leverages have to do
MOST_LEVERAGE = 0.9
NEARLY = 1 - 1e-6  # of a cluster's information is taken out: a rival may be in no other


@dataclass(frozen=True, eq=False)
class Errors:
    """Joint covariance of strengths, advantage and log tie, and how well it is known."""

    covariance: Floats  # (n_rivals + 2, n_rivals + 2)
    model: Floats  # the same, were comparisons independent and the model true
    freedom: Floats  # (n_rivals,): effective number of clusters less one, at least 1
    clusters: Floats  # (n_rivals,): in how many clusters each was compared


def errors_of(problem: Problem, found: Strengths, clusters: list[Ints]) -> Errors:
    """Return by a jackknife over clusters; without clusters, over single comparisons."""
    kinds = clusters or [np.arange(problem.cells.place.size)]
    jackknife = _Jackknife.of(problem, found)
    covariance = np.zeros_like(jackknife.inverse)
    for k in range(1, 2 ** len(kinds)):
        chosen = [each for i, each in enumerate(kinds) if k >> i & 1]
        covariance += (-1.0) ** (len(chosen) - 1) * jackknife.over(crossed(chosen))
    seen = [_effective(problem, each) for each in kinds]
    freedom, count = (np.minimum.reduce(each) for each in zip(*seen, strict=True))
    return Errors(
        covariance if len(kinds) == 1 else _positive(covariance),
        jackknife.inverse,
        np.maximum(freedom - 1.0, 1.0),
        count,
    )


@dataclass(frozen=True, eq=False)
class _Jackknife:
    """Slopes and information of every single comparison at the estimates."""

    problem: Problem
    found: Strengths
    curve: Curvature
    inverse: Floats  # of the information, over what is estimated
    by_lean: Floats  # (n_battles,), as all that follow: slope of its log-probability
    by_tie: Floats
    bend: Floats  # information about the lean
    mixed: Floats
    bend_tie: Floats

    @classmethod
    def of(cls, problem: Problem, found: Strengths) -> _Jackknife:
        cells, place = problem.cells, problem.cells.place
        curve = Curvature.at(found, cells, problem.penalty)
        won, tied, lost = (x[place] for x in found.chances(found.lean(cells)))
        edge = (won - lost) / 2
        even = (cells.score == 0.5) & cells.tied.any()
        return cls(
            problem,
            found,
            curve,
            problem.inverse(curve.information),
            by_lean=cells.score - 0.5 - edge,
            by_tie=even - tied,
            bend=(won + lost) / 4 - edge**2,
            mixed=-tied * edge,
            bend_tie=tied * (1 - tied),
        )

    def over(self, cluster: Ints) -> Floats:
        """Return covariance by leaving out one cluster at a time; NaN if one is all."""
        n, width = int(cluster.max()) + 1, self.inverse.shape[0]
        if n < 2:
            return np.full_like(self.inverse, np.nan)
        if n * width**2 <= MOST_NUMBERS and not self.found.spread:
            slopes = self._slopes(cluster, n, np.ones_like(self.by_lean)).toarray()
            try:
                moved = self._without(slopes, self._informations(cluster, n))
            except np.linalg.LinAlgError:  # without one of them, something is left open
                return np.full_like(self.inverse, np.nan)
            spread = moved.T @ moved
        else:  # by the weight that each comparison has alone
            sparse = self._slopes(cluster, n, 1 / (1 - self._leverages()))
            spread = self.inverse @ (sparse.T @ sparse).toarray() @ self.inverse
        found: Floats = (n - 1) / n * spread
        return found

    def _slopes(self, cluster: Ints, n: int, weight: Floats) -> Any:
        """Slope of each cluster in strengths, advantage and log tie: sparse, (n_clusters, width).

        What is not estimated has none.
        """
        from scipy.sparse import csr_array

        cells, found, curve = self.problem.cells, self.found, self.curve
        rows, by_lean, place = grouped(cluster, n).T, weight * self.by_lean, cells.place
        slope = np.exp(found.log_discrimination)[cells.group]
        rises = [x[place] for x in (slope, -slope, np.ones_like(slope))]
        values = [*(by_lean * rise for rise in rises), self.by_tie]
        ends = [cells.first[place], cells.second[place]]
        width, size = self.inverse.shape[0], place.size
        columns = np.stack([*ends, *(np.full(size, width - k) for k in (2, 1))], axis=1)
        entries = np.stack(values, axis=1) * self.problem.free[columns]
        shape, starts = (size, width), 4 * np.arange(size + 1)
        slopes = rows @ csr_array((entries.reshape(-1), columns.reshape(-1), starts), shape=shape)
        if not found.spread:
            return slopes
        group = cells.group[place]
        prior = found.log_discrimination / found.spread**2
        prior = prior / np.maximum(np.bincount(group, minlength=cells.n_groups), 1)
        turn = (found.lean(cells) - found.advantage)[place]
        own = by_lean * turn - prior[group]
        by_group = rows @ grouped(group, cells.n_groups).multiply(own[:, None])
        return slopes - csr_array(by_group @ curve.pull.T * self.problem.free)

    def _leverages(self) -> Floats:
        cells, v = self.problem.cells, self.inverse
        i, j, k = cells.first, cells.second, cells.n_rivals
        slope = np.exp(self.found.log_discrimination)[cells.group]
        apart = slope**2 * (v[i, i] + v[j, j] - 2 * v[i, j])
        reach = apart + 2 * slope * (v[i, k] - v[j, k]) + v[k, k]
        found: Floats = np.minimum(self.bend * reach[cells.place], MOST_LEVERAGE)
        return found

    def _informations(self, cluster: Ints, n: int) -> Floats:
        """Return information of each cluster, (n_clusters, width, width)."""
        cells, width = self.problem.cells, self.inverse.shape[0]
        slope = np.exp(self.found.log_discrimination)[cells.group]
        ends = (cells.first, cells.second, np.full_like(cells.first, width - 2))
        rises = [x[cells.place] for x in (slope, -slope, np.ones_like(slope))]
        places = [x[cells.place] for x in ends]
        entries: list[tuple[Any, Any, Floats]] = [(width - 1, width - 1, self.bend_tie)]
        for a, rise in zip(places, rises, strict=True):
            entries += [(a, width - 1, self.mixed * rise), (width - 1, a, self.mixed * rise)]
            entries += [
                (a, b, self.bend * rise * other) for b, other in zip(places, rises, strict=True)
            ]
        found = np.zeros(n * width**2)
        for row, column, value in entries:
            found += np.bincount((cluster * width + row) * width + column, value, found.size)
        return found.reshape(n, width, width)

    def _without(self, slopes: Floats, informations: Floats) -> Floats:
        """Return how far the estimates move if each cluster is left out."""
        free = np.flatnonzero(self.problem.free)
        rest = self.problem.anchored(self.curve.information - NEARLY * informations)
        inner = rest[:, free[:, None], free]
        moved = np.zeros_like(slopes)
        moved[:, free] = np.linalg.solve(inner, slopes[:, free, None])[..., 0]
        return moved


def crossed(kinds: list[Ints]) -> Ints:
    """Return clusters of comparisons that are in the same cluster of every kind."""
    code = kinds[0]
    for each in kinds[1:]:
        code = np.unique(code * (int(each.max()) + 1) + each, return_inverse=True)[1]
    return code


def _positive(matrix: Floats) -> Floats:
    """Return without the negative parts that a difference of covariances may have."""
    if np.isnan(matrix).any():
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


def _effective(problem: Problem, cluster: Ints) -> tuple[Floats, Floats]:
    """Of each rival, the effective number of clusters by its comparisons in each, and the number.

    Clusters count by their size: a large one among small ones is nearly alone.
    """
    cells, m = problem.cells, problem.cells.n_rivals
    both = np.r_[cells.first[cells.place], cells.second[cells.place]]
    code = both * (int(cluster.max()) + 1) + np.r_[cluster, cluster]
    kinds, count = np.unique(code, return_counts=True)
    rival = kinds // (int(cluster.max()) + 1)
    total, square = np.bincount(rival, count, m), np.bincount(rival, count**2.0, m)
    return total**2 / square, np.bincount(rival, minlength=m).astype(float)


WIDEST = 3.0  # standard deviation, in logits, of the prior where data leave a strength open


def always_ahead(cells: Cells) -> tuple[Ints, Ints]:
    """Return the connected part of each rival, and its strongly connected one.

    Strengths are finite and their differences identified only within one of the latter, where
    nobody wins all comparisons with the rest (Ford, 1957).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = cells.n_rivals
    wins, losses = cells.won + cells.tied > 0, cells.lost + cells.tied > 0
    rows = np.r_[cells.first[wins], cells.second[losses]]
    columns = np.r_[cells.second[wins], cells.first[losses]]
    graph = coo_array((np.ones(rows.size), (rows, columns)), shape=(m, m)).tocsr()
    part = by_size(connected_components(graph, directed=False)[1])
    return part, by_size(connected_components(graph, connection="strong")[1])


def ties_explain_all(cells: Cells) -> bool:
    """Return True if strengths and ties may grow together without end.

    So it is if strengths exist by which every winner is ahead by one or more, and no two that tie
    are further apart than one: differences without a negative cycle (Bellman and Ford).
    """
    m = cells.n_rivals
    won, lost, tied = (x > 0 for x in (cells.won, cells.lost, cells.tied))
    if not tied.any():
        return False
    above = np.r_[cells.first[won], cells.second[lost]]
    below = np.r_[cells.second[won], cells.first[lost]]
    sides = (cells.first[tied], cells.second[tied])
    begin, end = np.r_[above, sides[0], sides[1]], np.r_[below, sides[1], sides[0]]
    length = np.r_[np.full(above.size, -1.0), np.ones(2 * int(tied.sum()))]
    reached = np.zeros(m)
    for _ in range(m + 1):
        new = reached.copy()
        np.minimum.at(new, end, reached[begin] + length)
        if (new == reached).all():
            return True
        reached = new
    return False


def by_size(label: NDArray[np.int32]) -> Ints:
    """Return labels numbered by size, the largest 0."""
    size = np.bincount(label)
    place = np.empty(size.size, dtype=np.intp)
    place[np.argsort(-size, kind="stable")] = np.arange(size.size)
    found: Ints = place[label]
    return found


def prior_of(part: Ints, strong: Ints, *, whole: bool = False) -> tuple[Floats, NDArray[np.bool_]]:
    """Return precision of the prior that open strengths need, and which strengths are open.

    They are drawn to the mean of the largest set of rivals that beat each other, or where there is
    none, or with `whole`, all to the mean of all.
    """
    n = part.size
    penalty, open_ = np.zeros((n, n)), np.zeros(n, dtype=bool)
    strong = np.arange(n) if whole else strong
    for k in range(int(part.max()) + 1):
        mine = np.flatnonzero(part == k)
        kinds, size = np.unique(strong[mine], return_counts=True)
        if kinds.size == 1:
            continue
        main = strong[mine] == kinds[np.argmax(size)]
        if size.max() == 1:
            main = np.ones(mine.size, dtype=bool)
            drawn = main
        else:
            drawn = ~main
        away = (np.eye(mine.size) - main / main.sum())[drawn]
        penalty[np.ix_(mine, mine)] += away.T @ away / WIDEST**2
        open_[mine[drawn]] = True
    return penalty, open_
