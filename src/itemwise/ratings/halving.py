"""What a choice of periods is worth, judged by periods and players that had no say in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.rankings import kendall
from itemwise.ratings.points import Points, points_within
from itemwise.ratings.selection import grow

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

LEAST_TO_SPLIT = 4  # players: two to choose for and two to judge by
SHUFFLES = 999  # with the table itself a thousand
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Halving:
    """Agreement with the ranking by the periods held out, in every split."""

    held_out: Floats  # (n_sizes, n_resamples); of the chosen part
    random: Floats  # (n_sizes, n_resamples); of a part drawn by lot
    ceiling: Floats  # (n_resamples,); of all periods that could be chosen
    known: Floats  # as held_out, for players whose games were looked at when choosing
    known_ceiling: Floats  # as ceiling, for all players


def judge_by_halves(
    scores: Floats,
    sizes: Sequence[int],
    *,
    tolerance: float,
    n_resamples: int,
    random_state: int,
) -> Halving:
    """Split periods and players into halves, choose on one and judge by the other.

    Each size stands for its share of all periods: half of them is half of a half. The halves of
    the players take turns, and the mean of both turns counts. With fewer than four players,
    periods alone are split.
    """
    n_periods, n_players = scores.shape
    half = (n_periods + 1) // 2
    parts = [_in_proportion(k, half, n_periods) for k in sizes]
    random = np.random.default_rng(random_state)
    places = np.array([random.permutation(n_periods) for _ in range(n_resamples)])
    players = np.array([random.permutation(n_players) for _ in range(n_resamples)])
    everyone = points_within(scores, players, tolerance)
    known, by_lot, known_ceiling = _judged(everyone, everyone, places, half, parts)
    if n_players < LEAST_TO_SPLIT:
        return Halving(known, by_lot, known_ceiling, known, known_ceiling)
    groups = players[:, : n_players // 2], players[:, n_players // 2 :]
    one, other = (points_within(scores, group, tolerance) for group in groups)
    turns = _judged(one, other, places, half, parts), _judged(other, one, places, half, parts)
    held_out, by_lot, ceiling = (0.5 * (a + b) for a, b in zip(*turns, strict=True))
    return Halving(held_out, by_lot, ceiling, known, known_ceiling)


def _in_proportion(size: int, half: int, n_periods: int) -> int:
    """How much of a half a size is of the whole; less than the whole is less than the half."""
    part = math.floor(size * half / n_periods + 0.5)
    return half if size == n_periods else min(max(1, part), max(1, half - 1))


def chance_of_ranking(table: Points, random_state: int) -> float:
    """How likely the shares of points lie so far apart where all players are equally strong.

    The points of each period are shuffled among those who played it, as in an exact form of
    Friedman's test.
    """
    random = np.random.default_rng(random_state)
    won = np.repeat(table.won[None], SHUFFLES, axis=0)
    for period, there in enumerate(table.games > 0):
        won[:, period, there] = random.permuted(won[:, period, there], axis=1)
    games = np.broadcast_to(table.games, won.shape)
    spread, seen = Points(won, games).share.var(axis=1), table.share.var()
    return float((1 + np.count_nonzero(spread >= seen - ROUNDING)) / (1 + SHUFFLES))


def _judged(
    choosing: Points, judging: Points, places: NDArray[np.intp], half: int, parts: list[int]
) -> tuple[Floats, Floats, Floats]:
    """Choose by the games of some players; see how the choice ranks others."""
    rows = np.arange(len(places))[:, None]
    steps = grow(choosing[rows, places[:, :half]], max(parts))
    first, judge = judging[rows, places[:, :half]], judging[rows, places[:, half:]].share
    chosen, by_lot = [], []
    for part in parts:
        taken = (steps[part - 1] > 0)[:, :, None]
        chosen.append(kendall(Points(first.won * taken, first.games * taken).share, judge))
        # The periods stand in random order already.
        by_lot.append(kendall(first[:, :part].share, judge))
    return np.array(chosen), np.array(by_lot), kendall(first.share, judge)
