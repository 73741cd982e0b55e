"""Which few algorithms to keep: by their strengths, by how often they win, or by Shapley values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._validation import one_of, whole_number
from ogive.errors import InputError
from ogive.portfolios.performances import (
    fair_means,
    means,
    shapley_shares,
    virtual_best_shapley,
    worst_where_missing,
)
from ogive.portfolios.strengths import TIED, FittedCurves, entering_epsilon
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display


AIRT, TOPSET, SHAPLEY = "airt", "topset", "shapley"


@dataclass(frozen=True, eq=False)
class Candidates:
    """What the methods choose from."""

    curves: FittedCurves
    worst: float  # that a performance can be
    first_wins: bool = False  # ties go to the first column, as in the AIRT paper

    @property
    def cells(self) -> Floats:
        """Performances, (n_problems, n_algorithms), higher is better; NaN: no run."""
        return self.curves.cells


def strongest(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Return share of problems within `epsilon` of the best curve, and the least distance to it."""
    curves = candidates.curves
    heights = curves.splines.at(curves.difficulty)
    return curves.shares(epsilon), -entering_epsilon(heights, curves.splines.bounds)


def wins(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Return share of problems on which each is best, ties shared evenly; and mean performance."""
    del epsilon
    share = _wins_of_problems(candidates).mean(axis=0)
    if candidates.first_wins:
        return share, -np.arange(share.size, dtype=float)
    return share, fair_means(candidates.cells)


def _wins_of_problems(candidates: Candidates) -> Floats:
    """Return the win on each problem, shared among the algorithms that are best on it."""
    values = np.where(np.isnan(candidates.cells), -np.inf, candidates.cells)
    best = values >= values.max(axis=1, keepdims=True) - TIED
    if candidates.first_wins:
        best = best & (best.cumsum(axis=1) == 1)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def contributions(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Return exact Shapley values of the virtual-best game; and mean performance."""
    del epsilon
    values = virtual_best_shapley(worst_where_missing(candidates.cells), candidates.worst)
    return values, fair_means(candidates.cells)


# Each returns a value and a tie-breaker; higher is better in both.
METHODS: dict[str, Callable[[Candidates, float], tuple[Floats, Floats]]] = {
    AIRT: strongest,
    TOPSET: wins,
    SHAPLEY: contributions,
}
WORDS = {
    AIRT: "the share of problems at which each is close to the best curve",
    TOPSET: "the share of problems on which each is the best",
    SHAPLEY: "what each adds to the virtual best (Shapley value)",
}
AXES = {AIRT: "occupancy", TOPSET: "share of wins", SHAPLEY: "Shapley value"}


def ranked(candidates: Candidates, method: str, epsilon: float) -> tuple[np.ndarray, Floats]:
    """Return positions of the algorithms, the first to keep first, and the value of each."""
    one_of(method, "method", METHODS)
    value, tie_breaker = METHODS[method](candidates, epsilon)
    order = np.lexsort((-tie_breaker, -np.round(value, 12)))
    return order, value


def _intervals(candidates: Candidates, method: str, epsilon: float) -> tuple[Floats, Floats]:
    """Return lower and upper end of the 95 % interval of each value, (n_algorithms,) each.

    A share of wins and a Shapley value are means over problems; no such mean is below 0.
    """
    if method == AIRT:
        return candidates.curves.interval(epsilon)
    if method == TOPSET:
        parts, most = _wins_of_problems(candidates), 1.0
    else:
        filled = worst_where_missing(candidates.cells)
        parts, most = shapley_shares(filled, candidates.worst), np.inf
    half_width = reach_of_parts(len(parts)) * parts.std(axis=0, ddof=1) / np.sqrt(len(parts))
    value = parts.mean(axis=0)
    return np.maximum(value - half_width, 0.0), np.minimum(value + half_width, most)


@dataclass(frozen=True, eq=False, repr=False)
class ChosenPortfolio(Result):
    """The algorithms to keep."""

    method: str
    epsilon: float
    frame: pd.DataFrame  # index algorithm: rank, value, value_low, value_high, mean_performance
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the kept algorithms, the most valuable first."""
        return tuple(self.frame.index)

    @property
    def unsure(self) -> tuple[str, ...]:
        """Names of the kept algorithms whose value has an interval that includes 0."""
        return tuple(map(str, self.frame.index[self.frame["value_low"] <= 0]))

    @property
    def meaning(self) -> str:
        """Which algorithms are kept, and by what."""
        if not self.left_out:
            return (
                f"All {len(self.algorithms)} algorithms are kept, {self.algorithms[0]} first, "
                f"ranked by {WORDS[self.method]}. To keep fewer, give a size or a smaller epsilon."
            )
        names = ", ".join(self.algorithms[:5]) + (", ..." if len(self.algorithms) > 5 else "")
        doubt = ""
        if unsure := self.unsure:
            who = "all of them" if len(unsure) == len(self.frame) else listed(unsure, "algorithm")
            doubt = f"; for {who}, its 95% interval includes 0"
        return (
            f"Keep {names}: {len(self.algorithms)} of {len(self.algorithms) + self.left_out} "
            f"algorithms, ranked by {WORDS[self.method]}{doubt}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per kept algorithm: rank, value with its interval, mean performance."""
        return self.frame

    def plot(self, **kw: Any) -> Display:
        """Draw the kept algorithms by the value of the method."""
        from ogive.results.plots.rankings import RankingDisplay

        axis = AXES[self.method]
        ends = {f"value{end}": f"{axis}{end}" for end in ("", "_low", "_high")}
        frame = self.frame.rename(columns=ends)
        return RankingDisplay(frame, estimate=axis, ends=True).plot(**kw)


def choose(
    candidates: Candidates,
    algorithms: pd.Index,
    *,
    method: str,
    epsilon: float,
    size: int | None,
    mean_performance: Floats | None = None,
) -> ChosenPortfolio:
    """Return the best `size` algorithms; by default, as many as are strong somewhere.

    `mean_performance` (n_algorithms,) is in the unit of the measure; by default, as modelled.
    """
    one_of(method, "method", METHODS)
    if size is None:
        size = int((strongest(candidates, epsilon)[0] > 0).sum())
    elif whole_number(size, "size", 1) > len(algorithms):
        raise InputError(f"size is {size}, but there are {len(algorithms)} algorithms.")
    order, value = ranked(candidates, method, epsilon)
    known = candidates.curves.splines.known if method == AIRT else np.ones(len(order), dtype=bool)
    kept = order[known[order]][:size]
    average = means(candidates.cells) if mean_performance is None else mean_performance
    low, high = _intervals(candidates, method, epsilon)
    frame = pd.DataFrame(
        {
            "rank": np.arange(1, len(kept) + 1),
            "value": value[kept],
            "value_low": low[kept],
            "value_high": high[kept],
            "mean_performance": average[kept],
        },
        index=algorithms[kept],
    )
    notes: list[str] = []
    if len(kept) < size:
        possible = counted(len(kept), "algorithm")
        notes.append(f"Only {possible} can be kept: the others have too few runs.")
    never_strong = [str(algorithms[i]) for i in kept if method == AIRT and value[i] == 0]
    if never_strong:
        notes.append(
            f"Never within epsilon = {epsilon:g} of the best curve: {', '.join(never_strong)}; "
            "ranked by how close they come."
        )
    return ChosenPortfolio(method, epsilon, frame, len(algorithms) - len(kept), tuple(notes))
