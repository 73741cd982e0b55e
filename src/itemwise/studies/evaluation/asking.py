"""Asking a model: any callable, of one item or of several, that answers now or later."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeAlias

from itemwise.errors import InputError
from itemwise.words import listed

Ask: TypeAlias = Callable[[Any], Any]


class Waiter:
    """Waits for what is answered later, in one event loop for all calls.

    Where a loop is running already, as in a notebook, another one runs in a thread.
    """

    def __enter__(self) -> Self:
        # A factory leaves the event loop of this thread as it is.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._thread: ThreadPoolExecutor | None = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is None:
            self._runner.close()
            return
        with self._thread as thread:
            thread.submit(self._runner.close).result()

    def wait(self, answer: Awaitable[Any]) -> Any:
        """The answer itself."""
        if not _in_a_loop():
            return self._runner.run(_awaited(answer))
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
        return self._thread.submit(self._runner.run, _awaited(answer)).result()


def ask_now(ask: Ask, items: list[str], waiter: Waiter, *, batched: bool) -> list[Any]:
    """Responses to `items`, in their order; a failure names what was asked."""
    try:
        answer = ask(list(items) if batched else items[0])
        if inspect.isawaitable(answer):
            answer = waiter.wait(answer)
    except Exception as error:
        error.add_note(_said(items))
        raise
    return matched(items, answer, batched=batched)


async def ask_later(ask: Ask, items: list[str], *, batched: bool) -> list[Any]:
    """As `ask_now`, in the loop that is running."""
    try:
        answer = ask(list(items) if batched else items[0])
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        error.add_note(_said(items))
        raise
    return matched(items, answer, batched=batched)


def matched(items: Sequence[str], answer: Any, *, batched: bool) -> list[Any]:
    """One response an item, in the order of the items, however a batch was answered."""
    if not batched:
        if hasattr(answer, "__len__") and not (isinstance(answer, str) or _is_single(answer)):
            raise InputError(
                f"ask({items[0]!r}) returned {answer!r:.60}, but one item has one response. For "
                "several items at a time, set batch_size."
            )
        return [answer]
    wanted = f"ask was given {listed(list(items), 'item')}"
    if hasattr(answer, "keys") and hasattr(answer, "items"):  # a pandas Series is one, too
        return _looked_up(items, dict(answer.items()), len(answer), wanted)
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable) or _is_single(answer):
        raise InputError(
            f"{wanted} and returned {answer!r:.60}. With batch_size above 1 it should return a "
            "list of responses in the same order, or a mapping from item to response."
        )
    found = list(answer)
    if len(found) != len(items):
        raise InputError(
            f"{wanted} and returned {len(found):,} responses. Return one an item, in the same "
            "order, with None for what could not be answered."
        )
    return found


def _looked_up(items: Sequence[str], answer: dict[Any, Any], length: int, wanted: str) -> list[Any]:
    """The responses of a mapping that holds these items, each once, and no others."""
    missing = [item for item in items if item not in answer]
    if missing or length != len(items):
        odd = missing or [str(key) for key in answer if key not in items]
        fault = (
            f"{'it lacks' if missing else 'nobody asked for'} {odd[0]!r:.60}"
            if odd
            else "one is there twice"
        )
        raise InputError(
            f"{wanted} and returned a mapping of {length:,}; {fault}. Return exactly these items, "
            "with None for what could not be answered."
        )
    return [answer[item] for item in items]


def _is_single(answer: Any) -> bool:
    """Whether it is an array of no dimension: a number."""
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
