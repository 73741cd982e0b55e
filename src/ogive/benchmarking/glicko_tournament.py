"""Glicko-2 round robin, one period per item.

In which order a tournament plays its items: as given, by name, or by rising values.

A tournament of respondents: every item is a rating period of Glicko-2, played round robin.

In the paper that rates classifiers in this way, true scores on data sets decide the games. The
order of the data sets matters, because a rating forgets.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.benchmarking import GIVEN
from ogive.data.responses import Table
from ogive.data.study_tables import are_marks, rivals, said_of_marks
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, repeated, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.algorithm_curves import BumpDisplay
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.glicko2 import (
    FINEST,
    MOST_GROWTH,
    REACH,
    START_DEVIATION,
    START_RATING,
    START_VOLATILITY,
    USUAL_TAU,
    Ratings,
    best_first,
    erratic,
    new_players,
    play_steadily,
    ranks,
)
from ogive.stats.linked_parts import Parts, linked_parts
from ogive.stats.pairwise_tests import ALPHA, differences_of_games

__all__ = ["Tournament", "tournament"]


# Names in the order of play, or a value for each name (played lowest first).
Order: TypeAlias = "str | Sequence[str] | Mapping[str, float] | pd.Series[float] | None"


def played(order: Order, items: tuple[str, ...]) -> list[int]:
    """Return positions of the items in the order of play."""
    if order is None or (isinstance(order, str) and order == GIVEN):
        return list(range(len(items)))
    if isinstance(order, str):
        raise InputError(
            f"order is {order!r}, but the table holds only scores. Give a list of item names, or a "
            f"value for each item: order=frame[{order!r}], whose index names the items."
        )
    named: Any = order
    if hasattr(named, "items") and callable(named.items):
        return _sorted_by({str(name): value for name, value in named.items()}, len(named), items)
    names = [str(name) for name in named]
    if not names:
        raise InputError("order is empty. Name at least one item to play.")
    _check_known(names, items)
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"order names {twice!r} more than once. Each item is played once.")
    place = {name: k for k, name in enumerate(items)}
    return [place[name] for name in names]


def _sorted_by(value: Mapping[str, Any], given: int, items: tuple[str, ...]) -> list[int]:
    """Return positions of the items by rising value; ties in the order of the table."""
    if len(value) < given:
        raise InputError("order gives an item more than one value. Give one value per item.")
    if not set(value) & set(items):
        _check_known(list(value) or [""], items)
    lacking = [name for name in items if name not in value]
    if lacking:
        raise InputError(
            f"order has no value for {listed(lacking, 'item')}. Give one for each, or leave "
            "those items out of the scores."
        )
    try:
        keys = np.array([value[name] for name in items], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"order should give numbers, but: {error}.") from error
    if np.isnan(keys).any():
        missing = [name for name, key in zip(items, keys, strict=True) if np.isnan(key)]
        raise InputError(
            f"order gives NaN for {listed(missing, 'item')}. Give a number, or leave these items "
            "out of the scores."
        )
    return [int(k) for k in np.argsort(keys, kind="stable")]


def _check_known(names: Sequence[str], items: tuple[str, ...]) -> None:
    known = set(items)
    unknown = [name for name in names if name not in known]
    if unknown:
        alike = difflib.get_close_matches(unknown[0], items[:10_000], n=1)
        hint = f" Did you mean {alike[0]!r}?" if alike else ""
        raise InputError(
            f"order names {unknown[0]!r:.80}, which is not an item of the scores.{hint} "
            f"They are: {', '.join(items[:5])}{', ...' if len(items) > 5 else ''}."
        )


RANKS_SEE_MORE = (
    "A comparison of mean ranks (Friedman and Nemenyi) also uses how many others lie between two, "
    "so it may find two different that their games alone do not."
)


@dataclass(frozen=True, eq=False, repr=False)
class Tournament(Result):
    """Ratings of respondents after a tournament.

    `rating`, `deviation` and `volatility` hold one row per period, in the order of `items`; the
    last row is the outcome. The 95 % range is two rating deviations each way. Glicko-2 treats the
    games of a period as independent, but games on one item are correlated, so ranges are narrower
    than the variation over other choices of items.
    """

    respondents: tuple[str, ...]
    items: tuple[str, ...]  # in the order of play
    scores: Floats  # (n_items, n_respondents), as all that follow
    rating: Floats
    deviation: Floats
    volatility: Floats
    won: NDArray[np.intp]
    drawn: NDArray[np.intp]
    lost: NDArray[np.intp]
    tolerance: float
    tau: float
    unit: str = "item"  # what an item is called in sentences
    notes: tuple[str, ...] = ()

    @property
    def final(self) -> Ratings:
        """The ratings after the last period."""
        return Ratings(self.rating[-1], self.deviation[-1], self.volatility[-1])

    @cached_property
    def part(self) -> Parts:
        """The part of each respondent; above 0 for those whom no game links to the first part."""
        return linked_parts(~np.isnan(self.scores.T))[0]

    @cached_property
    def marks(self) -> NDArray[np.bool_]:
        """Which respondents are artificial: they play as marks on the scale, and win nothing."""
        return are_marks(self.respondents)

    @cached_property
    def _rivals(self) -> NDArray[np.bool_]:
        """Who may lead: the respondents of the largest part that are no marks."""
        return np.asarray((self.part == 0) & ~self.marks)

    @property
    def _first(self) -> int:
        """Position of the leader."""
        return next(int(k) for k in best_first(self.rating[-1]) if self._rivals[k])

    @property
    def leader(self) -> str:
        """The respondent with the highest rating, of the largest part if no game links them all."""
        return self.respondents[self._first]

    @property
    def leaders(self) -> tuple[str, ...]:
        """The leader; or all that share the first place, with equal points in the same games.

        Ratings forget, so that of two with equal points the later one to win is rated higher.
        """
        return tuple(self.respondents[k] for k in np.flatnonzero(self._leading))

    @cached_property
    def _leading(self) -> NDArray[np.bool_]:
        """Who shares the first place."""
        first, points = self._first, self.won + 0.5 * self.drawn
        played = ~np.isnan(self.scores)
        same = (played == played[:, [first]]).all(axis=0)
        equal = points.sum(axis=0) == points[:, first].sum()
        rating = np.round(self.rating[-1], FINEST)
        tied: NDArray[np.bool_] = (self._level & same & equal) | (
            (rating == rating[first]) & self._rivals
        )
        tied[first] = True
        return tied

    @property
    def _placing(self) -> Floats:
        """What places respondents: final ratings, of all that share the first place the highest."""
        final = self.rating[-1]
        found: Floats = np.where(self._leading, final[self._first], final)
        return found

    @property
    def level_with_leader(self) -> tuple[str, ...]:
        """The respondents that are not significantly behind the leader, best first."""
        level = self._level
        return tuple(self.respondents[k] for k in self._order if level[k])

    @property
    def _order(self) -> NDArray[np.intp]:
        """Positions of the respondents, part by part, the best of each first; marks come last."""
        first = best_first(self._placing)
        return first[np.lexsort((self.part[first], self.marks[first]))]

    @cached_property
    def _level(self) -> NDArray[np.bool_]:
        """Who is not significantly behind the leader by the games of the two.

        Games on one item are correlated, so that the ranges of Glicko-2 are too narrow to tell.
        """
        mine = np.flatnonzero(self._rivals)
        tested = differences_of_games(self.scores.T[mine], self.tolerance)
        level = np.zeros(len(self.respondents), dtype=bool)
        level[mine] = tested.level_with(int(np.searchsorted(mine, self._first)))
        return level

    @property
    def meaning(self) -> str:
        """Who leads, and who is not significantly behind."""
        final, first = self.final, self._first
        rivals, leaders = int(self._rivals.sum()), self.leaders
        played = f"After {counted(len(self.items), 'period')}"
        if self.part.any():
            played += f", in the largest of {self.part.max() + 1} parts that no game links"
        if len(leaders) == rivals:
            return f"{played}, nobody leads: all {rivals:,} have won equally much."
        text = (
            f"{played}, {self.leader} leads with a rating of {final.rating[first]:.0f} "
            f"(95 % range {final.low[first]:.0f} to {final.high[first]:.0f})"
        )
        if len(leaders) > 1:
            text = (
                f"{played}, nobody leads: {who_has(leaders)} the first place, with equal points in "
                "the same games"
            )
        level = tuple(name for name in self.level_with_leader if name not in leaders)
        if not level and len(leaders) > 1:
            return f"{text}; {counted(rivals - len(leaders), 'other')} won significantly less."
        if not level:
            others = counted(rivals - 1, "other")
            return f"{text}, and won significantly more of its games against each of {others}."
        uncertain = ", so the lead is uncertain" if len(leaders) == 1 else ""
        if self._too_few(rivals):
            games, behind = counted(len(self.items), "game"), rivals - len(leaders)
            whom = "it" if len(leaders) == 1 else "them"
            return (
                f"{text}; the {games} between two, taken alone, are too few to distinguish {whom} "
                f"from any of {counted(behind, 'rival')}{uncertain}."
            )
        return (
            f"{text}; by their games against {'it' if len(leaders) == 1 else self.leader}, "
            f"{listed(level, 'other')} "
            f"{'is' if len(level) == 1 else 'are'} not significantly behind{uncertain}."
        )

    def _too_few(self, rivals: int) -> bool:
        """Whether even who won all games against another would not be significantly ahead."""
        return 2.0 ** (1 - len(self.items)) * rivals * (rivals - 1) / 2 > ALPHA

    def to_frame(self) -> pd.DataFrame:
        """One row per respondent, the best first; who is not significantly behind it is `level`.

        Where no game links all of them, `part` numbers the parts, and ranks hold within each.
        Artificial respondents are marks on the scale: they have no rank, and come last.
        """
        final = self.final
        columns = {
            **({"part": self.part + 1} if self.part.any() else {}),
            "rank": self._column(self._ranks(self._placing)),
            "rating": final.rating,
            "low": final.low,
            "high": final.high,
            "deviation": final.deviation,
            "volatility": final.volatility,
            "won": self.won.sum(axis=0),
            "drawn": self.drawn.sum(axis=0),
            "lost": self.lost.sum(axis=0),
            "level": self._level | (np.arange(len(self.respondents)) == self._first),
            **({"artificial": self.marks} if self.marks.any() else {}),
        }
        frame = pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))
        return frame.iloc[self._order]

    def _column(self, found: list[int | None]) -> Any:
        """Return ranks as a column: whole numbers, with gaps where there are marks."""
        return pd.array(found, dtype="Int64") if self.marks.any() else np.array(found)

    def _ranks(self, rating: Floats) -> list[int | None]:
        """Return ranks within each part by a rating; None for marks."""
        found = np.zeros(rating.size, dtype=np.intp)
        for k in range(int(self.part.max()) + 1):
            mine = (self.part == k) & ~self.marks
            found[mine] = ranks(rating[mine])
        return [int(rank) or None for rank in found]

    def history(self) -> pd.DataFrame:
        """One row per period and respondent, in the order of play; the last ranks are final."""
        n_periods, n = self.rating.shape
        placing = [*self.rating[:-1], self._placing]
        columns = {
            "period": np.repeat(np.arange(1, n_periods + 1), n),
            "item": np.repeat(np.array(self.items, dtype=object), n),
            "respondent": np.tile(np.array(self.respondents, dtype=object), n_periods),
            "rank": self._column([k for row in placing for k in self._ranks(row)]),
            "rating": self.rating.reshape(-1),
            "low": (self.rating - REACH * self.deviation).reshape(-1),
            "high": (self.rating + REACH * self.deviation).reshape(-1),
            "deviation": self.deviation.reshape(-1),
            "volatility": self.volatility.reshape(-1),
            "score": self.scores.reshape(-1),
        }
        for name in ("won", "drawn", "lost"):
            columns[name] = getattr(self, name).reshape(-1)
        return pd.DataFrame(columns)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the final ratings, and those after every period."""
        return {"tournament": self.to_frame(), "periods": self.history()}

    def figures(self) -> dict[str, Draw]:
        """Return the final ratings, and the ranks over the periods."""
        return {"tournament": self.plot, "bump": partial(self.plot, "ranks")}

    def plot(self, kind: str = "ratings", **kw: Any) -> Display:
        """Draw the final ratings with their ranges, or with "ranks" the ranks over periods.

        Of parts that no game links, the largest is drawn.
        """
        linked = [self.respondents[k] for k in np.flatnonzero(self.part == 0)]
        rivals = [self.respondents[k] for k in np.flatnonzero(self._rivals)]
        if kind == "ratings":
            frame = self.to_frame()
            return DISPLAYS["ratings"](frame[frame.index.isin(linked)]).plot(**kw)
        if kind == "ranks":
            frame = self.history()
            points = (self.won + 0.5 * self.drawn).sum(axis=0)  # as of subsets: the same colours
            order = [self.respondents[k] for k in np.argsort(-points, kind="stable")]
            return BumpDisplay(frame[frame["respondent"].isin(rivals)], order=order).plot(**kw)
        raise InputError(f"kind is {kind!r}, but it should be 'ratings' or 'ranks'.")


def tournament(
    scores: Table,
    *,
    order: Order = None,
    tolerance: float = 0.0,
    tau: float | None = None,
    rating: float = START_RATING,
    deviation: float = START_DEVIATION,
    volatility: float = START_VOLATILITY,
    unit: str = "item",
) -> Tournament:
    """Let respondents play each other on every item, and rate them by Glicko-2.

    `scores` has one row per respondent and one column per item, for example a data set. The higher
    score wins, scores at most `tolerance` apart are a draw, and a respondent without a score (NaN)
    does not play. `order` lists the items to play, or gives a value for each, such as a Series of
    difficulties; items are then played by rising value. `tau` limits how fast volatility changes:
    0.5 by default, or less where many games hang on one score and drive volatility up; a note then
    says so. All start with the same `rating`, `deviation` and `volatility`. `unit` is what an item
    is called in sentences, such as "data set".

    The method is Glicko-2 (Glickman, 2012). The frame has one row per respondent, the best first:
    rank, rating, low, high, deviation, volatility, won, drawn, lost, level.

    >>> import ogive as og
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.1, (4, 8))
    >>> scores = np.array([[0.2], [0.4], [0.6], [0.8]]) + noise
    >>> og.tournament(scores).to_frame()["won"].tolist()
    [24, 16, 7, 1]
    """
    table = rivals(scores, "tournament")
    places = played(order, table.items)
    values = table.cells.T[places]
    items = tuple(table.items[k] for k in places)
    start = new_players(len(table.respondents), rating, deviation, volatility)
    season, used = play_steadily(
        values, table.respondents, items, tolerance=tolerance, tau=tau, start=start
    )
    notes = _notes(table.respondents, items, season.won + season.drawn + season.lost, unit)
    found = Tournament(
        respondents=table.respondents,
        items=items,
        scores=values,
        **vars(season),
        tolerance=tolerance,
        tau=used,
        unit=unit,
        notes=(*notes, *_said_of_tau(used, tau, start, season.final, unit)),
    )
    return replace(found, notes=(*found.notes, *_said_of_ranges(found)))


def _notes(
    respondents: tuple[str, ...], items: tuple[str, ...], games: NDArray[np.intp], unit: str
) -> tuple[str, ...]:
    marks = [name for name, mark in zip(respondents, are_marks(respondents), strict=True) if mark]
    notes = [said_of_marks(marks)] if marks else []
    idle = [name for name, count in zip(respondents, games.sum(axis=0), strict=True) if not count]
    empty = [name for name, count in zip(items, games.sum(axis=1), strict=True) if not count]
    if idle:
        notes.append(f"Played no game and keep their initial rating: {listed(idle, 'respondent')}.")
    if empty:
        notes.append(f"No game (fewer than two scores): {listed(empty, unit)}.")
    return tuple(notes)


def _said_of_ranges(found: Tournament) -> tuple[str, ...]:
    """Return a note if some that are not significantly behind have a range below the leader's."""
    final, place = found.final, {name: k for k, name in enumerate(found.respondents)}
    lowest = final.low[place[found.leader]]
    below = sum(bool(final.high[place[name]] < lowest) for name in found.level_with_leader)
    if not below:
        return ()
    verb, their = ("is", "its range does") if below == 1 else ("are", "their ranges do")
    note = (
        f"{counted(below, 'other')} {verb} not significantly behind {found.leader} although "
        f"{their} not overlap its own: a 95 % range says how well a rating is known from these "
        f"games. Whether the order would hold on other {found.unit}s is tested pair by pair over "
        f"the {found.unit}s (column level), which needs more of them. {RANKS_SEE_MORE}"
    )
    return (note,)


def _said_of_tau(
    used: float, given: float | None, start: Ratings, final: Ratings, unit: str
) -> tuple[str, ...]:
    """Return a note if tau was lowered, or if volatilities grew out of proportion."""
    if given is None and used < USUAL_TAU:
        games = counted(start.rating.size - 1, "game")
        lowered = (
            f"tau is {used:.2g} instead of the usual {USUAL_TAU:g}: the {games} of a respondent on "
            f"one {unit} hang on one score, and drove volatility up more than {MOST_GROWTH:g}-fold."
        )
        return (lowered,)
    high = int(erratic(final, start).sum())
    note = (
        f"The volatility of {counted(high, 'respondent')} grew more than {MOST_GROWTH:g}-fold, so "
        f"their ratings follow only the last {unit}s. Try a smaller tau."
    )
    return (note,) if high else ()
