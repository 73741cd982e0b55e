"""Ratings from games: pure functions of arrays."""

from __future__ import annotations

from ogive.ratings.glicko2 import (
    Games,
    Ratings,
    Season,
    best_first,
    new_players,
    play,
    ranks,
    rate_period,
    round_robin,
)
from ogive.ratings.steady_seasons import USUAL_TAU, erratic, play_steadily

__all__ = [
    "USUAL_TAU",
    "Games",
    "Ratings",
    "Season",
    "best_first",
    "erratic",
    "new_players",
    "play",
    "play_steadily",
    "ranks",
    "rate_period",
    "round_robin",
]
