"""Where on the difficulty line each algorithm is strong, and which few algorithms to keep.

Algorithms are kept by their strengths, by how often they win, or by their Shapley values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import as_number, checked_share, whole_number
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.performance_tables import (
    fair_means,
    means,
    shapley_shares,
    virtual_best_shapley,
    worst_where_missing,
)
from itemwise.numerics.splines import Splines
from itemwise.results import Result, stacked
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

GRID = 801  # points of the difficulty line on which regions are found
PLACES = 201  # points at which curves are sampled for the uncertainty of occupancy
DRAWS = 400
NORMAL_REACH = 1.96  # standard errors from an estimate to the end of a 95 % interval
AIRT, TOPSET, SHAPLEY = "airt", "topset", "shapley"
TIED = 1e-12


def checked_epsilon(epsilon: object) -> float:
    """The distance from the best curve that still counts as strong: 0 or more."""
    number = as_number(epsilon)
    if not 0 <= number < np.inf:
        raise InputError(f"epsilon is {epsilon!r}, but it should be a number, 0 or more.")
    return number


def checked_epsilons(epsilons: Any) -> list[float]:
    """One epsilon or several, each once, in the order given."""
    levels: list[Any] = [epsilons] if np.ndim(epsilons) == 0 else list(epsilons)
    if not levels:
        raise InputError("epsilons is empty. Give at least one, such as 0.01.")
    return list(dict.fromkeys(checked_epsilon(level) for level in levels))


def by_epsilon(
    frame_at: Callable[[float], pd.DataFrame], epsilons: Sequence[float] | None
) -> pd.DataFrame:
    """Return the frame at epsilon 0, or the frames at several epsilons, stacked."""
    if epsilons is None:
        return frame_at(0.0)
    return stacked("epsilon", {epsilon: frame_at(epsilon) for epsilon in epsilons})


def notes_on_epsilon(epsilon: float, bounds: tuple[float, float]) -> list[str]:
    """A note if epsilon covers the whole range of performance."""
    low, high = bounds
    if epsilon < high - low:
        return []
    note = (
        f"epsilon is {epsilon:g}, but modelled performance ranges from {low:g} to {high:g}: every "
        "algorithm counts as strong everywhere. Give a smaller one."
    )
    return [note]


Bounds: TypeAlias = "tuple[float, float] | None"


def within(
    curves: Floats, epsilon: float, bounds: Bounds = None, *, best: bool = True
) -> np.ndarray:
    """Which curves (last axis) lie within `epsilon` of the best (or worst) at each point.

    None does where all are as bad (or good) as the `bounds` allow: nobody leads there.
    """
    sign = 1.0 if best else -1.0
    turned = sign * curves
    first = np.nanmax(turned, axis=-1, keepdims=True)
    near: np.ndarray = turned >= first - epsilon
    near &= contested(first, sign * bounds[0 if best else 1] if bounds else None)
    return near


def contested(first: Floats, end: float | None) -> np.ndarray:
    """Where the best curve lies above the end of the scale; everywhere if it never does."""
    above: np.ndarray = np.ones(first.shape, bool) if end is None else first > end + TIED
    return above | ~above.any(axis=-2, keepdims=True)


def share_within(curves: Floats, epsilon: float, bounds: Bounds = None) -> Floats:
    """Share of the points (last axis but one) where each curve is strong; NaN without a curve."""
    share = within(curves, epsilon, bounds).mean(axis=-2)
    found: Floats = np.where(np.isnan(curves).any(axis=-2), np.nan, share)
    return found


def regions(
    splines: Splines, difficulty: Floats, algorithms: pd.Index, epsilon: float, *, best: bool
) -> pd.DataFrame:
    """One row per region: algorithm, start, end, problems in it and their share."""
    import pandas as pd

    low, high = float(difficulty.min()), float(difficulty.max())
    # With the problems on the grid, those inside regions are those that `occupancy` counts.
    grid = np.union1d(np.linspace(low, high, GRID if high > low else 1), difficulty)
    near = within(splines.at(grid), epsilon, splines.bounds, best=best)
    ordered = np.sort(difficulty)
    rows = []
    for position, name in enumerate(algorithms):
        for first, last in _runs(near[:, position]):
            # The border lies between two points of the grid: take the middle.
            start = grid[first] if first == 0 else (grid[first - 1] + grid[first]) / 2
            end = grid[last] if last == len(grid) - 1 else (grid[last] + grid[last + 1]) / 2
            inside = np.searchsorted(ordered, end, "right") - np.searchsorted(ordered, start)
            rows.append((name, start, end, int(inside), inside / len(difficulty)))
    return pd.DataFrame(rows, columns=["algorithm", "start", "end", "problems", "share"])


def occupancy(
    splines: Splines,
    difficulty: Floats,
    algorithms: pd.Index,
    epsilon: float,
    *,
    confidence: float,
    random_state: int,
) -> pd.DataFrame:
    """Share of problems at whose difficulty each algorithm is within `epsilon` of the best.

    Where curves are equal, each of them is the best, so that shares may add up to more than 1;
    where all are as bad as possible, none is. Intervals come from curves sampled within their
    confidence bands.
    """
    import pandas as pd

    confidence = checked_share(confidence, "confidence", 0.95)
    random_state = whole_number(random_state, "random_state", 0)
    share = share_within(splines.at(difficulty), epsilon, splines.bounds)
    drawn = drawn_shares(splines, difficulty, epsilon, random_state)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    columns = {
        "occupancy": share,
        # The sampled curves may all lie on one side of the estimate.
        "occupancy_low": np.minimum(low, share),
        "occupancy_high": np.maximum(high, share),
    }
    return pd.DataFrame(columns, index=algorithms)


def drawn_shares(
    splines: Splines, difficulty: Floats, epsilon: float, random_state: int = 0
) -> Floats:
    """Shares of problems under curves sampled from their uncertainty, (draws, n_curves)."""
    edges = np.quantile(
        difficulty, np.linspace(0.0, 1.0, PLACES)
    )  # equally many problems between them
    drawn = splines.draws_at(edges, DRAWS, np.random.default_rng(random_state))
    return share_within(drawn, epsilon, splines.bounds)


def entering_epsilon(curves: Floats, bounds: Bounds = None) -> Floats:
    """The smallest epsilon at which each curve (last axis) is strong somewhere; inf without one."""
    first = np.nanmax(curves, axis=1, keepdims=True)
    behind = first - curves
    there = contested(first, bounds[0] if bounds else None) & ~np.isnan(behind)
    nearest: Floats = np.where(there, behind, np.inf).min(axis=0)
    return nearest


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last position of each run of true flags."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Candidates:
    """What the methods choose from."""

    values: Floats  # (n_problems, n_algorithms), higher is better; NaN: no run
    worst: float
    difficulty: Floats  # (n_problems,)
    splines: Splines
    first_wins: bool = False  # ties go to the first column, as in the AIRT paper


def strongest(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Share of problems within `epsilon` of the best curve; and the smallest distance to it."""
    curves = candidates.splines.at(candidates.difficulty)
    bounds = candidates.splines.bounds
    return share_within(curves, epsilon, bounds), -entering_epsilon(curves, bounds)


def wins(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Share of problems on which each is best, ties shared evenly; and mean performance."""
    del epsilon
    share = _wins_of_problems(candidates).mean(axis=0)
    if candidates.first_wins:
        return share, -np.arange(share.size, dtype=float)
    return share, fair_means(candidates.values)


def _wins_of_problems(candidates: Candidates) -> Floats:
    """The win on each problem, shared among the algorithms that are best on it."""
    values = np.where(np.isnan(candidates.values), -np.inf, candidates.values)
    best = values >= values.max(axis=1, keepdims=True) - TIED
    if candidates.first_wins:
        best = best & (best.cumsum(axis=1) == 1)
    shared: Floats = best / best.sum(axis=1, keepdims=True)
    return shared


def contributions(candidates: Candidates, epsilon: float) -> tuple[Floats, Floats]:
    """Exact Shapley values of the virtual-best game; and mean performance."""
    del epsilon
    values = virtual_best_shapley(worst_where_missing(candidates.values), candidates.worst)
    return values, fair_means(candidates.values)


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


def find_method(method: str) -> Callable[[Candidates, float], tuple[Floats, Floats]]:
    """The method of this name."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method is {method!r}, but it should be one of {', '.join(METHODS)}.")
    return METHODS[method]


def ranked(candidates: Candidates, method: str, epsilon: float) -> tuple[np.ndarray, Floats]:
    """Positions of the algorithms, the first to keep first, and the value of each algorithm."""
    value, then = find_method(method)(candidates, epsilon)
    order = np.lexsort((-then, -np.round(value, 12)))
    return order, value


def _errors(
    candidates: Candidates, method: str, epsilon: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Standard error of each value, over sampled curves or over problems; whether it may be 0."""
    if method == AIRT:
        drawn = drawn_shares(candidates.splines, candidates.difficulty, epsilon)
        return drawn.std(axis=0, ddof=1), np.quantile(drawn, 0.025, axis=0) <= 0
    if method == TOPSET:
        parts = _wins_of_problems(candidates)
    else:
        parts = shapley_shares(worst_where_missing(candidates.values), candidates.worst)
    error: Floats = parts.std(axis=0, ddof=1) / np.sqrt(len(parts))
    return error, parts.mean(axis=0) <= NORMAL_REACH * error


@dataclass(frozen=True, eq=False, repr=False)
class ChosenPortfolio(Result):
    """The algorithms to keep."""

    method: str
    epsilon: float
    frame: pd.DataFrame  # index algorithm: rank, value, value_se, mean_performance
    left_out: int
    notes: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()  # kept, though the interval of the value includes 0

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the kept algorithms, the most valuable first."""
        return tuple(self.frame.index)

    @property
    def meaning(self) -> str:
        """Which algorithms are kept, and by what."""
        if not self.left_out:
            return (
                f"All {len(self.algorithms)} algorithms are kept, {self.algorithms[0]} first, "
                f"ranked by {WORDS[self.method]}. To keep fewer, give a size or a smaller epsilon."
            )
        names = ", ".join(self.algorithms[:5]) + (", ..." if len(self.algorithms) > 5 else "")
        return (
            f"Keep {names}: {len(self.algorithms)} of {len(self.algorithms) + self.left_out} "
            f"algorithms, ranked by {WORDS[self.method]}{self._unsure()}."
        )

    def _unsure(self) -> str:
        """For whom that value may be 0."""
        if not self.unsure:
            return ""
        every = len(self.unsure) == len(self.frame)
        who = "all of them" if every else listed(self.unsure, "algorithm")
        return f"; for {who}, its 95% interval includes 0"

    def to_frame(self) -> pd.DataFrame:
        """One row per kept algorithm: rank, value with its standard error, mean performance."""
        return self.frame

    def plot(self, **kw: Any) -> Display:
        """Draw the kept algorithms by the value of the method."""
        from itemwise.displays import RankingDisplay

        names = {"value": AXES[self.method], "value_se": "standard errors"}
        frame = self.frame.rename(columns=names)
        return RankingDisplay(frame, estimate=names["value"], se=names["value_se"]).plot(**kw)


def choose(
    candidates: Candidates,
    algorithms: pd.Index,
    *,
    method: str,
    epsilon: float,
    size: int | None,
    mean_performance: Floats | None = None,
) -> ChosenPortfolio:
    """The best `size` algorithms; by default, as many as are strong somewhere.

    `mean_performance` (n_algorithms,) is in the unit of the measure; by default, as modelled.
    """
    import pandas as pd

    find_method(method)
    if size is None:
        size = int((strongest(candidates, epsilon)[0] > 0).sum())
    elif whole_number(size, "size", 1) > len(algorithms):
        raise InputError(f"size is {size}, but there are {len(algorithms)} algorithms.")
    order, value = ranked(candidates, method, epsilon)
    known = candidates.splines.known if method == AIRT else np.ones(len(order), dtype=bool)
    kept = order[known[order]][:size]
    average = means(candidates.values) if mean_performance is None else mean_performance
    error, unsure = _errors(candidates, method, epsilon)
    frame = pd.DataFrame(
        {
            "rank": np.arange(1, len(kept) + 1),
            "value": value[kept],
            "value_se": error[kept],
            "mean_performance": average[kept],
        },
        index=algorithms[kept],
    )
    notes: list[str] = []
    if len(kept) < size:
        kept_said = counted(len(kept), "algorithm")
        notes.append(f"Only {kept_said} can be kept: the others have too few runs.")
    late = [str(algorithms[i]) for i in kept if value[i] == 0] if method == AIRT else []
    if late:
        notes.append(
            f"Never within epsilon = {epsilon:g} of the best curve: {', '.join(late)}; ranked by "
            "how close they come."
        )
    may_be_0 = tuple(str(algorithms[k]) for k in kept if unsure[k])
    left_out = len(algorithms) - len(kept)
    return ChosenPortfolio(method, epsilon, frame, left_out, tuple(notes), may_be_0)
