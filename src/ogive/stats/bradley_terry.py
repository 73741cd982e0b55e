"""Strengths from paired comparisons: Bradley and Terry (1952), with the ties of Davidson (1970).

With the log-odds d = discrimination × (strength of the first - strength of the second) + advantage,
a win, a loss and a tie of the first have probabilities in the ratio

    exp(d/2) : exp(-d/2) : tie.

Comparisons may come in groups, each with its own discrimination; the first of the two may have an
advantage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats

Ints = NDArray[np.intp]

MAX_ITER = 60
CLOSE = 1e-10  # step of a parameter at which Newton's method ends
NEAR = 1e-4  # the same while the spread of discriminations is searched
RATIO = 1.9207  # half the 95 % quantile of chi-squared with one degree of freedom
SPREADS = np.geomspace(0.03, 2.4, 12)  # standard deviations of log discriminations that are tried


@dataclass(frozen=True, eq=False)
class Cells:
    """Numbers of wins, ties and losses of each ordered pair in each group."""

    n_rivals: int
    n_groups: int
    first: Ints  # (n_cells,), as all that follow
    second: Ints
    group: Ints
    won: Floats
    tied: Floats
    lost: Floats
    cell: Ints  # (n_battles,): the cell of each comparison
    score: Floats  # (n_battles,): 1 if the first won, 0 if the second did, 0.5 for a tie

    @classmethod
    def of(
        cls, first: Ints, second: Ints, score: Floats, n_rivals: int, group: Ints, n_groups: int
    ) -> Cells:
        """Count comparisons; `score` is 1 if the first won, 0 if the second did, 0.5 for a tie."""
        code = (first * n_rivals + second) * n_groups + group
        codes, cell = np.unique(code, return_inverse=True)
        pair, group_of_cell = np.divmod(codes, n_groups)
        won, tied, lost = (
            np.asarray(np.bincount(cell, score == x, minlength=codes.size), dtype=np.float64)
            for x in (1.0, 0.5, 0.0)
        )
        one, other = np.divmod(pair, n_rivals)
        return cls(n_rivals, n_groups, one, other, group_of_cell, won, tied, lost, cell, score)

    @property
    def n(self) -> Floats:
        """Comparisons of each cell."""
        return self.won + self.tied + self.lost

    def halved(self) -> Cells:
        """Return cells with every tie counted as half a win and half a loss."""
        half = self.tied / 2
        return replace(self, won=self.won + half, lost=self.lost + half, tied=0.0 * half)


@dataclass(frozen=True, eq=False)
class Strengths:
    """Parameters: strengths, log of the tie parameter, advantage of the first, discriminations."""

    strength: Floats  # (n_rivals,); mean 0 in each connected part
    log_tie: float  # -inf without ties
    advantage: float
    log_discrimination: Floats  # (n_groups,); zeros if groups do not differ
    spread: float  # standard deviation of the log discriminations; 0 if they are all 0

    def lean(self, cells: Cells) -> Floats:
        """Return the log-odds that the first of each cell beats the second."""
        difference = self.strength[cells.first] - self.strength[cells.second]
        return np.exp(self.log_discrimination)[cells.group] * difference + self.advantage

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
        value = float(((cells.won - cells.lost) * lean / 2 - cells.n * (np.log(total) + top)).sum())
        squares = ((self.log_discrimination / self.spread) ** 2).sum() / 2 if self.spread else 0.0
        return value + ties - float(squares)


@dataclass(frozen=True, eq=False)
class Curvature:
    """Gradient and information of strengths, advantage and log tie, discriminations eliminated."""

    information: Floats  # (width, width)
    slope: Floats  # (width,)
    own: Floats  # (n_groups,): information of each log discrimination, with its prior
    cross: Floats  # (width, n_groups)
    own_slope: Floats  # (n_groups,)
    pull: Floats  # (width, n_groups): cross times the inverse of own

    @classmethod
    def at(cls, params: Strengths, cells: Cells, penalty: Floats) -> Curvature:
        """Return the curvature at `params`; `penalty` is the prior precision of the strengths."""
        lean = params.lean(cells)
        won, tied, lost = params.chances(lean)
        edge, n = (won - lost) / 2, cells.n
        by_lean = (cells.won - cells.lost) / 2 - n * edge
        by_tie = cells.tied - n * tied
        in_lean = n * ((won + lost) / 4 - edge**2)
        mixed, in_tie = -n * tied * edge, n * tied * (1 - tied)
        design = _design(params, cells)
        m = cells.n_rivals
        information = np.zeros((m + 2, m + 2))
        information[: m + 1, : m + 1] = (design.T @ (design.multiply(in_lean[:, None]))).toarray()
        information[: m + 1, m + 1] = information[m + 1, : m + 1] = design.T @ mixed
        information[m + 1, m + 1] = in_tie.sum()
        slope = np.r_[design.T @ by_lean, by_tie.sum()]
        information[:m, :m] += penalty
        slope[:m] -= penalty @ params.strength
        if not params.spread:
            zeros = np.zeros(cells.n_groups)
            no_cross = np.zeros((m + 2, zeros.size))
            return cls(information, slope, zeros, no_cross, zeros, no_cross)

        def by_group(values: Floats) -> Floats:
            return np.asarray(np.bincount(cells.group, values, cells.n_groups), dtype=np.float64)

        turn = lean - params.advantage  # derivative of the lean in the log discrimination
        own = by_group(in_lean * turn**2) + params.spread**-2
        weighted = grouped(cells.group, cells.n_groups).multiply((in_lean * turn)[:, None])
        cross = np.vstack([(design.T @ weighted).toarray(), by_group(mixed * turn)])
        own_slope = by_group(by_lean * turn) - params.log_discrimination / params.spread**2
        pull = _inverse_of_groups(own, cross)
        information -= pull @ cross.T
        slope -= pull @ own_slope
        return cls(information, slope, own, cross, own_slope, pull)


@dataclass(frozen=True, eq=False)
class Problem:
    """Penalized likelihood of comparisons, and its maximization."""

    cells: Cells
    part: Ints  # (n_rivals,): the connected part of each
    penalty: Floats  # (n_rivals, n_rivals): precision of a prior of the strengths
    advantage: bool  # whether the first may have one

    @property
    def free(self) -> NDArray[np.bool_]:
        """True for those of strengths, advantage and log tie that are estimated."""
        free = np.ones(self.cells.n_rivals + 2, dtype=bool)
        free[-2:] = self.advantage, bool(self.cells.tied.any())
        return free

    def start(self) -> Strengths:
        """Return equal strengths, and the observed share of ties."""
        cells = self.cells
        share = cells.tied.sum() / max(cells.n.sum() - cells.tied.sum(), 1.0)
        log_tie = float(np.log(2 * share)) if share else -np.inf
        return Strengths(np.zeros(cells.n_rivals), log_tie, 0.0, np.zeros(cells.n_groups), 0.0)

    def value(self, params: Strengths) -> float:
        """Return the penalized log-likelihood."""
        penalty = params.strength @ self.penalty @ params.strength / 2
        return params.log_likelihood(self.cells) - float(penalty)

    def anchored(self, information: Floats) -> Floats:
        """Return information, of one or more, with the mean of each part held fixed."""
        m, size = self.cells.n_rivals, np.bincount(self.part)
        fixed = information.copy()
        fixed[..., :m, :m] += (self.part[:, None] == self.part) / size[self.part]
        return fixed

    def inverse(self, information: Floats) -> Floats:
        """Return the inverse over what is estimated, zeros elsewhere; strengths have mean 0."""
        free, m = np.flatnonzero(self.free), self.cells.n_rivals
        inverse = np.zeros_like(information)
        inner = np.ix_(free, free)
        inverse[inner] = np.linalg.inv(self.anchored(information)[inner])
        inverse[:m, :m] -= (self.part[:, None] == self.part) / np.bincount(self.part)[self.part]
        return inverse

    def identified(self) -> bool:
        """Return True if the comparisons determine all parameters, infinite strengths aside."""
        whole = self.anchored(Curvature.at(self.start(), self.cells, self.penalty).information)
        free = np.flatnonzero(self.free)
        scale = 1 / np.sqrt(np.maximum(np.diag(whole)[free], 1e-300))
        inner = whole[np.ix_(free, free)] * scale * scale[:, None]
        return bool(np.linalg.eigvalsh(inner)[0] > 1e-9)

    def maximize(self, begin: Strengths, close: float = CLOSE) -> tuple[Strengths, bool]:
        """Maximize by Newton's method with halved steps; return also whether it converged."""
        params, value = begin, self.value(begin)
        for _ in range(MAX_ITER):
            curve = Curvature.at(params, self.cells, self.penalty)
            try:
                step = self._step(curve)
            except np.linalg.LinAlgError:
                return params, False
            own = np.zeros(self.cells.n_groups)
            if params.spread:
                own = _inverse_of_groups(curve.own, curve.own_slope - curve.cross.T @ step)
            longest = max(np.abs(step).max(), np.abs(own).max(initial=0.0))
            size = min(1.0, 4.0 / max(longest, 1e-300))
            while True:
                new = self._moved(params, size * step, size * own)
                new_value = self.value(new)
                if new_value >= value - 1e-9 * abs(value) or size < 1e-6:
                    break
                size /= 2
            params, value = new, new_value
            if longest < close:
                return params, True
            if np.abs(params.strength).max() > 40:
                return params, False
        return params, longest < 1e-6

    def _step(self, curve: Curvature) -> Floats:
        free = np.flatnonzero(self.free)
        inner = self.anchored(curve.information)[np.ix_(free, free)]
        step = np.zeros_like(curve.slope)
        step[free] = np.linalg.solve(inner, curve.slope[free])
        return step

    def _moved(self, params: Strengths, step: Floats, own: Floats) -> Strengths:
        m = self.cells.n_rivals
        strength = params.strength + step[:m]
        mean = np.bincount(self.part, strength) / np.bincount(self.part)
        return replace(
            params,
            strength=strength - mean[self.part],
            advantage=params.advantage + float(step[m]),
            log_tie=params.log_tie + float(step[m + 1]),
            log_discrimination=params.log_discrimination + own,
        )


def _inverse_of_groups(own: Floats, x: Floats) -> Floats:
    """Return the inverse of the information of log discriminations times x, on its last axis.

    Log discriminations have mean 0, which gives strengths their unit.
    """
    free, total = x / own, (1 / own).sum()
    return np.asarray(free - free.sum(axis=-1, keepdims=True) / (own * total))


def _design(params: Strengths, cells: Cells) -> Any:
    """Return derivatives of leans in strengths and advantage: sparse, (n_cells, n_rivals + 1)."""
    from scipy.sparse import csr_array

    n, slope = cells.first.size, np.exp(params.log_discrimination)[cells.group]
    values = np.stack([slope, -slope, np.ones(n)], axis=1).reshape(-1)
    columns = np.stack([cells.first, cells.second, np.full(n, cells.n_rivals)], axis=1).reshape(-1)
    return csr_array((values, columns, 3 * np.arange(n + 1)), shape=(n, cells.n_rivals + 1))


def grouped(group: Ints, n_groups: int) -> Any:
    """Return the membership of rows in groups: sparse, (n_rows, n_groups)."""
    from scipy.sparse import csr_array

    n = group.size
    return csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, n_groups))


def spread_of(problem: Problem, begin: Strengths) -> tuple[Strengths, tuple[float, float]]:
    """Return strengths with different discriminations, and the interval of their spread.

    The standard deviation of the log discriminations has the largest marginal likelihood by
    Laplace's approximation; the interval is that of likelihood ratios, 95 %. It begins at 0 if
    equal discriminations are not refuted.
    """
    values, params = [problem.value(begin)], begin
    fits = [begin]
    for spread in SPREADS:
        params, _ = problem.maximize(replace(params, spread=float(spread)), NEAR)
        values.append(_marginal(problem, params))
        fits.append(params)
        if values[-1] < max(values) - 4 * RATIO:
            break
    marginal, tried = np.array(values), np.r_[0.0, SPREADS][: len(values)]
    best = int(marginal.argmax())
    low, high = (_crossing(tried, marginal, best, side) for side in (-1, 1))
    if best == 0:
        best = 1
    spread = float(tried[best])
    if 1 < best < tried.size - 1:
        spread = _peak(np.log(tried[best - 1 : best + 2]), marginal[best - 1 : best + 2])
    return problem.maximize(replace(fits[best], spread=spread))[0], (low, high)


def _marginal(problem: Problem, params: Strengths) -> float:
    """Return log-likelihood with the log discriminations integrated out."""
    own = Curvature.at(params, problem.cells, problem.penalty).own
    free = own.size - 1  # log discriminations have mean 0
    volume = np.log(own).sum() + np.log((1 / own).mean()) + 2 * free * np.log(params.spread)
    return problem.value(params) - float(volume) / 2


def _crossing(tried: Floats, marginal: Floats, best: int, side: int) -> float:
    """Return where the marginal likelihood falls by the critical value of likelihood ratios."""
    above = marginal - marginal[best] + RATIO
    k = best
    while 0 <= k + side < tried.size and above[k + side] >= 0:
        k += side
    if not 0 <= k + side < tried.size:
        return float(tried[k])
    share = above[k] / (above[k] - above[k + side])
    return float(tried[k] + share * (tried[k + side] - tried[k]))


def _peak(x: Floats, y: Floats) -> float:
    """Return the exponential of the x at which the parabola through three points has its top."""
    curvature, slope, _ = np.polyfit(x - x[1], y - y[1], 2)
    offset = -slope / (2 * curvature) if curvature < 0 else 0.0
    return float(np.exp(x[1] + np.clip(offset, x[0] - x[1], x[2] - x[1])))
