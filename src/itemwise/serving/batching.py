"""One call of the gate for all requests that wait at the same time.

A call costs nearly the same for ten rows as for a hundred, so a busy service decides more rows in
the same time, and an idle one loses nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from itemwise.serving.contract import RefusalError
from itemwise.serving.model_calls import Decisions, Runner, late

if TYPE_CHECKING:
    from itemwise.serving.contract import RequestLimits
    from itemwise.serving.request_rows import Columns

MAX_ROWS = 1_000  # in one call, unless a single request has more
MAX_GATHERING_SECONDS = 0.01


@dataclass(frozen=True)
class _Waiting:
    columns: Columns
    n_rows: int
    decided: asyncio.Future[Decisions]
    end: float  # by the clock, when its sender is refused

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

    A request is refused once it has waited for `answer_seconds`, whatever the gate does.
    """

    def __init__(self, runner: Runner, limits: RequestLimits) -> None:
        self._runner, self._seconds = runner, limits.answer_seconds
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
        waiting = _Waiting(columns, n_rows, made, monotonic() + self._seconds)
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._decide_all())
        try:
            async with asyncio.timeout(self._seconds):
                return await waiting.decided
        except TimeoutError:
            raise late(self._seconds) from None

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
        """Decide requests in one call; if it takes too long, each on its own."""
        alone = len(batch) == 1
        outcomes = await self._runner.run(
            [one.columns for one in batch], self._seconds * (0.9 if alone else 0.25)
        )
        if outcomes is None and not alone:
            for one in batch:
                left = one.end - monotonic()
                if left > 0 and not one.decided.done():
                    found = await self._runner.run([one.columns], min(left, self._seconds / 4))
                    one.settle(late(self._seconds) if found is None else found[0])
            return
        for place, one in enumerate(batch):
            one.settle(late(self._seconds) if outcomes is None else outcomes[place])

    def _waiting_rows(self) -> int:
        return sum(one.n_rows for one in self._waiting)

    def _next_batch(self) -> list[_Waiting]:
        self._waiting = [one for one in self._waiting if not one.decided.done()]
        total, n = 0, 0
        for one in self._waiting:
            total += one.n_rows
            if n and total > MAX_ROWS:
                break
            n += 1
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        return batch
