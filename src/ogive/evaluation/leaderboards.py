"""Leaderboard: accuracy, ability and rank, each with its interval, and tests of all pairs.

Items are treated as a sample of those that might have been asked: intervals and tests say what
would hold on other items of the same kind (Miller, 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._progress import at_stage
from ogive._validation import checked_share, one_of
from ogive.data.responses import Table, as_responses
from ogive.data.study_tables import DOCUMENT, TASK, answered, groups_of, on_one_scale, without_marks
from ogive.evaluation.boards import BETTER, TIED, WORSE, draw_pairs, said_of_risk
from ogive.evaluation.rankings import Average, Board
from ogive.evaluation.repeated_answers import Repeated, RepeatedBoard
from ogive.irt.calibrating import is_auto
from ogive.irt.calibration import Calibration
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.predicted_accuracy import Reached, ability_scale, check_known
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, who_has
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction
from ogive.stats.pairwise_tests import Pairs, letters_of

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["Leaderboard", "leaderboard"]


def said_of_part(part: NDArray[np.intp]) -> str:
    """Return which board is meant, if there are several."""
    count = int(part.max()) + 1
    return f" of the first of {count:,} boards that no item links" if count > 1 else " "


def said_of_lead(behind: int, n_compared: int, n_respondents: int) -> str:
    """Return which respondents the first is significantly better than."""
    if not behind:
        return "it shares no items with others"
    if behind == n_respondents - 1:
        return f"it is significantly better than {'all others' if behind > 1 else 'the other'}"
    if behind == n_compared - 1:
        return f"it is significantly better than the next {behind}"
    return f"it is significantly better than {counted(behind, 'other')} that it shares items with"


def notes_on(tests: Pairs, alpha: float, confidence: float, names: Sequence[str]) -> list[str]:
    """Return notes on pairs that share no item, and on rules that seem to disagree."""
    return [
        *_untested(tests),
        *_two_rules(tests, alpha, confidence),
        *_single_intervals(tests, alpha, confidence),
        *_order(tests, alpha, names),
    ]


def _single_intervals(tests: Pairs, alpha: float, confidence: float) -> list[str]:
    """Return a note if an interval excludes 0 although the corrected test does not reject."""
    apart = (tests.low > 0) | (tests.high < 0)
    if not (apart & (tests.p_adjusted > alpha)).any():
        return []
    note = (
        f"Intervals of differences are {confidence:.0%} intervals of single pairs; p_adjusted is "
        "corrected for the number of pairs. An interval may exclude 0 where p_adjusted does not "
        "find a difference."
    )
    return [note]


def _untested(tests: Pairs) -> list[str]:
    apart = int((tests.shared == 0).sum())
    return [f"Not tested (no shared items): {counted(apart, 'pair')}."] if apart else []


def _two_rules(tests: Pairs, alpha: float, confidence: float) -> list[str]:
    """Return a note if rank intervals of respondents that differ significantly overlap."""
    if not ((tests.p_adjusted <= alpha) & (tests.p_family > 1 - confidence)).any():
        return []
    note = (
        "Rank intervals hold simultaneously for all respondents, tests of pairs do not: the rank "
        "intervals of two respondents that differ significantly may overlap."
    )
    return [note]


def _order(tests: Pairs, alpha: float, names: Sequence[str]) -> list[str]:
    """Return a note if the first ties with one from which a lower rank differs."""
    n = len(names)
    first, second = np.triu_indices(n, 1)
    differ = np.zeros((n, n), dtype=bool)
    differ[first, second] = tests.p_adjusted <= alpha
    for other in second[: n - 1][(tests.shared[: n - 1] > 0) & ~differ[0, 1:]].tolist():
        surer = np.flatnonzero(differ[1:other, other]).tolist()
        if surer:
            note = (
                f"{names[0]} cannot be distinguished from {names[other]}, but "
                f"{names[1 + surer[0]]}, ranked below {names[0]}, can: how large a difference has "
                "to be depends on the items that the two answered, and on how many of these they "
                "disagree on. So the rank interval of the first may be the wider one."
            )
            return [note]
    return []


MOST_PREVIEWED = 50  # respondents that a command prints
FIRST = 25  # respondents in the figure of a page
MOST_LETTERED = 100  # respondents whose groups are shown as letters
FIGURES = ("ranks", "pairs", "tasks")
OF_PAIRS = ("respondent", "other", "difference", "se", "low", "high", "p_adjusted", "verdict")
APART = "no shared items"  # verdict on a pair that was asked nothing in common


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(RepeatedBoard, Result):
    """Respondents by accuracy or mean score, with intervals of it, of ability and of rank.

    Accuracy is the mean response, over items or over tasks; of grades, `measure` calls it the mean
    score. Everything is in rank order, the best
    first; `pairs` and `tasks` are further frames.
    """

    respondents: tuple[str, ...]
    rank: NDArray[np.intp]  # (n_respondents,); ties share the better rank
    rank_low: NDArray[np.intp]
    rank_high: NDArray[np.intp]
    part: NDArray[np.intp]  # (n_respondents,); index of the separate board, 0 if there is one
    reached: Reached
    observed: Floats  # (n_respondents,); mean response to what was asked
    ability: Floats  # (n_respondents,); NaN without a scale
    ability_se: Floats
    ability_difference_se: Floats  # of all pairs that are compared, as in `tests`
    tests: Pairs  # of the first n_compared respondents
    n_compared: int  # all, unless they are more than 2,000
    by_task: dict[str, Reached]
    n_items: int
    calibration: Calibration | None
    average: str
    confidence: float
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()
    measure: str = "accuracy"  # what means of responses are called
    repeated: Repeated | None = None  # what repeated answers add

    @cached_property
    def significant(self) -> NDArray[np.bool_]:
        """Whether each pair differs significantly: (n_compared, n_compared)."""
        n = self.n_compared
        found = np.zeros((n, n), dtype=bool)
        found[np.triu_indices(n, 1)] = self.tests.p_adjusted <= self.alpha
        return found | found.T

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Whether each pair shares an item: (n_compared, n_compared)."""
        n = self.n_compared
        found = np.zeros((n, n), dtype=bool)
        found[np.triu_indices(n, 1)] = self.tests.shared > 0
        return found | found.T | np.eye(n, dtype=bool)

    @cached_property
    def groups(self) -> list[str] | None:
        """Letters that respondents share if they cannot be distinguished; None for many."""
        few = len(self.respondents) <= MOST_LETTERED and bool(self.compared.all())
        return letters_of(self.significant) if few else None

    @property
    def leaders(self) -> tuple[str, ...]:
        """The first respondent, and all compared with it that do not differ significantly."""
        names = np.array(self.respondents[: self.n_compared], dtype=object)
        return tuple(names[self.compared[0] & ~self.significant[0]])

    @property
    def meaning(self) -> str:
        """Who ranks first, who cannot be distinguished from it, and how many pairs differ."""
        first = [
            name
            for name, rank, part in zip(self.respondents, self.rank, self.part, strict=True)
            if rank == 1 and part == 0
        ]
        best, others = first[0], [name for name in self.leaders if name not in first]
        found = self.reached
        mean, low, high = (f"{each[0]:.3f}" for each in (found.mean, found.low, found.high))
        asked = "" if self.part.any() else f"on {counted(self.n_items, 'item')}"
        if asked and len(first) == 1 and found.n[0] < self.n_items:
            asked += f", {int(found.n[0]):,} of them answered"
        if len(self.respondents) == 1:
            article = "an" if self.measure == "accuracy" else "a"
            return f"{best} has {article} {self.measure} of {mean} ({low} to {high}) {asked}."
        tested = int(np.isfinite(self.tests.p).sum())
        apart = int((self.tests.p_adjusted <= self.alpha).sum())
        tail = said_of_lead(int(self.compared[0].sum()) - 1, self.n_compared, len(self.rank))
        if others:
            them = "it" if len(first) == 1 else "them"
            tail = f"{listed(others, 'other')} cannot be distinguished from {them}"
        elif len(first) == len(self.respondents):
            tail = "nobody is ahead"
        elif len(first) > 1:
            tail = "others are significantly lower"
        risk = f" ({said_of_risk(self.correction, self.alpha)})" if apart else ""
        return (
            f"{who_has(first)} the highest {self.measure}{said_of_part(self.part)}{asked}, {mean} "
            f"({low} to {high}), and {tail}. {apart:,} of {counted(tested, 'pair')} "
            f"{'differs' if apart == 1 else 'differ'} significantly{risk}.{self._said_of_tries}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        `tied_with` names respondents that cannot be distinguished from it; it is None for
        respondents not compared in pairs. Who shares a letter in `group` cannot be distinguished.
        If not everybody was asked everything, `accuracy_observed` is the mean over the items
        asked, `not_compared` names respondents that share no item with it, and `board` numbers
        groups that no item links.
        """
        names = np.array(self.respondents[: self.n_compared], dtype=object)
        alike = self.compared & ~self.significant & ~np.eye(len(names), dtype=bool)
        rest = [None] * (len(self.respondents) - len(names))
        width = normal_reach(self.confidence) * self.ability_se
        columns = {
            **({"board": self.part + 1} if self.part.any() else {}),
            "rank": self.rank,
            "rank_low": self.rank_low,
            "rank_high": self.rank_high,
            **self.reached.columns(),
            **({"accuracy_observed": self.observed} if self._sparse else {}),
            "ability": self.ability,
            "ability_se": self.ability_se,
            "ability_low": self.ability - width,
            "ability_high": self.ability + width,
            "n_items": self.reached.n,
            **self._of_repeats(),
            **({"group": self.groups} if self.groups else {}),
            "tied_with": [*(", ".join(names[row]) for row in alike), *rest],
        }
        if not self.compared.all():
            columns["not_compared"] = [*(", ".join(names[~row]) for row in self.compared), *rest]
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    @property
    def _sparse(self) -> bool:
        """True if some respondents were not asked all items."""
        return bool((self.reached.n < self.n_items).any())

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair: the difference on shared items, with its interval and test.

        The verdict uses `p_adjusted`, which allows for all pairs; the interval is for one pair.
        """
        first, second = np.triu_indices(self.n_compared, 1)
        names, tests = np.array(self.respondents, dtype=object), self.tests
        sure = tests.p_adjusted <= self.alpha
        verdict = np.where(sure, np.where(tests.difference > 0, BETTER, WORSE), TIED)
        columns = {
            "respondent": names[first],
            "other": names[second],
            "difference": tests.difference,
            "se": tests.se,
            "low": tests.low,
            "high": tests.high,
            "p": tests.p,
            "p_adjusted": tests.p_adjusted,
            "verdict": np.where(tests.shared == 0, APART, verdict),
            "n_shared": tests.shared,
            "ability_difference": np.where(
                self.part[first] == self.part[second],
                self.ability[first] - self.ability[second],
                np.nan,
            ),
            "ability_difference_se": self.ability_difference_se,
        }
        return pd.DataFrame(columns)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row per task and respondent: accuracy with its interval, and items answered."""
        parts = []
        for task, found in self.by_task.items():
            names = {"task": task, "respondent": self.respondents}
            parts.append(pd.DataFrame({**names, **found.columns(), "n_items": found.n}))
        return pd.concat(parts, ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the board, the pairs and the tasks."""
        found = {"leaderboard": self.to_frame(), "pairs": self.pairs, "tasks": self.tasks}
        if self.repeated is not None:
            found["variances"] = self.variances
            found |= {"attempts": self.attempts} if self.repeated.attempts else {}
        return found

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        return {kind: partial(self.plot, kind) for kind in FIGURES}

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return the board, the pairs without what the board says, and tasks if there are any."""
        found = self.tables() | {"pairs": self.pairs[list(OF_PAIRS)]}
        if len(self.by_task) < 2:
            del found["tasks"]
        called = self.measure.replace(" ", "_")
        return {
            name: frame.rename(columns=lambda column: column.replace("accuracy", called))
            for name, frame in found.items()
        }

    def page_figures(self) -> dict[str, Draw]:
        """Return the ranks of the first respondents."""
        return {"ranks": partial(self._ranks, FIRST)}

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank, where there is one."""
        return {} if self.calibration is None else {"items": self.calibration}

    def key_facts(self) -> dict[str, Any]:
        """Return the leaders."""
        return {"leaders": self.leaders}

    def preview(self) -> pd.DataFrame:
        """Return ranks, accuracies and abilities of the first respondents."""
        names = ["rank", "rank_low", "rank_high", "accuracy", "accuracy_low", "accuracy_high"]
        return self.to_frame()[[*names, "ability"]].head(MOST_PREVIEWED)

    def plot(self, kind: str = "ranks", **kw: Any) -> Display:
        """Draw accuracy and rank with intervals; or differences by "pairs", accuracy by "tasks"."""
        if one_of(kind, "kind", FIGURES) == "ranks":
            return self._ranks(**kw)
        if kind == "pairs":
            return draw_pairs(self.pairs, **kw)
        return self._task_map().plot(**kw)

    def _ranks(self, most: int | None = None, **kw: Any) -> Display:
        """Draw accuracy and rank of at most so many respondents."""
        from ogive.results.plots import DISPLAYS

        leading = np.isin(self.respondents, self.leaders)
        shown: Any = DISPLAYS["leaderboard"](self.to_frame().assign(leading=leading))
        shown.most_rows = most or shown.most_rows
        drawn: Display = shown.plot(**kw)
        drawn.ax_.set_xlabel(f"{self.measure} (bar: {self.confidence:.0%} interval)")
        return drawn

    def _task_map(self) -> Display:
        from ogive.results.plots import DISPLAYS

        frame = self.tasks.pivot_table(
            index="respondent", columns="task", values="accuracy", sort=False, dropna=False
        )
        wide = float(((self.tasks["accuracy_high"] - self.tasks["accuracy_low"]) / 2).max())
        said = f"task (intervals: up to ±{wide:.2f})"
        return DISPLAYS["heat_map"](frame.rename_axis(said, axis=1))


def leaderboard(
    responses: Table,
    by: object = TASK,
    *,
    cluster: object = DOCUMENT,
    average: Average = "items",
    model: str | MeasurementModel = AUTO,
    confidence: float = 0.95,
    alpha: float = 0.05,
    correction: Correction = "holm",
    calibration: Calibration | None = None,
) -> Leaderboard:
    """Rank respondents by accuracy, and test which differences are significant.

    The frame has one row per respondent, the best first: rank, accuracy and ability with low and
    high, n_items, tied_with. Clustered standard errors follow Miller (2024).

    Parameters
    ----------
    responses
        Respondents × items; right or wrong, grades, or scores. Respondents who were not asked all
        items are ranked by the accuracy on all items that the model predicts, so that easy items
        favour nobody. The artificial ones of the paper's pool are marks, not rivals, and left out.
        Of more than 2,000, `pairs` shows those of the best 200; rank intervals count all of them.
    by
        The task of each item: the name of a fact, a mapping from item to task, a list, or None
        for a single task. Without the fact "task" all items are one task.
    cluster
        Which items belong together, such as questions on one document, given like `by`: standard
        errors are then computed over documents, not questions. None for unrelated items.
    average
        "items" gives every item the same weight, "tasks" every task.
    model
        Measurement model of the items, as in `calibrate`.
    confidence
        Confidence level of all intervals. Rank intervals hold simultaneously for all respondents,
        and so may be wider than `tied_with` and `verdict` suggest.
    alpha
        Largest chance of any false discovery among all pairs; with "bh" or "by", the largest
        expected share of false discoveries among the pairs that differ.
    correction
        Correction for multiple tests: "holm", under which leaders are named with at most that
        chance of a wrong claim; or, to find more pairs, "bh" (Benjamini and Hochberg) or "by"
        (Benjamini and Yekutieli, under any dependence of the tests).
    calibration
        A calibration of the same `Responses`, which is then not fitted again; it replaces `model`.

    Examples
    --------
    >>> import ogive as og
    >>> board = og.leaderboard(og.simulate("2pl", 4, 300, random_state=1).responses)
    >>> board.to_frame()["rank"].tolist()
    [1, 2, 3, 4]
    """
    confidence = checked_share(confidence, "confidence", 0.95)
    alpha = checked_share(alpha, "alpha", 0.05)
    one_of(average, "average", get_args(Average))
    one_of(correction, "correction", CORRECTIONS)
    given = as_responses(responses)
    check_known(calibration, given)
    whole, marks = without_marks(given)
    groups = groups_of(whole, by, TASK, "by"), groups_of(whole, cluster, DOCUMENT, "cluster")
    kept = answered(whole)
    tasks, clusters = (None if each is None else kept.of_items(each) for each in groups)
    table, units = kept.table, list[str]()
    if is_auto(model) or table.kind == "continuous":
        table, units = on_one_scale(table, tasks)
    at_stage("calibrating")
    scale, said = ability_scale(table, model, calibration)
    said = [*units, *said]
    at_stage("accuracy")
    board = Board.of(table, tasks, clusters, scale, average=average, confidence=confidence)
    if tasks is None and by is not None:
        said = [*said, "The tasks of the items are unknown: all items are treated as one task."]
    return _found(board, alpha, correction, (*whole.notes, *marks, *kept.notes, *said))


def _found(board: Board, alpha: float, correction: str, notes: tuple[str, ...]) -> Leaderboard:
    """Gather the result of a board, in rank order."""
    at_stage("pairs")
    tests = board.pairs(correction)
    at_stage("ranks")
    rank = board.ranks()
    low, high = board.rank_intervals(tests)
    at_stage("abilities")
    ability, ability_se, apart_se = board.abilities()
    repeated = Repeated.of(board.table, board.grouping, board.confidence, board.measure)
    again = [] if repeated is None else repeated.notes()
    compared = board.table.respondents[: board.n_compared]
    on_tests = notes_on(tests, alpha, board.confidence, compared)
    return Leaderboard(
        respondents=board.table.respondents,
        repeated=repeated,
        rank=rank,
        rank_low=np.minimum(low, rank),
        rank_high=np.maximum(high, rank),
        part=board.part,
        reached=board.reached,
        observed=board.observed,
        ability=ability,
        ability_se=ability_se,
        ability_difference_se=apart_se,
        tests=tests,
        n_compared=board.n_compared,
        by_task=board.by_task(),
        n_items=board.table.n_items,
        calibration=board.scale,
        average=board.average,
        confidence=board.confidence,
        alpha=alpha,
        correction=correction,
        measure=board.measure,
        notes=(*notes, *board.remarks(), *again, *on_tests),
    )
