"""Errors of strengths from paired comparisons that come in clusters, and strengths left open.

The errors are a jackknife over clusters, such as prompts: how far the estimates move without each
of them, by one step of Newton's method. It does not take the model as true, and errs to the safe
side if clusters are few. Two kinds of clusters are combined as in Cameron, Gelbach and Miller
(2011). Comparisons leave the strengths of rivals open that they do not link, or of which one wins
them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats
from ogive.stats.bradley_terry import Cells, Curvature, Ints, Problem, Strengths, grouped
from ogive.stats.linked_parts import numbered_by_size

MOST_NUMBERS = 4_000_000  # entries of the information of all clusters; beyond, leverages are used
MOST_LEVERAGE = 0.9
NEARLY = 1 - 1e-6  # share of a cluster's information that is taken out: a rival may be in no other
WIDEST = 3.0  # prior standard deviation, in logits, of strengths that the data leave open


@dataclass(frozen=True, eq=False)
class Errors:
    """Joint covariance of strengths, advantage and log tie, and how well it is known."""

    covariance: Floats  # (n_rivals + 2, n_rivals + 2)
    model: Floats  # the covariance if comparisons were independent and the model true
    freedom: Floats  # (n_rivals,): effective number of clusters less one, at least 1
    clusters: Floats  # (n_rivals,): number of clusters in which each was compared


def errors_of(problem: Problem, params: Strengths, clusters: list[Ints]) -> Errors:
    """Return errors by a jackknife over clusters; without clusters, over single comparisons."""
    kinds = clusters or [np.arange(problem.cells.cell.size)]
    jackknife = _Jackknife.of(problem, params)
    covariance = np.zeros_like(jackknife.inverse)
    for k in range(1, 2 ** len(kinds)):
        chosen = [kind for i, kind in enumerate(kinds) if k >> i & 1]
        covariance += (-1.0) ** (len(chosen) - 1) * jackknife.over(_crossed(chosen))
    numbers = [_effective_clusters(problem, kind) for kind in kinds]
    freedom, count = (np.minimum.reduce(each) for each in zip(*numbers, strict=True))
    if len(kinds) > 1 and not np.isnan(covariance).any():
        # A difference of covariances may have negative parts.
        values, vectors = np.linalg.eigh(covariance)
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return Errors(covariance, jackknife.inverse, np.maximum(freedom - 1.0, 1.0), count)


@dataclass(frozen=True, eq=False)
class _Jackknife:
    """Gradient and information of every single comparison at the estimates."""

    problem: Problem
    params: Strengths
    curve: Curvature
    inverse: Floats  # of the information, over what is estimated
    by_lean: Floats  # (n_battles,), as all that follow: gradient of its log-probability
    by_tie: Floats
    in_lean: Floats  # information about the lean
    mixed: Floats
    in_tie: Floats

    @classmethod
    def of(cls, problem: Problem, params: Strengths) -> _Jackknife:
        cells, cell = problem.cells, problem.cells.cell
        curve = Curvature.at(params, cells, problem.penalty)
        won, tied, lost = (x[cell] for x in params.chances(params.lean(cells)))
        edge = (won - lost) / 2
        even = (cells.score == 0.5) & cells.tied.any()
        return cls(
            problem,
            params,
            curve,
            problem.inverse(curve.information),
            by_lean=cells.score - 0.5 - edge,
            by_tie=even - tied,
            in_lean=(won + lost) / 4 - edge**2,
            mixed=-tied * edge,
            in_tie=tied * (1 - tied),
        )

    def over(self, cluster: Ints) -> Floats:
        """Return covariance by leaving out one cluster at a time; NaN if there is only one."""
        n, width = int(cluster.max()) + 1, self.inverse.shape[0]
        if n < 2:
            return np.full_like(self.inverse, np.nan)
        if n * width**2 <= MOST_NUMBERS and not self.params.spread:
            slopes = self._slopes(cluster, n, np.ones_like(self.by_lean)).toarray()
            try:
                moved = self._moved_without(slopes, self._informations(cluster, n))
            except np.linalg.LinAlgError:  # without one of them, a strength is left open
                return np.full_like(self.inverse, np.nan)
            spread = moved.T @ moved
        else:  # by the leverage of each comparison
            sparse = self._slopes(cluster, n, 1 / (1 - self._leverages()))
            spread = self.inverse @ (sparse.T @ sparse).toarray() @ self.inverse
        return np.asarray((n - 1) / n * spread)

    def _slopes(self, cluster: Ints, n: int, weight: Floats) -> Any:
        """Return gradients of clusters in strengths, advantage and log tie: sparse.

        They are (n_clusters, width), and 0 in what is not estimated.
        """
        from scipy.sparse import csr_array

        cells, params, curve = self.problem.cells, self.params, self.curve
        rows, by_lean, cell = grouped(cluster, n).T, weight * self.by_lean, cells.cell
        slope = np.exp(params.log_discrimination)[cells.group]
        derivatives = [x[cell] for x in (slope, -slope, np.ones_like(slope))]
        values = [*(by_lean * derivative for derivative in derivatives), self.by_tie]
        ends = [cells.first[cell], cells.second[cell]]
        width, size = self.inverse.shape[0], cell.size
        columns = np.stack([*ends, *(np.full(size, width - k) for k in (2, 1))], axis=1)
        entries = np.stack(values, axis=1) * self.problem.free[columns]
        shape, starts = (size, width), 4 * np.arange(size + 1)
        slopes = rows @ csr_array((entries.reshape(-1), columns.reshape(-1), starts), shape=shape)
        if not params.spread:
            return slopes
        group = cells.group[cell]
        prior = params.log_discrimination / params.spread**2
        prior = prior / np.maximum(np.bincount(group, minlength=cells.n_groups), 1)
        turn = (params.lean(cells) - params.advantage)[cell]
        own = by_lean * turn - prior[group]
        by_group = rows @ grouped(group, cells.n_groups).multiply(own[:, None])
        return slopes - csr_array(by_group @ curve.pull.T * self.problem.free)

    def _leverages(self) -> Floats:
        cells, v = self.problem.cells, self.inverse
        i, j, k = cells.first, cells.second, cells.n_rivals
        slope = np.exp(self.params.log_discrimination)[cells.group]
        variance = slope**2 * (v[i, i] + v[j, j] - 2 * v[i, j])
        variance = variance + 2 * slope * (v[i, k] - v[j, k]) + v[k, k]
        return np.asarray(np.minimum(self.in_lean * variance[cells.cell], MOST_LEVERAGE))

    def _informations(self, cluster: Ints, n: int) -> Floats:
        """Return information of each cluster, (n_clusters, width, width)."""
        cells, width = self.problem.cells, self.inverse.shape[0]
        slope = np.exp(self.params.log_discrimination)[cells.group]
        ends = (cells.first, cells.second, np.full_like(cells.first, width - 2))
        derivatives = [x[cells.cell] for x in (slope, -slope, np.ones_like(slope))]
        columns = [x[cells.cell] for x in ends]
        entries: list[tuple[Any, Any, Floats]] = [(width - 1, width - 1, self.in_tie)]
        for a, one in zip(columns, derivatives, strict=True):
            entries += [(a, width - 1, self.mixed * one), (width - 1, a, self.mixed * one)]
            entries += [
                (a, b, self.in_lean * one * other)
                for b, other in zip(columns, derivatives, strict=True)
            ]
        total = np.zeros(n * width**2)
        for row, column, value in entries:
            total += np.bincount((cluster * width + row) * width + column, value, total.size)
        return total.reshape(n, width, width)

    def _moved_without(self, slopes: Floats, informations: Floats) -> Floats:
        """Return how far the estimates move if each cluster is left out."""
        free = np.flatnonzero(self.problem.free)
        rest = self.problem.anchored(self.curve.information - NEARLY * informations)
        moved = np.zeros_like(slopes)
        inner = rest[:, free[:, None], free]
        moved[:, free] = np.linalg.solve(inner, slopes[:, free, None])[..., 0]
        return moved


def _crossed(kinds: list[Ints]) -> Ints:
    """Return clusters of comparisons that are in the same cluster of every kind."""
    code = kinds[0]
    for kind in kinds[1:]:
        code = np.unique(code * (int(kind.max()) + 1) + kind, return_inverse=True)[1]
    return code


def _effective_clusters(problem: Problem, cluster: Ints) -> tuple[Floats, Floats]:
    """Return for each rival the effective number of clusters, and the number.

    Clusters count by their size: a large one among small ones is nearly alone.
    """
    cells, m = problem.cells, problem.cells.n_rivals
    rivals = np.r_[cells.first[cells.cell], cells.second[cells.cell]]
    n_clusters = int(cluster.max()) + 1
    pairs, count = np.unique(rivals * n_clusters + np.r_[cluster, cluster], return_counts=True)
    rival = pairs // n_clusters
    total, square = np.bincount(rival, count, m), np.bincount(rival, count**2.0, m)
    return total**2 / square, np.bincount(rival, minlength=m).astype(float)


def connected_rivals(cells: Cells) -> tuple[Ints, Ints]:
    """Return the connected part of each rival, and its strongly connected one.

    Strengths are finite and their differences identified only within one of the latter, where no
    rival wins all comparisons with the rest (Ford, 1957).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = cells.n_rivals
    wins, losses = cells.won + cells.tied > 0, cells.lost + cells.tied > 0
    rows = np.r_[cells.first[wins], cells.second[losses]]
    columns = np.r_[cells.second[wins], cells.first[losses]]
    graph = coo_array((np.ones(rows.size), (rows, columns)), shape=(m, m)).tocsr()
    part = connected_components(graph, directed=False)[1]
    strong = connected_components(graph, connection="strong")[1]
    return numbered_by_size(part, np.bincount(part)), numbered_by_size(strong, np.bincount(strong))


def ties_explain_all(cells: Cells) -> bool:
    """Return True if strengths and the tie parameter may grow together without end.

    So it is if there are strengths by which every winner is ahead by one or more, and no two that
    tie differ by more than one: differences without a negative cycle (Bellman and Ford).
    """
    m = cells.n_rivals
    won, lost, tied = (x > 0 for x in (cells.won, cells.lost, cells.tied))
    if not tied.any():
        return False
    winners = np.r_[cells.first[won], cells.second[lost]]
    losers = np.r_[cells.second[won], cells.first[lost]]
    sides = (cells.first[tied], cells.second[tied])
    begin, end = np.r_[winners, sides[0], sides[1]], np.r_[losers, sides[1], sides[0]]
    length = np.r_[np.full(winners.size, -1.0), np.ones(2 * int(tied.sum()))]
    distance = np.zeros(m)
    for _ in range(m + 1):
        new = distance.copy()
        np.minimum.at(new, end, distance[begin] + length)
        if (new == distance).all():
            return True
        distance = new
    return False


def prior_of(part: Ints, strong: Ints, *, whole: bool = False) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the precision of the prior that open strengths need, and which strengths are open.

    Open strengths are shrunk to the mean of the largest set of rivals that beat each other, or if
    there is none, or with `whole`, all to the mean of all.
    """
    n = part.size
    penalty, open_ = np.zeros((n, n)), np.zeros(n, dtype=bool)
    strong = np.arange(n) if whole else strong
    for k in range(int(part.max()) + 1):
        rivals = np.flatnonzero(part == k)
        kinds, size = np.unique(strong[rivals], return_counts=True)
        if kinds.size == 1:
            continue
        if size.max() == 1:
            main = shrunk = np.ones(rivals.size, dtype=bool)
        else:
            main = strong[rivals] == kinds[np.argmax(size)]
            shrunk = ~main
        from_mean = (np.eye(rivals.size) - main / main.sum())[shrunk]
        penalty[np.ix_(rivals, rivals)] += from_mean.T @ from_mean / WIDEST**2
        open_[rivals[shrunk]] = True
    return penalty, open_
