"""One call of the gate for all requests that wait at the same time.

A call costs nearly the same for ten rows as for a hundred, so a busy service decides more rows in
the same time, and an idle one loses nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from ogive.serving.contract import RefusalError
from ogive.serving.model_calls import Decisions, Runner, busy, late

if TYPE_CHECKING:
    from ogive.serving.contract import RequestLimits
    from ogive.serving.request_rows import Columns

MAX_ROWS = 1_000  # in one call, unless a single request has more
MAX_GATHERING_SECONDS = 0.01
# Requests behind rows that keep the model busy wait so many times `answer_seconds`, and so many
# seconds for its process to be started again.
PATIENCE, STARTING = 3, 20
QUICK = 0.25  # of `answer_seconds`: what takes longer is asked alone, after the others


@dataclass(eq=False)
class _Waiting:
    columns: Columns
    n_rows: int
    decided: asyncio.Future[Decisions]
    slow: bool = False  # it took long, so it is asked alone, after the others

    def settle(self, outcome: Decisions | RefusalError) -> None:
        """Tell the request what became of it, if it still waits."""
        if self.decided.done():  # the client disconnected, or was refused
            return
        if isinstance(outcome, RefusalError):
            self.decided.set_exception(outcome)
        else:
            self.decided.set_result(outcome)


class Decider:
    """Asks the gate elsewhere, so that the service can answer other requests meanwhile.

    A request is refused if the gate takes more than `answer_seconds` for it. Those behind it wait
    until the gate has been replaced, but not forever.
    """

    def __init__(self, runner: Runner, limits: RequestLimits) -> None:
        self._runner, self._seconds = runner, limits.answer_seconds
        self._patience = PATIENCE * self._seconds + STARTING
        self._max_waiting = max(limits.waiting_rows, limits.rows)  # a single request always fits
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def decide(self, columns: Columns) -> Decisions:
        """Return the decisions of the gate on these rows, in their order."""
        n_rows = len(next(iter(columns.values())))
        if self._waiting_rows() + n_rows > self._max_waiting:
            raise RefusalError(
                503, "Too many rows are waiting. Try again in a second.", {"Retry-After": "1"}
            )
        made = asyncio.get_running_loop().create_future()
        waiting = _Waiting(columns, n_rows, made)
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._decide_all())
        try:
            async with asyncio.timeout(self._patience):
                return await waiting.decided
        except TimeoutError:
            raise busy(self._patience) from None

    @property
    def ready(self) -> bool:
        """Whether the gate can be asked now."""
        return self._runner.ready

    def wait(self) -> None:
        """Wait until the gate can be asked for the first time."""
        self._runner.wait()

    def close(self) -> None:
        """Ask no more."""
        self._runner.close()

    async def _decide_all(self) -> None:
        while self._waiting:
            batch, begin = self._next_batch(), perf_counter()
            if batch:
                await self._decide_batch(batch)
            if len(batch) > 1 and self._waiting_rows() < MAX_ROWS:
                # Under load, wait for more requests while others are received and answered.
                await asyncio.sleep(min(perf_counter() - begin, MAX_GATHERING_SECONDS))

    async def _decide_batch(self, batch: list[_Waiting]) -> None:
        """Decide requests in one call; if it takes long, each on its own, slow ones last."""
        alone = len(batch) == 1
        limit = self._seconds * (1 if alone else QUICK)
        outcomes = await self._runner.run([one.columns for one in batch], limit)
        if outcomes is not None or alone:
            for place, one in enumerate(batch):
                one.settle(late(self._seconds) if outcomes is None else outcomes[place])
            return
        for one in batch:
            if one.decided.done():
                continue
            found = await self._runner.run([one.columns], self._seconds * QUICK)
            if found is None:
                one.slow = True
                self._waiting.append(one)
            else:
                one.settle(found[0])

    def _waiting_rows(self) -> int:
        return sum(one.n_rows for one in self._waiting)

    def _next_batch(self) -> list[_Waiting]:
        self._waiting = [one for one in self._waiting if not one.decided.done()]
        quick = [one for one in self._waiting if not one.slow]
        total, n = 0, 0
        for one in quick:
            total += one.n_rows
            if n and total > MAX_ROWS:
                break
            n += 1
        if not quick:
            return [self._waiting.pop(0)] if self._waiting else []
        slow = [one for one in self._waiting if one.slow]
        batch, self._waiting = quick[:n], quick[n:] + slow
        return batch
