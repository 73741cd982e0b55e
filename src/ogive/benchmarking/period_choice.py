"""Which periods rank the players as all periods do, by points, and how well a choice holds.

Points add up over periods in any order. The choice is greedy growth with exchanges (the floating
search of Pudil, Novovicova and Kittler, 1994), for many tables at once; it is judged by held-out
periods and players.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.glicko2 import round_robin
from ogive.stats.metrics import correlation, kendall, pair_signs, sign_agreement

LEVEL = 0.5  # share of points of who played no game: neither strong nor weak

BLOCK_CELLS = 1 << 20  # pairs of players over all candidates: 4 MiB of signs
NUDGE = 1e-6  # weight of the correlation, far below the least step of Kendall's tau
TRIES = 5  # of an exchange at each size; more takes longer and finds little more
LEAST_GAIN = 1e-12  # of an exchange: rounding must not make it go round in circles
LEAST_TO_SPLIT = 4  # players: two to choose for and two to judge by
SHUFFLES = 999  # with the table itself a thousand
ROUNDING = 1e-12


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
    """Return points of a round robin in every period, a row of `scores` each."""
    return points_within(scores, np.arange(scores.shape[1])[None], tolerance)[0]


def points_within(scores: Floats, groups: NDArray[np.intp], tolerance: float = 0.0) -> Points:
    """Return points in games inside each group, (n_groups, n_periods, size of a group).

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
    """Return points a game; sums of halves are exact, so that who has won equally much is level."""
    found: Floats = np.divide(won, games, out=np.full(np.shape(games), LEVEL), where=games > 0)
    return found


def grow(table: Points, largest: int) -> NDArray[np.intp]:
    """Return for each period the step at which it was taken, of the best set of each size.

    `table` holds (n_tables, n_periods, n_players). The answer is (largest, n_tables, n_periods):
    at position k - 1 the set of k periods, numbered from 1 in the order of choice (who comes in
    exchange takes the number), and 0 for those left out. The best agrees best with the ranking
    by all periods in Kendall's tau-b; among equals, in the correlation of the shares of points;
    then the first one counts.
    """
    n_tables, n_periods, n_players = table.won.shape
    cells = max(1, n_periods * n_players * (n_players - 1) // 2)
    found = np.zeros((largest, n_tables, n_periods), dtype=np.intp)
    for rows in row_blocks(n_tables, max(1, BLOCK_CELLS // cells)):
        search = _Search(table[rows])
        for size in range(1, largest + 1):
            search.add(size)
            search.exchange(size)
            found[size - 1, rows] = search.step
    return found


@dataclass(eq=False)
class _Search:
    """Sets of periods that grow, one for each table."""

    table: Points

    def __post_init__(self) -> None:
        n_tables, n_periods, n_players = self.table.won.shape
        self.step = np.zeros((n_tables, n_periods), dtype=np.intp)
        self.sums = Points(*(np.zeros((n_tables, n_players)) for _ in range(2)))
        self.worth = np.full(n_tables, -np.inf)
        self.target = self.table.share
        self.target_signs = pair_signs(self.target)

    def add(self, size: int) -> None:
        """Take the period that is best beside those taken before."""
        rows = np.arange(len(self.step))
        worth = self._worth(self.step > 0, self.sums, 1.0)
        taken = worth.argmax(axis=1)
        self.worth = worth[rows, taken]
        self.step[rows, taken] = size
        self.sums = _moved(self.sums, self.table[rows, taken], 1.0)

    def exchange(self, size: int) -> None:
        """Let go of the periods missed least, each in turn for a better one outside."""
        if not 1 < size < self.step.shape[1]:
            return
        rows = np.arange(len(self.step))
        missed = self._worth(self.step == 0, self.sums, -1.0)
        for place in np.argsort(-missed, axis=1, kind="stable").T[: min(size, TRIES)]:
            step = self.step.copy()
            step[rows, place] = 0
            sums = _moved(self.sums, self.table[rows, place], -1.0)
            worth = self._worth(step > 0, sums, 1.0)
            taken = worth.argmax(axis=1)
            step[rows, taken] = self.step[rows, place]
            sums = _moved(sums, self.table[rows, taken], 1.0)
            better = worth[rows, taken] > self.worth + LEAST_GAIN
            self.step[better], self.worth[better] = step[better], worth[rows, taken][better]
            self.sums.won[better], self.sums.games[better] = sums.won[better], sums.games[better]

    def _worth(self, barred: NDArray[np.bool_], sums: Points, sign: float) -> Floats:
        """Return how good each set is after the coming (1) or going (-1) of each period."""
        moved = _moved(sums[:, None], self.table, sign)
        shares = share(moved.won, moved.games)
        worth = sign_agreement(pair_signs(shares), self.target_signs[:, None])
        worth += NUDGE * correlation(shares, self.target[:, None])
        worth[barred] = -np.inf
        return worth


def _moved(sums: Points, by: Points, sign: float) -> Points:
    return Points(sums.won + sign * by.won, sums.games + sign * by.games)


@dataclass(frozen=True, eq=False)
class Halving:
    """Agreement with the ranking by the periods held out, in every split."""

    held_out: Floats  # (n_sizes, n_resamples); of the chosen part
    random: Floats  # (n_sizes, n_resamples); of a part chosen at random
    ceiling: Floats  # (n_resamples,); of all periods that could be chosen
    known: Floats  # as held_out, for players whose games were looked at when choosing
    known_ceiling: Floats  # as ceiling, for all players
    half: int  # periods that could be chosen
    tested: tuple[int, ...]  # how many of them were, for each size


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
        return Halving(known, by_lot, known_ceiling, known, known_ceiling, half, tuple(parts))
    groups = players[:, : n_players // 2], players[:, n_players // 2 :]
    one, other = (points_within(scores, group, tolerance) for group in groups)
    turns = _judged(one, other, places, half, parts), _judged(other, one, places, half, parts)
    held_out, by_lot, ceiling = (0.5 * (a + b) for a, b in zip(*turns, strict=True))
    return Halving(held_out, by_lot, ceiling, known, known_ceiling, half, tuple(parts))


def _in_proportion(size: int, half: int, n_periods: int) -> int:
    """How much of a half a size is of the whole; less than the whole is less than the half."""
    part = math.floor(size * half / n_periods + 0.5)
    return half if size == n_periods else min(max(1, part), max(1, half - 1))


def chance_of_ranking(table: Points, random_state: int) -> float:
    """Return how likely the shares of points lie so far apart where all players are equally strong.

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
