"""Evaluating a model with few items: each is chosen by what the responses so far leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from itemwise.adaptive import Selector
from itemwise.arguments import one_of
from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.files import PathLike
from itemwise.numerics.reach import normal_reach
from itemwise.progress import Progress, telling
from itemwise.responses import Responses
from itemwise.results import Result
from itemwise.studies.evaluation.asking import Ask, Waiter, ask_later, ask_now
from itemwise.studies.evaluation.course import (
    BUDGET,
    CONFIDENCE,
    RESPONDENT,
    SELECTOR,
    Course,
    Settings,
)
from itemwise.studies.evaluation.intervals import possible_scores
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

FIGURES = ("trace",)
WIDEST = 40  # signs of the names of items beside a bar


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveEvaluation(Result):
    """What a few items say of a model, and what all of them would.

    `accuracy` is the mean response over all items of the bank, of grades and scores as well.
    `trace` has one row a response: step, item, response, and as known after it `ability` with
    `ability_se`, and `accuracy` with `accuracy_se` and its interval from `accuracy_low` to
    `accuracy_high`.
    """

    respondent: str
    trace: pd.DataFrame
    ability: float
    ability_se: float
    accuracy: float
    accuracy_se: float
    accuracy_low: float
    accuracy_high: float
    confidence: float
    skipped: tuple[str, ...]  # items that could not be answered
    reason: str
    n_items: int
    word: str  # what the accuracy is called in sentences
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[str, ...]:
        """Items that were answered, in the order in which they were asked."""
        return tuple(self.trace["item"])

    @property
    def saved(self) -> int:
        """Items of the bank that did not have to be asked."""
        return self.n_items - len(self.trace) - len(self.skipped)

    @property
    def meaning(self) -> str:
        """One sentence on what is known, and what it took."""
        reach = normal_reach(self.confidence) * self.ability_se
        return (
            f"{self.respondent} answered {len(self.trace):,} of {counted(self.n_items, 'item')} "
            f"({self.reason}): its {self.word} on all of them would be {self.accuracy:.3f} "
            f"({self.confidence:.0%} interval {self.accuracy_low:.3f} to "
            f"{self.accuracy_high:.3f}), its ability is {self.ability:.2f} ± {reach:.2f}, and "
            f"{counted(self.saved, 'item')} did not have to be asked."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a response."""
        return self.trace.copy()

    def plot(self, kind: str = "trace", **kw: Any) -> Display:
        """Predicted accuracy and ability, as they became known."""
        import pandas as pd

        from itemwise.displays import DISPLAYS

        one_of(kind, "kind", FIGURES)
        if self.trace.empty:
            raise InputError("Nothing was answered, so that there is no trace to draw.")
        trace, reach = self.trace, normal_reach(self.confidence) * self.trace["ability_se"]
        ends = (trace["accuracy_low"], trace["accuracy_high"])
        parts = {
            f"predicted {self.word}": (trace["accuracy"], *ends),
            "ability": (trace["ability"], trace["ability"] - reach, trace["ability"] + reach),
        }
        frames = [
            pd.DataFrame(dict(zip(("estimate", "low", "high"), columns, strict=True))).assign(
                panel=name, series=self.respondent, x=trace["step"]
            )
            for name, columns in parts.items()
        ]
        frame = pd.concat(frames)
        bands: Any = DISPLAYS["bands"]
        display: Display = bands(frame, across="items answered")
        return display.plot(**kw)


def evaluate_adaptively(
    calibration: Calibration,
    ask: Ask,
    *,
    budget: int = BUDGET,
    max_se: float | None = None,
    selector: Selector | str = SELECTOR,
    batch_size: int = 1,
    journal: PathLike | None = None,
    error: Any = None,
    confidence: float = CONFIDENCE,
    respondent: str = RESPONDENT,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> AdaptiveEvaluation:
    """Ask a model the items that tell most, and foretell its accuracy on all items of the bank.

    `ask(item)` puts the item of that name to the model and returns its response: 1 or 0, a grade
    or a score, as the bank's model has it; None for what could not be answered, which is not
    asked again. With a `batch_size` above 1 it is given a list of items, and returns a list of
    responses in the same order, or a mapping from item to response. It may be async; where an
    event loop is running, it then runs in a thread (or await `evaluate_adaptively_async`).

    It is over when `budget` items were asked, or the standard error of the ability is at most
    `max_se`. The `selector` "score" looks for the items after which the accuracy on all items is
    known best, "information" for those that tell most of the ability; see `AdaptiveTest`.

    With a `journal`, each response is on disk before it counts: after a crash the same call goes
    on, and asks nothing twice. A larger budget goes on, too. `progress` is True (a bar in a
    terminal or a notebook), False, or a callable of (items asked, budget, next items). One
    journal serves one evaluation.

    Intervals of the accuracy are the model's own, which are too narrow where a benchmark is not one
    scale; with `error=replay_adaptively(...)` they are as wide as that replay found necessary.

    The frame has a row an item that was asked: response, and after it the ability and the accuracy
    on all items, each with its error and the latter with its interval. `confidence` is that of
    the intervals, `respondent` the name of the model, `random_state` the seed of a selector that
    draws.

    >>> import itemwise as iw
    >>> drawn = iw.simulate("2pl", 300, 60, random_state=0)
    >>> bank = iw.calibrate(drawn.responses)
    >>> found = iw.evaluate_adaptively(bank, lambda item: int(item < "item_4"), budget=10)
    >>> len(found.items), found.saved, found.reason
    (10, 50, 'budget spent')
    """
    course = Course(
        calibration,
        budget=budget,
        max_se=max_se,
        selector=selector,
        batch_size=batch_size,
        journal=journal,
        error=error,
        confidence=confidence,
        respondent=respondent,
        random_state=random_state,
    )
    _refuse_unless_callable(ask)
    with course, Waiter() as waiter, telling(progress, "Asking") as report:
        while items := course.next_items():
            report(course.asked, course.budget, ", ".join(items)[:WIDEST])
            course.take(items, ask_now(ask, items, waiter, batched=batch_size > 1))
    return _result(course)


async def evaluate_adaptively_async(
    calibration: Calibration,
    ask: Ask,
    *,
    progress: Progress | bool = True,
    **settings: Unpack[Settings],
) -> AdaptiveEvaluation:
    """As `evaluate_adaptively`, in the event loop that is running.

    `ask` may be async or not; an async one can use clients that belong to this loop. `calibration`,
    `progress` and the `settings` (budget, max_se, selector, batch_size, journal, error, confidence,
    respondent, random_state) mean the same.

    >>> import asyncio
    >>> import itemwise as iw
    >>> bank = iw.calibrate(iw.simulate("2pl", 200, 20, random_state=0).responses, "2pl")
    >>> async def ask(item):
    ...     return 1
    >>> len(asyncio.run(iw.evaluate_adaptively_async(bank, ask, budget=5)).items)
    5
    """
    course = Course(calibration, **settings)
    _refuse_unless_callable(ask)
    with course, telling(progress, "Asking") as report:
        while items := course.next_items():
            report(course.asked, course.budget, ", ".join(items)[:WIDEST])
            course.take(items, await ask_later(ask, items, batched=course.batch_size > 1))
    return _result(course)


def _refuse_unless_callable(ask: Any) -> None:
    if not callable(ask):
        raise InputError(
            f"ask is {ask!r:.60}; give a function that takes an item and returns the response."
        )


def _result(course: Course) -> AdaptiveEvaluation:
    """What is known at the end, and how it became known."""
    bank, session = course.calibration, course.session
    trace = session.trace.rename(columns={"se": "ability_se"})
    told = _accuracies(course, trace)
    last = {str(name): float(value) for name, value in told.iloc[-1].items()}
    steps = told.iloc[1:].reset_index(drop=True)
    return AdaptiveEvaluation(
        respondent=course.respondent,
        trace=trace.assign(**{str(name): steps[name] for name in steps}),
        ability=session.ability,
        ability_se=session.se,
        **last,
        confidence=course.confidence,
        skipped=session.skipped,
        reason=course.reason,
        n_items=len(bank.item_names),
        word="accuracy" if bank.model.kind == "binary" else "mean response",
        notes=_notes(course),
    )


def _accuracies(course: Course, trace: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on all items, with its interval, after 0, 1, ... responses."""
    import pandas as pd

    bank, count = course.calibration, len(trace)
    given = trace["response"].to_numpy(dtype=float)
    seen = np.tril(np.ones((count + 1, count), dtype=bool), -1)
    asked = list(trace["item"]) or [bank.item_names[0]]
    values = np.where(seen, given, np.nan) if count else np.full((1, 1), np.nan)
    known = Responses(values, items=asked, kind=bank.model.kind)
    found = bank.completed_scores(known)
    mean, error = found["score"].to_numpy(), found["score_se"].to_numpy()
    reach = np.full(count + 1, normal_reach(course.confidence))
    if course.error is not None:
        reach[:] = [course.error.reach(k, course.confidence) for k in range(count + 1)]
    places = np.array([course.session.test.items.place_of[name] for name in trace["item"]], int)
    least, most = zip(
        *(possible_scores(bank, places[:k], given[:k]) for k in range(count + 1)), strict=True
    )
    with np.errstate(invalid="ignore"):  # an endless reach of no error is none
        half = np.where(error > 0, reach * error, 0.0)
    return pd.DataFrame(
        {
            "accuracy": mean,
            "accuracy_se": error,
            "accuracy_low": np.maximum(mean - half, least),
            "accuracy_high": np.minimum(mean + half, most),
        }
    )


def _notes(course: Course) -> tuple[str, ...]:
    notes = []
    if course.session.skipped:
        lost = listed(course.session.skipped, "item")
        notes.append(f"{lost} could not be answered: they count as asked, not as wrong.")
    if course.recovered:
        notes.append(f"{counted(course.recovered, 'item')} had been asked before, by the journal.")
    if course.error is None:
        notes.append(
            "The interval of the accuracy is the model's own, too narrow where the benchmark is "
            "not one scale; error=replay_adaptively(...) makes it as wide as errors really are."
        )
    return tuple(notes)
