"""Choose periods that rank the players as all periods do, and judge the choice by held-out ones.

Points add up over periods in any order. Sets of periods grow greedily, with exchanges (the floating
search of Pudil, Novovicova and Kittler, 1994), for many tables at once.
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

LEVEL = 0.5  # share of points of a player without a game: neither strong nor weak
BLOCK_CELLS = 1 << 20  # pairs of players over all candidates at once: 4 MiB of signs
NUDGE = 1e-6  # weight of the correlation, far below the least step of Kendall's tau
TRIES = 5  # number of exchanges tried at each size; more takes longer and finds little more
LEAST_GAIN = 1e-12  # least gain of an exchange: rounding must not make it go round in circles
LEAST_TO_SPLIT = 4  # least number of players to split: two to choose for and two to judge by
SHUFFLES = 999  # number of shuffled tables; with the table itself a thousand
ROUNDING = 1e-12  # differences of variances that are rounding errors


@dataclass(frozen=True, eq=False)
class Points:
    """What each player won in each period, and in how many games."""

    won: Floats  # (..., n_periods, n_players); a draw is half a point
    games: Floats  # the same shape

    def __getitem__(self, at: Any) -> Points:
        return Points(self.won[at], self.games[at])

    @property
    def share(self) -> Floats:
        """Share of points in all games of each player; half for a player without a game."""
        return _share(self.won.sum(axis=-2), self.games.sum(axis=-2))

    def plus(self, other: Points, sign: float = 1.0) -> Points:
        """Return these points with others added, or taken away if `sign` is -1."""
        return Points(self.won + sign * other.won, self.games + sign * other.games)


def points(scores: Floats, tolerance: float = 0.0) -> Points:
    """Return the points of a round robin in every period; `scores` has one row per period."""
    return points_within(scores, np.arange(scores.shape[1])[None], tolerance)[0]


def points_within(scores: Floats, groups: NDArray[np.intp], tolerance: float = 0.0) -> Points:
    """Return the points in games inside each group, (n_groups, n_periods, size of a group).

    `groups` holds the positions of the players of each group, (n_groups, size).
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"`tolerance` must be 0 or above, got {tolerance}.")
    shape = (len(groups), len(scores), groups.shape[1])
    won, games = np.zeros(shape), np.zeros(shape)
    for period, row in enumerate(scores):
        outcomes = round_robin(row, tolerance)[groups[:, :, None], groups[:, None, :]]
        won[:, period] = np.nansum(outcomes, axis=-1)
        games[:, period] = (~np.isnan(outcomes)).sum(axis=-1)
    return Points(won, games)


def _share(won: Floats, games: Floats) -> Floats:
    """Return points per game; sums of halves are exact, so equal points give equal shares."""
    return np.asarray(np.divide(won, games, out=np.full(np.shape(games), LEVEL), where=games > 0))


def grow(table: Points, largest: int) -> NDArray[np.intp]:
    """Return for each period the step at which it was taken, for the best set of each size.

    `table` holds (n_tables, n_periods, n_players). The result is (largest, n_tables, n_periods):
    at position k - 1 the set of k periods, numbered from 1 in the order of choice (a period that
    replaces another takes its number), and 0 for those left out. The best set agrees best with the
    ranking by all periods in Kendall's tau-b; among equals, in the correlation of the shares of
    points; then the first one counts.
    """
    n_tables, n_periods, n_players = table.won.shape
    cells = max(1, n_periods * n_players * (n_players - 1) // 2)
    steps = np.zeros((largest, n_tables, n_periods), dtype=np.intp)
    for rows in row_blocks(n_tables, max(1, BLOCK_CELLS // cells)):
        search = _Search(table[rows])
        for size in range(1, largest + 1):
            search.add(size)
            search.exchange(size)
            steps[size - 1, rows] = search.step
    return steps


class _Search:
    """Sets of periods that grow, one for each table."""

    def __init__(self, table: Points) -> None:
        n_tables, n_periods, n_players = table.won.shape
        self.table = table
        self.step = np.zeros((n_tables, n_periods), dtype=np.intp)
        self.sums = Points(*(np.zeros((n_tables, n_players)) for _ in range(2)))
        self.value = np.full(n_tables, -np.inf)
        self.target = table.share
        self.target_signs = pair_signs(self.target)
        self.rows = np.arange(n_tables)

    def add(self, size: int) -> None:
        """Take the period that is best together with those taken before."""
        value = self._values(self.step > 0, self.sums, 1.0)
        best = value.argmax(axis=1)
        self.value = value[self.rows, best]
        self.step[self.rows, best] = size
        self.sums = self.sums.plus(self.table[self.rows, best])

    def exchange(self, size: int) -> None:
        """Drop the periods missed least, each in turn, if a better one is outside the set."""
        if not 1 < size < self.step.shape[1]:
            return
        rows = self.rows
        without = self._values(self.step == 0, self.sums, -1.0)
        for dropped in np.argsort(-without, axis=1, kind="stable").T[: min(size, TRIES)]:
            step = self.step.copy()
            step[rows, dropped] = 0
            sums = self.sums.plus(self.table[rows, dropped], -1.0)
            value = self._values(step > 0, sums, 1.0)
            best = value.argmax(axis=1)
            step[rows, best] = self.step[rows, dropped]
            sums = sums.plus(self.table[rows, best])
            better = value[rows, best] > self.value + LEAST_GAIN
            self.step[better], self.value[better] = step[better], value[rows, best][better]
            self.sums.won[better], self.sums.games[better] = sums.won[better], sums.games[better]

    def _values(self, barred: NDArray[np.bool_], sums: Points, sign: float) -> Floats:
        """Return how good each set is after adding (1) or removing (-1) each period."""
        moved = sums[:, None].plus(self.table, sign)
        shares = _share(moved.won, moved.games)
        value = sign_agreement(pair_signs(shares), self.target_signs[:, None])
        value += NUDGE * correlation(shares, self.target[:, None])
        value[barred] = -np.inf
        return value


@dataclass(frozen=True, eq=False)
class Halving:
    """Agreement with the ranking by the periods held out, in every split."""

    held_out: Floats  # (n_sizes, n_resamples); of the chosen part
    random: Floats  # (n_sizes, n_resamples); of a part chosen at random
    ceiling: Floats  # (n_resamples,); of all periods that could be chosen
    known: Floats  # as held_out, for players whose games were used to choose
    known_ceiling: Floats  # as ceiling, for all players
    half: int  # periods that could be chosen
    tested: tuple[int, ...]  # how many of them were, for each size


def judge_by_halves(
    scores: Floats, sizes: Sequence[int], *, tolerance: float, n_resamples: int, random_state: int
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
    periods = np.array([random.permutation(n_periods) for _ in range(n_resamples)])
    players = np.array([random.permutation(n_players) for _ in range(n_resamples)])
    everyone = points_within(scores, players, tolerance)
    known, at_random, known_ceiling = _agreements(everyone, everyone, periods, half, parts)
    held_out, ceiling = known, known_ceiling
    if n_players >= LEAST_TO_SPLIT:
        groups = players[:, : n_players // 2], players[:, n_players // 2 :]
        one, other = (points_within(scores, group, tolerance) for group in groups)
        turns = (
            _agreements(one, other, periods, half, parts),
            _agreements(other, one, periods, half, parts),
        )
        held_out, at_random, ceiling = (0.5 * (a + b) for a, b in zip(*turns, strict=True))
    return Halving(held_out, at_random, ceiling, known, known_ceiling, half, tuple(parts))


def _in_proportion(size: int, half: int, n_periods: int) -> int:
    """Return the part of a half that a size is of the whole; a smaller size is a smaller part."""
    part = math.floor(size * half / n_periods + 0.5)
    return half if size == n_periods else min(max(1, part), max(1, half - 1))


def chance_of_ranking(table: Points, random_state: int) -> float:
    """Return the p-value of the hypothesis that all players are equally strong.

    The statistic is the variance of the shares of points. The points of each period are shuffled
    among those who played it, as in an exact form of Friedman's test.
    """
    random = np.random.default_rng(random_state)
    won = np.repeat(table.won[None], SHUFFLES, axis=0)
    for period, playing in enumerate(table.games > 0):
        won[:, period, playing] = random.permuted(won[:, period, playing], axis=1)
    games = np.broadcast_to(table.games, won.shape)
    spread, observed = Points(won, games).share.var(axis=1), table.share.var()
    return float((1 + np.count_nonzero(spread >= observed - ROUNDING)) / (1 + SHUFFLES))


def _agreements(
    choosing: Points, judging: Points, periods: NDArray[np.intp], half: int, parts: list[int]
) -> tuple[Floats, Floats, Floats]:
    """Choose by the games of some players, and compare with the ranking of others."""
    rows = np.arange(len(periods))[:, None]
    steps = grow(choosing[rows, periods[:, :half]], max(parts))
    first, judge = judging[rows, periods[:, :half]], judging[rows, periods[:, half:]].share
    chosen, at_random = [], []
    for part in parts:
        taken = (steps[part - 1] > 0)[:, :, None]
        chosen.append(kendall(Points(first.won * taken, first.games * taken).share, judge))
        at_random.append(kendall(first[:, :part].share, judge))  # in random order already
    return np.array(chosen), np.array(at_random), kendall(first.share, judge)
