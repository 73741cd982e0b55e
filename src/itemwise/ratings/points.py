"""Points won in games, which add up over periods in whatever order they are played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.ratings.glicko2 import round_robin

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

LEVEL = 0.5  # share of points of who played no game: neither strong nor weak


@dataclass(frozen=True, eq=False)
class Points:
    """What each player won in each period, and in how many games."""

    won: Floats  # (..., n_periods, n_players); a draw is half a point
    games: Floats  # the same shape

    def __getitem__(self, at: Any) -> Points:
        return Points(self.won[at], self.games[at])

    @property
    def share(self) -> Floats:
        """Share of points in all games of each player; half for who played none."""
        return share(self.won.sum(axis=-2), self.games.sum(axis=-2))


def points(scores: Floats, tolerance: float = 0.0) -> Points:
    """Points of a round robin in every period, a row of `scores` each."""
    return points_within(scores, np.arange(scores.shape[1])[None], tolerance)[0]


def points_within(scores: Floats, groups: NDArray[np.intp], tolerance: float = 0.0) -> Points:
    """Points in games inside each group, (n_groups, n_periods, size of a group).

    `groups` names the players of each by position, (n_groups, size).
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"tolerance is {tolerance}, but it must be 0 or above.")
    shape = (len(groups), len(scores), groups.shape[1])
    won, games = np.zeros(shape), np.zeros(shape)
    for period, row in enumerate(scores):
        outcomes = round_robin(row, tolerance)[groups[:, :, None], groups[:, None, :]]
        won[:, period] = np.nansum(outcomes, axis=-1)
        games[:, period] = (~np.isnan(outcomes)).sum(axis=-1)
    return Points(won, games)


def share(won: Floats, games: Floats) -> Floats:
    """Points a game; sums of halves are exact, so that who has won equally much is level."""
    found: Floats = np.divide(won, games, out=np.full(np.shape(games), LEVEL), where=games > 0)
    return found
