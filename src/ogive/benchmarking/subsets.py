"""Compare six ways through a benchmark: two orders of all data sets, and four halves of them.

They follow the paper that combines item parameters with Glicko-2: a rating forgets, so the order
matters, and data sets whose instances vary less may rank more consistently.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import float_array
from ogive.benchmarking import CHANCE
from ogive.benchmarking.period_choice import points
from ogive.data.foreign_frames import with_row_names
from ogive.data.pools.published_pools import misplaced
from ogive.data.responses import Table
from ogive.data.study_tables import are_marks, is_artificial, rivals
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, joined, listed, repeated
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.glicko2 import Ratings, new_players, play_steadily, ranks
from ogive.stats.metrics import kendall, spearman
from ogive.stats.pairwise_tests import first_places

__all__ = ["SubsetComparison", "compare_subsets"]

# By name: the column that orders the data sets, and which of them are played. Chances fall as
# difficulty rises; mean difficulties replace them if they are not known.
ORDERS = {
    "by difficulty": (CHANCE, "all"),
    "by discrimination": ("discrimination_mean", "all"),
    "even difficulty": ("difficulty_sd", "lower half"),
    "mixed difficulty": ("difficulty_sd", "upper half"),
    "even discrimination": ("discrimination_sd", "lower half"),
    "mixed discrimination": ("discrimination_sd", "upper half"),
}


@dataclass(frozen=True, eq=False, repr=False)
class SubsetComparison(Result):
    """How orders and halves of a benchmark rank respondents.

    The reference is the ranking by the share of points in all games on all data sets (1 for a win,
    0.5 for a draw), which does not depend on the order. `kendall` and `spearman` measure how well
    the ratings of each order agree with it; artificial respondents are left out, because almost any
    data set ranks them correctly. `share_apart` is the share of all pairs whose 95 % ranges do
    not overlap; since games on one data set are correlated, it is not a test.
    """

    respondents: tuple[str, ...]
    orders: tuple[str, ...]
    sorted_by: tuple[str, ...]  # the column that each order follows
    datasets: tuple[tuple[str, ...], ...]  # of each order, in the order of play
    points: Floats  # (n_respondents,); share of points on all data sets
    rating: Floats  # (n_orders, n_respondents), as the next
    deviation: Floats
    kendall: Floats  # (n_orders,), as the next two
    spearman: Floats
    share_apart: Floats
    misplaced: tuple[tuple[str, ...] | None, ...]  # artificial respondents, if there are any
    notes: tuple[str, ...] = ()

    @property
    def ratings(self) -> pd.DataFrame:
        """Ratings by order, one row per respondent: the best by points first, marks last."""
        return self._frame(self.rating)

    @property
    def deviations(self) -> pd.DataFrame:
        """Rating deviations; the 95 % range is two of them each way."""
        return self._frame(self.deviation)

    @property
    def ranks(self) -> pd.DataFrame:
        """Ranks, 1 is best, of all but artificial ones; the first column is by share of points."""
        rivals = ~are_marks(self.respondents)
        rank = np.zeros((len(self.orders) + 1, rivals.size), dtype=np.intp)
        rank[:, rivals] = [ranks(row[rivals]) for row in (self.points, *self.rating)]
        frame = self._frame(rank, ("share of points", *self.orders))
        return frame[~are_marks(list(frame.index))]

    @property
    def meaning(self) -> str:
        """Which order, and which half, agree best with the whole."""
        best = first_places(self.kendall)
        halves = np.array([k for k, name in enumerate(self.orders) if ORDERS[name][1] != "all"])
        half = halves[first_places(self.kendall[halves])]
        one = len(best) == 1
        text = (
            f"The order{'' if one else 's'} {joined([repr(self.orders[k]) for k in best])} "
            f"agree{'s' if one else ''} best with the share of points on all "
            f"{counted(len(self.datasets[0]), 'data set')} (Kendall {self.kendall[best[0]]:.2f})"
        )
        if not set(half) & set(best):
            text += (
                f", and of the halves {joined([repr(self.orders[k]) for k in half])} "
                f"({self.kendall[half[0]]:.2f}, {counted(len(self.datasets[half[0]]), 'data set')})"
            )
        if self.misplaced[0] is None:
            return f"{text}."
        right = [name for name, wrong in zip(self.orders, self.misplaced, strict=True) if not wrong]
        which = f"in {listed(right, 'order')}" if right else "in none of the orders"
        if len(right) == len(self.orders):
            which = f"in all {len(right)} orders"
        return f"{text}; the artificial respondents are in place {which}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per order."""
        wrong = self.misplaced
        columns = {
            "sorted_by": self.sorted_by,
            "part": [ORDERS[name][1] for name in self.orders],
            "datasets": [len(names) for names in self.datasets],
            "kendall": self.kendall,
            "spearman": self.spearman,
            "share_apart": self.share_apart,
            "artificial_in_place": pd.array(
                [None if names is None else not names for names in wrong], dtype="boolean"
            ),
            "misplaced": [None if names is None else ", ".join(names) for names in wrong],
        }
        return pd.DataFrame(columns, index=pd.Index(self.orders, name="order"))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the orders, and ratings and ranks of respondents in each."""
        return {
            "subsets": self.to_frame(),
            "subset_ratings": self.ratings,
            "subset_ranks": self.ranks,
        }

    def figures(self) -> dict[str, Draw]:
        """Return the figure of ranks."""
        return {"subsets": self.plot}

    def plot(self, **kw: Any) -> Display:
        """Draw the ranks of the respondents in every order."""
        from ogive.results.plots.algorithm_curves import BumpDisplay

        table = self.ranks
        frame = table.melt(var_name="item", value_name="rank", ignore_index=False).reset_index()
        frame["period"] = frame["item"].map({name: k for k, name in enumerate(table.columns)})
        order = [self.respondents[k] for k in np.argsort(-self.points, kind="stable")]
        display = BumpDisplay(frame, order=order).plot(**kw)
        display.ax_.set_xlabel("order of the data sets")
        return display

    def _frame(self, values: NDArray[Any], columns: tuple[str, ...] | None = None) -> pd.DataFrame:
        names = pd.Index(self.respondents, name="respondent")
        frame = pd.DataFrame(values.T, index=names, columns=list(columns or self.orders))
        return frame.iloc[np.lexsort((-self.points, are_marks(self.respondents)))]


def compare_subsets(
    scores: Table, datasets: pd.DataFrame, *, tolerance: float = 0.0, tau: float | None = None
) -> SubsetComparison:
    """Play a Glicko-2 tournament over six orders and halves of a benchmark, and compare them.

    `scores` has one row per respondent and one column per data set. The higher score wins a game,
    scores at most `tolerance` apart are a draw, and a respondent without a score (NaN) does not
    play. `datasets` has one row per data set, named as in the scores, with its chance (how likely a
    respondent of average ability is right), discrimination_mean, difficulty_sd and
    discrimination_sd (standard deviations). Without chances, difficulty_mean is used, which can be
    compared only if all data sets are on one scale.
    All data sets are played by rising difficulty, then by rising discrimination; then the half with
    the smallest ("even") and the half with the largest ("mixed") standard deviation of each, in
    rising order. Halves of an odd number are rounded up. `tau` is that of `tournament`.

    The frame has one row per order: sorted_by, part, datasets, kendall, spearman,
    share_apart, artificial_in_place, misplaced. After Cardoso et al. (2025).

    >>> import ogive as og
    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = np.random.default_rng(0).normal(0, 0.1, (4, 8))
    >>> scores = np.array([[0.2], [0.4], [0.6], [0.8]]) + noise
    >>> kinds = ["difficulty_mean", "discrimination_mean"]
    >>> kinds += ["difficulty_sd", "discrimination_sd"]
    >>> table = og.Responses(scores)
    >>> known = pd.DataFrame({kind: np.arange(8.0) for kind in kinds}, index=table.items)
    >>> og.compare_subsets(table, known).to_frame()["datasets"].tolist()
    [8, 8, 4, 4, 4, 4]
    """
    table = rivals(scores, "compare_subsets")
    keys = _sort_keys(datasets, table.items)
    values = table.cells.T
    columns = [_present(column, keys) for column, _ in ORDERS.values()]
    half = (len(values) + 1) // 2
    parts = {"all": slice(None), "lower half": slice(half), "upper half": slice(-half, None)}
    positions = [
        np.argsort(-keys[column] if column == CHANCE else keys[column], kind="stable")[parts[part]]
        for column, (_, part) in zip(columns, ORDERS.values(), strict=True)
    ]
    played = points(values, tolerance)
    final = [
        play_steadily(
            values[order],
            table.respondents,
            [table.items[k] for k in order],
            tolerance=tolerance,
            tau=tau,
            start=new_players(len(table.respondents)),
        )[0].final
        for order in positions
    ]
    artificial = is_artificial(table.respondents)
    counting, notes = np.arange(artificial.size), []
    if artificial.any() and (~artificial).sum() >= 2:
        counting = np.flatnonzero(~artificial)
        names = [table.respondents[k] for k in np.flatnonzero(artificial)]
        notes = [f"Not counted in the agreement: {listed(names, 'artificial respondent')}."]
    rating = np.array([each.rating for each in final])
    whole = np.broadcast_to(played.share[counting], (len(final), counting.size))
    settled = np.round(rating[:, counting], 6)  # rounding errors must not break ties
    return SubsetComparison(
        respondents=table.respondents,
        orders=tuple(ORDERS),
        sorted_by=tuple(columns),
        datasets=tuple(tuple(table.items[k] for k in order) for order in positions),
        points=played.share,
        rating=rating,
        deviation=np.array([each.deviation for each in final]),
        kendall=kendall(settled, whole),
        spearman=spearman(settled, whole),
        share_apart=np.array([_share_apart(each) for each in final]),
        misplaced=tuple(misplaced(table.respondents, np.round(row, 6)) for row in rating),
        notes=tuple(notes),
    )


def _sort_keys(datasets: pd.DataFrame, items: tuple[str, ...]) -> dict[str, Floats]:
    """Return the columns that data sets are sorted by, in the order of the scores."""
    datasets = with_row_names(datasets)
    if not isinstance(datasets, pd.DataFrame):
        raise InputError(
            f"datasets is a {type(datasets).__name__}, but it should be a frame with one row per "
            "data set, such as decode_benchmark(...).datasets."
        )
    needed = list(dict.fromkeys(_present(name, datasets.columns) for name, _ in ORDERS.values()))
    missing = [name for name in needed if name not in datasets.columns]
    if missing:
        has = ", ".join(str(name) for name in datasets.columns[:10]) or "none"
        raise InputError(
            f"datasets lacks the columns {', '.join(missing)}. It has: {has}. Rename them, or "
            "give decode_benchmark(...).datasets."
        )
    names = [str(name) for name in datasets.index]
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"datasets has {twice!r:.80} more than once. Give one row per data set.")
    if len(items) < 2:
        raise InputError("compare_subsets needs at least two data sets, but there is one.")
    if without_row := [name for name in items if name not in set(names)]:
        raise InputError(
            f"datasets has no row for {listed(without_row, 'data set')} of the scores. Its index "
            "should name data sets as the columns of the scores do."
        )
    if without_scores := [name for name in names if name not in set(items)]:
        raise InputError(
            f"scores has no column for {listed(without_scores, 'data set')} of datasets. Give "
            "datasets.loc[scores.columns], or more scores."
        )
    frame = datasets[needed].set_axis(names, axis=0).loc[list(items)]
    keys: dict[str, Floats] = {}
    for name in needed:
        keys[name] = float_array(frame[name], f"datasets[{name!r}]")
        if unknown := [str(row) for row in frame.index[np.isnan(keys[name])]]:
            raise InputError(
                f"datasets[{name!r}] is NaN for {listed(unknown, 'data set')}. Leave these out of "
                "both frames."
            )
    return keys


def _present(column: str, known: Container[Any]) -> str:
    """Return the column itself, or the mean difficulty if chances are not known."""
    return "difficulty_mean" if column == CHANCE and CHANCE not in known else column


def _share_apart(final: Ratings) -> float:
    """Return the share of all pairs whose 95 % ranges do not overlap."""
    n = final.rating.size
    return float((final.low[:, None] > final.high).sum() / (n * (n - 1) / 2))
