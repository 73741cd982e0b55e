"""The table behind a leaderboard: respondents by rank, items in tasks and clusters, a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ogive.data.names import UNKNOWN
from ogive.data.responses import Responses
from ogive.data.study_tables import asked_once, like_percentages
from ogive.irt.calibration import Calibration
from ogive.irt.predicted_accuracy import Expectation, Reached, Whole, ends_of, expectation_of
from ogive.irt.predicted_accuracy import reached as reached_on
from ogive.results.numbers import counted, listed, mean_called
from ogive.stats.all_pairs_tests import (
    ClusteredPairs,
    ExactPairs,
    GappyPairs,
    PairTests,
    rank_limits_of_many,
)
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import Grouping
from ogive.stats.linked_parts import linked_parts
from ogive.stats.pairwise_tests import (
    BEST,
    FINEST,
    LEAST_ASKED,
    MOST,
    Pairs,
    answered_few,
    compare_pairs,
    n_compared,
    rank_limits,
    rank_limits_apart,
)

Average = Literal["items", "tasks"]
MOST_BOARDS = 6  # whose first is named, if no item links them
Ranks = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Board:
    """Everything a leaderboard is computed from; respondents are in rank order."""

    table: Responses
    order: Ranks  # positions of the respondents in the table that was given
    expectation: Expectation | None  # if not everybody was asked everything
    reached: Reached
    part: Ranks  # (n_respondents,); above 0 for those that no item links to the first
    n_masked: int  # respondents who were masked to widen intervals
    together: Reached | None  # simultaneous intervals, if there are too many pairs to test
    names: tuple[str, ...]  # of tasks
    task: Ranks  # (n_items,)
    cluster: Ranks  # (n_items,)
    grouping: Grouping
    scale: Calibration | None
    average: str
    confidence: float
    bounded: bool  # whether responses lie between 0 and 1

    @classmethod
    def of(
        cls,
        table: Responses,
        tasks: tuple[str, ...] | None,
        clusters: tuple[str, ...] | None,
        scale: Calibration | None,
        *,
        average: str,
        confidence: float,
    ) -> Board:
        """Rank the respondents of a table; `tasks` and `clusters` are those of its items."""
        names, task = _coded(tasks or ["all items"] * table.n_items)
        own = np.arange(table.n_items)
        grouped = own if clusters is None else _coded(_separated(clusters))[1]
        strata = task if average == "tasks" else np.zeros_like(task)
        grouping = Grouping.of(strata, grouped)
        values = table.values
        bounded = bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
        expectation = None if scale is None else expectation_of(scale, table)
        parts = linked_parts(table.observed)
        whole = Whole(table, scale, expectation, strata, grouped, parts, bounded)
        masked = whole.masked()
        found = whole.reached(confidence, masked)
        n, together = table.n_respondents, None
        plain = _plain(table, grouped, average, names)
        if n > MOST and np.unique(strata).size > 1 and not (plain or table.complete):  # Bonferroni
            together = whole.reached(1 - (1 - confidence) / n, masked)
        few = answered_few(found.n, parts[0])
        order = np.lexsort((-np.round(found.mean, FINEST), few, parts[0]))
        return cls(
            table=table.select(respondents=order),
            order=order,
            expectation=None if expectation is None else expectation.of(order),
            reached=found.of(order),
            part=parts[0][order],
            n_masked=masked[1],
            together=None if together is None else together.of(order),
            names=names,
            task=task,
            cluster=grouped,
            grouping=grouping,
            scale=scale,
            average=average,
            confidence=confidence,
            bounded=bounded,
        )

    @property
    def clustered(self) -> bool:
        """True if any items form clusters."""
        return np.unique(self.cluster).size < self.table.n_items

    @property
    def n_compared(self) -> int:
        """How many respondents, from the first, are compared in pairs."""
        return n_compared(self.order.size)

    def ranks(self) -> Ranks:
        """Rank within each part: ties share the better rank, sparse respondents come last."""
        mean, found = np.round(self.reached.mean, FINEST), np.empty(self.order.size, dtype=np.intp)
        for part in range(int(self.part.max()) + 1):
            mine = np.flatnonzero(self.part == part)
            new = np.r_[True, (mean[mine][1:] != mean[mine][:-1]) | np.diff(self.few[mine])]
            found[mine] = 1 + np.maximum.accumulate(np.where(new, np.arange(mine.size), 0))
        return found

    @property
    def few(self) -> NDArray[np.bool_]:
        """Who answered too few items to stand before others."""
        return answered_few(self.reached.n, self.part)

    def rank_intervals(self, tests: Pairs) -> tuple[Ranks, Ranks]:
        """Return lowest and highest rank of each respondent; all hold simultaneously."""
        if self.together is None:
            n, every = self.order.size, self._every_pair()
            if every is None:
                low, high = rank_limits(tests, n, self.confidence)
            else:
                low, high = rank_limits_of_many(every, n, 1 - self.confidence)
            return low, high - (n - np.bincount(self.part)[self.part])
        found = np.empty((2, self.order.size), dtype=np.intp)
        low = np.nan_to_num(self.together.low, nan=-np.inf)
        high = np.nan_to_num(self.together.high, nan=np.inf)
        for part in range(int(self.part.max()) + 1):
            mine = self.part == part
            found[:, mine] = rank_limits_apart(low[mine], high[mine])
        return found[0], found[1]

    def _every_pair(self) -> PairTests | None:
        """Return tests of all pairs, if there are too many to keep them."""
        if self.order.size <= MOST:
            return None
        if self._exact:
            return ExactPairs(self.table.values)
        if self.table.complete:
            return ClusteredPairs(self.table.values, self.grouping)
        return GappyPairs(self.table.values, self.cluster)

    @property
    def _exact(self) -> bool:
        return _plain(self.table, self.cluster, self.average, self.names)

    @property
    def _once(self) -> NDArray[np.bool_]:
        """Respondents with single answers, right or wrong, to unrelated items of equal weight."""
        return asked_once(self.table) & _alone(self.table, self.cluster, self.average, self.names)

    def pairs(self, correction: str) -> Pairs:
        """Return tests of all pairs, or of the best respondents if there are too many."""
        return compare_pairs(
            self.table.values[: self.n_compared],
            self.grouping,
            once=self._once[: self.n_compared],
            bounded=self.bounded,
            confidence=self.confidence,
            correction=correction,
        )

    def by_task(self) -> dict[str, Reached]:
        """Return accuracy of each respondent by task; NaN where it was asked nothing."""
        found, values = {}, self.table.values
        for k, name in enumerate(self.names):
            mine = np.flatnonzero(self.task == k)
            found[name] = reached_on(
                values[:, mine],
                None if self.expectation is None else self.expectation.of(items=mine),
                Grouping.of(np.zeros_like(mine), self.cluster[mine]),
                np.ones(mine.size),
                self.confidence,
                bounded=self.bounded,
                ends=ends_of(self.table),
            )
        return found

    def abilities(self) -> tuple[Floats, Floats, Floats]:
        """Return abilities, their errors, and the errors of differences of compared pairs.

        They count the items, which respondents share. NaN without a scale, or for a respondent
        linked to nobody: how hard the items are that nobody else answered is known from the prior
        only.
        """
        first, second = np.triu_indices(self.n_compared, 1)
        if self.scale is None:
            nothing = np.full(self.order.size, np.nan)
            return nothing, nothing, np.full(first.size, np.nan)
        found = self.scale.ability_covariance().of(self.order)
        alone = np.bincount(self.part)[self.part] == 1
        ability, se = (np.where(alone, np.nan, x) for x in (found.ability, found.se))
        joint = found.of(np.arange(self.n_compared)).dense()
        own = np.diag(joint)
        apart = np.sqrt(np.maximum(own[first] + own[second] - 2 * joint[first, second], 0.0))
        linked = (self.part[first] == self.part[second]) & ~alone[first]
        return ability, se, np.where(linked, apart, np.nan)

    @property
    def observed(self) -> Floats:
        """Mean response of each respondent to what it was asked."""
        return np.asarray(np.nanmean(self.table.values, axis=1))

    @property
    def measure(self) -> str:
        """What means of responses are called."""
        return mean_called(self.table.kind)

    def remarks(self) -> list[str]:
        """Return notes on tasks, clusters and items that were not asked."""
        said = []
        if self.average == "tasks" and len(self.names) > 1:
            said.append(
                f"{self.measure.capitalize()} is the mean over {counted(len(self.names), 'task')}."
            )
        if like_percentages(self.table):
            said.append(
                "The responses look like percentages of whole tasks. Intervals are over the "
                f"{counted(self.table.n_items, 'task')}, kept between 0 and 100: how surely a "
                "score on one task is known takes its items, one column each."
            )
        if self.clustered:
            clusters = counted(int(np.unique(self.cluster).size), "cluster")
            said.append(
                f"Standard errors are computed over {clusters} of items, not over single items."
            )
        if self.order.size > MOST:
            ranks = (
                "rank intervals come from tests of all pairs"
                if self.together is None
                else "rank intervals come from simultaneous intervals, which are wider"
            )
            said.append(
                f"{counted(self.order.size, 'respondent')} make too many pairs to show: pairs are "
                f"those of the best {BEST}; {ranks}. To compare others, pass "
                "responses.select(respondents=[...])."
            )
        return [*said, *self._of_parts(), *self._of_gaps(), *self._of_few()]

    def _of_few(self) -> list[str]:
        """Return a note on who stands behind others for having answered few items."""
        names = [name for name, few in zip(self.table.respondents, self.few, strict=True) if few]
        if not names:
            return []
        note = (
            f"Fewer than {LEAST_ASKED} items answered: {listed(names, 'respondent')}. Too few "
            f"to be compared by {self.measure}: ranked after the others."
        )
        return [note]

    def _of_parts(self) -> list[str]:
        """Return a note if some respondents are not linked to others by any items."""
        parts = int(self.part.max()) + 1
        if parts == 1:
            return []
        note = (
            f"There are {parts:,} separate boards that no item links. Each has items of its own, "
            f"and {self.measure} is over these: ranks hold within a board (column board), and "
            f"neither {self.measure} nor abilities can be compared between boards."
        )
        others = [self._first_of(k) for k in range(1, min(parts, MOST_BOARDS))]
        more = f"; {parts - MOST_BOARDS:,} more in the table" if parts > MOST_BOARDS else ""
        return [note, f"First on the other boards: {'; '.join(others)}{more}."]

    def _first_of(self, part: int) -> str:
        """Return who has the highest accuracy on one of several boards."""
        mine = np.flatnonzero(self.part == part)
        ranks = self.ranks()[mine]
        first = listed([self.table.respondents[k] for k in mine[ranks == 1]], "respondent")
        at = mine[0]
        mean, low, high = (x[at] for x in (self.reached.mean, self.reached.low, self.reached.high))
        return (
            f"{first} on board {part + 1} ({self.measure} {mean:.3f}, {low:.3f} to {high:.3f}, "
            f"of {counted(mine.size, 'respondent')})"
        )

    @property
    def _own_items(self) -> Ranks:
        """How many items the board of each respondent has, (n_respondents,)."""
        seen, counts = self.table.observed, np.empty(self.order.size, dtype=np.intp)
        for part in range(int(self.part.max()) + 1):
            mine = self.part == part
            counts[mine] = seen[mine].any(axis=0).sum()
        return counts

    def _of_gaps(self) -> list[str]:
        """Return a note on respondents that were not asked all items of their board."""
        gaps = self.reached.n < self._own_items
        partly = [name for name, gap in zip(self.table.respondents, gaps, strict=True) if gap]
        if not partly:
            return []
        several = bool(self.part.any())
        whose = " of their board" if several else ""
        who = f"Not asked all items{whose}: {listed(partly, 'respondent')}."
        who += f" {self.measure.capitalize()} is"
        if self.scale is None:
            note = (
                f"{who} over the items asked, which may be easier or harder than the rest. "
                "Rely on the comparisons in pairs."
            )
            return [note]
        note = (
            f"{who} predicted for all items{' of the board' if several else ''} by the "
            f"{self.scale.model.name} model "
            f"({self.measure.replace(' ', '_')}_observed: over the items asked). Pairs are "
            f"compared on the items that both answered. {self._sure_of_gaps(several=several)}"
        )
        return [note]

    def _sure_of_gaps(self, *, several: bool) -> str:
        """Return whether predicted accuracies were checked."""
        if self.n_masked:
            return (
                "Intervals allow for the error of this prediction, measured on "
                f"{counted(self.n_masked, 'respondent')} who answered nearly all items."
            )
        why = (
            "This prediction is not checked on boards that no item links"
            if several
            else "Too few respondents answered nearly all items to check this prediction"
        )
        return f"{why}: intervals hold if one ability explains all items."


def _plain(table: Responses, cluster: Ranks, average: str, names: tuple[str, ...]) -> bool:
    """Return True if all answers are single, binary, and to unrelated items."""
    return table.tries is None and _alone(table, cluster, average, names)


def _alone(table: Responses, cluster: Ranks, average: str, names: tuple[str, ...]) -> bool:
    """Return True if responses are right or wrong, to unrelated items of equal weight."""
    alone = np.unique(cluster).size == table.n_items
    return table.kind == "binary" and alone and (average == "items" or len(names) == 1)


def _coded(names: tuple[str, ...] | list[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return distinct names in order of appearance, and the index of each entry among them."""
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(place), np.array([place[name] for name in names], dtype=np.intp)


def _separated(clusters: tuple[str, ...]) -> list[str]:
    """Return cluster names; items whose cluster is unknown get one of their own."""
    return [
        f"{UNKNOWN} {k}" if name == UNKNOWN else f"known {name}" for k, name in enumerate(clusters)
    ]
