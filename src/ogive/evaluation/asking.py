"""Adaptive evaluation: ask a model items one by one, or in batches, by any callable."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeAlias, Unpack

from ogive._files import PathLike
from ogive._progress import Progress, telling
from ogive.errors import InputError
from ogive.evaluation.adaptive_evaluation import (
    BUDGET,
    CONFIDENCE,
    RESPONDENT,
    SELECTOR,
    AdaptiveEvaluation,
    Course,
    Settings,
    evaluation_of,
)
from ogive.irt.adaptive.selectors import Selector
from ogive.irt.calibration import Calibration
from ogive.irt.models import AUTO
from ogive.results.numbers import listed

__all__ = ["AdaptiveEvaluation", "evaluate_adaptively", "evaluate_adaptively_async"]


Ask: TypeAlias = Callable[[Any], Any]
WIDEST = 40  # characters of item names beside a progress bar


def evaluate_adaptively(
    calibration: Calibration,
    ask: Ask,
    *,
    budget: int = BUDGET,
    max_se: float | None = None,
    method: str = AUTO,
    selector: Selector | str = SELECTOR,
    batch_size: int = 1,
    journal: PathLike | None = None,
    error: Any = None,
    confidence: float = CONFIDENCE,
    respondent: str = RESPONDENT,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> AdaptiveEvaluation:
    """Ask a model the most informative items, and predict its accuracy on all items of a bank.

    `calibration` is the bank: a fitted measurement model, or one read by `load`. `ask(item)` puts
    the item of that name to the model and returns its response: 1 or 0, a grade or a score, as the
    bank requires; None if it could not be answered (it is not asked again). With a `batch_size`
    above 1 it is given a list of items, and returns a list of responses in the same order, or a
    mapping from item to response. It may be async; if an event loop is running, it then runs in a
    thread (or await `evaluate_adaptively_async`).

    The evaluation stops when `budget` items were asked, or when the standard error of the ability
    is at most `max_se`. The `selector` "score" chooses items that make the accuracy on all items
    most precise, "information" those most informative about the ability; see `AdaptiveTest`.
    On some benchmarks, a fixed short form of as many items predicts better (`shorten`). The
    `method` "auto" asks it where a replay found that, and no `max_se` is given; "adaptive" never
    does. `notes` say what was asked and why.

    With a `journal`, each response is on disk before it counts: after a crash, the same call
    resumes and asks nothing twice. It can also be resumed with a larger budget. One journal
    belongs to one evaluation. `progress` is True (a bar in a terminal or a notebook), False, or a
    callable of (items asked, budget, next items).

    Intervals of the accuracy are as wide as a replay found necessary: that of the bank
    (`replay_adaptively(responses).bank`), of `error=replay_adaptively(...)`, or, with the method
    "auto", of the models that the bank was calibrated on, which takes some seconds or minutes
    before the first item. A bank from a file without a replay has none: intervals then come from
    the model and are too narrow if one ability does not explain all items; a note says so.

    The frame has one row per response, with the ability and the accuracy on all items after it,
    each with its standard error, and the interval of the accuracy. `confidence` is the level of the
    intervals, `respondent` the name of the model, `random_state` the seed of a random selector.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 300, 60, random_state=0)
    >>> bank = og.calibrate(drawn.responses)
    >>> found = og.evaluate_adaptively(bank, lambda item: int(item < "item_4"), budget=10)
    >>> len(found.items), found.saved, found.reason
    (10, 50, 'budget spent')
    """
    course = Course(
        calibration,
        budget=budget,
        max_se=max_se,
        method=method,
        selector=selector,
        batch_size=batch_size,
        journal=journal,
        error=error,
        confidence=confidence,
        respondent=respondent,
        random_state=random_state,
    )
    _refuse_unless_callable(ask)
    with course, _Waiter() as waiter, telling(progress, "Asking") as report:
        while items := course.next_items():
            report(course.asked, course.budget, ", ".join(items)[:WIDEST])
            course.take(items, _ask_now(ask, items, waiter, batched=batch_size > 1))
    return evaluation_of(course)


async def evaluate_adaptively_async(
    calibration: Calibration,
    ask: Ask,
    *,
    progress: Progress | bool = True,
    **settings: Unpack[Settings],
) -> AdaptiveEvaluation:
    """Do the same as `evaluate_adaptively` in the running event loop.

    `ask` may be async or not; an async one can use clients that belong to this loop. `calibration`,
    `progress` and the `settings` (budget, max_se, method, selector, batch_size, journal, error,
    confidence, respondent, random_state) have the same meaning.

    >>> import asyncio
    >>> import ogive as og
    >>> bank = og.calibrate(og.simulate("2pl", 200, 20, random_state=0).responses, "2pl")
    >>> async def ask(item):
    ...     return 1
    >>> len(asyncio.run(og.evaluate_adaptively_async(bank, ask, budget=5)).items)
    5
    """
    course = Course(calibration, **settings)
    _refuse_unless_callable(ask)
    with course, telling(progress, "Asking") as report:
        while items := course.next_items():
            report(course.asked, course.budget, ", ".join(items)[:WIDEST])
            course.take(items, await _ask_later(ask, items, batched=course.batch_size > 1))
    return evaluation_of(course)


def _refuse_unless_callable(ask: Any) -> None:
    if not callable(ask):
        raise InputError(
            "`ask` must be a function that takes an item and returns the response, got "
            f"{ask!r:.60}."
        )


class _Waiter:
    """Waits for async answers, in one event loop for all calls.

    If a loop is running already, as in a notebook, this one runs in a thread.
    """

    def __enter__(self) -> Self:
        # With a factory, the event loop of this thread is left alone.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._thread: ThreadPoolExecutor | None = None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._thread is None:
            self._runner.close()
            return
        with self._thread as thread:
            thread.submit(self._runner.close).result()

    def wait(self, answer: Awaitable[Any]) -> Any:
        """Return await the answer and return it."""
        if not _in_a_loop():
            return self._runner.run(_awaited(answer))
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
        return self._thread.submit(self._runner.run, _awaited(answer)).result()


def _ask_now(ask: Ask, items: list[str], waiter: _Waiter, *, batched: bool) -> list[Any]:
    """Return responses to `items`, in their order; an error names what was asked."""
    try:
        answer = ask(list(items) if batched else items[0])
        if inspect.isawaitable(answer):
            answer = waiter.wait(answer)
    except Exception as error:
        error.add_note(_said(items))
        raise
    return _matched(items, answer, batched=batched)


async def _ask_later(ask: Ask, items: list[str], *, batched: bool) -> list[Any]:
    """Do the same as `_ask_now` in the running event loop."""
    try:
        answer = ask(list(items) if batched else items[0])
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        error.add_note(_said(items))
        raise
    return _matched(items, answer, batched=batched)


def _matched(items: Sequence[str], answer: Any, *, batched: bool) -> list[Any]:
    """Return one response per item, in the order of the items."""
    if not batched:
        if hasattr(answer, "__len__") and not (isinstance(answer, str) or _is_single(answer)):
            raise InputError(
                f"ask({items[0]!r}) returned {answer!r:.60}, but should return one response. To "
                "ask several items at a time, set batch_size."
            )
        return [answer]
    wanted = f"ask was given {listed(list(items), 'item')}"
    if hasattr(answer, "keys") and hasattr(answer, "items"):  # also a pandas Series
        return _looked_up(items, dict(answer.items()), len(answer), wanted)
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable) or _is_single(answer):
        raise InputError(
            f"{wanted} and returned {answer!r:.60}. With batch_size above 1 it should return a "
            "list of responses in the same order, or a mapping from item to response."
        )
    found = list(answer)
    if len(found) != len(items):
        raise InputError(
            f"{wanted} and returned {len(found):,} responses. Return one per item, in the same "
            "order, with None for items that could not be answered."
        )
    return found


def _looked_up(items: Sequence[str], answer: dict[Any, Any], length: int, wanted: str) -> list[Any]:
    """Return the responses of a mapping with exactly these items as keys."""
    missing = [item for item in items if item not in answer]
    if missing or length != len(items):
        odd = missing or [str(key) for key in answer if key not in items]
        fault = (
            f"{'it lacks' if missing else 'it should not contain'} {odd[0]!r:.60}"
            if odd
            else "one occurs twice"
        )
        raise InputError(
            f"{wanted} and returned a mapping of {length:,}; {fault}. Return exactly these items, "
            "with None for items that could not be answered."
        )
    return [answer[item] for item in items]


def _is_single(answer: Any) -> bool:
    """Return True if this is an array without dimensions, that is, a number."""
    return getattr(answer, "ndim", None) == 0


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _said(items: Sequence[str]) -> str:
    what = repr(items[0]) if len(items) == 1 else listed(list(items), "item")
    return f"This happened while asking {what}."
