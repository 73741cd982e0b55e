"""Glicko-2, the rating system of Glickman (2012), for all players of a period at once.

A season is a sequence of rating periods, each played round robin. Glicko-2 takes games for
independent, but in a round robin all games of a player in a period depend on one score: with many
players, volatility answers as if each were news, and ratings end by following the last periods
only, or diverge. A smaller tau, which limits how fast volatility changes, prevents that; how small
it must be depends on the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive._progress import Pace, at_stage
from ogive.errors import InputError
from ogive.stats.array_backend import Floats, row_blocks

START_RATING, START_DEVIATION, START_VOLATILITY = 1500.0, 350.0, 0.06
REACH = 2.0  # deviations each way of Glickman's 95 % range
SCALE = 400.0 / math.log(10.0)  # rating points in one unit of the logistic scale
FARTHEST = 100.0  # lead on that scale beyond which the variance of a game underflows
PRECISION = 1e-10  # tolerance of the logarithm of a squared volatility
MAX_ITER = 200
ROUNDING = 1e-9  # rounding error of the sum of the two sides of a game
BLOCK_CELLS = 1 << 18  # cells of a table of games: 2 MiB per float array, which fits in the cache
FARTHEST_RATING = 100_000.0  # points from the mean; a thousand clear steps stay far below
FINEST = 6  # decimals of a rating that count in a rank: sums end in rounding
USUAL_TAU = 0.5
LEAST_TAU = 1e-4  # tau at which volatility hardly changes any more
MOST_GROWTH = 10.0  # factor of volatility above which a rating follows only the last periods


class RanAwayError(InputError):
    """Ratings diverged: volatility answered dependent games as if they were independent."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rating, deviation and volatility of each player."""

    rating: Floats  # (n_players,), as all that follow
    deviation: Floats
    volatility: Floats

    @property
    def low(self) -> Floats:
        """Lower end of the 95 % range: two deviations below the rating."""
        return self.rating - REACH * self.deviation

    @property
    def high(self) -> Floats:
        """Upper end of the 95 % range."""
        return self.rating + REACH * self.deviation


@dataclass(frozen=True, eq=False)
class Games:
    """A list of games: positions of player and opponent, and the score of the player."""

    player: NDArray[np.intp]  # (n_games,), as all that follow
    opponent: NDArray[np.intp]
    score: Floats  # 1 won, 0.5 drawn, 0 lost


def new_players(
    count: int,
    rating: float = START_RATING,
    deviation: float = START_DEVIATION,
    volatility: float = START_VOLATILITY,
) -> Ratings:
    """Return players without any game."""
    return Ratings(*(np.full(count, value) for value in (rating, deviation, volatility)))


def round_robin(scores: ArrayLike, tolerance: float = 0.0) -> Floats:
    """Return the outcomes of all games: 1 if the row scores higher, 0.5 if equal, 0 if lower.

    Scores at most `tolerance` apart are equal. A player whose score is NaN plays no game.
    """
    score = np.asarray(scores, dtype=np.float64)
    limit = 0.0
    if tolerance > 0:
        # 0.81 - 0.80 is a little more than 0.01 by rounding, but still a draw.
        limit = tolerance + 4.0 * np.spacing(np.fmax.reduce(np.abs(score), initial=0.0))
    lead = score[:, None] - score
    points = np.add(lead > limit, lead >= -limit, dtype=np.int8)  # two for a game won
    outcomes: Floats = 0.5 * points
    absent = np.isnan(score)
    outcomes[absent] = outcomes[:, absent] = np.nan
    np.fill_diagonal(outcomes, np.nan)
    return outcomes


def rate_period(ratings: Ratings, results: ArrayLike | Games, tau: float = 0.5) -> Ratings:
    """Return the ratings after one rating period, in which all games count as played at once.

    `results` is a table, (n_players, n_players), of what the row scored against the column, NaN if
    there was no game and anything on the diagonal; or a list of `Games`. `tau` limits how fast
    volatility changes. A player without games only becomes less certain.
    """
    _check(ratings, tau)
    mu = (ratings.rating - START_RATING) / SCALE
    phi = ratings.deviation / SCALE
    weight = 1.0 / np.sqrt(1.0 + 3.0 * phi**2 / math.pi**2)
    if isinstance(results, Games):
        surplus, information = _sums_of_games(mu, weight, _checked_games(results, mu.size))
    else:
        surplus, information = _sums_of_table(mu, weight, _checked_table(results, mu.size))
    played = information > 0
    volatility = ratings.volatility.copy()
    volatility[played] = _volatility(
        volatility[played], phi[played], surplus[played], information[played], tau
    )
    variance = 1.0 / (1.0 / (phi**2 + volatility**2) + information)
    return Ratings(
        rating=SCALE * (mu + variance * surplus) + START_RATING,
        deviation=SCALE * np.sqrt(variance),
        volatility=volatility,
    )


def _sums_of_table(mu: Floats, weight: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Return each player's weighted score beyond the expected one, and information on strength."""
    surplus, information = np.empty_like(mu), np.empty_like(mu)
    for rows in row_blocks(mu.size, max(1, BLOCK_CELLS // mu.size)):
        expected, variance = _expected(mu[rows, None] - mu, weight)
        beyond = outcomes[rows] - expected
        missing = np.isnan(beyond)
        beyond[missing] = 0.0
        variance[missing] = 0.0
        surplus[rows] = beyond @ weight
        information[rows] = variance @ weight**2
    return surplus, information


def _sums_of_games(mu: Floats, weight: Floats, games: Games) -> tuple[Floats, Floats]:
    """Return the sums of `_sums_of_table` from a list; each game counts for both players."""
    first = np.concatenate([games.player, games.opponent])
    second = np.concatenate([games.opponent, games.player])
    score = np.concatenate([games.score, 1.0 - games.score])
    expected, variance = _expected(mu[first] - mu[second], weight[second])
    beyond = weight[second] * (score - expected)
    surplus, information = (
        np.bincount(first, values, minlength=mu.size).astype(np.float64)  # without games: integers
        for values in (beyond, weight[second] ** 2 * variance)
    )
    return surplus, information


def _expected(lead: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return expected score of a game and its variance; both stay exact in the tails."""
    lead = np.clip(lead * weight, -FARTHEST, FARTHEST)
    odds = np.exp(-lead)
    expected = 1.0 / (1.0 + odds)
    return expected, odds * expected**2


def _volatility(
    volatility: Floats, phi: Floats, surplus: Floats, information: Floats, tau: float
) -> Floats:
    """Return the new volatility: the root of Glickman's f, by the Illinois method."""
    start = 2.0 * np.log(volatility)
    variance = 1.0 / information
    known = phi**2 + variance
    excess = (variance * surplus) ** 2 - known

    def f(x: Floats, at: Any = slice(None)) -> Floats:
        new = np.exp(x)
        pull = new * (excess[at] - new) / (2.0 * (known[at] + new) ** 2)
        value: Floats = pull - (x - start[at]) / tau**2
        return value

    # f changes its sign between `start` and the other end.
    surprised = excess > 0
    right = np.where(surprised, np.log(np.where(surprised, excess, 1.0)), start - tau)
    steps = 1
    while (low := ~surprised & (f(right) < 0)).any():
        steps += 1
        right[low] = start[low] - steps * tau
    left = start.copy()
    f_left, f_right = f(left), f(right)
    for _ in range(MAX_ITER):
        open_ = np.flatnonzero(np.abs(right - left) > PRECISION)
        if not open_.size:
            break
        a, b, f_a, f_b = left[open_], right[open_], f_left[open_], f_right[open_]
        new = a + (a - b) * f_a / (f_b - f_a)
        f_new = f(new, open_)
        crossed = f_new * f_b <= 0
        left[open_] = np.where(crossed, b, a)
        f_left[open_] = np.where(crossed, f_b, 0.5 * f_a)
        right[open_], f_right[open_] = new, f_new
    return np.asarray(np.exp(0.5 * left))


def _check(ratings: Ratings, tau: float) -> None:
    if not (math.isfinite(tau) and tau > 0):
        raise InputError(f"`tau` must be above 0, got {tau}. Glickman advises 0.3 to 1.2.")
    for name in ("rating", "deviation", "volatility"):
        values = getattr(ratings, name)
        if np.shape(values) != np.shape(ratings.rating) or np.ndim(values) != 1:
            raise InputError(
                f"{name} has shape {np.shape(values)}, but the ratings have "
                f"{np.shape(ratings.rating)}. Give one number per player in each."
            )
        if not np.isfinite(values).all() or (name != "rating" and (values <= 0).any()):
            raise InputError(
                f"{name} must hold finite numbers{'' if name == 'rating' else ' above 0'} only. "
                "Start players whom nobody knows with new_players(count)."
            )


def _checked_table(results: ArrayLike, count: int) -> Floats:
    outcomes = np.array(results, dtype=np.float64)
    if outcomes.shape != (count, count):
        raise InputError(
            f"results has shape {outcomes.shape}, but there are {count:,} players. "
            f"Give a table of {count:,} × {count:,}, or Games(player, opponent, score)."
        )
    np.fill_diagonal(outcomes, np.nan)
    _check_scores(outcomes)
    fair = np.abs(outcomes + outcomes.T - 1.0) <= ROUNDING
    if np.count_nonzero(fair) < np.count_nonzero(~np.isnan(outcomes)):
        row, column = np.argwhere(~fair & ~np.isnan(outcomes))[0]
        raise InputError(
            f"results[{row}, {column}] is {outcomes[row, column]:g} and "
            f"results[{column}, {row}] is {outcomes[column, row]:g}, but the two sides of a game "
            "share one point: 1 and 0, or 0.5 each. Use NaN for both where there was no game."
        )
    return outcomes


def _checked_games(games: Games, count: int) -> Games:
    player, opponent = np.asarray(games.player), np.asarray(games.opponent)
    score = np.asarray(games.score, dtype=np.float64)
    if not player.shape == opponent.shape == score.shape == (score.size,):
        raise InputError(
            f"Games has {player.size:,} players, {opponent.size:,} opponents and {score.size:,} "
            "scores, but each game has one of each. Give three lists of one length."
        )
    for places in (player, opponent):
        if places.size and (
            places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= count
        ):
            raise InputError(
                f"Games names players by position, a whole number from 0 to {count - 1:,}. "
                "Correct the positions."
            )
    if (player == opponent).any():
        raise InputError("A player cannot play a game against itself. Leave that game out.")
    if np.isnan(score).any():
        raise InputError("A game has no score. Leave games out that were not played.")
    _check_scores(score)
    return Games(player.astype(np.intp), opponent.astype(np.intp), score)


def _check_scores(score: Floats) -> None:
    low, high = (f.reduce(score, axis=None, initial=0.5) for f in (np.fmin, np.fmax))
    if low < 0 or high > 1:
        raise InputError(
            f"A game scores {low if low < 0 else high:g}, but a score is from 0 (lost) to 1 (won). "
            "Correct it."
        )


@dataclass(frozen=True, eq=False)
class Season:
    """Ratings after every period, and the outcomes of its games."""

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

    Scores at most `tolerance` apart are a draw; a player without a score (NaN) does not play.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"`tolerance` must be 0 or above, got {tolerance}.")
    ratings = new_players(len(players)) if start is None else start
    after: list[Ratings] = []
    results, pace = [], Pace()
    for period, row in zip(periods, scores, strict=True):
        at_stage(pace.describe(len(after), len(periods), "periods"))
        outcomes = round_robin(row, tolerance)
        ratings = rate_period(ratings, outcomes, tau)
        after.append(ratings)
        _check_finite(ratings, players, f"{len(after):,} ({period!r:.60})", tau)
        results.append([(outcomes == point).sum(axis=1) for point in (1.0, 0.5, 0.0)])
    won, drawn, lost = np.array(results).transpose(1, 0, 2)
    names = ("rating", "deviation", "volatility")
    history = {name: np.array([getattr(each, name) for each in after]) for name in names}
    return Season(**history, won=won, drawn=drawn, lost=lost)


def best_first(rating: Floats) -> NDArray[np.intp]:
    """Return positions of the players, the highest rating first."""
    return np.argsort(-np.round(rating, FINEST), kind="stable")


def ranks(rating: Floats) -> NDArray[np.intp]:
    """Return ranks, 1 for the best; equal ratings have equal ranks."""
    falling = -np.round(rating, FINEST)
    return 1 + np.searchsorted(np.sort(falling), falling)


def _check_finite(ratings: Ratings, players: Sequence[str], period: str, tau: float) -> None:
    """Raise RanAwayError if dependent games have driven the ratings apart."""
    distance = np.abs(ratings.rating - ratings.rating.mean())
    worst = int(np.argmax(distance))
    if distance[worst] <= FARTHEST_RATING:
        return
    raise RanAwayError(
        f"The ratings ran away in period {period}: {players[worst]!r:.60} "
        f"reached {ratings.rating[worst]:.3g}. Glicko-2 takes games for independent, but all "
        f"{len(players) - 1:,} games that a respondent plays on an item hang on one score, "
        f"and volatility answers as if they did not. Give a smaller tau, such as {tau / 10:.2g}, "
        "or fewer respondents."
    )


def play_steadily(
    scores: Floats,
    players: Sequence[str],
    periods: Sequence[str],
    *,
    tolerance: float,
    tau: float | None,
    start: Ratings,
) -> tuple[Season, float]:
    """Return a season and its tau: the one given, or the usual one, halved until steady."""

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
    """Return True for players whose volatility grew more than `MOST_GROWTH` times."""
    return np.asarray(ratings.volatility > MOST_GROWTH * start.volatility)
