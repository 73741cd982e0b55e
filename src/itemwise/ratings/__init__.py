"""Ratings from games: pure functions of arrays."""

from __future__ import annotations

from itemwise.ratings.glicko2 import (
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

__all__ = [
    "Games",
    "Ratings",
    "Season",
    "best_first",
    "new_players",
    "play",
    "ranks",
    "rate_period",
    "round_robin",
]
