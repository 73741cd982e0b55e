"""Where on the difficulty line each algorithm is close to the best, or to the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from itemwise.arguments import as_number, checked_share, whole_number
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.splines import Splines

if TYPE_CHECKING:
    import pandas as pd

GRID = 801  # points of the difficulty line on which regions are found
PLACES = 201  # points on which curves are drawn at random for the uncertainty of occupancy
DRAWS = 400


def checked_epsilon(epsilon: object) -> float:
    """How far from the best still counts: a number from 0."""
    number = as_number(epsilon)
    if not 0 <= number < np.inf:
        raise InputError(f"epsilon is {epsilon!r}, but it should be a number from 0.")
    return number


def notes_on_epsilon(epsilon: float, bounds: tuple[float, float]) -> list[str]:
    """What to know of an epsilon that spans all that performance can be."""
    low, high = bounds
    if epsilon < high - low:
        return []
    note = (
        f"epsilon is {epsilon:g}, but performance, as it is modelled, goes from {low:g} to "
        f"{high:g}: every algorithm counts as strong everywhere. Give a smaller one."
    )
    return [note]


def within(curves: Floats, epsilon: float, *, best: bool = True) -> np.ndarray:
    """Which curves (last axis) lie within `epsilon` of the best (or the worst) at each place."""
    sign = 1.0 if best else -1.0
    turned = sign * curves
    near: np.ndarray = turned >= np.nanmax(turned, axis=-1, keepdims=True) - epsilon
    return near


def share_within(curves: Floats, epsilon: float) -> Floats:
    """Share of the places (last axis but one) at which each curve is strong; NaN of no curve."""
    share = within(curves, epsilon).mean(axis=-2)
    found: Floats = np.where(np.isnan(curves).any(axis=-2), np.nan, share)
    return found


def regions(
    splines: Splines, difficulty: Floats, algorithms: pd.Index, epsilon: float, *, best: bool
) -> pd.DataFrame:
    """Contiguous stretches, a row each: algorithm, start, end, problems in it and their share."""
    import pandas as pd

    low, high = float(difficulty.min()), float(difficulty.max())
    grid = np.linspace(low, high, GRID if high > low else 1)
    near = within(splines.at(grid), epsilon, best=best)
    ordered = np.sort(difficulty)
    rows = []
    for position, name in enumerate(algorithms):
        for first, last in _runs(near[:, position]):
            # A border lies somewhere between two points of the grid: half way.
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

    The interval comes from curves drawn from their own uncertainty: the band of each curve.
    """
    import pandas as pd

    confidence = checked_share(confidence, "confidence", 0.95)
    random_state = whole_number(random_state, "random_state", 0)
    share = share_within(splines.at(difficulty), epsilon)
    drawn = drawn_shares(splines, difficulty, epsilon, random_state)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    columns = {
        "occupancy": share,
        # The estimate is the best guess; draws scatter around it and may miss it.
        "occupancy_low": np.minimum(low, share),
        "occupancy_high": np.maximum(high, share),
    }
    return pd.DataFrame(columns, index=algorithms)


def drawn_shares(
    splines: Splines, difficulty: Floats, epsilon: float, random_state: int = 0
) -> Floats:
    """Shares of problems as they may be, given how surely curves are known: (draws, n_curves)."""
    edges = np.quantile(difficulty, np.linspace(0.0, 1.0, PLACES))  # each stands for as many
    drawn = splines.draws_at(edges, DRAWS, np.random.default_rng(random_state))
    return share_within(drawn, epsilon)


def entering_epsilon(curves: Floats) -> Floats:
    """The smallest epsilon at which each curve (last axis) is strong somewhere; inf of no curve."""
    behind = np.nanmax(curves, axis=1, keepdims=True) - curves
    nearest: Floats = np.where(np.isnan(behind), np.inf, behind).min(axis=0)
    return nearest


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last position of each stretch of true flags."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
