"""A season: rating periods of Glicko-2 one after the other, each played round robin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.ratings.glicko2 import Ratings, new_players, rate_period, round_robin

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

FARTHEST_RATING = 100_000.0  # points from the mean; a thousand clear steps stay far below
FINEST = 6  # decimals of a rating that count in a rank: sums end in rounding


@dataclass(frozen=True, eq=False)
class Season:
    """Ratings after every period, and how the games of each ended."""

    rating: Floats  # (n_periods, n_players), as all that follow
    deviation: Floats
    volatility: Floats
    won: NDArray[np.intp]
    drawn: NDArray[np.intp]
    lost: NDArray[np.intp]

    @property
    def final(self) -> Ratings:
        """The ratings after the last period."""
        return Ratings(self.rating[-1], self.deviation[-1], self.volatility[-1])


def play(
    scores: Floats,
    players: Sequence[str],
    periods: Sequence[str],
    *,
    tolerance: float = 0.0,
    tau: float = 0.5,
    start: Ratings | None = None,
) -> Season:
    """Play every period, a row of `scores` each, and rate after it; names are for messages.

    Scores at most `tolerance` apart draw, and who has none (NaN) does not play.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"tolerance is {tolerance}, but it must be 0 or above.")
    ratings = new_players(len(players)) if start is None else start
    after, results = [], []
    for period, row in zip(periods, scores, strict=True):
        outcomes = round_robin(row, tolerance)
        ratings = rate_period(ratings, outcomes, tau)
        after.append(ratings)
        _check_sane(ratings, players, period, len(after), tau)
        results.append([(outcomes == point).sum(axis=1) for point in (1.0, 0.5, 0.0)])
    won, drawn, lost = np.array(results).transpose(1, 0, 2)
    return Season(
        rating=np.array([each.rating for each in after]),
        deviation=np.array([each.deviation for each in after]),
        volatility=np.array([each.volatility for each in after]),
        won=won,
        drawn=drawn,
        lost=lost,
    )


def best_first(rating: Floats) -> NDArray[np.intp]:
    """Positions of the players, the highest rating first."""
    return np.argsort(-np.round(rating, FINEST), kind="stable")


def ranks(rating: Floats) -> NDArray[np.intp]:
    """1 is best; who has the same rating has the same rank."""
    falling = np.sort(-np.round(rating, FINEST))
    return 1 + np.searchsorted(falling, -np.round(rating, FINEST))


def _check_sane(
    ratings: Ratings, players: Sequence[str], period: str, number: int, tau: float
) -> None:
    """Refuse ratings that ran away: many games that hang together drive Glicko-2 apart."""
    away = np.abs(ratings.rating - ratings.rating.mean())
    worst = int(np.argmax(away))
    if away[worst] <= FARTHEST_RATING:
        return
    raise InputError(
        f"The ratings ran away in period {number:,} ({period!r:.60}): {players[worst]!r:.60} "
        f"reached {ratings.rating[worst]:.3g}. Glicko-2 takes games for independent, but all "
        f"{len(players) - 1:,} games that a respondent plays on an item hang on one score, "
        f"and volatility answers as if they did not. Give a smaller tau, such as {tau / 10:.2g}, "
        "or fewer respondents."
    )
