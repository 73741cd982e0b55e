"""A tournament of respondents: every item is a rating period of Glicko-2, played round robin.

In the paper that rates classifiers in this way, true scores on data sets decide the games. The
order of the data sets matters, because a rating forgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import float_array, one_of
from ogive.benchmarking import GIVEN
from ogive.data.responses import Table
from ogive.data.study_tables import are_marks, rivals, said_of_marks
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, meant, repeated, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats import glicko2
from ogive.stats.array_backend import Floats
from ogive.stats.linked_parts import Parts, linked_parts
from ogive.stats.pairwise_tests import ALPHA, differences_of_games

__all__ = ["Tournament", "tournament"]

# Names in the order of play, or a value for each name (played lowest first).
Order: TypeAlias = "str | Sequence[str] | Mapping[str, float] | pd.Series[float] | None"
RANKS_SEE_MORE = (
    "A comparison of mean ranks (Friedman and Nemenyi) also uses how many others lie between two, "
    "so it may find two different that their games alone do not."
)


def _play_order(order: Order, items: tuple[str, ...]) -> list[int]:
    """Return positions of the items in the order of play: as given, named, or by rising values."""
    if order is None or (isinstance(order, str) and order == GIVEN):
        return list(range(len(items)))
    if isinstance(order, str):
        raise InputError(
            f"order is {order!r}, but the table holds only scores. Give a list of item names, or a "
            f"value for each item: order=frame[{order!r}], whose index names the items."
        )
    named: Any = order
    if hasattr(named, "items") and callable(named.items):
        return _by_value({str(name): value for name, value in named.items()}, len(named), items)
    names = [str(name) for name in named]
    if not names:
        raise InputError("order is empty. Name at least one item to play.")
    _check_known(names, items)
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"order names {twice!r} more than once. Each item is played once.")
    position = {name: k for k, name in enumerate(items)}
    return [position[name] for name in names]


def _by_value(value: Mapping[str, Any], n_given: int, items: tuple[str, ...]) -> list[int]:
    """Return positions of the items by rising value; ties in the order of the table."""
    if len(value) < n_given:
        raise InputError("order gives an item more than one value. Give one value per item.")
    if not set(value) & set(items):
        _check_known(list(value) or [""], items)
    lacking = [name for name in items if name not in value]
    if lacking:
        raise InputError(
            f"order has no value for {listed(lacking, 'item')}. Give one for each, or leave "
            "those items out of the scores."
        )
    keys = float_array([value[name] for name in items], "order")
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
        raise InputError(
            f"order names {unknown[0]!r:.80}, which is not an item of the scores."
            f"{meant(unknown[0], items[:10_000])} "
            f"They are: {', '.join(items[:5])}{', ...' if len(items) > 5 else ''}."
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
    def final(self) -> glicko2.Ratings:
        """The ratings after the last period."""
        return glicko2.Ratings(self.rating[-1], self.deviation[-1], self.volatility[-1])

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
        """Flag respondents that may lead: those of the largest part that are no marks."""
        return np.asarray((self.part == 0) & ~self.marks)

    @property
    def _first(self) -> int:
        """Position of the leader."""
        return next(int(k) for k in glicko2.best_first(self.rating[-1]) if self._rivals[k])

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
        """Flag respondents that share the first place."""
        first, points = self._first, self.won + 0.5 * self.drawn
        played = ~np.isnan(self.scores)
        same_games = (played == played[:, [first]]).all(axis=0)
        equal = points.sum(axis=0) == points[:, first].sum()
        rating = np.round(self.rating[-1], glicko2.FINEST)
        tied = self._level & same_games & equal
        tied |= (rating == rating[first]) & self._rivals
        tied[first] = True
        return np.asarray(tied)

    @property
    def _placing(self) -> Floats:
        """Final ratings; all that share the first place have the highest."""
        final = self.rating[-1]
        return np.asarray(np.where(self._leading, final[self._first], final))

    @property
    def level_with_leader(self) -> tuple[str, ...]:
        """The respondents that are not significantly behind the leader, best first."""
        level = self._level
        return tuple(self.respondents[k] for k in self._order if level[k])

    @property
    def _order(self) -> NDArray[np.intp]:
        """Positions of the respondents, part by part, the best of each first; marks come last."""
        first = glicko2.best_first(self._placing)
        return first[np.lexsort((self.part[first], self.marks[first]))]

    @cached_property
    def _level(self) -> NDArray[np.bool_]:
        """Flag respondents not significantly behind the leader by the games of the two.

        Games on one item are correlated, so that the ranges of Glicko-2 are too narrow to tell.
        """
        rivals = np.flatnonzero(self._rivals)
        tests = differences_of_games(self.scores.T[rivals], self.tolerance)
        level = np.zeros(len(self.respondents), dtype=bool)
        level[rivals] = tests.level_with(int(np.searchsorted(rivals, self._first)))
        return level

    @property
    def meaning(self) -> str:
        """Who leads, and who is not significantly behind."""
        final, first = self.final, self._first
        n_rivals, leaders = int(self._rivals.sum()), self.leaders
        one = len(leaders) == 1
        played = f"After {counted(len(self.items), 'period')}"
        if self.part.any():
            played += f", in the largest of {self.part.max() + 1} parts that no game links"
        if len(leaders) == n_rivals:
            return f"{played}, nobody leads: all {n_rivals:,} have won equally much."
        text = (
            f"{played}, {self.leader} leads with a rating of {final.rating[first]:.0f} "
            f"(95 % range {final.low[first]:.0f} to {final.high[first]:.0f})"
        )
        if not one:
            text = (
                f"{played}, nobody leads: {who_has(leaders)} the first place, with equal points in "
                "the same games"
            )
        level = tuple(name for name in self.level_with_leader if name not in leaders)
        if not level and not one:
            return f"{text}; {counted(n_rivals - len(leaders), 'other')} won significantly less."
        if not level:
            others = counted(n_rivals - 1, "other")
            return f"{text}, and won significantly more of its games against each of {others}."
        uncertain = ", so the lead is uncertain" if one else ""
        # a respondent that wins all games against another would not be significantly ahead
        if 2.0 ** (1 - len(self.items)) * n_rivals * (n_rivals - 1) / 2 > ALPHA:
            games, behind = counted(len(self.items), "game"), n_rivals - len(leaders)
            return (
                f"{text}; the {games} between two, taken alone, are too few to distinguish "
                f"{'it' if one else 'them'} from any of {counted(behind, 'rival')}{uncertain}."
            )
        return (
            f"{text}; by their games against {'it' if one else self.leader}, "
            f"{listed(level, 'other')} "
            f"{'is' if len(level) == 1 else 'are'} not significantly behind{uncertain}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        `level` flags those not significantly behind the best. If no game links all respondents,
        `part` numbers the parts, and ranks hold within each. Artificial respondents are marks on
        the scale: they have no rank, and come last.
        """
        final = self.final
        columns = {
            **({"part": self.part + 1} if self.part.any() else {}),
            "rank": self._rank_column([self._placing]),
            "rating": final.rating,
            "low": final.low,
            "high": final.high,
            "deviation": final.deviation,
            "volatility": final.volatility,
            **{name: getattr(self, name).sum(axis=0) for name in ("won", "drawn", "lost")},
            "level": self._level | (np.arange(len(self.respondents)) == self._first),
            **({"artificial": self.marks} if self.marks.any() else {}),
        }
        frame = pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))
        return frame.iloc[self._order]

    def _rank_column(self, ratings: Sequence[Floats]) -> Any:
        """Return ranks by each rating as whole numbers, within parts; missing for marks."""
        found = np.zeros((len(ratings), len(self.respondents)), dtype=np.intp)
        for k in range(int(self.part.max()) + 1):
            inside = (self.part == k) & ~self.marks
            for row, rating in zip(found, ratings, strict=True):
                row[inside] = glicko2.ranks(rating[inside])
        if not self.marks.any():
            return found.reshape(-1)
        return pd.array([int(rank) or None for rank in found.reshape(-1)], dtype="Int64")

    def history(self) -> pd.DataFrame:
        """Return one row per period and respondent, in the order of play.

        The last ranks are final.
        """
        n_periods, n = self.rating.shape
        columns = {
            "period": np.repeat(np.arange(1, n_periods + 1), n),
            "item": np.repeat(np.array(self.items, dtype=object), n),
            "respondent": np.tile(np.array(self.respondents, dtype=object), n_periods),
            "rank": self._rank_column([*self.rating[:-1], self._placing]),
            "rating": self.rating.reshape(-1),
            "low": (self.rating - glicko2.REACH * self.deviation).reshape(-1),
            "high": (self.rating + glicko2.REACH * self.deviation).reshape(-1),
            "deviation": self.deviation.reshape(-1),
            "volatility": self.volatility.reshape(-1),
            "score": self.scores.reshape(-1),
            **{name: getattr(self, name).reshape(-1) for name in ("won", "drawn", "lost")},
        }
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
        from ogive.results.plots.algorithm_curves import BumpDisplay

        if one_of(kind, "kind", ("ratings", "ranks")) == "ratings":
            linked = [self.respondents[k] for k in np.flatnonzero(self.part == 0)]
            frame = self.to_frame()
            return DISPLAYS["ratings"](frame[frame.index.isin(linked)]).plot(**kw)
        rivals = [self.respondents[k] for k in np.flatnonzero(self._rivals)]
        frame = self.history()
        points = (self.won + 0.5 * self.drawn).sum(axis=0)  # as of subsets: the same colours
        order = [self.respondents[k] for k in np.argsort(-points, kind="stable")]
        return BumpDisplay(frame[frame["respondent"].isin(rivals)], order=order).plot(**kw)


def tournament(
    scores: Table,
    *,
    order: Order = None,
    tolerance: float = 0.0,
    tau: float | None = None,
    rating: float = glicko2.START_RATING,
    deviation: float = glicko2.START_DEVIATION,
    volatility: float = glicko2.START_VOLATILITY,
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
    positions = _play_order(order, table.items)
    values = table.cells.T[positions]
    items = tuple(table.items[k] for k in positions)
    start = glicko2.new_players(len(table.respondents), rating, deviation, volatility)
    season, used = glicko2.play_steadily(
        values, table.respondents, items, tolerance=tolerance, tau=tau, start=start
    )
    result = Tournament(
        respondents=table.respondents,
        items=items,
        scores=values,
        **vars(season),
        tolerance=tolerance,
        tau=used,
        unit=unit,
    )
    return replace(result, notes=tuple(_notes(result, tau, start)))


def _notes(result: Tournament, tau: float | None, start: glicko2.Ratings) -> list[str]:
    """Return notes on marks, missing games, the volatility, and ranges that do not overlap."""
    names, final, unit = result.respondents, result.final, result.unit
    games = result.won + result.drawn + result.lost
    marks = [names[k] for k in np.flatnonzero(result.marks)]
    idle = [names[k] for k in np.flatnonzero(games.sum(axis=0) == 0)]
    empty = [result.items[k] for k in np.flatnonzero(games.sum(axis=1) == 0)]
    notes = [said_of_marks(marks)] if marks else []
    if idle:
        notes.append(f"Played no game and keep their initial rating: {listed(idle, 'respondent')}.")
    if empty:
        notes.append(f"No game (fewer than two scores): {listed(empty, unit)}.")
    n_erratic = int(glicko2.erratic(final, start).sum())
    if tau is None and result.tau < glicko2.USUAL_TAU:
        n_games = counted(len(names) - 1, "game")
        notes.append(
            f"tau is {result.tau:.2g} instead of the usual {glicko2.USUAL_TAU:g}: the {n_games} of "
            f"a respondent on one {unit} hang on one score, and drove volatility up more than "
            f"{glicko2.MOST_GROWTH:g}-fold."
        )
    elif n_erratic:
        notes.append(
            f"The volatility of {counted(n_erratic, 'respondent')} grew more than "
            f"{glicko2.MOST_GROWTH:g}-fold, so their ratings follow only the last {unit}s. Try a "
            "smaller tau."
        )
    position = {name: k for k, name in enumerate(names)}
    lowest = final.low[position[result.leader]]
    below = sum(bool(final.high[position[name]] < lowest) for name in result.level_with_leader)
    if below:
        verb, their = ("is", "its range does") if below == 1 else ("are", "their ranges do")
        notes.append(
            f"{counted(below, 'other')} {verb} not significantly behind {result.leader} although "
            f"{their} not overlap its own: a 95 % range says how well a rating is known from these "
            f"games. Whether the order would hold on other {unit}s is tested pair by pair over "
            f"the {unit}s (column level), which needs more of them. {RANKS_SEE_MORE}"
        )
    return notes
