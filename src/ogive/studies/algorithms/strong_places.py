"""Where on the difficulty line each algorithm is strong: within epsilon of the best curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ogive.arguments import as_number
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.splines import Splines
from ogive.results import stacked

if TYPE_CHECKING:
    import pandas as pd

GRID = 801  # points of the difficulty line on which regions are found
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


def share_within(
    curves: Floats, epsilon: float, bounds: Bounds = None, weights: Floats | None = None
) -> Floats:
    """Share of the points (last axis but one) where each curve is strong; NaN without a curve.

    With `weights`, which add up to 1, points count by them.
    """
    near = within(curves, epsilon, bounds)
    share = near.mean(axis=-2) if weights is None else weights @ near
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
