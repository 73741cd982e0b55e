"""Strengths from comparisons in pairs: Bradley and Terry (1952), with the ties of Davidson (1970).

With d = strength of the first minus strength of the second, a win, a loss and a tie have
probabilities in the ratio exp(d/2) : exp(-d/2) : tie. Comparisons may come in groups that separate
the strong from the weak more or less clearly (d is multiplied by a discrimination), and the first
of the two may have an advantage, which is added to d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats

Ints = NDArray[np.intp]

MOST_STEPS = 60
CLOSE = 1e-10  # step of a parameter at which Newton's method ends
RATIO = 1.9207  # half the 95 % quantile of chi-squared with one degree of freedom
NEAR = 1e-4  # the same while the spread of discriminations is looked for
SPREADS = np.geomspace(0.03, 2.4, 12)  # standard deviations of log discriminations that are tried


@dataclass(frozen=True, eq=False)
class Cells:
    """How often each ordered pair met in each group, and how it ended."""

    n_rivals: int
    n_groups: int
    first: Ints  # (n_cells,), as all that follow
    second: Ints
    group: Ints
    won: Floats
    tied: Floats
    lost: Floats
    place: Ints  # (n_battles,): the cell of each comparison
    score: Floats  # (n_battles,): 1 if the first won, 0 if the second did, 0.5 for a tie

    @classmethod
    def of(
        cls, first: Ints, second: Ints, score: Floats, n_rivals: int, group: Ints, n_groups: int
    ) -> Cells:
        """Count comparisons; `score` is 1 if the first won, 0 if the second did, 0.5 for a tie."""
        code = (first * n_rivals + second) * n_groups + group
        kinds, place = np.unique(code, return_inverse=True)
        pair, found = np.divmod(kinds, n_groups)
        won, tied, lost = (
            np.asarray(np.bincount(place, score == x, minlength=kinds.size), dtype=np.float64)
            for x in (1.0, 0.5, 0.0)
        )
        ahead, behind = np.divmod(pair, n_rivals)
        return cls(n_rivals, n_groups, ahead, behind, found, won, tied, lost, place, score)

    @property
    def n(self) -> Floats:
        """Comparisons of each cell."""
        return self.won + self.tied + self.lost

    def halved(self) -> Cells:
        """Return the same with every tie counted as half a win and half a loss."""
        half = self.tied / 2
        return replace(self, won=self.won + half, lost=self.lost + half, tied=0.0 * half)


@dataclass(frozen=True, eq=False)
class Strengths:
    """Where the parameters stand: strengths, log of the tie parameter, advantage of the first."""

    strength: Floats  # (n_rivals,); mean 0 in each connected part
    log_tie: float  # -inf without ties
    advantage: float
    log_discrimination: Floats  # (n_groups,); zeros where groups do not differ
    spread: float  # standard deviation of the log discriminations; 0 where they are all 0

    def lean(self, cells: Cells) -> Floats:
        """Log odds that the first of each cell beats the second."""
        apart = self.strength[cells.first] - self.strength[cells.second]
        return np.exp(self.log_discrimination)[cells.group] * apart + self.advantage

    def chances(self, lean: Floats) -> tuple[Floats, Floats, Floats]:
        """Return probabilities that the first wins, of a tie, and that the second wins."""
        top = np.maximum(np.abs(lean) / 2, self.log_tie)
        parts = [np.exp(x - top) for x in (lean / 2, self.log_tie + 0 * lean, -lean / 2)]
        total = parts[0] + parts[1] + parts[2]
        return parts[0] / total, parts[1] / total, parts[2] / total

    def log_likelihood(self, cells: Cells) -> float:
        """Return log-probability of the outcomes, with the prior of the log discriminations."""
        lean = self.lean(cells)
        top = np.maximum(np.abs(lean) / 2, self.log_tie)
        total = np.exp(lean / 2 - top) + np.exp(-lean / 2 - top) + np.exp(self.log_tie - top)
        ties = float(cells.tied.sum() * self.log_tie) if cells.tied.any() else 0.0
        found = float(((cells.won - cells.lost) * lean / 2 - cells.n * (np.log(total) + top)).sum())
        pull = ((self.log_discrimination / self.spread) ** 2).sum() / 2 if self.spread else 0.0
        return found + ties - float(pull)


@dataclass(frozen=True, eq=False)
class Curvature:
    """Slopes and information of strengths, advantage and log tie, discriminations eliminated."""

    information: Floats  # (width, width)
    slope: Floats  # (width,)
    own: Floats  # (n_groups,): information of each log discrimination, with its prior
    cross: Floats  # (width, n_groups)
    own_slope: Floats  # (n_groups,)
    pull: Floats  # (width, n_groups): cross times the inverse of own

    @classmethod
    def at(cls, found: Strengths, cells: Cells, penalty: Floats) -> Curvature:
        """Return at some parameters; `penalty` is the precision of a prior of the strengths."""
        lean = found.lean(cells)
        won, tied, lost = found.chances(lean)
        edge, n = (won - lost) / 2, cells.n
        by_lean = (cells.won - cells.lost) / 2 - n * edge
        by_tie = cells.tied - n * tied
        bend = n * ((won + lost) / 4 - edge**2)
        mixed, bend_tie = -n * tied * edge, n * tied * (1 - tied)
        design = design_of(found, cells)
        m = cells.n_rivals
        information = np.zeros((m + 2, m + 2))
        information[: m + 1, : m + 1] = (design.T @ (design.multiply(bend[:, None]))).toarray()
        information[: m + 1, m + 1] = information[m + 1, : m + 1] = design.T @ mixed
        information[m + 1, m + 1] = bend_tie.sum()
        slope = np.r_[design.T @ by_lean, by_tie.sum()]
        information[:m, :m] += penalty
        slope[:m] -= penalty @ found.strength
        if not found.spread:
            nothing = np.zeros(cells.n_groups)
            none = np.zeros((m + 2, nothing.size))
            return cls(information, slope, nothing, none, nothing, none)
        turn = lean - found.advantage  # slope of the lean in the log discrimination
        own = np.asarray(np.bincount(cells.group, bend * turn**2, cells.n_groups), dtype=np.float64)
        own = own + found.spread**-2
        by_group = grouped(cells.group, cells.n_groups)
        cross = np.vstack(
            [
                (design.T @ by_group.multiply((bend * turn)[:, None])).toarray(),
                np.bincount(cells.group, mixed * turn, cells.n_groups),
            ]
        )
        own_slope = (
            np.bincount(cells.group, by_lean * turn, cells.n_groups)
            - found.log_discrimination / found.spread**2
        )
        pull = inverse_of_groups(own, cross)
        information -= pull @ cross.T
        slope -= pull @ own_slope
        return cls(information, slope, own, cross, own_slope, pull)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is estimated from which comparisons."""

    cells: Cells
    part: Ints  # (n_rivals,): the connected part of each
    penalty: Floats  # (n_rivals, n_rivals): precision of a prior of the strengths
    advantage: bool  # whether the first may have one

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which of strengths, advantage and log tie are estimated."""
        ties = bool(self.cells.tied.any())
        found: NDArray[np.bool_] = np.ones(self.cells.n_rivals + 2, dtype=bool)
        found[-2:] = self.advantage, ties
        return found

    def centred(self, strength: Floats) -> Floats:
        """Return strengths with mean 0 in each part."""
        size = np.bincount(self.part)
        found: Floats = strength - (np.bincount(self.part, strength) / size)[self.part]
        return found

    def start(self) -> Strengths:
        """Return equal strengths, and ties as often as they were."""
        cells = self.cells
        share = cells.tied.sum() / max(cells.n.sum() - cells.tied.sum(), 1.0)
        log_tie = float(np.log(2 * share)) if share else -np.inf
        nothing = np.zeros(cells.n_groups)
        return Strengths(np.zeros(cells.n_rivals), log_tie, 0.0, nothing, 0.0)

    def value(self, found: Strengths) -> float:
        """Return what is climbed."""
        pull = found.strength @ self.penalty @ found.strength / 2
        return found.log_likelihood(self.cells) - float(pull)

    def anchored(self, information: Floats) -> Floats:
        """Return information, of one or more, with the mean of each part held fixed."""
        m, size = self.cells.n_rivals, np.bincount(self.part)
        same = (self.part[:, None] == self.part) / size[self.part]
        fixed = information.copy()
        fixed[..., :m, :m] += same
        return fixed

    def inverse(self, information: Floats) -> Floats:
        """Inverse over what is estimated, zeros elsewhere; strengths have mean 0 in each part."""
        free, m = np.flatnonzero(self.free), self.cells.n_rivals
        found = np.zeros_like(information)
        inner = np.ix_(free, free)
        found[inner] = np.linalg.inv(self.anchored(information)[inner])
        found[:m, :m] -= (self.part[:, None] == self.part) / np.bincount(self.part)[self.part]
        return found

    def identified(self) -> bool:
        """Return True if the battles determine all that is estimated, infinite strengths aside."""
        start = self.start()
        whole = self.anchored(Curvature.at(start, self.cells, self.penalty).information)
        free = np.flatnonzero(self.free)
        scale = 1 / np.sqrt(np.maximum(np.diag(whole)[free], 1e-300))
        inner = whole[np.ix_(free, free)] * scale * scale[:, None]
        return bool(np.linalg.eigvalsh(inner)[0] > 1e-9)

    def climb(self, begin: Strengths, close: float = CLOSE) -> tuple[Strengths, bool]:
        """Return Newton's method with halved steps; whether it came to rest."""
        found, value = begin, self.value(begin)
        for _ in range(MOST_STEPS):
            curve = Curvature.at(found, self.cells, self.penalty)
            try:
                step = self._step(curve)
            except np.linalg.LinAlgError:
                return found, False
            own = np.zeros(self.cells.n_groups)
            if found.spread:
                own = inverse_of_groups(curve.own, curve.own_slope - curve.cross.T @ step)
            longest = max(np.abs(step).max(), np.abs(own).max(initial=0.0))
            size = min(1.0, 4.0 / max(longest, 1e-300))
            while True:
                new = self._moved(found, size * step, size * own)
                risen = self.value(new)
                if risen >= value - 1e-9 * abs(value) or size < 1e-6:
                    break
                size /= 2
            found, value = new, risen
            if longest < close:
                return found, True
            if np.abs(found.strength).max() > 40:
                return found, False
        return found, longest < 1e-6

    def _step(self, curve: Curvature) -> Floats:
        free = np.flatnonzero(self.free)
        inner = self.anchored(curve.information)[np.ix_(free, free)]
        found = np.zeros_like(curve.slope)
        found[free] = np.linalg.solve(inner, curve.slope[free])
        return found

    def _moved(self, found: Strengths, step: Floats, own: Floats) -> Strengths:
        m = self.cells.n_rivals
        return replace(
            found,
            strength=self.centred(found.strength + step[:m]),
            advantage=found.advantage + float(step[m]),
            log_tie=found.log_tie + float(step[m + 1]),
            log_discrimination=found.log_discrimination + own,
        )


def inverse_of_groups(own: Floats, x: Floats) -> Floats:
    """Return the inverse of the information of log discriminations times x, on its last axis.

    Log discriminations have mean 0, which is what gives strengths their unit.
    """
    free, total = x / own, (1 / own).sum()
    found: Floats = free - free.sum(axis=-1, keepdims=True) / (own * total)
    return found


def design_of(found: Strengths, cells: Cells) -> Any:
    """Slope of the lean of each cell in strengths and advantage: sparse, (n_cells, n_rivals+1)."""
    from scipy.sparse import csr_array

    n, slope = cells.first.size, np.exp(found.log_discrimination)[cells.group]
    values = np.stack([slope, -slope, np.ones(n)], axis=1).reshape(-1)
    columns = np.stack([cells.first, cells.second, np.full(n, cells.n_rivals)], axis=1).reshape(-1)
    return csr_array((values, columns, 3 * np.arange(n + 1)), shape=(n, cells.n_rivals + 1))


def grouped(group: Ints, n_groups: int) -> Any:
    """Return which row belongs to which group: sparse, (n_rows, n_groups)."""
    from scipy.sparse import csr_array

    n = group.size
    return csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, n_groups))


def spread_of(problem: Problem, begin: Strengths) -> tuple[Strengths, tuple[float, float]]:
    """Return strengths where discriminations differ, and the interval of their spread.

    The standard deviation of the log discriminations has the largest marginal likelihood by
    Laplace's approximation; the interval is that of likelihood ratios, 95 %. It begins at 0 where
    equal discriminations are not refuted.
    """
    heights, found = [problem.value(begin)], begin
    fits = [begin]
    for spread in SPREADS:
        found, _ = problem.climb(replace(found, spread=float(spread)), NEAR)
        heights.append(_marginal(problem, found))
        fits.append(found)
        if heights[-1] < max(heights) - 4 * RATIO:
            break
    height, tried = np.array(heights), np.r_[0.0, SPREADS][: len(heights)]
    best = int(height.argmax())
    low, high = (_crossing(tried, height, best, side) for side in (-1, 1))
    if best == 0:
        best = 1
    spread = float(tried[best])
    if 1 < best < tried.size - 1:
        spread = _peak(np.log(tried[best - 1 : best + 2]), height[best - 1 : best + 2])
    return problem.climb(replace(fits[best], spread=spread))[0], (low, high)


def _marginal(problem: Problem, found: Strengths) -> float:
    """Return log-likelihood with the log discriminations integrated out."""
    own = Curvature.at(found, problem.cells, problem.penalty).own
    free = own.size - 1  # log discriminations have mean 0
    bend = np.log(own).sum() + np.log((1 / own).mean()) + 2 * free * np.log(found.spread)
    return problem.value(found) - float(bend) / 2


def _crossing(tried: Floats, height: Floats, best: int, side: int) -> float:
    """Return where the marginal likelihood falls by the critical value of likelihood ratios."""
    below = height - height[best] + RATIO
    k = best
    while 0 <= k + side < tried.size and below[k + side] >= 0:
        k += side
    if not 0 <= k + side < tried.size:
        return float(tried[k])
    share = below[k] / (below[k] - below[k + side])
    return float(tried[k] + share * (tried[k + side] - tried[k]))


def _peak(x: Floats, y: Floats) -> float:
    """Return exponential of where the parabola through three points has its top."""
    bend, slope, _ = np.polyfit(x - x[1], y - y[1], 2)
    away = -slope / (2 * bend) if bend < 0 else 0.0
    return float(np.exp(x[1] + np.clip(away, x[0] - x[1], x[2] - x[1])))
