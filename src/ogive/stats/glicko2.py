"""Glicko-2 ratings, seasons, bounded volatility.

Glicko-2, the rating system of Glickman (2012), for all players of a period at once.

A season is a sequence of rating periods, each played round robin.

Seasons whose volatility stays within bounds, however many players there are.

Glicko-2 takes games for independent. In a round robin, all games of a player in a period hang on
one score: with many players, volatility answers as if each were news, and ratings end by following
the last periods only, or run away. A smaller tau, which limits how fast volatility changes, mends
that; how small it must be depends on the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive._progress import Pace, at_stage
from ogive.errors import InputError
from ogive.stats.array_backend import row_blocks

if TYPE_CHECKING:
    from ogive.stats.array_backend import Floats


START_RATING, START_DEVIATION, START_VOLATILITY = 1500.0, 350.0, 0.06
REACH = 2.0  # deviations each way: Glickman's 95 % range
SCALE = 400.0 / math.log(10.0)  # rating points in one unit of the logistic scale
FARTHEST = 100.0  # on that scale; beyond it, the variance of a game is no longer a number
PRECISION = 1e-10  # of the logarithm of a squared volatility
MOST_STEPS = 200
ROUNDING = 1e-9  # by which the two sides of a game may miss one point
BLOCK_CELLS = 1 << 18  # of a table of games: 2 MiB a float array, which stays in the cache


@dataclass(frozen=True, eq=False)
class Ratings:
    """How strong each player is, how surely, and how erratic."""

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
    """A list of games: who played whom, by position, and what the first of the two scored."""

    player: NDArray[np.intp]  # (n_games,), as all that follow
    opponent: NDArray[np.intp]
    score: Floats  # 1 won, 0.5 drawn, 0 lost


def new_players(
    count: int,
    rating: float = START_RATING,
    deviation: float = START_DEVIATION,
    volatility: float = START_VOLATILITY,
) -> Ratings:
    """Return players of whom nothing is known."""
    return Ratings(*(np.full(count, value) for value in (rating, deviation, volatility)))


def round_robin(scores: ArrayLike, tolerance: float = 0.0) -> Floats:
    """Everyone against everyone: 1 where the row scores higher, 0.5 where equal, 0 where lower.

    Scores at most `tolerance` apart are equal. A player whose score is NaN plays no game.
    """
    score = np.asarray(scores, dtype=np.float64)
    limit = 0.0
    if tolerance > 0:
        # 0.81 - 0.80 is a little more than 0.01; what rounding added is not held against a draw.
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

    `results` is a table, (n_players, n_players), of what the row scored against the column, NaN
    where there was no game and anything on the diagonal; or a list of `Games`. `tau` bounds
    how fast volatility changes. A player without games only grows less sure.
    """
    _check(ratings, tau)
    mu = (ratings.rating - START_RATING) / SCALE
    phi = ratings.deviation / SCALE
    weight = 1.0 / np.sqrt(1.0 + 3.0 * phi**2 / math.pi**2)
    count = mu.size
    if isinstance(results, Games):
        surplus, information = _of_games(mu, weight, _checked_games(results, count))
    else:
        surplus, information = _of_table(mu, weight, _checked_table(results, count))
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


def _of_table(mu: Floats, weight: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Of each player: weighted score beyond the expected one, and information on its strength."""
    surplus, information = np.empty_like(mu), np.empty_like(mu)
    for rows in row_blocks(mu.size, max(1, BLOCK_CELLS // mu.size)):
        expected, spread = _expected(mu[rows, None] - mu, weight)
        beyond = outcomes[rows] - expected
        missing = np.isnan(beyond)
        beyond[missing] = 0.0
        spread[missing] = 0.0
        surplus[rows] = beyond @ weight
        information[rows] = spread @ weight**2
    return surplus, information


def _of_games(mu: Floats, weight: Floats, games: Games) -> tuple[Floats, Floats]:
    """Return the same, from a list; each game counts for both who played it."""
    first = np.concatenate([games.player, games.opponent])
    second = np.concatenate([games.opponent, games.player])
    score = np.concatenate([games.score, 1.0 - games.score])
    expected, spread = _expected(mu[first] - mu[second], weight[second])
    beyond = weight[second] * (score - expected)
    surplus, information = (
        np.bincount(first, values, minlength=mu.size).astype(np.float64)  # of no games: integers
        for values in (beyond, weight[second] ** 2 * spread)
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
    """Return glickman's step 5: the root of f by the Illinois variant of false position."""
    start = 2.0 * np.log(volatility)
    variance = 1.0 / information
    known = phi**2 + variance
    excess = (variance * surplus) ** 2 - known

    def f(x: Floats, at: Any = slice(None)) -> Floats:
        new = np.exp(x)
        pull = new * (excess[at] - new) / (2.0 * (known[at] + new) ** 2)
        value: Floats = pull - (x - start[at]) / tau**2
        return value

    left, right = start.copy(), _other_end(f, start, excess, tau)
    f_left, f_right = f(left), f(right)
    for _ in range(MOST_STEPS):
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
    found: Floats = np.exp(0.5 * left)
    return found


def _other_end(f: Any, start: Floats, excess: Floats, tau: float) -> Floats:
    """Return a point on the other side of the root: f falls from there to `start`, or back."""
    surprised = excess > 0
    end = np.where(surprised, np.log(np.where(surprised, excess, 1.0)), start - tau)
    steps = 1
    while (low := ~surprised & (f(end) < 0)).any():
        steps += 1
        end[low] = start[low] - steps * tau
    return end


def _check(ratings: Ratings, tau: float) -> None:
    if not (math.isfinite(tau) and tau > 0):
        raise InputError(f"tau is {tau}, but it must be above 0. Glickman advises 0.3 to 1.2.")
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


class RanAwayError(InputError):
    """Ratings that ran away: volatility answered games that hang together as if they did not."""


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
    after: list[Ratings] = []
    results, pace = [], Pace()
    for period, row in zip(periods, scores, strict=True):
        at_stage(pace.describe(len(after), len(periods), "periods"))
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
    """Return positions of the players, the highest rating first."""
    return np.argsort(-np.round(rating, FINEST), kind="stable")


def ranks(rating: Floats) -> NDArray[np.intp]:
    """Return 1 is best; who has the same rating has the same rank."""
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
    raise RanAwayError(
        f"The ratings ran away in period {number:,} ({period!r:.60}): {players[worst]!r:.60} "
        f"reached {ratings.rating[worst]:.3g}. Glicko-2 takes games for independent, but all "
        f"{len(players) - 1:,} games that a respondent plays on an item hang on one score, "
        f"and volatility answers as if they did not. Give a smaller tau, such as {tau / 10:.2g}, "
        "or fewer respondents."
    )


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
    """Return whose volatility grew out of proportion."""
    return np.asarray(ratings.volatility > MOST_GROWTH * start.volatility)
