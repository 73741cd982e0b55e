"""Seasons whose volatility stays within bounds, however many players there are.

Glicko-2 takes games for independent. In a round robin, all games of a player in a period hang on
one score: with many players, volatility answers as if each were news, and ratings end by following
the last periods only, or run away. A smaller tau, which limits how fast volatility changes, mends
that; how small it must be depends on the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.ratings.glicko2 import RanAwayError, Ratings, Season, play

if TYPE_CHECKING:
    from ogive.numerics.arrays import Floats

USUAL_TAU = 0.5
LEAST_TAU = 1e-4  # hardly any change of volatility
MOST_GROWTH = 10.0  # of volatility; beyond, a rating follows only the last periods


def play_steadily(
    scores: Floats,
    players: Sequence[str],
    periods: Sequence[str],
    *,
    tolerance: float,
    tau: float | None,
    start: Ratings,
) -> tuple[Season, float]:
    """A season and its tau: the one given, or the usual one, halved until ratings are steady."""

    def played(value: float) -> Season:
        return play(scores, players, periods, tolerance=tolerance, tau=value, start=start)

    if tau is not None:
        return played(tau), tau
    tau = USUAL_TAU
    while tau > LEAST_TAU:
        try:
            season = played(tau)
        except RanAwayError:
            season = None
        if season is not None and not erratic(season.final, start).any():
            return season, tau
        tau /= 2
    return played(tau), tau


def erratic(ratings: Ratings, start: Ratings) -> np.ndarray:
    """Whose volatility grew out of proportion."""
    return np.asarray(ratings.volatility > MOST_GROWTH * start.volatility)
