"""The table behind a leaderboard: respondents in order, items in tasks and clusters, a scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.numerics.arrays import Bools, Floats
from itemwise.numerics.clustered import Grouping
from itemwise.responses import Responses
from itemwise.responses.facts import UNKNOWN
from itemwise.studies.leaderboards.pairs import Pairs, compare_pairs
from itemwise.studies.leaderboards.scores import Reached, expected_responses, reached
from itemwise.words import counted, listed

TASK, DOCUMENT = "task", "document"  # facts of items that are used where they are known
AVERAGES = ("items", "tasks")
FINEST = 9  # decimals that count in a rank: sums end in rounding
MOST = 2000  # respondents; beyond, there are millions of pairs


@dataclass(frozen=True, eq=False)
class Board:
    """What all parts of a leaderboard are made from; respondents stand in its order."""

    table: Responses
    order: NDArray[np.intp]  # places of the respondents in the table that was given
    expected: Floats | None  # by the model, where not everybody was asked everything
    reached: Reached
    names: tuple[str, ...]  # of tasks
    task: NDArray[np.intp]  # (n_items,)
    cluster: NDArray[np.intp]  # (n_items,)
    grouping: Grouping
    scale: Calibration | None
    average: str
    level: float
    bounded: bool  # between 0 and 1

    @classmethod
    def of(
        cls,
        table: Responses,
        by: object,
        cluster: object,
        scale: Calibration | None,
        *,
        average: str,
        level: float,
    ) -> Board:
        """The board of a table, best mean response first."""
        tasks, clusters = _groups(table, by, TASK), _groups(table, cluster, DOCUMENT)
        names, task = _coded(tasks or ["all items"] * table.n_items)
        own = np.arange(table.n_items)
        grouped = own if clusters is None else _coded(_told_apart(clusters))[1]
        strata = task if average == "tasks" else np.zeros_like(task)
        grouping = Grouping.of(strata, grouped)
        values = table.values
        bounded = bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
        weights = 1.0 / np.bincount(strata)[strata]
        expected = None if scale is None else expected_responses(scale, table)
        found = reached(values, expected, grouping, weights, level, bounded=bounded)
        order = np.argsort(-np.round(found.mean, FINEST), kind="stable")
        return cls(
            table=table.select(respondents=order),
            order=order,
            expected=None if expected is None else expected[order],
            reached=found.of(order),
            names=names,
            task=task,
            cluster=grouped,
            grouping=grouping,
            scale=scale,
            average=average,
            level=level,
            bounded=bounded,
        )

    @property
    def clustered(self) -> bool:
        """Whether some items belong together."""
        return np.unique(self.cluster).size < self.table.n_items

    def ranks(self) -> NDArray[np.intp]:
        """1 for the best; equals share the best rank of theirs."""
        mean = np.round(self.reached.mean, FINEST)
        return np.asarray(1 + np.searchsorted(-mean, -mean, side="left"))

    def pairs(self, correction: str) -> Pairs:
        """All pairs."""
        plain = not self.clustered and (self.average == "items" or len(self.names) == 1)
        return compare_pairs(
            self.table.values,
            self.grouping,
            exact=plain and self.table.kind == "binary",
            bounded=self.bounded,
            level=self.level,
            correction=correction,
        )

    def by_task(self) -> dict[str, Reached]:
        """What each reached in each task; NaN in tasks of which it was asked nothing."""
        found, values = {}, self.table.values
        for k, name in enumerate(self.names):
            mine = np.flatnonzero(self.task == k)
            found[name] = reached(
                values[:, mine],
                None if self.expected is None else self.expected[:, mine],
                Grouping.of(np.zeros_like(mine), self.cluster[mine]),
                np.ones(mine.size),
                self.level,
                bounded=self.bounded,
            )
        return found

    def abilities(self) -> tuple[Floats, Floats]:
        """Where each stands on the scale, and how surely; NaN without a scale."""
        if self.scale is None:
            return np.full(self.order.size, np.nan), np.full(self.order.size, np.nan)
        found = self.scale.abilities().iloc[self.order]
        return found["ability"].to_numpy(), found["se"].to_numpy()

    def remarks(self) -> list[str]:
        """What a reader should know of tasks, clusters and items that were not asked."""
        said = []
        if self.average == "tasks" and len(self.names) > 1:
            said.append(f"Accuracy is the mean over {counted(len(self.names), 'task')}.")
        if self.clustered:
            clusters = counted(int(np.unique(self.cluster).size), "cluster")
            said.append(f"Standard errors are over {clusters} of items, not over single items.")
        partly = [
            name
            for name, asked in zip(self.table.respondents, self.reached.n, strict=True)
            if asked < self.table.n_items
        ]
        if partly and self.scale is not None:
            said.append(
                f"Not asked all items: {listed(partly, 'respondent')}; accuracy is what all items "
                f"would bring by the {self.scale.model.name} model. Pairs are compared on items "
                "that both answered."
            )
        elif partly:
            said.append(
                f"Not asked all items: {listed(partly, 'respondent')}; accuracy is over those that "
                "were, which may be easier or harder. Go by the pairs."
            )
        return said


def answered(table: Responses) -> tuple[Responses, list[str]]:
    """The table without respondents and items of which nothing is known, and who they are."""
    if table.n_respondents > MOST:
        raise InputError(
            f"The table has {counted(table.n_respondents, 'respondent')}, but a leaderboard "
            f"compares at most {MOST:,} in pairs. Choose with responses.select(respondents=[...])."
        )
    seen = table.observed
    rows: Bools = np.asarray(seen.any(axis=1))
    columns: Bools = np.asarray(seen.any(axis=0))
    if not rows.any():
        raise InputError("No item was answered, so that there is nothing to rank.")
    notes = []
    for kept, names, noun in (
        (rows, table.respondents, "respondent"),
        (columns, table.items, "item"),
    ):
        lost = [name for name, there in zip(names, kept, strict=True) if not there]
        if lost:
            notes.append(f"Left out, without a response: {listed(lost, noun)}.")
    return (table.select(rows, columns) if notes else table), notes


def _groups(table: Responses, by: object, default: str) -> tuple[str, ...] | None:
    """The group of each item; None where none was asked for, or the default is not known."""
    if by is None or (isinstance(by, str) and by == default and by not in table.item_facts):
        return None
    return table.item_groups(by)


def _coded(names: tuple[str, ...] | list[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Names as they first appear, and the number of each entry among them."""
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(place), np.array([place[name] for name in names], dtype=np.intp)


def _told_apart(clusters: tuple[str, ...]) -> list[str]:
    """Items of which no cluster is known stand alone."""
    return [
        f"{UNKNOWN} {k}" if name == UNKNOWN else f"known {name}" for k, name in enumerate(clusters)
    ]
