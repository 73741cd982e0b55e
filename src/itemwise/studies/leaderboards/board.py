"""The table behind a leaderboard: respondents in order, items in tasks and clusters, a scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.clustered import Grouping
from itemwise.responses import Responses
from itemwise.responses.facts import UNKNOWN
from itemwise.studies.leaderboards.pairs import (
    Pairs,
    compare_pairs,
    rank_limits,
    rank_limits_apart,
)
from itemwise.studies.leaderboards.parts import linked_parts
from itemwise.studies.leaderboards.scores import Expectation, Reached, expectation_of
from itemwise.studies.leaderboards.scores import reached as reached_on
from itemwise.studies.leaderboards.whole import Whole
from itemwise.words import counted, listed

TASK, DOCUMENT = "task", "document"  # facts of items that are used where they are known
AVERAGES = ("items", "tasks")
FINEST = 9  # decimals that count in a rank: sums end in rounding
MOST = 2000  # respondents of whom all pairs are tested; beyond, there are millions
BEST = 200  # respondents of whom pairs are tested where there are more than that
Ranks = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Board:
    """What all parts of a leaderboard are made from; respondents stand in its order."""

    table: Responses
    order: Ranks  # places of the respondents in the table that was given
    expectation: Expectation | None  # where not everybody was asked everything
    reached: Reached
    part: Ranks  # (n_respondents,); 0 but for those that no item links to the first
    n_masked: int  # respondents, masked like others, by whom intervals were widened
    together: Reached | None  # intervals that hold for all at once, where pairs are too many
    names: tuple[str, ...]  # of tasks
    task: Ranks  # (n_items,)
    cluster: Ranks  # (n_items,)
    grouping: Grouping
    scale: Calibration | None
    average: str
    confidence: float
    bounded: bool  # between 0 and 1

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
        """The board of a table, best mean response first; `tasks` and `clusters` of its items."""
        names, task = _coded(tasks or ["all items"] * table.n_items)
        own = np.arange(table.n_items)
        grouped = own if clusters is None else _coded(_told_apart(clusters))[1]
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
        if n > MOST:  # Bonferroni's
            together = whole.reached(1 - (1 - confidence) / n, masked)
        order = np.lexsort((-np.round(found.mean, FINEST), parts[0]))
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
        """Whether some items belong together."""
        return np.unique(self.cluster).size < self.table.n_items

    @property
    def n_compared(self) -> int:
        """Of how many respondents, from the first, all pairs are tested."""
        return self.order.size if self.together is None else BEST

    def ranks(self) -> Ranks:
        """1 for the best; equals share the best rank of theirs."""
        mean, found = np.round(self.reached.mean, FINEST), np.empty(self.order.size, dtype=np.intp)
        for part in range(int(self.part.max()) + 1):
            mine = self.part == part
            found[mine] = 1 + np.searchsorted(-mean[mine], -mean[mine], side="left")
        return found

    def rank_intervals(self, tests: Pairs) -> tuple[Ranks, Ranks]:
        """Lowest and highest rank of each, all of which hold together."""
        if self.together is None:
            low, high = rank_limits(tests, self.order.size, self.confidence)
            return low, high - (self.order.size - np.bincount(self.part)[self.part])
        found = np.empty((2, self.order.size), dtype=np.intp)
        low = np.nan_to_num(self.together.low, nan=-np.inf)
        high = np.nan_to_num(self.together.high, nan=np.inf)
        for part in range(int(self.part.max()) + 1):
            mine = self.part == part
            found[:, mine] = rank_limits_apart(low[mine], high[mine])
        return found[0], found[1]

    def pairs(self, correction: str) -> Pairs:
        """All pairs, or those of the best where that would be too many."""
        plain = not self.clustered and (self.average == "items" or len(self.names) == 1)
        return compare_pairs(
            self.table.values[: self.n_compared],
            self.grouping,
            exact=plain and self.table.kind == "binary",
            bounded=self.bounded,
            confidence=self.confidence,
            correction=correction,
        )

    def by_task(self) -> dict[str, Reached]:
        """What each reached in each task; NaN in tasks of which it was asked nothing."""
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
            )
        return found

    def abilities(self) -> tuple[Floats, Floats]:
        """Where each stands on the scale, and how surely; NaN without a scale, or without others.

        Of items that nobody else answered, only the prior tells how hard they are.
        """
        if self.scale is None:
            return np.full(self.order.size, np.nan), np.full(self.order.size, np.nan)
        found = self.scale.abilities().iloc[self.order]
        alone = np.bincount(self.part)[self.part] == 1
        ability, se = (np.where(alone, np.nan, found[name]) for name in ("ability", "se"))
        return ability, se

    @property
    def observed(self) -> Floats:
        """Mean response of each to what it was asked, in whichever task."""
        return np.asarray(np.nanmean(self.table.values, axis=1))

    def remarks(self) -> list[str]:
        """What a reader should know of tasks, clusters and items that were not asked."""
        said = []
        if self.average == "tasks" and len(self.names) > 1:
            said.append(f"Accuracy is the mean over {counted(len(self.names), 'task')}.")
        if self.clustered:
            clusters = counted(int(np.unique(self.cluster).size), "cluster")
            said.append(f"Standard errors are over {clusters} of items, not over single items.")
        if self.together is not None:
            said.append(
                f"{counted(self.order.size, 'respondent')} make too many pairs: tested are those "
                f"of the best {BEST}, and ranks are by intervals of accuracy that hold for all at "
                "once. Choose with responses.select(respondents=[...]) to compare others."
            )
        return [*said, *self._of_parts(), *self._of_gaps()]

    def _of_parts(self) -> list[str]:
        """That some respondents share no items with others, even through third ones."""
        parts = int(self.part.max()) + 1
        if parts == 1:
            return []
        note = (
            f"{parts:,} separate boards, which no item links: ranks and accuracy hold within each "
            "(column board), and abilities of different boards are not compared."
        )
        return [note]

    def _of_gaps(self) -> list[str]:
        """Who was not asked all items, and what its accuracy then is."""
        partly = [
            name
            for name, asked in zip(self.table.respondents, self.reached.n, strict=True)
            if asked < self.table.n_items
        ]
        if not partly:
            return []
        who = f"Not asked all items: {listed(partly, 'respondent')}; accuracy is"
        if self.scale is None:
            return [f"{who} over those that were, which may be easier or harder. Go by the pairs."]
        sure = (
            f"Intervals are as wide as {counted(self.n_masked, 'respondent')} who answered nearly "
            "all show, masked alike."
            if self.n_masked
            else "Too few answered nearly all items to tell how far that goes across tasks: "
            "intervals hold where one ability is behind all items."
        )
        note = (
            f"{who} what all items would bring by the {self.scale.model.name} model "
            "(accuracy_observed: over those that were). Pairs are compared on items that both "
            f"answered. {sure}"
        )
        return [note]


def groups_of(table: Responses, by: object, default: str, name: str) -> tuple[str, ...] | None:
    """The group of each item; None where none was asked for, or the default is not known."""
    if by is None or (isinstance(by, str) and by == default and by not in table.item_facts):
        return None
    try:
        return table.item_groups(by)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _coded(names: tuple[str, ...] | list[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Names as they first appear, and the number of each entry among them."""
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(place), np.array([place[name] for name in names], dtype=np.intp)


def _told_apart(clusters: tuple[str, ...]) -> list[str]:
    """Items of which no cluster is known stand alone."""
    return [
        f"{UNKNOWN} {k}" if name == UNKNOWN else f"known {name}" for k, name in enumerate(clusters)
    ]
